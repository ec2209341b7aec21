/** How a call ended: a canonical code, a text, and the `google.rpc.Status` with more of it. */
export interface GrpcStatus {
  readonly code: number;
  readonly message: string;
  readonly details?: Uint8Array | undefined;
}

export const grpcCode = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

/** The headers that say a status, in the order of the specification. */
export function statusHeaders(status: GrpcStatus): (readonly [name: string, value: string])[] {
  const headers: (readonly [name: string, value: string])[] = [["grpc-status", `${status.code}`]];
  if (status.message !== "") headers.push(["grpc-message", messageHeader(status.message)]);
  if (status.details !== undefined)
    headers.push(["grpc-status-details-bin", Buffer.from(status.details).toString("base64")]);
  return headers;
}

/**
 * What a message may take: gRPC's C++ core refuses headers above 8 KB, and clients can have us say what they sent, megabytes of it. Details have
 * the rest.
 */
const mostMessage = 2000;

function messageHeader(message: string): string {
  let encoded = percentEncoded(message.slice(0, mostMessage));
  for (let length = mostMessage; encoded.length > mostMessage; length = Math.floor(length / 2))
    encoded = percentEncoded(`${message.slice(0, length)}...`);
  return encoded;
}

/** Characters beside printable ASCII, and the percent sign, as `%` and two digits for each byte of their UTF-8. */
function percentEncoded(text: string): string {
  return text.replace(/[^ -$&-~]+/g, (part) =>
    [...Buffer.from(part, "utf8")]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
      .join(""),
  );
}
