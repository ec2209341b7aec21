import type {
  ClientDuplexStream,
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
} from "@grpc/grpc-js";
import type { Init } from "../p4info/message/descriptor.ts";
import { method } from "./method.ts";
import {
  CapabilitiesRequest,
  CapabilitiesResponse,
  GetForwardingPipelineConfigRequest,
  GetForwardingPipelineConfigResponse,
  ReadRequest,
  ReadResponse,
  SetForwardingPipelineConfigRequest,
  SetForwardingPipelineConfigResponse,
  StreamMessageRequest,
  StreamMessageResponse,
  WriteRequest,
  WriteResponse,
} from "./proto/generated/p4runtime.ts";

const SERVICE = "/p4.v1.P4Runtime";

/** The gRPC service `p4.v1.P4Runtime`, for `Server.addService` and for clients. */
export const P4RuntimeService = {
  Write: method(`${SERVICE}/Write`, WriteRequest, WriteResponse),
  Read: method(`${SERVICE}/Read`, ReadRequest, ReadResponse, { response: true }),
  SetForwardingPipelineConfig: method(
    `${SERVICE}/SetForwardingPipelineConfig`,
    SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse,
  ),
  GetForwardingPipelineConfig: method(
    `${SERVICE}/GetForwardingPipelineConfig`,
    GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse,
  ),
  StreamChannel: method(`${SERVICE}/StreamChannel`, StreamMessageRequest, StreamMessageResponse, {
    request: true,
    response: true,
  }),
  Capabilities: method(`${SERVICE}/Capabilities`, CapabilitiesRequest, CapabilitiesResponse),
} as const;

/** What a server gives to `Server.addService(P4RuntimeService, handlers)`. */
export type P4RuntimeHandlers = {
  readonly Write: handleUnaryCall<WriteRequest, Init<WriteResponse>>;
  readonly Read: handleServerStreamingCall<ReadRequest, Init<ReadResponse>>;
  readonly SetForwardingPipelineConfig: handleUnaryCall<
    SetForwardingPipelineConfigRequest,
    Init<SetForwardingPipelineConfigResponse>
  >;
  readonly GetForwardingPipelineConfig: handleUnaryCall<
    GetForwardingPipelineConfigRequest,
    Init<GetForwardingPipelineConfigResponse>
  >;
  readonly StreamChannel: handleBidiStreamingCall<StreamMessageRequest, Init<StreamMessageResponse>>;
  readonly Capabilities: handleUnaryCall<CapabilitiesRequest, Init<CapabilitiesResponse>>;
};

/** A client's end of the stream. */
export type StreamChannel = ClientDuplexStream<Init<StreamMessageRequest>, StreamMessageResponse>;
