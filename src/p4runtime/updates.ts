import { EntityError } from "./entity-error.ts";
import type { Entity, Update } from "./proto/generated/p4runtime.ts";

/**
 * Put a new entity in.
 *
 * @throws EntityError for what no switch may take: an entry without an action (9.1.2), a default entry (9.1.3), cells of arrays (9.3, 9.4,
 * 9.7), an id of 0.
 */
export function insert(entity: Entity): Update {
  check(entity, "INSERT");
  return { type: "INSERT", entity };
}

/** Change an entity that is there. @throws EntityError as `insert` */
export function modify(entity: Entity): Update {
  check(entity, "MODIFY");
  return { type: "MODIFY", entity };
}

/** Take an entity out. @throws EntityError as `insert` */
export function remove(entity: Entity): Update {
  check(entity, "DELETE");
  return { type: "DELETE", entity };
}

function check({ entity }: Entity, type: "INSERT" | "MODIFY" | "DELETE"): void {
  switch (entity?.case) {
    case undefined:
      throw new EntityError("missing", "an update", "it has no entity");
    case "tableEntry": {
      const { tableId, action, isDefaultAction } = entity.value;
      const where = `an entry of table 0x${tableId.toString(16)}`;
      hasId(where, "table id", tableId);
      if (isDefaultAction && type !== "MODIFY")
        throw new EntityError("unexpected", where, "a default entry is only modified");
      if (type === "INSERT" && action === undefined)
        throw new EntityError("missing", where, "a new entry needs an action");
      return;
    }
    case "actionProfileMember":
      hasId("a member of an action profile", "action profile id", entity.value.actionProfileId);
      hasId("a member of an action profile", "number", entity.value.memberId);
      return;
    case "actionProfileGroup":
      hasId("a group of an action profile", "action profile id", entity.value.actionProfileId);
      hasId("a group of an action profile", "number", entity.value.groupId);
      return;
    case "packetReplicationEngineEntry":
      if (entity.value.type?.case === "multicastGroupEntry")
        hasId("a multicast group", "id", entity.value.type.value.multicastGroupId);
      if (entity.value.type?.case === "cloneSessionEntry")
        hasId("a clone session", "id", entity.value.type.value.sessionId);
      return;
    case "counterEntry":
    case "directCounterEntry":
    case "meterEntry":
    case "directMeterEntry":
    case "registerEntry":
    case "valueSetEntry":
      if (type !== "MODIFY")
        throw new EntityError(
          "unexpected",
          CELLS[entity.case],
          `it is always there and only modified, not ${type === "INSERT" ? "inserted" : "deleted"}`,
        );
  }
}

const CELLS = {
  counterEntry: "a counter",
  directCounterEntry: "a direct counter",
  meterEntry: "a meter",
  directMeterEntry: "a direct meter",
  registerEntry: "a register",
  valueSetEntry: "a value set",
} as const;

/** 0 means "all" in reads, and is no valid id in writes (8.1, 9.5). */
function hasId(where: string, what: string, id: number): void {
  if (id === 0) throw new EntityError("missing", where, `its ${what} is 0, which only reads may have`);
}
