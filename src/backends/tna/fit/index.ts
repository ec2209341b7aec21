export { fitFindings } from "./findings.ts";
export { type FitReport, type FitStage, fitReport, type Verdict } from "./report.ts";
export { stageMap } from "./svg.ts";
export { chainText, fitText } from "./text.ts";
