/** JSON values, for the parts of the BMv2 document. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** A number as BMv2 reads it: hexadecimal, padded to `bytes` when given, with a minus sign in front of negative ones. */
export function hexstr(value: bigint, bytes = 0): string {
  const magnitude = value < 0n ? -value : value;
  return `${value < 0n ? "-" : ""}0x${magnitude.toString(16).padStart(bytes * 2, "0")}`;
}

export function bytesFor(width: number): number {
  return Math.ceil(width / 8);
}
