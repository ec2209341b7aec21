export {
  type Scenario,
  type ScenarioContext,
  type ScenarioOption,
  type ScenarioReport,
  scenario,
} from "./scenario.ts";
export type { RunningSwitch, SwitchRequest } from "./switchprocess.ts";
