import type { P4Info } from "../p4info/generated/p4info.ts";
import { type Entity, type EntityBuilder, entityKey, type Schema } from "../p4runtime/index.ts";
import { OWNER } from "./owner.ts";
import type { WantedEntry } from "./wantedstate.ts";

/** Keys of pooled entries: those are compared again and again. */
const KEYS = new WeakMap<Entity, string>();

/** `entityKey`, made once for an entry of a pool. @throws EntityError */
export function keyOf(entity: Entity, schema: Schema): string {
  return KEYS.get(entity) ?? entityKey(entity, schema);
}

/**
 * Entries that many switches have alike, such as routes: of 200 leaves nearly all that one has the others have, too. Each is made, checked and
 * kept once, whatever the number of switches. For entries that come from topology and program only: nothing is ever given back.
 */
export class EntityPool {
  readonly #entries = new WeakMap<P4Info, Map<string, Entity>>();

  /** The entry as a message, with the mark of the controller. @throws EntityError */
  entry(builder: EntityBuilder, { table, match, action, params }: WantedEntry): Entity {
    const { schema } = builder;
    let entries = this.#entries.get(schema.info);
    if (entries === undefined) {
      entries = new Map();
      this.#entries.set(schema.info, entries);
    }
    let text = `${table} ${action}`;
    for (const field in match) text += ` ${field}=${match[field]}`;
    text += " :";
    for (const param in params) text += ` ${param}=${params[param]}`;
    let entity = entries.get(text);
    if (entity === undefined) {
      entity = builder.tableEntry(table, match, action, params, { metadata: OWNER });
      KEYS.set(entity, entityKey(entity, schema));
      entries.set(text, entity);
    }
    return entity;
  }
}
