import type { Expression, Register, RegisterUpdate } from "../../ir/index.ts";
import { typeName, widthOf } from "../../ir/index.ts";
import { nodeText } from "../../ir/nodetext.ts";
import { rewrite, some } from "../p4text/rewrite.ts";
import type { CellStatement } from "./lowered.ts";
import type { Refuse } from "./refuse.ts";

/** What one stateful ALU of Tofino 1 has. */
const MAX_COMPARISONS = 2;
const MAX_PACKET_VALUES = 2;

/**
 * The body of a RegisterAction for one update: choices become if/else on the two comparators, the new value goes to `value`, what
 * is handed out to `result`. Both memory nodes print as `value`, so what reads the old cell stands before the write.
 */
export function cellProgram(s: RegisterUpdate, register: Register, refuse: Refuse): readonly CellStatement[] {
  const wrong = (message: string): void => refuse("GP1801", `${register.name}: ${message}`, s.at);
  const keepsCell = s.next.kind === "memory" && s.next.which === "old";
  const next = comparable(s.next);
  const output = s.output === undefined || s.into === undefined ? undefined : comparable(s.output);
  const all = [next, ...(output === undefined ? [] : [output])];

  const comparisons = new Map<string, Expression>();
  for (const e of all) for (const c of comparisonsIn(e)) comparisons.set(nodeText(c), c);
  for (const c of comparisons.values()) checkComparison(c, wrong);
  if (comparisons.size > MAX_COMPARISONS)
    wrong(`${comparisons.size} comparisons, and the ALU has ${MAX_COMPARISONS}`);
  const packet = new Set(all.flatMap(packetValues));
  if (packet.size > MAX_PACKET_VALUES)
    wrong(`${packet.size} packet values (${[...packet].join(", ")}), and the ALU takes ${MAX_PACKET_VALUES}`);
  for (const leaf of leavesOf(next)) checkValue(leaf, wrong);

  const update = keepsCell ? [] : tree(next, "value");
  if (output === undefined) return update;

  const reads = (which: "old" | "next") => some(output, (e) => e.kind === "memory" && e.which === which);
  if (reads("old") && reads("next") && !keepsCell)
    wrong("the output reads the cell before and after the update");
  const sources = new Set(
    leavesOf(output)
      .filter((l) => !isZero(l))
      .map(sourceOf),
  );
  if (sources.size > 1)
    wrong(`the output comes from ${sources.size} sources (${[...sources].join(", ")}), and the ALU has one`);
  for (const leaf of leavesOf(output)) checkValue(leaf, wrong);
  const hasZero = leavesOf(output).some(isZero);
  const zero: CellStatement = {
    kind: "set",
    target: "result",
    value: { kind: "constant", type: output.type, value: 0n },
  };
  const handOut = [...(hasZero ? [zero] : []), ...tree(output, "result")];
  return reads("next") ? [...update, ...handOut] : [...handOut, ...update];
}

/** if/else for the choices of an expression. The cell keeps its value, and the result its zero, where nothing is said. */
function tree(e: Expression, target: "value" | "result"): readonly CellStatement[] {
  if (e.kind === "mux") {
    const [whenTrue, whenFalse] = [tree(e.whenTrue, target), tree(e.whenFalse, target)];
    if (whenTrue.length + whenFalse.length === 0) return [];
    return [{ kind: "if", condition: e.condition, whenTrue, whenFalse }];
  }
  if (target === "value" && e.kind === "memory") return [];
  if (target === "result" && isZero(e)) return [];
  return [{ kind: "set", target, value: e }];
}

/**
 * Serial comparison, int<W>(a - b) against 0, as the compiler takes it: int<W>(a) - int<W>(b), the same bits, since casts between bit
 * and int keep them and subtraction wraps. The compiler then picks the comparator's mode for differences of unsigned operands
 * that are read as signed (`.uus`), which wraps as P4 does; a plain signed comparison (`.s`) would widen its operands first, and
 * so would call 2^31 - 1 and -2^31 far apart instead of neighbours. That holds against 0, in a cell as wide as the operands.
 */
function comparable(e: Expression): Expression {
  return rewrite(e, (node) => {
    if (
      node.kind !== "cast" ||
      node.type.kind !== "int" ||
      node.operand.kind !== "binary" ||
      node.operand.operator !== "-"
    )
      return undefined;
    const { left, right } = node.operand;
    if (widthOf(left.type) !== widthOf(node.type)) return undefined;
    const side = (operand: Expression): Expression => ({ kind: "cast", type: node.type, operand });
    return { ...node.operand, type: node.type, left: side(left), right: side(right) };
  });
}

function comparisonsIn(e: Expression): readonly Expression[] {
  switch (e.kind) {
    case "mux":
      return [...comparisonsOf(e.condition), ...comparisonsIn(e.whenTrue), ...comparisonsIn(e.whenFalse)];
    default:
      return [];
  }
}

function comparisonsOf(condition: Expression): readonly Expression[] {
  if (condition.kind === "binary" && (condition.operator === "&&" || condition.operator === "||"))
    return [...comparisonsOf(condition.left), ...comparisonsOf(condition.right)];
  if (condition.kind === "unary" && condition.operator === "!") return comparisonsOf(condition.operand);
  return [condition];
}

function checkComparison(c: Expression, wrong: (message: string) => void): void {
  if (c.kind !== "binary") return;
  const terms = (e: Expression): readonly Expression[] =>
    e.kind === "binary" && (e.operator === "-" || e.operator === "+")
      ? [...terms(e.left), ...terms(e.right)]
      : [bare(e)];
  const all = [...terms(c.left), ...terms(c.right)];
  if (
    all.some((t) => !["memory", "field", "metadata", "parameter", "intrinsic", "constant"].includes(t.kind))
  )
    wrong("a comparison that is not of the cell, one packet value and a constant");
  if (all.filter((t) => t.kind === "memory").length > 1) wrong("a comparison reads the cell twice");
  if (new Set(all.flatMap(packetValues)).size > 1) wrong("a comparison of two packet values");
  const isDifference = [c.left, c.right].some((side) => side.kind === "binary");
  const isOrdered = c.operator !== "==" && c.operator !== "!=";
  if (isDifference && isOrdered) {
    const other = c.left.kind === "binary" ? c.right : c.left;
    if (!isZero(other)) wrong("a difference is compared with something other than 0, which does not wrap");
    if (c.left.type.kind !== "int" && c.right.type.kind !== "int")
      wrong("a difference of unsigned values is never negative");
  }
}

const operators = new Set(["+", "-", "|+|", "|-|", "&", "|", "^"]);

function checkValue(e: Expression, wrong: (message: string) => void): void {
  if (isOperand(e)) return;
  if (e.kind === "unary" && e.operator === "~" && isOperand(e.operand)) return;
  if (e.kind === "binary" && operators.has(e.operator) && isOperand(e.left) && isOperand(e.right)) return;
  wrong(
    e.kind === "binary" && !operators.has(e.operator)
      ? `the ALU has no ${e.operator}`
      : "more than one operator for one value",
  );
}

function isOperand(e: Expression): boolean {
  const b = bare(e);
  return (
    ["memory", "field", "metadata", "parameter", "intrinsic", "constant"].includes(b.kind) ||
    (b.kind === "slice" && isOperand(b.operand) && b.operand.kind !== "memory")
  );
}

/** Without casts between bit and int, which change no bit. */
function bare(e: Expression): Expression {
  return e.kind === "cast" && widthOf(e.type) === widthOf(e.operand.type) ? bare(e.operand) : e;
}

/** Where the output multiplexer takes a value from. */
function sourceOf(leaf: Expression): string {
  const e = bare(leaf);
  if (e.kind === "memory") return e.which === "next" ? "the new cell" : "the old cell";
  if (e.kind === "field" || e.kind === "metadata") return "the packet";
  return "a computation";
}

function packetValues(e: Expression): readonly string[] {
  const found: string[] = [];
  rewrite(e, (node) => {
    if (node.kind === "field") found.push(`${node.header}.${node.field}`);
    else if (node.kind === "metadata" || node.kind === "intrinsic" || node.kind === "parameter")
      found.push(node.name);
    return undefined;
  });
  return found;
}

/** What an update takes from the packet, each value once; not its index. */
function packetValuesOf(s: RegisterUpdate): readonly string[] {
  const output = s.output === undefined || s.into === undefined ? [] : [s.output];
  return [...new Set([s.next, ...output].flatMap(packetValues))];
}

export function leavesOf(e: Expression): readonly Expression[] {
  return e.kind === "mux" ? [...leavesOf(e.whenTrue), ...leavesOf(e.whenFalse)] : [e];
}

function isZero(e: Expression): boolean {
  return e.kind === "constant" && e.value === 0n;
}

/** Cells that a stateful ALU of Tofino 1 can address when it has a stage's memory to itself: 23 of 24 halves of 128 bits x 1024. */
const STAGE_BITS = 23 * 1024 * 128;

export function checkRegister(r: Register, updates: readonly RegisterUpdate[], refuse: Refuse): void {
  if (r.type.kind === "bool" || ![8, 16, 32].includes(widthOf(r.type)))
    refuse("GP1811", `cells of ${r.name} are ${typeName(r.type)}`, r.at);
  else if (r.size * widthOf(r.type) > STAGE_BITS)
    refuse("GP1812", `${r.name} has ${r.size} cells of ${typeName(r.type)}`, r.at);
  if (updates.length > 4) refuse("GP1802", `${r.name} has ${updates.length} updates`, r.at);
  const packet = new Set(updates.flatMap(packetValuesOf));
  if (packet.size > MAX_PACKET_VALUES && updates.every((u) => packetValuesOf(u).length <= MAX_PACKET_VALUES))
    refuse(
      "GP1801",
      `the updates of ${r.name} use ${packet.size} packet values (${[...packet].join(", ")}), and the ALU takes ${MAX_PACKET_VALUES}`,
      r.at,
    );
}

/** What hash distribution can put together: fields, and fields side by side. */
function isPlain(index: Expression): boolean {
  return (
    ["field", "metadata", "parameter", "constant", "intrinsic"].includes(index.kind) ||
    (index.kind === "slice" && (index.operand.kind === "field" || index.operand.kind === "metadata")) ||
    (index.kind === "concat" && isPlain(index.left) && isPlain(index.right))
  );
}

/** An index without the casts that only widen it. */
export function indexOf(e: Expression, what: string, refuse: Refuse, at: RegisterUpdate["at"]): Expression {
  let index = e;
  while (
    index.kind === "cast" &&
    index.type.kind === "bit" &&
    index.operand.type.kind === "bit" &&
    widthOf(index.type) >= widthOf(index.operand.type)
  )
    index = index.operand;
  if (!isPlain(index))
    refuse("GP1801", `${what}: the index is computed; put it into a metadata field first`, at);
  return index;
}
