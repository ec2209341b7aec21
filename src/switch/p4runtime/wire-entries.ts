import { bigintOf } from "../../p4runtime/values.ts";
import { widestNumber } from "../engine/layout.ts";
import { type ActionData, newActionData } from "../tables/entry-store.ts";
import type { Table } from "../tables/table.ts";
import type { EntryKey } from "../tables/table-key.ts";
import { allOnes, prefixMask, putWords } from "../tables/table-key.ts";
import type { BoundTable, TableFieldRef } from "./bound-table.ts";

/** Tags (field number and wire type) of the messages that are read here. */
const tag = {
  update: { type: 0x08, entity: 0x12 },
  entity: { tableEntry: 0x12 },
  tableEntry: { tableId: 0x08, match: 0x12, action: 0x1a, priority: 0x20 },
  fieldMatch: { fieldId: 0x08, exact: 0x12, ternary: 0x1a, lpm: 0x22, range: 0x32, optional: 0x3a },
  value: { first: 0x0a, second: 0x12, prefixLength: 0x10 },
  tableAction: { action: 0x0a },
  action: { actionId: 0x08, params: 0x22 },
  param: { paramId: 0x10, value: 0x1a },
} as const;

/** Update types on the wire. */
const type = { insert: 1, modify: 2, delete: 3 } as const;

/** Fields and parameters that are seen are bits of a number. */
const mostFields = 31;
/** Ids up to this are looked up in an array. */
const mostIds = 1024;

interface WireField {
  readonly tag: number;
  readonly kind: TableFieldRef["schema"]["kind"];
  readonly word: number;
  readonly words: number;
  readonly width: number;
  readonly bit: number;
  readonly full: Uint32Array;
  /** Masks by prefix length. */
  readonly prefixes: readonly Uint32Array[];
  readonly rangeAt: number;
}

interface WireAction {
  readonly actionIndex: number;
  /** Places of parameters by id; -1 for ids that are none. */
  readonly placeOf: readonly number[];
  readonly widths: readonly number[];
  /** The first value that is too large for each parameter; 0 for wide ones. */
  readonly limits: readonly number[];
  /** Filled for one entry after the other. */
  readonly data: ActionData;
}

interface WireTable {
  readonly bound: BoundTable;
  readonly fieldOf: readonly (WireField | undefined)[];
  /** Bits of the exact fields, which must be there. */
  readonly needed: number;
  readonly actions: ReadonlyMap<number, WireAction>;
}

function wordsOf(value: bigint, words: number): Uint32Array {
  const array = new Uint32Array(words);
  putWords(array, 0, words, value);
  return array;
}

const kindTags = {
  EXACT: tag.fieldMatch.exact,
  TERNARY: tag.fieldMatch.ternary,
  LPM: tag.fieldMatch.lpm,
  RANGE: tag.fieldMatch.range,
  OPTIONAL: tag.fieldMatch.optional,
} as const;

/** What is needed to read a table's entries; undefined for a table whose writes always go the long way. */
function wireTable(bound: BoundTable): WireTable | undefined {
  const { schema, fields } = bound;
  const isPlain =
    !bound.isConst &&
    schema.implementation === undefined &&
    schema.directMeter === undefined &&
    fields.length > 0 &&
    fields.length === schema.fields.all.length &&
    fields.length <= mostFields &&
    // Types that are translated for the controller have widths of their own there.
    fields.every(({ schema: own, field }) => own.bitwidth === field.width && own.id <= mostIds);
  if (!isPlain) return undefined;
  const fieldOf: (WireField | undefined)[] = [];
  let needed = 0;
  for (const { schema: own, field, index } of fields) {
    const { word, words, width } = field;
    const bit = 2 ** index;
    if (own.kind === "EXACT") needed |= bit;
    fieldOf[own.id] = {
      tag: kindTags[own.kind],
      kind: own.kind,
      word,
      words,
      width,
      bit,
      full: wordsOf(allOnes(width), words),
      prefixes:
        own.kind === "LPM"
          ? Array.from({ length: width + 1 }, (_, length) => wordsOf(prefixMask(width, length), words))
          : [],
      rangeAt: bound.table.layout.rangeAt[bound.table.layout.rangeIndex[index] ?? -1] ?? 0,
    };
  }
  return { bound, fieldOf, needed, actions: wireActions(bound) };
}

function wireActions(bound: BoundTable): ReadonlyMap<number, WireAction> {
  const actions = new Map<number, WireAction>();
  for (const [id, { schema, actionIndex, widths, isForEntries }] of bound.actions) {
    const params = schema.params.all;
    const isPlain =
      isForEntries &&
      params.length === widths.length &&
      params.length <= mostFields &&
      params.every((param, i) => param.bitwidth === widths[i] && param.id <= mostIds);
    if (!isPlain) continue;
    const placeOf: number[] = [];
    params.forEach((param, place) => {
      while (placeOf.length <= param.id) placeOf.push(-1);
      placeOf[param.id] = place;
    });
    const data = newActionData(
      widths.length,
      widths.some((width) => width > widestNumber),
    );
    const limits = widths.map((width) => (width > widestNumber ? 0 : 2 ** width));
    actions.set(id, { actionIndex, placeOf, widths, limits, data });
  }
  return actions;
}

/**
 * Writes table entries straight from the bytes of their updates, without messages in between: the common ones (an action, no metadata, nothing
 * unusual), in the form in which libraries write them. Whatever is different or wrong is left to those who read messages: they have the
 * words for errors.
 */
export class WireEntries {
  readonly #tables = new Map<number, WireTable>();
  /** Where the varint that was read last ends. */
  #end = 0;
  /** The table and action of the last entry: entries often come one after the other. */
  #tableId = 0;
  #table: WireTable | undefined;
  #now = 0;

  constructor(tables: Iterable<BoundTable>) {
    for (const bound of tables) {
      const table = wireTable(bound);
      if (table !== undefined) this.#tables.set(bound.schema.id, table);
    }
  }

  /**
   * Carry out the update that is in `bytes` from `from` to `to`. False if nothing was done: then it must be read as a message.
   *
   * @param now the switch's time in microseconds
   */
  write(bytes: Uint8Array, from: number, to: number, now: number): boolean {
    this.#now = now;
    let at = from;
    let updateType = 0;
    if (bytes[at] === tag.update.type) {
      updateType = bytes[at + 1] ?? 0;
      at += 2;
    }
    if (bytes[at] !== tag.update.entity) return false;
    if (at + 1 + this.#length(bytes, at + 1) !== to) return false;
    at = this.#end;
    if (bytes[at] !== tag.entity.tableEntry) return false;
    if (at + 1 + this.#length(bytes, at + 1) !== to) return false;
    return this.#entry(updateType, bytes, this.#end, to);
  }

  /** Read a varint below 2^31 whose value is a length. Gives the bytes that it and what it measures take; NaN, which equals nothing, if it is none. */
  #length(bytes: Uint8Array, at: number): number {
    const length = this.#varint(bytes, at);
    return length < 0 ? Number.NaN : this.#end - at + length;
  }

  /** Read a varint below 2^31; -1 if it is none. */
  #varint(bytes: Uint8Array, at: number): number {
    const first = bytes[at] ?? 0xff;
    if (first >= 0x80) return this.#longVarint(bytes, at);
    this.#end = at + 1;
    return first;
  }

  #longVarint(bytes: Uint8Array, at: number): number {
    let value = (bytes[at] ?? 0) & 0x7f;
    let shift = 7;
    for (let next = at + 1; shift < 35; next++) {
      const byte = bytes[next] ?? 0xff;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.#end = next + 1;
        // Five bytes hold more than the 31 bits that are wanted.
        return shift < 28 || byte < 8 ? value : -1;
      }
      shift += 7;
    }
    return -1;
  }

  #entry(updateType: number, bytes: Uint8Array, from: number, to: number): boolean {
    if (bytes[from] !== tag.tableEntry.tableId) return false;
    const tableId = this.#varint(bytes, from + 1);
    if (tableId !== this.#tableId) {
      this.#table = this.#tables.get(tableId);
      this.#tableId = tableId;
    }
    const table = this.#table;
    if (table === undefined) return false;
    const { key } = table.bound;
    key.clear();
    let at = this.#end;
    let seen = 0;
    let priority = 0;
    let action: WireAction | undefined;
    while (at < to) {
      const next = bytes[at];
      if (next === tag.tableEntry.match) {
        const end = at + 1 + this.#length(bytes, at + 1);
        const bit = this.#match(table, key, bytes, this.#end, end);
        if (bit === 0 || (seen & bit) !== 0) return false;
        seen |= bit;
        at = end;
      } else if (next === tag.tableEntry.action) {
        if (action !== undefined) return false;
        const end = at + 1 + this.#length(bytes, at + 1);
        action = this.#action(table, bytes, this.#end, end);
        if (action === undefined) return false;
        at = end;
      } else if (next === tag.tableEntry.priority) {
        priority = this.#varint(bytes, at + 1);
        if (priority < 0) return false;
        at = this.#end;
      } else {
        return false;
      }
    }
    if (at !== to || (seen & table.needed) !== table.needed) return false;
    if (priority > 0 !== table.bound.schema.needsPriority) return false;
    key.priority = priority;
    return this.#carryOut(updateType, table.bound, key, action);
  }

  #carryOut(updateType: number, bound: BoundTable, key: EntryKey, action: WireAction | undefined): boolean {
    const { table } = bound;
    const before = table.matcher.same(key);
    switch (updateType) {
      case type.insert:
        if (before >= 0 || action === undefined || table.size >= bound.capacity) return false;
        table.performAction(table.insertNew(key, this.#now), action.actionIndex, action.data);
        return true;
      case type.modify:
        // Whatever is attached to an entry goes with its old action; who takes care of that reads messages.
        if (before < 0 || action === undefined || this.#hasExtras(table, before)) return false;
        table.performAction(before, action.actionIndex, action.data);
        return true;
      case type.delete:
        if (before < 0 || this.#hasExtras(table, before)) return false;
        table.remove(before);
        return true;
      default:
        return false;
    }
  }

  #hasExtras(table: Table, row: number): boolean {
    const extras = table.extras(table.store.handleOf(row));
    return extras?.isConst === true || extras?.note !== undefined;
  }

  /** The bit of the field that was put into the key; 0 if it is not plain and right. */
  #match(table: WireTable, key: EntryKey, bytes: Uint8Array, from: number, to: number): number {
    if (bytes[from] !== tag.fieldMatch.fieldId) return 0;
    const field = table.fieldOf[this.#varint(bytes, from + 1)];
    if (field === undefined || bytes[this.#end] !== field.tag) return 0;
    const at = this.#end + 1;
    if (at + this.#length(bytes, at) !== to) return 0;
    const { word, words, width, full } = field;
    const first = this.#end;
    if (bytes[first] !== tag.value.first) return 0;
    const middle = first + 1 + this.#length(bytes, first + 1);
    if (middle > to) return 0;
    const valueAt = this.#end;
    switch (field.kind) {
      case "EXACT":
        if (middle !== to) return 0;
        return putValue(key.value, word, words, width, bytes, valueAt, to) ? field.bit : 0;
      case "OPTIONAL":
        if (middle !== to) return 0;
        for (let i = 0; i < words; i++) key.mask[word + i] = full[i] ?? 0;
        return putValue(key.value, word, words, width, bytes, valueAt, to) ? field.bit : 0;
      case "LPM": {
        if (bytes[middle] !== tag.value.prefixLength) return 0;
        const prefixLength = this.#varint(bytes, middle + 1);
        const mask = field.prefixes[prefixLength];
        if (this.#end !== to || prefixLength <= 0 || mask === undefined) return 0;
        if (!putValue(key.value, word, words, width, bytes, valueAt, middle)) return 0;
        key.prefixLength = prefixLength;
        return putMask(key, word, mask) ? field.bit : 0;
      }
      default: {
        if (bytes[middle] !== tag.value.second) return 0;
        if (middle + 1 + this.#length(bytes, middle + 1) !== to) return 0;
        const secondAt = this.#end;
        if (field.kind === "TERNARY") {
          if (!putValue(key.value, word, words, width, bytes, valueAt, middle)) return 0;
          if (!putValue(key.mask, word, words, width, bytes, secondAt, to)) return 0;
          return isWithinMask(key, word, words) ? field.bit : 0;
        }
        const { ranges } = key;
        const { rangeAt } = field;
        if (!putValue(ranges, rangeAt, words, width, bytes, valueAt, middle)) return 0;
        if (!putValue(ranges, rangeAt + words, words, width, bytes, secondAt, to)) return 0;
        return isRange(ranges, rangeAt, words, full) ? field.bit : 0;
      }
    }
  }

  /** The action whose arguments are in `data` now; undefined if it is not plain and right. */
  #action(table: WireTable, bytes: Uint8Array, from: number, to: number): WireAction | undefined {
    if (bytes[from] !== tag.tableAction.action) return undefined;
    if (from + 1 + this.#length(bytes, from + 1) !== to) return undefined;
    let at = this.#end;
    if (bytes[at] !== tag.action.actionId) return undefined;
    const action = table.actions.get(this.#varint(bytes, at + 1));
    if (action === undefined) return undefined;
    const { widths, limits, placeOf } = action;
    const data = action.data;
    let seen = 0;
    at = this.#end;
    while (at < to) {
      if (bytes[at] !== tag.action.params) return undefined;
      const end = at + 1 + this.#length(bytes, at + 1);
      at = this.#end;
      if (bytes[at] !== tag.param.paramId) return undefined;
      const place = placeOf[this.#varint(bytes, at + 1)] ?? -1;
      at = this.#end;
      // Arguments come in the order of the action nearly always, and arrays are best filled from the front.
      if (place !== seen || bytes[at] !== tag.param.value) return undefined;
      if (at + 1 + this.#length(bytes, at + 1) !== end) return undefined;
      const from = this.#end;
      const limit = limits[place] ?? 0;
      if (limit > 0) {
        const value = narrowArgument(bytes, from, end);
        if (value >= limit || from >= end) return undefined;
        data[seen] = value;
      } else {
        const value = wideArgument(widths[place] ?? 0, bytes, from, end);
        if (value === undefined) return undefined;
        data[seen] = value;
      }
      seen++;
      at = end;
    }
    if (at !== to || seen !== widths.length) return undefined;
    return action;
  }
}

/** The value of an argument, or one that is larger than any. */
function narrowArgument(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let i = from; i < to; i++) value = value * 256 + (bytes[i] ?? 0);
  return value;
}

/** The value of an argument of more than 52 bits; undefined if it is empty or too wide. */
function wideArgument(width: number, bytes: Uint8Array, from: number, to: number): bigint | undefined {
  if (from >= to) return undefined;
  const value = bigintOf(bytes.subarray(from, to));
  return value > allOnes(width) ? undefined : value;
}

/** Puts a value that takes bytes `from` to `to` into `words` words; false if it is empty or has more than `width` bits. */
function putValue(
  into: Uint32Array,
  word: number,
  words: number,
  width: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): boolean {
  if (from >= to) return false;
  let first = from;
  while (bytes[first] === 0 && first < to - 1) first++;
  const length = to - first;
  const most = (width + 7) >> 3;
  if (length > most) return false;
  if (length === most && (width & 7) !== 0 && (bytes[first] ?? 0) >= 1 << (width & 7)) return false;
  let at = to;
  for (let i = word + words - 1; i >= word; i--) {
    let value = 0;
    const start = Math.max(at - 4, first);
    for (let j = start; j < at; j++) value = value * 256 + (bytes[j] ?? 0);
    into[i] = value;
    at = start;
  }
  return true;
}

/** Sets a prefix's mask; false if the value has bits outside of it. */
function putMask(key: EntryKey, word: number, mask: Uint32Array): boolean {
  const { value } = key;
  let outside = 0;
  for (let i = 0; i < mask.length; i++) {
    const bits = mask[i] ?? 0;
    key.mask[word + i] = bits;
    outside |= (value[word + i] ?? 0) & ~bits;
  }
  return outside === 0;
}

/** False if the mask is 0, which has to be left out, or the value has bits outside of it. */
function isWithinMask(key: EntryKey, word: number, words: number): boolean {
  let any = 0;
  let outside = 0;
  for (let i = word; i < word + words; i++) {
    const mask = key.mask[i] ?? 0;
    any |= mask;
    outside |= (key.value[i] ?? 0) & ~mask;
  }
  return any !== 0 && outside === 0;
}

/** False if the range is empty, or full, which has to be left out. */
function isRange(ranges: Uint32Array, at: number, words: number, full: Uint32Array): boolean {
  let order = 0;
  let isFull = true;
  for (let i = 0; i < words; i++) {
    const low = ranges[at + i] ?? 0;
    const high = ranges[at + words + i] ?? 0;
    if (order === 0 && low !== high) order = low < high ? 1 : -1;
    if (low !== 0 || high !== full[i]) isFull = false;
  }
  return order >= 0 && !isFull;
}
