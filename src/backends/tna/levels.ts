import { effectsOf, type Objects, objectsOf } from "./effects.ts";
import { endsGress } from "./exits.ts";
import type { Gress, Step, TnaBlock, TnaPipeline, TnaProgram, TnaStatement } from "./lowered.ts";
import { type Bits, overlaps } from "./stages.ts";

/**
 * The earliest stage of each statement that runs something, as far as data make it wait; how much a stage holds is not looked at. A
 * table counts with its own stage, whatever its branches do; a control has a stage when all of it has the same.
 */
export type Levels = ReadonlyMap<TnaStatement, number>;

interface Access extends Bits {
  readonly level: number;
  readonly isWrite: boolean;
}

/** What has been read and written on the ways to a point, by key; of accesses of one kind to the same bits the latest stage only. */
type State = ReadonlyMap<string, readonly Access[]>;

/** Objects of each block of a gress: of the gress itself under its name, of controls under their names. */
export class Scopes {
  readonly #objects = new Map<string, Objects>();
  readonly #blocks = new Map<string, TnaBlock>();
  readonly #controls = new Map<string, string>();

  constructor(program: TnaProgram) {
    for (const gress of ["ingress", "egress"] as const)
      this.#add(gress, program[gress], objectsOf(gress, program[gress].actions));
    for (const c of program.controls)
      this.#add(c.name, c, objectsOf(c.gress, c.actions, c.tables, c.actionProfiles));
  }

  #add(name: string, pipeline: TnaPipeline, objects: Objects): void {
    this.#objects.set(name, objects);
    this.#blocks.set(name, pipeline.block);
    for (const i of pipeline.instances) this.#controls.set(i.name, i.control);
  }

  /** Name of the control behind an instance. */
  controlOf(instance: string): string {
    return this.#controls.get(instance) ?? instance;
  }

  objects(scope: string): Objects {
    return this.#objects.get(scope) ?? objectsOf("ingress", []);
  }

  block(scope: string): TnaBlock {
    return this.#blocks.get(scope) ?? [];
  }

  /** What a statement writes, and all within. */
  writesOf(s: TnaStatement, scope: string): readonly Bits[] {
    const own = effectsOf(s, this.objects(scope)).writes;
    if (s.kind !== "applyControl") return [...own, ...childrenOf(s).flatMap((t) => this.writesOf(t, scope))];
    const control = this.controlOf(s.instance);
    return this.block(control).flatMap((t) => this.writesOf(t, control));
  }

  /** The registers that a statement works at, and all within, by control. */
  registersIn(s: TnaStatement, scope: string): readonly string[] {
    if (s.kind === "applyControl") {
      const control = this.controlOf(s.instance);
      return this.block(control).flatMap((t) => this.registersIn(t, control));
    }
    const { actions, tables } = this.objects(scope);
    const locals =
      s.kind === "callAction"
        ? [s.local]
        : s.kind === "applyTable"
          ? (tables.get(s.local)?.actions ?? []).map((a) => a.local)
          : [];
    const own = locals.flatMap((local) => actions.get(local)?.updates ?? []);
    return [
      ...own.map((u) => `${scope} ${u.register}`),
      ...childrenOf(s).flatMap((t) => this.registersIn(t, scope)),
    ];
  }

  /** The registers and counters that a statement uses itself. */
  memoryOf(s: TnaStatement, scope: string): readonly string[] {
    const { actions, tables } = this.objects(scope);
    if (s.kind === "steps") return countersIn(s.steps);
    const locals =
      s.kind === "callAction"
        ? [s.local]
        : s.kind === "applyTable"
          ? (tables.get(s.local)?.actions ?? []).map((a) => a.local)
          : [];
    return locals.flatMap((local) => {
      const action = actions.get(local);
      return [...countersIn(action?.steps ?? []), ...(action?.updates ?? []).map((u) => u.register)];
    });
  }
}

function countersIn(steps: readonly Step[]): readonly string[] {
  return steps.flatMap((t) =>
    t.kind === "count" ? [t.counterLocal] : t.kind === "meter" ? [t.meterLocal] : [],
  );
}

/** The statements of the blocks directly within. */
export function childrenOf(s: TnaStatement): TnaBlock {
  if (s.kind === "if") return [...s.whenTrue, ...s.whenFalse];
  return s.kind === "applyTable" ? [...s.hit, ...s.miss] : [];
}

/** Statements that run something, in order. */
export function leavesOf(s: TnaStatement): readonly TnaStatement[] {
  if (s.kind === "if") return childrenOf(s).flatMap(leavesOf);
  return [s, ...childrenOf(s).flatMap(leavesOf)];
}

/**
 * Earliest stages in each gress. What reads a written field, or writes it again, comes a stage later; what writes a field that has been
 * read comes in the same stage at the earliest, and so does what a condition or a table's hit asks for. A header's fields are used and
 * its validity is changed in the order of the program, if need be in one stage: an invalid header's fields have no value.
 */
export function levelsOf(scopes: Scopes): Levels {
  const levels = (["ingress", "egress"] as const).map((gress: Gress) => {
    const walk = new LevelWalk(scopes);
    walk.block(scopes.block(gress), gress, new Map(), { reads: [], level: 0 });
    return walk.levels;
  });
  return new Map(levels.flatMap((l) => [...l]));
}

/** What stands around a statement: what its conditions read, and the stage that tables around it have. */
interface Guard {
  readonly reads: readonly Bits[];
  readonly level: number;
}

class LevelWalk {
  readonly levels = new Map<TnaStatement, number>();
  readonly #scopes: Scopes;
  readonly #inOrder: number[] = [];
  /** After an exit, nothing comes in an earlier stage. */
  #exited = 0;

  constructor(scopes: Scopes) {
    this.#scopes = scopes;
  }

  block(block: TnaBlock, scope: string, before: State, guard: Guard): State {
    return block.reduce((state, s) => this.#statement(s, scope, state, guard), before);
  }

  #statement(s: TnaStatement, scope: string, state: State, guard: Guard): State {
    const effects = effectsOf(s, this.#scopes.objects(scope));
    switch (s.kind) {
      case "if": {
        const inner = { ...guard, reads: [...guard.reads, ...effects.reads] };
        // No packet meets both what ends the gress here and what comes after.
        if (endsGress(s)) {
          this.block(s.whenTrue.slice(0, -1), scope, state, inner);
          return state;
        }
        return join(
          this.block(s.whenTrue, scope, state, inner),
          this.block(s.whenFalse, scope, state, inner),
        );
      }
      case "applyControl": {
        const control = this.#scopes.controlOf(s.instance);
        const first = this.#inOrder.length;
        const after = this.block(this.#scopes.block(control), control, state, guard);
        const [level, ...others] = new Set(this.#inOrder.slice(first));
        if (level !== undefined && others.length === 0) this.levels.set(s, level);
        return after;
      }
      case "applyTable": {
        const [level, after] = this.#leaf(s, effects, state, guard);
        const inner = { ...guard, level };
        return join(this.block(s.hit, scope, after, inner), this.block(s.miss, scope, after, inner));
      }
      default:
        return this.#leaf(s, effects, state, guard)[1];
    }
  }

  #leaf(
    s: TnaStatement,
    { reads, writes }: { readonly reads: readonly Bits[]; readonly writes: readonly Bits[] },
    state: State,
    guard: Guard,
  ): readonly [number, State] {
    const allReads = [...guard.reads, ...reads];
    const after = (bits: Bits, isWrite: boolean): number =>
      (state.get(bits.key) ?? []).reduce((level, a) => {
        if (!overlaps(a, bits) || (!a.isWrite && !isWrite)) return level;
        return Math.max(level, a.isWrite ? a.level + 1 : a.level);
      }, 0);
    const used = [...allReads, ...writes].flatMap(({ key }) => fieldsHeader(key) ?? []);
    const switched = writes.flatMap(({ key }) => validityHeader(key) ?? []);
    const latest = (key: string, isWrite: boolean): number =>
      (state.get(key) ?? []).reduce(
        (level, a) => (a.isWrite === isWrite ? Math.max(level, a.level) : level),
        0,
      );
    const level = Math.max(
      guard.level,
      this.#exited,
      ...allReads.map((r) => after(r, false)),
      ...writes.map((w) => after(w, true)),
      ...used.map((header) => latest(`${header}.$valid`, true)),
      ...switched.map((header) => latest(`${header}.$fields`, false)),
    );
    this.levels.set(s, level);
    this.#inOrder.push(level);
    if (s.kind === "exit") this.#exited = level;
    const next = new Map(state);
    const note = ({ key, low, high }: Bits, isWrite: boolean): void => {
      next.set(key, withAccess(next.get(key) ?? [], { key, low, high, level, isWrite }));
    };
    for (const r of allReads) note(r, false);
    for (const w of writes) note(w, true);
    for (const header of new Set(used)) note({ key: `${header}.$fields`, low: 0, high: 0 }, false);
    return [level, next];
  }
}

/** The header of a field; undefined: the key is of something else. */
function fieldsHeader(key: string): string | undefined {
  return key.startsWith("hdr.") && !key.endsWith(".$valid") ? key.slice(0, key.lastIndexOf(".")) : undefined;
}

/** The header that is made valid or invalid. */
function validityHeader(key: string): string | undefined {
  return key.endsWith(".$valid") ? key.slice(0, -".$valid".length) : undefined;
}

function join(a: State, b: State): State {
  if (a === b) return a;
  const joined = new Map(a);
  for (const [key, accesses] of b) {
    const known = joined.get(key) ?? [];
    if (known !== accesses) joined.set(key, accesses.reduce(withAccess, known));
  }
  return joined;
}

function withAccess(known: readonly Access[], one: Access): readonly Access[] {
  const at = known.findIndex((a) => a.low === one.low && a.high === one.high && a.isWrite === one.isWrite);
  const same = known[at];
  if (same === undefined) return [...known, one];
  return same.level >= one.level ? known : known.with(at, one);
}
