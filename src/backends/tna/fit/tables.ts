import type { Expression, SourceLocation } from "../../../ir/index.ts";
import { expressionsOfState, widthOf } from "../../../ir/index.ts";
import { deep } from "../../../ir/walk.ts";
import { cellExpressions, effectsOf, keysOf, readsOf } from "../effects.ts";
import { gatewaysFor } from "../gateways.ts";
import { Layout } from "../layout.ts";
import { childrenOf, Scopes } from "../levels.ts";
import type {
  Gress,
  StatefulProgram,
  Step,
  TnaAction,
  TnaBlock,
  TnaProgram,
  TnaStatement,
  TnaTable,
} from "../lowered.ts";
import { type Bits, overlaps } from "../stages.ts";

/** What stands beside a table or an action in memories of its own. */
export interface Memory {
  readonly kind:
    | "register"
    | "counter"
    | "meter"
    | "selector"
    | "actionProfile"
    | "directCounter"
    | "directMeter";
  /** DSL name. */
  readonly name: string;
  /** Cells in 128 bits, the width of a memory. */
  readonly perWord: number;
  /** Cells; what is direct has as many as its table has entries. */
  readonly size: number;
}

/**
 * What the compiler makes one logical table of: a match table, an action without a key, or a condition (a gateway). Conditions
 * can share a logical table with what they ask for (`placement.ts`).
 */
export interface FitTable {
  readonly id: number;
  readonly gress: Gress;
  readonly kind: "match" | "action" | "condition";
  /** As the user wrote it: the table, the action, or what a condition asks. */
  readonly name: string;
  readonly at?: SourceLocation | undefined;
  readonly reads: readonly Bits[];
  readonly writes: readonly Bits[];
  readonly table?: TnaTable;
  readonly actions: readonly TnaAction[];
  readonly memories: readonly Memory[];
  /** Where in its memories it works: fields, or constants; tables of a stage that work at the same place share the way there. */
  readonly indexes: readonly Index[];
  /** Fields that go through the input crossbar: keys, conditions, indexes, and what register programs take of the packet. */
  readonly crossbar: readonly Bits[];
  /** Metadata of the program that are no whole bytes. */
  readonly oddFields: ReadonlySet<string>;
  readonly condition?: Expression;
  /** What runs behind it: of a condition when true and when false, of a match table on a hit and on a miss. */
  readonly next: readonly FitSequence[];
  /** The sequences around it, outermost first, each with the table that asks for it. */
  readonly around: readonly Around[];
}

export interface Around {
  readonly sequence: FitSequence;
  readonly of?: FitTable;
}

export interface FitSequence {
  readonly tables: readonly FitTable[];
}

export interface Index {
  readonly text: string;
  readonly bits: number;
}

/** The tables of both gresses: how they follow each other, and all of them in the order of the program. */
export interface FitProgram {
  readonly ingress: FitSequence;
  readonly egress: FitSequence;
  readonly tables: readonly FitTable[];
}

/** Tables as the compiler forms them of the lowered program. */
export function fitTables(program: TnaProgram): FitProgram {
  const builder = new Builder(program);
  const ingress = builder.sequence(program.ingress.block, "ingress", []);
  const egress = builder.sequence(program.egress.block, "egress", []);
  return { ingress, egress, tables: builder.tables };
}

class Builder {
  readonly tables: FitTable[] = [];
  readonly #scopes: Scopes;
  readonly #memories = new Map<string, Memory>();
  /** By DSL name; several tables can have one. */
  readonly #profiles = new Map<string, readonly Memory[]>();
  readonly #program: TnaProgram;
  readonly #oddFields: ReadonlySet<string>;
  readonly #layout: Layout;
  readonly #unread: ReadonlySet<string>;

  constructor(program: TnaProgram) {
    this.#oddFields = new Set(
      program.metadata.flatMap((m) => (widthOf(m.type) % 8 === 0 ? [] : [`meta.${m.name}`])),
    );
    this.#program = program;
    this.#scopes = new Scopes(program);
    this.#layout = new Layout(program.source);
    this.#unread = unreadMetadata(program, this.#scopes);
    for (const c of program.controls) {
      for (const r of c.registers)
        this.#memories.set(`${c.name} ${r.local}`, {
          kind: "register",
          name: r.name,
          perWord: registerPerWord(r.type),
          size: r.size,
        });
      for (const k of c.counters)
        this.#memories.set(`${c.name} ${k.local}`, {
          kind: "counter",
          name: k.name,
          perWord: k.unit === "both" ? 1 : 2,
          size: k.size,
        });
      for (const m of c.meters)
        this.#memories.set(`${c.name} ${m.local}`, {
          kind: "meter",
          name: m.name,
          perWord: 1,
          size: m.cells.size,
        });
      for (const a of c.actionProfiles) this.#profiles.set(a.name, memoriesOfProfile(a));
    }
  }

  sequence(block: TnaBlock, scope: string, around: readonly Around[], of?: FitTable): FitSequence {
    const tables: FitTable[] = [];
    const sequence: FitSequence = { tables };
    const within = [...around, { sequence, ...(of === undefined ? {} : { of }) }];
    for (const piece of this.#pieces(block, scope)) {
      if (piece.kind === "steps") tables.push(this.#steps(piece.steps, piece.scope, within));
      else tables.push(...this.#statement(piece.statement, piece.scope, within));
    }
    return sequence;
  }

  /** The statements with controls in their places, and neighbouring assignments put into one action as the compiler does. */
  #pieces(block: TnaBlock, scope: string): readonly Piece[] {
    const pieces: Piece[] = [];
    const take = (b: TnaBlock, inScope: string): void => {
      for (const s of b) {
        if (s.kind === "applyControl") {
          const control = this.#scopes.controlOf(s.instance);
          take(this.#scopes.block(control), control);
        } else if (s.kind === "steps") {
          for (const step of s.steps) {
            if (this.#isUnseen(step)) continue;
            const last = pieces.at(-1);
            if (last?.kind === "steps" && this.#combine(last, step, inScope)) last.steps.push(step);
            else pieces.push({ kind: "steps", steps: [step], scope: inScope });
          }
        } else pieces.push({ kind: "statement", statement: s, scope: inScope });
      }
    };
    take(block, scope);
    return pieces;
  }

  /** One action takes neighbouring statements unless one reads what another writes, or two use counters. */
  #combine(piece: Extract<Piece, { kind: "steps" }>, step: Step, scope: string): boolean {
    if (piece.scope !== scope && (usesMemory(step) || piece.steps.some(usesMemory))) return false;
    if (usesMemory(step) && piece.steps.some(usesMemory)) return false;
    const objects = this.#scopes.objects(scope);
    const before = effectsOf({ kind: "steps", steps: piece.steps }, objects).writes;
    const after = effectsOf({ kind: "steps", steps: [step] }, objects);
    return ![...after.reads, ...after.writes].some((r) => before.some((w) => overlaps(w, r)));
  }

  #steps(steps: readonly Step[], scope: string, around: readonly Around[]): FitTable {
    const statement: TnaStatement = { kind: "steps", steps };
    const { reads, writes } = effectsOf(statement, this.#scopes.objects(scope));
    const memories = this.#memoriesOf(steps, [], scope);
    return this.#add({
      gress: this.#scopes.objects(scope).gress,
      kind: "action",
      name: stepsName(steps, memories, scope),
      at: placeOf(steps) ?? this.#placeOfControl(scope),
      reads,
      writes: this.#fieldsOnly(writes, scope),
      actions: [{ name: "", local: "", parameters: [], updates: [], units: [], steps }],
      memories,
      ...this.#access(steps, [], scope),
      next: [],
      around,
    });
  }

  #statement(s: TnaStatement, scope: string, around: readonly Around[]): readonly FitTable[] {
    const objects = this.#scopes.objects(scope);
    const { gress } = objects;
    const { reads, writes } = effectsOf(s, objects);
    switch (s.kind) {
      case "if": {
        if (childrenOf(s).length === 0) return [];
        const read = readsOf(s.condition, gress);
        const asking = (within: readonly Around[], next: FitSequence[]): FitTable =>
          this.#add({
            gress,
            kind: "condition",
            name: "",
            at: s.condition.at ?? this.#placeOfControl(scope),
            reads: read,
            writes: [],
            condition: s.condition,
            actions: [],
            memories: [],
            indexes: [],
            crossbar: read,
            next,
            around: within,
          });
        // What is too much for one gateway is asked by several, one behind the other.
        let within = around;
        let next: FitSequence[] = [];
        let last = asking(within, next);
        const first = last;
        for (let more = gatewaysFor(s.condition, this.#layout) - 1; more > 0; more--) {
          const tables: FitTable[] = [];
          const sequence: FitSequence = { tables };
          next.push(sequence);
          within = [...within, { sequence, of: last }];
          next = [];
          last = asking(within, next);
          tables.push(last);
        }
        for (const branch of [s.whenTrue, s.whenFalse]) this.#branch(branch, scope, within, last, next);
        return [first];
      }
      case "callAction": {
        const action = objects.actions.get(s.local);
        // The compiler leaves out what nobody would see.
        if (action === undefined || action.steps.every((t) => this.#isUnseen(t))) return [];
        return [
          this.#add({
            gress,
            kind: "action",
            name: action.name,
            at: this.#placeOfAction(action.name) ?? placeOf(action.steps) ?? this.#placeOfControl(scope),
            reads,
            writes: this.#fieldsOnly(writes, scope),
            actions: [action],
            memories: this.#memoriesOf(action.steps, action.updates, scope),
            ...this.#access(action.steps, action.updates, scope),
            next: [],
            around,
          }),
        ];
      }
      case "applyTable": {
        const t = objects.tables.get(s.local);
        if (t === undefined) return [];
        const actions = t.actions.flatMap((a) => objects.actions.get(a.local) ?? []);
        const access = actions.map((a) => this.#access(a.steps, a.updates, scope));
        const next: FitSequence[] = [];
        const table = this.#add({
          gress,
          kind: "match",
          name: t.name,
          at: t.at,
          reads,
          writes: this.#fieldsOnly(writes, scope),
          table: t,
          actions,
          memories: [
            ...new Set(actions.flatMap((a) => this.#memoriesOf(a.steps, a.updates, scope))),
            ...(t.directCounter === undefined
              ? []
              : [{ kind: "directCounter", name: t.directCounter, perWord: 1, size: 0 } as const]),
            ...(t.directMeter === undefined
              ? []
              : [{ kind: "directMeter", name: t.directMeter.name, perWord: 1, size: 0 } as const]),
            ...(t.implementation === undefined ? [] : (this.#profiles.get(t.implementation) ?? [])),
          ],
          indexes: access.flatMap((a) => a.indexes),
          crossbar: [
            ...keysOf(t, objects).flatMap((k) => readsOf(k, gress)),
            ...access.flatMap((a) => a.crossbar),
          ],
          next,
          around,
        });
        for (const branch of [s.hit, s.miss]) this.#branch(branch, scope, around, table, next);
        return [table];
      }
      case "exit":
        // The compiler notes that there is no more to be done, in an action of its own.
        return [
          this.#add({
            gress,
            kind: "action",
            name: `${scope}: exit`,
            at: this.#placeOfControl(scope),
            reads: [],
            writes: [],
            actions: [],
            memories: [],
            indexes: [],
            crossbar: [],
            next: [],
            around,
          }),
        ];
      default:
        return [];
    }
  }

  #isUnseen(s: Step): boolean {
    return s.kind === "assign" && s.target.kind === "metadata" && this.#unread.has(s.target.name);
  }

  #branch(
    block: TnaBlock,
    scope: string,
    around: readonly Around[],
    of: FitTable,
    into: FitSequence[],
  ): void {
    if (block.length === 0) return;
    const sequence = this.sequence(block, scope, around, of);
    if (sequence.tables.length > 0) into.push(sequence);
  }

  #add(table: Omit<FitTable, "id" | "oddFields">): FitTable {
    const added = { ...table, id: this.tables.length, oddFields: this.#oddFields };
    this.tables.push(added);
    return added;
  }

  #memoriesOf(steps: readonly Step[], updates: readonly StatefulProgram[], scope: string): readonly Memory[] {
    const locals = steps.flatMap((s) =>
      s.kind === "count"
        ? [s.counterLocal]
        : s.kind === "meter"
          ? [s.meterLocal]
          : s.kind === "execute"
            ? updates.flatMap((u) => (u.local === s.program ? [u.register] : []))
            : [],
    );
    return [...new Set(locals)].flatMap((l) => this.#memories.get(`${scope} ${l}`) ?? []);
  }

  #access(
    steps: readonly Step[],
    updates: readonly StatefulProgram[],
    scope: string,
  ): Pick<FitTable, "indexes" | "crossbar"> {
    const { gress } = this.#scopes.objects(scope);
    const indexes: Index[] = [];
    const crossbar: Bits[] = [];
    for (const s of steps) {
      if (s.kind === "hash") {
        crossbar.push(...s.fields.flatMap((f) => readsOf(f, gress)));
        indexes.push({ text: s.local, bits: s.bits });
      }
      if ((s.kind === "assign" || s.kind === "architecture") && s.inHash === true) {
        const atoms = readsOf(s.value, gress);
        crossbar.push(...atoms);
        indexes.push({ text: `move ${textOf(atoms)}`, bits: widthOf(s.value.type) });
      }
      if (s.kind !== "count" && s.kind !== "execute" && s.kind !== "meter") continue;
      const atoms = s.index === undefined ? [] : readsOf(s.index, gress);
      crossbar.push(...atoms);
      const bits = s.index === undefined || atoms.length === 0 ? 0 : widthOf(s.index.type);
      indexes.push({ text: textOf(atoms), bits });
      const update = s.kind === "execute" ? updates.find((u) => u.local === s.program) : undefined;
      if (update !== undefined)
        crossbar.push(...cellExpressions(update.body).flatMap((e) => readsOf(e, gress)));
    }
    return { indexes, crossbar };
  }

  /** Registers and counters do not order what uses them by fields. */
  #fieldsOnly(writes: readonly Bits[], scope: string): readonly Bits[] {
    return writes.filter((w) => !this.#memories.has(`${scope} ${w.key}`));
  }

  #placeOfControl(scope: string): SourceLocation | undefined {
    return this.#program.source.controls.find((c) => c.name === scope)?.at;
  }

  #placeOfAction(name: string): SourceLocation | undefined {
    return this.#program.source.controls.flatMap((c) => c.actions).find((a) => a.name === name)?.at;
  }
}

/** Metadata that no table, no condition, no action, no parser and no deparser reads. */
function unreadMetadata(program: TnaProgram, scopes: Scopes): ReadonlySet<string> {
  const unread = new Set(program.metadata.map((m) => m.name));
  const kept = [
    program.clone?.session,
    program.clone?.origin,
    ...program.digests.flatMap((d) => d.values),
    ...[...program.ingressChecksums, ...program.egressChecksums].map((c) => c.isGiven),
    ...(program.resubmission?.kept ?? []).map((k) =>
      k.source.kind === "metadata" ? k.source.name : undefined,
    ),
  ];
  for (const name of kept) if (name !== undefined) unread.delete(name);
  const note = (e: Expression): void => {
    for (const n of deep(e)) if (n.kind === "metadata") unread.delete(n.name);
  };
  for (const state of program.source.parser) for (const e of expressionsOfState(state)) note(e);
  for (const c of [...program.ingressChecksums, ...program.egressChecksums])
    for (const f of c.fields) note(f);
  const blocks = [
    ["ingress", program.ingress] as const,
    ["egress", program.egress] as const,
    ...program.controls.map((c) => [c.name, c] as const),
  ];
  for (const [scope, { block }] of blocks) {
    const look = (b: TnaBlock): void => {
      for (const s of b) {
        for (const r of effectsOf(s, scopes.objects(scope)).reads)
          if (r.key.startsWith("meta.")) unread.delete(r.key.slice("meta.".length));
        look(childrenOf(s));
      }
    };
    look(block);
  }
  return unread;
}

function textOf(atoms: readonly Bits[]): string {
  return atoms.map((a) => `${a.key}[${a.high}:${a.low}]`).join();
}

type Piece =
  | { readonly kind: "steps"; readonly steps: Step[]; readonly scope: string }
  | { readonly kind: "statement"; readonly statement: TnaStatement; readonly scope: string };

function usesMemory(s: Step): boolean {
  return ["count", "execute", "meter", "random"].includes(s.kind);
}

/** Members in a group's word of a selector. */
const MEMBERS_OF_A_WORD = 120;

/** The actions of its members, and, with groups, the selector that chooses among them. */
function memoriesOfProfile({
  name,
  size,
  selector,
}: TnaProgram["controls"][number]["actionProfiles"][number]): readonly Memory[] {
  const members: Memory = { kind: "actionProfile", name, perWord: 1, size };
  if (selector === undefined) return [members];
  const words = selector.groups * Math.ceil(selector.groupSize / MEMBERS_OF_A_WORD);
  return [members, { kind: "selector", name: selector.name, perWord: 1, size: words }];
}

function registerPerWord(type: { readonly kind: string; readonly width?: number }): number {
  const width = Math.max(8, type.width ?? 8);
  return Math.floor(128 / 2 ** Math.ceil(Math.log2(width)));
}

/** What straight-line code is called in a report: the counter that it counts with, or the fields that it sets. */
function stepsName(steps: readonly Step[], memories: readonly Memory[], scope: string): string {
  const [memory] = memories;
  if (memory !== undefined) return memory.name;
  const names = steps.flatMap((s) => {
    if (s.kind === "architecture" || s.kind === "invalidate") return [s.field.replace(/^\w+\./, "")];
    if (s.kind === "setValidity") return [s.header];
    if (s.kind !== "assign") return [];
    const target = s.target.kind === "slice" ? s.target.operand : s.target;
    return target.kind === "field" ? [`${target.header}.${target.field}`] : [target.name];
  });
  // What is only set here tells more than the drop code, which many set.
  const telling = [...new Set(names)].sort((a, b) => Number(a === "drop_ctl") - Number(b === "drop_ctl"));
  const shown = telling.slice(0, 2).join(", ");
  return `${scope}: sets ${shown}${telling.length > 2 ? " ..." : ""}`;
}

function placeOf(steps: readonly Step[]): SourceLocation | undefined {
  for (const s of steps) {
    const expressions = "value" in s ? [s.value] : "index" in s ? [s.index] : [];
    for (const e of expressions) for (const n of deep(e)) if (n.at !== undefined) return n.at;
  }
  return undefined;
}

/** Whether no packet meets both: they stand in different branches of one condition or table. */
export function areExclusive(a: FitTable, b: FitTable): boolean {
  const depth = Math.min(a.around.length, b.around.length);
  for (let i = 0; i < depth; i++) {
    const [x, y] = [a.around[i], b.around[i]];
    if (x === undefined || y === undefined || x.sequence === y.sequence) continue;
    return x.of !== undefined && x.of === y.of;
  }
  return false;
}
