import { setTimeout as sleep } from "node:timers/promises";
import {
  Code,
  insert,
  type P4Info,
  P4RuntimeClient,
  P4RuntimeWriteError,
  remove,
  type Update,
} from "../p4runtime/index.ts";
import type { SlotReset } from "./slotreset.ts";
import type { SwitchNode } from "./topology.ts";
import type { WantedEntry, WantedGroup, WantedState } from "./wantedstate.ts";

/** A switch that cannot be steered. */
export class SwitchSessionError extends Error {
  override readonly name = "SwitchSessionError";
}

/** What is loaded into a switch. */
export interface LoadableProgram {
  readonly p4info: P4Info;
  /** The BMv2 JSON. */
  readonly deviceConfig: Uint8Array;
}

export interface SessionOptions {
  /** Higher wins; the clock's milliseconds when absent, so that a controller that starts again takes over. */
  readonly electionId?: bigint;
  /** Milliseconds between two signs of life. */
  readonly heartbeat?: number;
  /** Milliseconds without an answer after which the switch is lost. */
  readonly silence?: number;
  /** Gives up the opening. */
  readonly signal?: AbortSignal;
  /** Called once, with the reason. `isDeposed`: another controller has taken the switch, and it would be wrong to take it back. */
  readonly onLost: (reason: string, isDeposed: boolean) => void;
}

const HEARTBEAT = 500;
/** A killed switch is noticed at once, by its stream; this is for one that hangs, and must not fall for one that is busy. */
const SILENCE = 5000;

/**
 * The controller's side of one switch: connected, primary, with the program loaded. It watches the stream and asks for a sign of life,
 * and writes tables by name.
 */
export class SwitchSession {
  readonly node: SwitchNode;
  readonly #client: P4RuntimeClient;
  readonly #options: SessionOptions;
  readonly #stop = new AbortController();
  #isLost = false;
  #lostBecause = "";
  #reset: SlotReset | undefined;

  private constructor(node: SwitchNode, client: P4RuntimeClient, options: SessionOptions) {
    this.node = node;
    this.#client = client;
    this.#options = options;
  }

  /**
   * Connects, becomes primary and loads the program, which empties all tables.
   * @throws P4RuntimeError or SwitchSessionError with the switch's address.
   */
  static async open(
    node: SwitchNode,
    program: LoadableProgram,
    options: SessionOptions,
  ): Promise<SwitchSession> {
    let lost: (reason: string, isDeposed: boolean) => void = () => {};
    const { signal } = options;
    const call = signal === undefined ? {} : { signal };
    const where = `${node.name} (${node.target})`;
    const client = await P4RuntimeClient.connect(
      {
        address: node.target,
        deviceId: node.deviceId,
        onDisconnect: (error) => lost(error.message, false),
        onArbitration: (state) => {
          if (!state.isPrimary) lost(deposed(state.highestElectionId), true);
        },
      },
      call,
    );
    try {
      const state = await client.arbitrate(options.electionId ?? BigInt(Date.now()), call);
      if (!state.isPrimary) {
        throw new SwitchSessionError(
          `${where}: another controller with a higher election id (${state.highestElectionId}) is primary`,
        );
      }
      await client.pushPipeline(program.p4info, program.deviceConfig, call);
      if (!client.isPrimary)
        throw new SwitchSessionError(`${where}: ${deposed(client.arbitration?.highestElectionId)}`);
    } catch (error) {
      await client.close();
      throw error;
    }
    const session = new SwitchSession(node, client, options);
    lost = (reason, isDeposed) => session.#lost(reason, isDeposed);
    void session.#watch();
    void session.#listen();
    return session;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Writes a switch's base state into empty tables. */
  async apply(state: WantedState): Promise<void> {
    const { entities } = this.#client;
    const sessions = state.cloneSessions.map(({ id, port }) =>
      insert(entities.cloneSession(id, [{ port, instance: 1 }])),
    );
    await this.#write([...sessions, ...state.entries.map((e) => this.#insertion(e))]);
  }

  /** Writes many entries without holding them all at once. Calls `progress` with the number written. */
  async insertAll(entries: Iterable<WantedEntry>, progress?: (written: number) => void): Promise<number> {
    const BLOCK = 4096;
    let block: Update[] = [];
    let written = 0;
    const flush = async (): Promise<void> => {
      await this.#write(block);
      written += block.length;
      progress?.(written);
      block = [];
    };
    for (const entry of entries) {
      block.push(this.#insertion(entry));
      if (block.length === BLOCK) await flush();
    }
    if (block.length > 0) await flush();
    return written;
  }

  /** Writes multicast groups, before the entries that name them. */
  async insertGroups(groups: readonly WantedGroup[]): Promise<void> {
    const { entities } = this.#client;
    await this.#write(groups.map((g) => insert(entities.multicastGroup(g.id, g.replicas))));
  }

  /** Removes entries, then the groups that they name; those that are not there are no error. */
  async removeAll(entries: readonly WantedEntry[], groups: readonly WantedGroup[] = []): Promise<void> {
    const { entities } = this.#client;
    try {
      await this.#write([
        ...entries.map((e) => remove(entities.tableEntry(e.table, e.match))),
        ...groups.map((g) => remove(entities.multicastGroup(g.id, []))),
      ]);
    } catch (error) {
      const absent =
        error instanceof P4RuntimeWriteError &&
        error.updates?.every((u) => u.code === Code.OK || u.code === Code.NOT_FOUND);
      if (absent !== true) throw error;
    }
  }

  /** Carries out a slot reset. @throws SwitchSessionError when the switch does not answer. */
  async reset(slots: SlotReset): Promise<void> {
    this.#reset = slots;
    try {
      while (!slots.isDone) {
        for (const frame of slots.poll(performance.now()))
          this.#client.sendPacket(frame, { egress_port: 0, submit: 1 });
        if (slots.hasFailed || this.#isLost) {
          const why = this.#lostBecause || "it does not answer the reset of its slots";
          throw new SwitchSessionError(`${this.node.name} (${this.node.target}): ${why}`);
        }
        await sleep(1);
      }
    } finally {
      this.#reset = undefined;
    }
  }

  /** Value of each cell of a counter, by number. */
  async counter(name: string): Promise<readonly bigint[]> {
    const cells: bigint[] = [];
    for (const entity of await this.#client.readAll([this.#client.entities.counter(name)])) {
      if (entity.entity?.case !== "counterEntry") continue;
      cells[Number(entity.entity.value.index?.index ?? 0n)] = entity.entity.value.data?.packetCount ?? 0n;
    }
    return cells;
  }

  async close(): Promise<void> {
    this.#isLost = true;
    this.#stop.abort();
    await this.#client.close();
  }

  /** Of a switch that was lost meanwhile, the reason counts and not that its calls were cancelled. */
  async #write(updates: readonly Update[]): Promise<void> {
    try {
      await this.#client.write(updates);
    } catch (error) {
      if (this.#lostBecause === "") throw error;
      const { name, target } = this.node;
      throw new SwitchSessionError(`${name} (${target}): ${this.#lostBecause}`, { cause: error });
    }
  }

  #insertion(e: WantedEntry): Update {
    return insert(this.#client.entities.tableEntry(e.table, e.match, e.action, e.params));
  }

  /** Packets to the controller: echoes of the reset under way. */
  async #listen(): Promise<void> {
    try {
      for await (const packet of this.#client.packets({ signal: this.#stop.signal }))
        this.#reset?.echo(packet.payload);
    } catch (error) {
      this.#lost(error instanceof Error ? error.message : String(error));
    }
  }

  async #watch(): Promise<void> {
    const { heartbeat = HEARTBEAT, silence = SILENCE } = this.#options;
    while (!this.#isLost) {
      try {
        await sleep(heartbeat, undefined, { signal: this.#stop.signal });
        await this.#client.getCookie({ timeout: silence, signal: this.#stop.signal });
      } catch (error) {
        this.#lost(error instanceof Error ? error.message : String(error));
      }
    }
  }

  #lost(reason: string, isDeposed = false): void {
    if (this.#isLost || this.#stop.signal.aborted) return;
    this.#isLost = true;
    this.#lostBecause = reason;
    this.#options.onLost(reason, isDeposed);
    void this.close();
  }
}

function deposed(by: bigint | undefined): string {
  return `another controller has taken over (election id ${by})`;
}
