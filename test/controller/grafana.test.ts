import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { metricsOf } from "../../src/controller/metrics.ts";

const text = readFileSync(new URL("../../docs/grafana.json", import.meta.url), "utf8");

test("the Grafana dashboard asks for metrics that the controller has, and for each of them", () => {
  const { panels }: { readonly panels: readonly object[] } = JSON.parse(text);
  const asked = new Set(JSON.stringify(panels).match(/gradplane_\w+/g));
  const told = new Set(
    metricsOf({ status: () => [], linkStates: () => [], jobStates: () => [] }).match(
      /(?<=# TYPE )gradplane_\w+/g,
    ),
  );
  expect([...asked].sort()).toEqual([...told].sort());
});
