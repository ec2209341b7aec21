import type { Uint128 } from "./proto/generated/p4runtime.ts";

/** An election id as one number of 128 bits. */
export function electionIdOf(message: Uint128): bigint {
  return (message.high << 64n) | message.low;
}

/** The message for an election id. @throws RangeError when it has more than 128 bits or is negative */
export function electionIdMessage(id: bigint): Uint128 {
  if (id !== BigInt.asUintN(128, id)) throw new RangeError(`an election id has 128 bits; ${id} does not fit`);
  return { high: id >> 64n, low: BigInt.asUintN(64, id) };
}
