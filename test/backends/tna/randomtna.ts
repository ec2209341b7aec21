import { checkTna } from "../../../src/backends/index.ts";
import { check } from "../../../src/ir/check/check.ts";
import type {
  Action,
  ActionParameter,
  ArithmeticOperator,
  BinaryOperator,
  Block,
  Control,
  Diagnostic,
  Expression,
  FieldReference,
  KeySet,
  MatchKind,
  MetadataReference,
  Program,
  Statement,
  StraightStatement,
  Table,
  Target,
} from "../../../src/ir/index.ts";
import { bit, int, NO_ACTION, severityOf, widthOf } from "../../../src/ir/index.ts";
import { deep, expressionsOf } from "../../../src/ir/walk.ts";
import { Dice } from "../dice.ts";
import {
  binary,
  cast,
  concat,
  constant,
  control,
  extract,
  field,
  intrinsic,
  memory,
  meta,
  mux,
  parameter,
  program,
  slice,
  unary,
  update,
  valid,
  when,
} from "../nodes.ts";
import { EXTRA_METADATA, Extras, passesAgain, withValueSet } from "./randomextras.ts";

type Place = FieldReference | MetadataReference;

const HEADERS = {
  eth: { dst: 48, src: 48, type: 16 },
  a: { f8: 8, g8: 8, h16: 16, i32: 32, j32: 32, k4: 4, l12: 12 },
  b: { x8: 8, y16: 16, z32: 32, w9: 9, v7: 7 },
  // Put in and taken off; nothing reads it, since nobody knows what is in a header that was put in.
  c: { u8: 8, t24: 24 },
} as const;
const METADATA = { m1: 1, m8: 8, n8: 8, m16: 16, m32: 32, n32: 32, m9: 9, m48: 48 } as const;

const ofHeader = (header: keyof typeof HEADERS): readonly FieldReference[] =>
  Object.entries(HEADERS[header]).map(([name, width]) => field(header, name, bit(width)));
const ofMetadata = Object.entries(METADATA).map(([name, width]) => meta(name, bit(width)));
const type = field("eth", "type", bit(16));
const f8 = field("a", "f8", bit(8));

/** Rules that a program breaks, of P4 and of Tofino. */
export function broken(p: Program): readonly Diagnostic[] {
  const found = check(p).filter((d) => severityOf(d) === "error");
  return found.length > 0 ? found : checkTna(p);
}

/**
 * A random program of what Tofino 1 has: tables of all match kinds, actions, stateful updates, counters, conditions, headers put in and
 * taken off, clones, queues, exits. What is beyond a rule is thrown away, and the next one is tried.
 *
 * @param hasExtras also hashes, random numbers, meters, digests, action profiles and selectors, value sets, further passes through ingress
 */
export function randomTna(name: string, seed: number, hasExtras = false): Program {
  for (let i = 0; ; i++) {
    const made = attempt(name, seed * 7919 + i * 104_729, hasExtras);
    if (broken(made).length === 0) return made;
  }
}

/** A random program that may break a rule; about one in four does. */
export function attempt(name: string, seed: number, hasExtras = false): Program {
  const dice = new Dice(seed);
  const made = (control: string, gress: "ingress" | "egress") =>
    new RandomControl(control, gress, dice, hasExtras).make();
  const controls = [made("first", "ingress"), made("second", "ingress"), made("last", "egress")];
  const base = program(name, {
    ports: 16,
    headerTypes: Object.entries(HEADERS).map(([header, fields]) => ({
      name: header,
      fields: Object.entries(fields).map(([f, width]) => ({ name: f, type: bit(width) })),
    })),
    headers: Object.keys(HEADERS).map((header) => ({ name: header, headerType: header })),
    metadata: [
      ...Object.entries(METADATA).map(([m, width]) => ({ name: m, type: bit(width) })),
      ...(hasExtras ? EXTRA_METADATA : []),
    ],
    parser: [
      {
        name: "start",
        steps: [extract("eth")],
        transition: {
          kind: "select",
          keys: [type],
          cases: [{ values: [{ kind: "value", value: 0xa00n }], next: "parse_a" }],
          otherwise: "accept",
        },
      },
      {
        name: "parse_a",
        steps: [extract("a")],
        transition: {
          kind: "select",
          keys: [f8],
          cases: [
            { values: [{ kind: "value", value: 1n }], next: "parse_b" },
            { values: [{ kind: "mask", value: 0x10n, mask: 0x30n }], next: "parse_b" },
          ],
          otherwise: "accept",
        },
      },
      {
        name: "parse_b",
        steps: [extract("b")],
        transition: {
          kind: "select",
          keys: [field("b", "v7", bit(7))],
          cases: [{ values: [{ kind: "value", value: 5n }], next: "parse_c" }],
          otherwise: "accept",
        },
      },
      { name: "parse_c", steps: [extract("c")], transition: { kind: "goto", next: "accept" } },
    ],
    controls,
    ingress: [
      ...(hasExtras ? passesAgain(dice) : []),
      { kind: "assign", target: intrinsic("egress_port"), value: constant(1, bit(9)) },
      { kind: "applyControl", control: "first" },
      when(valid("a"), [{ kind: "applyControl", control: "second" }]),
    ],
    egress: [{ kind: "applyControl", control: "last" }],
    deparser: ["eth", "a", "b", "c"],
  });
  return hasExtras && dice.below(2) === 0 ? withValueSet(base) : base;
}

/** Bytes that lead the parser to headers: what ingress writes there, egress would follow. */
const LEADING = new Set(["eth.type", "a.f8", "b.v7"]);

class RandomControl {
  readonly #name: string;
  readonly #gress: "ingress" | "egress";
  readonly #dice: Dice;
  readonly #actions: Action[] = [];
  readonly #tables: Table[] = [];
  /** Registers and counters that no statement uses yet: two uses would meet on some path. */
  readonly #unused = new Set(["r8", "r16", "r32", "s16", "s32", "seen", "met"]);
  readonly #used: string[] = [];

  readonly #extras: Extras | undefined;

  constructor(name: string, gress: "ingress" | "egress", dice: Dice, hasExtras: boolean) {
    this.#name = name;
    this.#gress = gress;
    this.#dice = dice;
    const source = {
      name,
      dice,
      place: (width?: number) => this.#place(width),
      writable: (width: number) => this.#writable(width),
    };
    this.#extras = hasExtras ? new Extras(source) : undefined;
  }

  make(): Control {
    const apply = this.#block(1, 1 + this.#dice.below(3));
    return control(this.#name, {
      gress: this.#gress,
      apply,
      actions: this.#actions,
      tables: this.#tables,
      registers: this.#used
        .filter((o) => /^[rs]\d/.test(o))
        .map((o) => ({ name: `${this.#name}.${o}`, type: bit(Number(o.slice(1))), size: 256 })),
      counters: this.#used
        .filter((o) => !/^[rs]\d/.test(o))
        .map((o) => ({ name: `${this.#name}.${o}`, size: 256, unit: this.#dice.pick("both", "packets") })),
      ...this.#extras?.objects(),
    });
  }

  /** An object that nothing uses yet; now and then one that is used, perhaps on another path. */
  #take(isIt: (name: string) => boolean): string | undefined {
    const used = this.#used.filter(isIt);
    if (used.length > 0 && this.#dice.below(4) === 0) return this.#oneOf(used);
    const free = [...this.#unused].filter(isIt);
    if (free.length === 0) return undefined;
    const taken = this.#oneOf(free);
    this.#unused.delete(taken);
    this.#used.push(taken);
    return taken;
  }

  #oneOf<T>(list: readonly T[]): T {
    const found = list[this.#dice.below(list.length)];
    if (found === undefined) throw new RangeError("nothing to choose from");
    return found;
  }

  get #places(): readonly Place[] {
    const headers =
      this.#gress === "ingress" ? [...ofHeader("a"), ...ofHeader("b"), ...ofHeader("eth")] : ofHeader("a");
    return [...headers, ...ofMetadata, ...ofMetadata];
  }

  #place(width?: number): Place {
    const fitting = this.#places.filter((p) => width === undefined || widthOf(p.type) === width);
    return this.#oneOf(fitting.length === 0 ? this.#places : fitting);
  }

  /** A place that may be written. */
  #writable(width?: number): Place {
    const fitting = this.#places.filter(
      (p) =>
        (width === undefined || widthOf(p.type) === width) &&
        !(p.kind === "field" && LEADING.has(`${p.header}.${p.field}`)),
    );
    return this.#oneOf(fitting);
  }

  #atom(width: number, parameters: readonly ActionParameter[]): Expression {
    const given = parameters.find((p) => widthOf(p.type) === width);
    if (given !== undefined && this.#dice.below(2) === 0) return parameter(given.name, given.type);
    const fitting = this.#places.filter((p) => widthOf(p.type) === width);
    if (fitting.length === 0 || this.#dice.below(4) === 0)
      return constant(BigInt.asUintN(width, this.#dice.value(width)), bit(width));
    return this.#oneOf(fitting);
  }

  #value(width: number, parameters: readonly ActionParameter[]): Expression {
    const dice = this.#dice;
    const atom = () => this.#atom(width, parameters);
    const op = () =>
      width > 32
        ? dice.pick<ArithmeticOperator>("+", "-", "&", "|", "^")
        : dice.pick<ArithmeticOperator>("+", "-", "&", "|", "^", "|+|", "|-|");
    switch (dice.below(9)) {
      case 0:
        return unary("~", atom());
      case 1:
      case 2:
      case 3:
        return binary(atom(), op(), atom());
      case 4:
        return binary(binary(atom(), op(), atom()), op(), atom());
      case 5: {
        const narrow = this.#places.filter((p) => widthOf(p.type) < width);
        return narrow.length === 0 ? atom() : cast(this.#oneOf(narrow), bit(width));
      }
      case 6: {
        const wide = this.#places.filter((p) => widthOf(p.type) > width);
        if (wide.length === 0) return atom();
        const from = this.#oneOf(wide);
        const low = dice.below(widthOf(from.type) - width + 1);
        return slice(from, low + width - 1, low);
      }
      case 7:
        return width < 2 ? atom() : concat(this.#atom(width - 1, parameters), this.#atom(1, parameters));
      default:
        return atom();
    }
  }

  #index(): Expression {
    return cast(this.#place(8), bit(32));
  }

  #update(): StraightStatement {
    const dice = this.#dice;
    const name = this.#take((o) => /^[rs]\d/.test(o));
    if (name === undefined) return { kind: "drop" };
    const width = Number(name.slice(1));
    const cell = bit(width);
    const [old, next] = [memory("old", cell), memory("next", cell)];
    const x = this.#place(width);
    const one = constant(1, cell);
    const y = this.#place(8);
    const isRestart = binary(y, "==", constant(2, bit(8)));
    const values = dice.pick<readonly [Expression, Expression]>(
      [binary(old, "+", x), next],
      [binary(old, "|+|", one), old],
      [binary(old, "|", x), binary(old, "&", x)],
      [mux(isRestart, x, binary(old, "+", x)), next],
      [mux(binary(old, ">=", x), constant(0, cell), binary(old, "+", one)), next],
      [mux(binary(cast(binary(x, "-", old), int(width)), ">", constant(0, int(width))), x, old), old],
      [x, old],
      [old, mux(binary(x, "==", old), one, constant(0, cell))],
    );
    const register = `${this.#name}.${name}`;
    return dice.below(4) === 0
      ? update(register, this.#index(), values[0])
      : update(register, this.#index(), values[0], values[1], this.#writable(width));
  }

  #target(): Target {
    const place = this.#writable();
    const width = widthOf(place.type);
    if (width < 8 || this.#dice.below(6) > 0) return place;
    return slice(place, width - 2, 1);
  }

  #straight(parameters: readonly ActionParameter[], withState: boolean): StraightStatement {
    const dice = this.#dice;
    if (this.#extras !== undefined && withState && dice.below(4) === 0)
      return this.#extras.statement(this.#gress);
    switch (dice.below(withState ? 12 : 9)) {
      case 0:
        if (this.#gress === "egress") return { kind: "drop" };
        return { kind: "setValidity", header: "c", valid: dice.below(2) === 0 };
      case 1:
        return { kind: "drop" };
      case 2:
        if (this.#gress === "egress")
          return { kind: "assign", target: meta("m9", bit(9)), value: intrinsic("egress_port") };
        return dice.pick<StraightStatement>(
          { kind: "assign", target: intrinsic("egress_port"), value: this.#atom(9, parameters) },
          { kind: "assign", target: intrinsic("priority"), value: constant(dice.below(1), bit(3)) },
          { kind: "clone", session: constant(dice.below(100), bit(32)) },
          { kind: "assign", target: meta("m9", bit(9)), value: intrinsic("ingress_port") },
        );
      case 9:
        return this.#count();
      case 10:
      case 11:
        return this.#update();
      default: {
        const target = this.#target();
        return { kind: "assign", target, value: this.#value(widthOf(target.type), parameters) };
      }
    }
  }

  #count(): StraightStatement {
    const counter = this.#take((o) => !/^[rs]\d/.test(o));
    if (counter === undefined) return { kind: "drop" };
    return { kind: "count", counter: `${this.#name}.${counter}`, index: this.#index() };
  }

  #action(): Action {
    const dice = this.#dice;
    const offered = dice.pick<readonly ActionParameter[]>(
      [],
      [{ name: "p", type: bit(32) }],
      [
        { name: "p", type: bit(9) },
        { name: "q", type: bit(48) },
      ],
      [
        { name: "p", type: bit(16) },
        { name: "q", type: bit(8) },
      ],
    );
    const withState = dice.below(4) === 0;
    const body = Array.from({ length: 1 + dice.below(3) }, () => this.#straight(offered, withState));
    const read = new Set(
      body.flatMap((s) =>
        expressionsOf(s).flatMap((e) =>
          [...deep(e)].flatMap((n) => (n.kind === "parameter" ? [n.name] : [])),
        ),
      ),
    );
    const parameters = offered.filter((p) => read.has(p.name));
    const made = { name: `${this.#name}.act_${this.#actions.length}`, parameters, body };
    this.#actions.push(made);
    return made;
  }

  #table(): Table {
    const dice = this.#dice;
    const kinds: readonly MatchKind[] = ["exact", "ternary", "range", "optional", "lpm"];
    const first = dice.below(5);
    const key = Array.from({ length: 1 + dice.below(3) }, (_, i) => {
      const expression = dice.below(5) === 0 ? slice(this.#place(16), 9, 2) : this.#place();
      const isShort = widthOf(expression.type) <= 16;
      const kind = kinds[i === 0 ? first : first === 4 ? 0 : dice.below(4)] ?? "exact";
      return { name: `k${i}`, expression, match: kind === "range" && !isShort ? "ternary" : kind };
    });
    // No lpm beside ternary and the like.
    const match = key.some((k) => k.match === "lpm")
      ? key.map((k, i) => ({ ...k, match: i === 0 ? k.match : ("exact" as const) }))
      : key;
    const chosen = Array.from({ length: 1 + dice.below(3) }, () => this.#action());
    const isCounted = dice.below(4) === 0;
    const entries = dice.below(3) === 0 ? this.#entries(match, chosen) : [];
    const table: Table = {
      name: `${this.#name}.tab_${this.#tables.length}`,
      key: match,
      actions: [...chosen.map((a) => a.name), ...(isCounted ? [] : [NO_ACTION])],
      size: dice.pick(16, 100, 1024, 5000),
      defaultAction: { ...this.#call(chosen), constant: dice.below(2) === 0 },
      constEntries: entries,
      ...(isCounted ? { directCounter: `${this.#name}.tab_${this.#tables.length}_counter` } : {}),
    };
    const whole = this.#extras?.table(table) ?? table;
    this.#tables.push(whole);
    return whole;
  }

  #call(actions: readonly Action[]) {
    const a = this.#oneOf(actions);
    return {
      action: a.name,
      arguments: a.parameters.map((p) => BigInt.asUintN(widthOf(p.type), this.#dice.value(8))),
    };
  }

  #entries(key: Table["key"], actions: readonly Action[]): Table["constEntries"] {
    const made = [1, 2, 3].map((n) => ({
      ...this.#call(actions),
      keys: key.map((k): KeySet => {
        const width = widthOf(k.expression.type);
        const value = BigInt.asUintN(width, BigInt(n) << BigInt(Math.max(0, width - 3)));
        switch (k.match) {
          case "lpm":
            return { kind: "prefix", value, length: Math.min(width, 3) };
          case "range":
            return { kind: "range", low: value, high: value };
          case "ternary":
            return { kind: "mask", value, mask: (1n << BigInt(width)) - 1n };
          default:
            return { kind: "value", value };
        }
      }),
    }));
    const isNew = (e: (typeof made)[number], i: number): boolean =>
      made.findIndex((other) => textOf(other.keys) === textOf(e.keys)) === i;
    return made.filter(isNew);
  }

  #condition(): Expression {
    const dice = this.#dice;
    const one = (): Expression => {
      const place = this.#place();
      const width = widthOf(place.type);
      if (width > 32) return valid(this.#gress === "ingress" ? "b" : "a");
      const other = this.#places.filter((p) => widthOf(p.type) === width && p !== place && width <= 32);
      if (dice.below(5) === 0) return valid(this.#gress === "ingress" ? "b" : "a");
      if (other.length > 0 && dice.below(4) === 0)
        return binary(place, dice.pick("==", "!="), this.#oneOf(other));
      const op =
        width > 12 ? dice.pick<BinaryOperator>("==", "!=") : dice.pick<BinaryOperator>("==", "!=", "<", ">=");
      return binary(place, op, constant(BigInt.asUintN(width, this.#dice.value(width)), bit(width)));
    };
    return dice.below(3) === 0 ? binary(one(), dice.pick("&&", "||"), one()) : one();
  }

  #block(depth: number, length: number): Block {
    return Array.from({ length }, () => this.#statement(depth));
  }

  #statement(depth: number): Statement {
    const dice = this.#dice;
    const inner = () => this.#block(depth - 1, 1 + dice.below(2));
    switch (depth === 0 ? 5 + dice.below(4) : dice.below(9)) {
      case 0:
      case 1:
        return when(this.#condition(), inner(), dice.below(2) === 0 ? [] : inner());
      case 2:
      case 3:
      case 4: {
        const table = this.#table();
        const branches = dice.below(3) === 0;
        return {
          kind: "applyTable",
          table: table.name,
          hit: branches ? inner() : [],
          miss: branches && dice.below(2) === 0 ? inner() : [],
        };
      }
      case 5: {
        const a = this.#action();
        return {
          kind: "callAction",
          action: a.name,
          arguments: a.parameters.map((p) => this.#atom(widthOf(p.type), [])),
        };
      }
      case 6:
        return depth > 0 ? when(this.#condition(), [{ kind: "exit" }]) : this.#straight([], true);
      default:
        return this.#straight([], true);
    }
  }
}

function textOf(keys: readonly KeySet[]): string {
  return keys.flatMap((k) => Object.entries(k).map(([name, v]) => `${name} ${v}`)).join();
}
