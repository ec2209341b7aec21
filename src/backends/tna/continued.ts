import type {
  Action,
  Block,
  Control,
  Expression,
  MetadataField,
  MetadataReference,
  Program,
  Statement,
  StraightStatement,
  Table,
} from "../../ir/index.ts";
import { bit } from "../../ir/index.ts";
import { deep, expressionsOf } from "../../ir/walk.ts";
import { localPart, Names } from "../p4text/names.ts";
import { rewrite } from "../p4text/rewrite.ts";
import { isMeterOf, isStateful, usesStateAfter } from "./apart.ts";
import type { Refuse } from "./refuse.ts";
import { areRelated, IMMEDIATE_BITS, immediateBits, isHashed, stagesOf } from "./stages.ts";
import { withValues } from "./values.ts";

const BIT = bit(1);

/** How an action of a table goes on in later stages. */
interface Continuation {
  readonly first: Action;
  readonly rest: Action;
  readonly flag: MetadataReference;
  readonly metadata: readonly MetadataField[];
}

/**
 * A table runs its action in one stage, and a stateful ALU cannot read action data. Where an action needs more, the table's action
 * keeps the first stage, its data and that it ran; the rest is an action of its own, called after the table if the first ran.
 */
export function continued(program: Program, refuse: Refuse): Program {
  const names = new Names(program.metadata.map((m) => m.name));
  const added: MetadataField[] = [];
  const controls = program.controls.map((c): Control => {
    const actionNames = new Names(c.actions.map((a) => localPart(a.name)));
    const found = new Map<string, Continuation>();
    for (const a of c.actions) {
      const tables = c.tables.filter((t) => t.actions.includes(a.name) || t.defaultAction.action === a.name);
      const parts =
        tables.length === 0
          ? undefined
          : split(
              a,
              tables.some((t) => usesStateAfter(a, t, c.actions)),
              tables.some((t) => t.defaultAction.action === a.name || handsOutTooMuch(t, c.actions)),
              (s) => tables.some((t) => isMeterOf(s, t)),
            );
      if (parts === undefined) continue;
      if (tables.length > 1)
        refuse("GP1806", `action ${a.name} of ${tables.length} tables needs several stages`, a.at);
      const continuation = continuationOf(a, c, parts, names, actionNames);
      found.set(a.name, continuation);
      added.push(...continuation.metadata);
    }
    if (found.size === 0) return c;
    return {
      ...c,
      actions: c.actions.flatMap((a) => {
        const parts = found.get(a.name);
        return parts === undefined ? [a] : [parts.first, parts.rest];
      }),
      apply: withRests(c.apply, c, found),
    };
  });
  return added.length === 0 ? program : { ...program, controls, metadata: [...program.metadata, ...added] };
}

/**
 * The statements that the table's own stage can do, and the others; undefined when it can do all. Neither a stateful ALU nor
 * what is taken away in a subtraction can be action data.
 */
function split(
  a: Action,
  isStateAfter: boolean,
  isHashAfter: boolean,
  isOwnMeter: (s: StraightStatement) => boolean,
): { readonly first: readonly StraightStatement[]; readonly rest: readonly StraightStatement[] } | undefined {
  const [stage = [], ...later] = stagesOf(a.body, () => {});
  const first: StraightStatement[] = [];
  const left: StraightStatement[] = [];
  for (const s of stage) {
    const isLeft =
      readsData(s) ||
      isHashed(s) ||
      (isStateAfter && isStateful(s) && !isOwnMeter(s)) ||
      (isHashAfter && (s.kind === "hash" || s.kind === "random")) ||
      left.some((other) => areRelated(other, s));
    (isLeft ? left : first).push(s);
  }
  const rest = [...left, ...later.flat()];
  return rest.length === 0 ? undefined : { first, rest };
}

/** Whether hashes, random numbers and colours of all the table's actions are more than a table hands to its actions. */
function handsOutTooMuch(table: Table, actions: readonly Action[]): boolean {
  const own = actions.filter((a) => table.actions.includes(a.name) || table.defaultAction.action === a.name);
  const bits = own.flatMap((a) => a.body).reduce((sum, s) => sum + immediateBits(s), 0);
  return bits > IMMEDIATE_BITS;
}

function readsData(s: StraightStatement): boolean {
  if (s.kind === "assign") return takesDataAway(s.value);
  // A hash takes fields of the packet only.
  if (s.kind === "hash") return s.fields.some((f) => [...deep(f)].some((n) => n.kind === "parameter"));
  if (s.kind !== "registerUpdate") return false;
  return [s.next, ...(s.output === undefined ? [] : [s.output])].some((e) =>
    [...deep(e)].some((n) => n.kind === "parameter"),
  );
}

function takesDataAway(e: Expression): boolean {
  if (e.kind !== "binary" || (e.operator !== "-" && e.operator !== "|-|")) return false;
  return [...deep(e.right)].some((n) => n.kind === "parameter");
}

function continuationOf(
  a: Action,
  c: Control,
  parts: { readonly first: readonly StraightStatement[]; readonly rest: readonly StraightStatement[] },
  names: Names,
  actionNames: Names,
): Continuation {
  const local = localPart(a.name);
  const used = new Set(
    parts.rest.flatMap((s) =>
      expressionsOf(s).flatMap((e) => [...deep(e)].flatMap((n) => (n.kind === "parameter" ? [n.name] : []))),
    ),
  );
  const kept = new Map(
    a.parameters
      .filter((p) => used.has(p.name))
      .map((p): [string, MetadataReference] => [
        p.name,
        { kind: "metadata", name: names.take(`${local}_${p.name}`), type: p.type },
      ]),
  );
  const flag: MetadataReference = { kind: "metadata", name: names.take(`${local}_goes_on`), type: BIT };
  const save = [...kept].map(
    ([name, target]): StraightStatement => ({
      kind: "assign",
      target,
      value: { kind: "parameter", name, type: target.type },
    }),
  );
  const first: Action = {
    ...a,
    body: [
      ...parts.first,
      ...save,
      { kind: "assign", target: flag, value: { kind: "constant", type: BIT, value: 1n } },
    ],
  };
  const rest: Action = {
    name: `${c.name}.${actionNames.take(`${local}_rest`)}`,
    parameters: [],
    body: parts.rest.map((s) => withKept(s, kept)),
    doc: `what ${local} does in later stages`,
    ...(a.at === undefined ? {} : { at: a.at }),
  };
  const metadata = [
    ...[...kept].map(
      ([name, m]): MetadataField => ({ name: m.name, type: m.type, doc: `${name} of action ${local}` }),
    ),
    { name: flag.name, type: BIT, doc: `action ${local} has run, and goes on` },
  ];
  return { first, rest, flag, metadata };
}

/** The statement with kept copies in the place of action data. */
function withKept(s: StraightStatement, kept: ReadonlyMap<string, MetadataReference>): StraightStatement {
  const e = (x: Expression): Expression =>
    rewrite(x, (n) => (n.kind === "parameter" ? (kept.get(n.name) ?? n) : undefined));
  return withValues(s, e);
}

function withRests(block: Block, c: Control, found: ReadonlyMap<string, Continuation>): Block {
  // One action of a table has run, so what they go on with are branches of one condition.
  const restsOf = (actions: readonly string[]): readonly Statement[] =>
    [...new Set(actions)].toReversed().reduce<readonly Statement[]>((others, name) => {
      const parts = found.get(name);
      if (parts === undefined) return others;
      const one: Expression = { kind: "constant", type: BIT, value: 1n };
      const condition: Expression = {
        kind: "binary",
        type: { kind: "bool" },
        operator: "==",
        left: parts.flag,
        right: one,
      };
      return [{ kind: "if", condition, whenTrue: [call(parts.rest)], whenFalse: others }];
    }, []);
  return block.flatMap((s): readonly Statement[] => {
    switch (s.kind) {
      case "if":
        return [
          { ...s, whenTrue: withRests(s.whenTrue, c, found), whenFalse: withRests(s.whenFalse, c, found) },
        ];
      case "applyTable": {
        const table = c.tables.find((t) => t.name === s.table);
        const [onHit, onMiss] = [restsOf(table?.actions ?? []), restsOf([table?.defaultAction.action ?? ""])];
        const [hit, miss] = [withRests(s.hit, c, found), withRests(s.miss, c, found)];
        if (hit.length + miss.length === 0)
          return [s, ...restsOf([...(table?.actions ?? []), table?.defaultAction.action ?? ""])];
        return [{ ...s, hit: [...onHit, ...hit], miss: [...onMiss, ...miss] }];
      }
      case "callAction": {
        const parts = found.get(s.action);
        return parts === undefined ? [s] : [s, call(parts.rest)];
      }
      default:
        return [s];
    }
  });
}

function call(action: Action): Statement {
  return { kind: "callAction", action: action.name, arguments: [] };
}
