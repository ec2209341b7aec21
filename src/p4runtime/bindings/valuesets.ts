import type { CallOptions } from "../connection.ts";
import { type MatchInputs, modify } from "../entities.ts";
import type { ValueSetSchema } from "../schema.ts";
import type { Value } from "../values.ts";
import type { BoundClient } from "./client.ts";
import { readMatch } from "./entries.ts";
import type { ReadFields } from "./fields.ts";

/** What a member of a value set is read as: by field, or the value itself where the set's one field has no name. */
export type ReadMember<M> = M extends Value ? bigint : ReadFields<M>;

/** A set of values that the parser compares with (P4Runtime specification 9.6). It is changed as a whole. */
export interface ValueSet<M> {
  /** @throws EntityError for more members than there is room for, or a value that does not fit. */
  set(members: readonly M[], options?: CallOptions): Promise<void>;
  read(options?: CallOptions): Promise<readonly ReadMember<M>[]>;
}

/** A value set whose members are `M`: an object by field name, or a value when the program gives the one field no name (`value_set<bit<16>>`). */
export function bindValueSet<M extends MatchInputs | Value>(client: BoundClient, name: string): ValueSet<M> {
  const schema = (): ValueSetSchema => client.schema.valueSets.get(name);
  return {
    async set(members, options) {
      const inputs = members.map((member): MatchInputs => (isValue(member) ? { "": member } : member));
      await client.write([modify(client.entities.valueSet(name, inputs))], options);
    },
    async read(options) {
      const set = schema();
      const [first] = set.fields.all;
      for await (const { entity } of client.read([client.entities.valueSet(name)], options)) {
        if (entity?.case !== "valueSetEntry") continue;
        return entity.value.members.map(({ match }) => {
          const fields = readMatch(set, match);
          // The names and widths of the program decide what is read; M was made from the same program.
          return (first?.name === "" ? fields[""] : fields) as ReadMember<M>;
        });
      }
      return [];
    },
  };
}

function isValue(member: MatchInputs | Value): member is Value {
  return typeof member !== "object" || member instanceof Uint8Array;
}
