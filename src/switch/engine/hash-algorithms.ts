/** Hash and checksum algorithms of v1model, as BMv2 computes them over bytes in network order. */

function reflect(value: number, bits: number): number {
  let result = 0;
  for (let i = 0; i < bits; i++) if ((value >>> i) & 1) result |= 1 << (bits - 1 - i);
  return result >>> 0;
}

/** Table of a CRC that shifts right, for the polynomial in its usual (not reflected) notation. */
function reflectedTable(polynomial: number, bits: number): Uint32Array {
  const reflected = reflect(polynomial, bits);
  const table = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    let crc = i;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ reflected : crc >>> 1;
    table[i] = crc;
  }
  return table;
}

const crc32Table = reflectedTable(0x04c11db7, 32);
const crc16Table = reflectedTable(0x8005, 16);

const ccittTable = new Uint32Array(256);
for (let i = 0; i < 256; i++) {
  let crc = i << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : crc << 1;
  ccittTable[i] = crc;
}

export function crc32(bytes: Uint8Array, length: number): number {
  let crc = 0xffffffff;
  for (let i = 0; i < length; i++) crc = (crc >>> 8) ^ (crc32Table[(crc ^ (bytes[i] ?? 0)) & 0xff] ?? 0);
  return ~crc >>> 0;
}

/** CRC-16/ARC. */
export function crc16(bytes: Uint8Array, length: number): number {
  let crc = 0;
  for (let i = 0; i < length; i++) crc = (crc >>> 8) ^ (crc16Table[(crc ^ (bytes[i] ?? 0)) & 0xff] ?? 0);
  return crc;
}

export function crcCCITT(bytes: Uint8Array, length: number): number {
  let crc = 0xffff;
  for (let i = 0; i < length; i++) {
    crc = ((crc << 8) & 0xffff) ^ (ccittTable[((crc >>> 8) ^ (bytes[i] ?? 0)) & 0xff] ?? 0);
  }
  return crc;
}

/** Adds bytes, taken as 16-bit words with the last one padded, to a one's complement sum. */
export function sumBytes(bytes: Uint8Array, from: number, to: number, start: number): number {
  let sum = start;
  let i = from;
  for (; i + 1 < to; i += 2) {
    sum += ((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0);
  }
  if (i < to) sum += (bytes[i] ?? 0) << 8;
  return sum;
}

/** Folds a sum to 16 bits and complements it. */
export function finishSum(sum: number): number {
  let folded = sum;
  while (folded > 0xffff) folded = Math.floor(folded / 65536) + (folded % 65536);
  return ~folded & 0xffff;
}

/** The Internet checksum. May be 0, as BMv2 leaves it (UDP's rule to send 0xffff instead is the program's affair). */
export function csum16(bytes: Uint8Array, length: number): number {
  return finishSum(sumBytes(bytes, 0, length, 0));
}

export const cksum16 = csum16;

/** The first eight bytes as a number, fewer if there are fewer. */
export function identity(bytes: Uint8Array, length: number): bigint {
  let value = 0n;
  for (let i = 0; i < Math.min(8, length); i++) value = (value << 8n) | BigInt(bytes[i] ?? 0);
  return value;
}

export function xor16(bytes: Uint8Array, length: number): number {
  let value = 0;
  for (let i = 0; i < length; i++) value ^= (bytes[i] ?? 0) << (i & 1 ? 0 : 8);
  return value;
}

export function xor32(bytes: Uint8Array, length: number): number {
  let value = 0;
  for (let i = 0; i < length; i++) value ^= (bytes[i] ?? 0) << (24 - 8 * (i & 3));
  return value >>> 0;
}

const prime1 = 0x9e3779b185ebca87n;
const prime2 = 0xc2b2ae3d27d4eb4fn;
const prime3 = 0x165667b19e3779f9n;
const prime4 = 0x85ebca77c2b2ae63n;
const prime5 = 0x27d4eb2f165667c5n;

function u64(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}

function rotate(value: bigint, count: bigint): bigint {
  return u64(value << count) | (value >> (64n - count));
}

function round(accumulator: bigint, lane: bigint): bigint {
  return u64(rotate(u64(accumulator + lane * prime2), 31n) * prime1);
}

function littleEndian(bytes: Uint8Array, at: number, count: number): bigint {
  let value = 0n;
  for (let i = count - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[at + i] ?? 0);
  return value;
}

/** xxHash64 with seed 0. */
export function xxh64(bytes: Uint8Array, length: number): bigint {
  let at = 0;
  let hash: bigint;
  if (length >= 32) {
    let v1 = u64(prime1 + prime2);
    let v2 = prime2;
    let v3 = 0n;
    let v4 = u64(-prime1);
    for (; at + 32 <= length; at += 32) {
      v1 = round(v1, littleEndian(bytes, at, 8));
      v2 = round(v2, littleEndian(bytes, at + 8, 8));
      v3 = round(v3, littleEndian(bytes, at + 16, 8));
      v4 = round(v4, littleEndian(bytes, at + 24, 8));
    }
    hash = u64(rotate(v1, 1n) + rotate(v2, 7n) + rotate(v3, 12n) + rotate(v4, 18n));
    for (const v of [v1, v2, v3, v4]) hash = u64((hash ^ round(0n, v)) * prime1 + prime4);
  } else {
    hash = prime5;
  }
  hash = u64(hash + BigInt(length));
  for (; at + 8 <= length; at += 8) {
    hash = u64(rotate(hash ^ round(0n, littleEndian(bytes, at, 8)), 27n) * prime1 + prime4);
  }
  if (at + 4 <= length) {
    hash = u64(rotate(hash ^ u64(littleEndian(bytes, at, 4) * prime1), 23n) * prime2 + prime3);
    at += 4;
  }
  for (; at < length; at++) hash = u64(rotate(hash ^ u64(BigInt(bytes[at] ?? 0) * prime5), 11n) * prime1);
  hash = u64((hash ^ (hash >> 33n)) * prime2);
  hash = u64((hash ^ (hash >> 29n)) * prime3);
  return hash ^ (hash >> 32n);
}

/** BMv2's "custom" CRCs with the parameters that they start with. */
export const crc32_custom = crc32;
export const crc16_custom = crc16;

/** Bits of each algorithm's result. */
export const algorithmBits = {
  crc32: 32,
  crc16: 16,
  crcCCITT: 16,
  csum16: 16,
  cksum16: 16,
  identity: 64,
  xor16: 16,
  xor32: 32,
  xxh64: 64,
  crc32_custom: 32,
  crc16_custom: 16,
} as const;

export type Algorithm = keyof typeof algorithmBits;

export function isAlgorithm(name: string): name is Algorithm {
  return Object.hasOwn(algorithmBits, name);
}

export const algorithms: Readonly<Record<Algorithm, (bytes: Uint8Array, length: number) => number | bigint>> =
  {
    crc32,
    crc16,
    crcCCITT,
    csum16,
    cksum16,
    identity,
    xor16,
    xor32,
    xxh64,
    crc32_custom,
    crc16_custom,
  };
