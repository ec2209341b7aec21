import { entityKey } from "./entity-key.ts";
import type { Entity, Update, Update_Type } from "./proto/generated/p4runtime.ts";
import type { Schema } from "./schema.ts";

/**
 * Cut updates into requests without changing their order: at most `limit` in each, and no two in one request of which one needs the other,
 * since a switch may carry out the updates of a request in any order (12.1).
 *
 * Updates depend on each other when they are of the same entity, or when one makes or takes away what the other refers to: members before
 * groups before entries of the table, multicast groups and clone sessions before entries.
 */
export function requestsOf(updates: readonly Update[], limit: number, schema?: Schema): Update[][] {
  const requests: Update[][] = [];
  let request: Update[] = [];
  let kinds = new Set<string>();
  let types = new Set<Update_Type>();
  let keys: Set<string> | undefined;
  const cut = (): void => {
    if (request.length > 0) requests.push(request);
    request = [];
    kinds = new Set();
    types = new Set();
    keys = undefined;
  };
  for (const update of updates) {
    const kind = kindOf(update.entity);
    if (request.length >= limit) cut();
    else if (!kinds.has(kind) && [...kinds].some((other) => isRelated(kind, other))) cut();
    else if (schema !== undefined && request.length > 0 && (types.size > 1 || !types.has(update.type))) {
      // Only a request of several types can hold two updates of one entity that both make sense.
      keys ??= new Set(request.map(({ entity }) => keyOf(entity, schema)));
      const key = keyOf(update.entity, schema);
      if (keys.has(key)) cut();
      else keys.add(key);
    } else keys?.add(schema === undefined ? "" : keyOf(update.entity, schema));
    request.push(update);
    kinds.add(kind);
    types.add(update.type);
  }
  cut();
  return requests;
}

/** What a stage is for, and how the tables of a program depend on each other. */
export interface SequenceOptions {
  /**
   * Tables by id: those with a lower number are filled first and emptied last, as the entries of a table of next hops that others point to.
   * 0 unless given.
   */
  readonly tableRank?: ReadonlyMap<number, number>;
}

/**
 * Put updates into an order in which each finds what it needs, and nothing that is in use goes away before its users: first all that is made
 * or changed, what is referred to before what refers to it, then all that is deleted, the other way round (make before break).
 *
 * @returns stages; the updates of one do not need each other, and the next may begin when the stage is done.
 */
export function sequence(updates: readonly Update[], options: SequenceOptions = {}): Update[][] {
  const stages = new Map<number, Update[]>();
  for (const update of updates) {
    const rank = rankOf(update.entity, options);
    const at = update.type === "DELETE" ? 2 * LAST - rank : rank;
    const stage = stages.get(at);
    if (stage === undefined) stages.set(at, [update]);
    else stage.push(update);
  }
  return [...stages].sort(([a], [b]) => a - b).map(([, stage]) => stage);
}

/** Above all ranks. */
const LAST = 10_000;

function rankOf(message: Entity | undefined, { tableRank }: SequenceOptions): number {
  const entity = message?.entity;
  switch (entity?.case) {
    case "packetReplicationEngineEntry":
    case "actionProfileMember":
    case "digestEntry":
    case "valueSetEntry":
      return 0;
    case "actionProfileGroup":
      return 1;
    case "tableEntry":
      return 2 + (tableRank?.get(entity.value.tableId) ?? 0);
    case "directCounterEntry":
    case "directMeterEntry":
      return LAST - 1;
    default:
      return LAST - 2;
  }
}

/** Updates of one kind do not need each other, but for those of one entity. */
function kindOf(message: Entity | undefined): string {
  const entity = message?.entity;
  switch (entity?.case) {
    case "packetReplicationEngineEntry":
      return "replication";
    case "actionProfileMember":
      return "member";
    case "actionProfileGroup":
      return "group";
    case "tableEntry":
      return "entry";
    case "directCounterEntry":
    case "directMeterEntry":
      return "direct";
    default:
      return "cell";
  }
}

function isRelated(a: string, b: string): boolean {
  return a !== "cell" && b !== "cell" && a !== b;
}

/** A malformed entity is left to the switch, which says what is wrong with it. */
function keyOf(message: Entity | undefined, schema: Schema): string {
  if (message === undefined) return "nothing";
  try {
    return entityKey(message, schema);
  } catch {
    return "malformed";
  }
}
