import type { SourceLocation } from "../../../ir/index.ts";
import { expression } from "../../p4text/expressions.ts";
import { render } from "../../p4text/layout.ts";
import { unmarked } from "../../p4text/places.ts";
import type { TnaProgram } from "../lowered.ts";
import { scopeOf } from "../text/blocks.ts";
import { type Chip, type ContainerFigures, STAGE_LIMITS, TOFINO_1 } from "../verify/figures.ts";
import { costliestChain } from "./chain.ts";
import { type ContainerBits, containerNeed } from "./containers.ts";
import { Dependencies, type Dependency } from "./dependencies.ts";
import { hashUnits, type Need, NOTHING, sum } from "./memory.ts";
import { type Placed, placement } from "./placement.ts";
import { type FitTable, fitTables } from "./tables.ts";

/** One logical table of a stage. */
export interface FitEntry {
  /** As the user wrote it: a table, an action, what is set, or what is asked. */
  readonly name: string;
  readonly kind: FitTable["kind"];
  readonly gress: FitTable["gress"];
  readonly at?: SourceLocation;
  /** The condition that stands in front of it and costs no logical table. */
  readonly when?: string;
  /** Entries here, when the table is cut over several stages. */
  readonly entries?: number;
  readonly need: Need;
}

export interface FitStage {
  readonly stage: number;
  readonly tables: readonly FitEntry[];
  readonly need: Need;
  /** Bytes of fields in the input crossbar, each once. */
  readonly crossbarBytes: number;
  /** Different indexes of registers and counters: each takes a unit of hash distribution. */
  readonly hashUnits: number;
  /** Bits of hashes: ways of exact tables, and indexes. */
  readonly hashBits: number;
  /** Bits of fields that are live in the stage, by the size of their containers. */
  readonly live: ContainerBits;
}

export interface FitChainLink {
  readonly name: string;
  readonly at?: SourceLocation;
  /** Why it comes a stage after the one before. */
  readonly why?: string;
}

/**
 * `fits`; `tight`: it would be the last stage or the last containers, where the compiler may need one more than was estimated; `no`.
 */
export type Verdict = "fits" | "tight" | "no";

/** Estimate of what a program takes of a Tofino, made without its compiler. */
export interface FitReport {
  readonly program: string;
  readonly chip: string;
  /** Stages that the chip has. */
  readonly stagesThere: number;
  readonly verdict: Verdict;
  /** What there is not enough of, for people: a sentence without its end. */
  readonly lacks?: string;
  readonly stages: number;
  readonly perStage: readonly FitStage[];
  readonly containers: readonly ContainerFigures[];
  readonly chain: readonly FitChainLink[];
  /** Stages that the chain alone needs. */
  readonly chainStages: number;
}

/** Estimates a lowered program without findings. Tofino 2 is taken for a Tofino 1 with more stages: the compiler may need fewer. */
export function fitReport(program: TnaProgram, chip: Chip = TOFINO_1): FitReport {
  const known = reports.get(program) ?? new Map<Chip, FitReport>();
  reports.set(program, known);
  const report = known.get(chip) ?? estimated(program, chip);
  known.set(chip, report);
  return report;
}

const reports = new WeakMap<TnaProgram, Map<Chip, FitReport>>();

function estimated(program: TnaProgram, chip: Chip): FitReport {
  const fit = fitTables(program);
  const deps = new Dependencies(fit);
  const placed = placement(fit, deps, chip.stages);
  const containers = containerNeed(program, fit, placed);
  const chain = costliestChain(fit.tables, deps);
  const perStage = Array.from({ length: placed.stages }, (_, stage): FitStage => {
    const here = placed.placed.filter((p) => p.stage === stage);
    return {
      stage,
      tables: here.map(entryOf),
      need: here.map((p) => p.need).reduce(sum, NOTHING),
      ...shared(here),
      live: containers.perStage[stage] ?? { 8: 0, 16: 0, 32: 0 },
    };
  });
  const over = containers.containers.find((c) => c.used > c.of);
  const lacks =
    placed.unplaced !== undefined
      ? `${nameOf(placed.unplaced.table)} finds no stage: one has ${placed.unplaced.lacks}`
      : placed.stages > chip.stages
        ? `it needs ${placed.stages} stages, and there are ${chip.stages}`
        : over !== undefined
          ? `it needs ${over.used} containers of ${over.bits} bits, and there are ${over.of}`
          : undefined;
  const waits = 1 + chain.filter((l) => l.waits !== undefined && l.waits.kind !== "order").length;
  const isTight =
    placed.stages === chip.stages ||
    registersOfSeveral(fit.tables) > STAGE_LIMITS.meterAlus ||
    containers.containers.some((c) => c.used > c.of * TIGHT_SHARE);
  return {
    program: program.source.name,
    chip: chip.name,
    stagesThere: chip.stages,
    verdict: lacks !== undefined ? "no" : isTight ? "tight" : "fits",
    ...(lacks === undefined ? {} : { lacks }),
    stages: placed.stages,
    perStage,
    containers: containers.containers,
    chain: chain.map(({ table, waits }) => ({
      name: nameOf(table),
      ...(table.at === undefined ? {} : { at: table.at }),
      ...(waits === undefined ? {} : { why: reason(waits) }),
    })),
    // Some that wait find their place in one stage.
    chainStages: placed.unplaced === undefined ? Math.min(waits, placed.stages) : waits,
  };
}

/** What tables of a stage share: fields in the crossbar, and the way to an index. */
function shared(here: readonly Placed[]): Pick<FitStage, "crossbarBytes" | "hashUnits" | "hashBits"> {
  const tables = here.flatMap((p) => [p.table, ...(p.condition === undefined ? [] : [p.condition])]);
  const bytes = new Set(
    tables.flatMap((t) =>
      t.crossbar.flatMap((b) =>
        Array.from({ length: Math.floor(Math.min(b.high, 255) / 8) - Math.floor(b.low / 8) + 1 }, (_, i) =>
          b.high > 255 ? `${t.gress} ${b.key}` : `${t.gress} ${b.key} ${Math.floor(b.low / 8) + i}`,
        ),
      ),
    ),
  );
  const indexes = new Map(
    tables.flatMap((t) =>
      t.indexes.filter((i) => i.bits > 0).map((i) => [`${t.gress} ${i.text}`, i.bits] as const),
    ),
  );
  const ways = here.reduce((n, p) => n + p.need.hashBits, 0);
  return {
    crossbarBytes: bytes.size,
    hashUnits: hashUnits(tables),
    hashBits: ways + [...indexes.values()].reduce((n, b) => n + b, 0),
  };
}

/** Registers that several tables use: more than one stage has are not always found places for together with all their tables. */
function registersOfSeveral(tables: readonly FitTable[]): number {
  const users = tables.flatMap((t) => t.memories.filter((m) => m.kind === "register"));
  return new Set(users.filter((m, i) => users.indexOf(m) !== i)).size;
}

/** Share of the containers beyond which packing them may fail: fields are bound to one another in ways that are not looked at. */
const TIGHT_SHARE = 0.8;

function entryOf(p: Placed): FitEntry {
  const { table, condition } = p;
  return {
    name: nameOf(table),
    kind: table.kind,
    gress: table.gress,
    ...(table.at === undefined ? {} : { at: table.at }),
    ...(condition === undefined ? {} : { when: nameOf(condition) }),
    ...(p.entries === undefined ? {} : { entries: p.entries }),
    need: p.need,
  };
}

/** What the user knows a table by; of a condition, what it asks. */
export function nameOf(t: FitTable): string {
  if (t.condition === undefined) return t.name;
  const text = unmarked(
    render(expression(t.condition, scopeOf({ gress: t.gress, names: { bridge: "bridge" } }))),
  );
  return `if ${text.replace(/\s+/g, " ").replace(/\b(?:hdr|meta|ig_\w+|eg_\w+)\./g, "")}`;
}

function reason({ kind, field }: Dependency): string {
  switch (kind) {
    case "read":
      return `reads ${field}`;
    case "write":
      return `writes ${field}, too`;
    case "order":
      return "in the same stage, after it";
  }
}
