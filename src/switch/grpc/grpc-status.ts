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

/** The headers that say a status. */
export function statusHeaders(status: GrpcStatus): Record<string, string> {
  return {
    "grpc-status": `${status.code}`,
    ...(status.message === "" ? {} : { "grpc-message": percentEncoded(status.message) }),
    ...(status.details === undefined
      ? {}
      : { "grpc-status-details-bin": Buffer.from(status.details).toString("base64") }),
  };
}

/** Characters beside printable ASCII, and the percent sign, as `%` and two digits for each byte of their UTF-8. */
function percentEncoded(text: string): string {
  return text.replace(/[^ -$&-~]+/g, (part) =>
    [...Buffer.from(part, "utf8")]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
      .join(""),
  );
}
