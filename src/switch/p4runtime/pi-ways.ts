import { Code } from "../../p4runtime/code.ts";
import type {
  Entity,
  MeterConfig,
  PacketReplicationEngineEntry,
  TableEntry,
  Update,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import type { Schema } from "../../p4runtime/schema.ts";
import { invalidArgument, StatusError, unimplemented } from "./status.ts";

/** How PI's server behind simple_switch_grpc takes updates and reads where it differs from the specification (`device_mgr.cpp`). */

/** The error space of its `p4.v1.Error`s. */
export const PI_ERROR_SPACE = "ALL-sswitch-p4org";
/** The version of P4Runtime that it reports. */
export const PI_API_VERSION = "1.3.0";

const largestBurst = 0xffff_ffffn;

export function noPipeline(): StatusError {
  return new StatusError(Code.FAILED_PRECONDITION, "No forwarding pipeline config set for this device");
}

/** The update that PI makes of one. @throws StatusError for what it does not implement or know */
export function piUpdate(update: Update, schema: Schema): Update {
  const entity = update.entity?.entity;
  checkId(entity, schema);
  switch (entity?.case) {
    case undefined:
      throw incorrectType();
    case "registerEntry":
      throw unimplemented("Register writes are not supported yet");
    case "valueSetEntry":
      throw unimplemented("ValueSet writes are not supported yet");
    case "externEntry":
      throw unimplemented("");
    case "counterEntry": {
      if (entity.value.index === undefined)
        throw unimplemented("Wildcard writes of counters are not supported");
      // It counts from zero again where no value is given, and where the specification refuses to delete.
      const data =
        update.type === "DELETE" || entity.value.data === undefined
          ? { byteCount: 0n, packetCount: 0n }
          : entity.value.data;
      const type = update.type === "DELETE" ? "MODIFY" : update.type;
      return { type, entity: { entity: { case: "counterEntry", value: { ...entity.value, data } } } };
    }
    case "meterEntry":
      if (entity.value.index === undefined)
        throw unimplemented("Wildcard writes of meters are not supported");
      checkBursts(entity.value.config);
      return update;
    case "directMeterEntry":
      checkBursts(entity.value.config);
      return update;
    case "actionProfileGroup":
      if (update.type !== "DELETE" && entity.value.members.length === 0)
        throw unimplemented("Empty groups are not supported");
      return update;
    case "tableEntry":
      checkOneShot(entity.value);
      return update;
    case "packetReplicationEngineEntry":
      checkSession(entity.value);
      return update;
    default:
      return update;
  }
}

/** An id that is not in the P4Info is an invalid argument there, and 0 means all. */
function checkId(entity: Entity["entity"], schema: Schema): void {
  const [id, known] = idOf(entity, schema);
  if (id !== 0 && known?.find(id) === undefined)
    throw invalidArgument(`there is nothing with id 0x${id.toString(16)} of this kind`);
}

interface Known {
  find(id: number): unknown;
}

function idOf(entity: Entity["entity"], schema: Schema): readonly [id: number, known?: Known] {
  switch (entity?.case) {
    case "tableEntry":
      return [entity.value.tableId, schema.tables];
    case "directCounterEntry":
    case "directMeterEntry":
      return [entity.value.tableEntry?.tableId ?? 0, schema.tables];
    case "counterEntry":
      return [entity.value.counterId, schema.counters];
    case "meterEntry":
      return [entity.value.meterId, schema.meters];
    case "actionProfileMember":
    case "actionProfileGroup":
      return [entity.value.actionProfileId, schema.actionProfiles];
    case "digestEntry":
      return [entity.value.digestId, schema.digests];
    default:
      return [0];
  }
}

function checkBursts(config: MeterConfig | undefined): void {
  if (config === undefined) return;
  if (config.cburst > largestBurst) throw unimplemented("CBurst too large");
  if (config.pburst > largestBurst) throw unimplemented("Pburst too large");
}

function checkOneShot({ action }: TableEntry): void {
  const isEmpty =
    action?.type?.case === "actionProfileActionSet" && action.type.value.actionProfileActions.length === 0;
  if (isEmpty) throw unimplemented("Empty one-shot action sets are not supported");
}

function checkSession({ type }: PacketReplicationEngineEntry): void {
  if (type?.case === "cloneSessionEntry" && type.value.classOfService !== 0)
    throw unimplemented("Class of service is not supported for clone sessions");
}

/** What PI reads when it is asked for something. @throws StatusError for what it does not implement or know */
export function piRead(request: Entity, schema: Schema): Entity {
  const entity = request.entity;
  checkId(entity, schema);
  switch (entity?.case) {
    case undefined:
    case "externEntry":
      throw incorrectType();
    case "registerEntry":
      throw unimplemented("Register reads are not supported yet");
    case "valueSetEntry":
      throw unimplemented("ValueSet reads are not supported yet");
    case "digestEntry":
      if (entity.value.digestId === 0) throw unimplemented("Wildcard reads of digests are not supported");
      return request;
    case "directCounterEntry":
    case "directMeterEntry":
      if ((entity.value.tableEntry?.tableId ?? 0) === 0)
        throw unimplemented("Reads of the direct resources of all tables are not supported");
      return request;
    case "tableEntry": {
      // Its filters are the table and the match.
      const { match, priority } = entity.value;
      const value: TableEntry = {
        ...entity.value,
        priority: match.length === 0 ? 0 : priority,
        action: undefined,
        metadata: new Uint8Array(0),
        controllerMetadata: 0n,
      };
      return { entity: { case: "tableEntry", value } };
    }
    default:
      return request;
  }
}

function incorrectType(): StatusError {
  return new StatusError(Code.UNKNOWN, "Incorrect entity type");
}

/** What PI says of a failed update or read: what its target refuses is UNKNOWN, and a value that is too wide an invalid argument. */
export function piStatus(error: StatusError, isDefaultEntry: boolean): StatusError {
  switch (error.code) {
    case Code.OUT_OF_RANGE:
      return new StatusError(Code.INVALID_ARGUMENT, error.message);
    case Code.RESOURCE_EXHAUSTED:
    case Code.FAILED_PRECONDITION:
      return new StatusError(Code.UNKNOWN, error.message);
    case Code.PERMISSION_DENIED:
      return isDefaultEntry ? error : new StatusError(Code.UNKNOWN, error.message);
    default:
      return error;
  }
}
