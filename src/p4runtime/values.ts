import { isIPv6 } from "node:net";
import { EntityError } from "./entity-error.ts";

/**
 * A value as a user writes it: a number (integers up to 2^53), a bigint, bytes in network order, or a text: decimal (`"42"`), `0x`, `0b`
 * or `0o` digits, an IPv4 address (for 32 bits), a MAC address (48 bits), an IPv6 address (128 bits).
 */
export type Value = bigint | number | string | Uint8Array;

/** What a value is for: its width in bits and its name in messages. Width 0 stands for text (`@p4runtime_translation` to string). */
export interface ValueType {
  readonly bitwidth: number;
  readonly where: string;
  /** Names of values, where the type has them. */
  readonly names?: ReadonlyMap<string, bigint> | undefined;
}

/** The largest value of a width: 9 -> 511. */
export function maxOf(bitwidth: number): bigint {
  return (1n << BigInt(bitwidth)) - 1n;
}

/**
 * The shortest bytes of an unsigned value, at least one (P4Runtime specification 8.3).
 *
 * `0n` -> `00`, `256n` -> `01 00`.
 */
export function bytesOf(value: bigint): Uint8Array {
  if (value < 0x100n) return Uint8Array.of(Number(value));
  const digits = value.toString(16);
  return Uint8Array.from(Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex"));
}

/** The unsigned value of bytes in network order; none at all counts as 0. */
export function bigintOf(bytes: Uint8Array): bigint {
  if (bytes.length <= 6) {
    let value = 0;
    for (const byte of bytes) value = value * 256 + byte;
    return BigInt(value);
  }
  return BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")}`);
}

/** The same value in its shortest form. */
export function canonicalBytes(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  return bytes.length === 0 ? Uint8Array.of(0) : bytes.slice(start);
}

/**
 * Read what a user wrote as an unsigned integer of the given width.
 *
 * @throws EntityError `invalid-value` when it cannot be read, `out-of-range` when it is too wide or negative.
 */
export function parseValue(value: Value, type: ValueType): bigint {
  const parsed = integerOf(value, type);
  if (parsed < 0n)
    throw new EntityError(
      "out-of-range",
      type.where,
      `${parsed} is negative, but the field is bit<${type.bitwidth}>`,
    );
  if (parsed > maxOf(type.bitwidth))
    throw new EntityError(
      "out-of-range",
      type.where,
      `${shown(value)} does not fit into bit<${type.bitwidth}>: the largest value is ${maxOf(type.bitwidth)}`,
    );
  return parsed;
}

/** The canonical bytes of what a user wrote. @throws EntityError as `parseValue` */
export function encodeValue(value: Value, type: ValueType): Uint8Array {
  if (type.bitwidth > 0) return bytesOf(parseValue(value, type));
  if (typeof value === "string") return new TextEncoder().encode(value);
  if (value instanceof Uint8Array) return value;
  throw new EntityError("invalid-value", type.where, `expected a text, got ${shown(value)}`);
}

/**
 * Check bytes that came over the wire, canonical or not (P4Runtime specification 8.3).
 *
 * @throws EntityError `out-of-range` when there are none or the value is too wide.
 */
export function decodeValue(bytes: Uint8Array, type: ValueType): bigint {
  if (bytes.length === 0) throw new EntityError("out-of-range", type.where, "the value is empty");
  const value = bigintOf(bytes);
  if (type.bitwidth > 0 && value > maxOf(type.bitwidth))
    throw new EntityError(
      "out-of-range",
      type.where,
      `0x${value.toString(16)} does not fit into bit<${type.bitwidth}>`,
    );
  return value;
}

/** A value for people: decimal up to 16 bits, then addresses at their widths, else hexadecimal. */
export function formatValue(value: bigint, bitwidth: number): string {
  if (bitwidth <= 16) return value.toString();
  const digits = value.toString(16).padStart(Math.ceil(bitwidth / 8) * 2, "0");
  const pairs = digits.match(/../g) ?? [];
  if (bitwidth === 32) return pairs.map((pair) => Number.parseInt(pair, 16)).join(".");
  if (bitwidth === 48) return pairs.join(":");
  return `0x${value.toString(16)}`;
}

const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;
const MAC = /^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}$/;
const DIGITS = /^(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|[0-9]+)$/;

function integerOf(value: Value, type: ValueType): bigint {
  switch (typeof value) {
    case "bigint":
      return value;
    case "number":
      if (!Number.isSafeInteger(value))
        throw new EntityError("invalid-value", type.where, `${value} is not an exact integer; use a bigint`);
      return BigInt(value);
    case "string":
      return integerOfText(value.trim(), type);
    default:
      // Who does not compile with types may give anything.
      if (value instanceof Uint8Array) return bigintOf(value);
      throw new EntityError(
        "invalid-value",
        type.where,
        `a value is a number, bigint, text or bytes, not ${value === null ? "null" : typeof value}`,
      );
  }
}

function integerOfText(text: string, type: ValueType): bigint {
  const named = type.names?.get(text);
  if (named !== undefined) return named;
  if (DIGITS.test(text.replaceAll("_", ""))) return BigInt(text.replaceAll("_", ""));
  if (/^-\d+$/.test(text)) return BigInt(text);
  const ipv4 = IPV4.exec(text);
  if (ipv4 !== null) {
    expectWidth(32, text, type);
    const parts = ipv4.slice(1).map(Number);
    if (parts.some((part) => part > 255))
      throw new EntityError("invalid-value", type.where, `${text} is not an IPv4 address`);
    return bigintOf(Uint8Array.from(parts));
  }
  if (MAC.test(text)) {
    expectWidth(48, text, type);
    return BigInt(`0x${text.replace(/[:-]/g, "")}`);
  }
  if (isIPv6(text) && !text.includes("%")) {
    expectWidth(128, text, type);
    return ipv6(text);
  }
  throw new EntityError(
    "invalid-value",
    type.where,
    type.names === undefined
      ? `${JSON.stringify(text)} is neither an integer nor an IPv4, IPv6 or MAC address`
      : `${JSON.stringify(text)} is neither an integer nor one of ${[...type.names.keys()].join(", ")}`,
  );
}

function expectWidth(bitwidth: number, text: string, type: ValueType): void {
  if (type.bitwidth !== bitwidth)
    throw new EntityError(
      "invalid-value",
      type.where,
      `${text} is an address of ${bitwidth} bits, but the field is bit<${type.bitwidth}>`,
    );
}

function ipv6(text: string): bigint {
  // The last 32 bits may be written as an IPv4 address.
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const parts = dotted?.[2]?.split(".").map(Number) ?? [];
  const tail =
    parts.length === 4 ? [hexGroup(parts[0], parts[1]), hexGroup(parts[2], parts[3])].join(":") : "";
  const plain = dotted === null ? text : `${dotted[1]}${tail}`;
  const [head = "", rest] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = rest === undefined || rest === "" ? [] : rest.split(":");
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

function hexGroup(high = 0, low = 0): string {
  return ((high << 8) | low).toString(16);
}

function shown(value: Value): string {
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString("hex")}`;
  return String(value);
}
