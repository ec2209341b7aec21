/** P4Runtime: messages, a client that works with the names of a program, and values in canonical form. */
export {
  create,
  decode,
  encode,
  type Init,
  type Json,
  MessageError,
  P4Info,
  p4infoFromBinary,
  p4infoFromFile,
  p4infoFromText,
  p4infoToBinary,
  p4infoToText,
  parseText,
  printText,
  toJson,
} from "../p4info/index.ts";
export { Backoff, type BackoffOptions } from "./backoff.ts";
export * from "./bindings/index.ts";
export { P4RuntimeError, P4RuntimeWriteError, type UpdateStatus } from "./call-error.ts";
export { cellName } from "./cell-name.ts";
export {
  type ClientOptions,
  P4RuntimeClient,
  type PushOptions,
  type ReceivedPacket,
  UPDATES_PER_REQUEST,
  type WriteOptions,
} from "./client.ts";
export { type Clock, machineClock } from "./clock.ts";
export { Code, type CodeName, codeName } from "./code.ts";
export type { CallOptions, TlsOptions } from "./connection.ts";
export { cookieOf } from "./cookie.ts";
export { type DataInput, dataMessage } from "./data-message.ts";
export {
  describeEntity,
  describeParams,
  describeUpdate,
  type NamedTableEntry,
  nameTableEntry,
} from "./describe.ts";
export {
  type ActionInput,
  EntityBuilder,
  type EntryFilter,
  type GroupMember,
  insert,
  type MatchInputs,
  modify,
  type Params,
  type ReplicaInput,
  remove,
  type TableEntryOptions,
  type WeightedAction,
} from "./entities.ts";
export { EntityError, type EntityErrorCode } from "./entity-error.ts";
export { COMPARE_ALL, type Comparison, entityContent, entityKey } from "./entity-key.ts";
export { formatMatch, type Match, type MatchInput, type MatchKind } from "./match.ts";
export { type NamedEntity, nameEntity } from "./name-entity.ts";
export * from "./proto/generated/p4data.ts";
export * from "./proto/generated/p4runtime.ts";
export { Status } from "./proto/generated/status.ts";
export * from "./schema.ts";
export { requestsOf, type SequenceOptions, sequence } from "./sequence.ts";
export {
  identifyServer,
  type ServerEvidence,
  type ServerKind,
  type ServerProfile,
  serverProfile,
} from "./server-profile.ts";
export { P4RuntimeService } from "./service.ts";
export type { ArbitrationState } from "./session.ts";
export { SteadyClient, type SteadyOptions, type SteadyState } from "./steady-client.ts";
export {
  type ContentEntry,
  contentEntities,
  type TableContents,
  tableContentsFromFile,
} from "./table-contents.ts";
export type { MessageStream, Transport } from "./transport.ts";
export { bigintOf, bytesOf, canonicalBytes, type Value } from "./values.ts";
