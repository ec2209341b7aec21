import type { Expression } from "../../ir/index.ts";
import { bit, bool, widthOf } from "../../ir/index.ts";
import { negation } from "../p4text/expressions.ts";
import { Names } from "../p4text/names.ts";
import { effectsOf, readsOf } from "./effects.ts";
import { endsGress, withElseForExits, withExitsOutside } from "./exits.ts";
import { type Levels, levelsOf, Scopes } from "./levels.ts";
import type { Gress, Member, TnaBlock, TnaControl, TnaProgram, TnaStatement } from "./lowered.ts";
import { atomsOf, overlaps } from "./stages.ts";

type If = Extract<TnaStatement, { readonly kind: "if" }>;
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

/** `if (c) { control.apply() }` with the condition inside the control, where it can be told apart statement by statement. */
function withInnerConditions(program: TnaProgram): TnaProgram {
  const scopes = new Scopes(program);
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
      if (!all.some(appliesControl) || writesTo(all, s.condition, scope, scopes))
        return [{ ...s, whenTrue, whenFalse }];
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

function childrenOf(s: TnaStatement): TnaBlock {
  if (s.kind === "if") return [...s.whenTrue, ...s.whenFalse];
  return s.kind === "applyTable" ? [...s.hit, ...s.miss] : [];
}

/** Whether statements, and all within, write what the condition reads. */
function writesTo(block: TnaBlock, condition: Expression, scope: string, scopes: Scopes): boolean {
  const reads = readsOf(condition, scopes.objects(scope).gress);
  const writes = (s: TnaStatement, within: string): boolean => {
    if (effectsOf(s, scopes.objects(within)).writes.some((w) => reads.some((r) => overlaps(r, w))))
      return true;
    if (s.kind === "applyControl") {
      const control = scopes.controlOf(s.instance);
      return scopes.block(control).some((t) => writes(t, control));
    }
    return childrenOf(s).some((t) => writes(t, within));
  };
  return block.some((s) => writes(s, scope));
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

/** The negation, with the tests themselves turned round. */
function opposite(e: Expression): Expression {
  if (e.kind !== "binary" || (e.operator !== "&&" && e.operator !== "||")) return negation(e);
  return {
    ...e,
    operator: e.operator === "&&" ? "||" : "&&",
    left: opposite(e.left),
    right: opposite(e.right),
  };
}

function ask(condition: Expression, whenTrue: TnaBlock): If {
  return { kind: "if", condition, whenTrue, whenFalse: [] };
}

/** Hits that later stages ask for, in flags. */
function withHitFlags(program: TnaProgram): TnaProgram {
  const scopes = new Scopes(program);
  const levels = new Map([...levelsOf(scopes, "ingress"), ...levelsOf(scopes, "egress")]);
  const names = new Names(program.metadata.map((m) => m.name));
  const flags: Member[] = [];
  const flagged = (block: TnaBlock): TnaBlock => block.flatMap((s) => withFlag(s));
  const withFlag = (s: TnaStatement): TnaBlock => {
    if (s.kind === "if") return [{ ...s, whenTrue: flagged(s.whenTrue), whenFalse: flagged(s.whenFalse) }];
    if (s.kind !== "applyTable") return [s];
    const level = levels.get(s) ?? 0;
    const branches = { hit: flagged(s.hit), miss: flagged(s.miss) };
    if (childrenOf(s).every((c) => leavesOf(c).every((l) => (levels.get(l) ?? level) === level)))
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
  const levels = new Map([...levelsOf(scopes, "ingress"), ...levelsOf(scopes, "egress")]);
  const block = (b: TnaBlock, scope: string): TnaBlock => {
    const distribution = new Distribution(levels, scope, scopes);
    return b.flatMap((s) => distribution.statement(s));
  };
  return {
    ...program,
    ingress: { ...program.ingress, block: block(program.ingress.block, "ingress") },
    egress: { ...program.egress, block: block(program.egress.block, "egress") },
    controls: program.controls.map((c): TnaControl => ({ ...c, block: block(c.block, c.name) })),
  };
}

/** Tables that run what a stage has four of: they will not all stand in one stage. */
const STATEFUL_PER_STAGE = 4;

class Distribution {
  readonly #levels: Levels;
  readonly #scope: string;
  readonly #scopes: Scopes;

  constructor(levels: Levels, scope: string, scopes: Scopes) {
    this.#levels = levels;
    this.#scope = scope;
    this.#scopes = scopes;
  }

  get #gress(): Gress {
    return this.#scopes.objects(this.#scope).gress;
  }

  statement(s: TnaStatement): TnaBlock {
    if (s.kind !== "if") return [s];
    const found = [...new Set(leavesOf(s).map((l) => this.#levels.get(l)))];
    if (found.includes(undefined) || leavesOf(s).some((l) => l.kind === "exit" || l.kind === "applyControl"))
      return [s];
    const wanted = found.flatMap((l) => l ?? []).sort((a, b) => a - b);
    if (wanted.length < 2) return this.#oneByOne(s);
    if (!this.#isStable(s)) return [s];
    return wanted
      .flatMap((level) => this.#cut(s, level))
      .flatMap((part) => (part.kind === "if" ? this.#oneByOne(part) : [part]));
  }

  /** Many stateful programs behind one condition, each with the condition for itself: a stage holds four. */
  #oneByOne(s: If): TnaBlock {
    const stateful = s.whenTrue.filter((t) => this.#isStateful(t));
    if (s.whenFalse.length > 0 || stateful.length <= STATEFUL_PER_STAGE || !this.#isStable(s)) return [s];
    return s.whenTrue.map((t) => ask(s.condition, [t]));
  }

  #isStateful(s: TnaStatement): boolean {
    if (s.kind !== "callAction") return false;
    return (this.#scopes.objects(this.#scope).actions.get(s.local)?.updates ?? []).length > 0;
  }

  /** Whether each condition has the same value whenever it is asked: nothing that comes earlier writes what it reads. */
  #isStable(s: If): boolean {
    const inner = leavesOf(s).map((leaf, order) => ({
      order,
      level: this.#levels.get(leaf) ?? 0,
      writes: effectsOf(leaf, this.#scopes.objects(this.#scope)).writes,
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
    return [
      whenTrue.length === 0
        ? joined(ask(opposite(s.condition), whenFalse))
        : joined({ ...s, whenTrue, whenFalse }),
    ];
  }
}

/** Statements that run something, in order. */
function leavesOf(s: TnaStatement): readonly TnaStatement[] {
  if (s.kind === "if") return childrenOf(s).flatMap(leavesOf);
  return [s, ...childrenOf(s).flatMap(leavesOf)];
}

/** What a gateway compares at most: bytes, and the rows of its memory, one for each way in which a condition is true. */
const GATEWAY_BITS = 44;
const GATEWAY_TESTS = 3;

/** `if (a) { if (b) { ... } }` as one question, where one gateway can ask it. */
function joined(s: If): If {
  const [only, ...more] = s.whenTrue;
  if (only?.kind !== "if" || more.length + s.whenFalse.length + only.whenFalse.length > 0) return s;
  const tests = [...testsOf(s.condition), ...testsOf(only.condition)];
  const isPlain = [s.condition, only.condition].every(isConjunction);
  if (!isPlain || tests.length > GATEWAY_TESTS || bitsCompared(tests) > GATEWAY_BITS) return s;
  const condition: Expression = {
    kind: "binary",
    type: bool,
    operator: "&&",
    left: s.condition,
    right: only.condition,
  };
  return joined({ ...only, condition });
}

function isConjunction(e: Expression): boolean {
  if (e.kind === "binary" && e.operator === "&&") return isConjunction(e.left) && isConjunction(e.right);
  if (e.kind === "binary") return e.operator !== "||";
  return e.kind !== "unary" || e.operand.kind === "valid" || e.operand.kind === "metadata";
}

function testsOf(e: Expression): readonly Expression[] {
  return e.kind === "binary" && e.operator === "&&" ? [...testsOf(e.left), ...testsOf(e.right)] : [e];
}

function bitsCompared(tests: readonly Expression[]): number {
  const fields = new Map<string, number>();
  for (const t of tests) {
    for (const b of atomsOf(t)) fields.set(`${b.key}[${b.high}:${b.low}]`, Math.min(b.high - b.low + 1, 64));
    if (t.kind === "valid" || (t.kind === "unary" && t.operand.kind === "valid"))
      fields.set(`valid ${fields.size}`, 1);
    if (t.kind === "binary" && t.left.kind === "intrinsic")
      fields.set(`intrinsic ${t.left.name}`, widthOf(t.left.type));
  }
  return [...fields.values()].reduce((sum, bits) => sum + bits, 0);
}
