import { bytesOf } from "../../p4runtime/values.ts";
import type { Table } from "../tables/table.ts";
import type { BoundTable } from "./bound-table.ts";

/** Tags (field number and wire type) of the messages that are written here. */
const tag = {
  readResponse: { entity: 0x0a },
  entity: { tableEntry: 0x12 },
  tableEntry: { tableId: 0x08, match: 0x12, action: 0x1a, priority: 0x20 },
  fieldMatch: { fieldId: 0x08, exact: 0x12, ternary: 0x1a, lpm: 0x22, range: 0x32, optional: 0x3a },
  value: { first: 0x0a, second: 0x12, prefixLength: 0x10 },
  tableAction: { action: 0x0a },
  action: { actionId: 0x08, params: 0x22 },
  param: { paramId: 0x10, value: 0x1a },
} as const;

/** Bytes that a field or parameter takes beside its values, at most: tags, lengths, ids. */
const overhead = 32;

type ValueTag = (typeof tag.fieldMatch)[keyof typeof tag.fieldMatch];

interface FieldBytes {
  readonly id: number;
  readonly tag: ValueTag;
  readonly word: number;
  readonly words: number;
  /** First word of a range's bounds. */
  readonly rangeAt: number;
}

interface ActionBytes {
  readonly id: number;
  /** Ids of the parameters, in the action's order. */
  readonly params: readonly number[];
}

interface TableBytes {
  readonly id: number;
  /** In the order of the P4Info. */
  readonly fields: readonly FieldBytes[];
  /** By the switch's index. */
  readonly actions: ReadonlyMap<number, ActionBytes>;
}

function tagOf({ schema, field }: BoundTable["fields"][number]): ValueTag {
  switch (field.kind) {
    case "exact":
      return tag.fieldMatch.exact;
    case "lpm":
      return tag.fieldMatch.lpm;
    case "range":
      return tag.fieldMatch.range;
    case "optional":
      return tag.fieldMatch.optional;
    default:
      // Compilers write optional fields as ternary ones.
      return schema.kind === "OPTIONAL" ? tag.fieldMatch.optional : tag.fieldMatch.ternary;
  }
}

function tableBytes(bound: BoundTable): TableBytes {
  const { layout } = bound.table;
  const fields = bound.fields.map((ref) => {
    const { word, words } = ref.field;
    const rangeAt = layout.rangeAt[layout.rangeIndex[ref.index] ?? -1] ?? 0;
    return { id: ref.schema.id, tag: tagOf(ref), word, words, rangeAt };
  });
  const actions = new Map<number, ActionBytes>();
  for (const { schema, actionIndex, widths } of bound.actions.values())
    if (schema.params.all.length === widths.length)
      actions.set(actionIndex, { id: schema.id, params: schema.params.all.map(({ id }) => id) });
  return { id: bound.schema.id, fields, actions };
}

/** Bytes that no entry of a table exceeds. */
function mostBytes({ fields, actions }: BoundTable): number {
  const ofFields = fields.reduce((sum, { field }) => sum + 8 * field.words + overhead, 0);
  const ofActions = [...actions.values()].map(({ widths }) =>
    widths.reduce((sum, width) => sum + (width >> 3) + overhead, 0),
  );
  return 2 * overhead + ofFields + Math.max(0, ...ofActions);
}

/**
 * Table entries as they stand in a ReadResponse, written straight from the rows of the table, without messages in between: those to which nothing
 * is attached, and which perform an action. The same bytes as of their messages. Written from the end, so that each length is known when
 * its place comes.
 */
export class EntryBytes {
  readonly #tables = new Map<Table, TableBytes>();
  /** The entry is at the end of this. */
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(tables: readonly BoundTable[]) {
    // An action profile's members and groups go the long way.
    const plain = tables.filter(({ schema }) => schema.implementation === undefined);
    for (const bound of plain) this.#tables.set(bound.table, tableBytes(bound));
    this.#bytes = new Uint8Array(Math.max(0, ...plain.map(mostBytes)));
  }

  /** A ReadResponse with the entry in a row alone, in memory that is used again for the next; undefined if it must be written as a message. */
  of(table: Table, row: number): Uint8Array | undefined {
    const known = this.#tables.get(table);
    const { store } = table;
    const action = known?.actions.get(store.actions[row] ?? -1);
    if (known === undefined || action === undefined || table.hasExtras(row)) return undefined;
    const end = this.#bytes.length;
    this.#at = end;
    const priority = store.shape.hasPriorities ? (store.priorities[row] ?? 0) : 0;
    if (priority > 0) {
      this.#varint(priority);
      this.#byte(tag.tableEntry.priority);
    }
    this.#action(table, row, action);
    for (let i = known.fields.length - 1; i >= 0; i--) {
      const field = known.fields[i];
      if (field !== undefined) this.#match(table, row, field);
    }
    this.#varint(known.id);
    this.#byte(tag.tableEntry.tableId);
    this.#nested(tag.entity.tableEntry, end);
    this.#nested(tag.readResponse.entity, end);
    return this.#bytes.subarray(this.#at);
  }

  #byte(value: number): void {
    this.#bytes[--this.#at] = value;
  }

  #varint(value: number): void {
    if (value < 0x80) {
      this.#byte(value);
      return;
    }
    let length = 1;
    for (let rest = value >>> 7; rest > 0; rest >>>= 7) length++;
    this.#at -= length;
    let rest = value;
    for (let i = 0; i < length - 1; i++) {
      this.#bytes[this.#at + i] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#at + length - 1] = rest;
  }

  /** Makes what was written since `end` a field. */
  #nested(fieldTag: number, end: number): void {
    this.#varint(end - this.#at);
    this.#byte(fieldTag);
  }

  #action(table: Table, row: number, action: ActionBytes): void {
    const { args, shape } = table.store;
    const first = row * shape.parameters;
    const end = this.#at;
    for (let i = action.params.length - 1; i >= 0; i--) {
      const paramEnd = this.#at;
      const value = args[first + i] ?? 0;
      if (typeof value === "number") this.#number(value);
      else this.#copy(bytesOf(value));
      this.#nested(tag.param.value, paramEnd);
      this.#varint(action.params[i] ?? 0);
      this.#byte(tag.param.paramId);
      this.#nested(tag.action.params, paramEnd);
    }
    this.#varint(action.id);
    this.#byte(tag.action.actionId);
    this.#nested(tag.tableAction.action, end);
    this.#nested(tag.tableEntry.action, end);
  }

  #match(table: Table, row: number, field: FieldBytes): void {
    const { store, layout, matcher } = table;
    const { word, words } = field;
    const end = this.#at;
    const valueAt = row * layout.words + word;
    switch (field.tag) {
      case tag.fieldMatch.exact:
        break;
      case tag.fieldMatch.range: {
        const at = row * layout.rangeWords + field.rangeAt;
        if (isFullRange(store.ranges, at, words, table, field)) return;
        this.#words(store.ranges, at + words, words);
        this.#nested(tag.value.second, end);
        const middle = this.#at;
        this.#words(store.ranges, at, words);
        this.#nested(tag.value.first, middle);
        this.#endMatch(field, end);
        return;
      }
      default: {
        const mask = matcher.maskOf(row);
        if (isZero(mask, word, words)) return;
        if (field.tag === tag.fieldMatch.lpm) {
          this.#varint(store.prefixLengths[row] ?? 0);
          this.#byte(tag.value.prefixLength);
        } else if (field.tag === tag.fieldMatch.ternary) {
          this.#words(mask, word, words);
          this.#nested(tag.value.second, end);
        }
      }
    }
    const middle = this.#at;
    this.#words(store.keys, valueAt, words);
    this.#nested(tag.value.first, middle);
    this.#endMatch(field, end);
  }

  #endMatch(field: FieldBytes, end: number): void {
    this.#nested(field.tag, end);
    this.#varint(field.id);
    this.#byte(tag.fieldMatch.fieldId);
    this.#nested(tag.tableEntry.match, end);
  }

  /** A value of several words, without zeros in front. */
  #words(words: Uint32Array, at: number, count: number): void {
    let first = at;
    const last = at + count - 1;
    while (first < last && words[first] === 0) first++;
    for (let i = last; i > first; i--) {
      const word = words[i] ?? 0;
      this.#byte(word);
      this.#byte(word >>> 8);
      this.#byte(word >>> 16);
      this.#byte(word >>> 24);
    }
    let word = words[first] ?? 0;
    do {
      this.#byte(word);
      word >>>= 8;
    } while (word > 0);
  }

  /** A value below 2^53. */
  #number(value: number): void {
    let low = value >>> 0;
    const high = (value - low) / 2 ** 32;
    if (high > 0) {
      for (let i = 0; i < 4; i++) {
        this.#byte(low);
        low >>>= 8;
      }
      low = high;
    }
    do {
      this.#byte(low);
      low >>>= 8;
    } while (low > 0);
  }

  #copy(value: Uint8Array): void {
    this.#at -= value.length;
    this.#bytes.set(value, this.#at);
  }
}

function isZero(words: Uint32Array, at: number, count: number): boolean {
  for (let i = at; i < at + count; i++) if (words[i] !== 0) return false;
  return true;
}

function isFullRange(
  ranges: Uint32Array,
  at: number,
  words: number,
  table: Table,
  field: FieldBytes,
): boolean {
  const { fullRanges } = table.layout;
  for (let i = 0; i < 2 * words; i++) if (ranges[at + i] !== fullRanges[field.rangeAt + i]) return false;
  return true;
}
