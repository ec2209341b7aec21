import type { DataType, MetadataField } from "../../../ir/index.ts";
import { widthOf } from "../../../ir/index.ts";
import type { Json } from "./json.ts";
import { metadataField } from "./values.ts";

/** The fields of the scalars: user metadata, variables of actions, temporaries. */
export class Scalars {
  readonly #fields = new Map<string, DataType>();
  #temporaries = 0;

  constructor(metadata: readonly MetadataField[]) {
    for (const m of metadata) this.#fields.set(metadataField(m.name), m.type);
  }

  /** A named variable; the same name gives the same field. */
  field(name: string, type: DataType): string {
    if (!this.#fields.has(name)) this.#fields.set(name, type);
    return name;
  }

  temporary(type: DataType): string {
    return this.field(`tmp_${this.#temporaries++}`, type);
  }

  /** As a BMv2 header type has them, filled to whole bytes. */
  fieldList(): readonly Json[] {
    return fieldList([...this.#fields].map(([name, type]) => ({ name, type })));
  }
}

/** `[name, width, signed]` for each field, with padding to a whole number of bytes. */
export function fieldList(
  fields: readonly { readonly name: string; readonly type: DataType }[],
): readonly Json[] {
  const list: Json[] = fields.map((f) => [f.name, widthOf(f.type), f.type.kind === "int"]);
  const width = fields.reduce((sum, f) => sum + widthOf(f.type), 0);
  if (width % 8 !== 0) list.push(["_padding", 8 - (width % 8), false]);
  return list;
}
