import { describe, expect, test } from "vitest";
import { LAYERS, P3, SLICES_ONLY } from "../../../src/host/p3/slicing.ts";
import {
  type Experiment,
  mean,
  quantile,
  runExperiment,
  standardError,
} from "../../../src/lab/experiments/experiment.ts";
import { EXPERIMENTS } from "../../../src/lab/experiments/index.ts";
import { parameters, resnet50, scaledDown, vgg19 } from "../../../src/lab/experiments/models.ts";
import { trainP3 } from "../../../src/lab/experiments/p3training.ts";
import { plotSvg } from "../../../src/lab/experiments/plot.ts";
import { resultJson, resultSection, resultText } from "../../../src/lab/experiments/report.ts";

const toy: Experiment = {
  ...{ name: "toy", title: "Toy <1>", setting: "Nothing happens.", seeds: 2 },
  ...{ x: { label: "size", scale: "log" }, y: { label: "time", scale: "linear" } },
  run: (seed) => [1, 10, 100].map((x) => ({ series: "A & B", x, y: x + seed })),
  compare: (points) => [
    { what: "at 10", paper: "12", ours: String(points.mean("A & B", 10)), reason: "one is a toy" },
  ],
};

describe("an experiment", () => {
  test("gives means over its seeds with their standard errors", () => {
    const { points, comparisons } = runExperiment(toy, 2);
    expect(points[0]).toEqual({ series: "A & B", x: 1, mean: 2.5, error: 0.5, values: [2, 3] });
    expect(comparisons[0]?.ours).toBe("11.5");
  });

  test("gives the same bytes of JSON, SVG, text and Markdown for the same seeds", () => {
    const bytes = (): string => {
      const result = runExperiment(toy, 3);
      const svg = plotSvg({ title: toy.title, x: toy.x, y: toy.y, points: result.points });
      return [resultJson(result), svg, resultText(toy, result), resultSection(toy, result, "toy.svg")].join();
    };
    expect(bytes()).toBe(bytes());
  });

  test("names are unique, and say what they are of", () => {
    const names = EXPERIMENTS.map((e) => e.name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^(p3|lp|dlcp)-[a-z0-9-]+$/);
  });

  test("statistics: standard error of one value is 0, quantiles are values that were measured", () => {
    expect([mean([1, 2, 6]), standardError([5]), standardError([1, 3])]).toEqual([3, 0, 1]);
    expect([0, 0.5, 0.99, 1].map((q) => quantile([4, 1, 3, 2], q))).toEqual([1, 2, 4, 4]);
  });
});

describe("plots", () => {
  const { points } = runExperiment(toy, 2);

  test("have an error bar at each mean, and text that can't be taken for markup", () => {
    const svg = plotSvg({ title: toy.title, x: toy.x, y: toy.y, points });
    expect(svg.match(/<circle/g)?.length).toBe(3);
    expect(svg).toContain("Toy &lt;1&gt;");
    expect(svg).toContain("A &amp; B");
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  test("are bars where the places are names", () => {
    const named = points.map((p) => ({ ...p, x: `n${p.x}` }));
    const svg = plotSvg({ title: "t", x: toy.x, y: toy.y, points: named });
    expect(svg.match(/<rect/g)?.length).toBe(1 + 3 + 1);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });
});

describe("models have the sizes of their architectures", () => {
  test("ResNet-50: 25,557,032 parameters in 161 arrays", () => {
    expect([parameters(resnet50()), resnet50().arrays.length]).toEqual([25_557_032, 161]);
  });

  test("VGG-19: 143,667,240 parameters, 71.5 % of them in one array", () => {
    const model = vgg19();
    expect(parameters(model)).toBe(143_667_240);
    const largest = Math.max(...model.arrays.map((a) => a.size));
    expect((largest / parameters(model)).toFixed(3)).toBe("0.715");
  });

  test("scaled down, no array vanishes", () => {
    expect(Math.min(...scaledDown(resnet50(), 1000).arrays.map((a) => a.size))).toBe(1);
  });
});

describe("training by P3 in the lab", () => {
  const costs = {
    ...{ perMessage: 0.05, perValue: 1e-6, perUpdate: 0, perAnswer: 0, perValueOnBus: 0, perValueCopied: 0 },
    ...{ perValueReceived: 0, perValueOfLongMessage: 0, longMessage: 1 << 23 },
  };
  const model = {
    name: "three layers",
    arrays: [
      { name: "a", size: 100_000, work: 1 },
      { name: "b", size: 100_000, work: 1 },
      { name: "c", size: 800_000, work: 1 },
    ],
  };
  const train = (discipline: typeof P3, seed = 1) =>
    trainP3({
      ...{ model, discipline, machines: 2, rate: 1e9, compute: 60, scale: 10, iterations: 3, seed },
      costs,
    });

  test("is faster by P3 than by layers, and gives the same bits in every discipline", () => {
    const [layers, slices, p3] = [LAYERS, SLICES_ONLY, P3].map((d) => train(d));
    expect(p3?.iteration).toBeLessThan(layers?.iteration ?? 0);
    expect(new Set([layers, slices, p3].map((o) => o?.fingerprint)).size).toBe(1);
  });

  test("takes the same time to the last digit for the same seed, and another for another", () => {
    expect(train(P3, 3)).toEqual(train(P3, 3));
    expect(train(P3, 3).iteration).not.toBe(train(P3, 4).iteration);
  });
});
