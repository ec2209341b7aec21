import type { Binary, Expression } from "../../ir/index.ts";
import { bool, widthOf } from "../../ir/index.ts";
import { negation } from "../p4text/expressions.ts";
import type { Layout } from "./layout.ts";

/**
 * What one gateway of Tofino 1 compares: four bytes for equality, and twelve bits beside them, for order, for the validity of headers
 * and for what finds no place in the bytes (p4c, backends/tofino/bf-p4c/mau/gateway.cpp).
 */
const GATEWAY_BYTES = 4;
const SINGLE_BITS = 12;

/** What comparisons ask of a gateway. Each field, or part of one, is there once, whatever it is compared with. */
interface Asked {
  /** Bits that are compared by order, or are a header's validity. */
  readonly single: ReadonlyMap<string, number>;
  /** Bits of each byte that is compared with a constant. */
  readonly exact: ReadonlyMap<string, readonly number[]>;
  /** Bytes of fields that are compared with each other. */
  readonly pairs: ReadonlyMap<string, number>;
}

/** A row of a gateway's table: tests that hold together, and the answer; no tests hold always. */
interface Row {
  readonly tests: readonly Expression[];
  readonly answer: boolean;
}

const MAX_ROWS = 32;
const MAX_TRIALS = 2;

/**
 * Whether Tofino's compiler finds gateways for the condition. It makes a row of each way in which the condition is true; a row with an
 * inequality goes to the end, turned round. Each row must find place in a gateway, and the compiler spreads rows over several.
 */
export function fitsGateways(e: Expression, layout: Layout): boolean {
  return rowsOf(e)?.every((r) => isInOne(r.tests.map((t) => asked(t, layout)))) ?? false;
}

/** The rows without inequalities; undefined where the compiler gives up. */
function rowsOf(e: Expression): readonly Row[] | undefined {
  try {
    return canonicalRows(e);
  } catch (error) {
    if (error instanceof TooMany) return undefined;
    throw error;
  }
}

/** @throws TooMany */
function canonicalRows(e: Expression): readonly Row[] | undefined {
  let rows = reduced([
    ...waysOf(e).map((tests): Row => ({ tests, answer: true })),
    { tests: [], answer: false },
  ]);
  for (let trial = 0; rows.some((r) => r.tests.some(isInequality)); trial++) {
    if (trial >= MAX_TRIALS || rows.length > MAX_ROWS) return undefined;
    rows = reduced(withoutInequalities(rows));
  }
  return rows;
}

/** How many gateways the compiler makes of the condition: rows that do not fit into one with those before go to the next. */
export function gatewaysFor(e: Expression, layout: Layout): number {
  let count = 1;
  let together: readonly Asked[] = [];
  for (const row of rowsOf(e) ?? []) {
    const tests = row.tests.map((t) => asked(t, layout));
    if (together.length > 0 && !isInOne([...together, ...tests])) {
      count++;
      together = [];
    }
    together = [...together, ...tests];
  }
  return count;
}

/** The rows with those that have inequalities turned round, behind all others (p4c's CanonGatewayExpr::removeNotEquals). */
function withoutInequalities(rows: readonly Row[]): readonly Row[] {
  const turned: Row[] = [];
  const found: Row[] = [];
  const but = ({ tests, answer }: Row): readonly Row[] => {
    const others = turned.filter((t) => t.answer !== answer).map((t) => opposite(all(t.tests)));
    if (others.length === 0) return [{ tests, answer }];
    return waysOf(all([...tests, ...others])).map((way) => ({ tests: way, answer }));
  };
  for (const row of rows) {
    if (row.tests.some(isInequality)) turned.push(row);
    else if (row.tests.length > 0) found.push(...but(row));
  }
  let last = rows.at(-1)?.answer ?? false;
  for (; turned.length > 0; turned.shift()) {
    const rest = but({ tests: [], answer: last });
    found.push(...rest);
    if (rest.some((r) => r.tests.length === 0)) return found;
    last = turned.at(-1)?.answer ?? last;
  }
  return [...found, { tests: [], answer: last }];
}

/** The rows up to the first that always holds, without those that never come into question. */
function reduced(rows: readonly Row[]): readonly Row[] {
  const kept: Row[] = [];
  for (const { tests, answer } of rows) {
    const named = new Map(tests.map((t) => [JSON.stringify(t, textOfBig), t] as const));
    const isContradiction = tests.some((t) => named.has(JSON.stringify(opposite(t), textOfBig)));
    const isDominated = kept.some((k) => k.tests.every((t) => named.has(JSON.stringify(t, textOfBig))));
    if (isContradiction || isDominated) continue;
    kept.push({ tests: [...named.values()], answer });
  }
  return kept;
}

function textOfBig(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

function all(tests: readonly Expression[]): Expression {
  const [first, ...others] = tests;
  if (first === undefined) return { kind: "constant", type: bool, value: 1n };
  return others.reduce((sum, t) => both(sum, "&&", t), first);
}

/** The ways in which a condition is true: of each, what must hold together. @throws TooMany */
function waysOf(e: Expression): readonly (readonly Expression[])[] {
  if (e.kind === "unary" && e.operator === "!" && e.operand.kind === "binary")
    return waysOf(opposite(e.operand));
  if (e.kind === "constant") return e.value === 0n ? [] : [[]];
  if (e.kind !== "binary" || (e.operator !== "&&" && e.operator !== "||")) return [[e]];
  const [left, right] = [waysOf(e.left), waysOf(e.right)];
  const isOr = e.operator === "||";
  if ((isOr ? left.length + right.length : left.length * right.length) > MAX_ROWS) throw new TooMany();
  return isOr ? [...left, ...right] : left.flatMap((l) => right.map((r) => [...l, ...r]));
}

/** A condition is true in more ways than a gateway has rows for. */
class TooMany extends Error {}

/** Those of one bit are equalities with the other value. */
function isInequality(e: Expression): boolean {
  return e.kind === "binary" && e.operator === "!=" && widthOf(e.left.type) > 1;
}

function isInOne(tests: readonly Asked[]): boolean {
  const single = new Map(tests.flatMap((t) => [...t.single]));
  const exact = new Map(tests.flatMap((t) => [...t.exact]).filter(([key]) => !single.has(key)));
  const pairs = new Map(tests.flatMap((t) => [...t.pairs]));
  const paired = [...pairs.values()].reduce((sum, n) => sum + n, 0);
  const bytes = [...exact.values()].flat().sort((a, b) => b - a);
  const left = bytes.slice(Math.max(0, GATEWAY_BYTES - paired)).reduce((sum, n) => sum + n, 0);
  const bits = [...single.values()].reduce((sum, n) => sum + n, 0);
  return paired <= GATEWAY_BYTES && left + bits <= SINGLE_BITS;
}

function asked(e: Expression, layout: Layout): Asked {
  const nothing: Asked = { single: new Map(), exact: new Map(), pairs: new Map() };
  switch (e.kind) {
    case "valid":
      return { ...nothing, single: new Map([[`valid ${e.header}`, 1]]) };
    case "unary":
      return asked(e.operand, layout);
    case "field":
    case "metadata":
    case "intrinsic":
      return { ...nothing, exact: new Map([[JSON.stringify(part(e)), [1]]]) };
    case "binary": {
      const order = orderOf(e);
      if (order !== undefined) {
        const { low, isEquality } = order;
        const { key, width } = part(e.left);
        const name = JSON.stringify({ key, width, low });
        return isEquality
          ? { ...nothing, exact: new Map([[name, bytesOf(e.left, layout, low)]]) }
          : { ...nothing, single: new Map([[name, width - low]]) };
      }
      if (e.right.kind === "constant")
        return { ...nothing, exact: new Map([[JSON.stringify(part(e.left)), bytesOf(e.left, layout, 0)]]) };
      const names = [e.left, e.right].map((side) => JSON.stringify(part(side))).sort();
      return { ...nothing, pairs: new Map([[names.join(), bytesOf(e.left, layout, 0).length]]) };
    }
    default:
      return nothing;
  }
}

/** Order is compared with an odd constant, without the bits below: `x < 0x1200` as `x[15:9] < 9`, and `x < 0x1000` as `x[15:12] == 0`. */
function orderOf({ left, operator, right }: Binary): { low: number; isEquality: boolean } | undefined {
  if (operator === "==" || operator === "!=" || right.kind !== "constant") return undefined;
  const bound = operator === "<" || operator === ">=" ? right.value : right.value + 1n;
  const width = widthOf(left.type);
  if (left.type.kind !== "bit") return { low: 0, isEquality: false };
  // A bound below or above all values decides the comparison, and nothing is asked.
  if (bound <= 0n || bound >> BigInt(width) !== 0n) return { low: width, isEquality: false };
  let low = 0;
  while (((bound >> BigInt(low)) & 1n) === 0n) low++;
  return { low, isEquality: bound >> BigInt(low) === 1n };
}

interface Part {
  readonly key: string;
  readonly width: number;
  readonly low: number;
}

function part(e: Expression): Part {
  switch (e.kind) {
    case "slice": {
      const { key, low } = part(e.operand);
      return { key, width: widthOf(e.type), low: low + e.low };
    }
    case "cast":
      return { ...part(e.operand), width: widthOf(e.type) };
    case "field":
      return { key: `hdr.${e.header}.${e.field}`, width: widthOf(e.type), low: 0 };
    case "metadata":
    case "intrinsic":
      return { key: e.name, width: widthOf(e.type), low: 0 };
    default:
      return { key: "", width: widthOf(e.type), low: 0 };
  }
}

/** Bits of each byte that a field, without its lowest bits, stands in. */
function bytesOf(e: Expression, layout: Layout, without: number): readonly number[] {
  const { width, low } = part(e);
  let at = (shiftOf(e, layout) + low + without) % 8;
  const bytes: number[] = [];
  for (let left = width - without; left > 0; ) {
    const here = Math.min(8 - at, left);
    bytes.push(here);
    left -= here;
    at = 0;
  }
  return bytes;
}

function shiftOf(e: Expression, layout: Layout): number {
  if (e.kind === "slice" || e.kind === "cast") return shiftOf(e.operand, layout);
  return e.kind === "field" ? layout.shiftOf(e) : 0;
}

/** Two conditions as one. */
export function both(left: Expression, operator: "&&" | "||", right: Expression): Binary {
  return { kind: "binary", type: bool, operator, left, right };
}

/** The negation, with the tests themselves turned round. */
export function opposite(e: Expression): Expression {
  if (e.kind !== "binary" || (e.operator !== "&&" && e.operator !== "||")) return negation(e);
  return {
    ...e,
    operator: e.operator === "&&" ? "||" : "&&",
    left: opposite(e.left),
    right: opposite(e.right),
  };
}
