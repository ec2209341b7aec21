// Made from p4/config/v1/p4info.proto by src/p4runtime/proto/generate.sh; not to be edited.
import { EnumType, MessageType, type UnknownEnumValue } from "../message/descriptor.ts";
import { P4DataTypeSpec, P4NamedType, P4TypeInfo, SourceLocation, StructuredAnnotation } from "./p4types.ts";
import { Any } from "./any.ts";

export interface P4Info {
  readonly pkgInfo?: PkgInfo | undefined;
  readonly tables: readonly Table[];
  readonly actions: readonly Action[];
  readonly actionProfiles: readonly ActionProfile[];
  readonly counters: readonly Counter[];
  readonly directCounters: readonly DirectCounter[];
  readonly meters: readonly Meter[];
  readonly directMeters: readonly DirectMeter[];
  readonly controllerPacketMetadata: readonly ControllerPacketMetadata[];
  readonly valueSets: readonly ValueSet[];
  readonly registers: readonly Register[];
  readonly digests: readonly Digest[];
  readonly externs: readonly Extern[];
  readonly typeInfo?: P4TypeInfo | undefined;
}
export const P4Info: MessageType<P4Info> = new MessageType("p4.config.v1.P4Info", () => [
  [1, "pkg_info", () => PkgInfo],
  [2, "tables", () => Table, "repeated"],
  [3, "actions", () => Action, "repeated"],
  [4, "action_profiles", () => ActionProfile, "repeated"],
  [5, "counters", () => Counter, "repeated"],
  [6, "direct_counters", () => DirectCounter, "repeated"],
  [7, "meters", () => Meter, "repeated"],
  [8, "direct_meters", () => DirectMeter, "repeated"],
  [9, "controller_packet_metadata", () => ControllerPacketMetadata, "repeated"],
  [10, "value_sets", () => ValueSet, "repeated"],
  [11, "registers", () => Register, "repeated"],
  [12, "digests", () => Digest, "repeated"],
  [100, "externs", () => Extern, "repeated"],
  [200, "type_info", () => P4TypeInfo],
]);

export interface PkgInfo {
  readonly name: string;
  readonly version: string;
  readonly doc?: Documentation | undefined;
  readonly annotations: readonly string[];
  readonly arch: string;
  readonly organization: string;
  readonly contact: string;
  readonly url: string;
  readonly structuredAnnotations: readonly StructuredAnnotation[];
  readonly annotationLocations: readonly SourceLocation[];
  readonly platformProperties?: PlatformProperties | undefined;
}
export const PkgInfo: MessageType<PkgInfo> = new MessageType("p4.config.v1.PkgInfo", () => [
  [1, "name", "string"],
  [2, "version", "string"],
  [3, "doc", () => Documentation],
  [4, "annotations", "string", "repeated"],
  [5, "arch", "string"],
  [6, "organization", "string"],
  [7, "contact", "string"],
  [8, "url", "string"],
  [9, "structured_annotations", () => StructuredAnnotation, "repeated"],
  [10, "annotation_locations", () => SourceLocation, "repeated"],
  [11, "platform_properties", () => PlatformProperties],
]);

export interface PlatformProperties {
  readonly multicastGroupTableSize: number;
  readonly multicastGroupTableTotalReplicas: number;
  readonly multicastGroupTableMaxReplicasPerEntry: number;
}
export const PlatformProperties: MessageType<PlatformProperties> = new MessageType("p4.config.v1.PlatformProperties", () => [
  [1, "multicast_group_table_size", "int32"],
  [2, "multicast_group_table_total_replicas", "int32"],
  [3, "multicast_group_table_max_replicas_per_entry", "int32"],
]);

export interface Documentation {
  readonly brief: string;
  readonly description: string;
}
export const Documentation: MessageType<Documentation> = new MessageType("p4.config.v1.Documentation", () => [
  [1, "brief", "string"],
  [2, "description", "string"],
]);

export interface Preamble {
  readonly id: number;
  readonly name: string;
  readonly alias: string;
  readonly annotations: readonly string[];
  readonly doc?: Documentation | undefined;
  readonly structuredAnnotations: readonly StructuredAnnotation[];
  readonly annotationLocations: readonly SourceLocation[];
}
export const Preamble: MessageType<Preamble> = new MessageType("p4.config.v1.Preamble", () => [
  [1, "id", "uint32"],
  [2, "name", "string"],
  [3, "alias", "string"],
  [4, "annotations", "string", "repeated"],
  [5, "doc", () => Documentation],
  [6, "structured_annotations", () => StructuredAnnotation, "repeated"],
  [7, "annotation_locations", () => SourceLocation, "repeated"],
]);

export type P4Ids_Prefix = "UNSPECIFIED" | "ACTION" | "TABLE" | "VALUE_SET" | "CONTROLLER_HEADER" | "PSA_EXTERNS_START" | "ACTION_PROFILE" | "COUNTER" | "DIRECT_COUNTER" | "METER" | "DIRECT_METER" | "REGISTER" | "DIGEST" | "OTHER_EXTERNS_START" | "MAX" | UnknownEnumValue;
export const P4Ids_Prefix: EnumType = new EnumType("p4.config.v1.P4Ids.Prefix", { UNSPECIFIED: 0, ACTION: 1, TABLE: 2, VALUE_SET: 3, CONTROLLER_HEADER: 4, PSA_EXTERNS_START: 16, ACTION_PROFILE: 17, COUNTER: 18, DIRECT_COUNTER: 19, METER: 20, DIRECT_METER: 21, REGISTER: 22, DIGEST: 23, OTHER_EXTERNS_START: 128, MAX: 255 });

export type P4Ids = Record<never, never>;
export const P4Ids: MessageType<P4Ids> = new MessageType("p4.config.v1.P4Ids", () => []);

export interface Action_Param {
  readonly id: number;
  readonly name: string;
  readonly annotations: readonly string[];
  readonly bitwidth: number;
  readonly doc?: Documentation | undefined;
  readonly typeName?: P4NamedType | undefined;
  readonly structuredAnnotations: readonly StructuredAnnotation[];
  readonly annotationLocations: readonly SourceLocation[];
}
export const Action_Param: MessageType<Action_Param> = new MessageType("p4.config.v1.Action.Param", () => [
  [1, "id", "uint32"],
  [2, "name", "string"],
  [3, "annotations", "string", "repeated"],
  [4, "bitwidth", "int32"],
  [5, "doc", () => Documentation],
  [6, "type_name", () => P4NamedType],
  [7, "structured_annotations", () => StructuredAnnotation, "repeated"],
  [8, "annotation_locations", () => SourceLocation, "repeated"],
]);

export interface Action {
  readonly preamble?: Preamble | undefined;
  readonly params: readonly Action_Param[];
}
export const Action: MessageType<Action> = new MessageType("p4.config.v1.Action", () => [
  [1, "preamble", () => Preamble],
  [2, "params", () => Action_Param, "repeated"],
]);

export type ActionRef_Scope = "TABLE_AND_DEFAULT" | "TABLE_ONLY" | "DEFAULT_ONLY" | "GROUP_ACTION" | UnknownEnumValue;
export const ActionRef_Scope: EnumType = new EnumType("p4.config.v1.ActionRef.Scope", { TABLE_AND_DEFAULT: 0, TABLE_ONLY: 1, DEFAULT_ONLY: 2, GROUP_ACTION: 3 });

export interface ActionRef {
  readonly id: number;
  readonly annotations: readonly string[];
  readonly scope: ActionRef_Scope;
  readonly structuredAnnotations: readonly StructuredAnnotation[];
  readonly annotationLocations: readonly SourceLocation[];
}
export const ActionRef: MessageType<ActionRef> = new MessageType("p4.config.v1.ActionRef", () => [
  [1, "id", "uint32"],
  [2, "annotations", "string", "repeated"],
  [3, "scope", ActionRef_Scope],
  [4, "structured_annotations", () => StructuredAnnotation, "repeated"],
  [5, "annotation_locations", () => SourceLocation, "repeated"],
]);

export interface TableActionCall_Argument {
  readonly paramId: number;
  readonly value: Uint8Array;
}
export const TableActionCall_Argument: MessageType<TableActionCall_Argument> = new MessageType("p4.config.v1.TableActionCall.Argument", () => [
  [2, "param_id", "uint32"],
  [3, "value", "bytes"],
]);

export interface TableActionCall {
  readonly actionId: number;
  readonly arguments: readonly TableActionCall_Argument[];
}
export const TableActionCall: MessageType<TableActionCall> = new MessageType("p4.config.v1.TableActionCall", () => [
  [1, "action_id", "uint32"],
  [4, "arguments", () => TableActionCall_Argument, "repeated"],
]);

export type MatchField_MatchType = "UNSPECIFIED" | "EXACT" | "LPM" | "TERNARY" | "RANGE" | "OPTIONAL" | UnknownEnumValue;
export const MatchField_MatchType: EnumType = new EnumType("p4.config.v1.MatchField.MatchType", { UNSPECIFIED: 0, EXACT: 2, LPM: 3, TERNARY: 4, RANGE: 5, OPTIONAL: 6 });

export interface MatchField {
  readonly id: number;
  readonly name: string;
  readonly annotations: readonly string[];
  readonly bitwidth: number;
  readonly match?:
    | { readonly case: "matchType"; readonly value: MatchField_MatchType }
    | { readonly case: "otherMatchType"; readonly value: string }
    | undefined;
  readonly doc?: Documentation | undefined;
  readonly typeName?: P4NamedType | undefined;
  readonly structuredAnnotations: readonly StructuredAnnotation[];
  readonly annotationLocations: readonly SourceLocation[];
}
export const MatchField: MessageType<MatchField> = new MessageType("p4.config.v1.MatchField", () => [
  [1, "id", "uint32"],
  [2, "name", "string"],
  [3, "annotations", "string", "repeated"],
  [4, "bitwidth", "int32"],
  [5, "match_type", MatchField_MatchType, { oneof: "match" }],
  [7, "other_match_type", "string", { oneof: "match" }],
  [6, "doc", () => Documentation],
  [8, "type_name", () => P4NamedType],
  [9, "structured_annotations", () => StructuredAnnotation, "repeated"],
  [10, "annotation_locations", () => SourceLocation, "repeated"],
]);

export type Table_IdleTimeoutBehavior = "NO_TIMEOUT" | "NOTIFY_CONTROL" | UnknownEnumValue;
export const Table_IdleTimeoutBehavior: EnumType = new EnumType("p4.config.v1.Table.IdleTimeoutBehavior", { NO_TIMEOUT: 0, NOTIFY_CONTROL: 1 });

export interface Table {
  readonly preamble?: Preamble | undefined;
  readonly matchFields: readonly MatchField[];
  readonly actionRefs: readonly ActionRef[];
  readonly constDefaultActionId: number;
  readonly initialDefaultAction?: TableActionCall | undefined;
  readonly implementationId: number;
  readonly directResourceIds: readonly number[];
  readonly size: bigint;
  readonly idleTimeoutBehavior: Table_IdleTimeoutBehavior;
  readonly isConstTable: boolean;
  readonly hasInitialEntries: boolean;
  readonly otherProperties?: Any | undefined;
}
export const Table: MessageType<Table> = new MessageType("p4.config.v1.Table", () => [
  [1, "preamble", () => Preamble],
  [2, "match_fields", () => MatchField, "repeated"],
  [3, "action_refs", () => ActionRef, "repeated"],
  [4, "const_default_action_id", "uint32"],
  [5, "initial_default_action", () => TableActionCall],
  [6, "implementation_id", "uint32"],
  [7, "direct_resource_ids", "uint32", "repeated"],
  [8, "size", "int64"],
  [9, "idle_timeout_behavior", Table_IdleTimeoutBehavior],
  [10, "is_const_table", "bool"],
  [11, "has_initial_entries", "bool"],
  [100, "other_properties", () => Any],
]);

export type ActionProfile_SumOfWeights = Record<never, never>;
export const ActionProfile_SumOfWeights: MessageType<ActionProfile_SumOfWeights> = new MessageType("p4.config.v1.ActionProfile.SumOfWeights", () => []);

export interface ActionProfile_SumOfMembers {
  readonly maxMemberWeight: number;
}
export const ActionProfile_SumOfMembers: MessageType<ActionProfile_SumOfMembers> = new MessageType("p4.config.v1.ActionProfile.SumOfMembers", () => [
  [1, "max_member_weight", "int32"],
]);

export interface ActionProfile {
  readonly preamble?: Preamble | undefined;
  readonly tableIds: readonly number[];
  readonly withSelector: boolean;
  readonly size: bigint;
  readonly maxGroupSize: number;
  readonly selectorSizeSemantics?:
    | { readonly case: "sumOfWeights"; readonly value: ActionProfile_SumOfWeights }
    | { readonly case: "sumOfMembers"; readonly value: ActionProfile_SumOfMembers }
    | undefined;
  readonly weightsDisallowed: boolean;
}
export const ActionProfile: MessageType<ActionProfile> = new MessageType("p4.config.v1.ActionProfile", () => [
  [1, "preamble", () => Preamble],
  [2, "table_ids", "uint32", "repeated"],
  [3, "with_selector", "bool"],
  [4, "size", "int64"],
  [5, "max_group_size", "int32"],
  [6, "sum_of_weights", () => ActionProfile_SumOfWeights, { oneof: "selectorSizeSemantics" }],
  [7, "sum_of_members", () => ActionProfile_SumOfMembers, { oneof: "selectorSizeSemantics" }],
  [8, "weights_disallowed", "bool"],
]);

export interface ValueSet {
  readonly preamble?: Preamble | undefined;
  readonly match: readonly MatchField[];
  readonly size: number;
}
export const ValueSet: MessageType<ValueSet> = new MessageType("p4.config.v1.ValueSet", () => [
  [1, "preamble", () => Preamble],
  [2, "match", () => MatchField, "repeated"],
  [3, "size", "int32"],
]);

export type CounterSpec_Unit = "UNSPECIFIED" | "BYTES" | "PACKETS" | "BOTH" | UnknownEnumValue;
export const CounterSpec_Unit: EnumType = new EnumType("p4.config.v1.CounterSpec.Unit", { UNSPECIFIED: 0, BYTES: 1, PACKETS: 2, BOTH: 3 });

export interface CounterSpec {
  readonly unit: CounterSpec_Unit;
}
export const CounterSpec: MessageType<CounterSpec> = new MessageType("p4.config.v1.CounterSpec", () => [
  [1, "unit", CounterSpec_Unit],
]);

export interface Counter {
  readonly preamble?: Preamble | undefined;
  readonly spec?: CounterSpec | undefined;
  readonly size: bigint;
  readonly indexTypeName?: P4NamedType | undefined;
}
export const Counter: MessageType<Counter> = new MessageType("p4.config.v1.Counter", () => [
  [1, "preamble", () => Preamble],
  [2, "spec", () => CounterSpec],
  [3, "size", "int64"],
  [4, "index_type_name", () => P4NamedType],
]);

export interface DirectCounter {
  readonly preamble?: Preamble | undefined;
  readonly spec?: CounterSpec | undefined;
  readonly directTableId: number;
}
export const DirectCounter: MessageType<DirectCounter> = new MessageType("p4.config.v1.DirectCounter", () => [
  [1, "preamble", () => Preamble],
  [2, "spec", () => CounterSpec],
  [3, "direct_table_id", "uint32"],
]);

export type MeterSpec_Unit = "UNSPECIFIED" | "BYTES" | "PACKETS" | UnknownEnumValue;
export const MeterSpec_Unit: EnumType = new EnumType("p4.config.v1.MeterSpec.Unit", { UNSPECIFIED: 0, BYTES: 1, PACKETS: 2 });

export type MeterSpec_Type = "TWO_RATE_THREE_COLOR" | "SINGLE_RATE_THREE_COLOR" | "SINGLE_RATE_TWO_COLOR" | UnknownEnumValue;
export const MeterSpec_Type: EnumType = new EnumType("p4.config.v1.MeterSpec.Type", { TWO_RATE_THREE_COLOR: 0, SINGLE_RATE_THREE_COLOR: 1, SINGLE_RATE_TWO_COLOR: 2 });

export interface MeterSpec {
  readonly unit: MeterSpec_Unit;
  readonly type: MeterSpec_Type;
}
export const MeterSpec: MessageType<MeterSpec> = new MessageType("p4.config.v1.MeterSpec", () => [
  [1, "unit", MeterSpec_Unit],
  [2, "type", MeterSpec_Type],
]);

export interface Meter {
  readonly preamble?: Preamble | undefined;
  readonly spec?: MeterSpec | undefined;
  readonly size: bigint;
  readonly indexTypeName?: P4NamedType | undefined;
}
export const Meter: MessageType<Meter> = new MessageType("p4.config.v1.Meter", () => [
  [1, "preamble", () => Preamble],
  [2, "spec", () => MeterSpec],
  [3, "size", "int64"],
  [4, "index_type_name", () => P4NamedType],
]);

export interface DirectMeter {
  readonly preamble?: Preamble | undefined;
  readonly spec?: MeterSpec | undefined;
  readonly directTableId: number;
}
export const DirectMeter: MessageType<DirectMeter> = new MessageType("p4.config.v1.DirectMeter", () => [
  [1, "preamble", () => Preamble],
  [2, "spec", () => MeterSpec],
  [3, "direct_table_id", "uint32"],
]);

export interface Register {
  readonly preamble?: Preamble | undefined;
  readonly typeSpec?: P4DataTypeSpec | undefined;
  readonly size: number;
  readonly indexTypeName?: P4NamedType | undefined;
}
export const Register: MessageType<Register> = new MessageType("p4.config.v1.Register", () => [
  [1, "preamble", () => Preamble],
  [2, "type_spec", () => P4DataTypeSpec],
  [3, "size", "int32"],
  [4, "index_type_name", () => P4NamedType],
]);

export interface ControllerPacketMetadata_Metadata {
  readonly id: number;
  readonly name: string;
  readonly annotations: readonly string[];
  readonly bitwidth: number;
  readonly typeName?: P4NamedType | undefined;
  readonly structuredAnnotations: readonly StructuredAnnotation[];
  readonly annotationLocations: readonly SourceLocation[];
}
export const ControllerPacketMetadata_Metadata: MessageType<ControllerPacketMetadata_Metadata> = new MessageType("p4.config.v1.ControllerPacketMetadata.Metadata", () => [
  [1, "id", "uint32"],
  [2, "name", "string"],
  [3, "annotations", "string", "repeated"],
  [4, "bitwidth", "int32"],
  [5, "type_name", () => P4NamedType],
  [6, "structured_annotations", () => StructuredAnnotation, "repeated"],
  [7, "annotation_locations", () => SourceLocation, "repeated"],
]);

export interface ControllerPacketMetadata {
  readonly preamble?: Preamble | undefined;
  readonly metadata: readonly ControllerPacketMetadata_Metadata[];
}
export const ControllerPacketMetadata: MessageType<ControllerPacketMetadata> = new MessageType("p4.config.v1.ControllerPacketMetadata", () => [
  [1, "preamble", () => Preamble],
  [2, "metadata", () => ControllerPacketMetadata_Metadata, "repeated"],
]);

export interface Digest {
  readonly preamble?: Preamble | undefined;
  readonly typeSpec?: P4DataTypeSpec | undefined;
}
export const Digest: MessageType<Digest> = new MessageType("p4.config.v1.Digest", () => [
  [1, "preamble", () => Preamble],
  [2, "type_spec", () => P4DataTypeSpec],
]);

export interface Extern {
  readonly externTypeId: number;
  readonly externTypeName: string;
  readonly instances: readonly ExternInstance[];
}
export const Extern: MessageType<Extern> = new MessageType("p4.config.v1.Extern", () => [
  [1, "extern_type_id", "uint32"],
  [2, "extern_type_name", "string"],
  [3, "instances", () => ExternInstance, "repeated"],
]);

export interface ExternInstance {
  readonly preamble?: Preamble | undefined;
  readonly info?: Any | undefined;
}
export const ExternInstance: MessageType<ExternInstance> = new MessageType("p4.config.v1.ExternInstance", () => [
  [1, "preamble", () => Preamble],
  [2, "info", () => Any],
]);
