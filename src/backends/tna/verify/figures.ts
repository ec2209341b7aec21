/** What one match-action stage of the chip holds, both directions together. */
export interface StageFigures {
  readonly stage: number;
  /** Names of the logical tables, as the compiler has them; a condition of its own is one, too. */
  readonly logicalTables: readonly string[];
  readonly sram: number;
  readonly mapRam: number;
  readonly tcam: number;
  /** Stateful ALUs, meters and selectors, which share four units a stage. */
  readonly meterAlus: number;
  /** Of these, the ones that run register updates. */
  readonly statefulAlus: number;
  readonly counterAlus: number;
  readonly gateways: number;
  readonly exactCrossbarBytes: number;
  readonly ternaryCrossbarBytes: number;
  readonly hashBits: number;
  readonly hashDistributionUnits: number;
  readonly actionBusBytes: number;
  readonly instructions: number;
}

/** Containers of one width. */
export interface ContainerFigures {
  readonly kind: "normal" | "tagalong";
  readonly bits: number;
  readonly used: number;
  readonly of: number;
}

/** What the compiler needed for a program. */
export interface Figures {
  /** Stages up to the last one used. */
  readonly stages: number;
  readonly perStage: readonly StageFigures[];
  readonly containers: readonly ContainerFigures[];
}

/** What a Tofino has, whole and in each stage. */
export const TOFINO_STAGES = 12;

/** A chip of the family. What is generated keeps to Tofino 1; Tofino 2 has more stages, and other types for a few fields. */
export interface Chip {
  readonly name: string;
  readonly stages: number;
  /** Architecture: the file that P4 includes, and what the compiler calls it. */
  readonly arch: string;
  /** The compiler's name of the chip. */
  readonly target: string;
}

export const TOFINO_1: Chip = { name: "Tofino 1", stages: TOFINO_STAGES, arch: "tna", target: "tofino" };
export const TOFINO_2: Chip = { name: "Tofino 2", stages: 20, arch: "t2na", target: "tofino2" };

export const STAGE_LIMITS = {
  logicalTables: 16,
  sram: 80,
  mapRam: 48,
  tcam: 24,
  meterAlus: 4,
  counterAlus: 4,
  gateways: 16,
  exactCrossbarBytes: 128,
  ternaryCrossbarBytes: 66,
  hashBits: 416,
  hashDistributionUnits: 6,
  actionBusBytes: 128,
  instructions: 32,
} as const;

/** A report of the compiler that does not have the form that it should. */
export class ReportError extends Error {
  override readonly name = "ReportError";
}

/**
 * The compiler's `logs/resources.json` (schema of p4c's `resources_schema.py`) by stages. Stages behind the chip's last one are there
 * as well: the compiler places tables there without a word, and leaves the refusal to the assembler.
 *
 * @throws ReportError when the text is no such report
 */
export function stageFigures(text: string): readonly StageFigures[] {
  const stages = list(at(parsed(text), "resources", "mau", "mau_stages"), "mau_stages");
  return stages.map((stage): StageFigures => {
    const uses = (first: string, second: string) => list(at(stage, first, second), `${first}.${second}`);
    const meters = uses("meter_alus", "meters");
    return {
      stage: number(at(stage, "stage_number"), "stage_number"),
      logicalTables: uses("logical_tables", "ids").map((id) => String(at(id, "table_name") ?? "")),
      sram: uses("rams", "srams").length,
      mapRam: uses("map_rams", "maprams").length,
      tcam: uses("tcams", "tcams").length,
      meterAlus: meters.length,
      statefulAlus: meters.filter((m) => usedFor(m).includes("stateful_ram")).length,
      counterAlus: uses("statistic_alus", "stats").length,
      gateways: uses("gateways", "gateways").length,
      exactCrossbarBytes: crossbar(stage, "exact"),
      ternaryCrossbarBytes: crossbar(stage, "ternary"),
      hashBits: uses("hash_bits", "bits").length,
      hashDistributionUnits: uses("hash_distribution_units", "units").length,
      actionBusBytes: uses("action_bus_bytes", "bytes").length,
      instructions: uses("vliw", "instructions").length,
    };
  });
}

/** The compiler's `logs/phv.json`: which containers of the packet header vector have anything in them. @throws ReportError */
export function containerFigures(text: string): readonly ContainerFigures[] {
  const containers = list(at(parsed(text), "containers"), "containers");
  const found = new Map<string, Set<unknown>>();
  for (const c of containers) {
    const key = `${String(at(c, "container_type"))} ${number(at(c, "bit_width"), "bit_width")}`;
    found.set(key, (found.get(key) ?? new Set()).add(at(c, "phv_number")));
  }
  return (["normal", "tagalong"] as const).flatMap((kind) =>
    Object.entries(CONTAINERS[kind]).map(([bits, of]): ContainerFigures => {
      const used = found.get(`${kind} ${bits}`)?.size ?? 0;
      return { kind, bits: Number(bits), used, of };
    }),
  );
}

const CONTAINERS: Record<ContainerFigures["kind"], Readonly<Record<number, number>>> = {
  normal: { 8: 64, 16: 96, 32: 64 },
  tagalong: { 8: 32, 16: 48, 32: 32 },
};

/** The last stage, counted from 1, that the assembly has anything in. */
export function stagesOfAssembly(assembly: string): number {
  return Math.max(0, ...[...assembly.matchAll(/^stage (\d+) (?:in|e)gress:/gm)].map((m) => Number(m[1]) + 1));
}

function crossbar(stage: unknown, type: string): number {
  return list(at(stage, "xbar_bytes", "bytes"), "xbar_bytes").filter((b) => at(b, "byte_type") === type)
    .length;
}

function usedFor(unit: unknown): readonly string[] {
  return list(at(unit, "usages"), "usages").map((u) => String(at(u, "used_for")));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ReportError(`not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (v, key) =>
      typeof v === "object" && v !== null ? Object.getOwnPropertyDescriptor(v, key)?.value : undefined,
    value,
  );
}

function list(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ReportError(`the report has no list ${name}`);
  return value;
}

function number(value: unknown, name: string): number {
  if (typeof value !== "number") throw new ReportError(`the report has no number ${name}`);
  return value;
}
