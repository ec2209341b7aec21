import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import { decodeMatch, encodeMatch } from "../../p4runtime/match.ts";
import type {
  Update_Type,
  ValueSetEntry,
  ValueSetMember,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import type { Schema, ValueSetSchema } from "../../p4runtime/schema.ts";
import { invalidArgument, notFound, StatusError, unimplemented } from "./status.ts";
import type { TargetProgram } from "./target.ts";

/** Parse value sets (P4Runtime specification 9.6): each holds whole members, which a write replaces. */
export class ValueSetStore {
  readonly #schema: Schema;
  readonly #program: TargetProgram;
  /** By id; each member is one value per field. */
  readonly #members = new Map<number, readonly (readonly bigint[])[]>();

  constructor(schema: Schema, program: TargetProgram) {
    this.#schema = schema;
    this.#program = program;
  }

  write(type: Update_Type, message: ValueSetEntry): void {
    if (type !== "MODIFY") throw invalidArgument("value sets can only be modified");
    const set = this.#set(message.valueSetId);
    if (set.size > 0 && message.members.length > set.size)
      throw new StatusError(
        Code.RESOURCE_EXHAUSTED,
        `value set ${set.name} has room for ${set.size} members, not ${message.members.length}`,
      );
    const seen = new Set<string>();
    const members = message.members.map((member) => {
      const values = valuesOf(set, member);
      const key = values.join();
      if (seen.has(key))
        throw new StatusError(Code.ALREADY_EXISTS, `value set ${set.name}: a member is given twice`);
      seen.add(key);
      return values;
    });
    // The switch knows a member as its fields one after the other.
    const joined = members.map((values) =>
      values.reduce((bits, value, i) => (bits << BigInt(set.fields.all[i]?.bitwidth ?? 0)) | value, 0n),
    );
    this.#program.setValueSet(set, joined);
    this.#members.set(set.id, members);
  }

  read(message: ValueSetEntry): Init<ValueSetEntry>[] {
    const sets = message.valueSetId === 0 ? this.#schema.valueSets.all : [this.#set(message.valueSetId)];
    return sets.map((set) => ({
      valueSetId: set.id,
      members: (this.#members.get(set.id) ?? []).map((values) => ({
        match: set.fields.all.map((field, i) =>
          encodeMatch(field, { kind: "EXACT", value: values[i] ?? 0n }),
        ),
      })),
    }));
  }

  #set(id: number): ValueSetSchema {
    const set = this.#schema.valueSets.find(id);
    if (set !== undefined) return set;
    throw id === 0
      ? invalidArgument("the value set has no id")
      : notFound(`there is no value set with id 0x${id.toString(16)}`);
  }
}

function valuesOf(set: ValueSetSchema, member: ValueSetMember): bigint[] {
  const values = new Map<number, bigint>();
  for (const message of member.match) {
    const field = set.fields.byId(message.fieldId);
    if (values.has(field.id)) throw invalidArgument(`${field.where} is given twice`);
    const match = decodeMatch(field, message);
    if (match.kind !== "EXACT") throw unimplemented(`${field.where}: only exact members are supported`);
    values.set(field.id, match.value);
  }
  return set.fields.all.map((field) => {
    const value = values.get(field.id);
    if (value === undefined) throw invalidArgument(`${field.where} is missing`);
    return value;
  });
}
