import { decode, encode } from "../p4info/message/binary.ts";
import type { Init, MessageType } from "../p4info/message/descriptor.ts";

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

/** @param path `/package.Service/Method` */
export function method<Request extends object, Response extends object>(
  path: string,
  request: MessageType<Request>,
  response: MessageType<Response>,
  streams: { readonly request?: true; readonly response?: true } = {},
): Method<Request, Response> {
  return {
    path,
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
