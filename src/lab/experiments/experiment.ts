/** One number of one run. */
export interface Measurement {
  /** Line of the plot: `P3`, `DCTCP`. */
  readonly series: string;
  /** Place on the horizontal axis: a number, or a name where the axis has none. */
  readonly x: number | string;
  readonly y: number;
}

/** Mean over the seeds, with the standard error of the mean. */
export interface Point {
  readonly series: string;
  readonly x: number | string;
  readonly mean: number;
  readonly error: number;
  readonly values: readonly number[];
}

/** A figure of a paper beside ours. */
export interface Comparison {
  readonly what: string;
  readonly paper: string;
  readonly ours: string;
  /** Why they differ; empty when they agree. */
  readonly reason: string;
}

export interface Axis {
  readonly label: string;
  readonly scale: "linear" | "log";
}

/** A named experiment. The same seed gives the same measurements. */
export interface Experiment {
  readonly name: string;
  readonly title: string;
  /** What was run, in sentences. */
  readonly setting: string;
  readonly x: Axis;
  readonly y: Axis;
  /** Seeds when nothing is said. */
  readonly seeds: number;
  /** One run. `progress` may be told what is done. */
  run(seed: number, progress: (text: string) => void): readonly Measurement[];
  compare(points: Points): readonly Comparison[];
}

/** Results of an experiment over several seeds. */
export interface ExperimentResult {
  readonly name: string;
  readonly seeds: readonly number[];
  readonly points: readonly Point[];
  readonly comparisons: readonly Comparison[];
}

/** Points by series and place. */
export class Points {
  readonly all: readonly Point[];

  constructor(all: readonly Point[]) {
    this.all = all;
  }

  /** @throws RangeError when it was not measured. */
  mean(series: string, x: number | string): number {
    const found = this.all.find((p) => p.series === series && p.x === x);
    if (found === undefined) throw new RangeError(`${series} was not measured at ${x}`);
    return found.mean;
  }

  /** By how much, in per cent, `series` is above `base`. */
  gain(series: string, base: string, x: number | string): number {
    return (this.mean(series, x) / this.mean(base, x) - 1) * 100;
  }

  /** By how much, in per cent, `series` is below `base`. */
  cut(series: string, base: string, x: number | string): number {
    return (1 - this.mean(series, x) / this.mean(base, x)) * 100;
  }

  /** Places of a series, as measured. */
  places(series: string): readonly (number | string)[] {
    return this.all.filter((p) => p.series === series).map((p) => p.x);
  }
}

/** Runs an experiment with seeds 1 to `seeds`. */
export function runExperiment(
  experiment: Experiment,
  seeds: number,
  progress: (text: string) => void = () => {},
): ExperimentResult {
  const byPlace = new Map<string, { series: string; x: number | string; values: number[] }>();
  const numbers = Array.from({ length: seeds }, (_, i) => i + 1);
  for (const seed of numbers)
    for (const { series, x, y } of experiment.run(seed, (text) => progress(`seed ${seed}: ${text}`))) {
      const key = JSON.stringify([series, x]);
      const place = byPlace.get(key) ?? { series, x, values: [] };
      place.values.push(y);
      byPlace.set(key, place);
    }
  const points = [...byPlace.values()].map(({ series, x, values }) => ({
    ...{ series, x, values, mean: mean(values), error: standardError(values) },
  }));
  const comparisons = experiment.compare(new Points(points));
  return { name: experiment.name, seeds: numbers, points, comparisons };
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, v) => sum + v, 0) / values.length;
}

/** Of the mean; 0 for a single value, about which it says nothing. */
export function standardError(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const middle = mean(values);
  const squares = values.reduce((sum, v) => sum + (v - middle) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1) / values.length);
}

/** The value below which this share of all lies (nearest rank). */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN;
}
