import { EntityError } from "./entity-error.ts";
import type { FieldMap, FieldSchema } from "./schema.ts";

/** Values by field id; two names of one field are refused. @throws EntityError */
export function fieldValues<V, F extends FieldSchema>(
  values: Readonly<Record<string, V>>,
  fields: FieldMap<F>,
): Map<number, V> {
  const found = new Map<number, V>();
  for (const [name, value] of Object.entries(values)) {
    const field = fields.byName(name);
    if (found.has(field.id)) throw new EntityError("unexpected", field.where, "it is given twice");
    found.set(field.id, value);
  }
  return found;
}
