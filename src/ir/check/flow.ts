import type { Diagnostic } from "../diagnostics.ts";
import type { Program } from "../program.ts";
import type { SourceLocation } from "../source.ts";
import type { ApplyTable, Block, Statement, StraightStatement } from "../statements.ts";
import { placedStatements, targetOf } from "../walk.ts";
import type { Names } from "./names.ts";

type Report = (d: Diagnostic) => void;

/** What may have happened, and what must have happened, when control reaches a point. */
interface State {
  readonly applied: ReadonlyMap<string, SourceLocation | undefined>;
  readonly accessed: ReadonlyMap<string, SourceLocation | undefined>;
  readonly outputSet: boolean;
  readonly ended: boolean;
}

const fresh: State = { applied: new Map(), accessed: new Map(), outputSet: false, ended: false };

/** Control flow: tables, registers, counters and meters once per path, controls without circles, output port set, nothing unused. */
export function checkFlow(program: Program, names: Names, report: Report): void {
  if (checkControls(program, names, report)) {
    const ingress = new Flow(names, report, "ingress");
    const end = ingress.block(program.ingress, fresh, undefined);
    if (!end.outputSet && !end.ended) {
      report({ code: "GP1504", message: "a path to the end of ingress leaves the output port unset" });
    }
    new Flow(names, report, "egress").block(program.egress, fresh, undefined);
  }
  checkUse(program, report);
}

/** An application of a table and what comes after it. */
interface Application {
  readonly next: Statement | undefined;
  readonly hasBranches: boolean;
  readonly at: SourceLocation | undefined;
}

class Flow {
  readonly #names: Names;
  readonly #report: Report;
  readonly #gress: "ingress" | "egress";
  readonly #reported = new Set<string>();
  readonly #applications = new Map<string, Application>();
  /** Statements that are not reached, so that only the first of a row is reported. */
  readonly #ended = new Set<Statement | undefined>();

  constructor(names: Names, report: Report, gress: "ingress" | "egress") {
    this.#names = names;
    this.#report = report;
    this.#gress = gress;
  }

  /** The state after a block that `next` follows. */
  block(block: Block, before: State, next: Statement | undefined): State {
    return block.reduce((state, s, i) => {
      if (!state.ended) return this.#statement(s, state, block[i + 1] ?? next);
      if (!before.ended) this.#unreached(s, block[i - 1]);
      return state;
    }, before);
  }

  #statement(s: Statement, state: State, next: Statement | undefined): State {
    switch (s.kind) {
      case "if":
        return join(this.block(s.whenTrue, state, next), this.block(s.whenFalse, state, next));
      case "applyTable": {
        const before = state.applied.get(s.table);
        if (state.applied.has(s.table)) this.#twice("GP1501", `table ${s.table} is applied`, before, s.at);
        else this.#sameSuccessor(s, next);
        const table = this.#names.tables.get(s.table);
        const after: State = { ...state, applied: new Map(state.applied).set(s.table, s.at) };
        if (table === undefined) return after;
        const hits = table.actions.map((a) => this.#action(a, after, s.at));
        const miss = this.#action(table.defaultAction.action, after, s.at);
        return join(
          this.block(s.hit, hits.reduce(join, hits[0] ?? miss), next),
          this.block(s.miss, miss, next),
        );
      }
      case "applyControl":
        return this.block(this.#names.controls.get(s.control)?.apply ?? [], state, next);
      case "callAction":
        return this.#action(s.action, state, s.at);
      case "exit":
        if (this.#gress === "ingress" && !state.outputSet) {
          const message = "a path to this exit leaves the output port unset";
          this.#report({ code: "GP1504", message, at: s.at });
        }
        return { ...state, ended: true };
      default:
        return this.#straight(s, state, s.at);
    }
  }

  /** Reports the first statement after one that ends. */
  #unreached(s: Statement, before: Statement | undefined): void {
    const at = s.at ?? before?.at;
    const key = `unreached ${at?.file}:${at?.line}:${at?.column}`;
    if (this.#reported.has(key) || this.#ended.has(before)) {
      this.#ended.add(s);
      return;
    }
    this.#ended.add(s);
    this.#reported.add(key);
    this.#report({ code: "GP1508", message: "every path ends before this statement", at });
  }

  #action(name: string, state: State, at: SourceLocation | undefined): State {
    const body = this.#names.actions.get(name)?.body ?? [];
    return body.reduce((s, statement) => this.#straight(statement, s, at), state);
  }

  #straight(s: StraightStatement, before: State, at: SourceLocation | undefined): State {
    const state = setsOutput(s) ? { ...before, outputSet: true } : before;
    const memory = memoryOf(s);
    if (memory === undefined) return state;
    if (state.accessed.has(memory.name))
      this.#twice(
        "GP1601",
        `${memory.kind} ${memory.name} is used`,
        state.accessed.get(memory.name),
        s.at ?? at,
      );
    return { ...state, accessed: new Map(state.accessed).set(memory.name, s.at ?? at) };
  }

  /** BMv2 gives a table one successor for each outcome, so applications on different paths must go on alike. */
  #sameSuccessor(s: ApplyTable, next: Statement | undefined): void {
    const here: Application = { next, hasBranches: s.hit.length + s.miss.length > 0, at: s.at };
    const other = this.#applications.get(s.table);
    this.#applications.set(s.table, other ?? here);
    if (other === undefined || (other.next === next && !other.hasBranches && !here.hasBranches)) return;
    const key = `successor of ${s.table}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    const message = `table ${s.table} is applied in two places that go on differently${firstIn(other.at)}`;
    this.#report({ code: "GP1501", message, at: s.at, target: "v1model" });
  }

  #twice(
    code: "GP1501" | "GP1601",
    what: string,
    first: SourceLocation | undefined,
    at: SourceLocation | undefined,
  ): void {
    if (this.#reported.has(what)) return;
    this.#reported.add(what);
    const message = `${what} twice on one path${firstIn(first)}`;
    this.#report({ code, message, at, ...(code === "GP1601" ? { target: "tna" } : {}) });
  }
}

/** The memory of the switch that a statement uses. */
function memoryOf(s: StraightStatement): { readonly kind: string; readonly name: string } | undefined {
  switch (s.kind) {
    case "registerUpdate":
      return { kind: "register", name: s.register };
    case "count":
      return { kind: "counter", name: s.counter };
    case "meter":
      return { kind: "meter", name: s.meter };
    default:
      return undefined;
  }
}

/** Whether the statement says where the packet goes. */
function setsOutput(s: StraightStatement): boolean {
  const target = targetOf(s);
  if (s.kind === "drop" || s.kind === "resubmit" || s.kind === "recirculate") return true;
  if (target?.kind !== "intrinsic") return false;
  // Group 0 is none.
  const isNoGroup = s.kind === "assign" && s.value.kind === "constant" && s.value.value === 0n;
  return target.name === "egress_port" || (target.name === "multicast_group" && !isNoGroup);
}

function firstIn(at: SourceLocation | undefined): string {
  return at === undefined ? "" : `; first in line ${at.line}`;
}

function join(a: State, b: State): State {
  if (a.ended) return b.ended ? a : b;
  if (b.ended) return a;
  return {
    applied: new Map([...a.applied, ...b.applied]),
    accessed: new Map([...a.accessed, ...b.accessed]),
    outputSet: a.outputSet && b.outputSet,
    ended: false,
  };
}

/** References between controls; false when the flow cannot be followed. */
function checkControls(program: Program, names: Names, report: Report): boolean {
  let sound = true;
  const fail = (d: Diagnostic): void => {
    sound = false;
    report(d);
  };
  for (const [s, place] of placedStatements(program)) {
    const owner = (name: string): string => name.slice(0, Math.max(0, name.indexOf(".")));
    if (s.kind === "applyControl") {
      const control = names.controls.get(s.control);
      if (control === undefined)
        fail({ code: "GP1204", message: `there is no control ${s.control}`, at: s.at });
      else if (control.gress !== place.block)
        fail({ code: "GP1505", message: `control ${s.control} is of ${control.gress}`, at: s.at });
    }
    if (s.kind === "applyTable") {
      if (!names.tables.has(s.table))
        fail({ code: "GP1204", message: `there is no table ${s.table}`, at: s.at });
      else if (owner(s.table) !== place.control?.name) {
        fail({ code: "GP1505", message: `table ${s.table} is applied outside its control`, at: s.at });
      }
    }
    if (
      s.kind === "callAction" &&
      s.action !== "NoAction" &&
      names.actions.has(s.action) &&
      owner(s.action) !== place.control?.name
    ) {
      fail({ code: "GP1505", message: `action ${s.action} is called outside its control`, at: s.at });
    }
    if (
      s.kind === "registerUpdate" &&
      names.registers.has(s.register) &&
      owner(s.register) !== place.control?.name
    ) {
      fail({ code: "GP1505", message: `register ${s.register} is used outside its control`, at: s.at });
    }
    if (s.kind === "meter" && names.meters.has(s.meter) && owner(s.meter) !== place.control?.name) {
      fail({ code: "GP1505", message: `meter ${s.meter} is used outside its control`, at: s.at });
    }
    if (s.kind === "digest" && names.digests.has(s.digest) && owner(s.digest) !== place.control?.name) {
      fail({ code: "GP1505", message: `digest ${s.digest} is sent outside its control`, at: s.at });
    }
    if (s.kind === "count" && names.counters.has(s.counter) && owner(s.counter) !== place.control?.name) {
      fail({ code: "GP1505", message: `counter ${s.counter} is used outside its control`, at: s.at });
    }
  }
  const visiting: string[] = [];
  const inCircle = new Set<string>();
  const visit = (name: string): void => {
    const control = names.controls.get(name);
    if (control === undefined) return;
    if (visiting.includes(name)) {
      const circle = [...visiting.slice(visiting.indexOf(name)), name];
      if (circle.every((n) => inCircle.has(n))) return;
      for (const n of circle) inCircle.add(n);
      fail({
        code: "GP1503",
        message: `controls apply each other: ${circle.join(" -> ")}`,
        at: control.at,
      });
      return;
    }
    visiting.push(name);
    for (const [s, place] of placedStatements({ ...program, controls: [control], ingress: [], egress: [] })) {
      if (s.kind === "applyControl" && place.control === control) visit(s.control);
    }
    visiting.pop();
  };
  for (const c of program.controls) visit(c.name);
  return sound;
}

/** Declared and never used: dead code in the P4 that is emitted. */
function checkUse(program: Program, report: Report): void {
  const used = new Set<string>();
  for (const [s] of placedStatements(program)) {
    if (s.kind === "applyControl") used.add(s.control);
    if (s.kind === "applyTable") used.add(s.table);
    if (s.kind === "callAction") used.add(s.action);
    if (s.kind === "registerUpdate") used.add(s.register);
    if (s.kind === "count") used.add(s.counter);
    if (s.kind === "meter") used.add(s.meter);
    if (s.kind === "digest") used.add(s.digest);
  }
  for (const c of program.controls) {
    for (const t of c.tables) {
      for (const a of t.actions) used.add(a);
      if (t.implementation !== undefined) used.add(t.implementation);
    }
    for (const object of [
      c,
      ...c.tables,
      ...c.actions,
      ...c.registers,
      ...c.counters,
      ...c.actionProfiles,
      ...c.meters,
      ...c.digests,
    ]) {
      if (!used.has(object.name))
        report({ code: "GP1506", message: `${object.name} is never used`, at: object.at });
    }
  }
}
