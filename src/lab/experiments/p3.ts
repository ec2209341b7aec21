import { type Discipline, LAYERS, P3, SLICES_ONLY } from "../../host/p3/slicing.ts";
import type { Comparison, Experiment, Points } from "./experiment.ts";
import { type Model, parameters, resnet50, sockeye, vgg19 } from "./models.ts";
import { type HostCosts, trainP3 } from "./p3training.ts";

/** Batch of every worker in the paper. */
const BATCH = 32;

/**
 * Times of work on a machine. What is done, in which order and by how many threads is that of MXNet 1.x and ps-lite as the authors published
 * them with P3 (github.com/anandj91/p3): a gradient is copied to main memory as a whole; one I/O thread of each process takes messages from
 * sockets; one thread of a server copies or adds each push, updates after the last, and copies what is pulled; a worker copies what it has pulled
 * when all servers have answered, then to the GPU. How long it takes is not published:
 * - perValueOnBus: PCIe 3.0 x16, 11 GB/s;
 * - perValueReceived, perValueCopied, perAnswer (8 bytes read and written), perValue (a sum: 12), perUpdate (descent with momentum: 20): one core that
 *   moves 10 GB/s;
 * - perValueOfLongMessage: malloc asks the system for new pages for each block above 32 MB (mallopt(3), M_MMAP_THRESHOLD), 2 GB/s. Set so that layer-wise
 *   VGG-19 at 30 Gbit/s has the paper's speed; no other model has such messages;
 * - perMessage: set by the paper's VGG-19 with slices of 5,000 (2 x 28,700 messages per iteration, 2.1 s).
 */
const COSTS: HostCosts = {
  ...{ perMessage: 0.075, perValue: 1.2e-6, perUpdate: 2e-6, perAnswer: 0.8e-6 },
  ...{ perValueOnBus: 0.36e-6, perValueCopied: 0.8e-6, perValueReceived: 0.8e-6 },
  ...{ perValueOfLongMessage: 2e-6, longMessage: 8 << 20 },
};

interface Subject {
  readonly model: Model;
  /** Samples per second and machine when communication takes no time: the right end of the paper's curves. */
  readonly speed: number;
  readonly scale: number;
  /** Gbit/s. */
  readonly rates: readonly number[];
  /** Gains that the paper states, in per cent; without a rate the largest of all. */
  readonly stated: readonly Gain[];
}

interface Gain {
  readonly series: string;
  readonly rate?: number;
  readonly gain: number;
  readonly reason: string;
}

const SUBJECTS = {
  resnet50: {
    ...{ model: resnet50(), speed: 103, scale: 32, rates: [1, 2, 3, 4, 5, 6, 8] },
    stated: [{ series: "P3", rate: 4, gain: 26, reason: "" }],
  },
  vgg19: {
    ...{ model: vgg19(), speed: 55.5, scale: 128, rates: [5, 10, 15, 30] },
    stated: [
      {
        ...{ series: "P3", rate: 15, gain: 66 },
        reason:
          "Layer by layer, the messages of the one large layer (103 MB to each server) take new memory each time, and all stages wait for each other. How fast that is was set by the paper's speed at 30 Gbit/s; the other speeds follow.",
      },
      {
        ...{ series: "slices", rate: 30, gain: 49 },
        reason: "The same.",
      },
    ],
  },
  sockeye: {
    ...{ model: sockeye(), speed: 178, scale: 32, rates: [2, 4, 5, 8, 10, 15, 30] },
    stated: [
      {
        ...{ series: "P3", gain: 38 },
        reason:
          "P3 is slower here than there where the network is fast (149 against 168): a slice's fixed cost, which was set by VGG-19 with slices of 5,000, is felt when the largest layer is the first one and nothing hides it. The paper does not say at which bandwidth its gain is.",
      },
    ],
  },
} as const satisfies Readonly<Record<string, Subject>>;

const DISCIPLINES: readonly (readonly [string, Discipline])[] = [
  ["layers", LAYERS],
  ["slices", SLICES_ONLY],
  ["P3", P3],
];

const MACHINES = 4;
const ITERATIONS = 3;

function speedOf(
  subject: Subject,
  discipline: Discipline,
  {
    rate,
    seed,
    iterations = ITERATIONS,
  }: { readonly rate: number; readonly seed: number; readonly iterations?: number },
) {
  const { model, speed, scale } = subject;
  const compute = (BATCH / speed) * 1000;
  const { iteration, fingerprint } = trainP3({
    ...{ model, discipline, compute, scale, seed, rate: rate * 1e9 },
    ...{ machines: MACHINES, costs: COSTS, iterations },
  });
  return { speed: (BATCH * 1000) / iteration, fingerprint };
}

function sweep(name: string, subject: Subject): Experiment {
  const { model, rates, stated } = subject;
  return {
    name,
    title: `P3: ${model.name} on ${MACHINES} machines over the bandwidth`,
    setting:
      `${model.name} (${(parameters(model) / 1e6).toFixed(1)} million parameters in ${model.arrays.length} arrays), workers and servers on the same ${MACHINES} machines, batch ${BATCH}. ` +
      `Layer by layer as MXNet's KVStore does (\`layers\`: in order of coming, those above a million parameters over all servers, pull when all workers' gradients are there), slices of 50,000 in order of coming (\`slices\`), and P3. Machines copy, add and update as in the authors' code (src/lab/experiments/p3.ts has each time and its source). Computing alone allows ${subject.speed} samples per second. ` +
      `Sizes and rates are divided by ${subject.scale}, which leaves all times as they are.`,
    x: { label: "Gbit/s", scale: "linear" },
    y: { label: "samples per second and machine", scale: "linear" },
    seeds: 2,
    run(seed, progress) {
      return rates.flatMap((rate) => {
        const found = DISCIPLINES.map(([series, discipline]) => {
          progress(`${model.name}, ${rate} Gbit/s, ${series}`);
          return { series, ...speedOf(subject, discipline, { rate, seed }) };
        });
        if (new Set(found.map((f) => f.fingerprint)).size !== 1)
          throw new Error(`${model.name}: disciplines give different parameters`);
        return found.map(({ series, speed }) => ({ series, x: rate, y: speed }));
      });
    },
    compare(points) {
      return [
        ...stated.map((gain) => gainOf(points, gain, rates)),
        {
          what: "parameters after training",
          paper: "the same as without P3",
          ours: "bit-identical in all three disciplines, every run",
          reason: "",
        },
      ];
    },
  };
}

function gainOf(points: Points, { series, rate, gain, reason }: Gain, rates: readonly number[]): Comparison {
  const at = (r: number): number => points.gain(series, "layers", r);
  const best = rate ?? rates.reduce((a, b) => (at(b) > at(a) ? b : a));
  return {
    what:
      rate === undefined ? `${series} over layers, largest gain` : `${series} over layers at ${rate} Gbit/s`,
    paper: `+${gain} %`,
    ours: `${at(best) < 0 ? "" : "+"}${at(best).toFixed(0)} %${rate === undefined ? ` (at ${best} Gbit/s)` : ""}`,
    reason,
  };
}

const SIZES = [5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000];

const CURVES: readonly (readonly [Subject, number])[] = [
  [SUBJECTS.resnet50, 4],
  [SUBJECTS.vgg19, 15],
  [SUBJECTS.sockeye, 4],
];

const sliceSize: Experiment = {
  name: "p3-slice-size",
  title: "P3: speed over the size of slices",
  setting: `P3 on ${MACHINES} machines with slices of different size, ${CURVES.map(([s, rate]) => `${s.model.name} at ${rate} Gbit/s`).join(", ")}; each relative to its best size.`,
  x: { label: "parameters of a slice", scale: "log" },
  y: { label: "speed relative to the best", scale: "linear" },
  seeds: 1,
  run(seed, progress) {
    return CURVES.flatMap(([subject, rate]) => {
      const speeds = SIZES.map((limit) => {
        progress(`${subject.model.name}, slices of ${limit}`);
        return speedOf(subject, { ...P3, limit }, { rate, seed, iterations: 2 }).speed;
      });
      const best = Math.max(...speeds);
      return SIZES.map((x, i) => ({ series: subject.model.name, x, y: (speeds[i] ?? 0) / best }));
    });
  },
  compare(points) {
    const paper: Readonly<Record<string, string>> = {
      "ResNet-50": "50,000 (5,000: 0.93, a million: 0.80 of it)",
      "VGG-19": "50,000 (5,000: 0.27, a million: 0.97 of it)",
      Sockeye: "50,000 (5,000: 0.49, a million: 0.78 of it)",
    };
    return CURVES.map(([{ model }]) => {
      const best = SIZES.reduce((a, b) => (points.mean(model.name, b) > points.mean(model.name, a) ? b : a));
      const at = (size: number): string => points.mean(model.name, size).toFixed(2);
      return {
        what: `best size of slices, ${model.name}`,
        paper: paper[model.name] ?? "",
        ours: `${best.toLocaleString("en")} (5,000: ${at(5000)}, 50,000: ${at(50_000)}, a million: ${at(1_000_000)})`,
        reason:
          "One fixed cost of a slice for all models, set by VGG-19 with slices of 5,000; 50,000 and 100,000 are within a few per cent of each other.",
      };
    });
  },
};

export const P3_EXPERIMENTS: readonly Experiment[] = [
  sweep("p3-resnet50", SUBJECTS.resnet50),
  sweep("p3-vgg19", SUBJECTS.vgg19),
  sweep("p3-sockeye", SUBJECTS.sockeye),
  sliceSize,
];
