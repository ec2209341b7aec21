import { covers } from "../../../src/ir/check/tables.ts";
import { folded } from "../../../src/ir/folding.ts";
import {
  type Action,
  type ActionCall,
  type ActionParameter,
  type ActionProfile,
  type Block,
  bit,
  type ConstEntry,
  type Control,
  type Counter,
  type DataType,
  type Digest,
  type Expression,
  type FieldReference,
  type HashAlgorithm,
  int,
  type KeySet,
  type MatchKind,
  type MetadataReference,
  type Meter,
  NO_ACTION,
  type Register,
  rangeOf,
  type Statement,
  type StraightStatement,
  sameType,
  type Table,
  type TableKey,
  type Target,
  widthOf,
} from "../../../src/ir/index.ts";
import type { Dice } from "../dice.ts";
import {
  assign,
  binary,
  cast,
  constant,
  control,
  field,
  hash,
  intrinsic,
  memory,
  meta,
  mux,
  parameter,
  random,
  slice,
  table,
  update,
  valid,
  when,
} from "../nodes.ts";
import type { Layout } from "./layout.ts";
import { anyType, numericType, type Scope, Values } from "./values.ts";

/** What the statements of one control may do; each program does some of it. */
const abilities = [
  "tables",
  "registers",
  "counters",
  "meters",
  "digest",
  "profiles",
  "hash",
  "random",
  "clone",
  "multicast",
  "priority",
  "direct",
  "exits",
  "headers",
] as const;
type Ability = (typeof abilities)[number];

export interface ControlOptions {
  readonly gress: "ingress" | "egress";
  /** Values that depend on time and chance may be read, so that two runs need not agree. */
  readonly measured: boolean;
}

/** A control of random statements. All that it declares is used. */
export class RandomControl {
  readonly #name: string;
  readonly #options: ControlOptions;
  readonly #layout: Layout;
  readonly #dice: Dice;
  readonly #values: Values;
  readonly #can: ReadonlySet<Ability>;
  readonly #actions: Action[] = [];
  readonly #tables: Table[] = [];
  readonly #registers: Register[] = [];
  readonly #counters: Counter[] = [];
  readonly #meters: Meter[] = [];
  readonly #digests: Digest[] = [];
  readonly #profiles: ActionProfile[] = [];
  #written = new Set<string>();
  /** Actions that any table may have, and that calls run. */
  readonly #shared: Action[] = [];

  constructor(name: string, options: ControlOptions, layout: Layout, dice: Dice) {
    this.#name = name;
    this.#options = options;
    this.#layout = layout;
    this.#dice = dice;
    this.#values = new Values(dice);
    this.#can = new Set(abilities.filter(() => dice.below(5) < 3));
  }

  make(): Control {
    const apply = this.#block(2, this.#scope([]));
    return control(this.#name, {
      gress: this.#options.gress,
      apply,
      actions: this.#actions,
      tables: this.#tables,
      registers: this.#registers,
      counters: this.#counters,
      meters: this.#meters,
      digests: this.#digests,
      actionProfiles: this.#profiles,
    });
  }

  /** What can be read where these headers are valid beside the first. */
  #scope(headers: readonly string[], parameters: readonly ActionParameter[] = []): Scope {
    const fields = this.#layout.plain
      .filter((h) => h.name === "base" || headers.includes(h.name))
      .flatMap((h) => h.type.fields.map((f) => field(h.name, f.name, f.type)));
    return {
      leaves: [
        ...fields,
        ...this.#layout.metadata.map((m) => meta(m.name, m.type)),
        ...parameters.map((p) => parameter(p.name, p.type)),
        intrinsic("ingress_port"),
        intrinsic("packet_length"),
        ...(this.#options.gress === "ingress"
          ? [intrinsic("parser_failed"), intrinsic("checksum_failed"), intrinsic("multicast_group")]
          : [intrinsic("is_clone"), intrinsic("replication_id")]),
        intrinsic("egress_port"),
        ...(this.#options.measured && this.#options.gress === "egress"
          ? [intrinsic("enqueue_depth"), intrinsic("dequeue_depth")]
          : []),
      ],
      headers: [...this.#layout.plain.map((h) => h.name), ...this.#layout.changing.map((h) => h.path)],
    };
  }

  #named(kind: string, n: number): string {
    return `${this.#name}.${kind}_${n}`;
  }

  /** A place to write, none that the same straight-line code has written before. */
  #target(scope: Scope): Target {
    const places = scope.leaves.filter(
      (e): e is FieldReference | MetadataReference =>
        (e.kind === "field" || e.kind === "metadata") &&
        !this.#written.has(nameOf(e)) &&
        nameOf(e) !== "sink",
    );
    const whole = places[this.#dice.below(places.length)];
    if (whole === undefined) throw new Error("all has been written");
    this.#written.add(nameOf(whole));
    const width = widthOf(whole.type);
    if (whole.type.kind !== "bit" || width < 2 || this.#dice.below(6) !== 0) return whole;
    const low = this.#dice.below(width - 1);
    return slice(whole, low + this.#dice.below(width - low), low);
  }

  /** A place of unsigned bits. */
  #bits(scope: Scope): FieldReference | MetadataReference {
    const places = scope.leaves.filter((e) => e.kind === "field" || e.kind === "metadata");
    const bits = places.filter((e) => e.type.kind === "bit" && nameOf(e) !== "sink");
    return bits[this.#dice.below(bits.length)] ?? meta("kept", bit(16));
  }

  #index(): Expression {
    const part = slice(field("base", "kind", bit(8)), 1, 0);
    return this.#dice.below(2) === 0 ? cast(part, bit(32)) : part;
  }

  #straight(scope: Scope): StraightStatement {
    const dice = this.#dice;
    const can = (a: Ability): boolean => this.#can.has(a);
    switch (dice.below(13)) {
      case 0:
        return can("counters") ? this.#count() : this.#assign(scope);
      case 1:
      case 2:
        return can("registers") ? this.#update(scope) : this.#assign(scope);
      case 3:
        return can("meters") ? this.#meter() : this.#assign(scope);
      case 4:
        return can("hash") ? this.#hash(scope) : this.#assign(scope);
      case 5:
        return can("random") ? this.#random(scope) : this.#assign(scope);
      case 6:
        return can("clone") && this.#options.gress === "ingress"
          ? { kind: "clone", session: cast(slice(field("base", "kind", bit(8)), 3, 0), bit(32)) }
          : this.#assign(scope);
      case 7:
        return can("multicast") && this.#options.gress === "ingress"
          ? assign(intrinsic("multicast_group"), cast(slice(field("base", "kind", bit(8)), 3, 0), bit(16)))
          : this.#assign(scope);
      case 8:
        return can("priority") && this.#options.gress === "ingress"
          ? assign(intrinsic("priority"), this.#values.numeric(bit(3), 1, scope))
          : this.#assign(scope);
      default:
        return this.#assign(scope);
    }
  }

  #assign(scope: Scope): StraightStatement {
    const target = this.#target(scope);
    return assign(target, this.#values.of(target.type, 3, scope));
  }

  #count(): StraightStatement {
    const dice = this.#dice;
    let counter = this.#counters[dice.below(2)];
    if (counter === undefined) {
      counter = {
        name: this.#named("counter", this.#counters.length),
        size: 4,
        unit: dice.pick("packets", "bytes", "both"),
      };
      this.#counters.push(counter);
    }
    return { kind: "count", counter: counter.name, index: this.#index() };
  }

  #meter(): StraightStatement {
    let meter = this.#meters[0];
    if (meter === undefined) {
      meter = { name: this.#named("meter", 0), size: 4, unit: this.#dice.pick("packets", "bytes") };
      this.#meters.push(meter);
    }
    return { kind: "meter", meter: meter.name, index: this.#index(), into: meta("colour", bit(2)) };
  }

  #hash(scope: Scope): StraightStatement {
    const dice = this.#dice;
    const into = this.#bits(scope);
    const width = widthOf(into.type);
    const algorithm = dice.pick<HashAlgorithm>("crc16", "crc32", "csum16", "xor16", "identity");
    const fields =
      algorithm === "identity"
        ? [this.#values.numeric(bit(dice.pick(8, 32, 64)), 1, scope)]
        : Array.from({ length: 1 + dice.below(4) }, () => this.#values.numeric(numericType(dice), 2, scope));
    if (dice.below(2) === 0) return hash(into, algorithm, fields);
    const greatest = (1n << BigInt(width)) - 1n;
    const base = BigInt(dice.below(9)) % (greatest + 1n);
    const room = greatest - base + 1n;
    const buckets = BigInt(1 + dice.below(999));
    return hash(into, algorithm, fields, { base, buckets: buckets > room ? room : buckets });
  }

  #random(scope: Scope): StraightStatement {
    const into = this.#bits(scope);
    const type = into.type;
    if (type.kind !== "bit" || type.width > 64) return this.#assign(scope);
    if (this.#options.measured)
      return random(into, this.#values.numeric(type, 1, scope), this.#values.numeric(type, 1, scope));
    // Any source of random numbers draws the same one.
    const only = this.#values.numeric(type, 1, scope);
    return random(into, only, only);
  }

  #update(scope: Scope): StraightStatement {
    const dice = this.#dice;
    let r = this.#registers[dice.below(3)];
    if (r === undefined) {
      r = { name: this.#named("register", this.#registers.length), type: numericType(dice), size: 4 };
      this.#registers.push(r);
    }
    const { name, type } = r;
    if (type.kind === "bool") return this.#assign(scope);
    const old = memory("old", type);
    const other = this.#values.numeric(type, 2, scope);
    const next = dice.pick<Expression>(
      binary(old, dice.pick("+", "-", "|+|", "|-|", "&", "|", "^"), other),
      mux(binary(old, "<", other), other, old),
      mux(binary(old, "==", other), this.#values.constant(type), binary(old, "+", other)),
      other,
    );
    const places = scope.leaves.filter(
      (e): e is FieldReference | MetadataReference =>
        (e.kind === "field" || e.kind === "metadata") && sameType(e.type, type) && nameOf(e) !== "sink",
    );
    const into = places[dice.below(places.length + 1)];
    if (into === undefined) return update(name, this.#index(), next);
    const after = memory("next", type);
    const output = dice.pick<Expression>(old, after, mux(binary(old, "==", after), old, other));
    return update(name, this.#index(), dice.below(4) === 0 ? old : next, output, into);
  }

  /** Changes headers that only this code looks into: what a new header holds is written at once. */
  #change(scope: Scope): readonly StraightStatement[] {
    const dice = this.#dice;
    const { stacks, changing } = this.#layout;
    const stack = stacks[dice.below(Math.max(1, stacks.length))];
    if (stack !== undefined && dice.below(3) === 0)
      return [{ kind: "popFront", stack, count: 1 + dice.below(2) }];
    const header = changing[dice.below(Math.max(1, changing.length))];
    if (header === undefined) return [this.#assign(scope)];
    const fill = header.type.fields.map((f) =>
      assign(field(header.path, f.name, f.type), this.#values.of(f.type, 1, scope)),
    );
    if (stack !== undefined && header.path === `${stack}[0]` && dice.below(2) === 0)
      return [
        { kind: "pushFront", stack, count: 1 },
        { kind: "setValidity", header: header.path, valid: true },
        ...fill,
      ];
    return dice.below(3) === 0
      ? [{ kind: "setValidity", header: header.path, valid: false }]
      : [{ kind: "setValidity", header: header.path, valid: true }, ...fill];
  }

  #action(): Action {
    const dice = this.#dice;
    const parameters = Array.from({ length: dice.below(4) }, (_, i) => ({
      name: `p${i}`,
      type: anyType(dice),
    }));
    const around = this.#written;
    this.#written = new Set();
    const body: StraightStatement[] = parameters.map((p) => this.#use(p));
    const scope = this.#scope([], parameters);
    for (let i = 0; i < dice.below(4); i++) body.push(this.#straight(scope));
    if (this.#can.has("headers") && dice.below(3) === 0) body.push(...this.#change(scope));
    if (this.#options.gress === "ingress" && dice.below(8) === 0) body.push({ kind: "drop" });
    const action = { name: this.#named("act", this.#actions.length), parameters, body };
    this.#written = around;
    this.#actions.push(action);
    return action;
  }

  /** A statement that needs the parameter, and what earlier ones of the kind have left. */
  #use(p: ActionParameter): StraightStatement {
    const dice = this.#dice;
    const given = parameter(p.name, p.type);
    const sink = meta("sink", bit(32));
    if (p.type.kind === "bit" && dice.below(2) === 0)
      return assign(
        sink,
        binary(sink, dice.pick("+", "-", "^", "|+|"), p.type.width === 32 ? given : cast(given, bit(32))),
      );
    const scope = this.#scope([]);
    for (let i = 0; i < 9; i++) {
      const test =
        p.type.kind === "bool"
          ? given
          : binary(given, dice.pick("==", "!=", "<"), this.#values.numeric(p.type, 1, scope));
      const choice = binary(
        sink,
        "+",
        mux(test, this.#values.numeric(bit(32), 1, scope), this.#values.constant(bit(32))),
      );
      if (folded(choice) === choice) return assign(sink, choice);
    }
    throw new Error("no choice that depends on a parameter");
  }

  #sharedAction(): Action {
    const dice = this.#dice;
    const known = this.#shared[dice.below(4)];
    if (known !== undefined) return known;
    const made = this.#action();
    this.#shared.push(made);
    return made;
  }

  #table(scope: Scope): Table {
    const dice = this.#dice;
    const name = this.#named("tab", this.#tables.length);
    const key = this.#key(scope);
    const isIndirect = key.length > 0 && this.#can.has("profiles") && dice.below(3) === 0;
    const isMetered = !isIndirect && key.length > 0 && this.#can.has("direct") && dice.below(4) === 0;
    // A meter's actions are its table's alone.
    const actions = isMetered
      ? [this.#action(), this.#action()]
      : Array.from({ length: 1 + dice.below(3) }, () => this.#sharedAction());
    const names = [...new Set(actions.map((a) => a.name))];
    if (!isMetered && dice.below(2) === 0) names.push(NO_ACTION);
    const fallback =
      isMetered || isIndirect || dice.below(4) === 0 ? undefined : actions[dice.below(actions.length)];
    const entries = isIndirect || dice.below(2) === 0 ? [] : this.#entries(name, key, actions);
    const made = table(
      name,
      key.map((k) => [k.name, k.expression, k.match]),
      names,
      {
        size: dice.pick(8, 16, 64),
        defaultAction:
          fallback === undefined
            ? { action: NO_ACTION, arguments: [], constant: !isIndirect && dice.below(2) === 0 }
            : { ...this.#call(fallback), constant: dice.below(2) === 0 },
        constEntries: entries,
        ...(isIndirect ? { implementation: this.#profile(names) } : {}),
        ...(isMetered
          ? {
              directMeter: {
                name: `${name}_meter`,
                unit: dice.pick("packets", "bytes"),
                into: meta("colour", bit(2)),
              },
            }
          : {}),
        ...(this.#can.has("direct") && dice.below(3) === 0 ? { directCounter: `${name}_counter` } : {}),
      },
    );
    this.#tables.push(made);
    return made;
  }

  #key(scope: Scope): readonly TableKey[] {
    const dice = this.#dice;
    const kinds: readonly MatchKind[] = ["exact", "ternary", "range", "optional", "lpm"];
    const places = scope.leaves.filter((e) => e.kind !== "parameter");
    const key: TableKey[] = [];
    for (let i = 0; i < dice.below(4); i++) {
      const e = this.#keyExpression(places, scope);
      const isBits = e.type.kind === "bit";
      // BMv2 counts the prefix of an LPM key from the key's first byte, so keys of part bytes are left out.
      const hasLpm = key.some((k) => k.match === "lpm");
      const count = !hasLpm && widthOf(e.type) % 8 === 0 ? kinds.length : kinds.length - 1;
      const match = isBits ? (kinds[dice.below(count)] ?? "exact") : "exact";
      key.push({ name: `k${i}`, expression: e, match });
    }
    return key;
  }

  #keyExpression(places: readonly Expression[], scope: Scope): Expression {
    const dice = this.#dice;
    const header = scope.headers[dice.below(scope.headers.length)];
    switch (dice.below(8)) {
      case 0:
        return slice(field("base", "b32", bit(32)), 7, 4);
      case 1:
        return header === undefined ? field("base", "kind", bit(8)) : valid(header);
      case 2:
        return this.#values.numeric(bit(dice.pick(8, 12, 32)), 2, scope);
      default:
        return places[dice.below(places.length)] ?? field("base", "kind", bit(8));
    }
  }

  #profile(actions: readonly string[]): string {
    const dice = this.#dice;
    const shared = this.#tables.find(
      (t) =>
        t.implementation !== undefined &&
        t.actions.length === actions.length &&
        t.actions.every((a) => actions.includes(a)),
    );
    if (shared?.implementation !== undefined) return shared.implementation;
    const name = this.#named("profile", this.#profiles.length);
    const keys = [
      field("base", "kind", bit(8)),
      field("base", "i16", int(16)),
      field("base", "b32", bit(32)),
      meta("kept", bit(16)),
      meta("colour", bit(2)),
    ].filter(() => dice.below(2) === 0);
    const size = 8 + dice.below(8);
    const algorithm = dice.pick<HashAlgorithm>("crc16", "crc32", "csum16", "xor16");
    const limit = dice.below(2) === 0 ? {} : { maxGroupSize: 8 };
    this.#profiles.push(
      keys.length === 0 ? { name, size } : { name, size, selector: { algorithm, keys, ...limit } },
    );
    return name;
  }

  #call(a: Action): ActionCall {
    return {
      action: a.name,
      arguments: a.parameters.map((p) => this.#within(p.type)),
    };
  }

  #within(type: DataType): bigint {
    const bits = this.#dice.value(widthOf(type));
    return type.kind === "int" ? BigInt.asIntN(type.width, bits) : bits;
  }

  #entries(name: string, key: readonly TableKey[], actions: readonly Action[]): readonly ConstEntry[] {
    const dice = this.#dice;
    const out: ConstEntry[] = [];
    if (key.length === 0) return out;
    const shape = table(
      name,
      key.map((k) => [k.name, k.expression, k.match]),
      [],
    );
    for (let i = 0; i < 1 + dice.below(6); i++) {
      const action = actions[dice.below(actions.length)];
      if (action === undefined) continue;
      const entry = { ...this.#call(action), keys: key.map((k) => this.#keySet(k)) };
      if (!out.some((earlier) => covers(earlier, entry, shape))) out.push(entry);
    }
    return out;
  }

  #keySet({ match, expression: { type } }: TableKey): KeySet {
    const dice = this.#dice;
    const width = widthOf(type);
    const value = this.#within(type);
    const all = (1n << BigInt(width)) - 1n;
    switch (match) {
      case "exact":
        return { kind: "value", value };
      case "optional":
        return dice.below(3) === 0 ? { kind: "any" } : { kind: "value", value };
      case "ternary": {
        if (dice.below(4) === 0) return dice.below(2) === 0 ? { kind: "any" } : { kind: "value", value };
        const mask = dice.bits(width);
        return { kind: "mask", value: value & mask, mask };
      }
      case "lpm": {
        // p4c misreads prefixes in entries of more than 64 bits, and the checks refuse them for v1model.
        if (width > 64 || dice.below(4) === 0)
          return dice.below(2) === 0 ? { kind: "any" } : { kind: "value", value };
        const length = dice.below(width + 1);
        return { kind: "prefix", value: value & (all ^ (all >> BigInt(length))), length };
      }
      case "range": {
        if (dice.below(4) === 0) return dice.below(2) === 0 ? { kind: "any" } : { kind: "value", value };
        const high = value + BigInt(dice.below(200));
        return { kind: "range", low: value, high: high > rangeOf(type)[1] ? rangeOf(type)[1] : high };
      }
    }
  }

  #block(depth: number, scope: Scope): Block {
    const around = this.#written;
    this.#written = new Set();
    const made = Array.from({ length: 1 + this.#dice.below(4) }, () => this.#statements(depth, scope)).flat();
    this.#written = around;
    return made;
  }

  #statements(depth: number, scope: Scope): Block {
    const dice = this.#dice;
    switch (depth === 0 ? 9 : dice.below(13)) {
      case 0:
        return [
          when(
            this.#values.logical(2, scope),
            this.#block(depth - 1, scope),
            dice.below(2) === 0 ? [] : this.#block(depth - 1, scope),
          ),
        ];
      case 11:
        return [
          when(binary(slice(field("base", "kind", bit(8)), 2, 0), "==", constant(dice.below(8), bit(3))), [
            { kind: "drop" },
          ]),
        ];
      case 1: {
        // Inside, the header's fields can be read.
        const h = this.#layout.plain[dice.below(this.#layout.plain.length)];
        return h === undefined ? [] : [when(valid(h.name), this.#block(depth - 1, this.#scope([h.name])))];
      }
      case 2:
      case 3:
      case 4:
        return this.#can.has("tables") ? [this.#apply(depth, scope)] : [this.#straight(scope)];
      case 5: {
        const a = this.#sharedAction();
        return [
          {
            kind: "callAction",
            action: a.name,
            arguments: a.parameters.map((p) => this.#values.of(p.type, 2, scope)),
          },
        ];
      }
      case 6:
        return this.#can.has("exits")
          ? [when(this.#values.logical(1, scope), [{ kind: "exit" }])]
          : [this.#straight(scope)];
      case 7:
        return this.#can.has("headers") ? this.#change(scope) : [this.#straight(scope)];
      case 8:
        return this.#can.has("digest") && this.#options.gress === "ingress" && this.#digests.length === 0
          ? [this.#digest(scope)]
          : [this.#straight(scope)];
      default:
        return [this.#straight(scope)];
    }
  }

  #digest(scope: Scope): Statement {
    const dice = this.#dice;
    const types = Array.from({ length: 1 + dice.below(4) }, () => bit(dice.pick(1, 7, 8, 16, 32, 48)));
    const name = this.#named("digest", 0);
    this.#digests.push({ name, fields: types.map((type, i) => ({ name: `d${i}`, type })) });
    return { kind: "digest", digest: name, values: types.map((t) => this.#values.numeric(t, 1, scope)) };
  }

  #apply(depth: number, scope: Scope): Statement {
    const made = this.#table(scope);
    const branches = this.#dice.below(2) === 0;
    return {
      kind: "applyTable",
      table: made.name,
      hit: branches ? this.#block(depth - 1, scope) : [],
      miss: branches && this.#dice.below(2) === 0 ? this.#block(depth - 1, scope) : [],
    };
  }
}

function nameOf(e: FieldReference | MetadataReference): string {
  return e.kind === "field" ? `${e.header}.${e.field}` : e.name;
}
