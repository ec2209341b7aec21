import type { ContentList } from "../contents.ts";
import type { Diagnostic } from "../diagnostics.ts";
import type { Control, Table } from "../program.ts";
import { type DataType, typeName, widthOf } from "../types.ts";
import { hasWidth } from "./types.ts";

type Report = (d: Diagnostic) => void;

/** What the control plane is to write fits its table. A list that many tables share is gone through once for each form of table. */
export class ContentsChecker {
  readonly #report: Report;
  readonly #known = new Map<ContentList, Map<string, string | undefined>>();

  constructor(report: Report) {
    this.#report = report;
  }

  table({ name, key, actions, size, constEntries, contents, at }: Table, control: Control): void {
    if (contents === undefined) return;
    const { action, list } = contents;
    const refuse = (code: Diagnostic["code"], message: string): void =>
      this.#report({ code, message: `contents of table ${name}: ${message}`, at });
    if (constEntries.length > 0) refuse("GP1405", "it has entries of the program already");
    if (key.length === 0) refuse("GP1408", "it has no key");
    const inexact = key.find((k) => k.match !== "exact");
    if (inexact !== undefined) refuse("GP1405", `${inexact.name} is ${inexact.match}; only exact fields go`);
    if (list.rows.length > size) refuse("GP1401", `${list.rows.length} entries, and room for ${size}`);
    if (!actions.includes(action)) refuse("GP1403", `${action} is not among its actions`);
    const parameters = control.actions.find((a) => a.name === action)?.parameters;
    if (parameters === undefined) return;
    const columns = [...key.map((k) => ({ name: k.name, type: k.expression.type })), ...parameters];
    const wrong = this.#misfit(list, columns, key.length);
    if (wrong !== undefined) refuse("GP1405", wrong);
  }

  #misfit(
    list: ContentList,
    columns: readonly { readonly name: string; readonly type: DataType }[],
    keys: number,
  ): string | undefined {
    const form = columns.map((c) => `${c.name} ${typeName(c.type)}`).join();
    const known = this.#known.get(list) ?? new Map<string, string | undefined>();
    this.#known.set(list, known);
    if (!known.has(form)) known.set(form, misfit(list, columns, keys));
    return known.get(form);
  }
}

function misfit(
  { rows }: ContentList,
  columns: readonly { readonly name: string; readonly type: DataType }[],
  keys: number,
): string | undefined {
  const limits = columns.map(({ type }) => (hasWidth(type) ? 2 ** widthOf(type) : 2));
  const seen = new Map<string, number>();
  for (const [i, row] of rows.entries()) {
    const where = `row ${i + 1} (${row.join(" ")})`;
    if (row.length !== columns.length)
      return `${where} has ${row.length} values for ${columns.map((c) => c.name).join(", ")}`;
    for (const [at, value] of row.entries())
      if (!Number.isSafeInteger(value) || value < 0 || value >= (limits[at] ?? 0)) {
        const column = columns[at];
        return `${where}: ${value} is not a value for ${column?.name}, which is ${column === undefined ? "nothing" : typeName(column.type)}`;
      }
    const match = row.slice(0, keys).join(" ");
    const before = seen.get(match);
    if (before !== undefined) return `${where} matches what row ${before + 1} matches`;
    seen.set(match, i);
  }
  return undefined;
}
