import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type {
  ActionEntry,
  Bmv2Program,
  EntryKey,
  Pipeline,
  Table as TableSource,
} from "../bmv2json/program.ts";
import { CounterArray, MeterArray, ParseValueSet, RegisterArray } from "../state/arrays.ts";
import { ActionProfile, type ActionResolver } from "../tables/action-profile.ts";
import { SwitchRuntimeError } from "../tables/runtime-error.ts";
import { Table } from "../tables/table.ts";
import type { ActionCall, ActionData, TableEntry } from "../tables/table-entry.ts";
import type { KeyField, MatchField } from "../tables/table-key.ts";
import { actionCode } from "./action-code.ts";
import { BitWriter } from "./bit-writer.ts";
import { calculationBytes, calculationCode } from "./calculation-code.ts";
import { deparserCode } from "./deparser-code.ts";
import * as hashes from "./hash-algorithms.ts";
import { type ShiftableStack, shiftableStack, shiftableUnionStack } from "./header-code.ts";
import { type FieldSlot, layOut, type PhvLayout, unknownName, widestNumber } from "./layout.ts";
import type { PacketState } from "./packet-state.ts";
import { parserCode } from "./parser-code.ts";
import { keyWords, pipelineCode } from "./pipeline-code.ts";
import { ProgramScope } from "./program-scope.ts";
import { type RandomSource, randomBetween, randomBetweenBig } from "./random.ts";
import * as arithmetic from "./runtime-arithmetic.ts";
import { popFront, pushFront } from "./stack-shift.ts";
import { type TargetFields, targetCode, targetFields } from "./target-fields.ts";
import type { TraceEvent, Tracer } from "./trace.ts";

/** Things that went wrong in the program, not in the switch; a packet goes on after each. */
export interface Faults {
  registerIndex: number;
  counterIndex: number;
  meterIndex: number;
  assertion: number;
  endlessAction: number;
}

/** The functions that a program is compiled to. */
export interface CompiledFunctions {
  readonly parse: (packet: PacketState) => void;
  readonly ingress: (packet: PacketState) => void;
  readonly egress: (packet: PacketState) => void;
  readonly deparse: (packet: PacketState) => Uint8Array;
  readonly setIngressPort: (packet: PacketState, port: number) => void;
  /** Sets the metadata that every pass through ingress starts with; time in whole microseconds. */
  readonly beginPass: (packet: PacketState, type: number, time: number) => void;
  readonly beginQueue: (packet: PacketState, depth: number, time: number) => void;
  readonly beginEgress: (
    packet: PacketState,
    port: number,
    queue: number,
    depth: number,
    waited: number,
    time: number,
  ) => void;
}

export interface EngineOptions {
  readonly dropPort: number;
  readonly random: RandomSource;
  readonly log: ((message: string) => void) | undefined;
}

/** A digest as the program declares it. */
export interface DigestList {
  readonly id: number;
  readonly name: string;
  readonly fields: readonly FieldSlot[];
}

/** A compiled program with its run-time state, all of it at initial values. */
export interface Engine {
  readonly program: Bmv2Program;
  readonly layout: PhvLayout;
  /** Where the metadata lives that the switch itself reads and writes. */
  readonly target: TargetFields;
  readonly functions: CompiledFunctions;
  /** Compiles the traced variant; it shares the run-time state. */
  traced(tracer: Tracer): CompiledFunctions;
  readonly tables: ReadonlyMap<string, Table>;
  readonly profiles: ReadonlyMap<string, ActionProfile>;
  readonly counters: ReadonlyMap<string, CounterArray>;
  readonly meters: ReadonlyMap<string, MeterArray>;
  readonly registers: ReadonlyMap<string, RegisterArray>;
  readonly valueSets: ReadonlyMap<string, ParseValueSet>;
  readonly digests: ReadonlyMap<number, DigestList>;
  /** Fields that clones, resubmitted and recirculated packets keep, by list id. */
  readonly fieldLists: ReadonlyMap<number, readonly FieldSlot[]>;
  readonly faults: Faults;
  /** JavaScript that the program was compiled to; for debugging. */
  readonly source: string;
}

const mebibyte = 1 << 20;

/** Frames are cut from slabs of this many bytes: one allocation for many packets. */
const slabSize = 64 * 1024;

/**
 * Hands out memory for outgoing frames. A frame keeps its slab alive, so slabs are small; frames never overlap.
 */
class FrameMemory {
  private slab: ArrayBufferLike = new ArrayBuffer(0);
  private used = 0;

  allocate(length: number): Uint8Array {
    // V8 keeps up to 64 bytes on its own heap, which is faster than a view of a slab.
    if (length <= 64 || length > slabSize / 4) return new Uint8Array(length);
    if (this.used + length > this.slab.byteLength) {
      // Every byte of a frame is written, so the memory need not be zero.
      this.slab = Buffer.allocUnsafeSlow(slabSize).buffer;
      this.used = 0;
    }
    const start = this.used;
    this.used += length;
    return new Uint8Array(this.slab, start, length);
  }
}

function copyPayload(packet: PacketState, out: Uint8Array, at: number): void {
  const { bytes, offset, length } = packet;
  const count = length - offset;
  if (count > 192) {
    out.set(bytes.subarray(offset, length), at);
    return;
  }
  for (let i = 0; i < count; i++) out[at + i] = bytes[offset + i] ?? 0;
}

/** Fills in the `{}` of a log message, in order; `\{` and `\}` stand for braces. */
function formatMessage(format: string, values: readonly (number | bigint)[]): string {
  let index = 0;
  return format
    .replace(/(?<!\\)\{\}/g, (hole) => (index < values.length ? String(values[index++]) : hole))
    .replace(/\\([{}])/g, "$1");
}

class EngineBuilder {
  readonly program: Bmv2Program;
  readonly options: EngineOptions;
  readonly layout: PhvLayout;
  readonly target: TargetFields;
  readonly ingress: Pipeline;
  readonly egress: Pipeline;
  readonly tables: Table[] = [];
  readonly profiles = new Map<string, ActionProfile>();
  readonly faults: Faults = {
    registerIndex: 0,
    counterIndex: 0,
    meterIndex: 0,
    assertion: 0,
    endlessAction: 0,
  };

  constructor(program: Bmv2Program, options: EngineOptions) {
    this.program = program;
    this.options = options;
    this.layout = layOut(program);
    this.target = targetFields(this.layout);
    this.ingress = this.pipelineNamed("ingress");
    this.egress = this.pipelineNamed("egress");
  }

  private pipelineNamed(name: string): Pipeline {
    return (
      this.program.pipelines.find((pipeline) => pipeline.name === name) ??
      unknownName("pipeline", name, "pipelines")
    );
  }

  private get pipelines(): readonly Pipeline[] {
    return [this.ingress, this.egress];
  }

  // ---------------------------------------------------------------- code

  generate(tracing: boolean): string {
    const scope = new ProgramScope(this.program, this.layout, tracing);
    const parts: string[] = [];
    this.program.calculations.forEach((calculation, i) => {
      parts.push(
        calculationCode(scope, `calc${i}`, calculation.algorithm, calculation.inputs, calculation.path),
      );
    });
    this.program.actions.forEach((action, i) => {
      parts.push(actionCode(scope, action, i));
    });
    const parser =
      this.program.parsers.find((candidate) => candidate.name === "parser") ?? this.program.parsers[0];
    const deparser =
      this.program.deparsers.find((candidate) => candidate.name === "deparser") ?? this.program.deparsers[0];
    if (parser === undefined) return unknownName("parser", "parser", "parsers");
    if (deparser === undefined) return unknownName("deparser", "deparser", "deparsers");
    let firstTable = 0;
    for (const pipeline of this.pipelines) {
      pipeline.tables.forEach((table, i) => {
        if (table.implementation === "indirect_ws") parts.push(this.selector(scope, table, firstTable + i));
      });
      parts.push(pipelineCode(scope, pipeline, firstTable));
      firstTable += pipeline.tables.length;
    }
    parts.push(
      parserCode(scope, parser),
      deparserCode(scope, deparser),
      targetCode(this.target, this.options.dropPort),
    );
    return parts.join("\n\n");
  }

  private selector(scope: ProgramScope, table: TableSource, index: number): string {
    const profile = this.pipelines
      .flatMap((pipeline) => pipeline.actionProfiles)
      .find((candidate) => candidate.name === table.actionProfile);
    if (profile?.selector === undefined)
      return unknownName("action selector", table.actionProfile ?? "", table.path);
    return calculationCode(
      scope,
      `selector${index}`,
      profile.selector.algorithm,
      profile.selector.inputs,
      `${profile.path}.selector`,
    );
  }

  // ---------------------------------------------------------------- run-time objects

  private resolver(object: string, actionIds: readonly number[]): ActionResolver {
    const byName = new Map<string, number>();
    for (const id of actionIds) {
      const index = this.program.actions.findIndex((action) => action.id === id);
      const action = this.program.actions[index];
      if (action !== undefined && !byName.has(action.name)) byName.set(action.name, index);
    }
    return {
      resolve: (call: ActionCall) => {
        const index = byName.get(call.action);
        const action = index === undefined ? undefined : this.program.actions[index];
        if (index === undefined || action === undefined) {
          throw new SwitchRuntimeError("INVALID_ARGUMENT", object, `"${call.action}" is none of its actions`);
        }
        if (call.parameters.length !== action.parameters.length) {
          throw new SwitchRuntimeError(
            "INVALID_ARGUMENT",
            object,
            `"${action.name}" takes ${action.parameters.length} parameters, not ${call.parameters.length}`,
          );
        }
        const data: ActionData = action.parameters.map((parameter, i) => {
          const value = call.parameters[i] ?? 0n;
          if (value < 0n || value >= 1n << BigInt(parameter.width)) {
            throw new SwitchRuntimeError(
              "INVALID_ARGUMENT",
              object,
              `${action.name}.${parameter.name}: ${value} does not fit ${parameter.width} bits`,
            );
          }
          return parameter.width <= widestNumber ? Number(value) : value;
        });
        return { actionIndex: index, data };
      },
    };
  }

  private keyOf(table: TableSource): readonly KeyField[] {
    let word = 0;
    const expressions = new ProgramScope(this.program, this.layout, false).expressions();
    return table.key.map((key) => {
      const { slot } = expressions.assignable(key.target);
      const words = keyWords(slot.width);
      const field: KeyField = { name: key.name, kind: key.kind, width: slot.width, word, words };
      word += words;
      return field;
    });
  }

  private checkMatchType(table: TableSource): void {
    const kinds = table.key.map((key) => key.kind);
    const needed = kinds.includes("range")
      ? "range"
      : kinds.includes("ternary") || kinds.includes("optional")
        ? "ternary"
        : kinds.includes("lpm")
          ? "lpm"
          : "exact";
    const rank = ["exact", "lpm", "ternary", "range"];
    if (rank.indexOf(table.matchType) < rank.indexOf(needed)) {
      throw new SwitchConfigError(
        "BAD_VALUE",
        `${table.path}.match_type`,
        `must be "${needed}" for these keys`,
      );
    }
    if (kinds.filter((kind) => kind === "lpm").length > 1) {
      throw new SwitchConfigError("BAD_VALUE", `${table.path}.key`, "a table can have one lpm field");
    }
  }

  private callOf(entry: ActionEntry, path: string): { readonly kind: "action" } & ActionCall {
    const action = this.program.actions.find((candidate) => candidate.id === entry.actionId);
    if (action === undefined) return unknownName("action with id", String(entry.actionId), path);
    const parameters = action.parameters.map((parameter, i) => {
      const value = entry.data[i];
      if (value === undefined) {
        throw new SwitchConfigError(
          "MISSING",
          path,
          `action "${action.name}" lacks parameter ${parameter.name}`,
        );
      }
      return BigInt.asUintN(parameter.width, value);
    });
    return { kind: "action", action: action.name, parameters };
  }

  private initialMatch(key: EntryKey | undefined, field: KeyField, path: string): MatchField | undefined {
    const full = (1n << BigInt(field.width)) - 1n;
    const cut = (value: bigint) => BigInt.asUintN(field.width, value);
    if (key === undefined) throw new SwitchConfigError("MISSING", path, `no match for ${field.name}`);
    switch (key.kind) {
      case "exact":
        if (field.kind === "ternary" || field.kind === "optional") {
          return { kind: "ternary", value: cut(key.value), mask: full };
        }
        return { kind: "exact", value: cut(key.value) };
      case "lpm": {
        const mask = full ^ ((1n << BigInt(Math.max(0, field.width - key.prefixLength))) - 1n);
        return { kind: "lpm", value: cut(key.value) & mask, prefixLength: key.prefixLength };
      }
      case "ternary":
        return { kind: "ternary", value: cut(key.value & key.mask), mask: cut(key.mask) };
      case "range":
        return { kind: "range", low: cut(key.low), high: cut(key.high) };
    }
  }

  private buildTable(pipeline: Pipeline, source: TableSource): Table {
    this.checkMatchType(source);
    const key = this.keyOf(source);
    const profile = source.actionProfile === undefined ? undefined : this.profiles.get(source.actionProfile);
    if (source.implementation !== "simple" && profile === undefined) {
      return unknownName("action profile", source.actionProfile ?? "", source.path);
    }
    const meter = this.program.meters.find((candidate) => candidate.name === source.directMeters);
    const ids = new Set(source.actionIds);
    if (source.defaultEntry !== undefined) ids.add(source.defaultEntry.actionId);
    const table = new Table(
      {
        name: source.name,
        id: source.id,
        pipeline: pipeline.name,
        key,
        matchType: source.matchType,
        capacity: source.maxSize,
        isConst: source.constEntries !== undefined,
        hasCounters: source.withCounters,
        meterUnit: meter?.unit,
        supportsTimeout: source.supportsTimeout,
        profile,
        hasConstDefault: source.defaultEntry?.isConst ?? false,
        actions: source.actionIds.map(
          (id) => this.program.actions.find((action) => action.id === id)?.name ?? "",
        ),
      },
      this.resolver(source.name, [...ids]),
    );
    try {
      if (source.defaultEntry !== undefined && source.implementation === "simple") {
        table.setInitialDefault(this.callOf(source.defaultEntry, `${source.path}.default_entry`));
      }
      // In the JSON the smaller number wins, here the greater one.
      const least = Math.max(0, ...(source.constEntries ?? []).map((entry) => entry.priority)) + 1;
      for (const entry of source.constEntries ?? []) {
        table.insertInitial(
          key.map((field, i) => this.initialMatch(entry.key[i], field, entry.path)),
          this.callOf(entry.action, entry.path),
          table.usesPriority ? { priority: least - entry.priority } : {},
        );
      }
    } catch (error) {
      if (error instanceof SwitchRuntimeError)
        throw new SwitchConfigError("BAD_VALUE", source.path, error.message);
      throw error;
    }
    return table;
  }

  build(): Engine {
    const { program, layout } = this;
    // Generated first: it checks every reference before anything is allocated.
    const source = this.generate(false);
    for (const pipeline of this.pipelines) {
      for (const profile of pipeline.actionProfiles) {
        const users = this.pipelines
          .flatMap((candidate) => candidate.tables)
          .filter((table) => table.actionProfile === profile.name);
        const ids = [...new Set(users.flatMap((table) => table.actionIds))];
        this.profiles.set(
          profile.name,
          new ActionProfile(
            profile.name,
            profile.id,
            profile.maxSize,
            profile.selector !== undefined,
            this.resolver(profile.name, ids),
          ),
        );
      }
    }
    for (const pipeline of this.pipelines) {
      for (const table of pipeline.tables) this.tables.push(this.buildTable(pipeline, table));
    }
    const registers = program.registers.map((r) => new RegisterArray(r.name, r.id, r.size, r.width));
    const counters = program.counters.map((c) => new CounterArray(c.name, c.id, c.size));
    const meters = program.meters.map((m) => new MeterArray(m.name, m.id, m.direct ? 0 : m.size, m.unit));
    const valueSets = program.valueSets.map((s) => new ParseValueSet(s.name, s.id, s.width, s.maxSize));
    const runtime = this.runtime(registers, counters, meters, valueSets);
    const fieldsOf = (elements: Bmv2Program["fieldLists"][number]["elements"]): readonly FieldSlot[] =>
      elements.flatMap((element) =>
        element.kind === "field" ? [layout.field(element.header, element.field, element.path)] : [],
      );
    const byName = <T extends { readonly name: string }>(items: readonly T[]) =>
      new Map(items.map((item) => [item.name, item]));
    return {
      program,
      layout,
      target: this.target,
      functions: instantiate(source, runtime),
      traced: (tracer) => instantiate(this.generate(true), { ...runtime, trace: tracer }),
      tables: byName(this.tables),
      profiles: this.profiles,
      counters: byName(counters),
      meters: byName(meters),
      registers: byName(registers),
      valueSets: byName(valueSets),
      digests: new Map(
        program.digests.map((list) => [
          list.id,
          { id: list.id, name: list.name, fields: fieldsOf(list.elements) },
        ]),
      ),
      fieldLists: new Map(program.fieldLists.map((list) => [list.id, fieldsOf(list.elements)])),
      faults: this.faults,
      source,
    };
  }

  /** Everything that generated code refers to by name. */
  private runtime(
    registers: readonly RegisterArray[],
    counters: readonly CounterArray[],
    meters: readonly MeterArray[],
    valueSets: readonly ParseValueSet[],
  ): Readonly<Record<string, unknown>> {
    const { program, options, layout } = this;
    const stackShapes = new Map<string, ShiftableStack>();
    for (const stack of layout.stacks.values()) stackShapes.set(stack.name, shiftableStack(stack));
    for (const stack of layout.unionStacks.values()) stackShapes.set(stack.name, shiftableUnionStack(stack));
    const scope = new ProgramScope(program, layout, false);
    const inputs = [
      ...program.calculations.map((calculation) => calculation.inputs),
      ...this.pipelines.flatMap((pipeline) =>
        pipeline.actionProfiles.map((profile) => profile.selector?.inputs ?? []),
      ),
    ];
    const longest = Math.max(64, ...inputs.map((list) => calculationBytes(scope, list)));
    const hashBytes = new Uint8Array(longest + mebibyte);
    const memory = new FrameMemory();
    const actionName = (index: number) => program.actions[index]?.name;
    const objects: Record<string, unknown> = {
      ...arithmetic,
      ...hashes.algorithms,
      sumBytes: hashes.sumBytes,
      finishSum: hashes.finishSum,
      pushFront,
      popFront,
      stackShapes,
      hashBytes,
      bitWriter: new BitWriter(),
      appendPayload: (packet: PacketState, at: number) => {
        const length = Math.min(packet.length - packet.offset, mebibyte);
        hashBytes.set(packet.bytes.subarray(packet.offset, packet.offset + length), at);
        return at + length;
      },
      allocate: (length: number) => memory.allocate(length),
      copyPayload,
      noBytes: new Uint8Array(0),
      noData: [],
      faults: this.faults,
      dropPort: options.dropPort,
      randomBetween: (low: number, high: number) => randomBetween(options.random, low, high),
      randomBetweenBig: (low: bigint, high: bigint) => randomBetweenBig(options.random, low, high),
      log: options.log,
      formatMessage,
      errorName: (code: number) => scope.errorName(code),
      tableEvent: (
        table: string,
        hit: boolean,
        entry: TableEntry | undefined,
        chosen: { readonly actionIndex: number; readonly data: ActionData } | undefined,
      ): TraceEvent => ({
        kind: "table",
        table,
        hit,
        entry: hit ? entry?.handle : undefined,
        action: chosen === undefined ? undefined : actionName(chosen.actionIndex),
        parameters: chosen === undefined ? [] : chosen.data.map(BigInt),
      }),
      trace: undefined,
    };
    registers.forEach((array, i) => {
      objects[`R${i}`] = array.cells;
    });
    counters.forEach((array, i) => {
      objects[`C${i}`] = array;
    });
    meters.forEach((array, i) => {
      objects[`M${i}`] = array;
    });
    valueSets.forEach((set, i) => {
      objects[`V${i}`] = set;
    });
    this.tables.forEach((table, i) => {
      objects[`T${i}`] = table;
      objects[`X${i}`] = table.matcher;
      objects[`K${i}`] = table.key;
    });
    return objects;
  }
}

function instantiate(source: string, runtime: Readonly<Record<string, unknown>>): CompiledFunctions {
  const names = Object.keys(runtime);
  const text = `"use strict";\nconst { ${names.join(", ")} } = runtime;\n${source}\nreturn { parse, ingress, egress, deparse, setIngressPort, beginPass, beginQueue, beginEgress };`;
  // The one place where generated code becomes functions. Names and values of the JSON reach it only as checked numbers,
  // slot indices and JSON string literals.
  const make = new Function("runtime", text) as (
    runtime: Readonly<Record<string, unknown>>,
  ) => CompiledFunctions;
  return make(runtime);
}

/** Compiles a program and allocates its run-time state. Throws SwitchConfigError for a program that can't run. */
export function compileProgram(program: Bmv2Program, options: EngineOptions): Engine {
  return new EngineBuilder(program, options).build();
}
