import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../src/host/random.ts";
import { accuracy, cloudTask, gradientOf, newNetwork } from "../../../src/lab/experiments/learning.ts";

describe("the small model", () => {
  const task = cloudTask(seededRandom(1), 40, 40);
  const network = newNetwork(seededRandom(2), [task.dimensions, 8, task.classes]);

  /** Cross entropy, written down again: the gradient's own code has no say in it. */
  function loss(parameters: readonly Float32Array[]): number {
    const [w1 = [], b1 = [], w2 = [], b2 = []] = parameters.map((p) => [...p]);
    let sum = 0;
    for (const [n, x] of task.training.inputs.entries()) {
      const h = b1.map((b, j) =>
        Math.max(
          0,
          x.reduce((s, v, i) => s + v * (w1[j * x.length + i] ?? 0), b),
        ),
      );
      const z = b2.map((b, c) => h.reduce((s, v, j) => s + v * (w2[c * h.length + j] ?? 0), b));
      const total = z.reduce((s, v) => s + Math.exp(v), 0);
      sum += Math.log(total) - (z[task.training.labels[n] ?? 0] ?? 0);
    }
    return sum / task.training.inputs.length;
  }

  test("has the gradient that differences of its loss give", () => {
    const gradient = gradientOf(network, task.training);
    for (const [layer, values] of network.parameters.entries())
      for (const at of [0, 3, values.length - 1]) {
        const moved = (by: number) =>
          network.parameters.map((p, l) => (l === layer ? p.map((v, i) => (i === at ? v + by : v)) : p));
        const slope = (loss(moved(1e-2)) - loss(moved(-1e-2))) / 2e-2;
        expect(gradient[layer]?.[at]).toBeCloseTo(slope, 2);
      }
  });

  test("gets better by following it", () => {
    const before = accuracy(network, task.training);
    for (let i = 0; i < 100; i++)
      for (const [layer, g] of gradientOf(network, task.training).entries()) {
        const own = network.parameters[layer];
        for (let j = 0; j < g.length; j++) if (own !== undefined) own[j] = (own[j] ?? 0) - 0.2 * (g[j] ?? 0);
      }
    expect(accuracy(network, task.training)).toBeGreaterThan(Math.max(0.9, before));
  });
});
