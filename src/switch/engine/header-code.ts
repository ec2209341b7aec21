import type { HeaderCode } from "./data-code.ts";
import type { HeaderSlot, SlotRange, StackSlot, UnionSlot } from "./layout.ts";

/** Beyond this many slots a bulk operation is shorter and faster than one statement per slot. */
const unrollLimit = 24;

const stores = ["u", "d", "b", "v"] as const;
type StoreName = (typeof stores)[number];

function zeroOf(store: StoreName): string {
  return store === "b" ? "0n" : store === "v" ? "noBytes" : "0";
}

function shiftedIndex(header: HeaderCode, store: StoreName, index: number): string {
  return header.element === undefined
    ? String(index)
    : `${index} + ${header.element} * ${header.stride[store]}`;
}

/** Statements that set every field of a header to zero and make it valid or invalid. */
export function clearHeader(header: HeaderCode, valid: 0 | 1): string {
  const statements: string[] = [];
  for (const store of stores) {
    const count = header.slot.size[store];
    const base = header.slot.base[store];
    if (count > unrollLimit) {
      const start = shiftedIndex(header, store, base);
      statements.push(`${store}.fill(${zeroOf(store)}, ${start}, ${start} + ${count});`);
    } else {
      for (let i = 0; i < count; i++) {
        statements.push(`${store}[${shiftedIndex(header, store, base + i)}] = ${zeroOf(store)};`);
      }
    }
  }
  if (valid === 1) statements.push(`u[${shiftedIndex(header, "u", header.slot.valid)}] = 1;`);
  return statements.join(" ");
}

/** Statements that make every other member of the header's union invalid. */
export function invalidateSiblings(header: HeaderCode): string {
  const union = header.slot.union;
  if (union === undefined) return "";
  return union.members
    .filter((member) => member !== header.slot)
    .map((member) => `u[${shiftedIndex(header, "u", member.valid)}] = 0;`)
    .join(" ");
}

/** Statements that copy one header onto another of the same type; an invalid source makes an invalid copy. */
export function copyHeader(to: HeaderCode, from: HeaderCode): string {
  const statements: string[] = [];
  for (const store of stores) {
    const count = from.slot.size[store];
    const source = from.slot.base[store];
    const target = to.slot.base[store];
    if (count > unrollLimit) {
      const start = shiftedIndex(from, store, source);
      statements.push(
        `${store}.copyWithin(${shiftedIndex(to, store, target)}, ${start}, ${start} + ${count});`,
      );
    } else {
      for (let i = 0; i < count; i++) {
        statements.push(
          `${store}[${shiftedIndex(to, store, target + i)}] = ${store}[${shiftedIndex(from, store, source + i)}];`,
        );
      }
    }
  }
  const valid = (header: HeaderCode) => `u[${shiftedIndex(header, "u", header.slot.valid)}]`;
  const siblings = invalidateSiblings(to);
  return `if (${valid(from)} === 0) { ${valid(to)} = 0; } else { ${statements.join(" ")} ${siblings} }`;
}

/** Bytes of a header as it stands, the variable-length field included. */
export function headerBytes(header: HeaderCode): string {
  const varbit = header.slot.fields.find((field) => field.store === "v");
  if (varbit === undefined) return String(header.slot.fixedBytes);
  return `(${header.slot.fixedBytes} + v[${shiftedIndex(header, "v", varbit.index)}].length)`;
}

function rangeOf(slots: readonly HeaderSlot[]): SlotRange {
  const first = slots[0];
  return first === undefined ? { u: 0, d: 0, b: 0, v: 0 } : first.base;
}

/** What `pushFront` and `popFront` need to know about a stack. */
export interface ShiftableStack {
  readonly next: number;
  readonly depth: number;
  readonly base: SlotRange;
  readonly stride: SlotRange;
}

export function shiftableStack(stack: StackSlot): ShiftableStack {
  return { next: stack.next, depth: stack.depth, base: rangeOf(stack.elements), stride: stack.stride };
}

export function shiftableUnionStack(stack: {
  readonly next: number;
  readonly depth: number;
  readonly elements: readonly UnionSlot[];
  readonly stride: SlotRange;
}): ShiftableStack {
  return {
    next: stack.next,
    depth: stack.depth,
    base: rangeOf(stack.elements[0]?.members ?? []),
    stride: stack.stride,
  };
}
