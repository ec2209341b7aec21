import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type {
  ActionEntry,
  Bmv2Program,
  EntryKey,
  Pipeline,
  Table as TableSource,
} from "../bmv2json/program.ts";
import type { ActionProfile, ActionResolver } from "../tables/action-profile.ts";
import { newActionData } from "../tables/entry-store.ts";
import { SwitchRuntimeError } from "../tables/runtime-error.ts";
import { Table } from "../tables/table.ts";
import type { ActionCall } from "../tables/table-entry.ts";
import type { KeyField, MatchField } from "../tables/table-key.ts";
import { type PhvLayout, unknownName, widestNumber } from "./layout.ts";
import { keyWords } from "./pipeline-code.ts";
import { ProgramScope } from "./program-scope.ts";

/** Makes a program's tables, with their const entries and default actions in place. */
export class TableBuilder {
  private readonly program: Bmv2Program;
  private readonly layout: PhvLayout;
  private readonly profiles: ReadonlyMap<string, ActionProfile>;

  constructor(program: Bmv2Program, layout: PhvLayout, profiles: ReadonlyMap<string, ActionProfile>) {
    this.program = program;
    this.layout = layout;
    this.profiles = profiles;
  }

  resolver(object: string, actionIds: readonly number[]): ActionResolver {
    const byName = new Map<string, number>();
    for (const id of actionIds) {
      const index = this.program.actions.findIndex((action) => action.id === id);
      const action = this.program.actions[index];
      if (action !== undefined && !byName.has(action.name)) byName.set(action.name, index);
    }
    const parameters = this.program.actions
      .filter((action) => actionIds.includes(action.id))
      .map((action) => action.parameters);
    return {
      parameters: Math.max(0, ...parameters.map((list) => list.length)),
      hasWideParameters: parameters.flat().some((parameter) => parameter.width > widestNumber),
      find: (name) => {
        const actionIndex = byName.get(name);
        const action = actionIndex === undefined ? undefined : this.program.actions[actionIndex];
        if (actionIndex === undefined || action === undefined) return undefined;
        return { actionIndex, parameterWidths: action.parameters.map((parameter) => parameter.width) };
      },
      nameOf: (actionIndex) => this.program.actions[actionIndex]?.name ?? "",
      parametersOf: (actionIndex) => this.program.actions[actionIndex]?.parameters.length ?? 0,
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
        const isWide = action.parameters.some((parameter) => parameter.width > widestNumber);
        const data = newActionData(action.parameters.length, isWide);
        action.parameters.forEach((parameter, i) => {
          const value = call.parameters[i] ?? 0n;
          if (value < 0n || value >= 1n << BigInt(parameter.width)) {
            throw new SwitchRuntimeError(
              "INVALID_ARGUMENT",
              object,
              `${action.name}.${parameter.name}: ${value} does not fit ${parameter.width} bits`,
            );
          }
          data[i] = parameter.width <= widestNumber ? Number(value) : value;
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

  build(pipeline: Pipeline, source: TableSource): Table {
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
}
