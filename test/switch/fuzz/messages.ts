import { P4Info } from "../../../src/p4info/generated/p4info.ts";
import { decode, encode, p4infoFromText } from "../../../src/p4info/index.ts";
import type { MessageType, Properties } from "../../../src/p4info/message/descriptor.ts";
import { Code } from "../../../src/p4runtime/code.ts";
import {
  CapabilitiesRequest,
  GetForwardingPipelineConfigRequest,
  Error as P4Error,
  ReadRequest,
  SetForwardingPipelineConfigRequest,
  StreamMessageRequest,
  WriteRequest,
} from "../../../src/p4runtime/proto/generated/p4runtime.ts";
import { Status } from "../../../src/p4runtime/proto/generated/status.ts";
import { Schema } from "../../../src/p4runtime/schema.ts";
import { P4RuntimeService } from "../../../src/p4runtime/service.ts";
import { Dice } from "../../backends/dice.ts";
import { EntityMaker } from "./entities.ts";
import { MessageMutator } from "./mutation.ts";
import type { FuzzedProgram } from "./packets.ts";
import { type RawAnswer, RawGrpc, type RawStream } from "./rawgrpc.ts";

export interface MessageFuzz {
  readonly messages: number;
  /** Calls by method and how they ended. */
  readonly outcomes: ReadonlyMap<string, number>;
  /** Faults of the switch itself: what it said. */
  readonly faults: readonly string[];
}

const { Write, Read, SetForwardingPipelineConfig, GetForwardingPipelineConfig, StreamChannel, Capabilities } =
  P4RuntimeService;
const codeNames: ReadonlyMap<number, string> = new Map(
  Object.entries(Code).map(([name, code]) => [code, name]),
);
/** Random clients for the primary's place have ids below this: nobody could get it back from the highest id that there is. */
const HIGHEST_RANDOM = 1000n;
/** Calls at the same time. */
const TOGETHER = 16;
/** Messages after which another program is pushed, so that everything written is forgotten. */
const PER_PROGRAM = 2000;

interface Loaded {
  readonly p4info: P4Info;
  readonly json: string;
  readonly entities: EntityMaker;
  readonly mutator: MessageMutator;
}

interface Made {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/**
 * Random and mutated messages to a P4Runtime server: entities that it mostly takes, the same with one thing changed, messages in which everything is
 * random, and bytes that were damaged. Each call must end, with a status that is not the switch's own fault.
 */
export class MessageFuzzer {
  readonly #dice: Dice;
  readonly #address: string;
  readonly #programs: readonly Loaded[];
  readonly #outcomes = new Map<string, number>();
  readonly #faults: string[] = [];
  #client: RawGrpc | undefined;
  #stream: RawStream | undefined;
  #streamAnswers = 0;
  #messages = 0;
  #election = { high: HIGHEST_RANDOM, low: 1n };

  constructor(address: string, programs: readonly FuzzedProgram[], seed: number) {
    this.#dice = new Dice(seed);
    this.#address = address;
    this.#programs = programs.map(({ json, p4info: text }) => {
      const p4info = p4infoFromText(text);
      const schema = new Schema(p4info);
      const named = [
        schema.tables,
        schema.actions,
        schema.counters,
        schema.meters,
        schema.registers,
        schema.actionProfiles,
      ];
      const ids = [
        ...named.flatMap(({ all }) => all.map(({ id }) => id)),
        1,
        2,
        3,
        4,
        0x02_000_000,
        0xffff_ffff,
      ];
      const texts = [
        "",
        "",
        "",
        "primary",
        "\u00e4".repeat(100),
        ...schema.tables.all.map(({ name }) => name),
      ];
      return {
        p4info,
        json,
        entities: new EntityMaker(schema, this.#dice),
        mutator: new MessageMutator(this.#dice, { ids, texts }),
      };
    });
  }

  /** Sends so many messages, about. @throws Error when an answer does not come, or the server cannot be used afterwards */
  async run(count: number): Promise<MessageFuzz> {
    const end = this.#messages + count;
    while (this.#messages < end) {
      const program = this.#programs[this.#dice.below(this.#programs.length)];
      if (program === undefined) break;
      await this.#begin(program);
      const until = Math.min(end, this.#messages + PER_PROGRAM);
      while (this.#messages < until) await this.#round(program);
      await this.#check(program);
    }
    this.#client?.close();
    this.#client = undefined;
    return { messages: this.#messages, outcomes: this.#outcomes, faults: this.#faults };
  }

  /** Connects, becomes primary and pushes a program: all that must work whatever came before. */
  async #begin(program: Loaded): Promise<void> {
    this.#client?.close();
    const client = await RawGrpc.connect(this.#address);
    this.#client = client;
    this.#election = { high: this.#election.high + 1n, low: 1n };
    await this.#openStream(client);
    const action = "VERIFY_AND_COMMIT";
    const config = { p4info: program.p4info, p4DeviceConfig: Buffer.from(program.json) };
    const request = encode(SetForwardingPipelineConfigRequest, {
      deviceId: 1n,
      electionId: this.#election,
      action,
      config,
    });
    const answer = await client.call(SetForwardingPipelineConfig.path, request);
    if (answer.status !== Code.OK) throw new Error(`the program is refused: ${answer.message}`);
  }

  async #openStream(client: RawGrpc): Promise<void> {
    const stream = client.stream(StreamChannel.path, () => this.#streamAnswers++);
    this.#stream = stream;
    stream.ended.then(
      ({ status }) => {
        this.#count("StreamChannel", status);
        if (this.#stream === stream) this.#stream = undefined;
      },
      () => {},
    );
    const before = this.#streamAnswers;
    stream.send(encode(StreamMessageRequest, { update: this.#arbitration() }));
    for (let tries = 0; this.#streamAnswers === before; tries++) {
      if (tries > 1000) throw new Error("arbitration is not answered");
      await new Promise((resolve) => setTimeout(resolve, tries < 10 ? 0 : 20));
    }
  }

  #arbitration() {
    return { case: "arbitration", value: { deviceId: 1n, electionId: this.#election } } as const;
  }

  async #round(program: Loaded): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    if (this.#stream === undefined) await this.#openStream(client);
    // What was said before may have made another the primary, or nobody.
    this.#stream?.send(encode(StreamMessageRequest, { update: this.#arbitration() }));
    const calls: Promise<void>[] = [];
    for (let n = 0; n < TOGETHER; n++) {
      this.#messages++;
      if (this.#dice.below(8) === 0) {
        this.#stream?.send(this.#streamMessage(program));
        continue;
      }
      const { path, bytes } = this.#request(program);
      calls.push(client.call(path, bytes).then((answer) => this.#judge(path, bytes, answer)));
    }
    await Promise.all(calls);
  }

  #count(path: string, status: number): void {
    const name = `${path.split("/").at(-1)} ${codeNames.get(status) ?? status}`;
    this.#outcomes.set(name, (this.#outcomes.get(name) ?? 0) + 1);
  }

  #judge(path: string, bytes: Uint8Array, answer: RawAnswer): void {
    this.#count(path, answer.status);
    const texts = answer.status === Code.INTERNAL ? [answer.message] : [];
    if (answer.details.length > 0)
      for (const { value } of decode(Status, answer.details).details) {
        const { canonicalCode, message } = decode(P4Error, value);
        if (canonicalCode === Code.INTERNAL) texts.push(message);
      }
    for (const text of texts) {
      if (isMalformed(text)) continue;
      const hex = Buffer.from(bytes.subarray(0, 2000)).toString("hex");
      this.#faults.push(`${path}: ${text} (${hex})`);
    }
  }

  #request(program: Loaded): Made {
    const dice = this.#dice;
    const kind = dice.below(100);
    if (kind < 55) return this.#made(program, Write.path, WriteRequest, this.#write(program));
    if (kind < 93) return this.#made(program, Read.path, ReadRequest, this.#read(program));
    if (kind < 96) {
      const deviceId = dice.pick(0n, 1n, 1n, dice.value(64));
      return this.#made(program, Capabilities.path, CapabilitiesRequest, { deviceId });
    }
    if (kind < 99) {
      const type = GetForwardingPipelineConfigRequest;
      return this.#made(program, GetForwardingPipelineConfig.path, type, { deviceId: 1n });
    }
    return this.#made(
      program,
      SetForwardingPipelineConfig.path,
      SetForwardingPipelineConfigRequest,
      this.#pipeline(program),
    );
  }

  /** A message as it is, changed in one place, random altogether, or damaged in its bytes. */
  #made(program: Loaded, path: string, type: MessageType<object>, message: Properties): Made {
    const { mutator } = program;
    switch (this.#dice.below(8)) {
      case 0:
        return { path, bytes: encode(type, mutator.mutate(type, mutator.mutate(type, message))) };
      case 1:
      case 2:
        return { path, bytes: encode(type, mutator.mutate(type, message)) };
      case 3:
        return {
          path,
          bytes: encode(
            type,
            this.#dice.below(2) === 0 ? { ...mutator.random(type), deviceId: 1n } : mutator.random(type),
          ),
        };
      case 4:
        return { path, bytes: mutator.damaged(encode(type, message)) };
      default:
        return { path, bytes: encode(type, message) };
    }
  }

  #write(program: Loaded): Properties {
    const dice = this.#dice;
    const updates = Array.from({ length: dice.below(5) }, () => ({
      type: dice.pick("INSERT", "INSERT", "MODIFY", "DELETE"),
      entity: program.entities.make(),
    }));
    return { deviceId: 1n, electionId: this.#election, updates };
  }

  #read(program: Loaded): Properties {
    const entities = Array.from({ length: 1 + this.#dice.below(3) }, () => program.entities.make());
    return { deviceId: 1n, entities };
  }

  #pipeline(program: Loaded): Properties {
    const dice = this.#dice;
    const { mutator } = program;
    const action = dice.pick(
      "VERIFY",
      "VERIFY_AND_SAVE",
      "VERIFY_AND_COMMIT",
      "COMMIT",
      "RECONCILE_AND_COMMIT",
    );
    const p4info = dice.below(2) === 0 ? program.p4info : mutator.mutate(P4Info, { ...program.p4info });
    const p4DeviceConfig = Buffer.from(dice.below(3) === 0 ? program.json : damagedJson(program.json, dice));
    return { deviceId: 1n, electionId: this.#election, action, config: { p4info, p4DeviceConfig } };
  }

  #streamMessage(program: Loaded): Uint8Array {
    const dice = this.#dice;
    const { mutator } = program;
    const type: MessageType<object> = StreamMessageRequest;
    const packet = { payload: mutator.bytes(), metadata: [{ metadataId: 1, value: mutator.bytes() }] };
    const message: Properties = {
      update: dice.pick<Properties>(this.#arbitration(), { case: "packet", value: packet }),
    };
    switch (dice.below(6)) {
      case 0:
        return withLowElection(mutator.damaged(encode(type, message)));
      case 1:
        return withLowElection(encode(type, mutator.mutate(type, message)));
      case 2:
        return withLowElection(encode(type, mutator.random(type)));
      default:
        return encode(type, message);
    }
  }

  /** The server still does what it is there for. */
  async #check(program: Loaded): Promise<void> {
    await this.#begin(program);
    const client = this.#client;
    const entities = [{ entity: { case: "tableEntry", value: {} } }] as const;
    const request = encode(ReadRequest, { deviceId: 1n, entities });
    const answer = await client?.call(Read.path, request);
    if (answer?.status !== Code.OK) throw new Error(`entries cannot be read: ${answer?.message}`);
  }
}

function withLowElection(bytes: Uint8Array): Uint8Array {
  try {
    const { update } = decode(StreamMessageRequest, bytes);
    if (update?.case !== "arbitration" || update.value.electionId === undefined) return bytes;
    const { high, low } = update.value.electionId;
    const value = { ...update.value, electionId: { high: high % HIGHEST_RANDOM, low } };
    return encode(StreamMessageRequest, { update: { case: "arbitration", value } });
  } catch {
    // No message at all.
    return bytes;
  }
}

/** Requests that are no messages are INTERNAL by gRPC's rule. */
function isMalformed(text: string): boolean {
  return /the bytes are no such message|nested more than/.test(text);
}

/** The JSON of a program in which one value somewhere is another, or one byte. */
function damagedJson(json: string, dice: Dice): string {
  if (dice.below(4) === 0) {
    const at = dice.below(json.length);
    return json.slice(0, at) + String.fromCharCode(32 + dice.below(95)) + json.slice(at + 1);
  }
  const document: unknown = JSON.parse(json);
  for (let n = 1 + dice.below(3); n > 0; n--) damage(document, dice);
  return JSON.stringify(document);
}

function damage(value: unknown, dice: Dice): void {
  if (typeof value !== "object" || value === null) return;
  const record = value as Record<string, unknown>;
  const keys = Object.keys(record);
  const key = keys[dice.below(Math.max(1, keys.length))];
  if (key === undefined) return;
  const inner = record[key];
  if (typeof inner === "object" && inner !== null && dice.below(8) !== 0) {
    damage(inner, dice);
    return;
  }
  const others: readonly unknown[] = [
    0,
    1,
    -1,
    7,
    1e9,
    2 ** 53,
    0.5,
    null,
    true,
    "",
    "x",
    "a\n'`$" + "{b}",
    "0xffffffffffffffffffffff",
    "-0x1",
    [],
    {},
    [[["x"]]],
  ];
  if (dice.below(6) === 0) delete record[key];
  else if (Array.isArray(value) && dice.below(4) === 0) value.splice(Number(key), 0, inner);
  else record[key] = others[dice.below(others.length)];
}
