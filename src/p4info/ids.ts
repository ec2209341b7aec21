/** Kinds of objects that have an id in P4Info. */
export type ObjectKind =
  | "action"
  | "table"
  | "value set"
  | "controller header"
  | "action profile"
  | "counter"
  | "direct counter"
  | "meter"
  | "direct meter"
  | "register"
  | "digest";

/** The top byte of an id, by kind of object (P4Runtime specification 6.3). */
export const ID_PREFIX: Readonly<Record<ObjectKind, number>> = {
  action: 0x01,
  table: 0x02,
  "value set": 0x03,
  "controller header": 0x04,
  "action profile": 0x11,
  counter: 0x12,
  "direct counter": 0x13,
  meter: 0x14,
  "direct meter": 0x15,
  register: 0x16,
  digest: 0x17,
};
