import type { Diagnostic } from "../diagnostics.ts";
import type { Expression } from "../expressions.ts";
import { folded } from "../folding.ts";
import { instanceOf } from "../headers.ts";
import type { Program } from "../program.ts";
import type { ApplyTable, Assign, Block, Statement, StraightStatement, Target } from "../statements.ts";
import { deep, expressionsOf, targetOf } from "../walk.ts";
import { Names } from "./names.ts";

type Report = (d: Diagnostic) => void;

/**
 * Reports assignments whose values nothing reads: on every path another takes their place first, in the same control. That one
 * control writes over what another has left is how features work together; it is told only where nothing else is made of an
 * action's parameter, since p4c warns of that.
 */
export function checkLiveness(program: Program, names: Names, report: Report): void {
  const local = new Liveness(names, "one control");
  for (const control of program.controls) local.block(control.apply, new Set());
  for (const s of local.dead()) {
    const place = placeOf(s.target.kind === "slice" ? s.target.operand : s.target) ?? "the value";
    const message = `${place.replace(/^.*:/, "")} is written again on every path`;
    report({ code: "GP1507", message, at: s.at });
  }
  const dead: ReadonlySet<Statement> = deadAssignments(program, names);
  for (const action of program.controls.flatMap((c) => c.actions)) {
    const made = (isDead: boolean): ReadonlySet<string> =>
      new Set(action.body.filter((s) => dead.has(s) === isDead).flatMap(parametersIn));
    const kept = made(false);
    for (const name of made(true)) {
      if (kept.has(name)) continue;
      const message = `what ${action.name} makes of parameter ${name} is written over on every path`;
      report({ code: "GP1507", message, at: action.at });
    }
  }
}

export function parametersIn(s: StraightStatement): readonly string[] {
  return expressionsOf(s).flatMap((e) =>
    [...deep(folded(e))].flatMap((part) => (part.kind === "parameter" ? [part.name] : [])),
  );
}

/** Assignments of ingress and egress whose values nothing reads. What is left at the end of a pipeline is read. */
export function deadAssignments(program: Program, names: Names): ReadonlySet<Assign> {
  const liveness = new Liveness(names, "all controls");
  for (const block of [program.ingress, program.egress]) liveness.block(block, new Set());
  return liveness.dead();
}

/**
 * Assignments of one gress that come to nothing where these places are lost at its end: their values go nowhere, or into such
 * assignments.
 */
export function idleAssignments(
  program: Program,
  gress: "ingress" | "egress",
  lostAtEnd: readonly Expression[],
): ReadonlySet<Assign> {
  const names = new Names(program);
  const lost = new Set(lostAtEnd.flatMap((e) => placeOf(e) ?? []));
  for (let dead: ReadonlySet<Assign> = new Set(); ; ) {
    const liveness = new Liveness(names, "all controls", lost, dead);
    liveness.block(program[gress], lost);
    const found = liveness.dead();
    if (found.size === dead.size) return found;
    dead = found;
  }
}

/** Places that are certainly written before they are read. */
type Lost = ReadonlySet<string>;

/** Goes through the statements from the last to the first. */
class Liveness {
  readonly #names: Names;
  readonly #extent: "one control" | "all controls";
  /** For each assignment, whether something reads its value after one of its runs. */
  readonly #isRead = new Map<Assign, boolean>();

  /** Lost at the end of the pipeline. */
  readonly #atEnd: Lost;
  /** What these read, nothing reads, nor what conditions ask in front of nothing else. */
  readonly #idle: ReadonlySet<Statement> | undefined;

  constructor(
    names: Names,
    extent: "one control" | "all controls",
    atEnd: Lost = new Set(),
    idle?: ReadonlySet<Statement>,
  ) {
    this.#names = names;
    this.#extent = extent;
    this.#atEnd = atEnd;
    this.#idle = idle;
  }

  dead(): ReadonlySet<Assign> {
    return new Set([...this.#isRead].flatMap(([s, isRead]) => (isRead ? [] : [s])));
  }

  block(block: Block, after: Lost): Lost {
    return block.reduceRight((lost, s) => this.#statement(s, lost), after);
  }

  #statement(s: Statement, after: Lost): Lost {
    switch (s.kind) {
      case "if": {
        const lost = both(this.block(s.whenTrue, after), this.block(s.whenFalse, after));
        return this.#isIdle(s) ? after : without(lost, [s.condition]);
      }
      case "applyTable":
        return this.#table(s, after);
      case "applyControl":
        // What another control reads is not followed.
        if (this.#extent === "one control") return new Set();
        return this.block(this.#names.controls.get(s.control)?.apply ?? [], after);
      case "callAction":
        return without(this.#action(s.action, after), s.arguments);
      case "exit":
        return this.#atEnd;
      default:
        return this.#straight(s, after);
    }
  }

  #isIdle(s: Statement): boolean {
    if (this.#idle === undefined) return false;
    if (s.kind !== "if") return this.#idle.has(s);
    return [...s.whenTrue, ...s.whenFalse].every((inner) => this.#isIdle(inner));
  }

  #table(s: ApplyTable, after: Lost): Lost {
    const table = this.#names.tables.get(s.table);
    const [hit, miss] = [this.block(s.hit, after), this.block(s.miss, after)];
    if (table === undefined) return both(hit, miss);
    const ways = table.actions.map((a) => this.#action(a, hit));
    // A group of an action profile may have lost its members.
    if (table.implementation !== undefined) ways.push(hit);
    const lost = ways.reduce(both, this.#action(table.defaultAction.action, miss));
    const keys = table.key.map((k) => k.expression);
    const selectors = this.#names.actionProfiles.get(table.implementation ?? "")?.selector?.keys ?? [];
    return without(lost, [...keys, ...selectors]);
  }

  #action(name: string, after: Lost): Lost {
    const body = this.#names.actions.get(name)?.body ?? [];
    return body.reduceRight((lost, s) => this.#straight(s, lost), after);
  }

  #straight(s: StraightStatement, after: Lost): Lost {
    if (s.kind === "assign" && this.#isIdle(s)) {
      if (!this.#isRead.has(s)) this.#isRead.set(s, false);
      return after;
    }
    const lost = new Set(after);
    const target = targetOf(s);
    if (target !== undefined) {
      const place = placeOf(target.kind === "slice" ? target.operand : target);
      if (s.kind === "assign" && place !== undefined)
        this.#isRead.set(s, this.#isRead.get(s) === true || !lost.has(place));
      if (place !== undefined && isWhole(target) && s.kind !== "random") lost.add(place);
    }
    if (s.kind === "drop") for (const name of DROP) lost.delete(name);
    if (s.kind === "setValidity" || s.kind === "pushFront" || s.kind === "popFront") {
      const header = instanceOf(s.kind === "setValidity" ? s.header : s.stack);
      for (const place of lost) if (instanceOf(place) === header) lost.delete(place);
    }
    return without(lost, expressionsOf(s));
  }
}

function both(a: Lost, b: Lost): Lost {
  return new Set([...a].filter((place) => b.has(place)));
}

function without(lost: Lost, read: readonly Expression[]): Lost {
  const left = new Set(lost);
  for (const e of read)
    for (const part of deep(e)) {
      const place = placeOf(part);
      if (place !== undefined) left.delete(place);
    }
  return left;
}

/** Whether an assignment leaves nothing of the old value. */
function isWhole(target: Target): boolean {
  if (target.kind !== "slice") return true;
  const { type } = target.operand;
  return type.kind !== "bool" && target.high - target.low + 1 === type.width;
}

/** What `drop` changes, and a later write of them undoes. */
const DROP = ["intrinsic:egress_port", "intrinsic:multicast_group"];

/** What is written and read as one; no header has a name with a colon. */
function placeOf(e: Expression): string | undefined {
  if (e.kind === "field") return `${e.header}.${e.field}`;
  return e.kind === "metadata" || e.kind === "intrinsic" ? `${e.kind}:${e.name}` : undefined;
}
