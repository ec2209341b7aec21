import type { DataType, KeySet, MatchKind } from "../../ir/index.ts";
import { braces, concat, type Doc, list } from "./layout.ts";
import { keySet, literal } from "./literals.ts";

/** What a table declaration says, the same for every target. */
export interface TableText {
  readonly name: string;
  readonly local: string;
  readonly key: readonly {
    readonly name: string;
    readonly expression: Doc;
    readonly match: MatchKind;
    readonly type: DataType;
  }[];
  readonly actions: readonly { readonly local: string; readonly defaultOnly: boolean }[];
  readonly size: number;
  readonly defaultAction: CallText & { readonly constant: boolean };
  readonly entries: readonly (CallText & { readonly keys: readonly KeySet[] })[];
  /** Further properties of the target, such as `counters = ...`. */
  readonly properties: readonly string[];
}

interface CallText {
  readonly local: string;
  readonly arguments: readonly {
    readonly value: bigint;
    readonly type: DataType;
    /** The constant that stands for it. */
    readonly name?: string | undefined;
  }[];
}

export function tableText(t: TableText): Doc {
  const body: Doc[] = [];
  if (t.key.length > 0)
    body.push(
      braces(
        "key =",
        t.key.map((k) => concat(k.expression, `: ${k.match} @name(${quote(k.name)});`)),
      ),
    );
  body.push(
    braces(
      "actions =",
      t.actions.map((a) => `${a.defaultOnly ? "@defaultonly " : ""}${a.local};`),
    ),
  );
  // Without a key there is one entry, the default one; constant entries are counted by the compiler.
  if (t.key.length > 0 && t.entries.length === 0) body.push(`size = ${t.size};`);
  body.push(...t.properties);
  if (t.entries.length > 0)
    body.push(
      braces(
        "const entries =",
        t.entries.map((entry) => concat(keys(entry.keys, t), ": ", call(entry), ";")),
      ),
    );
  body.push(
    concat(t.defaultAction.constant ? "const " : "", "default_action = ", call(t.defaultAction), ";"),
  );
  return concat(nameAnnotation(t.name), braces(`table ${t.local}`, body));
}

/** The control-plane name, absolute, so that it does not depend on where the object stands. */
export function nameAnnotation(name: string): Doc {
  return concat(`@name(${quote(`.${name}`)})`, { kind: "line", flat: "", hard: true });
}

export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

function keys(sets: readonly KeySet[], t: TableText): Doc {
  const printed = sets.map((set, i) => {
    const key = t.key[i];
    return keySet(set, key?.type ?? { kind: "bit", width: 1 }, key?.match === "range");
  });
  return printed.length === 1 ? (printed[0] ?? "") : list("(", printed, ")");
}

function call(c: CallText): Doc {
  return concat(
    c.local,
    list(
      "(",
      c.arguments.map((a) => a.name ?? literal(a.value, a.type, false)),
      ")",
    ),
  );
}
