import { deadAssignments } from "../../src/ir/check/liveness.ts";
import { Names } from "../../src/ir/check/names.ts";
import {
  type Block,
  bit,
  type Checksum,
  type Expression,
  type Program,
  type Statement,
  widthOf,
} from "../../src/ir/index.ts";
import type { Dice } from "./dice.ts";
import {
  assign,
  binary,
  cast,
  constant,
  field,
  intrinsic,
  meta,
  program,
  slice,
  unary,
  valid,
  when,
} from "./nodes.ts";
import { RandomControl } from "./random/control.ts";
import { RandomLayout } from "./random/layout.ts";
import { Values } from "./random/values.ts";

export interface RandomOptions {
  /** Also what depends on time and chance: queue lengths, random numbers of a range. */
  readonly measured?: boolean;
}

/**
 * A program that the checks accept: random headers, parser, controls, tables and statements, with some of all that v1model has.
 * The same dice make the same program.
 */
export function randomProgram(name: string, dice: Dice, { measured = false }: RandomOptions = {}): Program {
  const layout = new RandomLayout(dice).make();
  const make = (control: string, gress: "ingress" | "egress") =>
    new RandomControl(control, { gress, measured }, layout, dice).make();
  const controls = [make("first", "ingress"), make("second", "ingress"), make("last", "egress")];
  const kind = field("base", "kind", bit(8));
  const values = new Values(dice);
  const scope = {
    leaves: [kind, field("base", "b16", bit(16)), field("base", "flag", { kind: "bool" } as const)],
    headers: [],
  };
  const made = program(name, {
    ports: 8,
    priorityQueues: 8,
    headerTypes: layout.headerTypes,
    headers: layout.headers,
    ...(layout.unions.length === 0 ? {} : { unions: layout.unions }),
    metadata: layout.metadata,
    parser: layout.parser,
    checksums: dice.below(3) === 0 ? [checksum(dice)] : [],
    controls,
    ingress: [
      // The fields of an invalid header are whatever a target has there.
      when(unary("!", valid("base")), [{ kind: "drop" }, { kind: "exit" }]),
      assign(intrinsic("egress_port"), cast(slice(kind, 2, 0), bit(9))),
      { kind: "applyControl", control: "first" },
      // A condition may never hold, of which no compiler knows: enough packets go on without the control.
      when(
        values.logical(2, scope),
        [{ kind: "applyControl", control: "second" }],
        [when(binary(field("base", "b3", bit(3)), "<", constant(2, bit(3))), [{ kind: "drop" }])],
      ),
      when(values.logical(1, scope), [
        assign(intrinsic("multicast_group"), cast(slice(kind, 3, 0), bit(16))),
      ]),
    ],
    egress: [when(valid("base"), [{ kind: "applyControl", control: "last" }])],
    deparser: layout.deparser,
  });
  return withoutDeadStores(made);
}

/** The program without assignments that have no effect, which the checks tell of. */
function withoutDeadStores(p: Program): Program {
  const dead: ReadonlySet<Statement> = deadAssignments(p, new Names(p));
  if (dead.size === 0) return p;
  const block = (b: Block): Block =>
    b.flatMap((s): Block => {
      if (dead.has(s)) return [];
      if (s.kind === "if") return [{ ...s, whenTrue: block(s.whenTrue), whenFalse: block(s.whenFalse) }];
      return s.kind === "applyTable" ? [{ ...s, hit: block(s.hit), miss: block(s.miss) }] : [s];
    });
  const nothing: Block = [{ kind: "drop" }];
  const controls = p.controls.map((c) => ({
    ...c,
    // A control without statements is one of which p4c says that it takes it out.
    apply: block(c.apply).length === 0 ? nothing : block(c.apply),
    actions: c.actions.map((a) => ({ ...a, body: a.body.filter((s) => !dead.has(s)) })),
  }));
  return withoutDeadStores({ ...p, controls, ingress: block(p.ingress), egress: block(p.egress) });
}

/** A checksum over the header that all packets have. */
function checksum(dice: Dice): Checksum {
  const fields: readonly Expression[] = [
    field("base", "kind", bit(8)),
    constant(0, bit(8)),
    field("base", "b32", bit(32)),
    field("base", "i16", { kind: "int", width: 16 }),
    ...(dice.below(2) === 0 ? [meta("kept", bit(16))] : []),
  ];
  const bits = fields.reduce((sum, f) => sum + widthOf(f.type), 0);
  if (bits % 16 !== 0) throw new Error("a checksum over half words");
  const flag = field("base", "flag", { kind: "bool" });
  return {
    header: "base",
    target: field("base", "b16", bit(16)),
    fields,
    ...(dice.below(3) === 0 ? { payload: true } : {}),
    ...(dice.below(3) === 0 ? { zeroIsNone: true } : {}),
    ...(dice.below(3) === 0
      ? {
          condition: dice.pick<Expression>(
            flag,
            binary(field("base", "b3", bit(3)), "<", constant(5, bit(3))),
          ),
        }
      : {}),
    verify: dice.below(3) !== 0,
    update: true,
  };
}
