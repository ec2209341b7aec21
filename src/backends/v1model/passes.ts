import type { Expression, MetadataField, MetadataReference, Program, SendAgain } from "../../ir/index.ts";
import { bit, bool } from "../../ir/index.ts";
import { placedStatements } from "../../ir/walk.ts";
import { Names } from "../p4text/names.ts";
import type { LoweredBlock, Step } from "./lowered.ts";

/** What a packet keeps on its way to another pass through ingress: fields of the metadata, by the number of their list. */
export interface FieldList {
  readonly id: number;
  readonly fields: readonly string[];
}

/** Numbers below are for clones. */
const FIRST_LIST = 2;

/**
 * Further passes through ingress, as v1model has them. It recirculates in egress, where a flag of ingress asks for it: at its
 * beginning, so that no exit comes before. p4c warns of an empty list, so one has a field that nobody writes.
 */
export class Passes {
  readonly lists: readonly FieldList[];
  /** Metadata that passes need beside the program's. */
  readonly metadata: readonly MetadataField[];
  readonly #again: MetadataReference | undefined;
  readonly #recirculated: readonly number[];
  readonly #ids: ReadonlyMap<string, number>;

  constructor(program: Program) {
    const statements = [...placedStatements(program)].flatMap(([s]) =>
      s.kind === "resubmit" || s.kind === "recirculate" ? [s] : [],
    );
    const names = new Names(program.metadata.map((m) => m.name));
    const metadata: MetadataField[] = [];
    const lists: FieldList[] = [];
    const ids = new Map<string, number>();
    for (const s of statements) {
      const key = keyOf(s);
      if (ids.has(key)) continue;
      const fields = s.keep.map((m) => m.name);
      if (fields.length === 0) {
        const name = names.take("keeps_nothing");
        metadata.push({ name, type: bit(8), doc: "never written: for packets that keep nothing" });
        fields.push(name);
      }
      const id = FIRST_LIST + lists.length;
      lists.push({ id, fields: [...new Set(fields)] });
      ids.set(key, id);
    }
    const recirculations = statements.filter((s) => s.kind === "recirculate");
    this.#recirculated = [...new Set(recirculations.map((s) => ids.get(keyOf(s)) ?? 0))];
    if (recirculations.length > 0) {
      const name = names.take("again");
      metadata.push({ name, type: bit(8), doc: "the field list of a packet that egress recirculates" });
      this.#again = { kind: "metadata", name, type: bit(8) };
    }
    this.lists = lists;
    this.metadata = metadata;
    this.#ids = ids;
  }

  /** What the statement does in ingress. */
  steps(s: SendAgain): readonly Step[] {
    const list = this.#ids.get(keyOf(s)) ?? 0;
    if (s.kind === "resubmit") return [{ kind: "resubmit", list }];
    const port: Expression = { kind: "intrinsic", name: "ingress_port", type: bit(9) };
    return [
      ...(this.#again === undefined
        ? []
        : [{ kind: "assign" as const, target: this.#again, value: number(list, 8) }]),
      // It only has to reach egress.
      {
        kind: "assign",
        target: { kind: "intrinsic", name: "egress_port", type: bit(9) },
        value: port,
      },
      {
        kind: "assign",
        target: { kind: "intrinsic", name: "multicast_group", type: bit(16) },
        value: number(0, 16),
      },
    ];
  }

  /** What stands in front of egress. */
  egress(): LoweredBlock {
    const again = this.#again;
    if (again === undefined) return [];
    return this.#recirculated.map((list) => ({
      kind: "if",
      condition: { kind: "binary", type: bool, operator: "==", left: again, right: number(list, 8) },
      whenTrue: [{ kind: "steps", steps: [{ kind: "recirculate", list }] }],
      whenFalse: [],
    }));
  }
}

function keyOf(s: SendAgain): string {
  return s.keep
    .map((m) => m.name)
    .sort()
    .join(" ");
}

function number(value: number, width: number): Expression {
  return { kind: "constant", type: bit(width), value: BigInt(value) };
}
