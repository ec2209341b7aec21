import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type {
  ActionEntry,
  ActionProfile,
  Bmv2Program,
  Conditional,
  Deparser,
  Action as EngineAction,
  ActionCall as EngineCall,
  Expression as EngineExpression,
  Table as EngineTable,
  EntryKey,
  MeterArray,
  Pipeline,
  Primitive,
} from "../bmv2json/program.ts";
import { UNICAST_VALID } from "./architecture.ts";
import { algorithmOf, Calculations, inputOf } from "./calculations.ts";
import type {
  Action,
  ActionCall,
  Block,
  Body,
  Control,
  Expression,
  Gress,
  GressSection,
  KeySet,
  MatchKind,
  Statement,
  Table,
  TnaDocument,
} from "./document.ts";
import { elementPaths, Fields, hiddenSlot } from "./fields.ts";
import { Primitives } from "./primitives.ts";
import { ActionTranslator, BROKEN_RULE, colourField, colourOf, type Owner } from "./translate-action.ts";
import { masked, translateParser } from "./translate-parser.ts";
import { binary, constant, data, isPlace, place, type ValueScope, value } from "./values.ts";

const NO_ACTION = "NoAction";
const ONES = 0xffffn;

/** Intrinsic metadata that the switch itself reads or writes, whether the program does or not. */
const USED: Readonly<Record<Gress, readonly string[]>> = {
  ingress: [
    "ig_intr_md.ingress_port",
    "ig_intr_md.resubmit_flag",
    "ig_prsr_md.parser_err",
    "ig_dprsr_md.drop_ctl",
    "ig_dprsr_md.digest_type",
    "ig_dprsr_md.resubmit_type",
    "ig_dprsr_md.mirror_type",
    "ig_tm_md.ucast_egress_port",
    UNICAST_VALID,
    "ig_tm_md.qid",
    "ig_tm_md.packet_color",
    "ig_tm_md.mcast_grp_a",
  ],
  egress: ["eg_intr_md.egress_port", "eg_dprsr_md.drop_ctl", "eg_dprsr_md.mirror_type"],
};

/**
 * One gress in the form that the engine compiles: parser, control flow and deparser. `watched`: registers that are to be watched while
 * packets pass, with the numbers of the rules.
 */
export function translateGress(
  document: TnaDocument,
  section: GressSection,
  watched: ReadonlyMap<string, number>,
): Bmv2Program {
  return new GressTranslator(document, section, watched).translate();
}

class GressTranslator {
  readonly #document: TnaDocument;
  readonly #section: GressSection;
  readonly #fields: Fields;
  readonly #calculations = new Calculations();
  readonly #watched: ReadonlyMap<string, number>;
  readonly #actions: EngineAction[] = [];
  readonly #tables: EngineTable[] = [];
  readonly #conditionals: Conditional[] = [];
  readonly #calls: EngineCall[] = [];
  readonly #meters: MeterArray[] = [];
  readonly #tableActions = new Map<string, number>();
  #nodes = 0;

  constructor(document: TnaDocument, section: GressSection, watched: ReadonlyMap<string, number>) {
    this.#document = document;
    this.#section = section;
    this.#watched = watched;
    this.#fields = new Fields(document, section.gress, USED[section.gress]);
    this.#fields.hidden(BROKEN_RULE, { kind: "bit", width: 16 });
  }

  translate(): Bmv2Program {
    const { gress, controls, parser, path } = this.#section;
    const states = translateParser(parser, this.#fields, this.#calculations);
    const scope: Scope = { owner: undefined, body: this.#section, prefix: gress };
    const init = this.#block(this.#section.block, null, scope, []);
    const deparser = this.#deparser();
    const pipeline: Pipeline = {
      name: gress,
      init,
      tables: this.#tables,
      actionProfiles: controls.flatMap((c) => c.actionProfiles.map((p, i) => this.#profile(p, i))),
      conditionals: this.#conditionals,
      actionCalls: this.#calls,
      path,
    };
    const empty: Pipeline = {
      ...pipeline,
      name: gress === "ingress" ? "egress" : "ingress",
      init: null,
      tables: [],
      actionProfiles: [],
      conditionals: [],
      actionCalls: [],
    };
    const registers = controls.flatMap((c) => c.registers);
    const counters = controls.flatMap((c) => c.counters);
    const meters = controls.flatMap((c) => c.meters);
    const digests =
      gress === "egress"
        ? []
        : this.#document.digests.map((d) => ({
            id: d.number,
            name: d.name,
            elements: d.values.map((v) => this.#fieldOf(v)),
          }));
    for (const m of this.#document.mirrors)
      if (m.gress === gress) for (const v of [m.session, ...m.values]) this.#fieldOf(v);
    if (gress === "ingress")
      for (const r of this.#document.resubmits) for (const v of r.values) this.#fieldOf(v);
    const sections = this.#fields.headerSections();
    return {
      name: `${this.#document.program} (${gress})`,
      ...sections,
      unionTypes: [],
      unions: [],
      unionStacks: [],
      errors: new Map(),
      parsers: [states],
      valueSets: this.#document.valueSets.map((v, id) => ({
        name: v.name,
        id,
        width: v.fields.reduce((sum, f) => sum + f.type.width, 0),
        maxSize: v.size,
      })),
      deparsers: [deparser],
      meters: [
        ...meters.map((m, id) => ({ name: m.name, id, unit: m.unit, size: m.size, path })),
        ...this.#meters,
      ],
      counters: counters.map((c, id) => ({ name: c.name, id, size: c.size, directTable: undefined })),
      registers: registers.map((r, id) => ({ name: r.name, id, size: r.size, width: r.type.width })),
      calculations: this.#calculations.list,
      checksums: [],
      digests,
      fieldLists: [],
      actions: this.#actions,
      pipelines: gress === "ingress" ? [pipeline, empty] : [empty, pipeline],
      aliases: [
        {
          alias: "standard_metadata.parser_error",
          header: "$architecture",
          field: gress === "ingress" ? "ig_prsr_md.parser_err" : "eg_prsr_md.parser_err",
        },
      ],
    };
  }

  /** A value that the switch reads from a packet itself: a field, or a constant. */
  #fieldOf(e: Expression): EngineExpression {
    const scope: ValueScope = { fields: this.#fields, locals: () => undefined };
    if (e.kind === "constant") return constant(e.value, e.path);
    if (isPlace(e)) return place(e, scope, false);
    throw new SwitchConfigError("UNSUPPORTED", e.path, "a deparser sends fields and constants");
  }

  // ---------------------------------------------------------------- control flow

  /** Adds a block that goes on to `next`, and gives the name of its first node. */
  #block(block: Block, next: string | null, scope: Scope, open: readonly string[]): string | null {
    let after = next;
    let run: Straight[] = [];
    const flush = (): void => {
      if (run.length > 0) after = this.#straight(run.toReversed(), after, scope);
      run = [];
    };
    for (const s of block.toReversed()) {
      if (s.kind === "steps" || s.kind === "callAction") {
        run.push(s);
        continue;
      }
      flush();
      after = this.#statement(s, after, scope, open);
    }
    flush();
    return after;
  }

  /** Statements that follow each other whatever happens, as one action of the engine. */
  #straight(run: readonly Straight[], next: string | null, scope: Scope): string | null {
    const [first] = run;
    const name = this.#name(scope, first?.kind === "callAction" ? first.action : "steps");
    const out = new Primitives(first?.path ?? scope.prefix);
    for (const s of run) {
      if (s.kind === "callAction") this.#callAction(s, scope, out);
      else {
        const none = { updates: [], units: [], path: s.path };
        new ActionTranslator(this.#parts, scope.owner, none, name, new Map(), out).steps(s.steps);
      }
    }
    return this.#call(name, out.list, next, out.path);
  }

  #name(scope: Scope, what: string): string {
    return `${scope.prefix}: ${what} ${this.#nodes++}`;
  }

  #statement(
    s: Exclude<Statement, Straight>,
    next: string | null,
    scope: Scope,
    open: readonly string[],
  ): string | null {
    switch (s.kind) {
      case "if": {
        const name = this.#name(scope, "if");
        this.#conditionals.push({
          name,
          expression: value(s.condition, { fields: this.#fields, locals: () => undefined }),
          trueNext: this.#block(s.whenTrue, next, scope, open),
          falseNext: this.#block(s.whenFalse, next, scope, open),
          path: s.path,
        });
        return name;
      }
      case "applyTable":
        return this.#applyTable(s, next, scope, open);
      case "applyControl": {
        const name = scope.body.instances.get(s.instance);
        const control = this.#section.controls.find((c) => c.name === name);
        if (control === undefined)
          throw new SwitchConfigError("UNKNOWN_NAME", s.path, `there is no instance "${s.instance}" here`);
        if (open.includes(control.name))
          throw new SwitchConfigError("BAD_VALUE", s.path, `control "${control.name}" applies itself`);
        const inner: Scope = { owner: control, body: control, prefix: control.name };
        return this.#block(control.block, next, inner, [...open, control.name]);
      }
      case "exit":
        return null;
    }
  }

  get #parts() {
    return { fields: this.#fields, calculations: this.#calculations, watched: this.#watched };
  }

  #call(name: string, primitives: readonly Primitive[], next: string | null, path: string): string | null {
    if (primitives.length === 0) return next;
    const id = this.#addAction({ name, parameters: [], primitives, path });
    this.#calls.push({ name, actionId: id, next, path });
    return name;
  }

  #addAction(action: Omit<EngineAction, "id">): number {
    const id = this.#actions.length;
    this.#actions.push({ id, ...action });
    return id;
  }

  #callAction(s: Extract<Statement, { kind: "callAction" }>, scope: Scope, out: Primitives): void {
    const action = scope.body.actions.find((a) => a.local === s.action);
    if (action === undefined)
      throw new SwitchConfigError("UNKNOWN_NAME", s.path, `there is no action "${s.action}" here`);
    if (action.parameters.length !== s.arguments.length)
      throw new SwitchConfigError(
        "BAD_VALUE",
        s.path,
        `${s.action} takes ${action.parameters.length} arguments, not ${s.arguments.length}`,
      );
    const parameters = new Map(
      action.parameters.map((p) => [p.name, this.#fields.hidden(`${action.name}(${p.name})`, p.type)]),
    );
    s.arguments.forEach((a, i) => {
      const to = parameters.get(action.parameters[i]?.name ?? "");
      if (to !== undefined) out.assign(to, data(a, { fields: this.#fields, locals: () => undefined }));
    });
    new ActionTranslator(this.#parts, scope.owner, action, action.name, parameters, out).steps(action.steps);
  }

  // ---------------------------------------------------------------- tables

  #applyTable(
    s: Extract<Statement, { kind: "applyTable" }>,
    next: string | null,
    scope: Scope,
    open: readonly string[],
  ): string | null {
    const table = scope.owner?.tables.find((t) => t.local === s.table);
    if (table === undefined || scope.owner === undefined)
      throw new SwitchConfigError("UNKNOWN_NAME", s.path, `there is no table "${s.table}" here`);
    if (this.#tables.some((t) => t.name === table.name))
      throw new SwitchConfigError("BAD_VALUE", s.path, `table "${table.name}" is applied twice`);
    const before = new Primitives(table.path);
    const branches =
      s.hit.length + s.miss.length === 0
        ? undefined
        : { hit: this.#block(s.hit, next, scope, open), miss: this.#block(s.miss, next, scope, open) };
    this.#tables.push(this.#table(table, scope.owner, before, next, branches));
    return this.#call(this.#name(scope, `key of ${table.local}`), before.list, table.name, table.path);
  }

  #table(
    t: Table,
    control: Control,
    before: Primitives,
    next: string | null,
    branches: { readonly hit: string | null; readonly miss: string | null } | undefined,
  ): EngineTable {
    const profile = control.actionProfiles.find((p) => p.name === t.implementation);
    const ids = new Map(t.actions.map((a) => [a.name, this.#tableAction(a.name, control, t)]));
    const call = ({ action, arguments: values }: ActionCall, path: string): ActionEntry => {
      const actionId = ids.get(action);
      if (actionId === undefined)
        throw new SwitchConfigError(
          "UNKNOWN_NAME",
          path,
          `"${action}" is none of the actions of "${t.name}"`,
        );
      return { actionId, data: values };
    };
    if (t.implementation !== undefined && profile === undefined)
      throw new SwitchConfigError("UNKNOWN_NAME", t.path, `there is no action profile "${t.implementation}"`);
    const scope: ValueScope = { fields: this.#fields, locals: () => undefined };
    const meter = control.directMeters.find((m) => m.local === t.directMeter);
    if (meter !== undefined) {
      colourField(this.#fields, meter.name);
      const [header, field] = hiddenSlot(colourOf(meter.name));
      const direct = { table: t.name, header, field };
      this.#meters.push({
        name: meter.name,
        id: this.#meters.length,
        unit: meter.unit,
        size: 0,
        direct,
        path: t.path,
      });
    }
    return {
      name: t.name,
      id: this.#tables.length,
      key: t.key.map((k) => ({
        name: k.name,
        kind: k.match,
        target: this.#keyField(k.expression, before, scope),
        mask: undefined,
        path: t.path,
      })),
      matchType: matchTypeOf(t.key.map((k) => k.match)),
      implementation:
        profile === undefined ? "simple" : profile.selector === undefined ? "indirect" : "indirect_ws",
      actionProfile: profile?.name,
      maxSize: t.key.length === 0 ? Math.max(1, t.size) : t.size,
      withCounters: t.directCounter !== undefined,
      supportsTimeout: false,
      directMeters: meter?.name,
      actionIds: t.actions.map((a) => ids.get(a.name) ?? 0),
      nextByAction: new Map(t.actions.map((a) => [a.name, next])),
      nextOnHit: branches?.hit,
      nextOnMiss: branches?.miss,
      baseDefaultNext: next,
      defaultEntry:
        profile === undefined
          ? { ...call(t.defaultAction, t.path), isConst: t.defaultAction.constant }
          : undefined,
      constEntries: t.entries?.map((e, i) => ({
        key: e.keys.map((set, k) => entryKey(set, t.key[k], e.path)),
        action: call(e, e.path),
        priority: i + 1,
        path: e.path,
      })),
      path: t.path,
    };
  }

  /** The engine looks keys up in fields; what is computed is kept in one first. */
  #keyField(e: Expression, before: Primitives, scope: ValueScope): EngineExpression {
    if (isPlace(e)) return place(e, scope, false);
    if (e.kind === "valid")
      return { kind: "field", header: this.#fields.header(e.header, e.path), field: "$valid$", path: e.path };
    const held = this.#fields.temporary(e.type.kind === "bool" ? { kind: "bit", width: 1 } : e.type);
    before.assign(held, data(e, scope));
    return held;
  }

  /** The engine's action for one that tables run; its parameters are action data. */
  #tableAction(name: string, control: Control, t: Table): number {
    const known = this.#tableActions.get(name);
    if (known !== undefined) return known;
    const action = name === NO_ACTION ? undefined : control.actions.find((a) => a.name === name);
    if (action === undefined && name !== NO_ACTION)
      throw new SwitchConfigError("UNKNOWN_NAME", t.path, `there is no action "${name}"`);
    const id = this.#addAction({
      name,
      parameters: (action?.parameters ?? []).map((p) => ({ name: p.name, width: p.type.width })),
      primitives: action === undefined ? [] : this.#entryPrimitives(action, control),
      path: action?.path ?? t.path,
    });
    this.#tableActions.set(name, id);
    return id;
  }

  #entryPrimitives(action: Action, control: Owner): readonly Primitive[] {
    const parameters = new Map<string, EngineExpression>();
    const signed: (readonly [EngineExpression, EngineExpression])[] = [];
    action.parameters.forEach((p, index) => {
      const given: EngineExpression = { kind: "local", index, path: action.path };
      if (p.type.kind === "bit") {
        parameters.set(p.name, given);
        return;
      }
      // Action data have no sign and are no bools: those are kept in a field of their type.
      const held = this.#fields.hidden(`${action.name}(${p.name})`, p.type);
      parameters.set(p.name, held);
      signed.push([held, given]);
    });
    const made = new ActionTranslator(this.#parts, control, action, action.name, parameters);
    for (const [held, given] of signed) made.out.assign(held, given);
    made.steps(action.steps);
    return made.out.list;
  }

  #profile(p: Control["actionProfiles"][number], id: number): ActionProfile {
    const scope: ValueScope = { fields: this.#fields, locals: () => undefined };
    return {
      name: p.name,
      id,
      maxSize: p.size,
      selector:
        p.selector === undefined
          ? undefined
          : {
              algorithm: algorithmOf(p.selector.algorithm, p.path),
              inputs: p.selector.keys.map((k) => {
                if (k.kind === "constant") return inputOf(k, k.path);
                if (isPlace(k)) return inputOf(place(k, scope, false), k.path);
                throw new SwitchConfigError("UNSUPPORTED", k.path, "a selector hashes fields");
              }),
            },
      path: p.path,
    };
  }

  // ---------------------------------------------------------------- deparser

  #deparser(): Deparser {
    const { checksums, emits, path } = this.#section;
    const out = new Primitives(path);
    const scope: ValueScope = { fields: this.#fields, locals: () => undefined };
    for (const c of checksums) {
      const target = c.target;
      if (target.kind !== "field")
        throw new SwitchConfigError("UNSUPPORTED", c.path, "a checksum is a field of a header");
      const inputs = c.fields.map((f) => {
        if (f.kind === "constant") return f;
        if (isPlace(f)) return place(f, scope, false);
        throw new SwitchConfigError("UNSUPPORTED", f.path, "a checksum is over fields");
      });
      const name = this.#calculations.add("csum16", inputs, c.path);
      const sum = (into: EngineExpression): void =>
        out.add(
          "modify_field_with_hash_based_offset",
          into,
          constant(0n, c.path),
          { kind: "named", object: "calculation", name, path: c.path },
          constant(ONES + 1n, c.path),
        );
      const to = place(target, scope, true);
      const { given } = c;
      const isThere: Expression = {
        kind: "valid",
        type: { kind: "bool", width: 1 },
        header: target.header,
        path: c.path,
      };
      if (given === undefined) {
        out.choose(value(isThere, scope), () => sum(to));
        continue;
      }
      out.choose(binary("==", data(given, scope), constant(1n, c.path), c.path), () => {
        const held = this.#fields.temporary({ kind: "bit", width: 16 });
        sum(held);
        out.assign(to, {
          kind: "conditional",
          condition: binary("==", held, constant(0n, c.path), c.path),
          whenTrue: constant(ONES, c.path),
          whenFalse: held,
          path: c.path,
        });
      });
    }
    const order = emits.flatMap((name) => {
      const stack = this.#document.headers.find((h) => h.name === name && h.elements !== undefined);
      return stack === undefined ? [this.#fields.header(name, path)] : elementPaths(stack);
    });
    return { name: "deparser", order, primitives: out.list, path };
  }
}

interface Scope {
  readonly owner: Owner;
  readonly body: Body;
  readonly prefix: string;
}

type Straight = Extract<Statement, { readonly kind: "steps" | "callAction" }>;

function matchTypeOf(kinds: readonly MatchKind[]): EngineTable["matchType"] {
  if (kinds.includes("range")) return "range";
  if (kinds.includes("ternary") || kinds.includes("optional")) return "ternary";
  return kinds.includes("lpm") ? "lpm" : "exact";
}

function entryKey(set: KeySet, key: Table["key"][number] | undefined, path: string): EntryKey {
  if (key === undefined)
    throw new SwitchConfigError("BAD_VALUE", path, "an entry has more keys than its table");
  const { width } = key.expression.type;
  const [first, ...others] = masked(set, width);
  if (key.match === "range") {
    const ones = (1n << BigInt(width)) - 1n;
    if (set.kind === "range") return { kind: "range", low: set.low, high: set.high };
    if (set.kind === "value") return { kind: "range", low: set.value, high: set.value };
    if (set.kind === "any") return { kind: "range", low: 0n, high: ones };
  }
  if (first === undefined || others.length > 0 || key.match === "range")
    throw new SwitchConfigError(
      "BAD_VALUE",
      path,
      `a ${set.kind} cannot stand for the ${key.match} key ${key.name}`,
    );
  switch (key.match) {
    case "exact":
      return { kind: "exact", value: first.value };
    case "lpm": {
      const length = first.mask.toString(2).replaceAll("0", "").length;
      return { kind: "lpm", value: first.value, prefixLength: first.mask === 0n ? 0 : length };
    }
    default:
      return { kind: "ternary", value: first.value, mask: first.mask };
  }
}
