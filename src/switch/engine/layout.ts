import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { Bmv2Program, HeaderType } from "../bmv2json/program.ts";

/**
 * Where a field lives in a packet's state.
 * `u`: Uint32Array (up to 32 bits), `d`: Float64Array (33 to 52 bits, exact integers),
 * `b`: array of bigint (wider), `v`: array of Uint8Array (variable length).
 */
export type Store = "u" | "d" | "b" | "v";

/** Fields up to this width are exact as JavaScript numbers, sums of two included. */
export const widestNumber = 52;

export interface FieldSlot {
  readonly header: string;
  readonly name: string;
  readonly store: Store;
  readonly index: number;
  /** Bits; for `v` the largest length in bits, 0 if unknown. */
  readonly width: number;
  readonly signed: boolean;
  readonly metadata: boolean;
}

export interface SlotRange {
  readonly u: number;
  readonly d: number;
  readonly b: number;
  readonly v: number;
}

export interface HeaderSlot {
  readonly name: string;
  readonly id: number;
  readonly type: HeaderType;
  readonly metadata: boolean;
  /** Index in `u` of the validity bit; also the header's first slot in `u`. */
  readonly valid: number;
  readonly base: SlotRange;
  /** How many slots the header takes in each store. */
  readonly size: SlotRange;
  readonly fields: readonly FieldSlot[];
  /** Bytes on the wire without the variable-length field. */
  readonly fixedBytes: number;
  /** The union that this header is a member of; at most one member is valid. */
  readonly union: UnionSlot | undefined;
}

export interface UnionSlot {
  readonly name: string;
  readonly id: number;
  readonly members: readonly HeaderSlot[];
  readonly memberNames: readonly string[];
}

export interface StackSlot {
  readonly name: string;
  readonly depth: number;
  /** Index in `u` of nextIndex. */
  readonly next: number;
  readonly elements: readonly HeaderSlot[];
  /** An element past the end: where accesses with an index out of range go. */
  readonly overflow: HeaderSlot;
  readonly stride: SlotRange;
}

export interface UnionStackSlot {
  readonly name: string;
  readonly depth: number;
  readonly next: number;
  readonly elements: readonly UnionSlot[];
  readonly overflow: UnionSlot;
  readonly stride: SlotRange;
}

export interface PhvLayout {
  readonly headers: ReadonlyMap<string, HeaderSlot>;
  readonly stacks: ReadonlyMap<string, StackSlot>;
  readonly unions: ReadonlyMap<string, UnionSlot>;
  readonly unionStacks: ReadonlyMap<string, UnionStackSlot>;
  /** Number of slots of each store. */
  readonly size: SlotRange;
  /** Ranges of `u` and `d` that hold metadata headers, merged where adjacent. */
  readonly metadataHeaders: readonly HeaderSlot[];
  header(name: string, path: string): HeaderSlot;
  field(header: string, field: string, path: string): FieldSlot;
  /** A field that the target needs, looked up through the aliases; undefined if the program lacks it. */
  targetField(name: string): FieldSlot | undefined;
}

interface Cursor {
  u: number;
  d: number;
  b: number;
  v: number;
}

function storeOf(width: number | "varbit"): Store {
  if (width === "varbit") return "v";
  if (width <= 32) return "u";
  return width <= widestNumber ? "d" : "b";
}

function minus(end: SlotRange, start: SlotRange): SlotRange {
  return { u: end.u - start.u, d: end.d - start.d, b: end.b - start.b, v: end.v - start.v };
}

/** Unknown names end here, so that every reference in the program is checked while it is compiled. */
export function unknownName(kind: string, name: string, path: string): never {
  throw new SwitchConfigError("UNKNOWN_NAME", path, `there is no ${kind} "${name}"`);
}

/** Assigns every header, stack and union of a program its slots. Stack elements are laid out at one stride. */
export function layOut(program: Bmv2Program): PhvLayout {
  const types = new Map(program.headerTypes.map((type) => [type.name, type]));
  const unionTypes = new Map(program.unionTypes.map((type) => [type.name, type]));
  const instancesById = new Map(program.headers.map((header) => [header.id, header]));
  const unionsById = new Map(program.unions.map((union) => [union.id, union]));
  const cursor: Cursor = { u: 0, d: 0, b: 0, v: 0 };
  const headers = new Map<string, HeaderSlot>();
  const placedById = new Map<number, HeaderSlot>();
  const unions = new Map<string, UnionSlot>();

  function typeOf(name: string, path: string): HeaderType {
    return types.get(name) ?? unknownName("header type", name, path);
  }

  function place(
    name: string,
    id: number,
    typeName: string,
    metadata: boolean,
    union?: UnionSlot,
  ): HeaderSlot {
    const type = typeOf(typeName, `headers.${name}.header_type`);
    const base = { ...cursor };
    const valid = cursor.u++;
    let bits = 0;
    const fields = type.fields.map((field): FieldSlot => {
      const store = storeOf(field.width);
      const width = field.width === "varbit" ? type.maxLength * 8 : field.width;
      if (field.width !== "varbit") bits += field.width;
      return {
        header: name,
        name: field.name,
        store,
        index: cursor[store]++,
        width,
        signed: field.signed,
        metadata,
      };
    });
    if (!metadata && bits % 8 !== 0) {
      throw new SwitchConfigError(
        "BAD_VALUE",
        `header_types.${type.name}`,
        `${bits} bits are no whole bytes`,
      );
    }
    return {
      name,
      id,
      type,
      metadata,
      valid,
      base,
      size: minus(cursor, base),
      fields,
      fixedBytes: Math.ceil(bits / 8),
      union,
    };
  }

  function placeInstance(id: number, path: string, union?: UnionSlot): HeaderSlot {
    const placed = placedById.get(id);
    if (placed !== undefined) return placed;
    const instance = instancesById.get(id) ?? unknownName("header with id", String(id), path);
    const slot = place(instance.name, instance.id, instance.type, instance.metadata, union);
    headers.set(slot.name, slot);
    placedById.set(id, slot);
    return slot;
  }

  function placeUnion(id: number, path: string): UnionSlot {
    const union = unionsById.get(id) ?? unknownName("header union with id", String(id), path);
    const placed = unions.get(union.name);
    if (placed !== undefined) return placed;
    const type = unionTypes.get(union.type) ?? unknownName("header union type", union.type, path);
    const members: HeaderSlot[] = [];
    const slot: UnionSlot = {
      name: union.name,
      id,
      members,
      memberNames: type.members.map((member) => member.name),
    };
    for (const member of union.headerIds) members.push(placeInstance(member, path, slot));
    unions.set(slot.name, slot);
    return slot;
  }

  const stacks = new Map<string, StackSlot>();
  for (const stack of program.stacks) {
    const path = `header_stacks.${stack.name}`;
    const next = cursor.u++;
    const start = { ...cursor };
    const elements = stack.headerIds.map((id) => placeInstance(id, path));
    const afterElements = { ...cursor };
    const overflow = place(`${stack.name}[out of range]`, -1, stack.type, false);
    const stride = overflow.size;
    if (afterElements.u - start.u !== stride.u * elements.length) {
      throw new SwitchConfigError("BAD_VALUE", path, "an element belongs to another stack or union as well");
    }
    stacks.set(stack.name, { name: stack.name, depth: elements.length, next, elements, overflow, stride });
  }

  const unionStacks = new Map<string, UnionStackSlot>();
  for (const stack of program.unionStacks) {
    const path = `header_union_stacks.${stack.name}`;
    const next = cursor.u++;
    const elements = stack.unionIds.map((id) => placeUnion(id, path));
    const type = unionTypes.get(stack.type) ?? unknownName("header union type", stack.type, path);
    const start = { ...cursor };
    const members: HeaderSlot[] = [];
    const overflow: UnionSlot = {
      name: `${stack.name}[out of range]`,
      id: -1,
      members,
      memberNames: type.members.map((member) => member.name),
    };
    for (const member of type.members) {
      members.push(place(`${overflow.name}.${member.name}`, -1, member.headerType, false, overflow));
    }
    unionStacks.set(stack.name, {
      name: stack.name,
      depth: elements.length,
      next,
      elements,
      overflow,
      stride: minus(cursor, start),
    });
  }
  for (const union of program.unions) placeUnion(union.id, `header_unions.${union.name}`);
  for (const header of program.headers) placeInstance(header.id, `headers.${header.name}`);

  const aliases = new Map(program.aliases.map((alias) => [alias.alias, alias]));

  function findField(header: string, field: string): FieldSlot | undefined {
    const slot = headers.get(header);
    if (slot === undefined) return undefined;
    if (field === "$valid$") {
      return {
        header,
        name: field,
        store: "u",
        index: slot.valid,
        width: 1,
        signed: false,
        metadata: slot.metadata,
      };
    }
    return slot.fields.find((candidate) => candidate.name === field);
  }

  return {
    headers,
    stacks,
    unions,
    unionStacks,
    size: { ...cursor },
    metadataHeaders: [...headers.values()].filter((header) => header.metadata),
    header: (name, path) => headers.get(name) ?? unknownName("header", name, path),
    field: (header, field, path) => {
      if (!headers.has(header)) return unknownName("header", header, path);
      return findField(header, field) ?? unknownName("field", `${header}.${field}`, path);
    },
    targetField: (name) => {
      const alias = aliases.get(name);
      if (alias !== undefined) return findField(alias.header, alias.field);
      const dot = name.indexOf(".");
      return findField(name.slice(0, dot), name.slice(dot + 1));
    },
  };
}
