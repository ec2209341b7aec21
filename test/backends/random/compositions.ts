import { checkTna } from "../../../src/backends/index.ts";
import {
  type AggregationOptions,
  bf16,
  block,
  type DropOptions,
  drop,
  type EcmpOptions,
  ecmp,
  type Feature,
  type ForwardingOptions,
  fp16,
  fp32,
  hotAggregation,
  int32,
  ipv4Forwarding,
  ipv6Forwarding,
  type NumericMode,
  type PriorityOptions,
  ProgramError,
  priority,
  probe,
  program,
  type SwitchProgram,
  type TelemetryOptions,
  telemetry,
} from "../../../src/dsl/index.ts";
import { type Diagnostic, severityOf } from "../../../src/ir/diagnostics.ts";
import { Dice } from "../dice.ts";

/** A feature and its options, as a user writes them. */
export type Part =
  | { readonly feature: "ipv4Forwarding"; readonly options?: ForwardingOptions }
  | { readonly feature: "ipv6Forwarding"; readonly options?: ForwardingOptions }
  | { readonly feature: "priority"; readonly options?: PriorityOptions }
  | { readonly feature: "drop"; readonly options: DropOptions }
  | { readonly feature: "ecmp"; readonly options: EcmpOptions }
  | { readonly feature: "hotAggregation"; readonly options: AggregationOptions }
  | { readonly feature: "telemetry"; readonly options?: TelemetryOptions }
  | { readonly feature: "probe" };

/** A program of built-in features as plain data: `JSON.stringify` shows it whole. */
export interface Composition {
  readonly name: string;
  readonly ports: number;
  readonly cpuPort?: number;
  readonly priorityQueues?: number;
  /** In any order: it makes no difference. */
  readonly parts: readonly Part[];
}

export interface CompositionOptions {
  /**
   * Now and then an option out of its range, a feature without the one that it needs, ports and queues that are not there. Without
   * them every composition is to be built. Default true.
   */
  readonly faults?: boolean;
  /** Widest row; default 32. */
  readonly lanes?: number;
}

/** A random composition of the features with random options; the same seed makes the same one. */
export function composition(name: string, seed: number, options: CompositionOptions = {}): Composition {
  const { faults = true, lanes = 32 } = options;
  // Neighbouring seeds begin alike in xorshift.
  const dice = new Dice(Math.imul(seed, 0x9e37_79b1));
  for (let i = 0; i < 8; i++) dice.below(2);
  return new Composer(dice, faults, lanes).compose(name);
}

/** The program of a composition. @throws ProgramError where it is refused */
export function compose({ parts, name, ...options }: Composition): SwitchProgram {
  return program(name, { ...options, features: parts.map(featureOf) });
}

export type Outcome =
  /** No target takes it. */
  | { readonly kind: "refused"; readonly findings: readonly Diagnostic[] }
  /** v1model takes it; `tna` is what keeps it off Tofino, empty where that takes it, too. */
  | { readonly kind: "built"; readonly program: SwitchProgram; readonly tna: readonly Diagnostic[] };

/** What becomes of a composition: anything but these two, an exception say, is a fault of ours. */
export function outcomeOf(c: Composition): Outcome {
  try {
    const made = compose(c);
    const errors = made.warnings.filter((d) => severityOf(d) === "error");
    return { kind: "built", program: made, tna: [...errors, ...checkTna(made.ir)] };
  } catch (error) {
    if (error instanceof ProgramError) return { kind: "refused", findings: error.diagnostics };
    throw error;
  }
}

function featureOf(part: Part): Feature {
  switch (part.feature) {
    case "ipv4Forwarding":
      return ipv4Forwarding(part.options);
    case "ipv6Forwarding":
      return ipv6Forwarding(part.options);
    case "priority":
      return priority(part.options);
    case "drop":
      return drop(part.options);
    case "ecmp":
      return ecmp(part.options);
    case "hotAggregation":
      return hotAggregation(part.options);
    case "telemetry":
      return telemetry(part.options);
    case "probe":
      return probe();
  }
}

/** Mantissa slices that users may ask for beside the default ones, each in a row of a few. */
const SLICES = {
  fp32: [
    [5, 6, 6, 6],
    [6, 6, 6, 5],
    [8, 8, 7],
    [12, 11],
    [4, 4, 5, 5, 5],
  ],
  fp16: [[10], [5, 5], [4, 3, 3]],
  bf16: [[7], [4, 3], [3, 2, 2]],
} as const satisfies Record<string, readonly (readonly number[])[]>;

class Composer {
  readonly #dice: Dice;
  readonly #faults: boolean;
  readonly #lanes: number;

  constructor(dice: Dice, faults: boolean, lanes: number) {
    this.#dice = dice;
    this.#faults = faults;
    this.#lanes = lanes;
  }

  compose(name: string): Composition {
    const ports = this.#fault(0, 1.5, 512, -1) ?? this.#among(1, 2, 8, 8, 32, 32, 40, 64, 256, 510);
    const has = {
      ipv6: this.#in(3),
      priority: !this.#in(2),
      drop: this.#in(3),
      ecmp: !this.#in(2),
      aggregation: !this.#in(3),
      telemetry: this.#in(2),
      probe: this.#in(4),
    };
    const needsIpv4 = has.aggregation || !has.ipv6;
    const parts = this.#shuffled([
      ...((needsIpv4 || !this.#in(3)) && !this.#isFaulty() ? [this.#forwarding("ipv4Forwarding")] : []),
      ...(has.ipv6 ? [this.#forwarding("ipv6Forwarding")] : []),
    ]);
    const plan = has.priority ? this.#priority() : undefined;
    // The classes without `priority` are 0 to 6 below control, and so they are with it when it says nothing.
    const control = plan?.control ?? (plan?.classes ?? 8) - 1;
    const rest: readonly Part[] = [
      ...(plan === undefined ? [] : [{ feature: "priority", options: plan } as const]),
      ...(has.drop ? [this.#drop(control)] : []),
      ...(has.ecmp ? [this.#ecmp()] : []),
      ...(has.aggregation ? [this.#aggregation()] : []),
      ...(has.telemetry ? [this.#telemetry()] : []),
      ...(has.probe ? [{ feature: "probe" } as const] : []),
    ];
    const wantsCpu = has.aggregation || has.probe || this.#in(4);
    const cpuPort = wantsCpu && !this.#isFaulty() ? this.#cpuPort(ports) : undefined;
    const least = has.priority ? control + 1 : 1;
    const queues = this.#fault(0, 9, least - 1) ?? this.#among(least, 8, 8);
    const all = [...parts, ...rest];
    return {
      name,
      ports,
      ...(cpuPort === undefined ? {} : { cpuPort }),
      ...(has.priority || this.#in(4) ? { priorityQueues: queues } : {}),
      parts: this.#shuffled(this.#isFaulty() ? [...all, ...all.slice(0, 1)] : all),
    };
  }

  /** Where a Tofino has its CPU, or anything that is no front-panel port. */
  #cpuPort(ports: number): number {
    return (
      this.#fault(0, 511, 512, ports - 1) ?? (this.#in(2) && ports <= 192 ? 192 : this.#among(510, ports))
    );
  }

  #forwarding(feature: "ipv4Forwarding" | "ipv6Forwarding"): Part {
    if (this.#in(3)) return { feature };
    return {
      feature,
      options: { routes: this.#fault(0, -5, 0.5) ?? this.#among(1, 2, 100, 512, 1024, 4096) },
    };
  }

  #priority(): PriorityOptions {
    if (this.#in(4)) return {};
    const classes = this.#fault(2, 9) ?? 3 + this.#dice.below(6);
    const control =
      this.#fault(1, classes) ?? (this.#in(2) ? classes - 1 : 2 + this.#dice.below(Math.max(1, classes - 2)));
    const points = this.#shuffled(Array.from({ length: 63 }, (_, i) => i + 1));
    const gradients = points.slice(1, Math.max(1, control));
    return {
      ...(classes === 8 && this.#in(2) ? {} : { classes }),
      ...(control === classes - 1 && this.#in(2) ? {} : { control }),
      ...(this.#in(3) ? { dscp: { control: points[this.#isFaulty() ? 1 : 0] ?? 1, gradients } } : {}),
    };
  }

  #drop(control: number): Part {
    const classes = Array.from({ length: Math.max(1, control) }, (_, i) => i).filter(() => this.#in(2));
    const named = this.#isFaulty() ? [control] : classes.length === 0 ? [0] : classes;
    const depth = () => this.#fault(-1, 2 ** 19) ?? this.#among(0, 1, 4, 63, 64, 4096, 2 ** 19 - 1);
    return { feature: "drop", options: { keep: Object.fromEntries(named.map((c) => [c, depth()])) } };
  }

  #ecmp(): Part {
    return {
      feature: "ecmp",
      options: {
        groups: this.#fault(0, 0x1_0001) ?? this.#among(1, 2, 3, 5, 64, 256, 1000, 4096),
        members: this.#fault(0, 257) ?? this.#among(1, 2, 3, 4, 16, 32, 255, 256),
        spray: this.#dice.pick("gradient", "all", "none"),
      },
    };
  }

  #telemetry(): Part {
    if (this.#in(2)) return { feature: "telemetry" };
    return {
      feature: "telemetry",
      options: {
        ...(this.#in(2) ? { perPort: this.#in(2) } : {}),
        ...(this.#in(2) ? { perClass: this.#in(2) } : {}),
      },
    };
  }

  #aggregation(): Part {
    const chunk = this.#fault(3, 0) ?? this.#among(1, 2, 4, 16, 16, 32, 256);
    const rows = chunk * this.#among(1, 2, 3, 16, 32);
    return {
      feature: "hotAggregation",
      options: {
        workers: this.#fault(0, 33) ?? this.#among(1, 2, 3, 8, 16, 31, 32),
        lanes:
          this.#fault(0, 256) ?? (this.#in(2) ? 1 + this.#dice.below(this.#lanes) : this.#among(1, 2, 4, 8)),
        rows: this.#fault(chunk + 0.5, 0) ?? rows,
        mode: this.#mode(),
        result: this.#dice.pick("ps", "allreduce"),
        ...(chunk === 16 && this.#in(2) ? {} : { chunk }),
        // Room for jobs: one entry for each worker and chunk of each.
        ...(this.#in(3) ? { admissions: this.#fault(0) ?? this.#among(1, 16, 64, 1024) } : {}),
      },
    };
  }

  #mode(): NumericMode {
    const slices = <T extends readonly (readonly number[])[]>(known: T): { slices?: readonly number[] } => {
      if (this.#isFaulty()) return { slices: [1, 2] };
      return this.#in(2) ? { slices: known[this.#dice.below(known.length)] ?? [] } : {};
    };
    switch (this.#dice.below(5)) {
      case 0:
        return int32;
      case 1:
        return block;
      case 2:
        return fp32(slices(SLICES.fp32));
      case 3:
        return fp16(slices(SLICES.fp16));
      default:
        return bf16(slices(SLICES.bf16));
    }
  }

  /** Once in n. */
  #in(n: number): boolean {
    return this.#dice.below(n) === 0;
  }

  #isFaulty(): boolean {
    return this.#faults && this.#in(60);
  }

  /** A value that is to be refused, seldom. */
  #fault(...values: readonly [number, ...number[]]): number | undefined {
    return this.#isFaulty() ? this.#dice.pick(...values) : undefined;
  }

  #among(...values: readonly [number, ...number[]]): number {
    return this.#dice.pick(...values);
  }

  #shuffled<T>(list: readonly T[]): readonly T[] {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.#dice.below(i + 1);
      const [a, b] = [out[i], out[j]];
      if (a !== undefined && b !== undefined) [out[i], out[j]] = [b, a];
    }
    return out;
  }
}
