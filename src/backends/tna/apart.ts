import type { Action, Expression, StraightStatement, Table } from "../../ir/index.ts";
import { nodeText } from "../../ir/nodetext.ts";
import { deep } from "../../ir/walk.ts";
import { areRelated, isHashed } from "./stages.ts";

/**
 * Statements of one stage as the actions that do them. What takes something from the hash unit (a move of bits, a cell that the packet
 * chooses) stands alone: Tofino runs it as if its table had hit, and such an action cannot have data that the driver would change.
 */
export function apart(stage: readonly StraightStatement[]): readonly (readonly StraightStatement[])[] {
  const actions: { readonly isAlone: boolean; readonly statements: StraightStatement[] }[] = [];
  for (const s of stage) {
    if (isHashed(s) || hasPacketIndex(s)) {
      actions.push({ isAlone: true, statements: [s] });
      continue;
    }
    const last = actions.findLastIndex((a) => !a.isAlone);
    const isFree = actions.slice(last + 1).every((a) => a.statements.every((other) => !areRelated(other, s)));
    const own = last >= 0 && isFree ? actions[last] : undefined;
    if (own === undefined) actions.push({ isAlone: false, statements: [s] });
    else own.statements.push(s);
  }
  return actions.map((a) => a.statements);
}

/** Whether the packet chooses the cell of the register or counter. */
export function hasPacketIndex(s: StraightStatement): boolean {
  return isStateful(s) && isOfPacket(s.index);
}

function isOfPacket(index: Expression): boolean {
  return [...deep(index)].some((n) => ["field", "metadata", "intrinsic"].includes(n.kind));
}

/**
 * Whether the action's registers and counters have to be used after the table: a table that misses has no hash, and a table has one
 * register and one counter, at one index for all its actions.
 */
export function usesStateAfter(a: Action, table: Table, actions: readonly Action[]): boolean {
  const own = a.body.filter(isStateful).filter((s) => !isMeterOf(s, table));
  if (own.length === 0) return false;
  if (table.defaultAction.action === a.name && own.some(hasPacketIndex)) return true;
  // The table's own counter or meter has the bus.
  if (own.some((s) => (isCount(s) ? table.directCounter : table.directMeter) !== undefined)) return true;
  const all = actions
    .filter((other) => table.actions.includes(other.name) || table.defaultAction.action === other.name)
    .flatMap((other) => other.body.filter(isStateful));
  // A meter's colour comes by the bus that counters are addressed by.
  const hasCounter = table.directCounter !== undefined || all.some(isCount);
  if (hasCounter && own.some((s) => s.kind === "meter")) return true;
  return own.some((s) => all.some((other) => isCount(other) === isCount(s) && cellOf(other) !== cellOf(s)));
}

/** Whether the statement meters by the table's own meter, which its actions run themselves. */
export function isMeterOf(s: StraightStatement, table: Table): boolean {
  return s.kind === "meter" && s.meter === table.directMeter?.name;
}

type Stateful = Extract<
  StraightStatement,
  { kind: "registerUpdate" } | { kind: "count" } | { kind: "meter" }
>;

/** Counters have a bus of their own; registers and meters share one. */
function isCount(s: Stateful): boolean {
  return s.kind === "count";
}

export function isStateful(s: StraightStatement): s is Stateful {
  return s.kind === "registerUpdate" || s.kind === "count" || s.kind === "meter";
}

function cellOf(s: Stateful): string {
  const name = s.kind === "count" ? s.counter : s.kind === "meter" ? s.meter : s.register;
  return `${name} ${nodeText(s.index)}`;
}
