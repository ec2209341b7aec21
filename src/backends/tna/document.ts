import type { DataType, Expression, KeySet, ParserStep, Target } from "../../ir/index.ts";
import { bit, bool, typeName, valueSetsOf, widthOf } from "../../ir/index.ts";
import { hexstr, type Json, type JsonObject, jsonText } from "../v1model/json/json.ts";
import { MIRROR_CLONE, RECIRCULATION_PORT_NUMBER, RESUBMIT, spelledIntrinsic } from "./intrinsics.ts";
import type {
  CellStatement,
  Gress,
  LocalTarget,
  Member,
  Opening,
  StatefulProgram,
  Step,
  TnaAction,
  TnaBlock,
  TnaControl,
  TnaPipeline,
  TnaProgram,
  TnaState,
  TnaStatement,
  TnaTable,
} from "./lowered.ts";
import { resubmittedFields } from "./passes.ts";
import { matchOf } from "./text/objects.ts";

/** Name and version of the form; a reader refuses another version. */
const FORMAT = "gradplane.tna";
const VERSION = 1;

/**
 * The lowered program as JSON: the nodes that the P4 text is printed from, for whoever runs it instead of compiling it. Types are
 * written as in P4, numbers in hexadecimal; what the architecture calls `ig_tm_md.qid` and the like is called that here too.
 */
export function tnaDocument(program: TnaProgram): string {
  return jsonText({
    format: FORMAT,
    version: VERSION,
    program: program.source.name,
    headerTypes: program.headerTypes.map((t) => ({ name: t.name, fields: members(t.fields) })),
    headers: program.headers.map((h) => ({
      name: h.name,
      headerType: h.type,
      ...(h.elements === undefined ? {} : { elements: h.elements }),
    })),
    metadata: members(program.metadata),
    ...(program.bridge === undefined ? {} : { bridge: program.bridge.header }),
    valueSets: valueSetsOf(program.source).map((v) => ({
      name: v.name,
      fields: members(v.fields),
      size: v.size,
    })),
    queues: (program.source.queues ?? []).map((q) => ({
      number: q.number,
      ...(q.priority === undefined ? {} : { priority: q.priority }),
      ...(q.keepRed === undefined ? {} : { keepRed: q.keepRed }),
    })),
    mirrors: mirrors(program),
    resubmits: resubmits(program),
    digests: program.digests.map((d) => ({
      name: d.name,
      number: d.number,
      values: d.values.map((name, i) => metadata(name, d.fields[i]?.type ?? bit(1))),
    })),
    ingress: new GressWriter("ingress", program).section(),
    egress: new GressWriter("egress", program).section(),
  });
}

function members(fields: readonly Member[]): readonly Json[] {
  return fields.map((f) => ({ name: f.name, type: typeName(f.type) }));
}

function metadata(name: string, type: DataType): JsonObject {
  return { kind: "metadata", type: typeName(type), name };
}

/** What the deparser of ingress puts in front of clones. */
function mirrors({ clone, bridge, headerTypes }: TnaProgram): readonly Json[] {
  if (clone === undefined || bridge === undefined) return [];
  const fields = headerTypes.find((t) => t.name === bridge.type)?.fields ?? [];
  const zero = (type: DataType): JsonObject => ({ kind: "constant", type: typeName(type), value: "0x0" });
  return [
    {
      gress: "ingress",
      number: MIRROR_CLONE,
      session: metadata(clone.session, bit(10)),
      headerType: bridge.type,
      values: fields.map(({ name, type }) => {
        if (name === "origin") return metadata(clone.origin, type);
        if (bridge.ingressPort && name === "ingress_port")
          return { kind: "field", type: typeName(type), header: bridge.header, field: name };
        return zero(type);
      }),
      ...(clone.cut === undefined ? {} : { maxLength: clone.cut.bytes }),
    },
  ];
}

function resubmits({ resubmission }: TnaProgram): readonly Json[] {
  if (resubmission === undefined) return [];
  return [
    {
      number: RESUBMIT,
      headerType: resubmission.type,
      values: resubmittedFields(resubmission).map(({ member, source: m }) => {
        if (m === undefined) return { kind: "constant", type: typeName(member.type), value: "0x0" };
        return m.kind === "metadata"
          ? metadata(m.name, m.type)
          : { kind: "field", type: typeName(m.type), header: m.header, field: m.field };
      }),
    },
  ];
}

class GressWriter {
  readonly #gress: Gress;
  readonly #program: TnaProgram;

  constructor(gress: Gress, program: TnaProgram) {
    this.#gress = gress;
    this.#program = program;
  }

  section(): JsonObject {
    const p = this.#program;
    const isIngress = this.#gress === "ingress";
    const checksums = isIngress ? p.ingressChecksums : p.egressChecksums;
    const emits = isIngress
      ? [...(p.bridge === undefined ? [] : [p.bridge.header]), ...p.ingressDeparser]
      : p.egressDeparser;
    return {
      parser: (isIngress ? p.ingressParser : p.egressParser).states.map((s) => this.#state(s)),
      controls: p.controls.filter((c) => c.gress === this.#gress).map((c) => this.#control(c)),
      ...this.#pipeline(isIngress ? p.ingress : p.egress),
      deparser: {
        checksums: checksums.map((c) => ({
          target: this.#value(c.target),
          fields: c.fields.map((f) => this.#value(f)),
          ...(c.isGiven === undefined ? {} : { given: metadata(c.isGiven, bit(1)) }),
        })),
        emits,
      },
    };
  }

  // ---------------------------------------------------------------- parser

  #state(s: TnaState): JsonObject {
    const t = s.transition;
    return {
      name: s.name,
      steps: [
        ...s.first.map((o) => this.#opening(o)),
        ...s.steps.map((step) => this.#parserStep(step)),
        ...(s.taken ?? []).map((t) => ({
          kind: "subtract",
          checksum: t.instance,
          fields: t.fields.map((f) => this.#value(f)),
          ...(t.rest === undefined ? {} : { rest: metadata(t.rest, bit(16)) }),
        })),
        ...s.verified.map(({ header, flag }) => ({ kind: "verify", header, failed: metadata(flag, bool) })),
      ],
      transition:
        t.kind === "goto"
          ? { next: t.next }
          : {
              keys: t.keys.map((k) => this.#value(k)),
              cases: t.cases.map((c) => ({
                ...(c.valueSet === undefined ? { values: c.values.map(keySet) } : { valueSet: c.valueSet }),
                next: c.next,
              })),
              next: t.otherwise,
            },
    };
  }

  #opening(o: Opening): JsonObject {
    return o.kind === "set"
      ? { kind: "set", target: this.#value(o.target), value: this.#value(o.value) }
      : { ...o };
  }

  #parserStep(s: ParserStep): JsonObject {
    switch (s.kind) {
      case "extract":
        return { kind: "extract", header: s.header };
      case "advance":
        return { kind: "advance", bits: this.#value(s.bits) };
      case "assign":
        return { kind: "set", target: this.#value(s.target), value: this.#value(s.value) };
      case "verify":
        throw new Error("Tofino's parser has no errors of its own");
    }
  }

  // ---------------------------------------------------------------- controls

  #pipeline(p: TnaPipeline): JsonObject {
    return {
      instances: p.instances.map((i) => ({ name: i.name, control: i.control })),
      actions: p.actions.map((a) => this.#action(a)),
      block: this.#block(p.block),
    };
  }

  #control(c: TnaControl): JsonObject {
    return {
      name: c.name,
      registers: c.registers.map((r) => ({
        name: r.name,
        local: r.local,
        type: typeName(r.type),
        size: r.size,
      })),
      counters: c.counters.map((o) => ({ name: o.name, local: o.local, size: o.size, unit: o.unit })),
      directCounters: c.directCounters.map((o) => ({ name: o.name, local: o.local })),
      meters: c.meters.map((m) => ({ name: m.name, local: m.local, size: m.cells.size, unit: m.unit })),
      directMeters: c.directMeters.map((m) => ({ name: m.name, local: m.local, unit: m.unit })),
      actionProfiles: c.actionProfiles.map(({ name, local, size, selector: s }) => ({
        name,
        local,
        size,
        ...(s === undefined
          ? {}
          : { selector: { algorithm: s.algorithm, keys: s.keys.map((k) => this.#value(k)) } }),
      })),
      tables: c.tables.map((t) => this.#table(t, c)),
      ...this.#pipeline(c),
    };
  }

  #table(t: TnaTable, c: TnaControl): JsonObject {
    const call = (action: string, values: readonly bigint[]): JsonObject => {
      const parameters = c.actions.find((a) => a.name === action)?.parameters ?? [];
      return {
        action,
        arguments: values.map((v, i) => hexstr(BigInt.asUintN(widthOf(parameters[i]?.type ?? bit(64)), v))),
      };
    };
    return {
      name: t.name,
      local: t.local,
      key: t.key.map((k) => ({
        name: k.name,
        match: matchOf(k.match, t),
        expression: this.#value(k.expression),
      })),
      actions: t.actions.map((a) => ({ name: a.name, ...(a.defaultOnly ? { defaultOnly: true } : {}) })),
      size: t.constEntries.length > 0 && !t.entriesAreInitial ? t.constEntries.length : t.size,
      defaultAction: {
        ...call(t.defaultAction.action, t.defaultAction.arguments),
        constant: t.defaultAction.constant,
      },
      ...(t.constEntries.length === 0
        ? {}
        : {
            entries: t.constEntries.map((e) => ({
              keys: e.keys.map(keySet),
              ...call(e.action, e.arguments),
            })),
          }),
      ...(t.directCounterLocal === undefined ? {} : { directCounter: t.directCounterLocal }),
      ...(t.directMeterLocal === undefined ? {} : { directMeter: t.directMeterLocal }),
      ...(t.implementation === undefined ? {} : { implementation: t.implementation }),
    };
  }

  #action(a: TnaAction): JsonObject {
    return {
      name: a.name,
      local: a.local,
      parameters: members(a.parameters),
      ...(a.updates.length === 0 ? {} : { updates: a.updates.map((u) => this.#update(u)) }),
      ...(a.units.length === 0 ? {} : { units: a.units.map((u): JsonObject => ({ ...u })) }),
      steps: a.steps.map((s) => this.#step(s)),
    };
  }

  #update(u: StatefulProgram): JsonObject {
    return {
      local: u.local,
      register: u.register,
      ...(u.outputType === undefined ? {} : { outputType: typeName(u.outputType) }),
      body: this.#cell(u.body),
    };
  }

  #cell(body: readonly CellStatement[]): readonly Json[] {
    return body.map((s) =>
      s.kind === "set"
        ? { kind: "set", target: s.target, value: this.#value(s.value) }
        : {
            kind: "if",
            condition: this.#value(s.condition),
            whenTrue: this.#cell(s.whenTrue),
            whenFalse: this.#cell(s.whenFalse),
          },
    );
  }

  #block(block: TnaBlock): readonly Json[] {
    return block.map((s) => this.#statement(s));
  }

  #statement(s: TnaStatement): JsonObject {
    switch (s.kind) {
      case "steps":
        return { kind: "steps", steps: s.steps.map((step) => this.#step(step)) };
      case "if":
        return {
          kind: "if",
          condition: this.#value(s.condition),
          whenTrue: this.#block(s.whenTrue),
          whenFalse: this.#block(s.whenFalse),
        };
      case "applyTable":
        return { kind: "applyTable", table: s.local, hit: this.#block(s.hit), miss: this.#block(s.miss) };
      case "applyControl":
        return { kind: "applyControl", instance: s.instance };
      case "callAction":
        return { kind: "callAction", action: s.local, arguments: s.arguments.map((a) => this.#value(a)) };
      case "exit":
        return { kind: "exit" };
    }
  }

  #step(s: Step): JsonObject {
    switch (s.kind) {
      case "assign":
        return { kind: "assign", target: this.#target(s.target), value: this.#value(s.value) };
      case "declare":
        return { kind: "assign", target: this.#target(s.local), value: this.#value(s.value) };
      case "architecture": {
        const value: Expression =
          s.cast === undefined ? s.value : { kind: "cast", type: s.cast.type, operand: s.value };
        const target = { kind: "architecture", type: typeName(value.type), field: s.field };
        return { kind: "assign", target, value: this.#value(value) };
      }
      case "invalidate":
        return { kind: "invalidate", field: s.field };
      case "setValidity":
        return { kind: "setValidity", header: s.header, valid: s.valid };
      case "count":
        return { kind: "count", counter: s.counterLocal, index: this.#value(s.index) };
      case "directCount":
        return { kind: "directCount", counter: s.counterLocal };
      case "hash":
        return {
          kind: "hash",
          unit: s.local,
          fields: s.fields.map((f) => this.#value(f)),
          into: this.#target(s.into),
        };
      case "random":
        return { kind: "random", unit: s.local, into: this.#target(s.into) };
      case "meter":
        return {
          kind: "meter",
          meter: s.meterLocal,
          ...(s.index === undefined ? {} : { index: this.#value(s.index) }),
          into: this.#target(s.into),
        };
      case "execute":
        return {
          kind: "execute",
          update: s.program,
          index: this.#value(s.index),
          ...(s.into === undefined ? {} : { into: this.#target(s.into) }),
        };
    }
  }

  // ---------------------------------------------------------------- values

  #target(t: Target | LocalTarget): JsonObject {
    return t.kind === "local" ? { kind: "local", type: typeName(t.type), name: t.name } : this.#value(t);
  }

  #value(e: Expression): JsonObject {
    const node = (members: JsonObject): JsonObject => ({ kind: e.kind, type: typeName(e.type), ...members });
    switch (e.kind) {
      case "constant":
        return node({ value: hexstr(e.value) });
      case "field":
        return node({ header: e.header, field: e.field });
      case "metadata":
        return node({ name: e.name });
      case "parameter":
        // The parser asks for intrinsic metadata by their names.
        return e.name.includes(".")
          ? { kind: "architecture", type: typeName(e.type), field: e.name }
          : { kind: "local", type: typeName(e.type), name: e.name };
      case "memory":
        return node({});
      case "valid":
        return node({ header: e.header });
      case "lookahead":
        return node({});
      case "unary":
        return node({ operator: e.operator, operand: this.#value(e.operand) });
      case "binary":
        return node({ operator: e.operator, left: this.#value(e.left), right: this.#value(e.right) });
      case "slice":
        return node({ operand: this.#value(e.operand), high: e.high, low: e.low });
      case "concat":
        return node({ left: this.#value(e.left), right: this.#value(e.right) });
      case "cast":
        return node({ operand: this.#value(e.operand) });
      case "mux":
        return node({
          condition: this.#value(e.condition),
          whenTrue: this.#value(e.whenTrue),
          whenFalse: this.#value(e.whenFalse),
        });
      case "intrinsic":
        return this.#intrinsic(e);
    }
  }

  /** As `intrinsicText` writes it. */
  #intrinsic(e: Extract<Expression, { readonly kind: "intrinsic" }>): JsonObject {
    const field = (name: string, width: number): JsonObject => ({
      kind: "architecture",
      type: typeName(bit(width)),
      field: name,
    });
    const test = (operator: "==" | "!=", left: JsonObject, width: number, value: number): JsonObject => ({
      kind: "binary",
      type: "bool",
      operator,
      left,
      right: { kind: "constant", type: typeName(bit(width)), value: hexstr(BigInt(value)) },
    });
    const inBridge = (name: string, width: number): JsonObject => ({
      kind: "field",
      type: typeName(bit(width)),
      header: this.#program.bridge?.header ?? "bridge",
      field: name,
    });
    switch (e.name) {
      case "parser_failed":
        return test("!=", field("ig_prsr_md.parser_err", 16), 16, 0);
      case "is_resubmitted":
        return test("==", field("ig_intr_md.resubmit_flag", 1), 1, 1);
      case "is_recirculated":
        return test("==", field("ig_intr_md.ingress_port", 9), 9, RECIRCULATION_PORT_NUMBER);
      case "is_clone":
        return test("==", inBridge("origin", 8), 8, 1);
      default: {
        if (e.name === "ingress_port" && this.#gress === "egress") return inBridge("ingress_port", 9);
        const name = spelledIntrinsic(e.name, this.#gress);
        const queue = /^(.*)\[2:0\]$/.exec(name)?.[1];
        if (queue === undefined) return field(name, widthOf(e.type));
        return { kind: "slice", type: "bit<3>", operand: field(queue, 5), high: 2, low: 0 };
      }
    }
  }
}

function keySet(k: KeySet): JsonObject {
  switch (k.kind) {
    case "value":
      return { kind: "value", value: hexstr(k.value) };
    case "mask":
      return { kind: "mask", value: hexstr(k.value), mask: hexstr(k.mask) };
    case "prefix":
      return { kind: "prefix", value: hexstr(k.value), length: k.length };
    case "range":
      return { kind: "range", low: hexstr(k.low), high: hexstr(k.high) };
    case "any":
      return { kind: "any" };
  }
}
