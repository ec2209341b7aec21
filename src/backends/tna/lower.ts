import type {
  Action,
  ActionProfile,
  Annotated,
  Block,
  Control,
  Diagnostic,
  Expression,
  Program,
  RegisterUpdate,
  StraightStatement,
  Table,
  Target,
} from "../../ir/index.ts";
import {
  annotationsOf,
  bit,
  bool,
  expressionsOfState,
  extractedBy,
  forTarget,
  instanceOf,
  NO_ACTION,
  widthOf,
} from "../../ir/index.ts";
import { deep, expressionsOf, placedStatements, statementsOf, targetOf } from "../../ir/walk.ts";
import { BackendError } from "../backenderror.ts";
import { counterDoc } from "../p4text/declarations.ts";
import { type ControlIdentifiers, type Identifiers, identifier, identifiers } from "../p4text/identifiers.ts";
import { localPart, Names } from "../p4text/names.ts";
import { localised, type StepContext, stepsOf, temporaries, withChecksums } from "./actions.ts";
import { withAlternatives } from "./alternatives.ts";
import { apart } from "./apart.ts";
import { inBridge, isWrittenInIngress } from "./bridge.ts";
import { checkProfiles, checkProgram } from "./check.ts";
import {
  checksumText,
  type IncrementalChecksum,
  incrementalText,
  isBeyondHeader,
  withIncrementalChecksums,
} from "./checksums.ts";
import { withGatewayConditions } from "./comparisons.ts";
import { continued } from "./continued.ts";
import { digestsOf } from "./digests.ts";
import { type EgressNeeds, egressNeeds, prunedStates } from "./egress.ts";
import { isTofinoHash, tofinoHashes, withTofinoExterns } from "./externs.ts";
import { flattened } from "./flat.ts";
import { type FlowFacts, flowFacts } from "./flow.ts";
import { checkHeaderKinds } from "./headers.ts";
import { type ActionPart, BlockLowering } from "./lowerblock.ts";
import type {
  Gress,
  HeaderTypeText,
  Instance,
  Member,
  Resubmission,
  TnaActionProfile,
  TnaBlock,
  TnaControl,
  TnaDigest,
  TnaPipeline,
  TnaProgram,
  TnaTable,
} from "./lowered.ts";
import { withOperands } from "./operands.ts";
import { parsers } from "./parsers.ts";
import { keptByParser } from "./parsersteps.ts";
import { resubmission, resubmittedFields } from "./passes.ts";
import type { Refuse } from "./refuse.ts";
import { tnaWords } from "./reserved.ts";
import { checkRegister, indexOf } from "./salu.ts";
import { atomsOf, type Bits, stagesOf } from "./stages.ts";
import { entriesOf, sizeOf } from "./tablecontents.ts";

/**
 * Brings a checked program into the form that Tofino 1 has. What Tofino cannot do is in `findings`; then the rest is not to be used.
 */
export function lowerTna(program: Program): TnaProgram {
  const known = lowered.get(program) ?? new ProgramLowering(withoutIds(forTarget(program, "tna"))).lower();
  lowered.set(program, known);
  return known;
}

/** Ids are P4Info's: p4c-barefoot numbers objects by itself, and warns of @id. */
function withoutIds(program: Program): Program {
  const bare = <A extends Annotated>({ id: _, ...object }: A) => object;
  return {
    ...program,
    controls: program.controls.map((c) => ({
      ...c,
      actions: c.actions.map(bare),
      tables: c.tables.map(bare),
      registers: c.registers.map(bare),
      counters: c.counters.map(bare),
      meters: c.meters.map(bare),
      actionProfiles: c.actionProfiles.map(bare),
    })),
  };
}

/** Programs are frozen: checking one, estimating it and writing it lower it once. */
const lowered = new WeakMap<Program, TnaProgram>();

class ProgramLowering {
  readonly #source: Program;
  /** The program with the bridged metadata where they travel: in the bridge header. */
  readonly #program: Program;
  readonly #incremental: readonly IncrementalChecksum[];
  readonly #bridged: readonly string[];
  readonly #findings = new Map<string, Diagnostic>();
  readonly #ids: Identifiers;
  readonly #facts: Record<Gress, FlowFacts>;
  readonly #asked: Record<Gress, readonly Bits[]>;
  readonly #counterIndex: ReadonlyMap<string, number>;
  readonly #digests: readonly TnaDigest[];
  readonly #clone: { readonly session: string; readonly origin: string } | undefined;
  readonly #checksumFlags: readonly { readonly header: string; readonly flag: string }[];
  readonly #bridgeHeader: string;
  readonly #bridgeType: string;
  #emittedByEgress: ReadonlySet<string> = new Set();
  readonly #refuse: Refuse = (code, message, at) => {
    const key = `${code} ${at?.file}:${at?.line}:${at?.column} ${message}`;
    if (!this.#findings.has(key)) this.#findings.set(key, { code, message, at, target: "tna" });
  };

  constructor(given: Program) {
    const summed = withIncrementalChecksums(given, this.#refuse);
    const source = withGatewayConditions(withTofinoExterns(summed.program, this.#refuse));
    this.#source = source;
    this.#incremental = summed.incremental;
    const read = flowFacts(source, "egress").unwritten;
    this.#bridged = source.metadata
      .map((m) => m.name)
      .filter((name) => read.has(name) && isWrittenInIngress(source, name));
    this.#bridgeHeader = new Names(source.headers.map((h) => h.name)).take("bridge");
    const program = continued(
      withAlternatives(withOperands(inBridge(source, this.#bridged, this.#bridgeHeader))),
      this.#refuse,
    );
    this.#program = program;
    this.#ids = identifiers(program, tnaWords);
    this.#asked = { ingress: askedIn(program, "ingress"), egress: askedIn(program, "egress") };
    this.#facts = { ingress: flowFacts(program, "ingress"), egress: flowFacts(program, "egress") };
    const metadata = new Names(program.metadata.map((m) => m.name));
    const clones = [...placedStatements(program)].some(([s]) => s.kind === "clone");
    this.#clone = clones
      ? { session: metadata.take("clone_session"), origin: metadata.take("clone_origin") }
      : undefined;
    this.#checksumFlags = program.checksums
      .filter((c) => c.verify)
      .map((c) => ({ header: c.header, flag: metadata.take(`${c.header}_checksum_failed`) }));
    this.#bridgeType = new Names([...this.#ids.headerTypes.values(), ...tnaWords]).take("bridge_t");
    this.#counterIndex = this.#counterIndexes();
    this.#digests = digestsOf(program, this.#ids, this.#refuse);
  }

  lower(): TnaProgram {
    const p = this.#program;
    checkProgram(p, this.#refuse);
    checkProfiles(this.#source, this.#bridged, this.#refuse);
    for (const name of flowFacts(this.#source, "egress").unwritten) {
      if (keptByParser(p).has(name))
        this.#refuse("GP1832", `egress reads ${name}, which the parser sets`, metadataOf(p, name)?.at);
    }
    const bridged = this.#bridged;
    const found = egressNeeds(this.#source);
    checkHeaderKinds(p, found, this.#refuse);
    const needs = { ...found, ingressPort: found.ingressPort || parsesByPort(p, found) };
    const origin = needs.isClone || this.#clone !== undefined;
    const hasBridge = origin || needs.ingressPort || bridged.length > 0;
    const bridge = hasBridge
      ? {
          header: this.#bridgeHeader,
          type: this.#bridgeType,
          bytes:
            (origin ? 1 : 0) +
            (needs.ingressPort ? 2 : 0) +
            bridged.reduce((sum, m) => sum + Math.ceil(this.#metadataWidth(m) / 8), 0),
          origin,
          ingressPort: needs.ingressPort,
          metadata: bridged.flatMap((name): readonly Member[] => {
            const field = metadataOf(p, name);
            return field === undefined ? [] : [{ name, type: field.type }];
          }),
        }
      : undefined;
    const inEgress = new Set([...needs.clone, ...needs.sent]);
    // What the egress parser has not extracted stands behind the headers, as it came; the rest has to be emitted again, whether egress
    // works on it or the way to what it works on led over it.
    const extracted = new Set(
      [needs.clone, needs.sent].flatMap((headers) =>
        prunedStates(p.parser, headers).flatMap((s) => extractedBy(s).map(instanceOf)),
      ),
    );
    const egressDeparser = p.deparser.filter((h) => extracted.has(h) || this.#isAdded(h, "egress"));
    this.#emittedByEgress = new Set(egressDeparser);
    const elsewhere = this.#metadataOutsideActions();
    const stages = p.controls.flatMap((c) =>
      c.actions.flatMap((a) =>
        stagesOf(a.body, () => {}).map((statements) => ({ action: a.name, statements })),
      ),
    );
    const locals = temporaries(stages, elsewhere);
    const metadata: readonly Member[] = [
      ...p.metadata.filter((m) => !locals.has(m.name) && !bridged.includes(m.name)),
      ...this.#checksumFlags.map((c): Member => ({ name: c.flag, type: bool })),
      ...(this.#clone === undefined
        ? []
        : [
            { name: this.#clone.session, type: bit(10), typeName: "MirrorId_t" },
            { name: this.#clone.origin, type: bit(8) },
          ]),
    ];
    const types = [...this.#ids.headerTypes.values(), this.#bridgeType, ...tnaWords];
    const resubmitted = resubmission(p, types, this.#refuse);
    const parsed = parsers(p, {
      resubmission: resubmitted,
      needs,
      bridge,
      checksumFlags: this.#checksumFlags,
      incremental: this.#incremental,
      hasMetadata: metadata.length > 0,
      refuse: this.#refuse,
    });

    const controls = p.controls.map((c) => this.#control(c, locals));
    const ingress = this.#pipeline("ingress", p.ingress, bridge?.ingressPort === true);
    const egress = this.#pipeline("egress", p.egress);

    const updates = p.checksums.filter((c) => c.update && !isBeyondHeader(c));
    return flattened({
      source: p,
      findings: [...this.#findings.values()],
      headerTypes: [
        ...(bridge === undefined ? [] : [this.#bridgeHeaderType(bridge)]),
        ...this.#headerTypes(),
        ...(resubmitted === undefined ? [] : [resubmittedType(resubmitted)]),
      ],
      headers: [
        ...(resubmitted === undefined ? [] : [{ name: resubmitted.header, type: resubmitted.type }]),
        ...(bridge === undefined ? [] : [{ name: bridge.header, type: bridge.type }]),
        ...p.headers.map((h) => ({
          name: h.name,
          type: this.#ids.headerTypes.get(h.headerType) ?? h.headerType,
          ...(h.elements === undefined ? {} : { elements: h.elements }),
        })),
      ],
      metadata,
      ...(bridge === undefined ? {} : { bridge }),
      ...(this.#clone === undefined
        ? {}
        : { clone: { ...this.#clone, ...(parsed.cut === undefined ? {} : { cut: parsed.cut }) } }),
      digests: this.#digests,
      ...(resubmitted === undefined ? {} : { resubmission: resubmitted }),
      valueSetTypes: this.#ids.valueSetTypes,
      recirculates: isRecirculating(p),
      ingressParser: parsed.ingress,
      egressParser: parsed.egress,
      controls,
      ingress,
      egress,
      ingressChecksums: [...updates.map(checksumText), ...this.#incremental.map(incrementalText)],
      egressChecksums: updates.filter((c) => inEgress.has(c.header)).map(checksumText),
      ingressDeparser: p.deparser.filter(
        (h) =>
          p.parser.some((s) => extractedBy(s).some((path) => instanceOf(path) === h)) ||
          this.#isAdded(h, "ingress"),
      ),
      egressDeparser,
    });
  }

  #isAdded(header: string, gress: Gress): boolean {
    return [...placedStatements(this.#program)].some(
      ([s, place]) =>
        place.block === gress && s.kind === "setValidity" && s.valid && instanceOf(s.header) === header,
    );
  }

  #metadataWidth(name: string): number {
    const found = metadataOf(this.#program, name);
    return found === undefined ? 0 : widthOf(found.type);
  }

  #bridgeHeaderType(bridge: NonNullable<TnaProgram["bridge"]>): TnaProgram["headerTypes"][number] {
    const origin: Member = { name: "origin", type: bit(8), doc: "how the packet came to egress" };
    const fields: Member[] = bridge.origin ? [origin] : [];
    const padded = (name: string, width: number, type: Member["type"]): void => {
      const padding = (8 - (width % 8)) % 8;
      // Behind the field: in headers, too, a port is followed by its padding, and an action cannot shift and set at once.
      fields.push({ name, type });
      if (padding > 0) fields.push({ name: `${name}_padding`, type: bit(padding), isPadding: true });
    };
    if (bridge.ingressPort) padded("ingress_port", 9, bit(9));
    for (const { name, type } of bridge.metadata) padded(name, widthOf(type), type);
    return { name: bridge.type, doc: "Brings to egress what only ingress knows.", fields };
  }

  #headerTypes(): TnaProgram["headerTypes"] {
    const p = this.#program;
    return p.headerTypes.map((t) => ({
      name: this.#ids.headerTypes.get(t.name) ?? t.name,
      fields: t.fields,
      ...(t.doc === undefined ? {} : { doc: t.doc }),
    }));
  }

  /** Width of each counter's and meter's index: the widest that it is counted with. */
  #counterIndexes(): ReadonlyMap<string, number> {
    const widths = new Map<string, number>();
    for (const [s] of placedStatements(this.#program)) {
      if (s.kind !== "count" && s.kind !== "meter") continue;
      const name = s.kind === "count" ? s.counter : s.meter;
      const index = indexOf(s.index, name, () => {}, s.at);
      const arrays = this.#program.controls.flatMap((c) => [...c.counters, ...c.meters]);
      const size = arrays.find((a) => a.name === name)?.size ?? 1;
      const width = index.kind === "constant" ? Math.max(1, Math.ceil(Math.log2(size))) : widthOf(index.type);
      widths.set(name, Math.max(widths.get(name) ?? 1, width));
    }
    return widths;
  }

  /** Names of metadata that stand anywhere but in the body of an action. */
  #metadataOutsideActions(): ReadonlySet<string> {
    const found = new Set<string>();
    const look = (e: Expression): void => {
      for (const n of deep(e)) if (n.kind === "metadata") found.add(n.name);
    };
    for (const [s, place] of placedStatements(this.#program)) {
      if (place.action !== undefined) continue;
      for (const e of expressionsOf(s)) look(e);
      const target = targetOf(s);
      if (target !== undefined) look(target);
    }
    for (const c of this.#program.controls)
      for (const t of c.tables) for (const k of t.key) look(k.expression);
    for (const state of this.#program.parser) for (const e of expressionsOfState(state)) look(e);
    for (const name of keptByParser(this.#program)) found.add(name);
    return found;
  }

  #context(gress: Gress, control: Control | undefined, names: Names): StepContext {
    return {
      gress,
      control,
      own: control === undefined ? undefined : this.#own(control),
      facts: this.#facts[gress],
      refuse: this.#refuse,
      checksumFlags: this.#checksumFlags,
      clone: this.#clone,
      counterIndex: this.#counterIndex,
      digests: this.#digests,
      names,
      ...(gress === "egress" ? { emitted: this.#emittedByEgress } : {}),
      owner: control?.name ?? gress,
      asked: this.#asked[gress],
    };
  }

  #own(control: Control): ControlIdentifiers {
    const found = this.#ids.controls.get(control.name);
    if (found === undefined)
      throw new BackendError("GP2001", "tna", `the program has no control ${control.name}`);
    return found;
  }

  #bridgeSteps(withPort: boolean): TnaBlock {
    if (!withPort) return [];
    const type = bit(9);
    const target: Target = { kind: "field", header: this.#bridgeHeader, field: "ingress_port", type };
    const value: Expression = { kind: "intrinsic", name: "ingress_port", type };
    return [{ kind: "steps", steps: [{ kind: "assign", target, value }] }];
  }

  #pipeline(gress: Gress, block: Block, withPort = false): TnaPipeline {
    const names = new Names([...tnaWords]);
    const lowering = new BlockLowering(this.#context(gress, undefined, names), this.#ids, new Map());
    const lowered = [...(gress === "ingress" ? this.#bridgeSteps(withPort) : []), ...lowering.block(block)];
    return { gress, block: lowered, instances: this.#instances(block), actions: lowering.added };
  }

  #instances(block: Block): readonly Instance[] {
    const found = new Map<string, Instance>();
    for (const s of statementsOf(block)) {
      if (s.kind !== "applyControl") continue;
      const id = this.#ids.controls.get(s.control);
      if (id !== undefined) found.set(s.control, { control: s.control, type: id.type, name: id.instance });
    }
    return [...found.values()];
  }

  #control(c: Control, locals: ReadonlySet<string>): TnaControl {
    const own = this.#own(c);
    const names = own.scope;
    const context = this.#context(c.gress, c, names);
    const lowered = new Map(c.actions.map((a) => [a.name, this.#action(a, c, context, locals)]));
    const lowering = new BlockLowering(context, this.#ids, lowered);
    const block = lowering.block(c.apply);
    const name = (map: ReadonlyMap<string, string>, object: string, kind: string) =>
      identifier(map, object, kind, c.name, "tna");
    for (const r of c.registers) checkRegister(r, this.#updatesOf(r.name), this.#refuse);
    const programs = [...lowered.values()].flat().flatMap((a) => a.action.updates);
    return {
      name: c.name,
      type: own.type,
      ...(c.doc === undefined ? {} : { doc: c.doc }),
      ...(c.annotations === undefined ? {} : { annotations: c.annotations }),
      gress: c.gress,
      instances: this.#instances(c.apply),
      registers: c.registers.map((r) => {
        const local = name(own.registers, r.name, "register");
        return {
          name: r.name,
          local,
          type: r.type,
          indexType: programs.find((u) => u.register === local)?.indexType ?? bit(32),
          size: r.size,
          ...annotationsOf(r),
          ...(r.doc === undefined ? {} : { doc: r.doc }),
        };
      }),
      counters: c.counters.map((counter) => ({
        name: counter.name,
        local: name(own.counters, counter.name, "counter"),
        indexType: bit(this.#counterIndex.get(counter.name) ?? 32),
        size: counter.size,
        unit: counter.unit,
        ...annotationsOf(counter),
        doc: counterDoc(counter.doc, counter.cells, counter.per) ?? "",
      })),
      directCounters: c.tables.flatMap((t) =>
        t.directCounter === undefined
          ? []
          : [{ name: t.directCounter, local: name(own.counters, t.directCounter, "counter") }],
      ),
      meters: c.meters.map((m) => ({
        name: m.name,
        local: name(own.meters, m.name, "meter"),
        unit: m.unit,
        cells: { size: m.size, indexType: bit(this.#counterIndex.get(m.name) ?? 32) },
        ...(m.doc === undefined ? {} : { doc: m.doc }),
        ...annotationsOf(m),
      })),
      directMeters: c.tables.flatMap(({ directMeter: m }) =>
        m === undefined ? [] : [{ name: m.name, local: name(own.meters, m.name, "meter"), unit: m.unit }],
      ),
      actionProfiles: c.actionProfiles.map((profile) => this.#profile(profile, c)),
      actions: [...[...lowered.values()].flat().map((part) => part.action), ...lowering.added],
      tables: c.tables.map((t) => this.#table(t, c)),
      block,
    };
  }

  #profile(p: ActionProfile, c: Control): TnaActionProfile {
    const own = this.#own(c);
    const local = identifier(own.actionProfiles, p.name, "action profile", c.name, "tna");
    const { name, size, doc } = p;
    const base = { name, local, size, ...(doc === undefined ? {} : { doc }), ...annotationsOf(p) };
    if (p.selector === undefined) return base;
    const { algorithm, maxGroupSize, keys } = p.selector;
    if (!isTofinoHash(algorithm)) {
      this.#refuse("GP1841", `selector ${name} hashes by ${algorithm}`, p.at);
      return base;
    }
    const groups = c.tables.filter((t) => t.implementation === name).map((t) => t.size);
    return {
      ...base,
      selector: {
        algorithm: tofinoHashes[algorithm],
        hashLocal: own.scope.take(`${local}_hash`),
        local: own.scope.take(`${local}_selector`),
        name: `${name}_selector`,
        groupSize: maxGroupSize ?? size,
        // No entry names a group that no other entry could name as well.
        groups: groups.reduce((sum, n) => sum + n, 0),
        keys,
      },
    };
  }

  #updatesOf(register: string): readonly RegisterUpdate[] {
    return [...placedStatements(this.#program)].flatMap(([s]) =>
      s.kind === "registerUpdate" && s.register === register ? [s] : [],
    );
  }

  /** An action of a table is one action; one that is called may be several, called one after the other. */
  #action(a: Action, c: Control, context: StepContext, locals: ReadonlySet<string>): readonly ActionPart[] {
    const tables = c.tables.filter((t) => t.actions.includes(a.name) || t.defaultAction.action === a.name);
    const isCalled = [...statementsOf(c.apply)].some((s) => s.kind === "callAction" && s.action === a.name);
    const stages = stagesOf(a.body, this.#refuse);
    const own = this.#own(c);
    const local = identifier(own.actions, a.name, "action", c.name, "tna");
    const counted = tables.filter((t) => t.directCounter !== undefined);
    if (counted.length > 0 && (tables.length > 1 || isCalled))
      this.#refuse("GP1810", `action ${a.name} of table ${counted[0]?.name} is used elsewhere too`, a.at);
    const count = counted[0]?.directCounter;
    const directCount =
      count === undefined
        ? []
        : [
            {
              kind: "directCount" as const,
              counterLocal: identifier(own.counters, count, "counter", c.name, "tna"),
            },
          ];
    const all = tables.length > 0 ? stages : stages.flatMap(apart);
    const parts = all.length === 0 ? [[]] : all;
    return parts.map((statements, i) => {
      const suffix = parts.length === 1 ? "" : `_${partName(statements, i)}`;
      const partLocal = suffix === "" ? local : context.names.take(`${local}${suffix}`);
      const { steps, updates, units } = stepsOf(statements, local, context);
      const used = new Set(statements.flatMap(parametersOf));
      const parameters = suffix === "" ? a.parameters : a.parameters.filter((p) => used.has(p.name));
      return {
        indexes: a.parameters.flatMap((p, n) => (parameters.includes(p) ? [n] : [])),
        action: {
          name: `${a.name}${suffix}`,
          local: partLocal,
          ...(a.doc === undefined || i > 0 ? {} : { doc: a.doc }),
          ...annotationsOf(a),
          parameters,
          updates,
          units,
          steps: [...directCount, ...localised(steps, locals, own.scope.inner())],
        },
      };
    });
  }

  #table(t: Table, c: Control): TnaTable {
    const own = this.#own(c);
    if (t.directCounter !== undefined && t.actions.includes(NO_ACTION))
      this.#refuse("GP1860", `entries of ${t.name} may run NoAction`, t.at);
    const reference = (name: string, defaultOnly: boolean) => ({
      name,
      local: name === NO_ACTION ? NO_ACTION : identifier(own.actions, name, "action", c.name, "tna"),
      defaultOnly,
    });
    const actions = t.actions.map((a) => reference(a, false));
    if (!t.actions.includes(t.defaultAction.action)) actions.push(reference(t.defaultAction.action, true));
    return {
      ...t,
      size: sizeOf(t),
      constEntries: entriesOf(t),
      key: t.key.map((k) => ({
        ...k,
        expression: withChecksums(k.expression, { checksumFlags: this.#checksumFlags }),
      })),
      local: identifier(own.tables, t.name, "table", c.name, "tna"),
      actions,
      ...(t.directCounter === undefined
        ? {}
        : { directCounterLocal: identifier(own.counters, t.directCounter, "counter", c.name, "tna") }),
      ...(t.directMeter === undefined
        ? {}
        : { directMeterLocal: identifier(own.meters, t.directMeter.name, "meter", c.name, "tna") }),
    };
  }
}

/** Whether the way to what egress needs starts with the port that the packet came in on. */
function parsesByPort(program: Program, needs: EgressNeeds): boolean {
  return [needs.clone, needs.sent].some((headers) =>
    prunedStates(program.parser, headers).some(
      ({ transition: t }) =>
        t.kind === "select" &&
        t.keys.some((k) => [...deep(k)].some((n) => n.kind === "intrinsic" && n.name === "ingress_port")),
    ),
  );
}

/** What conditions of the gress read. */
function askedIn(program: Program, gress: Gress): readonly Bits[] {
  return [...placedStatements(program)].flatMap(([s, place]) =>
    s.kind === "if" && place.block === gress ? atomsOf(s.condition) : [],
  );
}

function metadataOf(program: Program, name: string): Program["metadata"][number] | undefined {
  return program.metadata.find((m) => m.name === name);
}

function partName(statements: readonly StraightStatement[], i: number): string {
  const [only, ...more] = statements;
  return only?.kind === "registerUpdate" && more.length === 0 ? localPart(only.register) : `${i + 1}`;
}

function parametersOf(s: StraightStatement): readonly string[] {
  return expressionsOf(s).flatMap((e) =>
    [...deep(e)].flatMap((n) => (n.kind === "parameter" ? [n.name] : [])),
  );
}

function resubmittedType(r: Resubmission): HeaderTypeText {
  return {
    name: r.type,
    doc: "In front of resubmitted packets: what they keep.",
    fields: resubmittedFields(r).map((f) => f.member),
  };
}

/** Whether packets come back to ingress by a port, or somebody asks for it. */
function isRecirculating(program: Program): boolean {
  return [...placedStatements(program)].some(
    ([s]) =>
      s.kind === "recirculate" ||
      expressionsOf(s).some((e) =>
        [...deep(e)].some((n) => n.kind === "intrinsic" && n.name === "is_recirculated"),
      ),
  );
}
