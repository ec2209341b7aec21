/**
 * Bodies of the parameter server's messages. Words are 32 bits in network order, keys unsigned, values IEEE-754
 * binary32. A decoder gives `undefined` for a body that can't be one.
 */

export interface KeysAndValues {
  readonly keys: Uint32Array;
  readonly values: Float32Array;
}

/** PUSH: all keys, then their values. */
export function encodePush({ keys, values }: KeysAndValues): Uint8Array {
  const body = new Uint8Array(keys.length * 8);
  writeWords(body, 0, keys);
  writeFloats(body, keys.length * 4, values);
  return body;
}

export function decodePush(body: Uint8Array): KeysAndValues | undefined {
  if (body.length % 8 !== 0) return undefined;
  const half = body.length / 2;
  return { keys: readWords(body, 0, half), values: readFloats(body, half, body.length) };
}

/** PULL: the request's number, then the keys. */
export function encodePull(request: number, keys: Uint32Array): Uint8Array {
  const body = new Uint8Array(4 + keys.length * 4);
  writeWords(body, 0, [request]);
  writeWords(body, 4, keys);
  return body;
}

export function decodePull(body: Uint8Array): { request: number; keys: Uint32Array } | undefined {
  const words = wordsOf(body);
  return words === undefined ? undefined : { request: words[0] ?? 0, keys: words.subarray(1) };
}

/** VALUES: the request's number, then the values. ROW: the row's number, then its lanes or nothing. */
export function encodeNumbered(number: number, values: Float32Array): Uint8Array {
  const body = new Uint8Array(4 + values.length * 4);
  writeWords(body, 0, [number]);
  writeFloats(body, 4, values);
  return body;
}

export function decodeNumbered(body: Uint8Array): { number: number; values: Float32Array } | undefined {
  const words = wordsOf(body);
  return words === undefined
    ? undefined
    : { number: words[0] ?? 0, values: readFloats(body, 4, body.length) };
}

/** FETCH: the row's number. FAILURE: the lost worker's. */
export function encodeNumber(number: number): Uint8Array {
  const body = new Uint8Array(4);
  writeWords(body, 0, [number]);
  return body;
}

export function decodeNumber(body: Uint8Array): number | undefined {
  return body.length === 4 ? readWords(body, 0, 4)[0] : undefined;
}

function wordsOf(body: Uint8Array): Uint32Array | undefined {
  return body.length < 4 || body.length % 4 !== 0 ? undefined : readWords(body, 0, body.length);
}

function writeWords(to: Uint8Array, offset: number, words: ArrayLike<number>): void {
  const view = new DataView(to.buffer, to.byteOffset + offset);
  for (let i = 0; i < words.length; i++) view.setUint32(i * 4, words[i] ?? 0);
}

function writeFloats(to: Uint8Array, offset: number, values: Float32Array): void {
  const view = new DataView(to.buffer, to.byteOffset + offset);
  for (let i = 0; i < values.length; i++) view.setFloat32(i * 4, values[i] ?? 0);
}

function readWords(from: Uint8Array, start: number, end: number): Uint32Array {
  const view = new DataView(from.buffer, from.byteOffset + start, end - start);
  return Uint32Array.from({ length: (end - start) / 4 }, (_, i) => view.getUint32(i * 4));
}

function readFloats(from: Uint8Array, start: number, end: number): Float32Array {
  const view = new DataView(from.buffer, from.byteOffset + start, end - start);
  return Float32Array.from({ length: (end - start) / 4 }, (_, i) => view.getFloat32(i * 4));
}
