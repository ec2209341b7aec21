import type { Progress } from "../progress.ts";
import type { HostContext, RunningHost } from "./hostprocess.ts";
import type { RunningSwitch, SwitchRequest } from "./switchprocess.ts";

/** One option of a scenario: text for --help, and the value when it is not given. */
export interface ScenarioOption {
  readonly help: string;
  readonly default: string;
}

/** What a scenario is given to work with. */
export interface ScenarioContext<O extends string> {
  /** Options as given, or their defaults. */
  readonly options: Readonly<Record<O, string>>;
  readonly progress: Progress;
  /** Starts a switch as a process of its own; it ends with the scenario at the latest. */
  startSwitch(request: SwitchRequest): Promise<RunningSwitch>;
  /** Starts one of the scenario's `hosts` as a process of its own; it ends with the scenario at the latest. */
  startHost(name: string, settings: unknown): RunningHost;
  /** A whole number, or a UserError that names the option. */
  whole(option: O, low: number, high: number): number;
  /** A fraction 0..1, likewise. */
  fraction(option: O): number;
  /** One of a few words, likewise. */
  choice<C extends string>(option: O, ...choices: readonly C[]): C;
}

/** What a scenario found: lines for people, and the same as data. `passed` decides the exit code. */
export interface ScenarioReport {
  readonly passed: boolean;
  /** Rows of the closing table: what, and the figure. */
  readonly table: readonly (readonly [string, string])[];
  /** The comparison made, in one sentence. */
  readonly verdict: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A complete run of program, switches, controller and hosts. A scenario file exports one by default. */
export interface Scenario<O extends string = string> {
  readonly name: string;
  readonly summary: string;
  readonly options: Readonly<Record<O, ScenarioOption>>;
  run(context: ScenarioContext<O>): Promise<ScenarioReport>;
  /** What its hosts do, each in a process of its own. */
  readonly hosts?: Readonly<Record<string, (host: HostContext) => Promise<void>>>;
}

/** Declares a scenario; only there for its types. */
export function scenario<const O extends string>(definition: Scenario<O>): Scenario<O> {
  return definition;
}
