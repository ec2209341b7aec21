const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** IEEE-754 binary32 values in network order. */
export function encodeFloats(values: Float32Array): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(values.length * 4);
  bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  return isLittleEndian ? bytes.swap32() : bytes;
}

/** The same into memory of the caller's, from `at` on. */
export function encodeFloatsInto(values: Float32Array, to: Uint8Array, at: number): void {
  const bytes = Buffer.from(to.buffer, to.byteOffset + at, values.byteLength);
  bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  if (isLittleEndian) bytes.swap32();
}

/**
 * The values of such bytes, in memory of their own.
 * @throws RangeError when they are no whole number of values.
 */
export function decodeFloats(bytes: Uint8Array): Float32Array {
  if (bytes.length % 4 !== 0) throw new RangeError(`${bytes.length} bytes are no whole number of values`);
  const values = new Float32Array(bytes.length / 4);
  decodeFloatsInto(bytes, values, 0);
  return values;
}

/** Writes the values of such bytes into `to`, from element `at` on. */
export function decodeFloatsInto(bytes: Uint8Array, to: Float32Array, at: number): void {
  const target = Buffer.from(to.buffer, to.byteOffset + at * 4, bytes.length);
  target.set(bytes);
  if (isLittleEndian) target.swap32();
}
