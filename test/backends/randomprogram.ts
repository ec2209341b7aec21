import fc from "fast-check";
import type {
  Action,
  ActionParameter,
  ActionProfile,
  Block,
  Control,
  DataType,
  Expression,
  HashAlgorithm,
  KeySet,
  MatchKind,
  Program,
  Statement,
  StraightStatement,
  Table,
  Target,
} from "../../src/ir/index.ts";
import { bit, bool, int, NO_ACTION, widthOf } from "../../src/ir/index.ts";
import { logical, numeric, operands } from "./arbitrary.ts";
import type { Dice } from "./dice.ts";
import {
  binary,
  cast,
  control,
  extract,
  field,
  hash,
  intrinsic,
  memory,
  meta,
  mux,
  parameter,
  program,
  random,
  slice,
  unary,
  update,
  valid,
  when,
} from "./nodes.ts";

const metadata: readonly { readonly name: string; readonly type: DataType }[] = [
  { name: "m16", type: bit(16) },
  { name: "m32", type: bit(32) },
  { name: "mi16", type: int(16) },
  { name: "mflag", type: bool },
];
const registers: readonly { readonly name: string; readonly type: DataType }[] = [
  { name: "r32", type: bit(32) },
  { name: "ri16", type: int(16) },
  { name: "rflag", type: bool },
];
const b8 = field("args", "b8", bit(8));

/** A program of random control flow: conditions, tables, calls, registers, counters, clones, exits, in ingress and egress. */
export function randomProgram(name: string, dice: Dice): Program {
  const controls = [
    new RandomControl("first", "ingress", dice).make(),
    new RandomControl("second", "ingress", dice).make(),
    new RandomControl("last", "egress", dice).make(),
  ];
  return program(name, {
    ports: 8,
    headerTypes: [
      { name: "operands", fields: operands },
      { name: "more", fields: [{ name: "x", type: bit(8) }] },
    ],
    headers: [
      { name: "args", headerType: "operands" },
      { name: "extra", headerType: "more" },
    ],
    metadata,
    parser: [
      {
        name: "start",
        steps: [extract("args")],
        transition: {
          kind: "select",
          keys: [b8, field("args", "flag", bool)],
          cases: [
            { values: [{ kind: "range", low: 3n, high: 200n }, { kind: "any" }], next: "parse_extra" },
            {
              values: [
                { kind: "value", value: 1n },
                { kind: "value", value: 1n },
              ],
              next: "reject",
            },
          ],
          otherwise: "accept",
        },
      },
      { name: "parse_extra", steps: [extract("extra")], transition: { kind: "goto", next: "accept" } },
    ],
    controls,
    ingress: [
      // The fields of an invalid header are whatever a target has there.
      when(unary("!", valid("args")), [{ kind: "drop" }, { kind: "exit" }]),
      { kind: "applyControl", control: "first" },
      { kind: "assign", target: intrinsic("egress_port"), value: cast(slice(b8, 2, 0), bit(9)) },
      when(sample(logical(2), dice), [{ kind: "applyControl", control: "second" }], [{ kind: "drop" }]),
      when(sample(logical(1), dice), [
        { kind: "assign", target: intrinsic("multicast_group"), value: cast(slice(b8, 3, 0), bit(16)) },
      ]),
    ],
    egress: [{ kind: "applyControl", control: "last" }],
    deparser: ["args", "extra"],
  });
}

function sample<T>(arbitrary: fc.Arbitrary<T>, dice: Dice): T {
  const [value] = fc.sample(arbitrary, { numRuns: 1, seed: dice.below(1 << 30) });
  if (value === undefined) throw new Error("no sample");
  return value;
}

class RandomControl {
  readonly #name: string;
  readonly #gress: "ingress" | "egress";
  readonly #dice: Dice;
  readonly #actions: Action[] = [];
  readonly #tables: Table[] = [];
  readonly #profiles: ActionProfile[] = [];

  constructor(name: string, gress: "ingress" | "egress", dice: Dice) {
    this.#name = name;
    this.#gress = gress;
    this.#dice = dice;
  }

  make(): Control {
    for (let i = 0; i < 4; i++) this.#actions.push(this.#action(i));
    return control(this.#name, {
      gress: this.#gress,
      apply: this.#block(3),
      actions: this.#actions,
      tables: this.#tables,
      registers: registers.map((r) => ({ ...r, name: `${this.#name}.${r.name}`, size: 4 })),
      counters: [{ name: `${this.#name}.seen`, size: 4, unit: "both" }],
      actionProfiles: this.#profiles,
    });
  }

  #value(type: DataType, depth: number): Expression {
    const dice = this.#dice;
    if (type.kind === "bool") return dice.below(4) === 0 ? meta("mflag", bool) : sample(logical(depth), dice);
    const held = metadata.find((m) => m.type.kind === type.kind && widthOf(m.type) === type.width);
    if (held !== undefined && dice.below(4) === 0) return meta(held.name, held.type);
    return sample(numeric(type, depth), dice);
  }

  #target(): Target {
    const dice = this.#dice;
    if (dice.below(6) === 0) return slice(field("args", "b32", bit(32)), 19, 4);
    const places: readonly Target[] = [
      ...operands.map((o) => field("args", o.name, o.type)),
      ...metadata.map((m) => meta(m.name, m.type)),
    ];
    return places[dice.below(places.length)] ?? b8;
  }

  #index(): Expression {
    return cast(slice(b8, 1, 0), bit(32));
  }

  #straight(parameters: readonly ActionParameter[]): StraightStatement {
    const dice = this.#dice;
    switch (dice.below(10)) {
      case 8:
        return this.#hash();
      case 9: {
        // Any source of random numbers draws the same one.
        const only = this.#value(bit(16), 2);
        return random(dice.below(2) === 0 ? field("args", "b16", bit(16)) : meta("m16", bit(16)), only, only);
      }
      case 0:
        return { kind: "count", counter: `${this.#name}.seen`, index: this.#index() };
      case 1:
        return { kind: "setValidity", header: "extra", valid: dice.below(2) === 0 };
      case 2:
        return this.#gress === "ingress" && dice.below(2) === 0
          ? { kind: "clone", session: cast(slice(b8, 3, 0), bit(32)) }
          : { kind: "drop" };
      case 3:
      case 4:
        return this.#update();
      default: {
        const target = this.#target();
        const matching = parameters.find(
          (p) => p.type.kind === target.type.kind && widthOf(p.type) === widthOf(target.type),
        );
        const value = this.#value(target.type, 3);
        if (matching === undefined) return { kind: "assign", target, value };
        const given = parameter(matching.name, matching.type);
        if (target.type.kind === "bool") return { kind: "assign", target, value: binary(given, "||", value) };
        return {
          kind: "assign",
          target,
          value: mux(binary(given, "<", value), binary(given, "+", value), given),
        };
      }
    }
  }

  #hash(): StraightStatement {
    const dice = this.#dice;
    const b32 = field("args", "b32", bit(32));
    const into = dice.pick<Target>(
      b32,
      field("args", "b16", bit(16)),
      meta("m32", bit(32)),
      slice(b32, 19, 4),
    );
    const algorithm = dice.pick<HashAlgorithm>("crc16", "crc32", "csum16", "xor16");
    const types: readonly DataType[] = [bit(8), bit(16), bit(32), int(16)];
    const fields = Array.from({ length: 1 + dice.below(4) }, () =>
      this.#value(types[dice.below(types.length)] ?? bit(8), 2),
    );
    if (dice.below(2) === 0) return hash(into, algorithm, fields);
    return hash(into, algorithm, fields, {
      base: BigInt(dice.below(9)),
      buckets: BigInt(1 + dice.below(999)),
    });
  }

  #update(): StraightStatement {
    const dice = this.#dice;
    const r = registers[dice.below(registers.length)] ?? { name: "r32", type: bit(32) };
    const old = memory("old", r.type);
    const other = this.#value(r.type, 2);
    const next =
      r.type.kind === "bool"
        ? binary(old, dice.pick("&&", "||", "=="), other)
        : dice.pick<Expression>(
            binary(old, "+", other),
            mux(binary(old, "<", other), other, old),
            other,
            old,
            binary(old, "|-|", other),
          );
    const into = [
      ...metadata.map((m) => meta(m.name, m.type)),
      field("args", "b32", bit(32)),
      field("args", "i16", int(16)),
    ].find((t) => t.type.kind === r.type.kind && widthOf(t.type) === widthOf(r.type) && dice.below(3) !== 0);
    const output = dice.pick<Expression>(
      old,
      memory("next", r.type),
      mux(binary(old, "==", memory("next", r.type)), old, other),
    );
    return into === undefined
      ? update(`${this.#name}.${r.name}`, this.#index(), next)
      : update(`${this.#name}.${r.name}`, this.#index(), next, output, into);
  }

  #action(i: number): Action {
    const parameters: readonly ActionParameter[] = this.#dice.pick<readonly ActionParameter[]>(
      [],
      [{ name: "p", type: bit(32) }],
      [
        { name: "p", type: int(16) },
        { name: "q", type: bool },
      ],
    );
    const count = 1 + this.#dice.below(4);
    const body = Array.from({ length: count }, () => this.#straight(parameters));
    return { name: `${this.#name}.act_${i}`, parameters, body };
  }

  #table(): Table {
    const dice = this.#dice;
    const kinds: readonly MatchKind[] = ["exact", "ternary", "range", "optional", "lpm"];
    const places: readonly Expression[] = [
      b8,
      field("args", "b16", bit(16)),
      field("args", "i16", int(16)),
      field("args", "flag", bool),
      meta("m16", bit(16)),
      slice(field("args", "b32", bit(32)), 7, 4),
    ];
    const key = Array.from({ length: 1 + dice.below(2) }, (_, i) => {
      const expression = places[dice.below(places.length)] ?? b8;
      const isBits = expression.type.kind === "bit";
      // BMv2 counts the prefix of an LPM key from the key's first byte, so keys of part bytes are left out.
      const kindCount = i === 0 && widthOf(expression.type) % 8 === 0 ? kinds.length : kinds.length - 1;
      const match = isBits ? (kinds[dice.below(kindCount)] ?? "exact") : "exact";
      return { name: `k${i}`, expression, match };
    });
    const actions = this.#actions.map((a) => a.name);
    const common = {
      name: `${this.#name}.tab_${this.#tables.length}`,
      key,
      actions: [...actions, NO_ACTION],
      size: 64,
    };
    const table: Table =
      dice.below(4) === 0
        ? {
            ...common,
            defaultAction: { action: NO_ACTION, arguments: [], constant: false },
            constEntries: [],
            implementation: this.#profile(),
          }
        : {
            ...common,
            defaultAction: { ...this.#call(dice), constant: dice.below(2) === 0 },
            constEntries: dice.below(2) === 0 ? [] : this.#entries(key),
          };
    this.#tables.push(table);
    return table;
  }

  #profile(): string {
    const dice = this.#dice;
    const name = `${this.#name}.profile_${this.#profiles.length}`;
    const keys = [
      field("args", "b8", bit(8)),
      field("args", "i16", int(16)),
      meta("m16", bit(16)),
      meta("m32", bit(32)),
    ];
    const algorithm = dice.pick<HashAlgorithm>("crc16", "crc32", "csum16", "xor16");
    const chosen = keys.filter(() => dice.below(2) === 0);
    const size = 8 + dice.below(8);
    this.#profiles.push(
      chosen.length === 0 ? { name, size } : { name, size, selector: { algorithm, keys: chosen } },
    );
    return name;
  }

  #call(dice: Dice): { readonly action: string; readonly arguments: readonly bigint[] } {
    const a = this.#actions[dice.below(this.#actions.length)];
    if (a === undefined) return { action: NO_ACTION, arguments: [] };
    return {
      action: a.name,
      arguments: a.parameters.map((p) => BigInt(p.type.kind === "bool" ? dice.below(2) : dice.below(1000))),
    };
  }

  #entries(key: Table["key"]): Table["constEntries"] {
    const dice = this.#dice;
    const out = new Map<string, Table["constEntries"][number]>();
    for (let i = 0; i < 6; i++) {
      const keys = key.map((k): KeySet => {
        const width = widthOf(k.expression.type);
        const value = BigInt.asUintN(width, BigInt(dice.below(300)));
        const half = 1n << BigInt(width - 1);
        if (k.match === "ternary")
          return { kind: "mask", value: value & ~1n, mask: (1n << BigInt(width)) - 2n };
        if (k.match === "range") return { kind: "range", low: value & (half - 1n), high: half };
        if (k.match === "lpm") return { kind: "prefix", value: value & ~3n, length: width - 2 };
        if (k.match === "optional" && dice.below(3) === 0) return { kind: "any" };
        const signed = k.expression.type.kind === "int" ? BigInt.asIntN(width, value) : value;
        return { kind: "value", value: signed };
      });
      out.set(
        JSON.stringify(keys, (_, v: unknown) => (typeof v === "bigint" ? `${v}` : v)),
        { ...this.#call(dice), keys },
      );
    }
    return [...out.values()];
  }

  #block(depth: number): Block {
    return Array.from({ length: 1 + this.#dice.below(4) }, () => this.#statement(depth));
  }

  #statement(depth: number): Statement {
    const dice = this.#dice;
    switch (depth === 0 ? 9 : dice.below(10)) {
      case 0:
      case 1:
        return when(
          this.#value(bool, 2),
          this.#block(depth - 1),
          dice.below(2) === 0 ? [] : this.#block(depth - 1),
        );
      case 2:
      case 3: {
        const table = this.#table();
        const branches = dice.below(2) === 0;
        return {
          kind: "applyTable",
          table: table.name,
          hit: branches ? this.#block(depth - 1) : [],
          miss: branches && dice.below(2) === 0 ? this.#block(depth - 1) : [],
        };
      }
      case 4:
      case 5: {
        const a = this.#actions[dice.below(this.#actions.length)];
        if (a === undefined) return this.#straight([]);
        return {
          kind: "callAction",
          action: a.name,
          arguments: a.parameters.map((p) => this.#value(p.type, 2)),
        };
      }
      case 6:
        return when(this.#value(bool, 1), [{ kind: "exit" }]);
      default:
        return this.#straight([]);
    }
  }
}
