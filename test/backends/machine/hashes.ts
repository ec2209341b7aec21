import type { HashAlgorithm } from "../../../src/ir/index.ts";

/** Numbers side by side in network order, from the first bit on; the last byte is filled up with zeros. */
export function sideBySide(parts: readonly (readonly [value: bigint, width: number])[]): Uint8Array {
  let bits = "";
  for (const [value, width] of parts)
    if (width > 0) bits += BigInt.asUintN(width, value).toString(2).padStart(width, "0");
  const bytes = bits.padEnd(Math.ceil(bits.length / 8) * 8, "0").match(/.{8}/g) ?? [];
  return Uint8Array.from(bytes, (byte) => Number.parseInt(byte, 2));
}

/** The hash of some bytes. */
export function hashOf(algorithm: HashAlgorithm, bytes: Uint8Array): bigint {
  switch (algorithm) {
    case "crc16":
      return BigInt(crc(bytes, 0xa001, 0, 0));
    case "crc32":
      return BigInt(crc(bytes, 0xedb88320, 0xffffffff, 0xffffffff));
    case "csum16":
      return internetChecksum(bytes);
    case "xor16":
      return BigInt(halfWords(bytes).reduce((sum, word) => sum ^ word, 0));
    case "identity":
      return bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  }
}

/** RFC 1071. */
export function internetChecksum(bytes: Uint8Array): bigint {
  let sum = halfWords(bytes).reduce((all, word) => all + word, 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + Math.floor(sum / 0x10000);
  return BigInt(0xffff - sum);
}

function halfWords(bytes: Uint8Array): readonly number[] {
  return Array.from({ length: Math.ceil(bytes.length / 2) }, (_, i) => {
    return ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0);
  });
}

/** Bit by bit, low bits first. */
function crc(bytes: Uint8Array, polynomial: number, start: number, end: number): number {
  let sum = start;
  for (const byte of bytes) {
    sum ^= byte;
    for (let i = 0; i < 8; i++) sum = (sum & 1) === 0 ? sum >>> 1 : (sum >>> 1) ^ polynomial;
  }
  return (sum ^ end) >>> 0;
}
