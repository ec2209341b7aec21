import type { Expression, Target } from "../../ir/index.ts";
import { deep } from "../../ir/walk.ts";
import { intrinsicText } from "./intrinsics.ts";
import type {
  CellStatement,
  Gress,
  LocalTarget,
  StatefulProgram,
  Step,
  TnaAction,
  TnaActionProfile,
  TnaStatement,
  TnaTable,
} from "./lowered.ts";
import { atomsOf, type Bits, bitsOf } from "./stages.ts";

/** What a piece of a program reads and writes: bits of fields, validity of headers, state of registers and counters. */
export interface Effects {
  readonly reads: readonly Bits[];
  readonly writes: readonly Bits[];
}

const NOTHING: Effects = { reads: [], writes: [] };

/** The tables and actions of one control, by their P4 names. */
export interface Objects {
  readonly gress: Gress;
  readonly actions: ReadonlyMap<string, TnaAction>;
  readonly tables: ReadonlyMap<string, TnaTable>;
  /** What the groups of action profiles choose their members by, by the profiles' DSL names. */
  readonly selectorKeys: ReadonlyMap<string, readonly Expression[]>;
}

export function objectsOf(
  gress: Gress,
  actions: readonly TnaAction[],
  tables: readonly TnaTable[] = [],
  profiles: readonly TnaActionProfile[] = [],
): Objects {
  return {
    gress,
    actions: new Map(actions.map((a) => [a.local, a])),
    tables: new Map(tables.map((t) => [t.local, t])),
    selectorKeys: new Map(profiles.map((p) => [p.name, p.selector?.keys ?? []])),
  };
}

/** What a statement does itself, without the blocks within. */
export function effectsOf(s: TnaStatement, objects: Objects): Effects {
  const { gress } = objects;
  switch (s.kind) {
    case "steps":
      return stepsEffects(s.steps, [], gress);
    case "if":
      return { reads: readsOf(s.condition, gress), writes: [] };
    case "callAction": {
      const own = actionEffects(objects.actions.get(s.local), gress);
      return { reads: [...own.reads, ...s.arguments.flatMap((a) => readsOf(a, gress))], writes: own.writes };
    }
    case "applyTable": {
      const table = objects.tables.get(s.local);
      const actions = (table?.actions ?? []).map((a) => actionEffects(objects.actions.get(a.local), gress));
      return {
        reads: [
          ...keysOf(table, objects).flatMap((k) => readsOf(k, gress)),
          ...actions.flatMap((a) => a.reads),
        ],
        writes: actions.flatMap((a) => a.writes),
      };
    }
    default:
      return NOTHING;
  }
}

/** What a table looks its entry up by, and what it chooses a group's member by. */
export function keysOf(table: TnaTable | undefined, { selectorKeys }: Objects): readonly Expression[] {
  const { key = [], implementation = "" } = table ?? {};
  return [...key.map((k) => k.expression), ...(selectorKeys.get(implementation) ?? [])];
}

function actionEffects(action: TnaAction | undefined, gress: Gress): Effects {
  return action === undefined ? NOTHING : stepsEffects(action.steps, action.updates, gress);
}

function stepsEffects(steps: readonly Step[], updates: readonly StatefulProgram[], gress: Gress): Effects {
  const reads: Bits[] = [];
  const writes: Bits[] = [];
  const read = (e: Expression): void => void reads.push(...readsOf(e, gress));
  const write = (t: Target | LocalTarget): void => {
    if (t.kind !== "local") writes.push(bitsOf(t));
  };
  for (const s of steps)
    switch (s.kind) {
      case "assign":
        read(s.value);
        write(s.target);
        break;
      case "declare":
        read(s.value);
        break;
      case "architecture":
        read(s.value);
        writes.push(whole(s.field));
        break;
      case "invalidate":
        writes.push(whole(s.field));
        break;
      case "setValidity":
        writes.push(validity(s.header));
        break;
      case "count":
        read(s.index);
        writes.push(whole(s.counterLocal));
        break;
      case "directCount":
        break;
      case "hash":
        for (const f of s.fields) read(f);
        write(s.into);
        break;
      case "random":
        write(s.into);
        break;
      case "meter":
        if (s.index !== undefined) read(s.index);
        write(s.into);
        writes.push(whole(s.meterLocal));
        break;
      case "execute": {
        read(s.index);
        const program = updates.find((u) => u.local === s.program);
        for (const e of cellExpressions(program?.body ?? [])) read(e);
        if (s.into !== undefined) write(s.into);
        if (program !== undefined) writes.push(whole(program.register));
        break;
      }
    }
  return { reads, writes };
}

/** The values and conditions of a stateful program. */
export function cellExpressions(body: readonly CellStatement[]): readonly Expression[] {
  return body.flatMap((s) =>
    s.kind === "set"
      ? [s.value]
      : [s.condition, ...cellExpressions(s.whenTrue), ...cellExpressions(s.whenFalse)],
  );
}

/** What an expression reads of the packet; the cell of a stateful program is not of the packet. */
export function readsOf(e: Expression, gress: Gress): readonly Bits[] {
  const special = [...deep(e)].flatMap((n): readonly Bits[] => {
    if (n.kind === "valid") return [validity(n.header)];
    if (n.kind !== "intrinsic") return [];
    const { text } = intrinsicText(n, gress, { bridge: "bridge" });
    return typeof text === "string" ? [whole(text.replace(/\[.*$/, ""))] : [];
  });
  return [...atomsOf(e).filter((a) => !a.key.startsWith("intrinsic.")), ...special];
}

function validity(header: string): Bits {
  return { key: `hdr.${header}.$valid`, low: 0, high: 0 };
}

function whole(key: string): Bits {
  return { key, low: 0, high: 511 };
}
