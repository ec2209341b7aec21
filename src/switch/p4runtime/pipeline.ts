import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import type {
  ForwardingPipelineConfig,
  GetForwardingPipelineConfigRequest_ResponseType,
  SetForwardingPipelineConfigRequest_Action,
  Update,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import { Schema } from "../../p4runtime/schema.ts";
import { ProgramState } from "./program-state.ts";
import { invalidArgument, notFound, StatusError, statusOf } from "./status.ts";
import type { SwitchTarget } from "./target.ts";

interface Loaded {
  readonly config: ForwardingPipelineConfig;
  readonly state: ProgramState;
}

/**
 * The forwarding pipeline of a device: what runs, and what is saved but does not run yet (P4Runtime specification 7, 14, 15).
 *
 * A saved program has state of its own, which reads and writes mean from then on; COMMIT makes it run with what was written to it.
 * Whatever fails leaves everything as it was.
 */
export class Pipeline {
  readonly #target: SwitchTarget;
  #committed: Loaded | undefined;
  #saved: Loaded | undefined;

  constructor(target: SwitchTarget) {
    this.#target = target;
  }

  /** What runs; undefined before the first commit. */
  get running(): ProgramState | undefined {
    return this.#committed?.state;
  }

  /** True when something runs or is saved. */
  get isSet(): boolean {
    return (this.#saved ?? this.#committed) !== undefined;
  }

  /** What reads and writes refer to. @throws StatusError FAILED_PRECONDITION when there is none */
  get current(): ProgramState {
    const loaded = this.#saved ?? this.#committed;
    if (loaded === undefined)
      throw new StatusError(Code.FAILED_PRECONDITION, "no forwarding pipeline is set; push one first");
    return loaded.state;
  }

  set(action: SetForwardingPipelineConfigRequest_Action, config: ForwardingPipelineConfig | undefined): void {
    switch (action) {
      case "VERIFY":
        this.#load(config);
        return;
      case "VERIFY_AND_SAVE":
        this.#saved = this.#load(config);
        return;
      case "VERIFY_AND_COMMIT":
        this.#commit(this.#load(config));
        return;
      case "COMMIT":
        if (config !== undefined) throw invalidArgument("COMMIT takes no config: it runs the saved one");
        if (this.#saved === undefined) throw notFound("there is no saved config to commit");
        this.#commit(this.#saved);
        return;
      case "RECONCILE_AND_COMMIT": {
        const loaded = this.#load(config);
        if (this.#committed !== undefined) loaded.state.takeOver(this.#committed.state);
        this.#commit(loaded);
        return;
      }
      default:
        throw invalidArgument(
          action === "UNSPECIFIED" ? "the action is not set" : `action ${action} is unknown`,
        );
    }
  }

  /** The parts of the running config that were asked for; undefined when none runs. */
  get(parts: GetForwardingPipelineConfigRequest_ResponseType): Init<ForwardingPipelineConfig> | undefined {
    if (this.#committed === undefined) return undefined;
    const { p4info, p4DeviceConfig, cookie } = this.#committed.config;
    switch (parts) {
      case "ALL":
        return { p4info, p4DeviceConfig, cookie };
      case "COOKIE_ONLY":
        return { cookie };
      case "P4INFO_AND_COOKIE":
        return { p4info, cookie };
      case "DEVICE_CONFIG_AND_COOKIE":
        return { p4DeviceConfig, cookie };
      default:
        throw invalidArgument(`response type ${parts} is unknown`);
    }
  }

  /** What runs, and all that clients wrote to it; undefined when nothing runs. */
  snapshot(): { readonly config: ForwardingPipelineConfig; readonly updates: readonly Update[] } | undefined {
    if (this.#committed === undefined) return undefined;
    const { config, state } = this.#committed;
    return { config, updates: [...state.written(), ...state.cells()].map(({ update }) => update) };
  }

  /** Run what `snapshot` gave. @throws StatusError INVALID_ARGUMENT with what is wrong; then everything is as it was */
  restore(config: ForwardingPipelineConfig, updates: readonly Update[]): void {
    const loaded = this.#load(config);
    loaded.state.replay(updates.map((update) => ({ what: "the snapshot", update })));
    this.#commit(loaded);
  }

  #load(config: ForwardingPipelineConfig | undefined): Loaded {
    if (config === undefined) throw invalidArgument("the config is missing");
    if (config.p4info === undefined) throw invalidArgument("the config has no P4Info");
    if (config.p4DeviceConfig.length === 0)
      throw invalidArgument("the device config is empty; it must be the JSON of the program");
    try {
      const schema = new Schema(config.p4info);
      const program = this.#target.prepare(schema, config.p4DeviceConfig);
      return { config, state: new ProgramState(schema, program, (port) => this.#target.hasPort(port)) };
    } catch (error) {
      // Whatever is wrong with a config, the config is the argument.
      const status = statusOf(error);
      throw status.code === Code.INTERNAL ? status : invalidArgument(status.message);
    }
  }

  #commit(loaded: Loaded): void {
    this.#target.activate(loaded.state.program);
    this.#committed = loaded;
    this.#saved = undefined;
  }
}
