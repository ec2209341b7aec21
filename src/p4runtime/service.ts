import type {
  ClientDuplexStream,
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
} from "@grpc/grpc-js";
import { decode, encode } from "../p4info/message/binary.ts";
import type { Init, MessageType } from "../p4info/message/descriptor.ts";
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

/** A method as gRPC wants it. Who sends a message gives only the fields that matter; who gets one has all of them. */
export interface Method<Request, Response> {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (message: Init<Request>) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => Request;
  readonly responseSerialize: (message: Init<Response>) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

function method<Request extends object, Response extends object>(
  name: string,
  request: MessageType<Request>,
  response: MessageType<Response>,
  streams: { readonly request?: true; readonly response?: true } = {},
): Method<Request, Response> {
  return {
    path: `/p4.v1.P4Runtime/${name}`,
    requestStream: streams.request ?? false,
    responseStream: streams.response ?? false,
    requestSerialize: (message) => bufferOf(encode(request, message)),
    requestDeserialize: (bytes) => decode(request, bytes),
    responseSerialize: (message) => bufferOf(encode(response, message)),
    responseDeserialize: (bytes) => decode(response, bytes),
  };
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
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
