// Made from bfruntime.proto by src/p4runtime/proto/generate.sh; not to be edited.
import { EnumType, MessageType, type UnknownEnumValue } from "../../../../p4info/message/descriptor.ts";

export interface TargetDevice {
  readonly deviceId: number;
  readonly pipeId: number;
  readonly direction: number;
  readonly prsrId: number;
}
export const TargetDevice: MessageType<TargetDevice> = new MessageType("bfrt_proto.TargetDevice", () => [
  [1, "device_id", "uint32"],
  [2, "pipe_id", "uint32"],
  [3, "direction", "uint32"],
  [4, "prsr_id", "uint32"],
]);

export type WriteRequest_Atomicity = "CONTINUE_ON_ERROR" | "ROLLBACK_ON_ERROR" | UnknownEnumValue;
export const WriteRequest_Atomicity: EnumType = new EnumType("bfrt_proto.WriteRequest.Atomicity", { CONTINUE_ON_ERROR: 0, ROLLBACK_ON_ERROR: 1 });

export interface WriteRequest {
  readonly target?: TargetDevice | undefined;
  readonly clientId: number;
  readonly updates: readonly Update[];
  readonly atomicity: WriteRequest_Atomicity;
  readonly p4Name: string;
}
export const WriteRequest: MessageType<WriteRequest> = new MessageType("bfrt_proto.WriteRequest", () => [
  [1, "target", () => TargetDevice],
  [2, "client_id", "uint32"],
  [3, "updates", () => Update, "repeated"],
  [4, "atomicity", WriteRequest_Atomicity],
  [5, "p4_name", "string"],
]);

export type WriteResponse = Record<never, never>;
export const WriteResponse: MessageType<WriteResponse> = new MessageType("bfrt_proto.WriteResponse", () => []);

export interface ReadRequest {
  readonly target?: TargetDevice | undefined;
  readonly clientId: number;
  readonly entities: readonly Entity[];
  readonly p4Name: string;
}
export const ReadRequest: MessageType<ReadRequest> = new MessageType("bfrt_proto.ReadRequest", () => [
  [1, "target", () => TargetDevice],
  [2, "client_id", "uint32"],
  [3, "entities", () => Entity, "repeated"],
  [4, "p4_name", "string"],
]);

export interface ReadResponse {
  readonly entities: readonly Entity[];
}
export const ReadResponse: MessageType<ReadResponse> = new MessageType("bfrt_proto.ReadResponse", () => [
  [1, "entities", () => Entity, "repeated"],
]);

export type Update_Type = "UNSPECIFIED" | "INSERT" | "MODIFY" | "MODIFY_INC" | "DELETE" | UnknownEnumValue;
export const Update_Type: EnumType = new EnumType("bfrt_proto.Update.Type", { UNSPECIFIED: 0, INSERT: 1, MODIFY: 2, MODIFY_INC: 3, DELETE: 4 });

export interface Update {
  readonly type: Update_Type;
  readonly entity?: Entity | undefined;
}
export const Update: MessageType<Update> = new MessageType("bfrt_proto.Update", () => [
  [1, "type", Update_Type],
  [2, "entity", () => Entity],
]);

export interface Entity {
  readonly entity?:
    | { readonly case: "tableEntry"; readonly value: TableEntry }
    | undefined;
}
export const Entity: MessageType<Entity> = new MessageType("bfrt_proto.Entity", () => [
  [1, "table_entry", () => TableEntry, { oneof: "entity" }],
]);

export interface TableEntry {
  readonly tableId: number;
  readonly value?:
    | { readonly case: "key"; readonly value: TableKey }
    | { readonly case: "handleId"; readonly value: number }
    | undefined;
  readonly data?: TableData | undefined;
  readonly isDefaultEntry: boolean;
  readonly tableFlags?: TableFlags | undefined;
}
export const TableEntry: MessageType<TableEntry> = new MessageType("bfrt_proto.TableEntry", () => [
  [1, "table_id", "uint32"],
  [2, "key", () => TableKey, { oneof: "value" }],
  [7, "handle_id", "uint32", { oneof: "value" }],
  [3, "data", () => TableData],
  [4, "is_default_entry", "bool"],
  [9, "table_flags", () => TableFlags],
]);

export interface TableFlags {
  readonly fromHw: boolean;
  readonly keyOnly: boolean;
}
export const TableFlags: MessageType<TableFlags> = new MessageType("bfrt_proto.TableFlags", () => [
  [1, "from_hw", "bool"],
  [2, "key_only", "bool"],
]);

export interface TableKey {
  readonly fields: readonly KeyField[];
}
export const TableKey: MessageType<TableKey> = new MessageType("bfrt_proto.TableKey", () => [
  [1, "fields", () => KeyField, "repeated"],
]);

export interface KeyField_Exact {
  readonly value: Uint8Array;
}
export const KeyField_Exact: MessageType<KeyField_Exact> = new MessageType("bfrt_proto.KeyField.Exact", () => [
  [1, "value", "bytes"],
]);

export interface KeyField {
  readonly fieldId: number;
  readonly matchType?:
    | { readonly case: "exact"; readonly value: KeyField_Exact }
    | undefined;
}
export const KeyField: MessageType<KeyField> = new MessageType("bfrt_proto.KeyField", () => [
  [1, "field_id", "uint32"],
  [2, "exact", () => KeyField_Exact, { oneof: "matchType" }],
]);

export interface TableData {
  readonly actionId: number;
  readonly fields: readonly DataField[];
}
export const TableData: MessageType<TableData> = new MessageType("bfrt_proto.TableData", () => [
  [1, "action_id", "uint32"],
  [2, "fields", () => DataField, "repeated"],
]);

export interface DataField_IntArray {
  readonly val: readonly number[];
}
export const DataField_IntArray: MessageType<DataField_IntArray> = new MessageType("bfrt_proto.DataField.IntArray", () => [
  [1, "val", "uint32", "repeated"],
]);

export interface DataField {
  readonly fieldId: number;
  readonly value?:
    | { readonly case: "stream"; readonly value: Uint8Array }
    | { readonly case: "strVal"; readonly value: string }
    | { readonly case: "intArrVal"; readonly value: DataField_IntArray }
    | { readonly case: "boolVal"; readonly value: boolean }
    | undefined;
}
export const DataField: MessageType<DataField> = new MessageType("bfrt_proto.DataField", () => [
  [1, "field_id", "uint32"],
  [2, "stream", "bytes", { oneof: "value" }],
  [4, "str_val", "string", { oneof: "value" }],
  [5, "int_arr_val", () => DataField_IntArray, { oneof: "value" }],
  [8, "bool_val", "bool", { oneof: "value" }],
]);

export interface StreamMessageRequest {
  readonly clientId: number;
  readonly update?:
    | { readonly case: "subscribe"; readonly value: Subscribe }
    | undefined;
}
export const StreamMessageRequest: MessageType<StreamMessageRequest> = new MessageType("bfrt_proto.StreamMessageRequest", () => [
  [1, "client_id", "uint32"],
  [2, "subscribe", () => Subscribe, { oneof: "update" }],
]);

export interface Subscribe_Notifications {
  readonly enableLearnNotifications: boolean;
  readonly enableIdletimeoutNotifications: boolean;
  readonly enablePortStatusChangeNotifications: boolean;
}
export const Subscribe_Notifications: MessageType<Subscribe_Notifications> = new MessageType("bfrt_proto.Subscribe.Notifications", () => [
  [1, "enable_learn_notifications", "bool"],
  [2, "enable_idletimeout_notifications", "bool"],
  [3, "enable_port_status_change_notifications", "bool"],
]);

export interface Subscribe {
  readonly deviceId: number;
  readonly notifications?: Subscribe_Notifications | undefined;
  readonly status?: Status | undefined;
}
export const Subscribe: MessageType<Subscribe> = new MessageType("bfrt_proto.Subscribe", () => [
  [2, "device_id", "uint32"],
  [3, "notifications", () => Subscribe_Notifications],
  [4, "status", () => Status],
]);

export interface Status {
  readonly code: number;
  readonly message: string;
}
export const Status: MessageType<Status> = new MessageType("bfrt_proto.Status", () => [
  [1, "code", "int32"],
  [2, "message", "string"],
]);

export interface StreamMessageResponse {
  readonly update?:
    | { readonly case: "subscribe"; readonly value: Subscribe }
    | undefined;
}
export const StreamMessageResponse: MessageType<StreamMessageResponse> = new MessageType("bfrt_proto.StreamMessageResponse", () => [
  [1, "subscribe", () => Subscribe, { oneof: "update" }],
]);

export type SetForwardingPipelineConfigRequest_Action = "BIND" | UnknownEnumValue;
export const SetForwardingPipelineConfigRequest_Action: EnumType = new EnumType("bfrt_proto.SetForwardingPipelineConfigRequest.Action", { BIND: 0 });

export interface SetForwardingPipelineConfigRequest {
  readonly deviceId: number;
  readonly clientId: number;
  readonly action: SetForwardingPipelineConfigRequest_Action;
  readonly config: readonly ForwardingPipelineConfig[];
}
export const SetForwardingPipelineConfigRequest: MessageType<SetForwardingPipelineConfigRequest> = new MessageType("bfrt_proto.SetForwardingPipelineConfigRequest", () => [
  [1, "device_id", "uint32"],
  [2, "client_id", "uint32"],
  [3, "action", SetForwardingPipelineConfigRequest_Action],
  [6, "config", () => ForwardingPipelineConfig, "repeated"],
]);

export type SetForwardingPipelineConfigResponse = Record<never, never>;
export const SetForwardingPipelineConfigResponse: MessageType<SetForwardingPipelineConfigResponse> = new MessageType("bfrt_proto.SetForwardingPipelineConfigResponse", () => []);

export interface ForwardingPipelineConfig {
  readonly p4Name: string;
  readonly bfruntimeInfo: Uint8Array;
}
export const ForwardingPipelineConfig: MessageType<ForwardingPipelineConfig> = new MessageType("bfrt_proto.ForwardingPipelineConfig", () => [
  [1, "p4_name", "string"],
  [2, "bfruntime_info", "bytes"],
]);

export interface NonP4Config {
  readonly bfruntimeInfo: Uint8Array;
}
export const NonP4Config: MessageType<NonP4Config> = new MessageType("bfrt_proto.NonP4Config", () => [
  [1, "bfruntime_info", "bytes"],
]);

export interface GetForwardingPipelineConfigRequest {
  readonly deviceId: number;
  readonly clientId: number;
}
export const GetForwardingPipelineConfigRequest: MessageType<GetForwardingPipelineConfigRequest> = new MessageType("bfrt_proto.GetForwardingPipelineConfigRequest", () => [
  [1, "device_id", "uint32"],
  [2, "client_id", "uint32"],
]);

export interface GetForwardingPipelineConfigResponse {
  readonly config: readonly ForwardingPipelineConfig[];
  readonly nonP4Config?: NonP4Config | undefined;
}
export const GetForwardingPipelineConfigResponse: MessageType<GetForwardingPipelineConfigResponse> = new MessageType("bfrt_proto.GetForwardingPipelineConfigResponse", () => [
  [1, "config", () => ForwardingPipelineConfig, "repeated"],
  [2, "non_p4_config", () => NonP4Config],
]);
