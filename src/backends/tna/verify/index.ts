export { type Compilers, findCompilers } from "./compilers.ts";
export type { Figures, StageFigures } from "./figures.ts";
export type { CompilerMessage } from "./messages.ts";
export { findingsOf } from "./places.ts";
export { figuresText } from "./report.ts";
export { type Verification, type VerifyOptions, verifyTna } from "./verify.ts";
