import type {
  ClientDuplexStream,
  ClientReadableStream,
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  MethodDefinition,
} from "@grpc/grpc-js";
import { decode, encode } from "../p4info/message/binary.ts";
import type { MessageType } from "../p4info/message/descriptor.ts";
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

function method<Request extends object, Response extends object>(
  name: string,
  request: MessageType<Request>,
  response: MessageType<Response>,
  streams: { readonly request?: true; readonly response?: true } = {},
): MethodDefinition<Request, Response> {
  const serialize =
    <T extends object>(type: MessageType<T>) =>
    (message: T): Buffer => {
      // A complete message is a valid input for its own encoder, which the checker cannot see for an open T.
      const bytes = encode(type, message as never);
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    };
  return {
    path: `/p4.v1.P4Runtime/${name}`,
    requestStream: streams.request ?? false,
    responseStream: streams.response ?? false,
    requestSerialize: serialize(request),
    requestDeserialize: (bytes) => decode(request, bytes),
    responseSerialize: serialize(response),
    responseDeserialize: (bytes) => decode(response, bytes),
  };
}

/** The gRPC service `p4.v1.P4Runtime`, for `Server.addService` and for clients. */
export const P4RuntimeService = {
  Write: method("Write", WriteRequest, WriteResponse),
  Read: method("Read", ReadRequest, ReadResponse, { response: true }),
  SetForwardingPipelineConfig: method(
    "SetForwardingPipelineConfig",
    SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse,
  ),
  GetForwardingPipelineConfig: method(
    "GetForwardingPipelineConfig",
    GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse,
  ),
  StreamChannel: method("StreamChannel", StreamMessageRequest, StreamMessageResponse, {
    request: true,
    response: true,
  }),
  Capabilities: method("Capabilities", CapabilitiesRequest, CapabilitiesResponse),
} as const;

/** What a server gives to `Server.addService(P4RuntimeService, handlers)`. */
export type P4RuntimeHandlers = {
  readonly Write: handleUnaryCall<WriteRequest, WriteResponse>;
  readonly Read: handleServerStreamingCall<ReadRequest, ReadResponse>;
  readonly SetForwardingPipelineConfig: handleUnaryCall<
    SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse
  >;
  readonly GetForwardingPipelineConfig: handleUnaryCall<
    GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse
  >;
  readonly StreamChannel: handleBidiStreamingCall<StreamMessageRequest, StreamMessageResponse>;
  readonly Capabilities: handleUnaryCall<CapabilitiesRequest, CapabilitiesResponse>;
};

/** A client's end of the stream. */
export type StreamChannel = ClientDuplexStream<StreamMessageRequest, StreamMessageResponse>;
export type ReadStream = ClientReadableStream<ReadResponse>;
