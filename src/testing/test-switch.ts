import { readFileSync } from "node:fs";
import { create, type P4Info, p4infoFromFile } from "../p4info/index.ts";
import {
  type Entity,
  EntityBuilder,
  Entity as EntityMessage,
  type NamedEntity,
  nameEntity,
  PacketIn,
  PacketOut,
  type Params,
  Schema,
  type Update,
} from "../p4runtime/index.ts";
import { Switch, type SwitchAction, type SwitchOptions, traceText } from "../switch/index.ts";
import {
  decodePacketIn,
  EmbeddedSwitchTarget,
  encodePacketOut,
  ProgramState,
} from "../switch/p4runtime/index.ts";

/** What a program is compiled to: paths of files, or what is in them. */
export interface ProgramFiles {
  /** BMv2 JSON, as p4c-bm2-ss or gradplane writes it. */
  readonly json: string | Uint8Array;
  /** P4Info, text or binary. */
  readonly p4info: string | P4Info;
}

export interface SentFrame {
  readonly port: number;
  readonly data: Uint8Array;
}

/** A packet for the controller: the fields of its packet_in header by name, and what is behind it. */
export interface ReceivedPacketIn {
  readonly metadata: Readonly<Record<string, bigint>>;
  readonly payload: Uint8Array;
}

/** A packet that ended inside the switch. */
export interface DroppedPacket {
  readonly reason: string;
  readonly port: number;
}

interface Listeners {
  readonly packet: ((frame: SentFrame) => void)[];
  readonly packetIn: ((packet: ReceivedPacketIn) => void)[];
  readonly drop: ((drop: DroppedPacket) => void)[];
}

/**
 * A switch inside a test, without sockets, clocks and root: its tables are written as over P4Runtime, with all checks of the server, and
 * packets go through at once.
 *
 * Time stands still unless `advance` is called, and random numbers of the program come from a fixed seed, so every run is the same.
 */
export class TestSwitch {
  /** The switch itself: drops, registers, queues, port counters. */
  readonly core: Switch;
  /** Builds entities by the names of the program: `entities.tableEntry("ingress.route", { dst: "10.0.0.0/8" }, "forward", { port: 1 })`. */
  readonly entities: EntityBuilder;
  readonly #schema: Schema;
  readonly #state: ProgramState;
  readonly #listeners: Listeners = { packet: [], packetIn: [], drop: [] };
  #now = 0;
  #sent: SentFrame[] = [];

  private constructor(core: Switch, schema: Schema, deviceConfig: Uint8Array) {
    const target = new EmbeddedSwitchTarget(core, {
      now: () => this.#now,
      packetOut: (data) => void core.handle({ kind: "packetOut", data }, this.#now, this.#perform),
      onPacketIn: () => {},
    });
    const program = target.prepare(schema, deviceConfig);
    target.activate(program);
    this.core = core;
    this.#schema = schema;
    this.entities = new EntityBuilder(schema);
    this.#state = new ProgramState(schema, program, (port) => target.hasPort(port));
  }

  /**
   * Loads a program.
   *
   * @throws the reason why a file cannot be read, or is no program that this switch runs
   */
  static load(files: ProgramFiles, options: SwitchOptions = {}): TestSwitch {
    const config = typeof files.json === "string" ? readFileSync(files.json) : files.json;
    const p4info =
      typeof files.p4info === "string"
        ? p4infoFromFile(readFileSync(files.p4info), files.p4info)
        : files.p4info;
    return new TestSwitch(new Switch(undefined, options), new Schema(p4info), config);
  }

  // ---------------------------------------------------------------- control plane

  /** Writes entities as a controller would. @throws what the server would answer, for the first update that fails; those before it stay */
  write(...updates: readonly Update[]): void {
    for (const update of updates) this.#state.write(update);
  }

  /** Reads entities, in the program's names. @throws what the server would answer */
  read(entity: Entity): NamedEntity[] {
    return Array.from(this.#state.read(entity), (found) =>
      nameEntity(this.#schema, create(EntityMessage, found)),
    );
  }

  // ---------------------------------------------------------------- packets

  /** Sends one frame in and returns what leaves by the ports at once, in order. Frames that wait in queues leave with `advance`. */
  send(port: number, frame: Uint8Array): readonly SentFrame[] {
    return this.#collect(() => this.core.receive(port, frame, this.#now, this.#perform));
  }

  /** Sends a packet-out; returns what leaves at once. @throws when the header does not fit the program, or the switch has no CPU port */
  packetOut(metadata: Params, payload: Uint8Array): readonly SentFrame[] {
    const hasFields = this.#schema.packetOut !== undefined || Object.keys(metadata).length > 0;
    const fields = hasFields ? this.entities.packetOut(metadata) : [];
    const data = encodePacketOut(this.#schema.packetOut, create(PacketOut, { metadata: fields, payload }));
    return this.#collect(() => this.core.handle({ kind: "packetOut", data }, this.#now, this.#perform));
  }

  /** Lets time pass, in microseconds; returns what leaves meanwhile. */
  advance(microseconds: number): readonly SentFrame[] {
    const end = this.#now + microseconds;
    return this.#collect(() => {
      for (
        let next = this.core.nextWakeup();
        next !== undefined && next <= end;
        next = this.core.nextWakeup()
      ) {
        this.#now = Math.max(this.#now, next);
        this.core.tick(this.#now, this.#perform);
      }
      this.#now = end;
    });
  }

  /** Sends one frame in and tells in words what it went through: parser states, tables, entries, actions, why it ended. */
  explain(port: number, frame: Uint8Array): string {
    const { events, actions } = this.core.explain(port, frame, this.#now);
    for (const action of actions) this.#perform(action);
    return traceText(events);
  }

  /** Hears of each frame that leaves, each packet for the controller, or each drop. */
  on<Kind extends keyof Listeners>(kind: Kind, listener: Listeners[Kind][number]): this {
    const listeners: Listeners[Kind][number][] = this.#listeners[kind];
    listeners.push(listener);
    return this;
  }

  #collect(work: () => void): readonly SentFrame[] {
    this.#sent = [];
    work();
    return this.#sent;
  }

  readonly #perform = (action: SwitchAction): void => {
    const { packet, packetIn, drop } = this.#listeners;
    if (action.kind === "transmit") {
      const frame = { port: action.port, data: action.data };
      this.#sent.push(frame);
      for (const listener of packet) listener(frame);
    } else if (action.kind === "toCpu") {
      const message = decodePacketIn(this.#schema.packetIn, action.data);
      if (message === undefined || packetIn.length === 0) return;
      const { metadata, payload } = create(PacketIn, message);
      const fields = this.#schema.packetIn === undefined ? {} : this.entities.packetIn(metadata);
      for (const listener of packetIn) listener({ metadata: fields, payload });
    } else if (action.kind === "drop") for (const listener of drop) listener(action);
  };
}
