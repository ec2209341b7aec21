import type { handleServerStreamingCall, handleUnaryCall } from "@grpc/grpc-js";
import type { Init } from "../../p4info/message/descriptor.ts";
import { method } from "../../p4runtime/method.ts";
import {
  HeartbeatRequest,
  HeartbeatResponse,
  JoinRequest,
  JoinResponse,
  LayoutsRequest,
  LayoutUpdate,
  LeaveRequest,
  LeaveResponse,
  ListRequest,
  ListResponse,
  MoveRequest,
  MoveResponse,
} from "./generated/jobs.ts";

const SERVICE = "/gradplane.jobs.v1.Jobs";

/** The gRPC service `gradplane.jobs.v1.Jobs`; see proto/jobs.proto. */
export const JobsService = {
  Join: method(`${SERVICE}/Join`, JoinRequest, JoinResponse),
  Layouts: method(`${SERVICE}/Layouts`, LayoutsRequest, LayoutUpdate, { response: true }),
  Heartbeat: method(`${SERVICE}/Heartbeat`, HeartbeatRequest, HeartbeatResponse),
  Move: method(`${SERVICE}/Move`, MoveRequest, MoveResponse),
  Leave: method(`${SERVICE}/Leave`, LeaveRequest, LeaveResponse),
  List: method(`${SERVICE}/List`, ListRequest, ListResponse),
} as const;

/** What a server gives to `Server.addService(JobsService, handlers)`. */
export type JobsHandlers = {
  readonly Join: handleUnaryCall<JoinRequest, Init<JoinResponse>>;
  readonly Layouts: handleServerStreamingCall<LayoutsRequest, Init<LayoutUpdate>>;
  readonly Heartbeat: handleUnaryCall<HeartbeatRequest, Init<HeartbeatResponse>>;
  readonly Move: handleUnaryCall<MoveRequest, Init<MoveResponse>>;
  readonly Leave: handleUnaryCall<LeaveRequest, Init<LeaveResponse>>;
  readonly List: handleUnaryCall<ListRequest, Init<ListResponse>>;
};
