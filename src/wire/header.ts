/**
 * The declaration of a packet header. It is written once and used by the switch program (P4 header), by the
 * hosts (codec) and by the Wireshark dissector.
 */
export interface WireField {
  readonly name: string;
  /** Width in bits, in network order, without padding between fields. */
  readonly bits: number;
  readonly doc?: string;
}

export interface WireHeader<Name extends string = string> {
  readonly name: string;
  readonly fields: readonly (WireField & { readonly name: Name })[];
  /** A field of variable length behind the others, with the most bits that it may have; codecs leave it to their users. */
  readonly varbit?: WireField;
  readonly doc?: string;
}

/** The fields of a decoded header: unsigned integers, at most 48 bits wide. */
export type HeaderValues<H> = H extends WireHeader<infer Name> ? { readonly [field in Name]: number } : never;

/** Declares a header from `{ field: width }`, or `{ field: [width, doc] }`; the order of the keys is the order on the wire. */
export function wireHeader<const F extends Record<string, number | readonly [number, string]>>(
  name: string,
  fields: F,
  doc?: string,
): WireHeader<keyof F & string> {
  const list = Object.entries(fields).map(([field, spec]) =>
    typeof spec === "number"
      ? { name: field as keyof F & string, bits: spec }
      : { name: field as keyof F & string, bits: spec[0], doc: spec[1] },
  );
  return { name, fields: list, ...(doc === undefined ? {} : { doc }) };
}

/** The header with a field of variable length behind its fields: options, as a rule. */
export function withVarbit<Name extends string>(
  header: WireHeader<Name>,
  name: string,
  mostBits: number,
  doc?: string,
): WireHeader<Name> {
  return { ...header, varbit: { name, bits: mostBits, ...(doc === undefined ? {} : { doc }) } };
}

/** Length of a header in bytes, without its field of variable length. */
export function headerBytes(header: WireHeader): number {
  return header.fields.reduce((sum, f) => sum + f.bits, 0) / 8;
}
