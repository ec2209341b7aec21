import {
  type Action,
  type ActionCall,
  type Block,
  type Checksum,
  type Control,
  type DataType,
  type Expression,
  emittedPaths,
  forTarget,
  type HashAlgorithm,
  hashAlgorithms,
  type KeySet,
  type ParserState,
  type ParserStep,
  type Program,
  type Register,
  type Statement,
  type StraightStatement,
  stackOf,
  type Table,
  type Target,
  widthOf,
} from "../../../src/ir/index.ts";
import type { Switch } from "../../../src/switch/switch.ts";
import type { TableEntry } from "../../../src/switch/tables/table-entry.ts";
import type { MatchField } from "../../../src/switch/tables/table-key.ts";
import { evaluate, inType } from "../reference.ts";
import { hashOf, internetChecksum, sideBySide } from "./hashes.ts";
import { Headers } from "./headers.ts";

const DROP_PORT = 511n;
/** A packet that goes round more often is in a circle. */
const MOST_ROUNDS = 20;

/** What a program does that no model can foretell: it draws random numbers, or a parser does what P4 leaves open. */
export class Unforeseeable extends Error {}

/** `exit`. */
class Ended extends Error {}

/** The parser stops: ingress runs with its error set. */
class GivenUp extends Error {}

/** A packet inside the switch. */
interface Packet {
  readonly headers: Headers;
  readonly metadata: Map<string, bigint>;
  readonly intrinsics: Map<string, bigint>;
  /** What the parser has not read. */
  readonly rest: Uint8Array;
  readonly length: number;
  /** By how much ingress has made it longer. */
  readonly grown: { bytes: number };
}

/** What is asked for at the end of a gress. */
interface Wishes {
  clone?: bigint;
  /** To come again, with these metadata. */
  again?: readonly string[];
}

/** What an expression may name where it stands. */
interface Scope {
  readonly packet: Packet;
  readonly gress: "ingress" | "egress";
  readonly wishes: Wishes;
  readonly parameters?: ReadonlyMap<string, bigint>;
}

/**
 * A program run from its own nodes as P4_16 and v1model say, without any of the code that makes P4 or JSON of it, or runs that: what
 * every switch has to do. Entries, groups and clone sessions are those of an embedded switch; queues are empty, meters show green.
 */
export class Machine {
  readonly #program: Program;
  readonly #like: Switch;
  readonly #controls: ReadonlyMap<string, Control>;
  readonly #tables: ReadonlyMap<string, Table>;
  readonly #actions: ReadonlyMap<string, Action>;
  readonly #registerTypes: ReadonlyMap<string, Register>;
  readonly registers: ReadonlyMap<string, bigint[]>;
  readonly counters: ReadonlyMap<string, { packets: bigint; bytes: bigint }[]>;

  constructor(program: Program, like: Switch) {
    this.#program = forTarget(program, "v1model");
    this.#like = like;
    const { controls } = this.#program;
    this.#controls = byName(controls);
    this.#tables = byName(controls.flatMap((c) => c.tables));
    this.#actions = byName(controls.flatMap((c) => c.actions));
    this.#registerTypes = byName(controls.flatMap((c) => c.registers));
    this.registers = new Map(
      [...this.#registerTypes.values()].map((r) => [r.name, new Array<bigint>(r.size).fill(0n)]),
    );
    this.counters = new Map(
      controls
        .flatMap((c) => c.counters)
        .map((c) => [c.name, Array.from({ length: c.size }, () => ({ packets: 0n, bytes: 0n }))]),
    );
  }

  /** What comes out because of a packet, `port:bytes`, sorted. */
  send(port: number, data: Uint8Array): readonly string[] {
    return this.#enter(port, data, "is_fresh", new Map(), 0).sort();
  }

  #enter(
    port: number,
    data: Uint8Array,
    how: "is_fresh" | "is_resubmitted" | "is_recirculated",
    kept: ReadonlyMap<string, bigint>,
    round: number,
  ): string[] {
    if (round > MOST_ROUNDS) throw new Unforeseeable("a packet goes round and round");
    const packet = this.#parse(port, data, kept);
    packet.intrinsics.set(how, 1n);
    packet.intrinsics.set(
      "checksum_failed",
      this.#program.checksums.some((c) => this.#isWrong(c, packet)) ? 1n : 0n,
    );
    const wishes: Wishes = {};
    this.#gress(this.#program.ingress, { packet, gress: "ingress", wishes });
    const out: string[] = [];
    const { clone, again } = wishes;
    if (clone !== undefined) {
      const session = this.#like.replication.allSessions().find((s) => BigInt(s.id) === clone);
      for (const r of session?.replicas ?? []) {
        const copy = this.#parse(port, data, new Map());
        // v1model: metadata that clone() does not keep are 0, also those of the parser and the port.
        copy.metadata.clear();
        copy.intrinsics.clear();
        copy.intrinsics.set("is_clone", 1n);
        out.push(...this.#leave(copy, r, round));
      }
    }
    if (again !== undefined)
      return [...out, ...this.#enter(port, data, "is_resubmitted", keptOf(packet, again), round + 1)];
    const group = packet.intrinsics.get("multicast_group") ?? 0n;
    if (group !== 0n) {
      const replicas = this.#like.replication.allGroups().find((g) => BigInt(g.id) === group)?.replicas ?? [];
      return [...out, ...replicas.flatMap((r) => this.#leave(copyOf(packet), r, round))];
    }
    const to = packet.intrinsics.get("egress_port") ?? 0n;
    if (to === DROP_PORT) return out;
    return [...out, ...this.#leave(packet, { port: Number(to), instance: 0 }, round)];
  }

  /** Egress, and out of a port. */
  #leave(
    packet: Packet,
    { port, instance }: { readonly port: number; readonly instance: number },
    round: number,
  ): string[] {
    packet.intrinsics.set("egress_port", BigInt(port));
    packet.intrinsics.set("replication_id", BigInt(instance));
    packet.intrinsics.delete("dropped");
    packet.intrinsics.set("packet_length", BigInt(packet.length + packet.grown.bytes));
    const wishes: Wishes = {};
    this.#gress(this.#program.egress, { packet, gress: "egress", wishes });
    for (const c of this.#program.checksums) this.#renew(c, packet);
    if (packet.intrinsics.get("dropped") === 1n) return [];
    const { headers, rest, intrinsics } = packet;
    const valid = emittedPaths(this.#program).filter((path) => headers.isValid(path));
    const data = Uint8Array.from([...valid.flatMap((path) => [...sideBySide(headers.parts(path))]), ...rest]);
    // No link carries a frame without bytes.
    if (wishes.again === undefined && data.length === 0) return [];
    if (wishes.again === undefined) return [`${port}:${Buffer.from(data).toString("hex")}`];
    const from = Number(intrinsics.get("ingress_port"));
    return this.#enter(from, data, "is_recirculated", keptOf(packet, wishes.again), round + 1);
  }

  #gress(block: Block, scope: Scope): void {
    try {
      this.#block(block, scope);
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
    }
  }

  // The parser.

  #parse(port: number, data: Uint8Array, kept: ReadonlyMap<string, bigint>): Packet {
    const reader = new Reader(data);
    const started: Omit<Packet, "rest"> = {
      headers: new Headers(this.#program),
      metadata: new Map(kept),
      intrinsics: new Map([
        ["ingress_port", BigInt(port)],
        ["packet_length", BigInt(data.length)],
      ]),
      length: data.length,
      grown: { bytes: 0 },
    };
    const scope = { packet: { ...started, rest: data }, gress: "ingress", wishes: {} } as const;
    const value = (e: Expression): bigint =>
      evaluate(e, (leaf) => {
        if (leaf.kind === "lookahead") return reader.look(widthOf(leaf.type));
        return this.#leaf(leaf, scope);
      });
    try {
      let name = "start";
      while (name !== "accept" && name !== "reject") {
        const state = this.#program.parser.find((s) => s.name === name);
        // A program without parser takes all as it is.
        if (state === undefined) break;
        for (const step of state.steps) this.#step(step, scope, reader, value);
        name = this.#next(state, value);
      }
      if (name === "reject") throw new GivenUp();
    } catch (error) {
      if (!(error instanceof GivenUp)) throw error;
      started.intrinsics.set("parser_failed", 1n);
    }
    return { ...started, rest: reader.rest() };
  }

  #step(step: ParserStep, { packet }: Scope, reader: Reader, value: (e: Expression) => bigint): void {
    switch (step.kind) {
      case "extract": {
        const stack = stackOf(step.header, "next");
        const path = stack === undefined ? step.header : packet.headers.next(stack);
        if (path === undefined) throw new GivenUp();
        const { fields, varbit } = packet.headers.type(path);
        const length = step.length === undefined ? 0n : value(step.length);
        if (length % 8n !== 0n) throw new Unforeseeable("a header of part of a byte");
        if (length > BigInt(varbit?.width ?? 0)) throw new GivenUp();
        const widths = [...fields.map((f) => widthOf(f.type)), Number(length)];
        reader.look(widths.reduce((sum, w) => sum + w, 0));
        const bits = widths.map((w) => reader.take(w));
        const values = fields.map((f, i) => inType(bits[i] ?? 0n, f.type));
        packet.headers.fill(path, values, [bits.at(-1) ?? 0n, Number(length)]);
        if (stack !== undefined) packet.headers.countExtracted(stack);
        break;
      }
      case "advance": {
        const bits = value(step.bits);
        if (bits % 8n !== 0n) throw new Unforeseeable("an advance by part of a byte");
        reader.skip(Number(bits));
        break;
      }
      case "assign":
        packet.metadata.set(step.target.name, value(step.value));
        break;
      case "verify":
        if (value(step.condition) === 0n) throw new GivenUp();
    }
  }

  #next({ transition: t }: ParserState, value: (e: Expression) => bigint): string {
    if (t.kind === "goto") return t.next;
    const keys = t.keys.map((k) => BigInt.asUintN(widthOf(k.type), value(k)));
    const taken = t.cases.find((c) => {
      if (c.valueSet !== undefined) throw new Unforeseeable("a value set");
      return c.values.every((set, i) => isIn(keys[i] ?? 0n, set, t.keys[i]?.type));
    });
    return taken?.next ?? t.otherwise;
  }

  // Checksums.

  #sum(c: Checksum, packet: Packet): bigint {
    const scope = { packet, gress: "ingress", wishes: {} } as const;
    const fields = c.fields.map((f) => [this.#value(f, scope), widthOf(f.type)] as const);
    const varbits = (c.varbits ?? []).map((path) =>
      packet.headers.varbit(path.slice(0, path.lastIndexOf("."))),
    );
    const bytes = sideBySide([...fields, ...varbits]);
    return internetChecksum(Uint8Array.from([...bytes, ...(c.payload === true ? packet.rest : [])]));
  }

  #counts(c: Checksum, packet: Packet): boolean {
    if (!packet.headers.isValid(c.header)) return false;
    const scope = { packet, gress: "ingress", wishes: {} } as const;
    if (c.condition !== undefined && this.#value(c.condition, scope) === 0n) return false;
    return c.zeroIsNone !== true || packet.headers.get(c.target.header, c.target.field) !== 0n;
  }

  #isWrong(c: Checksum, packet: Packet): boolean {
    if (!c.verify || !this.#counts(c, packet)) return false;
    const sum = this.#sum(c, packet);
    const given = packet.headers.get(c.target.header, c.target.field);
    return given !== sum && !(c.zeroIsNone === true && sum === 0n && given === 0xffffn);
  }

  #renew(c: Checksum, packet: Packet): void {
    if (!c.update || !this.#counts(c, packet)) return;
    const sum = this.#sum(c, packet);
    packet.headers.set(c.target.header, c.target.field, c.zeroIsNone === true && sum === 0n ? 0xffffn : sum);
  }

  // Statements.

  #block(block: Block, scope: Scope): void {
    for (const s of block) this.#statement(s, scope);
  }

  #statement(s: Statement, scope: Scope): void {
    switch (s.kind) {
      case "if":
        this.#block(this.#value(s.condition, scope) === 1n ? s.whenTrue : s.whenFalse, scope);
        break;
      case "applyControl":
        this.#block(this.#controls.get(s.control)?.apply ?? [], scope);
        break;
      case "applyTable":
        this.#block(this.#apply(found(this.#tables, s.table), scope) ? s.hit : s.miss, scope);
        break;
      case "callAction":
        this.#call({ action: s.action, arguments: s.arguments.map((a) => this.#value(a, scope)) }, scope);
        break;
      case "exit":
        throw new Ended();
      default:
        this.#straight(s, scope);
    }
  }

  /** Whether there was an entry. */
  #apply(table: Table, scope: Scope): boolean {
    const keys = table.key.map((k) =>
      BigInt.asUintN(widthOf(k.expression.type), this.#value(k.expression, scope)),
    );
    if (table.constEntries.length > 0 && table.entriesAreInitial === undefined) {
      const taken = table.constEntries.filter((e) =>
        e.keys.every((set, i) => isIn(keys[i] ?? 0n, set, table.key[i]?.expression.type)),
      );
      // The first wins, but where prefixes alone decide the longest.
      const byPrefix = table.key.every((k) => k.match === "exact" || k.match === "lpm");
      const entry = byPrefix ? best(taken, (e) => prefixIn(e.keys, table)) : taken[0];
      this.#call(entry ?? table.defaultAction, scope);
      return entry !== undefined;
    }
    const entry = this.#entry(table, keys);
    if (entry === undefined) {
      this.#call(table.defaultAction, scope);
      return false;
    }
    if (table.directMeter !== undefined) this.#write(table.directMeter.into, 0n, scope);
    const { action } = entry;
    if (action.kind === "action") this.#call({ ...action, arguments: action.parameters }, scope);
    else {
      const profile = this.#like.profile(table.implementation ?? "");
      const member =
        action.kind === "member"
          ? action.member
          : this.#member(table.implementation ?? "", action.group, scope);
      const call = profile.members.find((m) => m.id === member)?.call;
      if (call !== undefined) this.#call({ action: call.action, arguments: call.parameters }, scope);
    }
    return true;
  }

  #entry(table: Table, keys: readonly bigint[]): TableEntry | undefined {
    if (table.key.length === 0) return undefined;
    const widths = table.key.map((k) => widthOf(k.expression.type));
    const entries = [...this.#like.table(table.name).entries()].filter((e) =>
      e.match.every((m, i) => matches(keys[i] ?? 0n, m, widths[i] ?? 0)),
    );
    return best(
      entries,
      (e) =>
        e.priority * 10_000 + e.match.reduce((sum, m) => sum + (m?.kind === "lpm" ? m.prefixLength : 0), 0),
    );
  }

  #member(profile: string, group: number, scope: Scope): number {
    const members = this.#like.profile(profile).groups.find((g) => g.id === group)?.members ?? [];
    const ids = members.flatMap((m) => new Array<number>(m.weight).fill(m.member));
    const selector = this.#program.controls
      .flatMap((c) => c.actionProfiles)
      .find((p) => p.name === profile)?.selector;
    if (selector === undefined || ids.length === 0) throw new Unforeseeable("a group without members");
    const hash = this.#hash(selector.algorithm, selector.keys, scope);
    return ids[Number(hash % BigInt(ids.length))] ?? 0;
  }

  #call(call: ActionCall, scope: Scope): void {
    const action = this.#actions.get(call.action);
    const parameters = new Map(
      action?.parameters.map((p, i) => [p.name, inType(call.arguments[i] ?? 0n, p.type)]) ?? [],
    );
    for (const s of action?.body ?? []) this.#straight(s, { ...scope, parameters });
  }

  #straight(s: StraightStatement, scope: Scope): void {
    const { packet, wishes } = scope;
    switch (s.kind) {
      case "assign":
        this.#write(s.target, this.#value(s.value, scope), scope);
        break;
      case "setValidity":
        packet.grown.bytes += packet.headers.setValidity(s.header, s.valid);
        break;
      case "pushFront":
      case "popFront":
        packet.headers.shift(s.stack, s.kind === "pushFront" ? s.count : -s.count);
        break;
      case "registerUpdate": {
        const cells = found(this.registers, s.register);
        const { type } = found(this.#registerTypes, s.register);
        const index = Number(this.#value(s.index, scope));
        if (index >= cells.length) throw new Unforeseeable("a register outside its cells");
        const old = inType(cells[index] ?? 0n, type);
        const next = this.#value(s.next, scope, { old });
        cells[index] = BigInt.asUintN(widthOf(type), next);
        if (s.output !== undefined && s.into !== undefined)
          this.#write(s.into, this.#value(s.output, scope, { old, next }), scope);
        break;
      }
      case "count": {
        const cell = found(this.counters, s.counter)[Number(this.#value(s.index, scope))];
        if (cell === undefined) break;
        cell.packets++;
        cell.bytes += BigInt(packet.length);
        break;
      }
      case "drop":
        packet.intrinsics.set("multicast_group", 0n);
        if (scope.gress === "ingress") packet.intrinsics.set("egress_port", DROP_PORT);
        else packet.intrinsics.set("dropped", 1n);
        break;
      case "clone":
        wishes.clone = this.#value(s.session, scope);
        break;
      case "hash": {
        const hash = this.#hash(s.algorithm, s.fields, scope);
        const whole = BigInt.asUintN(hashAlgorithms[s.algorithm], hash);
        const within = s.base + (s.buckets === undefined ? whole : hash % s.buckets);
        this.#write(s.into, BigInt.asUintN(widthOf(s.into.type), within), scope);
        break;
      }
      case "random": {
        const [low, high] = [this.#value(s.low, scope), this.#value(s.high, scope)];
        if (low < high) throw new Unforeseeable("a random number");
        if (low === high) this.#write(s.into, low, scope);
        break;
      }
      case "meter":
        this.#write(s.into, 0n, scope);
        break;
      case "digest":
        break;
      case "resubmit":
      case "recirculate":
        wishes.again = s.keep.map((m) => m.name);
    }
  }

  #hash(algorithm: HashAlgorithm, fields: readonly Expression[], scope: Scope): bigint {
    return hashOf(
      algorithm,
      sideBySide(fields.map((f) => [this.#value(f, scope), widthOf(f.type)] as const)),
    );
  }

  #write(target: Target, value: bigint, scope: Scope): void {
    const { packet } = scope;
    switch (target.kind) {
      case "field":
        packet.headers.set(target.header, target.field, value);
        break;
      case "metadata":
        packet.metadata.set(target.name, value);
        break;
      case "intrinsic":
        packet.intrinsics.set(target.name, value);
        break;
      case "slice": {
        const whole = target.operand;
        const ones = (1n << BigInt(target.high - target.low + 1)) - 1n;
        const old = BigInt.asUintN(widthOf(whole.type), this.#value(whole, scope));
        const bits =
          (old & ~(ones << BigInt(target.low))) |
          ((BigInt.asUintN(64 * 64, value) & ones) << BigInt(target.low));
        this.#write(whole, inType(bits, whole.type), scope);
      }
    }
  }

  // Expressions.

  #value(e: Expression, scope: Scope, memory?: { readonly old: bigint; readonly next?: bigint }): bigint {
    return evaluate(e, (leaf) => {
      if (leaf.kind === "memory") return (leaf.which === "old" ? memory?.old : memory?.next) ?? 0n;
      return this.#leaf(leaf, scope);
    });
  }

  #leaf(e: Expression, { packet, parameters }: Scope): bigint {
    switch (e.kind) {
      case "field": {
        const stack = stackOf(e.header, "last");
        return packet.headers.get(stack === undefined ? e.header : packet.headers.last(stack), e.field);
      }
      case "metadata":
        return packet.metadata.get(e.name) ?? 0n;
      case "parameter":
        return parameters?.get(e.name) ?? 0n;
      case "valid": {
        const stack = stackOf(e.header, "last");
        return packet.headers.isValid(stack === undefined ? e.header : packet.headers.last(stack)) ? 1n : 0n;
      }
      case "intrinsic":
        return packet.intrinsics.get(e.name) ?? 0n;
      default:
        throw new Error(`nothing knows the value of a ${e.kind}`);
    }
  }
}

/** The packet as the parser sees it. */
class Reader {
  readonly #data: Uint8Array;
  #at = 0;

  constructor(data: Uint8Array) {
    this.#data = data;
  }

  /** The next bits, which stay. */
  look(width: number): bigint {
    if (this.#at + width > this.#data.length * 8) throw new GivenUp();
    let value = 0n;
    for (let i = this.#at; i < this.#at + width; i++)
      value = (value << 1n) | BigInt(((this.#data[i >> 3] ?? 0) >> (7 - (i & 7))) & 1);
    return value;
  }

  take(width: number): bigint {
    const value = this.look(width);
    this.#at += width;
    return value;
  }

  skip(width: number): void {
    if (this.#at + width > this.#data.length * 8) throw new GivenUp();
    this.#at += width;
  }

  rest(): Uint8Array {
    return this.#data.subarray(this.#at / 8);
  }
}

function copyOf(p: Packet): Packet {
  return {
    ...p,
    headers: p.headers.copy(),
    metadata: new Map(p.metadata),
    intrinsics: new Map(p.intrinsics),
    grown: { ...p.grown },
  };
}

function keptOf({ metadata }: Packet, names: readonly string[]): ReadonlyMap<string, bigint> {
  return new Map(names.map((name) => [name, metadata.get(name) ?? 0n]));
}

/** The first of those with the greatest weight. */
function best<T>(list: readonly T[], weight: (one: T) => number): T | undefined {
  return list.reduce<T | undefined>(
    (found, one) => (found === undefined || weight(one) > weight(found) ? one : found),
    undefined,
  );
}

/** Bits that an entry's prefixes compare. */
function prefixIn(keys: readonly KeySet[], table: Table): number {
  return keys.reduce((sum, set, i) => {
    if (table.key[i]?.match !== "lpm" || set.kind === "any") return sum;
    return (
      sum + (set.kind === "prefix" ? set.length : widthOf(table.key[i]?.expression.type ?? { kind: "bool" }))
    );
  }, 0);
}

function byName<T extends { readonly name: string }>(list: readonly T[]): ReadonlyMap<string, T> {
  return new Map(list.map((one) => [one.name, one]));
}

function found<T>(map: ReadonlyMap<string, T>, name: string): T {
  const one = map.get(name);
  if (one === undefined) throw new Error(`there is no ${name}`);
  return one;
}

/** Whether a key, as unsigned number, is in the set of an entry or of a select case. */
function isIn(key: bigint, set: KeySet, type: DataType | undefined): boolean {
  const width = type === undefined ? 0 : widthOf(type);
  const bits = (v: bigint): bigint => BigInt.asUintN(width, v);
  switch (set.kind) {
    case "value":
      return key === bits(set.value);
    case "mask":
      return (key & set.mask) === (set.value & set.mask);
    case "prefix":
      return key >> BigInt(width - set.length) === bits(set.value) >> BigInt(width - set.length);
    case "range":
      return bits(set.low) <= key && key <= bits(set.high);
    case "any":
      return true;
  }
}

function matches(key: bigint, match: MatchField | undefined, width: number): boolean {
  switch (match?.kind) {
    case undefined:
      return true;
    case "exact":
    case "optional":
      return key === match.value;
    case "ternary":
      return (key & match.mask) === match.value;
    case "lpm":
      return key >> BigInt(width - match.prefixLength) === match.value >> BigInt(width - match.prefixLength);
    case "range":
      return match.low <= key && key <= match.high;
  }
}
