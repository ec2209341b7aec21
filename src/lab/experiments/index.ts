/** The papers' experiments, each by its name. `gradplane lab` runs them. */
export {
  type Comparison,
  type Experiment,
  type ExperimentResult,
  type Measurement,
  type Point,
  Points,
  runExperiment,
} from "./experiment.ts";
export { plotSvg } from "./plot.ts";
export { resultJson, resultPage, resultSection, resultSvg, resultText } from "./report.ts";

import { DLCP_FLOW_EXPERIMENTS } from "./dlcpflows.ts";
import { DLCP_TRAINING_EXPERIMENTS } from "./dlcptraining.ts";
import type { Experiment } from "./experiment.ts";
import { LP_EXPERIMENTS } from "./lp.ts";
import { P3_EXPERIMENTS } from "./p3.ts";

export const EXPERIMENTS: readonly Experiment[] = [
  ...DLCP_FLOW_EXPERIMENTS,
  ...DLCP_TRAINING_EXPERIMENTS,
  ...P3_EXPERIMENTS,
  ...LP_EXPERIMENTS,
];
