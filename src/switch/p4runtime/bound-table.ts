import type { Match } from "../../p4runtime/match.ts";
import type { ActionSchema, MatchFieldSchema, TableSchema } from "../../p4runtime/schema.ts";
import type { ResolvedAction, Table } from "../tables/table.ts";
import type { TableEntry } from "../tables/table-entry.ts";
import { EntryKey, type KeyField, type MatchField } from "../tables/table-key.ts";
import { type BoundAction, boundActionOf } from "./action-spec.ts";

/** What a table holds when the P4Info does not say (the default of P4 compilers). */
const DEFAULT_SIZE = 1024;

/** An action of a table, as the P4Info has it and as the switch has it. */
export interface TableActionRef {
  readonly schema: ActionSchema;
  readonly actionIndex: number;
  /** Widths of the parameters in the switch, in the order of the P4Info. */
  readonly widths: readonly number[];
  readonly isForEntries: boolean;
}

/** A field of a table's key, as the P4Info has it and as the switch has it. */
export interface TableFieldRef {
  readonly schema: MatchFieldSchema;
  readonly field: KeyField;
  /** Place in the key. */
  readonly index: number;
}

/** A table of the switch together with what the P4Info says of it. */
export class BoundTable {
  readonly schema: TableSchema;
  readonly table: Table;
  /** Entries that there is room for. */
  readonly capacity: number;
  readonly fields: readonly TableFieldRef[];
  /** By id; none when an action profile implements the table. */
  readonly actions: ReadonlyMap<number, TableActionRef>;
  readonly initialDefault: BoundAction | undefined;
  /** No entry can be added or removed. The switch's program does not tell whether its entries are const; the P4Info does. */
  readonly isConst: boolean;
  /** Filled for one operation after the other. */
  readonly key: EntryKey;
  readonly #actionsByIndex = new Map<number, TableActionRef>();

  constructor(schema: TableSchema, table: Table) {
    this.schema = schema;
    this.table = table;
    this.capacity = Math.min(schema.size > 0 ? schema.size : DEFAULT_SIZE, table.capacity);
    this.key = new EntryKey(table.layout);
    this.isConst = schema.isConst || (table.description.isConst && !schema.hasInitialEntries);
    this.fields = schema.fields.all.flatMap((field, index) => {
      const own = table.description.key[index];
      return own === undefined ? [] : [{ schema: field, field: own, index }];
    });
    const actions = new Map<number, TableActionRef>();
    for (const [id, { action, scope }] of schema.actions) {
      const own = schema.implementation === undefined ? table.action(action.name) : undefined;
      if (own === undefined) continue;
      const ref: TableActionRef = {
        schema: action,
        actionIndex: own.actionIndex,
        widths: own.parameterWidths,
        isForEntries: scope !== "DEFAULT_ONLY",
      };
      actions.set(id, ref);
      this.#actionsByIndex.set(own.actionIndex, ref);
    }
    this.actions = actions;
    const initial = table.defaultEntry?.action;
    this.initialDefault =
      initial?.kind === "action"
        ? boundActionOf(schema, { name: initial.action, args: initial.parameters })
        : undefined;
  }

  /** Fill the key, or another of this table's layout. @throws SwitchRuntimeError when a value is too wide for the switch */
  fillKey(match: readonly (Match | undefined)[], priority: number, key = this.key): EntryKey {
    key.fill(this.schema.name, match.map(fieldOf), priority);
    return key;
  }

  /** @throws SwitchRuntimeError when an argument is too wide for the switch */
  resolve(action: BoundAction): ResolvedAction {
    return this.table.resolve({ kind: "action", action: action.schema.name, parameters: action.args });
  }

  /** Entries of the program itself can be changed where the table is not const. */
  isConstEntry(entry: TableEntry): boolean {
    return this.isConst && entry.isConst;
  }

  /** The action that an entry of the switch performs; undefined for one that the P4Info does not have here. */
  actionByIndex(actionIndex: number): TableActionRef | undefined {
    return this.#actionsByIndex.get(actionIndex);
  }
}

function fieldOf(match: Match | undefined): MatchField | undefined {
  switch (match?.kind) {
    case undefined:
      return undefined;
    case "EXACT":
      return { kind: "exact", value: match.value };
    case "OPTIONAL":
      return { kind: "optional", value: match.value };
    case "LPM":
      return { kind: "lpm", value: match.value, prefixLength: match.prefixLength };
    case "TERNARY":
      return { kind: "ternary", value: match.value, mask: match.mask };
    case "RANGE":
      return { kind: "range", low: match.low, high: match.high };
  }
}

/** A match of the switch as the field of the P4Info has it. */
export function matchOf(schema: MatchFieldSchema, field: MatchField | undefined): Match | undefined {
  switch (field?.kind) {
    case undefined:
      return undefined;
    case "exact":
      return { kind: "EXACT", value: field.value };
    case "optional":
      return { kind: "OPTIONAL", value: field.value };
    case "lpm":
      return { kind: "LPM", value: field.value, prefixLength: field.prefixLength };
    case "ternary":
      // Compilers write optional fields as ternary ones.
      return schema.kind === "OPTIONAL"
        ? { kind: "OPTIONAL", value: field.value }
        : { kind: "TERNARY", value: field.value, mask: field.mask };
    case "range":
      return { kind: "RANGE", low: field.low, high: field.high };
  }
}
