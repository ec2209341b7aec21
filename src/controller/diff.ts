import {
  type Comparison,
  describeEntity,
  type Entity,
  entityContent,
  type Schema,
} from "../p4runtime/index.ts";
import { keyOf } from "./entitypool.ts";
import { OWNER } from "./owner.ts";

export { OWNER } from "./owner.ts";

/** How what is on a switch differs from what should be there. */
export interface Difference {
  /** Wanted, and not there. */
  readonly missing: readonly Entity[];
  /** There, and not as wanted. */
  readonly changed: readonly { readonly wanted: Entity; readonly found: Entity }[];
  /** Written by a controller before, and not wanted any more. */
  readonly stale: readonly Entity[];
  /** Drift: somebody else's. */
  readonly foreign: readonly Entity[];
  /** How many are as wanted. */
  readonly same: number;
  /** Entries that are there, by table id: constant ones too, since they take room. */
  readonly present: ReadonlyMap<number, number>;
}

/**
 * Compare what should be on a switch with what is there. Both sides are normalised, so padding, order and the ways to say "any value" make no
 * difference; what the server does not give back as it was written is left out. Constant entries belong to the program and are ignored.
 *
 * @throws EntityError when something is wanted twice, or does not fit the program.
 */
export function differenceOf(
  wanted: Iterable<Entity>,
  found: Iterable<Entity>,
  schema: Schema,
  comparison?: Comparison,
): Difference {
  const open = new Map<string, Entity>();
  for (const entity of wanted) {
    const key = keyOf(entity, schema);
    if (open.has(key)) throw new RangeError(`${describeEntity(entity, schema)} is wanted twice`);
    open.set(key, entity);
  }
  const changed: { readonly wanted: Entity; readonly found: Entity }[] = [];
  const stale: Entity[] = [];
  const foreign: Entity[] = [];
  const present = new Map<number, number>();
  let same = 0;
  for (const entity of found) {
    if (entity.entity?.case === "tableEntry" && !entity.entity.value.isDefaultAction) {
      const { tableId } = entity.entity.value;
      present.set(tableId, (present.get(tableId) ?? 0) + 1);
    }
    if (isOfProgram(entity, schema)) continue;
    const key = keyOf(entity, schema);
    const want = open.get(key);
    if (want === undefined) {
      // A default entry that nobody wants is the program's own.
      if (!isDefault(entity)) (isOwn(entity) ? stale : foreign).push(entity);
      continue;
    }
    open.delete(key);
    // Pooled entries are one and the same.
    if (
      want === entity ||
      entityContent(want, schema, comparison) === entityContent(entity, schema, comparison)
    )
      same++;
    else changed.push({ wanted: want, found: entity });
  }
  return { missing: [...open.values()], changed, stale, foreign, same, present };
}

/**
 * The same for what is wanted now and what was wanted, and written, before. Parts that both have are as wanted: only the others are looked at.
 */
export function differenceOfIntents(
  wanted: Parted,
  before: Parted,
  schema: Schema,
  comparison?: Comparison,
): Difference {
  const [old, now] = [new Set(before.parts), new Set(wanted.parts)];
  const kept = wanted.parts.filter((part) => old.has(part));
  const others = (all: Parted, except: ReadonlySet<readonly Entity[]>): Entity[] =>
    all.parts.filter((part) => !except.has(part)).flat();
  const difference = differenceOf(others(wanted, old), others(before, now), schema, comparison);
  const present = new Map(difference.present);
  let { same } = difference;
  for (const part of kept) {
    same += part.length;
    for (const { entity } of part)
      if (entity?.case === "tableEntry" && !entity.value.isDefaultAction)
        present.set(entity.value.tableId, (present.get(entity.value.tableId) ?? 0) + 1);
  }
  return { ...difference, same, present };
}

/** Entities in parts that stay the same ones as long as nothing in them changes. */
interface Parted {
  readonly parts: readonly (readonly Entity[])[];
}

/** Nothing to do but perhaps about drift. */
export function isApplied(difference: Difference): boolean {
  return difference.missing.length + difference.changed.length + difference.stale.length === 0;
}

function isOfProgram({ entity }: Entity, schema: Schema): boolean {
  if (entity?.case !== "tableEntry") return false;
  return entity.value.isConst || schema.tables.get(entity.value.tableId).isConst;
}

function isDefault({ entity }: Entity): boolean {
  return entity?.case === "tableEntry" && entity.value.isDefaultAction;
}

function isOwn({ entity }: Entity): boolean {
  return entity?.case === "tableEntry" && Buffer.from(entity.value.metadata).equals(OWNER);
}
