import type { Random } from "../../host/random.ts";

/** Points of several classes that no plane tells apart: each class is a few clouds. */
export interface Samples {
  readonly inputs: readonly Float32Array[];
  readonly labels: readonly number[];
}

export interface Task {
  readonly dimensions: number;
  readonly classes: number;
  readonly training: Samples;
  readonly test: Samples;
}

const CLOUDS_PER_CLASS = 3;

export function cloudTask(random: Random, training: number, test: number): Task {
  const [dimensions, classes] = [16, 6];
  const centres = Array.from({ length: classes * CLOUDS_PER_CLASS }, () =>
    Float32Array.from({ length: dimensions }, () => normal(random) * 1.3),
  );
  const samples = (count: number): Samples => {
    const drawn = Array.from({ length: count }, () => Math.floor(random() * centres.length));
    return {
      labels: drawn.map((c) => c % classes),
      inputs: drawn.map((c) => Float32Array.from(centres[c] ?? [], (v) => v + normal(random))),
    };
  };
  return { dimensions, classes, training: samples(training), test: samples(test) };
}

/** A layered model with one hidden layer (rectified linear) and a softmax: arrays w1, b1, w2, b2, row by row. */
export interface Network {
  readonly sizes: readonly [inputs: number, hidden: number, classes: number];
  readonly parameters: readonly Float32Array[];
}

export function newNetwork(random: Random, sizes: Network["sizes"]): Network {
  const [inputs, hidden, classes] = sizes;
  const layer = (from: number, to: number): Float32Array =>
    Float32Array.from({ length: from * to }, () => normal(random) * Math.sqrt(2 / from));
  return {
    sizes,
    parameters: [
      layer(inputs, hidden),
      new Float32Array(hidden),
      layer(hidden, classes),
      new Float32Array(classes),
    ],
  };
}

/** Mean gradient of the cross entropy over a batch, one array for each of the parameters. */
export function gradientOf(
  { sizes, parameters }: Network,
  { inputs, labels }: Samples,
): readonly Float32Array[] {
  const [, hidden, classes] = sizes;
  const [w1, b1, w2, b2] = parametersOf(parameters);
  const [g1, c1, g2, c2] = parametersOf(parameters.map((p) => new Float32Array(p.length)));
  for (const [n, x] of inputs.entries()) {
    const h = hiddenOf(x, w1, b1, hidden);
    const p = softmax(outputOf(h, w2, b2, classes));
    const label = labels[n] ?? 0;
    const dh = new Float32Array(hidden);
    for (let c = 0; c < classes; c++) {
      const d = ((p[c] ?? 0) - (c === label ? 1 : 0)) / inputs.length;
      c2[c] = (c2[c] ?? 0) + d;
      for (let j = 0; j < hidden; j++) {
        const at = c * hidden + j;
        g2[at] = (g2[at] ?? 0) + d * (h[j] ?? 0);
        dh[j] = (dh[j] ?? 0) + d * (w2[at] ?? 0);
      }
    }
    for (let j = 0; j < hidden; j++) {
      if ((h[j] ?? 0) <= 0) continue;
      const d = dh[j] ?? 0;
      c1[j] = (c1[j] ?? 0) + d;
      for (let i = 0; i < x.length; i++) {
        const at = j * x.length + i;
        g1[at] = (g1[at] ?? 0) + d * (x[i] ?? 0);
      }
    }
  }
  return [g1, c1, g2, c2];
}

/** Share of the samples that get their right class. */
export function accuracy({ sizes, parameters }: Network, { inputs, labels }: Samples): number {
  const [, hidden, classes] = sizes;
  const [w1, b1, w2, b2] = parametersOf(parameters);
  let right = 0;
  for (const [n, x] of inputs.entries()) {
    const output = outputOf(hiddenOf(x, w1, b1, hidden), w2, b2, classes);
    if (output.indexOf(Math.max(...output)) === labels[n]) right++;
  }
  return right / inputs.length;
}

/** A batch drawn at random. */
export function batchOf({ inputs, labels }: Samples, size: number, random: Random): Samples {
  const chosen = Array.from({ length: size }, () => Math.floor(random() * inputs.length));
  return {
    inputs: chosen.map((i) => inputs[i] ?? new Float32Array(0)),
    labels: chosen.map((i) => labels[i] ?? 0),
  };
}

type Four = readonly [Float32Array, Float32Array, Float32Array, Float32Array];

function parametersOf([a, b, c, d]: readonly Float32Array[]): Four {
  if (a === undefined || b === undefined || c === undefined || d === undefined)
    throw new RangeError("a network has four arrays");
  return [a, b, c, d];
}

function hiddenOf(x: Float32Array, w: Float32Array, b: Float32Array, hidden: number): Float32Array {
  const h = new Float32Array(hidden);
  for (let j = 0; j < hidden; j++) {
    let sum = b[j] ?? 0;
    for (let i = 0; i < x.length; i++) sum += (w[j * x.length + i] ?? 0) * (x[i] ?? 0);
    h[j] = Math.max(0, sum);
  }
  return h;
}

function outputOf(h: Float32Array, w: Float32Array, b: Float32Array, classes: number): Float32Array {
  return Float32Array.from({ length: classes }, (_, c) => {
    let sum = b[c] ?? 0;
    for (let j = 0; j < h.length; j++) sum += (w[c * h.length + j] ?? 0) * (h[j] ?? 0);
    return sum;
  });
}

function softmax(values: Float32Array): Float32Array {
  const most = Math.max(...values);
  const powers = values.map((v) => Math.exp(v - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((v) => v / sum);
}

/** A number from the normal distribution (Box and Muller). */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
