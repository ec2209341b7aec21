import { describe, expect, test } from "vitest";
import {
  dctcp,
  dlcp,
  evenThresholds,
  type GradientPush,
  pfabric,
  pias,
  pushGradients,
  type Scheme,
} from "../../../src/lab/experiments/gradientflows.ts";
import { leafSpine } from "../../../src/lab/topology.ts";

const link = { rate: 1e10, delay: 0.003 };
const model = {
  name: "three arrays",
  arrays: [
    { name: "a", size: 300, work: 1 },
    { name: "b", size: 40_000, work: 1 },
    { name: "c", size: 20_000, work: 1 },
  ],
};
const setting: Omit<GradientPush, "scheme"> = {
  topology: leafSpine({ leaves: 2, spines: 2, hostsPerLeaf: 4, hostLink: link, uplink: link }),
  ...{ model, scale: 1, chunk: 15_000, serverEvery: 4, lineRate: 1e10, backward: 0.5, seed: 1 },
};

const BUFFER = 32 * 1024;
const all = { bound: 0.1, gradientAware: true, spray: true };
const schemes: readonly (readonly [string, Scheme])[] = [
  ["DCTCP", dctcp(BUFFER, 1)],
  ["PIAS", pias(BUFFER, 1, evenThresholds(setting, 7))],
  ["pFabric", pfabric(BUFFER, 20, 0.09)],
  ["DLCP", dlcp(BUFFER, all)],
  ["DLCP without a bound", dlcp(BUFFER, { ...all, bound: 0 })],
  ["DLCP on one path, one class", dlcp(BUFFER, { bound: 0.1, gradientAware: false, spray: false })],
];

describe("a push of gradients", () => {
  test.each(schemes)(
    "brings every flow to its end once, through small buffers and over a bad cable: %s",
    (_, scheme) => {
      const wires = ["leaf0:4>spine0:0", "spine0:0>leaf0:4"];
      const { times } = pushGradients({ ...setting, scheme, gray: { wires, loss: 0.05 } });
      // 6 workers; the arrays make 1, 3 and 2 flows.
      expect(times.length).toBe(36);
      expect(Math.min(...times)).toBeGreaterThan(0);
    },
  );

  test.each(schemes)("takes the same time to the last digit for the same seed: %s", (_, scheme) => {
    const run = () => pushGradients({ ...setting, scheme });
    expect(run()).toEqual(run());
  });

  test("thresholds of PIAS part the bytes evenly", () => {
    const thresholds = evenThresholds(setting, 4);
    const sizes = [300, 13_333, 13_333, 13_334, 10_000, 10_000].map((n) => n * 4);
    const below = (t: number) => sizes.reduce((sum, s) => sum + Math.min(s, t), 0);
    const whole = below(Number.POSITIVE_INFINITY);
    for (const [i, t] of thresholds.entries()) expect(below(t) / whole).toBeCloseTo((i + 1) / 4, 3);
  });
});
