export type P4RuntimeServerErrorCode = "address-in-use" | "cannot-listen";

/** The P4Runtime server cannot start. */
export class P4RuntimeServerError extends Error {
  override readonly name = "P4RuntimeServerError";
  readonly code: P4RuntimeServerErrorCode;
  readonly address: string;

  constructor(code: P4RuntimeServerErrorCode, address: string, reason: string) {
    super(
      code === "address-in-use"
        ? `cannot serve P4Runtime on ${address}: the address is in use (EADDRINUSE)`
        : `cannot serve P4Runtime on ${address}: ${reason}`,
    );
    this.code = code;
    this.address = address;
  }
}
