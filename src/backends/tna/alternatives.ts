import type {
  Action,
  Block,
  Control,
  FieldReference,
  If,
  KeySet,
  MetadataReference,
  Program,
  RegisterUpdate,
  Statement,
  Table,
} from "../../ir/index.ts";
import { NO_ACTION } from "../../ir/index.ts";
import { expressionsOf, statementsOf } from "../../ir/walk.ts";
import { localPart, Names } from "../p4text/names.ts";
import { atomsOf, type Bits, bitsOf, overlaps } from "./stages.ts";

/**
 * `if (f == v) { one(); } else { other(); }` where both actions work at the same registers: Tofino has a register in one stage, and all
 * tables that use it there, too. Two tables for each register are more than its compiler finds places for, so each register gets one
 * table here, which chooses between its two actions by the field.
 */
export function withAlternatives(program: Program): Program {
  return { ...program, controls: program.controls.map(ofControl) };
}

interface Choice {
  readonly by: FieldReference | MetadataReference;
  readonly value: bigint;
  /** With that value, and without. */
  readonly actions: readonly [Action, Action];
  /** What the two do, register by register. */
  readonly updates: readonly (readonly [RegisterUpdate, RegisterUpdate])[];
}

function ofControl(c: Control): Control {
  const names = new Names([...c.actions, ...c.tables].map((o) => localPart(o.name)));
  const actions: Action[] = [];
  const tables: Table[] = [];
  const block = (b: Block): Block =>
    b.flatMap((s): readonly Statement[] => {
      if (s.kind === "applyTable") return [{ ...s, hit: block(s.hit), miss: block(s.miss) }];
      if (s.kind !== "if") return [s];
      const choice = choiceOf(s, c);
      if (choice === undefined) return [{ ...s, whenTrue: block(s.whenTrue), whenFalse: block(s.whenFalse) }];
      return choice.updates.map((updates): Statement => {
        const made = tableOf(choice, updates, c.name, names);
        actions.push(...made.actions);
        tables.push(made.table);
        return { kind: "applyTable", table: made.table.name, hit: [], miss: [] };
      });
    });
  const apply = block(c.apply);
  if (tables.length === 0) return c;
  const called = new Set(
    [...statementsOf(apply)].flatMap((s) => (s.kind === "callAction" ? [s.action] : [])),
  );
  const isUsed = (a: Action): boolean =>
    called.has(a.name) ||
    c.tables.some((t) => t.actions.includes(a.name) || t.defaultAction.action === a.name);
  return {
    ...c,
    apply,
    actions: [...c.actions.filter(isUsed), ...actions],
    tables: [...c.tables, ...tables],
  };
}

function choiceOf({ condition, whenTrue, whenFalse }: If, c: Control): Choice | undefined {
  if (condition.kind !== "binary" || (condition.operator !== "==" && condition.operator !== "!="))
    return undefined;
  const { left: by, right } = condition;
  if ((by.kind !== "metadata" && by.kind !== "field") || right.kind !== "constant") return undefined;
  const [one, other] = condition.operator === "==" ? [whenTrue, whenFalse] : [whenFalse, whenTrue];
  const [first, second] = [calledBy(one, c), calledBy(other, c)];
  if (first === undefined || second === undefined) return undefined;
  const [ours, theirs] = [updatesOf(first), updatesOf(second)];
  if (ours === undefined || ours.length !== theirs?.length) return undefined;
  const updates = ours.flatMap((u): readonly (readonly [RegisterUpdate, RegisterUpdate])[] => {
    const same = theirs.find((v) => v.register === u.register);
    return same === undefined ? [] : [[u, same]];
  });
  const written = [...ours, ...theirs].flatMap((u) => (u.into === undefined ? [] : [bitsOf(u.into)]));
  if (updates.length !== ours.length || written.some((w) => overlaps(w, bitsOf(by)))) return undefined;
  return { by, value: right.value, actions: [first, second], updates };
}

/** The action that a block calls and does nothing else. */
function calledBy(block: Block, c: Control): Action | undefined {
  const [only, ...more] = block;
  if (only?.kind !== "callAction" || more.length > 0) return undefined;
  return c.actions.find((a) => a.name === only.action && a.parameters.length === 0);
}

/** The register updates that an action consists of, each independent of the others. */
function updatesOf({ body }: Action): readonly RegisterUpdate[] | undefined {
  const updates = body.flatMap((s) => (s.kind === "registerUpdate" ? [s] : []));
  if (updates.length !== body.length || updates.length < 2) return undefined;
  const areApart = updates.every((u) => {
    const written = u.into === undefined ? [] : [bitsOf(u.into)];
    return updates.every(
      (v) => u === v || (u.register !== v.register && !written.some((w) => touches(v, w))),
    );
  });
  return areApart ? updates : undefined;
}

function touches(u: RegisterUpdate, bits: Bits): boolean {
  const all = [...expressionsOf(u).flatMap(atomsOf), ...(u.into === undefined ? [] : [bitsOf(u.into)])];
  return all.some((other) => overlaps(other, bits));
}

/** The table of one register: an entry for the value, and one for all others; a miss could not use the packet's index. */
function tableOf(
  { by, value, actions }: Choice,
  updates: Choice["updates"][number],
  control: string,
  names: Names,
): { readonly table: Table; readonly actions: readonly Action[] } {
  const register = localPart(updates[0].register);
  const made = actions.map((a, i): Action => {
    const name = `${control}.${names.take(`${localPart(a.name)}_${register}`)}`;
    const update = updates[i];
    return { ...a, name, body: update === undefined ? [] : [update] };
  });
  const keys: readonly KeySet[] = [{ kind: "value", value }, { kind: "any" }];
  const table: Table = {
    name: `${control}.${names.take(`${register}_update`)}`,
    doc: `What becomes of ${register}.`,
    key: [{ name: localName(by), expression: by, match: "ternary" }],
    actions: made.map((a) => a.name),
    size: keys.length,
    defaultAction: { action: NO_ACTION, arguments: [], constant: true },
    constEntries: made.flatMap((a, i) => {
      const key = keys[i];
      return key === undefined ? [] : [{ keys: [key], action: a.name, arguments: [] }];
    }),
  };
  return { table, actions: made };
}

function localName(place: Choice["by"]): string {
  return place.kind === "field" ? place.field : place.name;
}
