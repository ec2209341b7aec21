import type { PacketState } from "../engine/packet-state.ts";
import type { PathSettings } from "../packet-path.ts";
import type { ReplicationEngine } from "../replication/replication-engine.ts";
import type { SwitchCounters } from "../switch-counters.ts";
import type { TrafficManager } from "../trafficmanager/traffic-manager.ts";
import type { TnaEngine } from "./compile-tna.ts";
import type { Queue } from "./document.ts";
import { Exclusions } from "./exclusions.ts";
import { PacketGenerator } from "./packet-generator.ts";
import { type Pipe, TnaPath } from "./packet-path.ts";

/** What a Tofino has around its program, for whoever controls one: pipes, packet generator, exclusion ids. */
export class Tofino {
  readonly pipeCount: number;
  /** Applications by number; they stay when the program changes. */
  readonly packetGenerator = new PacketGenerator();
  /** Begin anew with each program. */
  readonly exclusions = new Exclusions();
  #path: TnaPath | undefined;

  constructor(pipes: 2 | 4) {
    if (pipes !== 2 && pipes !== 4) throw new RangeError(`a Tofino has 2 or 4 pipes, not ${String(pipes)}`);
    this.pipeCount = pipes;
  }

  /** The pipes of the running program, each with registers and meters of its own. */
  get pipes(): readonly Pipe[] {
    return this.#path?.pipes ?? [];
  }

  /** Packets that met a register twice in one pass, by register; they were dropped (`registerTwice`). */
  get registerTwice(): ReadonlyMap<string, number> {
    return this.#path?.registerTwice ?? new Map();
  }

  /** The way of packets through a program, with the queues as it wants them. */
  path(
    engine: TnaEngine,
    settings: PathSettings,
    surroundings: {
      readonly replication: ReplicationEngine;
      readonly trafficManager: TrafficManager<PacketState>;
      readonly counters: SwitchCounters;
    },
  ): TnaPath {
    const { exclusions, packetGenerator: generator } = this;
    const path = new TnaPath(
      engine,
      { ...settings, pipes: this.pipeCount },
      { ...surroundings, exclusions, generator },
    );
    configureQueues(engine.document.queues, surroundings.trafficManager);
    exclusions.clear();
    this.#path = path;
    return path;
  }
}

/** What Tofino's control plane would set beside the tables: how many packets may wait in front of a red one. */
function configureQueues(queues: readonly Queue[], manager: TrafficManager<PacketState>): void {
  for (const { number, keepRed } of queues)
    if (keepRed !== undefined && number < manager.options.queues)
      manager.configureQueues({ queue: number }, { drop: { packets: keepRed } });
}
