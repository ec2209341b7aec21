import type { Bmv2Program, Pipeline, Table as TableSource } from "../bmv2json/program.ts";
import { CounterArray, MeterArray, ParseValueSet, RegisterArray } from "../state/arrays.ts";
import { ActionProfile } from "../tables/action-profile.ts";
import type { ActionData } from "../tables/entry-store.ts";
import type { Table } from "../tables/table.ts";
import { actionCode } from "./action-code.ts";
import { BitWriter } from "./bit-writer.ts";
import { calculationBytes, calculationCode } from "./calculation-code.ts";
import { deparserCode } from "./deparser-code.ts";
import { type CompiledFunctions, type Engine, type EngineOptions, type Faults, noFaults } from "./engine.ts";
import { copyPayload, FrameMemory } from "./frame-memory.ts";
import * as hashes from "./hash-algorithms.ts";
import { type ShiftableStack, shiftableStack, shiftableUnionStack } from "./header-code.ts";
import { type FieldSlot, layOut, type PhvLayout, unknownName } from "./layout.ts";
import { formatMessage } from "./log-format.ts";
import type { PacketState } from "./packet-state.ts";
import { parserCode } from "./parser-code.ts";
import { pipelineCode } from "./pipeline-code.ts";
import { ProgramScope } from "./program-scope.ts";
import { randomBetween, randomBetweenBig } from "./random.ts";
import * as arithmetic from "./runtime-arithmetic.ts";
import { popFront, pushFront } from "./stack-shift.ts";
import { TableBuilder } from "./table-builder.ts";
import { type TargetFields, targetCode, targetFields } from "./target-fields.ts";
import type { TraceEvent, Tracer } from "./trace.ts";

const mebibyte = 1 << 20;

export type { Engine } from "./engine.ts";

class EngineBuilder {
  readonly program: Bmv2Program;
  readonly options: EngineOptions;
  readonly layout: PhvLayout;
  readonly target: TargetFields;
  readonly ingress: Pipeline;
  readonly egress: Pipeline;
  readonly tables: Table[] = [];
  readonly profiles = new Map<string, ActionProfile>();
  readonly faults: Faults;

  constructor(program: Bmv2Program, options: EngineOptions) {
    this.program = program;
    this.options = options;
    this.faults = options.faults ?? noFaults();
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

  // ---------------------------------------------------------------- run-time state

  build(): Engine {
    const { program, layout } = this;
    // Generated first: it checks every reference before anything is allocated.
    const source = this.generate(false);
    const builder = new TableBuilder(program, layout, this.profiles);
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
            builder.resolver(profile.name, ids),
          ),
        );
      }
    }
    for (const pipeline of this.pipelines) {
      for (const table of pipeline.tables) this.tables.push(builder.build(pipeline, table));
    }
    const counters = program.counters.map((c) => new CounterArray(c.name, c.id, c.size));
    const valueSets = program.valueSets.map((s) => new ParseValueSet(s.name, s.id, s.width, s.maxSize));
    const fieldsOf = (elements: Bmv2Program["fieldLists"][number]["elements"]): readonly FieldSlot[] =>
      elements.flatMap((element) =>
        element.kind === "field" ? [layout.field(element.header, element.field, element.path)] : [],
      );
    const byName = <T extends { readonly name: string }>(items: readonly T[]) =>
      new Map(items.map((item) => [item.name, item]));
    const common = {
      program,
      layout,
      target: this.target,
      tables: byName(this.tables),
      profiles: this.profiles,
      counters: byName(counters),
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
    const instance = (first: Engine | undefined): Engine => {
      const registers = program.registers.map((r) => new RegisterArray(r.name, r.id, r.size, r.width));
      const meters = program.meters.map((m) => new MeterArray(m.name, m.id, m.direct ? 0 : m.size, m.unit));
      for (const array of registers) first?.registers.get(array.name)?.followers.push(array);
      for (const array of meters) first?.meters.get(array.name)?.followers.push(array);
      const runtime = this.runtime(registers, counters, meters, valueSets);
      let listener: Tracer | undefined;
      let tracedFunctions: CompiledFunctions | undefined;
      const engine: Engine = {
        ...common,
        functions: instantiate(source, runtime),
        traced: (tracer) => {
          listener = tracer;
          tracedFunctions ??= instantiate(this.generate(true), {
            ...runtime,
            trace: (event: TraceEvent) => listener?.(event),
          });
          return tracedFunctions;
        },
        meters: byName(meters),
        registers: byName(registers),
        anotherPipe: () => instance(first ?? engine),
      };
      return engine;
    };
    return instance(undefined);
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
      noData: new Float64Array(0),
      faults: this.faults,
      dropPort: options.dropPort,
      randomBetween: (low: number, high: number) => randomBetween(options.random, low, high),
      randomBetweenBig: (low: bigint, high: bigint) => randomBetweenBig(options.random, low, high),
      log: options.log,
      formatMessage,
      errorName: (code: number) => scope.errorName(code),
      tableEvent: (
        table: Table,
        row: number,
        actionIndex: number,
        data: ActionData,
        at: number,
      ): TraceEvent => {
        const count = program.actions[actionIndex]?.parameters.length ?? 0;
        return {
          kind: "table",
          table: table.name,
          hit: row >= 0,
          entry: row < 0 ? undefined : table.store.handleOf(row),
          action: actionName(actionIndex),
          parameters: Array.from(data.slice(at, at + count), BigInt),
        };
      },
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
      objects[`S${i}`] = table.store;
    });
    return objects;
  }
}

function instantiate(source: string, runtime: Readonly<Record<string, unknown>>): CompiledFunctions {
  const names = Object.keys(runtime);
  const text = `"use strict";\nconst { ${names.join(", ")} } = runtime;\n${source}\nreturn { parse, ingress, egress, deparse, assemble, setIngressPort, beginPass, beginQueue, beginEgress };`;
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
