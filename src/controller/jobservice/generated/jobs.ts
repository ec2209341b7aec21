// Made from jobs.proto by src/p4runtime/proto/generate.sh; not to be edited.
import { EnumType, MessageType, type UnknownEnumValue } from "../../../p4info/message/descriptor.ts";

export interface Member {
  readonly job: string;
  readonly host: string;
  readonly incarnation: bigint;
}
export const Member: MessageType<Member> = new MessageType("gradplane.jobs.v1.Member", () => [
  [1, "job", "string"],
  [2, "host", "string"],
  [3, "incarnation", "uint64"],
]);

export interface JoinRequest {
  readonly member?: Member | undefined;
  readonly spec?: JobSpec | undefined;
}
export const JoinRequest: MessageType<JoinRequest> = new MessageType("gradplane.jobs.v1.JoinRequest", () => [
  [1, "member", () => Member],
  [2, "spec", () => JobSpec],
]);

export interface JobSpec {
  readonly workers: readonly string[];
  readonly lanes: number;
  readonly mode?: NumericMode | undefined;
  readonly rows: readonly Row[];
  readonly needsSwitch: boolean;
}
export const JobSpec: MessageType<JobSpec> = new MessageType("gradplane.jobs.v1.JobSpec", () => [
  [1, "workers", "string", "repeated"],
  [2, "lanes", "uint32"],
  [3, "mode", () => NumericMode],
  [4, "rows", () => Row, "repeated"],
  [5, "needs_switch", "bool"],
]);

export interface Row {
  readonly keys: readonly number[];
}
export const Row: MessageType<Row> = new MessageType("gradplane.jobs.v1.Row", () => [
  [1, "keys", "uint32", "repeated"],
]);

export interface NumericMode {
  readonly name: string;
  readonly workers: number;
  readonly fractionBits: number;
  readonly exponent: number;
  readonly base: number;
  readonly slices: readonly number[];
}
export const NumericMode: MessageType<NumericMode> = new MessageType("gradplane.jobs.v1.NumericMode", () => [
  [1, "name", "string"],
  [2, "workers", "uint32"],
  [3, "fraction_bits", "int32"],
  [4, "exponent", "uint32"],
  [5, "base", "uint32"],
  [6, "slices", "uint32", "repeated"],
]);

export interface JoinResponse {
  readonly outcome?:
    | { readonly case: "joined"; readonly value: Joined }
    | { readonly case: "refusal"; readonly value: Refusal }
    | undefined;
}
export const JoinResponse: MessageType<JoinResponse> = new MessageType("gradplane.jobs.v1.JoinResponse", () => [
  [1, "joined", () => Joined, { oneof: "outcome" }],
  [2, "refusal", () => Refusal, { oneof: "outcome" }],
]);

export interface Joined {
  readonly job: number;
  readonly member: number;
  readonly life: number;
  readonly heartbeat: number;
  readonly silence: number;
}
export const Joined: MessageType<Joined> = new MessageType("gradplane.jobs.v1.Joined", () => [
  [1, "job", "uint32"],
  [2, "member", "uint32"],
  [3, "life", "uint32"],
  [4, "heartbeat", "uint32"],
  [5, "silence", "uint32"],
]);

export type Refusal_Code = "UNSPECIFIED" | "NOT_LEADER" | "BAD_REQUEST" | "UNKNOWN_JOB" | "JOB_EXISTS" | "UNKNOWN_HOST" | "NOT_INVITED" | "NO_SLOTS" | "DOES_NOT_FIT" | "REPLACED" | "DEAD" | "NOT_JOINED" | "UNKNOWN_SWITCH" | UnknownEnumValue;
export const Refusal_Code: EnumType = new EnumType("gradplane.jobs.v1.Refusal.Code", { UNSPECIFIED: 0, NOT_LEADER: 1, BAD_REQUEST: 2, UNKNOWN_JOB: 3, JOB_EXISTS: 4, UNKNOWN_HOST: 5, NOT_INVITED: 6, NO_SLOTS: 7, DOES_NOT_FIT: 8, REPLACED: 9, DEAD: 10, NOT_JOINED: 11, UNKNOWN_SWITCH: 12 });

export interface Refusal {
  readonly code: Refusal_Code;
  readonly message: string;
}
export const Refusal: MessageType<Refusal> = new MessageType("gradplane.jobs.v1.Refusal", () => [
  [1, "code", Refusal_Code],
  [2, "message", "string"],
]);

export interface LayoutsRequest {
  readonly member?: Member | undefined;
}
export const LayoutsRequest: MessageType<LayoutsRequest> = new MessageType("gradplane.jobs.v1.LayoutsRequest", () => [
  [1, "member", () => Member],
]);

export interface LayoutUpdate {
  readonly update?:
    | { readonly case: "layout"; readonly value: Layout }
    | { readonly case: "ended"; readonly value: Ended }
    | { readonly case: "refusal"; readonly value: Refusal }
    | undefined;
}
export const LayoutUpdate: MessageType<LayoutUpdate> = new MessageType("gradplane.jobs.v1.LayoutUpdate", () => [
  [1, "layout", () => Layout, { oneof: "update" }],
  [2, "ended", () => Ended, { oneof: "update" }],
  [3, "refusal", () => Refusal, { oneof: "update" }],
]);

export interface Layout {
  readonly job: number;
  readonly generation: number;
  readonly workers: readonly Worker[];
  readonly slotBase: number;
  readonly lanes: number;
  readonly rows: readonly Row[];
  readonly mode?: NumericMode | undefined;
  readonly aggregator?: Endpoint | undefined;
  readonly server?: Endpoint | undefined;
  readonly firstRound: number;
  readonly switch: string;
  readonly via: string;
}
export const Layout: MessageType<Layout> = new MessageType("gradplane.jobs.v1.Layout", () => [
  [1, "job", "uint32"],
  [2, "generation", "uint32"],
  [3, "workers", () => Worker, "repeated"],
  [4, "slot_base", "uint32"],
  [5, "lanes", "uint32"],
  [6, "rows", () => Row, "repeated"],
  [7, "mode", () => NumericMode],
  [8, "aggregator", () => Endpoint],
  [9, "server", () => Endpoint],
  [10, "first_round", "uint32"],
  [11, "switch", "string"],
  [12, "via", "string"],
]);

export interface Worker {
  readonly member: number;
  readonly life: number;
  readonly endpoint?: Endpoint | undefined;
}
export const Worker: MessageType<Worker> = new MessageType("gradplane.jobs.v1.Worker", () => [
  [1, "member", "uint32"],
  [2, "life", "uint32"],
  [3, "endpoint", () => Endpoint],
]);

export interface Endpoint {
  readonly mac: string;
  readonly ip: string;
}
export const Endpoint: MessageType<Endpoint> = new MessageType("gradplane.jobs.v1.Endpoint", () => [
  [1, "mac", "string"],
  [2, "ip", "string"],
]);

export interface Ended {
  readonly reason: string;
}
export const Ended: MessageType<Ended> = new MessageType("gradplane.jobs.v1.Ended", () => [
  [1, "reason", "string"],
]);

export interface HeartbeatRequest {
  readonly member?: Member | undefined;
  readonly generation: number;
  readonly openRound: number;
}
export const HeartbeatRequest: MessageType<HeartbeatRequest> = new MessageType("gradplane.jobs.v1.HeartbeatRequest", () => [
  [1, "member", () => Member],
  [2, "generation", "uint32"],
  [3, "open_round", "uint32"],
]);

export interface HeartbeatResponse {
  readonly refusal?: Refusal | undefined;
}
export const HeartbeatResponse: MessageType<HeartbeatResponse> = new MessageType("gradplane.jobs.v1.HeartbeatResponse", () => [
  [1, "refusal", () => Refusal],
]);

export interface MoveRequest {
  readonly job: string;
  readonly to?:
    | { readonly case: "switch"; readonly value: string }
    | { readonly case: "serverOnly"; readonly value: boolean }
    | { readonly case: "anywhere"; readonly value: boolean }
    | undefined;
}
export const MoveRequest: MessageType<MoveRequest> = new MessageType("gradplane.jobs.v1.MoveRequest", () => [
  [1, "job", "string"],
  [2, "switch", "string", { oneof: "to" }],
  [3, "server_only", "bool", { oneof: "to" }],
  [4, "anywhere", "bool", { oneof: "to" }],
]);

export interface MoveResponse {
  readonly refusal?: Refusal | undefined;
}
export const MoveResponse: MessageType<MoveResponse> = new MessageType("gradplane.jobs.v1.MoveResponse", () => [
  [1, "refusal", () => Refusal],
]);

export interface LeaveRequest {
  readonly member?: Member | undefined;
}
export const LeaveRequest: MessageType<LeaveRequest> = new MessageType("gradplane.jobs.v1.LeaveRequest", () => [
  [1, "member", () => Member],
]);

export interface LeaveResponse {
  readonly refusal?: Refusal | undefined;
}
export const LeaveResponse: MessageType<LeaveResponse> = new MessageType("gradplane.jobs.v1.LeaveResponse", () => [
  [1, "refusal", () => Refusal],
]);

export type ListRequest = Record<never, never>;
export const ListRequest: MessageType<ListRequest> = new MessageType("gradplane.jobs.v1.ListRequest", () => []);

export interface ListResponse {
  readonly jobs: readonly JobStatus[];
  readonly refusal?: Refusal | undefined;
}
export const ListResponse: MessageType<ListResponse> = new MessageType("gradplane.jobs.v1.ListResponse", () => [
  [1, "jobs", () => JobStatus, "repeated"],
  [2, "refusal", () => Refusal],
]);

export interface JobStatus {
  readonly name: string;
  readonly job: number;
  readonly generation: number;
  readonly switch: string;
  readonly slotBase: number;
  readonly rows: number;
  readonly openRound: number;
  readonly members: readonly MemberStatus[];
}
export const JobStatus: MessageType<JobStatus> = new MessageType("gradplane.jobs.v1.JobStatus", () => [
  [1, "name", "string"],
  [2, "job", "uint32"],
  [3, "generation", "uint32"],
  [4, "switch", "string"],
  [5, "slot_base", "uint32"],
  [6, "rows", "uint32"],
  [7, "open_round", "uint32"],
  [8, "members", () => MemberStatus, "repeated"],
]);

export interface MemberStatus {
  readonly host: string;
  readonly isServer: boolean;
  readonly state: string;
  readonly life: number;
}
export const MemberStatus: MessageType<MemberStatus> = new MessageType("gradplane.jobs.v1.MemberStatus", () => [
  [1, "host", "string"],
  [2, "is_server", "bool"],
  [3, "state", "string"],
  [4, "life", "uint32"],
]);
