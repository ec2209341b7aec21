import {
  describeUpdate,
  type Entity,
  modify,
  type Schema,
  sequence,
  type Update,
} from "../p4runtime/index.ts";
import type { Difference } from "./diff.ts";

/** What to write to a switch, in stages: each begins when the one before is done. */
export interface Plan {
  readonly stages: readonly (readonly Update[])[];
  readonly updates: number;
}

export interface PlanOptions {
  /** Undo drift: delete what somebody else wrote. */
  readonly undoDrift?: boolean;
  /** See `SequenceOptions`. */
  readonly tableRank?: ReadonlyMap<number, number>;
}

/**
 * The updates that take a difference away: make before break. New and changed entries come first, then what is not wanted any more goes. Only
 * where a table has no room for both, as many of its unwanted entries go before as the new ones need.
 */
export function planOf(difference: Difference, schema: Schema, options: PlanOptions = {}): Plan {
  const { missing, changed, stale, foreign } = difference;
  const unwanted = [...stale, ...(options.undoDrift === true ? foreign : [])];
  const early = withoutRoom(difference, schema, unwanted);
  const writes: Update[] = [
    ...missing.map((entity): Update => (isInserted(entity) ? { type: "INSERT", entity } : modify(entity))),
    ...changed.map(({ wanted, found }) => modify(kept(wanted, found))),
    ...unwanted.filter((entity) => !early.has(entity)).map(deletion),
  ];
  const stages = [
    ...(early.size === 0 ? [] : [[...early].map(deletion)]),
    ...sequence(writes, options.tableRank === undefined ? {} : { tableRank: options.tableRank }),
  ];
  return { stages, updates: stages.reduce((sum, stage) => sum + stage.length, 0) };
}

/** The plan for people, one line for each update. */
export function describePlan(plan: Plan, schema: Schema): readonly string[] {
  return plan.stages.flatMap((stage) => stage.map((update) => describeUpdate(update, schema)));
}

/** Default entries, cells and value sets are always there; a wanted one is written over. */
function isInserted({ entity }: Entity): boolean {
  switch (entity?.case) {
    case "tableEntry":
      return !entity.value.isDefaultAction;
    case "meterEntry":
    case "directMeterEntry":
    case "registerEntry":
    case "valueSetEntry":
      return false;
    default:
      return true;
  }
}

/** A MODIFY without the meter would reset it (9.1.7): what nobody asked to change goes back as it was. */
function kept(wanted: Entity, found: Entity): Entity {
  if (wanted.entity?.case !== "tableEntry" || found.entity?.case !== "tableEntry") return wanted;
  const { meterConfig } = found.entity.value;
  if (wanted.entity.value.meterConfig !== undefined || meterConfig === undefined) return wanted;
  return { entity: { case: "tableEntry", value: { ...wanted.entity.value, meterConfig } } };
}

/** Keys only: what a read brought along is no part of a deletion. */
function deletion({ entity }: Entity): Update {
  if (entity?.case !== "tableEntry") return { type: "DELETE", entity: { entity } };
  const { tableId, match, priority } = entity.value;
  const value = {
    ...entity.value,
    tableId,
    match,
    priority,
    action: undefined,
    counterData: undefined,
    meterConfig: undefined,
    timeSinceLastHit: undefined,
    meterCounterData: undefined,
    isConst: false,
  };
  return { type: "DELETE", entity: { entity: { case: "tableEntry", value } } };
}

/** Unwanted entries of tables that would overflow before they are deleted. */
function withoutRoom(
  { missing, present }: Difference,
  schema: Schema,
  unwanted: readonly Entity[],
): ReadonlySet<Entity> {
  const more = new Map<number, number>();
  for (const { entity } of missing) {
    if (entity?.case !== "tableEntry" || entity.value.isDefaultAction) continue;
    more.set(entity.value.tableId, (more.get(entity.value.tableId) ?? 0) + 1);
  }
  const early = new Set<Entity>();
  for (const [tableId, added] of more) {
    const { size } = schema.tables.get(tableId);
    let excess = size === 0 ? 0 : (present.get(tableId) ?? 0) + added - size;
    for (const entity of unwanted) {
      if (excess <= 0) break;
      if (entity.entity?.case !== "tableEntry" || entity.entity.value.tableId !== tableId) continue;
      early.add(entity);
      excess--;
    }
  }
  return early;
}
