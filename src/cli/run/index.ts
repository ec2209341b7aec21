export type { WorkingJob } from "../../controller/jobservice/jobhost.ts";
export { type Training, training } from "../job/training.ts";
export type { HostContext, RunningHost } from "./hostprocess.ts";
export {
  type Scenario,
  type ScenarioContext,
  type ScenarioOption,
  type ScenarioReport,
  scenario,
} from "./scenario.ts";
export type { RunningSwitch, SwitchRequest } from "./switchprocess.ts";
