/** The P4Runtime server of the embedded switch. */
export type { BidiListener, GrpcMethod, StreamingCall } from "../grpc/grpc-call.ts";
export type { GrpcTls } from "../grpc/grpc-server.ts";
export { callStatus } from "./batch-error.ts";
export type { P4RuntimeServerCounters } from "./counters.ts";
export { decodePacketIn, encodePacketOut } from "./packet-header.ts";
export { isServerProfile, type ServerProfile, serverProfiles } from "./profile.ts";
export { ProgramState } from "./program-state.ts";
export {
  API_VERSION,
  P4RuntimeServer,
  type P4RuntimeServerEvent,
  type P4RuntimeServerOptions,
} from "./server.ts";
export { P4RuntimeServerError, type P4RuntimeServerErrorCode } from "./server-error.ts";
export { decodeSnapshot, encodeSnapshot, type StateSnapshot, StateSnapshotError } from "./state-snapshot.ts";
export { StatusError } from "./status.ts";
export { EmbeddedSwitchTarget, ioOf, type SwitchIo } from "./switch-target.ts";
export * from "./target.ts";
