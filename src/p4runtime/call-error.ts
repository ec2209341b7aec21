import type { ServiceError } from "@grpc/grpc-js";
import { decode } from "../p4info/message/binary.ts";
import { Code, codeName } from "./code.ts";
import { Error as P4Error, type Update } from "./proto/generated/p4runtime.ts";
import { Status } from "./proto/generated/status.ts";

/** A call to a switch failed. `code` is a canonical code (see `Code`), `address` the switch, `call` the name of the call. */
export class P4RuntimeError extends Error {
  override readonly name: string = "P4RuntimeError";
  readonly code: number;
  readonly address: string;
  readonly call: string;

  constructor(code: number, address: string, call: string, text: string, cause?: unknown) {
    super(`${call} on ${address}: ${codeName(code)}: ${text}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.address = address;
    this.call = call;
  }
}

/** What became of one update of a write. */
export interface UpdateStatus {
  /** Canonical code; 0 for an update that was carried out. */
  readonly code: number;
  readonly message: string;
  /** The server's own error space and code, where it has them. */
  readonly space: string;
  readonly spaceCode: number;
  readonly update: Update;
}

/** Some updates of a write failed. */
export class P4RuntimeWriteError extends P4RuntimeError {
  override readonly name = "P4RuntimeWriteError";
  /** One per update in the order of the request; undefined when the server did not say which ones failed. */
  readonly updates: readonly UpdateStatus[] | undefined;

  constructor(
    address: string,
    text: string,
    updates: readonly UpdateStatus[] | undefined,
    cause: unknown,
    code: number = Code.UNKNOWN,
  ) {
    super(code, address, "Write", text, cause);
    this.updates = updates;
  }

  /** The updates that failed. */
  get failed(): readonly UpdateStatus[] {
    return this.updates?.filter((update) => update.code !== Code.OK) ?? [];
  }
}

/** A failure as grpc-js gives it, with the address and a hint where one helps. */
export function callError(
  error: ServiceError,
  address: string,
  call: string,
  usesTls: boolean,
): P4RuntimeError {
  const details = cleanDetails(error.details || error.message);
  return new P4RuntimeError(error.code, address, call, `${details}${hint(details, usesTls)}`, error);
}

function cleanDetails(details: string): string {
  return details
    .replace(/\.?\s*Resolution note:\s*$/, "")
    .replace(/^No connection established\. Last error: (?:Error: )?/, "no connection: ")
    .trim();
}

/** What the words of known servers mean, where they do not say it themselves. */
const HINTS: readonly (readonly [words: RegExp, meaning: string])[] = [
  [
    /Error in first phase of device update/,
    "BMv2 does not take the JSON: it is damaged, or of a program for another switch; the log of the switch says more",
  ],
  [/Error in second phase of device update/, "no program was saved that could be committed"],
  [/Error when trying to assign device/, "the switch was started with another --device-id"],
  [/Error when reconciling config/, "this server can't reconcile programs with indirect counters or meters"],
  [/^Not primary/, "another controller has a higher election id"],
];

function hint(details: string, usesTls: boolean): string {
  const known = HINTS.find(([words]) => words.test(details));
  if (known !== undefined) return ` (${known[1]})`;
  if (usesTls) {
    if (/wrong version number|packet length too long/i.test(details))
      return " (TLS failed: the server seems to speak plain text)";
    if (/certificate|altname|CERT_|SSL|TLS/i.test(details))
      return " (TLS failed: the certificate was not accepted)";
    // In TLS 1.3 a server hears of the client's certificate when that believes itself connected.
    if (/ECONNRESET|socket disconnected|no connection: Failed to connect/i.test(details))
      return " (TLS failed: the server ended the connection; it speaks plain text, or does not take the client's certificate)";
    return "";
  }
  return /no connection: Failed to connect/.test(details)
    ? " (the server closed the connection at once; does it expect TLS?)"
    : "";
}

const P4_ERROR = "type.googleapis.com/p4.v1.Error";

/** The per-member errors of a batch as the server sent them; undefined when there are none that can be read. */
export function batchErrors(error: ServiceError): readonly P4Error[] | undefined {
  const [bytes] = error.metadata?.get("grpc-status-details-bin") ?? [];
  if (!(bytes instanceof Uint8Array)) return undefined;
  try {
    const { details } = decode(Status, bytes);
    if (details.length === 0 || details.some((detail) => detail.typeUrl !== P4_ERROR)) return undefined;
    return details.map((detail) => decode(P4Error, detail.value));
  } catch {
    // Damaged details must not hide the failure that they are about.
    return undefined;
  }
}
