import { P4Info } from "./generated/p4info.ts";
import { decode, encode } from "./message/binary.ts";
import type { Init } from "./message/descriptor.ts";
import { parseText } from "./message/text-parse.ts";
import { printText } from "./message/text-print.ts";

/** The binary form of a P4Info. @throws MessageError when a value does not fit its field. */
export function p4infoToBinary(info: Init<P4Info>): Uint8Array {
  return encode(P4Info, info);
}

/** @throws MessageError with code `malformed`. */
export function p4infoFromBinary(bytes: Uint8Array): P4Info {
  return decode(P4Info, bytes);
}

/**
 * The text form of a P4Info, with the two comment lines that say what it is, as other P4 compilers write them.
 *
 * @throws MessageError when a value does not fit its field.
 */
export function p4infoToText(info: Init<P4Info>): string {
  return `# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n${printText(P4Info, info)}`;
}

/**
 * @param source name of the text in error messages, such as a file name.
 * @throws MessageError with code `syntax` and the line and column.
 */
export function p4infoFromText(text: string, source?: string): P4Info {
  return parseText(P4Info, text, source);
}

/**
 * Read the contents of a P4Info file in either form, binary or text.
 *
 * @param source name of the file in error messages.
 * @throws MessageError
 */
export function p4infoFromFile(bytes: Uint8Array, source: string): P4Info {
  return isText(bytes) ? p4infoFromText(new TextDecoder().decode(bytes), source) : p4infoFromBinary(bytes);
}

/** Text has no control characters but white space; a binary P4Info has them at once, in lengths and in ids. */
function isText(bytes: Uint8Array): boolean {
  return bytes
    .subarray(0, 512)
    .every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
}
