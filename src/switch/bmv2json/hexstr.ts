import { SwitchConfigError } from "./config-error.ts";

const hexPattern = /^(-?)(?:0x)?([0-9a-fA-F]+)$/;

/**
 * Reads a hexstr ("0x1ff", "-0x1", "ff"). The value is unbounded and may be negative: it is
 * cut to a width only where it is stored (JSON_format.md, "General information").
 */
export function parseHexstr(text: string, path: string): bigint {
  const match = hexPattern.exec(text);
  if (match === null) {
    throw new SwitchConfigError(
      "BAD_VALUE",
      path,
      `"${text}" is no hexadecimal number (write 0x followed by at least one digit, with - in front if negative)`,
    );
  }
  const magnitude = BigInt(`0x${match[2]}`);
  return match[1] === "-" ? -magnitude : magnitude;
}

/** Number of bytes that a hexstr spells out; transition values are checked by it. */
export function hexstrByteLength(text: string): number {
  const digits = text.replace(/^-?(?:0x)?/, "");
  return Math.ceil(digits.length / 2);
}
