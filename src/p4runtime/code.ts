/** The canonical codes of gRPC (google.rpc.Code). */
export const Code = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type CodeName = keyof typeof Code;

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(Code).map(([name, code]) => [code, name]));

/** `9` -> `FAILED_PRECONDITION`; a number outside the list comes back as text. */
export function codeName(code: number): string {
  return NAMES.get(code) ?? `code ${code}`;
}
