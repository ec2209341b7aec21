import type { P4Info } from "../../../src/p4info/index.ts";
import type { MatchField, Switch, Table } from "../../../src/switch/index.ts";
import { SwitchRuntimeError } from "../../../src/switch/index.ts";
import type { EntryAction } from "../../../src/switch/tables/table-entry.ts";
import { allOnes, type KeyField, takeWords } from "../../../src/switch/tables/table-key.ts";
import type { Dice } from "../../backends/dice.ts";
import type { Packet } from "./packets.ts";

/** Entries in a table, at most. */
const ENTRIES = 24;
/** Tables reach others: each round fills those that packets came to in the one before. */
const ROUNDS = 4;

/**
 * Random entries that packets hit: what tables are looked up with is seen by tracing them. Multicast groups, clone sessions, action
 * profiles too.
 *
 * @param fresh a switch with the program, and nothing in its tables
 */
export function fillRandomly(
  sw: Switch,
  info: P4Info,
  packets: readonly Packet[],
  fresh: () => Switch,
  dice: Dice,
): void {
  const inserted: ((into: Switch) => void)[] = [];
  const full = new Set<string>();
  const insert = (put: (into: Switch) => void): boolean => {
    try {
      put(sw);
    } catch (error) {
      // The same match again, a full table: both switches refuse that.
      if (error instanceof SwitchRuntimeError) return false;
      throw error;
    }
    inserted.push(put);
    return true;
  };
  for (let id = 1; id < 16; id++) {
    insert((s) =>
      s.replication.insertGroup(id, [
        // simple_switch_grpc takes no replica to port 0.
        { port: 1 + (id % 4), instance: id },
        { port: 5, instance: 1 },
      ]),
    );
    insert((s) => s.replication.insertSession(id, [{ port: 3, instance: id }]));
  }
  for (let round = 0; round < ROUNDS; round++) {
    const probe = fresh();
    for (const put of inserted) put(probe);
    const seen = keysSeen(probe, packets);
    for (const [name, keys] of seen) {
      if (full.has(name)) continue;
      full.add(name);
      const actions = actionsOf(info, name);
      if (actions.length === 0) continue;
      for (let i = 0; i < ENTRIES; i++) {
        const table = sw.table(name);
        const key = keys[dice.below(keys.length)] ?? [];
        const match = table.description.key.map((f, k) => fieldOn(f, key[k] ?? 0n, dice));
        const action = actionFor(table, actions, sw, insert, dice);
        if (action === undefined) break;
        insert((s) => s.table(name).insert(match, action, table.usesPriority ? { priority: i + 1 } : {}));
      }
    }
  }
}

/** What tables that take entries were looked up with. */
function keysSeen(
  sw: Switch,
  packets: readonly Packet[],
): ReadonlyMap<string, readonly (readonly bigint[])[]> {
  const seen = new Map<string, Map<string, readonly bigint[]>>();
  sw.trace((event) => {
    if (event.kind !== "table") return;
    const table = sw.tables.get(event.table);
    if (table === undefined || table.description.isConst || table.description.key.length === 0) return;
    const values = table.layout.fields.map((f) => takeWords(table.key, f.word, f.words));
    const keys = seen.get(table.name) ?? new Map<string, readonly bigint[]>();
    if (keys.size < 500) keys.set(values.join(), values);
    seen.set(table.name, keys);
  });
  for (const { port, data } of packets) sw.inject(port, data);
  sw.trace(undefined);
  return new Map([...seen].map(([name, keys]) => [name, [...keys.values()]]));
}

interface ActionShape {
  readonly name: string;
  readonly widths: readonly number[];
}

/** The actions that entries of a table may name. */
function actionsOf(info: P4Info, table: string): readonly ActionShape[] {
  const found = info.tables.find((t) => t.preamble?.name === table);
  return (found?.actionRefs ?? []).flatMap(({ id, scope }) => {
    const action = info.actions.find((a) => a.preamble?.id === id);
    if (scope === "DEFAULT_ONLY" || action === undefined) return [];
    return [{ name: action.preamble?.name ?? "", widths: action.params.map((p) => p.bitwidth) }];
  });
}

function actionFor(
  table: Table,
  actions: readonly ActionShape[],
  sw: Switch,
  insert: (put: (into: Switch) => void) => boolean,
  dice: Dice,
): EntryAction | undefined {
  const shape = actions[dice.below(actions.length)];
  if (shape === undefined) return undefined;
  const call = {
    kind: "action",
    action: shape.name,
    parameters: shape.widths.map((width) => argument(width, dice)),
  } as const;
  const { profile } = table.description;
  if (profile === undefined) return call;
  const { name } = profile;
  const count = () => sw.profile(name).members.length;
  if (count() < Math.min(8, profile.capacity)) {
    const id = count() + 1;
    insert((s) => s.profile(name).insertMember(id, call));
  }
  if (count() === 0) return undefined;
  if (!profile.hasSelector || dice.below(3) === 0) return { kind: "member", member: 1 + dice.below(count()) };
  const groups = () => sw.profile(name).groups.length;
  if (groups() < 4) {
    const id = groups() + 1;
    const members = Array.from({ length: count() }, (_, i) => ({ member: i + 1, weight: 1 }));
    insert((s) => s.profile(name).insertGroup(id, members));
  }
  return groups() === 0 ? undefined : { kind: "group", group: 1 + dice.below(groups()) };
}

/** A port, where the parameter has as many bits as one; small numbers often. */
function argument(width: number, dice: Dice): bigint {
  if (width === 9) return BigInt(dice.pick(1, 2, 3, 4, 5, 6, 7, 511));
  return dice.value(width);
}

function fieldOn({ kind, width }: KeyField, value: bigint, dice: Dice): MatchField | undefined {
  switch (kind) {
    case "exact":
      return { kind, value };
    case "optional":
      return dice.below(3) === 0 ? undefined : { kind, value };
    case "ternary": {
      const mask = dice.below(3) === 0 ? allOnes(width) : dice.bits(width);
      return mask === 0n ? undefined : { kind, value: value & mask, mask };
    }
    case "lpm": {
      const prefixLength = dice.below(3) === 0 ? width : dice.below(width + 1);
      const mask = allOnes(width) ^ (allOnes(width) >> BigInt(prefixLength));
      return prefixLength === 0 ? undefined : { kind, value: value & mask, prefixLength };
    }
    case "range": {
      const high = value + BigInt(dice.below(100));
      const isAll = value === 0n && high >= allOnes(width);
      return isAll ? undefined : { kind, low: value, high: high > allOnes(width) ? allOnes(width) : high };
    }
  }
}
