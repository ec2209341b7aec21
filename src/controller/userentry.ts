import type {
  ActionInput,
  Entity,
  EntityBuilder,
  MatchInputs,
  Params,
  ReplicaInput,
} from "../p4runtime/index.ts";

/** Something that a user wants on switches beside what follows from the topology, in the names of the program. */
export type UserEntry =
  | {
      readonly table: string;
      readonly match: MatchInputs;
      readonly priority?: number;
      readonly action?: string;
      readonly params?: Params;
      /** Instead of an action, in a table with an action profile. */
      readonly member?: number;
      readonly group?: number;
    }
  | { readonly default: string; readonly action: string; readonly params?: Params }
  | { readonly multicast: number; readonly replicas: readonly ReplicaInput[] }
  | { readonly clone: number; readonly replicas: readonly ReplicaInput[] }
  | { readonly profile: string; readonly member: number; readonly action: string; readonly params?: Params }
  | { readonly profile: string; readonly group: number; readonly members: Readonly<Record<number, number>> }
  | {
      readonly meter: string;
      readonly index: number;
      readonly rates: Readonly<Record<"cir" | "cburst" | "pir" | "pburst", number>>;
    }
  | { readonly digest: string; readonly timeout?: number; readonly size?: number };

/** @throws EntityError when it does not fit the program. */
export function userEntity(entities: EntityBuilder, entry: UserEntry, metadata: Uint8Array): Entity {
  if ("table" in entry) {
    const action = actionOf(entry);
    const options = { metadata, ...(entry.priority === undefined ? {} : { priority: entry.priority }) };
    return entities.tableEntry(entry.table, entry.match, action, {}, options);
  }
  if ("default" in entry) return entities.defaultEntry(entry.default, entry.action, entry.params);
  if ("multicast" in entry) return entities.multicastGroup(entry.multicast, entry.replicas, metadata);
  if ("clone" in entry) return entities.cloneSession(entry.clone, entry.replicas);
  if ("meter" in entry) {
    const { cir, cburst, pir, pburst } = entry.rates;
    const config = { cir: BigInt(cir), cburst: BigInt(cburst), pir: BigInt(pir), pburst: BigInt(pburst) };
    return entities.meter(entry.meter, entry.index, config);
  }
  if ("digest" in entry)
    return entities.digest(entry.digest, {
      maxTimeoutNs: BigInt(entry.timeout ?? 0),
      maxListSize: entry.size ?? 1,
    });
  if ("group" in entry) return entities.group(entry.profile, entry.group, entry.members);
  return entities.member(entry.profile, entry.member, entry.action, entry.params);
}

function actionOf(entry: Extract<UserEntry, { readonly table: string }>): ActionInput {
  if (entry.member !== undefined) return { member: entry.member };
  if (entry.group !== undefined) return { group: entry.group };
  return { action: entry.action ?? "", params: entry.params ?? {} };
}
