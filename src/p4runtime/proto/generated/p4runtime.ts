// Made from p4/v1/p4runtime.proto by src/p4runtime/proto/generate.sh; not to be edited.
import { EnumType, MessageType, type UnknownEnumValue } from "../../../p4info/message/descriptor.ts";
import { Any } from "../../../p4info/generated/any.ts";
import { P4Data } from "./p4data.ts";
import { Status } from "./status.ts";
import { P4Info } from "../../../p4info/generated/p4info.ts";

export type SdnPort = "SDN_PORT_UNKNOWN" | "SDN_PORT_MIN" | "SDN_PORT_MAX" | "SDN_PORT_RECIRCULATE" | "SDN_PORT_CPU" | UnknownEnumValue;
export const SdnPort: EnumType = new EnumType("p4.v1.SdnPort", { SDN_PORT_UNKNOWN: 0, SDN_PORT_MIN: 1, SDN_PORT_MAX: -257, SDN_PORT_RECIRCULATE: -6, SDN_PORT_CPU: -3 });

export interface TableEntry_IdleTimeout {
  readonly elapsedNs: bigint;
}
export const TableEntry_IdleTimeout: MessageType<TableEntry_IdleTimeout> = new MessageType("p4.v1.TableEntry.IdleTimeout", () => [
  [1, "elapsed_ns", "int64"],
]);

export interface TableEntry {
  readonly tableId: number;
  readonly match: readonly FieldMatch[];
  readonly action?: TableAction | undefined;
  readonly priority: number;
  /** @deprecated */
  readonly controllerMetadata: bigint;
  readonly meterConfig?: MeterConfig | undefined;
  readonly counterData?: CounterData | undefined;
  readonly isDefaultAction: boolean;
  readonly idleTimeoutNs: bigint;
  readonly timeSinceLastHit?: TableEntry_IdleTimeout | undefined;
  readonly metadata: Uint8Array;
  readonly meterCounterData?: MeterCounterData | undefined;
  readonly isConst: boolean;
}
export const TableEntry: MessageType<TableEntry> = new MessageType("p4.v1.TableEntry", () => [
  [1, "table_id", "uint32"],
  [2, "match", () => FieldMatch, "repeated"],
  [3, "action", () => TableAction],
  [4, "priority", "int32"],
  [5, "controller_metadata", "uint64"],
  [6, "meter_config", () => MeterConfig],
  [7, "counter_data", () => CounterData],
  [8, "is_default_action", "bool"],
  [9, "idle_timeout_ns", "int64"],
  [10, "time_since_last_hit", () => TableEntry_IdleTimeout],
  [11, "metadata", "bytes"],
  [12, "meter_counter_data", () => MeterCounterData],
  [13, "is_const", "bool"],
]);

export interface FieldMatch_Exact {
  readonly value: Uint8Array;
}
export const FieldMatch_Exact: MessageType<FieldMatch_Exact> = new MessageType("p4.v1.FieldMatch.Exact", () => [
  [1, "value", "bytes"],
]);

export interface FieldMatch_Ternary {
  readonly value: Uint8Array;
  readonly mask: Uint8Array;
}
export const FieldMatch_Ternary: MessageType<FieldMatch_Ternary> = new MessageType("p4.v1.FieldMatch.Ternary", () => [
  [1, "value", "bytes"],
  [2, "mask", "bytes"],
]);

export interface FieldMatch_LPM {
  readonly value: Uint8Array;
  readonly prefixLen: number;
}
export const FieldMatch_LPM: MessageType<FieldMatch_LPM> = new MessageType("p4.v1.FieldMatch.LPM", () => [
  [1, "value", "bytes"],
  [2, "prefix_len", "int32"],
]);

export interface FieldMatch_Range {
  readonly low: Uint8Array;
  readonly high: Uint8Array;
}
export const FieldMatch_Range: MessageType<FieldMatch_Range> = new MessageType("p4.v1.FieldMatch.Range", () => [
  [1, "low", "bytes"],
  [2, "high", "bytes"],
]);

export interface FieldMatch_Optional {
  readonly value: Uint8Array;
}
export const FieldMatch_Optional: MessageType<FieldMatch_Optional> = new MessageType("p4.v1.FieldMatch.Optional", () => [
  [1, "value", "bytes"],
]);

export interface FieldMatch {
  readonly fieldId: number;
  readonly fieldMatchType?:
    | { readonly case: "exact"; readonly value: FieldMatch_Exact }
    | { readonly case: "ternary"; readonly value: FieldMatch_Ternary }
    | { readonly case: "lpm"; readonly value: FieldMatch_LPM }
    | { readonly case: "range"; readonly value: FieldMatch_Range }
    | { readonly case: "optional"; readonly value: FieldMatch_Optional }
    | { readonly case: "other"; readonly value: Any }
    | undefined;
}
export const FieldMatch: MessageType<FieldMatch> = new MessageType("p4.v1.FieldMatch", () => [
  [1, "field_id", "uint32"],
  [2, "exact", () => FieldMatch_Exact, { oneof: "fieldMatchType" }],
  [3, "ternary", () => FieldMatch_Ternary, { oneof: "fieldMatchType" }],
  [4, "lpm", () => FieldMatch_LPM, { oneof: "fieldMatchType" }],
  [6, "range", () => FieldMatch_Range, { oneof: "fieldMatchType" }],
  [7, "optional", () => FieldMatch_Optional, { oneof: "fieldMatchType" }],
  [100, "other", () => Any, { oneof: "fieldMatchType" }],
]);

export interface TableAction {
  readonly type?:
    | { readonly case: "action"; readonly value: Action }
    | { readonly case: "actionProfileMemberId"; readonly value: number }
    | { readonly case: "actionProfileGroupId"; readonly value: number }
    | { readonly case: "actionProfileActionSet"; readonly value: ActionProfileActionSet }
    | undefined;
}
export const TableAction: MessageType<TableAction> = new MessageType("p4.v1.TableAction", () => [
  [1, "action", () => Action, { oneof: "type" }],
  [2, "action_profile_member_id", "uint32", { oneof: "type" }],
  [3, "action_profile_group_id", "uint32", { oneof: "type" }],
  [4, "action_profile_action_set", () => ActionProfileActionSet, { oneof: "type" }],
]);

export interface Action_Param {
  readonly paramId: number;
  readonly value: Uint8Array;
}
export const Action_Param: MessageType<Action_Param> = new MessageType("p4.v1.Action.Param", () => [
  [2, "param_id", "uint32"],
  [3, "value", "bytes"],
]);

export interface Action {
  readonly actionId: number;
  readonly params: readonly Action_Param[];
}
export const Action: MessageType<Action> = new MessageType("p4.v1.Action", () => [
  [1, "action_id", "uint32"],
  [4, "params", () => Action_Param, "repeated"],
]);

export interface ActionProfileMember {
  readonly actionProfileId: number;
  readonly memberId: number;
  readonly action?: Action | undefined;
}
export const ActionProfileMember: MessageType<ActionProfileMember> = new MessageType("p4.v1.ActionProfileMember", () => [
  [1, "action_profile_id", "uint32"],
  [2, "member_id", "uint32"],
  [3, "action", () => Action],
]);

export interface ActionProfileGroup_Member {
  readonly memberId: number;
  readonly weight: number;
  readonly watchKind?:
    | { readonly case: "watch"; readonly value: number }
    | { readonly case: "watchPort"; readonly value: Uint8Array }
    | undefined;
}
export const ActionProfileGroup_Member: MessageType<ActionProfileGroup_Member> = new MessageType("p4.v1.ActionProfileGroup.Member", () => [
  [1, "member_id", "uint32"],
  [2, "weight", "int32"],
  [3, "watch", "int32", { oneof: "watchKind" }],
  [4, "watch_port", "bytes", { oneof: "watchKind" }],
]);

export interface ActionProfileGroup {
  readonly actionProfileId: number;
  readonly groupId: number;
  readonly members: readonly ActionProfileGroup_Member[];
  readonly maxSize: number;
}
export const ActionProfileGroup: MessageType<ActionProfileGroup> = new MessageType("p4.v1.ActionProfileGroup", () => [
  [1, "action_profile_id", "uint32"],
  [2, "group_id", "uint32"],
  [3, "members", () => ActionProfileGroup_Member, "repeated"],
  [4, "max_size", "int32"],
]);

export type ActionProfileActionSet_ActionSelectionMode = "DEFAULT_MODE_DETERMINED_BY_ACTION_SELECTOR" | "HASH" | "RANDOM" | UnknownEnumValue;
export const ActionProfileActionSet_ActionSelectionMode: EnumType = new EnumType("p4.v1.ActionProfileActionSet.ActionSelectionMode", { DEFAULT_MODE_DETERMINED_BY_ACTION_SELECTOR: 0, HASH: 1, RANDOM: 2 });

export type ActionProfileActionSet_SizeSemantics = "DEFAULT_SIZE_DETERMINED_BY_ACTION_SELECTOR" | "SUM_OF_WEIGHTS" | "SUM_OF_MEMBERS" | UnknownEnumValue;
export const ActionProfileActionSet_SizeSemantics: EnumType = new EnumType("p4.v1.ActionProfileActionSet.SizeSemantics", { DEFAULT_SIZE_DETERMINED_BY_ACTION_SELECTOR: 0, SUM_OF_WEIGHTS: 1, SUM_OF_MEMBERS: 2 });

export interface ActionProfileActionSet {
  readonly actionProfileActions: readonly ActionProfileAction[];
  readonly actionSelectionMode: ActionProfileActionSet_ActionSelectionMode;
  readonly sizeSemantics: ActionProfileActionSet_SizeSemantics;
  readonly groupAction?: Action | undefined;
}
export const ActionProfileActionSet: MessageType<ActionProfileActionSet> = new MessageType("p4.v1.ActionProfileActionSet", () => [
  [1, "action_profile_actions", () => ActionProfileAction, "repeated"],
  [2, "action_selection_mode", ActionProfileActionSet_ActionSelectionMode],
  [3, "size_semantics", ActionProfileActionSet_SizeSemantics],
  [5, "group_action", () => Action],
]);

export interface ActionProfileAction {
  readonly action?: Action | undefined;
  readonly weight: number;
  readonly watchKind?:
    | { readonly case: "watch"; readonly value: number }
    | { readonly case: "watchPort"; readonly value: Uint8Array }
    | undefined;
}
export const ActionProfileAction: MessageType<ActionProfileAction> = new MessageType("p4.v1.ActionProfileAction", () => [
  [1, "action", () => Action],
  [2, "weight", "int32"],
  [3, "watch", "int32", { oneof: "watchKind" }],
  [4, "watch_port", "bytes", { oneof: "watchKind" }],
]);

export interface Index {
  readonly index: bigint;
}
export const Index: MessageType<Index> = new MessageType("p4.v1.Index", () => [
  [1, "index", "int64"],
]);

export interface CounterData {
  readonly byteCount: bigint;
  readonly packetCount: bigint;
}
export const CounterData: MessageType<CounterData> = new MessageType("p4.v1.CounterData", () => [
  [1, "byte_count", "int64"],
  [2, "packet_count", "int64"],
]);

export interface CounterEntry {
  readonly counterId: number;
  readonly index?: Index | undefined;
  readonly data?: CounterData | undefined;
}
export const CounterEntry: MessageType<CounterEntry> = new MessageType("p4.v1.CounterEntry", () => [
  [1, "counter_id", "uint32"],
  [2, "index", () => Index],
  [3, "data", () => CounterData],
]);

export interface DirectCounterEntry {
  readonly tableEntry?: TableEntry | undefined;
  readonly data?: CounterData | undefined;
}
export const DirectCounterEntry: MessageType<DirectCounterEntry> = new MessageType("p4.v1.DirectCounterEntry", () => [
  [1, "table_entry", () => TableEntry],
  [2, "data", () => CounterData],
]);

export interface MeterConfig {
  readonly cir: bigint;
  readonly cburst: bigint;
  readonly pir: bigint;
  readonly pburst: bigint;
  readonly eburst: bigint;
}
export const MeterConfig: MessageType<MeterConfig> = new MessageType("p4.v1.MeterConfig", () => [
  [1, "cir", "int64"],
  [2, "cburst", "int64"],
  [3, "pir", "int64"],
  [4, "pburst", "int64"],
  [5, "eburst", "int64"],
]);

export interface MeterCounterData {
  readonly green?: CounterData | undefined;
  readonly yellow?: CounterData | undefined;
  readonly red?: CounterData | undefined;
}
export const MeterCounterData: MessageType<MeterCounterData> = new MessageType("p4.v1.MeterCounterData", () => [
  [1, "green", () => CounterData],
  [2, "yellow", () => CounterData],
  [3, "red", () => CounterData],
]);

export interface MeterEntry {
  readonly meterId: number;
  readonly index?: Index | undefined;
  readonly config?: MeterConfig | undefined;
  readonly counterData?: MeterCounterData | undefined;
}
export const MeterEntry: MessageType<MeterEntry> = new MessageType("p4.v1.MeterEntry", () => [
  [1, "meter_id", "uint32"],
  [2, "index", () => Index],
  [3, "config", () => MeterConfig],
  [4, "counter_data", () => MeterCounterData],
]);

export interface DirectMeterEntry {
  readonly tableEntry?: TableEntry | undefined;
  readonly config?: MeterConfig | undefined;
  readonly counterData?: MeterCounterData | undefined;
}
export const DirectMeterEntry: MessageType<DirectMeterEntry> = new MessageType("p4.v1.DirectMeterEntry", () => [
  [1, "table_entry", () => TableEntry],
  [2, "config", () => MeterConfig],
  [3, "counter_data", () => MeterCounterData],
]);

export interface RegisterEntry {
  readonly registerId: number;
  readonly index?: Index | undefined;
  readonly data?: P4Data | undefined;
}
export const RegisterEntry: MessageType<RegisterEntry> = new MessageType("p4.v1.RegisterEntry", () => [
  [1, "register_id", "uint32"],
  [2, "index", () => Index],
  [3, "data", () => P4Data],
]);

export interface PacketReplicationEngineEntry {
  readonly type?:
    | { readonly case: "multicastGroupEntry"; readonly value: MulticastGroupEntry }
    | { readonly case: "cloneSessionEntry"; readonly value: CloneSessionEntry }
    | undefined;
}
export const PacketReplicationEngineEntry: MessageType<PacketReplicationEngineEntry> = new MessageType("p4.v1.PacketReplicationEngineEntry", () => [
  [1, "multicast_group_entry", () => MulticastGroupEntry, { oneof: "type" }],
  [2, "clone_session_entry", () => CloneSessionEntry, { oneof: "type" }],
]);

export interface MulticastGroupEntry {
  readonly multicastGroupId: number;
  readonly replicas: readonly Replica[];
  readonly metadata: Uint8Array;
}
export const MulticastGroupEntry: MessageType<MulticastGroupEntry> = new MessageType("p4.v1.MulticastGroupEntry", () => [
  [1, "multicast_group_id", "uint32"],
  [2, "replicas", () => Replica, "repeated"],
  [3, "metadata", "bytes"],
]);

export interface CloneSessionEntry {
  readonly sessionId: number;
  readonly replicas: readonly Replica[];
  readonly classOfService: number;
  readonly packetLengthBytes: number;
}
export const CloneSessionEntry: MessageType<CloneSessionEntry> = new MessageType("p4.v1.CloneSessionEntry", () => [
  [1, "session_id", "uint32"],
  [2, "replicas", () => Replica, "repeated"],
  [3, "class_of_service", "uint32"],
  [4, "packet_length_bytes", "int32"],
]);

export interface Replica {
  readonly portKind?:
    | { readonly case: "egressPort"; readonly value: number }
    | { readonly case: "port"; readonly value: Uint8Array }
    | undefined;
  readonly instance: number;
  readonly backupReplicas: readonly BackupReplica[];
}
export const Replica: MessageType<Replica> = new MessageType("p4.v1.Replica", () => [
  [1, "egress_port", "uint32", { oneof: "portKind" }],
  [3, "port", "bytes", { oneof: "portKind" }],
  [2, "instance", "uint32"],
  [4, "backup_replicas", () => BackupReplica, "repeated"],
]);

export interface BackupReplica {
  readonly port: Uint8Array;
  readonly instance: number;
}
export const BackupReplica: MessageType<BackupReplica> = new MessageType("p4.v1.BackupReplica", () => [
  [1, "port", "bytes"],
  [2, "instance", "uint32"],
]);

export interface ValueSetEntry {
  readonly valueSetId: number;
  readonly members: readonly ValueSetMember[];
}
export const ValueSetEntry: MessageType<ValueSetEntry> = new MessageType("p4.v1.ValueSetEntry", () => [
  [1, "value_set_id", "uint32"],
  [2, "members", () => ValueSetMember, "repeated"],
]);

export interface ValueSetMember {
  readonly match: readonly FieldMatch[];
}
export const ValueSetMember: MessageType<ValueSetMember> = new MessageType("p4.v1.ValueSetMember", () => [
  [1, "match", () => FieldMatch, "repeated"],
]);

export interface DigestEntry_Config {
  readonly maxTimeoutNs: bigint;
  readonly maxListSize: number;
  readonly ackTimeoutNs: bigint;
}
export const DigestEntry_Config: MessageType<DigestEntry_Config> = new MessageType("p4.v1.DigestEntry.Config", () => [
  [1, "max_timeout_ns", "int64"],
  [2, "max_list_size", "int32"],
  [3, "ack_timeout_ns", "int64"],
]);

export interface DigestEntry {
  readonly digestId: number;
  readonly config?: DigestEntry_Config | undefined;
}
export const DigestEntry: MessageType<DigestEntry> = new MessageType("p4.v1.DigestEntry", () => [
  [1, "digest_id", "uint32"],
  [2, "config", () => DigestEntry_Config],
]);

export interface ExternEntry {
  readonly externTypeId: number;
  readonly externId: number;
  readonly entry?: Any | undefined;
}
export const ExternEntry: MessageType<ExternEntry> = new MessageType("p4.v1.ExternEntry", () => [
  [1, "extern_type_id", "uint32"],
  [2, "extern_id", "uint32"],
  [3, "entry", () => Any],
]);

export interface Entity {
  readonly entity?:
    | { readonly case: "externEntry"; readonly value: ExternEntry }
    | { readonly case: "tableEntry"; readonly value: TableEntry }
    | { readonly case: "actionProfileMember"; readonly value: ActionProfileMember }
    | { readonly case: "actionProfileGroup"; readonly value: ActionProfileGroup }
    | { readonly case: "meterEntry"; readonly value: MeterEntry }
    | { readonly case: "directMeterEntry"; readonly value: DirectMeterEntry }
    | { readonly case: "counterEntry"; readonly value: CounterEntry }
    | { readonly case: "directCounterEntry"; readonly value: DirectCounterEntry }
    | { readonly case: "packetReplicationEngineEntry"; readonly value: PacketReplicationEngineEntry }
    | { readonly case: "valueSetEntry"; readonly value: ValueSetEntry }
    | { readonly case: "registerEntry"; readonly value: RegisterEntry }
    | { readonly case: "digestEntry"; readonly value: DigestEntry }
    | undefined;
}
export const Entity: MessageType<Entity> = new MessageType("p4.v1.Entity", () => [
  [1, "extern_entry", () => ExternEntry, { oneof: "entity" }],
  [2, "table_entry", () => TableEntry, { oneof: "entity" }],
  [3, "action_profile_member", () => ActionProfileMember, { oneof: "entity" }],
  [4, "action_profile_group", () => ActionProfileGroup, { oneof: "entity" }],
  [5, "meter_entry", () => MeterEntry, { oneof: "entity" }],
  [6, "direct_meter_entry", () => DirectMeterEntry, { oneof: "entity" }],
  [7, "counter_entry", () => CounterEntry, { oneof: "entity" }],
  [8, "direct_counter_entry", () => DirectCounterEntry, { oneof: "entity" }],
  [9, "packet_replication_engine_entry", () => PacketReplicationEngineEntry, { oneof: "entity" }],
  [10, "value_set_entry", () => ValueSetEntry, { oneof: "entity" }],
  [11, "register_entry", () => RegisterEntry, { oneof: "entity" }],
  [12, "digest_entry", () => DigestEntry, { oneof: "entity" }],
]);

export type Update_Type = "UNSPECIFIED" | "INSERT" | "MODIFY" | "DELETE" | UnknownEnumValue;
export const Update_Type: EnumType = new EnumType("p4.v1.Update.Type", { UNSPECIFIED: 0, INSERT: 1, MODIFY: 2, DELETE: 3 });

export interface Update {
  readonly type: Update_Type;
  readonly entity?: Entity | undefined;
}
export const Update: MessageType<Update> = new MessageType("p4.v1.Update", () => [
  [1, "type", Update_Type],
  [2, "entity", () => Entity],
]);

export type WriteRequest_Atomicity = "CONTINUE_ON_ERROR" | "ROLLBACK_ON_ERROR" | "DATAPLANE_ATOMIC" | UnknownEnumValue;
export const WriteRequest_Atomicity: EnumType = new EnumType("p4.v1.WriteRequest.Atomicity", { CONTINUE_ON_ERROR: 0, ROLLBACK_ON_ERROR: 1, DATAPLANE_ATOMIC: 2 });

export interface WriteRequest {
  readonly deviceId: bigint;
  /** @deprecated */
  readonly roleId: bigint;
  readonly electionId?: Uint128 | undefined;
  readonly updates: readonly Update[];
  readonly atomicity: WriteRequest_Atomicity;
  readonly role: string;
}
export const WriteRequest: MessageType<WriteRequest> = new MessageType("p4.v1.WriteRequest", () => [
  [1, "device_id", "uint64"],
  [2, "role_id", "uint64"],
  [3, "election_id", () => Uint128],
  [4, "updates", () => Update, "repeated"],
  [5, "atomicity", WriteRequest_Atomicity],
  [6, "role", "string"],
]);

export type WriteResponse = Record<never, never>;
export const WriteResponse: MessageType<WriteResponse> = new MessageType("p4.v1.WriteResponse", () => []);

export interface ReadRequest {
  readonly deviceId: bigint;
  readonly entities: readonly Entity[];
  readonly role: string;
}
export const ReadRequest: MessageType<ReadRequest> = new MessageType("p4.v1.ReadRequest", () => [
  [1, "device_id", "uint64"],
  [2, "entities", () => Entity, "repeated"],
  [3, "role", "string"],
]);

export interface ReadResponse {
  readonly entities: readonly Entity[];
}
export const ReadResponse: MessageType<ReadResponse> = new MessageType("p4.v1.ReadResponse", () => [
  [1, "entities", () => Entity, "repeated"],
]);

export interface Error {
  readonly canonicalCode: number;
  readonly message: string;
  readonly space: string;
  readonly code: number;
  readonly details?: Any | undefined;
}
export const Error: MessageType<Error> = new MessageType("p4.v1.Error", () => [
  [1, "canonical_code", "int32"],
  [2, "message", "string"],
  [3, "space", "string"],
  [4, "code", "int32"],
  [5, "details", () => Any],
]);

export interface Uint128 {
  readonly high: bigint;
  readonly low: bigint;
}
export const Uint128: MessageType<Uint128> = new MessageType("p4.v1.Uint128", () => [
  [1, "high", "uint64"],
  [2, "low", "uint64"],
]);

export interface Role {
  /** @deprecated */
  readonly id: bigint;
  readonly config?: Any | undefined;
  readonly name: string;
}
export const Role: MessageType<Role> = new MessageType("p4.v1.Role", () => [
  [1, "id", "uint64"],
  [2, "config", () => Any],
  [3, "name", "string"],
]);

export interface MasterArbitrationUpdate {
  readonly deviceId: bigint;
  readonly role?: Role | undefined;
  readonly electionId?: Uint128 | undefined;
  readonly status?: Status | undefined;
}
export const MasterArbitrationUpdate: MessageType<MasterArbitrationUpdate> = new MessageType("p4.v1.MasterArbitrationUpdate", () => [
  [1, "device_id", "uint64"],
  [2, "role", () => Role],
  [3, "election_id", () => Uint128],
  [4, "status", () => Status],
]);

export interface StreamMessageRequest {
  readonly update?:
    | { readonly case: "arbitration"; readonly value: MasterArbitrationUpdate }
    | { readonly case: "packet"; readonly value: PacketOut }
    | { readonly case: "digestAck"; readonly value: DigestListAck }
    | { readonly case: "other"; readonly value: Any }
    | undefined;
}
export const StreamMessageRequest: MessageType<StreamMessageRequest> = new MessageType("p4.v1.StreamMessageRequest", () => [
  [1, "arbitration", () => MasterArbitrationUpdate, { oneof: "update" }],
  [2, "packet", () => PacketOut, { oneof: "update" }],
  [3, "digest_ack", () => DigestListAck, { oneof: "update" }],
  [4, "other", () => Any, { oneof: "update" }],
]);

export interface StreamMessageResponse {
  readonly update?:
    | { readonly case: "arbitration"; readonly value: MasterArbitrationUpdate }
    | { readonly case: "packet"; readonly value: PacketIn }
    | { readonly case: "digest"; readonly value: DigestList }
    | { readonly case: "idleTimeoutNotification"; readonly value: IdleTimeoutNotification }
    | { readonly case: "other"; readonly value: Any }
    | { readonly case: "error"; readonly value: StreamError }
    | undefined;
}
export const StreamMessageResponse: MessageType<StreamMessageResponse> = new MessageType("p4.v1.StreamMessageResponse", () => [
  [1, "arbitration", () => MasterArbitrationUpdate, { oneof: "update" }],
  [2, "packet", () => PacketIn, { oneof: "update" }],
  [3, "digest", () => DigestList, { oneof: "update" }],
  [4, "idle_timeout_notification", () => IdleTimeoutNotification, { oneof: "update" }],
  [5, "other", () => Any, { oneof: "update" }],
  [6, "error", () => StreamError, { oneof: "update" }],
]);

export interface PacketOut {
  readonly payload: Uint8Array;
  readonly metadata: readonly PacketMetadata[];
}
export const PacketOut: MessageType<PacketOut> = new MessageType("p4.v1.PacketOut", () => [
  [1, "payload", "bytes"],
  [2, "metadata", () => PacketMetadata, "repeated"],
]);

export interface PacketIn {
  readonly payload: Uint8Array;
  readonly metadata: readonly PacketMetadata[];
}
export const PacketIn: MessageType<PacketIn> = new MessageType("p4.v1.PacketIn", () => [
  [1, "payload", "bytes"],
  [2, "metadata", () => PacketMetadata, "repeated"],
]);

export interface PacketMetadata {
  readonly metadataId: number;
  readonly value: Uint8Array;
}
export const PacketMetadata: MessageType<PacketMetadata> = new MessageType("p4.v1.PacketMetadata", () => [
  [1, "metadata_id", "uint32"],
  [2, "value", "bytes"],
]);

export interface DigestList {
  readonly digestId: number;
  readonly listId: bigint;
  readonly data: readonly P4Data[];
  readonly timestamp: bigint;
}
export const DigestList: MessageType<DigestList> = new MessageType("p4.v1.DigestList", () => [
  [1, "digest_id", "uint32"],
  [2, "list_id", "uint64"],
  [3, "data", () => P4Data, "repeated"],
  [4, "timestamp", "int64"],
]);

export interface DigestListAck {
  readonly digestId: number;
  readonly listId: bigint;
}
export const DigestListAck: MessageType<DigestListAck> = new MessageType("p4.v1.DigestListAck", () => [
  [1, "digest_id", "uint32"],
  [2, "list_id", "uint64"],
]);

export interface IdleTimeoutNotification {
  readonly tableEntry: readonly TableEntry[];
  readonly timestamp: bigint;
}
export const IdleTimeoutNotification: MessageType<IdleTimeoutNotification> = new MessageType("p4.v1.IdleTimeoutNotification", () => [
  [1, "table_entry", () => TableEntry, "repeated"],
  [2, "timestamp", "int64"],
]);

export interface StreamError {
  readonly canonicalCode: number;
  readonly message: string;
  readonly space: string;
  readonly code: number;
  readonly details?:
    | { readonly case: "packetOut"; readonly value: PacketOutError }
    | { readonly case: "digestListAck"; readonly value: DigestListAckError }
    | { readonly case: "other"; readonly value: StreamOtherError }
    | undefined;
}
export const StreamError: MessageType<StreamError> = new MessageType("p4.v1.StreamError", () => [
  [1, "canonical_code", "int32"],
  [2, "message", "string"],
  [3, "space", "string"],
  [4, "code", "int32"],
  [5, "packet_out", () => PacketOutError, { oneof: "details" }],
  [6, "digest_list_ack", () => DigestListAckError, { oneof: "details" }],
  [7, "other", () => StreamOtherError, { oneof: "details" }],
]);

export interface PacketOutError {
  readonly packetOut?: PacketOut | undefined;
}
export const PacketOutError: MessageType<PacketOutError> = new MessageType("p4.v1.PacketOutError", () => [
  [1, "packet_out", () => PacketOut],
]);

export interface DigestListAckError {
  readonly digestListAck?: DigestListAck | undefined;
}
export const DigestListAckError: MessageType<DigestListAckError> = new MessageType("p4.v1.DigestListAckError", () => [
  [1, "digest_list_ack", () => DigestListAck],
]);

export interface StreamOtherError {
  readonly other?: Any | undefined;
}
export const StreamOtherError: MessageType<StreamOtherError> = new MessageType("p4.v1.StreamOtherError", () => [
  [1, "other", () => Any],
]);

export interface ForwardingPipelineConfig_Cookie {
  readonly cookie: bigint;
}
export const ForwardingPipelineConfig_Cookie: MessageType<ForwardingPipelineConfig_Cookie> = new MessageType("p4.v1.ForwardingPipelineConfig.Cookie", () => [
  [1, "cookie", "uint64"],
]);

export interface ForwardingPipelineConfig {
  readonly p4info?: P4Info | undefined;
  readonly p4DeviceConfig: Uint8Array;
  readonly cookie?: ForwardingPipelineConfig_Cookie | undefined;
}
export const ForwardingPipelineConfig: MessageType<ForwardingPipelineConfig> = new MessageType("p4.v1.ForwardingPipelineConfig", () => [
  [1, "p4info", () => P4Info],
  [2, "p4_device_config", "bytes"],
  [3, "cookie", () => ForwardingPipelineConfig_Cookie],
]);

export type SetForwardingPipelineConfigRequest_Action = "UNSPECIFIED" | "VERIFY" | "VERIFY_AND_SAVE" | "VERIFY_AND_COMMIT" | "COMMIT" | "RECONCILE_AND_COMMIT" | UnknownEnumValue;
export const SetForwardingPipelineConfigRequest_Action: EnumType = new EnumType("p4.v1.SetForwardingPipelineConfigRequest.Action", { UNSPECIFIED: 0, VERIFY: 1, VERIFY_AND_SAVE: 2, VERIFY_AND_COMMIT: 3, COMMIT: 4, RECONCILE_AND_COMMIT: 5 });

export interface SetForwardingPipelineConfigRequest {
  readonly deviceId: bigint;
  /** @deprecated */
  readonly roleId: bigint;
  readonly electionId?: Uint128 | undefined;
  readonly action: SetForwardingPipelineConfigRequest_Action;
  readonly config?: ForwardingPipelineConfig | undefined;
  readonly role: string;
}
export const SetForwardingPipelineConfigRequest: MessageType<SetForwardingPipelineConfigRequest> = new MessageType("p4.v1.SetForwardingPipelineConfigRequest", () => [
  [1, "device_id", "uint64"],
  [2, "role_id", "uint64"],
  [3, "election_id", () => Uint128],
  [4, "action", SetForwardingPipelineConfigRequest_Action],
  [5, "config", () => ForwardingPipelineConfig],
  [6, "role", "string"],
]);

export type SetForwardingPipelineConfigResponse = Record<never, never>;
export const SetForwardingPipelineConfigResponse: MessageType<SetForwardingPipelineConfigResponse> = new MessageType("p4.v1.SetForwardingPipelineConfigResponse", () => []);

export type GetForwardingPipelineConfigRequest_ResponseType = "ALL" | "COOKIE_ONLY" | "P4INFO_AND_COOKIE" | "DEVICE_CONFIG_AND_COOKIE" | UnknownEnumValue;
export const GetForwardingPipelineConfigRequest_ResponseType: EnumType = new EnumType("p4.v1.GetForwardingPipelineConfigRequest.ResponseType", { ALL: 0, COOKIE_ONLY: 1, P4INFO_AND_COOKIE: 2, DEVICE_CONFIG_AND_COOKIE: 3 });

export interface GetForwardingPipelineConfigRequest {
  readonly deviceId: bigint;
  readonly responseType: GetForwardingPipelineConfigRequest_ResponseType;
}
export const GetForwardingPipelineConfigRequest: MessageType<GetForwardingPipelineConfigRequest> = new MessageType("p4.v1.GetForwardingPipelineConfigRequest", () => [
  [1, "device_id", "uint64"],
  [2, "response_type", GetForwardingPipelineConfigRequest_ResponseType],
]);

export interface GetForwardingPipelineConfigResponse {
  readonly config?: ForwardingPipelineConfig | undefined;
}
export const GetForwardingPipelineConfigResponse: MessageType<GetForwardingPipelineConfigResponse> = new MessageType("p4.v1.GetForwardingPipelineConfigResponse", () => [
  [1, "config", () => ForwardingPipelineConfig],
]);

export interface CapabilitiesRequest {
  readonly deviceId: bigint;
}
export const CapabilitiesRequest: MessageType<CapabilitiesRequest> = new MessageType("p4.v1.CapabilitiesRequest", () => [
  [1, "device_id", "uint64"],
]);

export interface CapabilitiesResponse {
  readonly p4runtimeApiVersion: string;
  readonly experimental?: Any | undefined;
}
export const CapabilitiesResponse: MessageType<CapabilitiesResponse> = new MessageType("p4.v1.CapabilitiesResponse", () => [
  [1, "p4runtime_api_version", "string"],
  [999, "experimental", () => Any],
]);
