/**
 * How far sums in each numeric mode are from the float64 sum of the same float32 gradients, for three distributions and 2 to 32 workers,
 * beside scaling at the host: an exponent per packet (SwitchML, NSDI'21) and a fixed factor of one million (ATP, Libra's public code).
 * Also how many rows of mode block are marked when exponents are forecast. With --write it makes docs/numeric.md.
 * Run: npx tsx bench/numeric/error.ts [--write]
 */
import { writeFileSync } from "node:fs";
import { ExponentForecast } from "../../src/host/libra/forecast.ts";
import { type Random, seededRandom } from "../../src/host/libra/index.ts";
import {
  blockExponent,
  blockUnit,
  contributionLimit,
  converterOf,
  encodeBlockRow,
  fp16Limit,
  type NumericMode,
  rowCodec,
  shiftMantissa,
  windowBaseFor,
} from "../../src/numeric/index.ts";

const [LANES, ROWS] = [32, 256];
const WORKERS = [2, 4, 8, 16, 32];
const SLICES = { fp32: [6, 6, 6, 5], fp16: [5, 5], bf16: [4, 3] };
/** Room above the largest gradient before a row is marked, as a job that does not know it exactly would leave. */
const ROOM = 2;

type Gradients = readonly (readonly Float32Array[])[]; // by row, by worker

/** Sums of a row, or undefined when it is marked. */
type Summer = (row: readonly Float32Array[]) => Float64Array | undefined;

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const distributions: Readonly<Record<string, (random: Random, scale: number) => number>> = {
  normal: (random) => normal(random),
  Laplace: (random) => Math.sign(random() - 0.5) * -Math.log(1 - random()),
  // Every key has a scale of its own, over many binades, as the layers and keys of a model have.
  "heavy-tailed": (random, scale) => normal(random) * scale,
};

function gradients(name: string, workers: number): Gradients {
  const random = seededRandom(workers);
  const draw = distributions[name] ?? normal;
  return Array.from({ length: ROWS }, () => {
    const scales = Array.from({ length: LANES }, () => Math.exp(4 * normal(random)));
    return Array.from({ length: workers }, () => Float32Array.from(scales, (scale) => draw(random, scale)));
  });
}

function largestOf(all: Gradients): number {
  return Math.max(...all.flatMap((row) => row.map((r) => Math.max(...r.map(Math.abs)))));
}

/** Modes in which each contribution is converted on its own: by the host, or by the switch's tables. */
function converted(mode: NumericMode): Summer {
  const codec = rowCodec(mode);
  const converter = converterOf(mode);
  const words = new Int32Array(LANES);
  return (row) => {
    const sums = new Float64Array(LANES);
    for (const values of row) {
      if (codec.encode(values, words)) return undefined;
      for (let lane = 0; lane < LANES; lane++) {
        const word = words[lane] ?? 0;
        const fixed = converter === undefined ? word : converter.convert(word, codec.scale);
        if (fixed === undefined) return undefined;
        sums[lane] = (sums[lane] ?? 0) + fixed;
      }
    }
    return sums.map((sum) => sum * codec.unit());
  };
}

/** Mode block when all exponents were announced exactly, as a host that streams a tensor can. */
function block(workers: number): Summer {
  const words = new Int32Array(LANES);
  return (row) => {
    const exponents = row.map((values) => blockExponent(values) ?? 0);
    const slot = Math.max(...exponents);
    const sums = new Float64Array(LANES);
    row.forEach((values, member) => {
      const own = exponents[member] ?? 0;
      encodeBlockRow(values, own, workers, words);
      for (let lane = 0; lane < LANES; lane++)
        sums[lane] = (sums[lane] ?? 0) + shiftMantissa(words[lane] ?? 0, slot - own, member);
    });
    return sums.map((sum) => sum * blockUnit(slot, workers));
  };
}

/** The host scales by the exponent that all workers have agreed on. */
function switchMl(workers: number): Summer {
  return (row) => {
    const exponent = Math.max(...row.map((values) => blockExponent(values) ?? 0));
    const factor = contributionLimit(workers) / 2 ** (exponent - 126);
    const sums = new Float64Array(LANES);
    for (const values of row)
      values.forEach((x, lane) => {
        sums[lane] = (sums[lane] ?? 0) + Math.round(x * factor);
      });
    return sums.map((sum) => sum / factor);
  };
}

function fixedMillion(): Summer {
  return (row) => {
    const sums = new Float64Array(LANES);
    for (const values of row)
      values.forEach((x, lane) => {
        sums[lane] = (sums[lane] ?? 0) + Math.round(x * 1e6);
      });
    return sums.some((sum) => Math.abs(sum) > 0x7fffffff) ? undefined : sums.map((sum) => sum / 1e6);
  };
}

interface Figures {
  /** Relative to the length of the vector of true sums. */
  readonly l2: number;
  /** 99th percentile of the elements' relative errors. */
  readonly p99: number;
  readonly marked: number;
}

function measure(all: Gradients, summer: Summer): Figures {
  let [errors, length, marked] = [0, 0, 0];
  const relative: number[] = [];
  for (const row of all) {
    const sums = summer(row);
    if (sums === undefined) {
      marked++;
      continue;
    }
    sums.forEach((sum, lane) => {
      const truth = row.reduce((total, values) => total + (values[lane] ?? 0), 0);
      errors += (sum - truth) ** 2;
      length += truth ** 2;
      if (truth !== 0) relative.push(Math.abs((sum - truth) / truth));
    });
  }
  relative.sort((a, b) => a - b);
  const p99 = relative[Math.floor(0.99 * relative.length)] ?? Number.NaN;
  return { l2: Math.sqrt(errors / length), p99, marked: marked / all.length };
}

function schemes(workers: number, largest: number): readonly (readonly [string, Summer])[] {
  const bound = ROOM * largest;
  const bits = (limit: number): number => Math.floor(Math.log2(limit / bound));
  return [
    ["`int32`", converted({ name: "int32", workers, fractionBits: bits(contributionLimit(workers)) })],
    ["`block`", block(workers)],
    ["`fp32`", converted({ name: "fp32", workers, base: windowBaseFor(bound), slices: SLICES.fp32 })],
    [
      "`fp16`",
      converted({ name: "fp16", workers, fractionBits: bits(fp16Limit(workers)), slices: SLICES.fp16 }),
    ],
    ["`bf16`", converted({ name: "bf16", workers, base: windowBaseFor(bound, "bf16"), slices: SLICES.bf16 })],
    ["host, exponent per packet", switchMl(workers)],
    ["host, fixed 1e6", fixedMillion()],
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.001 ? 2 : 1)} %`;
}

/** Share of marked rows, and bits of accuracy given away, when workers forecast exponents from the rounds before. */
function forecasts(workers: number, course: (round: number, random: Random) => number) {
  const [rows, rounds, warmUp] = [40, 50, 10];
  const random = seededRandom(workers + 100);
  const hosts = Array.from({ length: workers }, () => new ExponentForecast(rows, 127));
  const announced = new Map<number, readonly number[]>();
  let [marked, spare, seen] = [0, 0, 0];
  for (let round = 0; round < rounds; round++) {
    const scale = course(round, random);
    const slots = announced.get(round);
    const next: number[] = [];
    for (let row = 0; row < rows; row++) {
      const own = hosts.map((host) => {
        const e = blockExponent(Float32Array.from({ length: LANES }, () => scale * normal(random))) ?? 0;
        host.observe(row, e);
        return e;
      });
      next.push(Math.max(...hosts.map((host) => host.expect(row))));
      const slot = slots?.[row];
      if (slot === undefined || round < warmUp) continue;
      seen++;
      if (Math.max(...own) > slot) marked++;
      else spare += slot - Math.max(...own);
    }
    announced.set(round + 2, next);
  }
  return { marked: marked / seen, spare: spare / Math.max(1, seen - marked) };
}

const courses: readonly (readonly [string, (round: number, random: Random) => number])[] = [
  ["steady", () => 1],
  ["shrinking by 3 % a round", (round) => 0.97 ** round],
  ["growing by 3 % a round", (round) => 1.03 ** round],
  ["jumping, log-normal with sigma 1", (_, random) => Math.exp(normal(random))],
];

const lines: string[] = [];
for (const name of Object.keys(distributions)) {
  lines.push(`### ${name} gradients`, "");
  lines.push(
    `| mode | ${WORKERS.map((w) => `${w} workers`).join(" | ")} |`,
    `| --- | ${WORKERS.map(() => "---").join(" | ")} |`,
  );
  const columns = WORKERS.map((workers) => {
    const all = gradients(name, workers);
    return schemes(workers, largestOf(all)).map(([scheme, summer]) => ({ scheme, ...measure(all, summer) }));
  });
  const [first = []] = columns;
  first.forEach(({ scheme }, i) => {
    const cells = columns.map((column) => {
      const f = column[i];
      if (f === undefined || f.marked === 1) return "all marked";
      const text = `${f.l2.toExponential(1)} / ${f.p99.toExponential(1)}`;
      return f.marked > 0 ? `${text}, ${percent(f.marked)} marked` : text;
    });
    lines.push(`| ${scheme} | ${cells.join(" | ")} |`);
  });
  lines.push("");
}
const table = [
  `| gradients | ${WORKERS.map((w) => `${w} workers`).join(" | ")} |`,
  `| --- | ${WORKERS.map(() => "---").join(" | ")} |`,
  ...courses.map(([name, course]) => {
    const cells = WORKERS.map((workers) => {
      const { marked, spare } = forecasts(workers, course);
      return `${percent(marked)}, ${spare.toFixed(1)} bits`;
    });
    return `| ${name} | ${cells.join(" | ")} |`;
  }),
];

const page = `# Numeric modes: how exact they are

Made by \`npx tsx bench/numeric/error.ts --write\`. The rules of the modes are in \`src/numeric/\`; what an aggregator does with them is in
[aggregation.md](aggregation.md).

## Bounds

For W workers k = 31 - ceil(log2 W) bits are left for one contribution, so that no sum can overflow. The error is that of one
contribution without a mark; a sum is off by at most the sum of its contributions' errors. Sums themselves are exact and the same
in whatever order they are made.

| mode | a contribution is off by at most | marked |
| --- | --- | --- |
| \`int32\` | 2^-(f+1), f the job's fraction bits | NaN, infinities, magnitudes above (2^31 - 1) / W units |
| \`block\` | half a unit of the row's own exponent, and half a unit of the slot's where it is shifted: at most 0.75 * 2^(E - 126 - min(30, k)), E the slot's exponent | NaN, infinities, rows above the slot's exponent |
| \`fp32\` | nothing in the highest k - 23 binades of the window; below, half a unit for each slice of the mantissa that does not fit; the value itself below the window. Unit 2^(B - 95 - k), B the window's base | NaN, infinities, values above the window |
| \`bf16\` | the same against the code that was sent: nothing in the highest k - 7 binades | the same |
| \`fp16\` | nothing against the code that was sent, which is a multiple of 2^-24 | NaN, infinities, codes of 2^(k - 24) and more |

Rounding to 16 bits at the host comes before that: 2^-12 of the value at most for \`fp16\` in its normal range, 2^-9 for \`bf16\`.

## Error against float64 sums

${ROWS} rows of ${LANES} values. Each cell: relative L2 error of all sums / 99th percentile of the relative error of one sum. \`int32\` and the
windows have room for ${ROOM} times the largest gradient; exponents of \`block\` and of the host's scaling are exact.

${lines.join("\n")}
The distributions are: standard normal; Laplace; normal with a scale for each key whose logarithm is normal with sigma 4.

## Forecast exponents

A worker of a trainer cannot know its exponents two rounds ahead. It announces the largest of the last eight rounds and one binade more
(\`src/host/libra/forecast.ts\`). Each cell: rows that are marked and go by the parameter server, and binades by which the slot's exponent was
too high in the others.

${table.join("\n")}
`;

if (process.argv.includes("--write")) writeFileSync(new URL("../../docs/numeric.md", import.meta.url), page);
else console.log(page);
