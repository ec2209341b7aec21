import type { Expression } from "../../ir/index.ts";
import { bit, bool } from "../../ir/index.ts";
import { Names } from "../p4text/names.ts";
import { readsOf } from "./effects.ts";
import { endsGress, withElseForExits, withExitsOutside } from "./exits.ts";
import { opposite } from "./gateways.ts";
import { ImpliedConditions } from "./implied.ts";
import { Layout } from "./layout.ts";
import { childrenOf, type Levels, leavesOf, levelsOf, Scopes } from "./levels.ts";
import type { Gress, Member, TnaBlock, TnaControl, TnaProgram, TnaStatement } from "./lowered.ts";
import { ask, type If, joined } from "./questions.ts";
import { overlaps } from "./stages.ts";

type ApplyTable = Extract<TnaStatement, { readonly kind: "applyTable" }>;

/**
 * The same program with less nesting. Tofino 1 numbers its tables in one order, and all that an `if` or a table's hit asks for must have
 * its place before the next statement behind it. So what is nested over several stages keeps everything else out of them. Here
 * each condition is asked again for every stage that waits for it, and a table's hit is kept in a flag for later stages; then
 * what has nothing to do with each other stands side by side. And what comes after an exit is the other branch of its condition.
 */
export function flattened(program: TnaProgram): TnaProgram {
  return withElseForExits(distributed(withHitFlags(withInnerConditions(withExitsOutside(program)))));
}

/**
 * `if (c) { control.apply() }` with the condition inside the control, where it can be told apart statement by statement. What one
 * stage does all together stays as it is.
 */
function withInnerConditions(program: TnaProgram): TnaProgram {
  const scopes = new Scopes(program);
  const levels = levelsOf(scopes);
  const inner = new Map<string, TnaBlock>();
  const pushed = (block: TnaBlock, scope: string): TnaBlock =>
    block.flatMap((s): readonly TnaStatement[] => {
      if (s.kind === "applyControl") {
        const control = scopes.controlOf(s.instance);
        inner.set(control, pushed(inner.get(control) ?? scopes.block(control), control));
        return [s];
      }
      if (s.kind !== "if" || endsGress(s)) return [s];
      const all = childrenOf(s);
      const [whenTrue, whenFalse] = [pushed(s.whenTrue, scope), pushed(s.whenFalse, scope)];
      const reads = readsOf(s.condition, scopes.objects(scope).gress);
      const isStable = all.every((t) =>
        scopes.writesOf(t, scope).every((w) => !reads.some((r) => overlaps(r, w))),
      );
      const [first, ...others] = new Set(leavesOf(s).map((l) => levels.get(l)));
      const isAtOnce =
        first !== undefined &&
        others.length === 0 &&
        new Set(leavesOf(s).flatMap((l) => scopes.registersIn(l, scope))).size <= STATEFUL_PER_STAGE;
      if (!all.some(appliesControl) || isAtOnce || !isStable) return [{ ...s, whenTrue, whenFalse }];
      const side = (statements: TnaBlock, condition: Expression): TnaBlock =>
        runs(statements).map((run) => {
          const [first] = run;
          if (first?.kind !== "applyControl") return ask(condition, run);
          const control = scopes.controlOf(first.instance);
          inner.set(control, [ask(condition, inner.get(control) ?? scopes.block(control))]);
          return first;
        });
      return [...side(whenTrue, s.condition), ...side(whenFalse, opposite(s.condition))];
    });
  const [ingress, egress] = [program.ingress, program.egress].map((p) => ({
    ...p,
    block: pushed(p.block, p.gress),
  }));
  return {
    ...program,
    ingress: ingress ?? program.ingress,
    egress: egress ?? program.egress,
    controls: program.controls.map((c) => ({ ...c, block: inner.get(c.name) ?? c.block })),
  };
}

function appliesControl(s: TnaStatement): boolean {
  if (s.kind === "applyControl") return true;
  return childrenOf(s).some(appliesControl);
}

/** Controls one by one, and the statements between them together. */
function runs(block: TnaBlock): readonly TnaBlock[] {
  const found: TnaStatement[][] = [];
  for (const s of block) {
    const last = found.at(-1);
    const opens = last === undefined || s.kind === "applyControl" || last[0]?.kind === "applyControl";
    if (opens) found.push([s]);
    else last.push(s);
  }
  return found;
}

/** Hits that later stages ask for, in flags. */
function withHitFlags(program: TnaProgram): TnaProgram {
  const scopes = new Scopes(program);
  const levels = levelsOf(scopes);
  const names = new Names(program.metadata.map((m) => m.name));
  const flags: Member[] = [];
  const flagged = (block: TnaBlock): TnaBlock => block.flatMap((s) => withFlag(s));
  const withFlag = (s: TnaStatement): TnaBlock => {
    if (s.kind === "if") return [{ ...s, whenTrue: flagged(s.whenTrue), whenFalse: flagged(s.whenFalse) }];
    if (s.kind !== "applyTable") return [s];
    const level = levels.get(s) ?? 0;
    const branches = { hit: flagged(s.hit), miss: flagged(s.miss) };
    if (childrenOf(s).every((c) => leavesOf(c).every((l) => levels.get(l) === level)))
      return [{ ...s, ...branches }];
    const name = names.take(`${s.local}_hit`);
    flags.push({ name, type: bit(1), doc: `table ${s.local} has hit` });
    return withFlagFor(s, name, branches);
  };
  const result = {
    ...program,
    ingress: { ...program.ingress, block: flagged(program.ingress.block) },
    egress: { ...program.egress, block: flagged(program.egress.block) },
    controls: program.controls.map((c): TnaControl => ({ ...c, block: flagged(c.block) })),
  };
  return { ...result, metadata: [...program.metadata, ...flags] };
}

function withFlagFor(
  s: ApplyTable,
  name: string,
  { hit, miss }: { readonly hit: TnaBlock; readonly miss: TnaBlock },
): TnaBlock {
  const flag = { kind: "metadata", name, type: bit(1) } as const;
  const one = { kind: "constant", type: bit(1), value: 1n } as const;
  const isSet: Expression = { kind: "binary", type: bool, operator: "==", left: flag, right: one };
  return [
    { ...s, hit: [{ kind: "steps", steps: [{ kind: "assign", target: flag, value: one }] }], miss: [] },
    { kind: "if", condition: isSet, whenTrue: hit, whenFalse: miss },
  ];
}

/** Each `if` for one stage at a time. */
function distributed(program: TnaProgram): TnaProgram {
  const scopes = new Scopes(program);
  const levels = levelsOf(scopes);
  const layout = new Layout(program.source);
  const implied = new ImpliedConditions(program, scopes);
  const block = (b: TnaBlock, scope: string): TnaBlock => {
    const distribution = new Distribution(levels, scope, scopes, { layout, implied });
    return b.flatMap((s) => distribution.statement(s));
  };
  return {
    ...program,
    ingress: { ...program.ingress, block: block(program.ingress.block, "ingress") },
    egress: { ...program.egress, block: block(program.egress.block, "egress") },
    controls: program.controls.map((c): TnaControl => ({ ...c, block: block(c.block, c.name) })),
  };
}

/** What stands behind one condition and is more than this will not all find place in one stage. */
const STATEFUL_PER_STAGE = 4;
const TABLES_TOGETHER = 8;

class Distribution {
  readonly #levels: Levels;
  readonly #scope: string;
  readonly #scopes: Scopes;
  readonly #layout: Layout;
  readonly #implied: ImpliedConditions;

  constructor(
    levels: Levels,
    scope: string,
    scopes: Scopes,
    { layout, implied }: { readonly layout: Layout; readonly implied: ImpliedConditions },
  ) {
    this.#layout = layout;
    this.#implied = implied;
    this.#levels = levels;
    this.#scope = scope;
    this.#scopes = scopes;
    this.#implied = implied;
  }

  get #gress(): Gress {
    return this.#scopes.objects(this.#scope).gress;
  }

  statement(s: TnaStatement): TnaBlock {
    if (s.kind !== "if") return [s];
    const found = [...new Set(leavesOf(s).map((l) => this.#levels.get(l)))];
    if (found.includes(undefined) || leavesOf(s).some((l) => l.kind === "exit")) return [s];
    const wanted = found.flatMap((l) => l ?? []).sort((a, b) => a - b);
    if (wanted.length < 2) return this.#oneByOne(s);
    if (!this.#isStable(s) || this.#sharesMemory(s)) return [s];
    return wanted
      .flatMap((level) => this.#cut(s, level))
      .flatMap((part) => (part.kind === "if" ? this.#oneByOne(part) : [part]));
  }

  /**
   * Whether two branches use one register or counter. Tofino has it in one stage, for tables of which a packet meets one; the compiler
   * sees that they are branches of one condition, and not that two conditions exclude each other.
   */
  #sharesMemory(s: TnaStatement): boolean {
    if (s.kind !== "if" && s.kind !== "applyTable") return false;
    const [one, other] = s.kind === "if" ? [s.whenTrue, s.whenFalse] : [s.hit, s.miss];
    const memory = (block: TnaBlock): ReadonlySet<string> =>
      new Set(block.flatMap((t) => leavesOf(t)).flatMap((t) => this.#scopes.memoryOf(t, this.#scope)));
    const [first, second] = [memory(one), memory(other)];
    return [...first].some((name) => second.has(name)) || childrenOf(s).some((t) => this.#sharesMemory(t));
  }

  /** Many stateful programs or tables behind one condition, with the condition again for each few that a stage holds. */
  #oneByOne(s: If): TnaBlock {
    const stateful = s.whenTrue.filter((t) => this.#isStateful(t));
    const isMuch = stateful.length > STATEFUL_PER_STAGE || s.whenTrue.length > TABLES_TOGETHER;
    if (s.whenFalse.length > 0 || !isMuch || !this.#isStable(s)) return [s];
    return chunks(s.whenTrue, STATEFUL_PER_STAGE).map((some) => ask(s.condition, some));
  }

  #isStateful(s: TnaStatement): boolean {
    return s.kind !== "if" && this.#scopes.registersIn(s, this.#scope).length > 0;
  }

  /** Whether each condition has the same value whenever it is asked: nothing that comes earlier writes what it reads. */
  #isStable(s: If): boolean {
    const inner = leavesOf(s).map((leaf, order) => ({
      order,
      level: this.#levels.get(leaf) ?? 0,
      writes: this.#scopes.writesOf(leaf, this.#scope),
    }));
    let order = 0;
    const check = (t: TnaStatement): boolean => {
      if (t.kind !== "if") {
        order += leavesOf(t).length;
        return true;
      }
      const first = order;
      const isRight = childrenOf(t).every(check);
      const asked = inner.slice(first, order);
      const reads = readsOf(t.condition, this.#gress);
      const later = inner.slice(first).filter((l) => l.writes.some((w) => reads.some((r) => overlaps(r, w))));
      return isRight && later.every((w) => asked.every((l) => l.level <= w.level));
    };
    return check(s);
  }

  /** What an `if` asks for in one stage. */
  #cut(s: TnaStatement, level: number): TnaBlock {
    if (s.kind !== "if") return this.#levels.get(s) === level ? [s] : [];
    const whenTrue = s.whenTrue.flatMap((t) => this.#cut(t, level));
    const whenFalse = s.whenFalse.flatMap((t) => this.#cut(t, level));
    if (whenTrue.length + whenFalse.length === 0) return [];
    const [only, ...more] = whenTrue;
    const isImplied =
      only?.kind === "if" &&
      more.length + whenFalse.length + only.whenFalse.length === 0 &&
      this.#implied.isImplied(s, only.condition, this.#scope);
    if (isImplied) return whenTrue;
    return [
      whenTrue.length === 0
        ? joined(ask(opposite(s.condition), whenFalse), this.#layout)
        : joined({ ...s, whenTrue, whenFalse }, this.#layout),
    ];
  }
}

function chunks(block: TnaBlock, size: number): readonly TnaBlock[] {
  return Array.from({ length: Math.ceil(block.length / size) }, (_, i) =>
    block.slice(i * size, (i + 1) * size),
  );
}
