/**
 * What the modules of `bindingsModule` (backends/bindings) are made of: each function puts the names and types of one object of a program
 * on a client. Programs use the generated module, not these.
 */
export type { ActionCall, MemberChoice, ReadChoice, SelectorChoice, Weight } from "./actions.ts";
export type { Cells } from "./cells.ts";
export type { BoundClient } from "./client.ts";
export { bindCounter, bindDirectCounter, type Count, type CounterUnit } from "./counters.ts";
export { bindDigest, type Digest, type DigestMessage } from "./digests.ts";
export type { DirectCell, DirectCells } from "./direct-cells.ts";
export {
  type AttachedData,
  bindDefaultEntry,
  bindEntries,
  bindReadableEntries,
  type DefaultEntry,
  type Entries,
  type EntryKind,
  type EntryOptions,
  type KeyOptions,
  type Priority,
  type ReadableEntries,
  type ReadEntry,
} from "./entries.ts";
export type { LpmInput, NoParams, RangeInput, ReadField, ReadFields, TernaryInput } from "./fields.ts";
export { bindDirectMeter, bindMeter, type Rates } from "./meters.ts";
export { type BoundPacket, bindPacketIn, bindPacketOut } from "./packets.ts";
export {
  bindProfile,
  bindSelector,
  type GroupOptions,
  type Profile,
  type Selector,
  type Weights,
} from "./profiles.ts";
export { bindRegister } from "./registers.ts";
export { bindValueSet, type ReadMember, type ValueSet } from "./valuesets.ts";
