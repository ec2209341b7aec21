import type { Init } from "../../../p4info/message/descriptor.ts";
import { didYouMean } from "../../../p4info/suggest.ts";
import { bigintOf } from "../../../p4runtime/values.ts";
import type { DataField, KeyField, TableEntry } from "./generated/bfruntime.ts";

/** A value of a field: numbers of any width, words of an enumeration, or switches. Arrays of numbers are only read. */
export type FieldValue = bigint | number | string | boolean | readonly bigint[];
export type Fields = Readonly<Record<string, FieldValue>>;

interface Field {
  readonly id: number;
  readonly name: string;
  readonly type: "number" | "string" | "bool";
  /** Of numbers. */
  readonly bits: number;
}

/** One table of a bf-rt.json. */
export interface BfTable {
  readonly id: number;
  readonly name: string;
  readonly keys: readonly Field[];
  /** Of the table, or of all its actions. */
  readonly data: readonly Field[];
  readonly actions: ReadonlyMap<string, { readonly id: number; readonly data: readonly Field[] }>;
}

/** A table, field or action that this switch has not. */
export class BfTableError extends Error {
  override readonly name = "BfTableError";
}

/** The tables of a switch, from the JSON files that it gives: of its program, and of what is fixed in it. */
export class BfTables {
  readonly #tables = new Map<string, BfTable>();

  /** @throws BfTableError when a text is no bf-rt.json */
  constructor(texts: readonly string[]) {
    for (const text of texts) {
      const file = recordOf(parsed(text), "bf-rt.json");
      for (const table of listOf(file.tables, "tables").map(tableOf)) this.#tables.set(table.name, table);
    }
  }

  /** @throws BfTableError with a name that is near */
  table(name: string): BfTable {
    const found = this.#tables.get(name);
    if (found !== undefined) return found;
    throw new BfTableError(`there is no table ${name}${didYouMean(name, [...this.#tables.keys()])}`);
  }

  has(name: string): boolean {
    return this.#tables.has(name);
  }
}

/** @throws BfTableError when a field is not the table's, or a value does not fit it */
export function entryOf(table: BfTable, key: Fields, data: Fields = {}, action?: string): Init<TableEntry> {
  const found = action === undefined ? undefined : table.actions.get(action);
  if (action !== undefined && found === undefined)
    throw new BfTableError(
      `table ${table.name} has no action ${action}${didYouMean(action, [...table.actions.keys()])}`,
    );
  const fields = [...table.data, ...(found?.data ?? [])];
  return {
    tableId: table.id,
    value: {
      case: "key",
      value: {
        fields: Object.entries(key).map(([name, value]): Init<KeyField> => {
          const field = fieldOf(table, table.keys, name);
          return {
            fieldId: field.id,
            matchType: { case: "exact", value: { value: bytesOf(table, field, value) } },
          };
        }),
      },
    },
    data: {
      actionId: found?.id ?? 0,
      fields: Object.entries(data).map(([name, value]) =>
        dataField(table, fieldOf(table, fields, name), value),
      ),
    },
  };
}

/** The data of an entry that was read, by the names of its fields. What comes once for each pipe is an array. */
export function dataOf(table: BfTable, entry: TableEntry): Fields {
  const found: Record<string, FieldValue> = {};
  const actions = [...table.actions.values()].flatMap((a) => a.data);
  for (const { fieldId, value } of entry.data?.fields ?? []) {
    const field = [...table.data, ...actions].find((f) => f.id === fieldId);
    if (field === undefined || value === undefined) continue;
    const before = found[field.name];
    if (value.case === "stream") {
      const number = bigintOf(value.value);
      found[field.name] =
        before === undefined ? number : [...(Array.isArray(before) ? before : [before]), number];
    } else if (value.case === "intArrVal") found[field.name] = value.value.val.map(BigInt);
    else found[field.name] = value.value;
  }
  return found;
}

function fieldOf(table: BfTable, fields: readonly Field[], name: string): Field {
  const found = fields.find((field) => field.name === name);
  if (found !== undefined) return found;
  const near = didYouMean(
    name,
    fields.map((field) => field.name),
  );
  throw new BfTableError(`table ${table.name} has no field ${name}${near}`);
}

function dataField(table: BfTable, field: Field, value: FieldValue): Init<DataField> {
  const fieldId = field.id;
  if (field.type === "bool" && typeof value === "boolean")
    return { fieldId, value: { case: "boolVal", value } };
  if (field.type === "string" && typeof value === "string")
    return { fieldId, value: { case: "strVal", value } };
  return { fieldId, value: { case: "stream", value: bytesOf(table, field, value) } };
}

/** Exactly as many bytes as the field's bits take: unlike in P4Runtime, none may be left out. */
function bytesOf(table: BfTable, field: Field, value: FieldValue): Uint8Array {
  const fits =
    field.type === "number" &&
    (typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value))) &&
    BigInt(value) === BigInt.asUintN(field.bits, BigInt(value));
  if (!fits) {
    const wanted = field.type === "number" ? `a number of ${field.bits} bits` : `a ${field.type}`;
    throw new BfTableError(`${field.name} of table ${table.name} is ${String(value)}; it takes ${wanted}`);
  }
  const bytes = new Uint8Array(Math.ceil(field.bits / 8));
  let rest = BigInt(value);
  for (let i = bytes.length - 1; i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 0xffn);
  return bytes;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BfTableError(`bf-rt.json: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function tableOf(value: unknown): BfTable {
  const table = recordOf(value, "a table");
  const name = String(table.name);
  const actions = listOf(table.action_specs ?? [], `actions of ${name}`).map((spec) => {
    const action = recordOf(spec, `an action of ${name}`);
    const data = listOf(action.data ?? [], `data of ${name}`).flatMap((field) => fieldFrom(field, name));
    return [String(action.name), { id: Number(action.id), data }] as const;
  });
  return {
    id: Number(table.id),
    name,
    keys: listOf(table.key ?? [], `keys of ${name}`).flatMap((field) => fieldFrom(field, name)),
    data: listOf(table.data ?? [], `data of ${name}`).flatMap((field) => fieldFrom(field, name)),
    actions: new Map(actions),
  };
}

/** A field stands alone, or is one of several in a `oneof`. */
function fieldFrom(value: unknown, table: string): readonly Field[] {
  const outer = recordOf(value, `a field of ${table}`);
  if (Array.isArray(outer.oneof)) return outer.oneof.flatMap((field) => fieldFrom(field, table));
  const field = outer.singleton === undefined ? outer : recordOf(outer.singleton, `a field of ${table}`);
  const type = recordOf(field.type ?? {}, `the type of a field of ${table}`);
  const word = String(type.type ?? "bytes");
  const bits = word === "bytes" ? Number(type.width ?? 0) : Number(/\d+$/.exec(word)?.[0] ?? 0);
  const kind = word === "bool" || word === "string" ? word : "number";
  return [{ id: Number(field.id), name: String(field.name), type: kind, bits }];
}

function recordOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new BfTableError(`${what} is no object`);
  return Object.fromEntries(Object.entries(value));
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new BfTableError(`${what}: no list`);
  return value;
}
