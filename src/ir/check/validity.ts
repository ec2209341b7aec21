import type { Diagnostic } from "../diagnostics.ts";
import { type Expression, operandsOf } from "../expressions.ts";
import { elementPath, instanceOf, memberPath, stackOf, unionsOf } from "../headers.ts";
import { expressionsOfStep, successorsOf } from "../parserstates.ts";
import type { Action, ParserState, ParserStep, Program, Table } from "../program.ts";
import type { SourceLocation } from "../source.ts";
import type { ApplyTable, Block, Statement, StraightStatement } from "../statements.ts";
import { expressionsOf, placedStatements, targetOf } from "../walk.ts";
import type { Names } from "./names.ts";

type Report = (d: Diagnostic) => void;

/**
 * Which headers are valid in one kind of packet, as bits: `yes` for certain, `maybe` perhaps. One more bit says that the packet is
 * marked for dropping.
 */
interface World {
  readonly yes: bigint;
  readonly maybe: bigint;
}

/** More kinds of packets than this are taken together to one. */
const MOST_WORLDS = 256;

/** Kinds of packets, none twice. */
class Worlds {
  static readonly none = new Worlds([]);
  readonly list: readonly World[];

  constructor(list: Iterable<World>) {
    const found = new Map<string, World>();
    for (const w of list) found.set(`${w.yes}/${w.maybe}`, w);
    this.list = found.size > MOST_WORLDS ? [merged([...found.values()])] : [...found.values()];
  }

  with(other: Worlds): Worlds {
    if (other.list.length === 0) return this;
    return this.list.length === 0 ? other : new Worlds([...this.list, ...other.list]);
  }

  map(change: (w: World) => World): Worlds {
    return new Worlds(this.list.map(change));
  }

  /** Those in which the header is valid, or is not. */
  where(bit: bigint, isValid: boolean): Worlds {
    return new Worlds(
      this.list.flatMap((w): readonly World[] => {
        if ((w.maybe & bit) !== 0n) {
          const maybe = w.maybe & ~bit;
          return [{ yes: isValid ? w.yes | bit : w.yes, maybe }];
        }
        return ((w.yes & bit) !== 0n) === isValid ? [w] : [];
      }),
    );
  }

  always(bit: bigint): boolean {
    return this.list.every((w) => (w.yes & bit) !== 0n);
  }

  never(bit: bigint): boolean {
    return this.list.every((w) => ((w.yes | w.maybe) & bit) === 0n);
  }

  equals(other: Worlds): boolean {
    return this.list.length === other.list.length && this.with(other).list.length === this.list.length;
  }
}

function merged(list: readonly World[]): World {
  const yes = list.reduce((all, w) => all & w.yes, list[0]?.yes ?? 0n);
  const any = list.reduce((all, w) => all | w.yes | w.maybe, 0n);
  return { yes, maybe: any & ~yes };
}

/** A place where fields of a header are used, and what was found there each time. */
interface Use {
  readonly header: string;
  readonly at: SourceLocation | undefined;
  never: boolean;
  always: boolean;
}

/**
 * Follows which headers are valid, from the parser to the end of egress, and reports fields that are read or written where their
 * header is not valid: their values are undefined (P4_16, 8.17). Packets that the parser gave up are followed for headers that are never
 * valid, where no others come. Where a condition on values stands around, only headers that are never valid are reported: the values
 * may say that they are.
 */
export function checkValidity(program: Program, names: Names, report: Report): void {
  const flow = new ValidityFlow(program, names);
  flow.run();
  for (const use of flow.uses.values()) {
    const { header, at } = use;
    if (use.never)
      report({ code: "GP1309", message: `${header} is not valid here, whatever the packet`, at });
    else if (!use.always)
      report({ code: "GP1312", message: `${header} is valid here in some packets only`, at });
  }
  const givenUp = new ValidityFlow(program, names);
  givenUp.runGivenUp();
  for (const [key, { header, at, never }] of givenUp.uses)
    if (never && !flow.uses.has(key))
      report({ code: "GP1309", message: `${header} is not valid here, whatever the packet`, at });
}

class ValidityFlow {
  readonly uses = new Map<string, Use>();
  readonly #program: Program;
  readonly #names: Names;
  readonly #bits = new Map<string, bigint>();
  readonly #dropped: bigint;
  /** What `exit` has let go in the gress that is followed. */
  #ended = Worlds.none;
  /** Conditions around the statement on fields and metadata: what they say of headers is not known here. */
  #conditions = 0;
  /** Headers whose validity the table that is looked up compares. */
  #compared: readonly bigint[] = [];

  constructor(program: Program, names: Names) {
    this.#program = program;
    this.#names = names;
    for (const path of names.headers.keys()) this.#bits.set(path, 1n << BigInt(this.#bits.size));
    this.#dropped = 1n << BigInt(this.#bits.size);
  }

  run(): void {
    this.#through(this.#parser());
  }

  /** Packets that the parser has stopped at some point. */
  runGivenUp(): void {
    const extracted = this.#program.parser.flatMap((state) =>
      state.steps.flatMap((step) => (step.kind === "extract" ? instanceOf(step.header) : [])),
    );
    const instances = new Set(extracted);
    const maybe = [...this.#bits].reduce(
      (all, [path, bit]) => (instances.has(instanceOf(path)) ? all | bit : all),
      0n,
    );
    this.#through(new Worlds([{ yes: 0n, maybe }]));
  }

  #through(parsed: Worlds): void {
    const ingress = this.#gress(this.#program.ingress, parsed);
    const sent = ingress.where(this.#dropped, false);
    // A clone leaves ingress as the parser made it.
    const clones = [...placedStatements(this.#program)].some(([s]) => s.kind === "clone");
    this.#gress(this.#program.egress, clones ? sent.with(parsed) : sent);
  }

  #gress(block: Block, before: Worlds): Worlds {
    this.#ended = Worlds.none;
    this.#conditions = 0;
    const end = this.#block(block, before);
    return end.with(this.#ended);
  }

  /** The packets that the parser accepts; those that it rejects when it accepts none. */
  #parser(): Worlds {
    const before = new Map<string, Worlds>([["start", new Worlds([{ yes: 0n, maybe: 0n }])]]);
    const todo = ["start"];
    for (let name = todo.shift(); name !== undefined; name = todo.shift()) {
      const state = this.#names.states.get(name);
      const worlds = before.get(name);
      if (state === undefined || worlds === undefined || name === "accept" || name === "reject") continue;
      const after = state.steps.reduce((w, step) => this.#step(step, w), worlds);
      for (const next of new Set(successorsOf(state))) {
        const known = before.get(next) ?? Worlds.none;
        const all = known.with(after);
        if (all.equals(known)) continue;
        before.set(next, all);
        if (!todo.includes(next)) todo.push(next);
      }
    }
    for (const [name, worlds] of before) {
      const state = this.#names.states.get(name);
      if (state !== undefined && name !== "accept" && name !== "reject") this.#look(state, worlds);
    }
    const accepted = before.get("accept") ?? Worlds.none;
    return accepted.list.length > 0 ? accepted : (before.get("reject") ?? Worlds.none);
  }

  /** What a state reads. */
  #look(state: ParserState, before: Worlds): void {
    let worlds = before;
    for (const step of state.steps) {
      for (const e of expressionsOfStep(step)) this.#read(e, worlds, step.at ?? state.at);
      worlds = this.#step(step, worlds);
    }
    if (state.transition.kind !== "select") return;
    const { keys, cases } = state.transition;
    for (const key of keys) this.#read(key, worlds, cases[0]?.at ?? state.at);
  }

  #step(step: ParserStep, worlds: Worlds): Worlds {
    if (step.kind === "verify") return this.#when(step.condition, worlds, true);
    if (step.kind !== "extract") return worlds;
    const stack = stackOf(step.header, "next");
    if (stack === undefined) return this.#setValid(step.header, worlds);
    const elements = this.#elements(stack);
    // A packet with more elements than the stack has is given up.
    return new Worlds(
      worlds.list.flatMap((w) => {
        const next = elements.find((bit) => (w.yes & bit) === 0n);
        return next === undefined ? [] : [{ yes: w.yes | next, maybe: w.maybe & ~next }];
      }),
    );
  }

  #elements(stack: string): readonly bigint[] {
    const count = this.#names.stacks.get(stack)?.elements ?? 0;
    return Array.from({ length: count }, (_, i) => this.#bits.get(elementPath(stack, i)) ?? 0n);
  }

  #setValid(header: string, worlds: Worlds): Worlds {
    const bit = this.#bits.get(header) ?? 0n;
    const union = unionsOf(this.#program).find((u) => u.name === instanceOf(header));
    const others = (union?.members ?? [])
      .map((m) => this.#bits.get(memberPath(instanceOf(header), m.name)) ?? 0n)
      .reduce((all, b) => all | b, 0n);
    return worlds.map((w) => ({ yes: (w.yes & ~others) | bit, maybe: w.maybe & ~others & ~bit }));
  }

  #block(block: Block, before: Worlds): Worlds {
    return block.reduce(
      (worlds, s) => (worlds.list.length === 0 ? worlds : this.#statement(s, worlds)),
      before,
    );
  }

  #statement(s: Statement, worlds: Worlds): Worlds {
    switch (s.kind) {
      case "if": {
        this.#read(s.condition, worlds, s.at);
        const [yes, no] = [this.#when(s.condition, worlds, true), this.#when(s.condition, worlds, false)];
        const asksMore = !isAboutHeaders(s.condition);
        if (asksMore) this.#conditions++;
        const [whenTrue, whenFalse] = [this.#block(s.whenTrue, yes), this.#block(s.whenFalse, no)];
        // Where one way ends here, what follows is under the condition of the other.
        const ends = whenTrue.list.length === 0 || whenFalse.list.length === 0;
        if (asksMore && !ends) this.#conditions--;
        return whenTrue.with(whenFalse);
      }
      case "applyTable":
        return this.#table(s, worlds);
      case "applyControl":
        return this.#block(this.#names.controls.get(s.control)?.apply ?? [], worlds);
      case "callAction": {
        for (const e of s.arguments) this.#read(e, worlds, s.at);
        return this.#action(this.#names.actions.get(s.action), worlds);
      }
      case "exit":
        this.#ended = this.#ended.with(worlds);
        return Worlds.none;
      default:
        return this.#straight(s, worlds, s.at);
    }
  }

  #table(s: ApplyTable, worlds: Worlds): Worlds {
    const table = this.#names.tables.get(s.table);
    if (table === undefined) return worlds;
    this.#compared = comparedIn(table).map((path) => this.#bits.get(path) ?? 0n);
    for (const { expression } of table.key) this.#read(expression, worlds, table.at);
    this.#compared = [];
    // Entries may be such that the action runs for packets with the header only.
    if (table.key.length > 0) this.#conditions++;
    const hits = table.actions.map((name) => this.#action(this.#names.actions.get(name), worlds));
    if (table.key.length > 0) this.#conditions--;
    const miss = this.#action(this.#names.actions.get(table.defaultAction.action), worlds);
    const hit = hits.reduce((all, w) => all.with(w), Worlds.none);
    return this.#block(s.hit, hit.list.length === 0 ? miss : hit).with(this.#block(s.miss, miss));
  }

  #action(action: Action | undefined, worlds: Worlds): Worlds {
    const body = action?.body ?? [];
    return body.reduce((w, s) => this.#straight(s, w, s.at ?? action?.at), worlds);
  }

  #straight(s: StraightStatement, worlds: Worlds, at: SourceLocation | undefined): Worlds {
    for (const e of expressionsOf(s)) this.#read(e, worlds, at);
    const target = targetOf(s);
    if (target !== undefined) this.#read(target, worlds, at);
    switch (s.kind) {
      case "setValidity": {
        if (s.valid) return this.#setValid(s.header, worlds);
        const bit = this.#bits.get(s.header) ?? 0n;
        return worlds.map((w) => ({ yes: w.yes & ~bit, maybe: w.maybe & ~bit }));
      }
      case "pushFront":
      case "popFront":
        return this.#shift(s.stack, s.kind === "pushFront" ? s.count : -s.count, worlds);
      case "drop":
        return worlds.map((w) => ({ yes: w.yes | this.#dropped, maybe: w.maybe & ~this.#dropped }));
      default:
        if (target?.kind !== "intrinsic") return worlds;
        if (target.name !== "egress_port" && target.name !== "multicast_group") return worlds;
        return worlds.map((w) => ({ yes: w.yes & ~this.#dropped, maybe: w.maybe & ~this.#dropped }));
    }
  }

  /** Each element becomes what stood `by` places before it. */
  #shift(stack: string, by: number, worlds: Worlds): Worlds {
    const elements = this.#elements(stack);
    const all = elements.reduce((sum, bit) => sum | bit, 0n);
    const moved = (bits: bigint): bigint =>
      elements.reduce(
        (sum, bit, i) => ((bits & (elements[i - by] ?? 0n)) === 0n ? sum : sum | bit),
        bits & ~all,
      );
    return worlds.map((w) => ({ yes: moved(w.yes), maybe: moved(w.maybe) }));
  }

  /** The packets for which a condition holds, as far as it speaks of headers. */
  #when(e: Expression, worlds: Worlds, holds: boolean): Worlds {
    if (worlds.list.length === 0) return worlds;
    switch (e.kind) {
      case "valid":
        return worlds.where(this.#bit(e.header), holds);
      case "constant":
        return (e.value === 1n) === holds ? worlds : Worlds.none;
      case "unary":
        return this.#when(e.operand, worlds, !holds);
      case "binary": {
        if (e.operator !== "&&" && e.operator !== "||") return worlds;
        // The left side decides alone when it has this value.
        const decides = e.operator === "||";
        const right = this.#when(e.right, this.#when(e.left, worlds, !decides), holds);
        return holds === decides ? this.#when(e.left, worlds, decides).with(right) : right;
      }
      default:
        return worlds;
    }
  }

  /** Notes the fields in an expression, with regard to what is evaluated before. */
  #read(e: Expression, worlds: Worlds, around: SourceLocation | undefined): void {
    const at = e.at ?? around;
    if (worlds.list.length === 0) return;
    if (e.kind === "field") this.#use(e.header, worlds, at);
    else if (e.kind === "binary" && (e.operator === "&&" || e.operator === "||")) {
      this.#read(e.left, worlds, at);
      this.#under(e.left, () => this.#read(e.right, this.#when(e.left, worlds, e.operator === "&&"), at));
    } else if (e.kind === "mux") {
      this.#read(e.condition, worlds, at);
      this.#under(e.condition, () => {
        this.#read(e.whenTrue, this.#when(e.condition, worlds, true), at);
        this.#read(e.whenFalse, this.#when(e.condition, worlds, false), at);
      });
    } else for (const operand of operandsOf(e)) this.#read(operand, worlds, at);
  }

  /** Reads what is evaluated depending on a condition. */
  #under(condition: Expression, read: () => void): void {
    const asksMore = !isAboutHeaders(condition);
    if (asksMore) this.#conditions++;
    read();
    if (asksMore) this.#conditions--;
  }

  #bit(header: string): bigint {
    const stack = stackOf(header, "last");
    return this.#bits.get(stack === undefined ? header : elementPath(stack, 0)) ?? 0n;
  }

  #use(header: string, worlds: Worlds, at: SourceLocation | undefined): void {
    const bit = this.#bit(header);
    if (bit === 0n) return;
    // An entry of the table can ask for the header.
    const isAsked = this.#compared.some((b) => {
      const asked = worlds.where(b, true);
      return asked.list.length > 0 && asked.always(bit);
    });
    const key = `${header} ${at?.file}:${at?.line}:${at?.column}`;
    const use = this.uses.get(key) ?? { header, at, never: true, always: true };
    this.uses.set(key, use);
    if (!worlds.never(bit)) use.never = false;
    if (!isAsked && this.#conditions === 0 && !worlds.always(bit)) use.always = false;
  }
}

/** Headers whose validity is part of a table's key. */
function comparedIn(table: Table): readonly string[] {
  return table.key.flatMap(({ expression: e }) => (e.kind === "valid" ? [e.header] : []));
}

/** Whether a condition asks for the validity of headers alone. */
function isAboutHeaders(e: Expression): boolean {
  return e.kind === "valid" || (operandsOf(e).length > 0 && operandsOf(e).every(isAboutHeaders));
}
