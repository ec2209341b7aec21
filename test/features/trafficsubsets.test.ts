import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { ECMP_EVENTS } from "../../src/dsl/index.ts";
import { AGGREGATOR_EVENTS } from "../../src/numeric/aggregator.ts";
import type { Switch } from "../../src/switch/index.ts";
import { SimpleSwitch } from "../backends/simpleswitch.ts";
import { findTools, run, withoutProfileWarnings, writeFiles } from "../backends/tools.ts";
import { CPU } from "./aggregationrequests.ts";
import {
  KEEP,
  probes,
  programOf,
  type Subset,
  subsets,
  switchOf,
  traffic,
  traffic6,
} from "./trafficprograms.ts";

const { p4c, p4test, bmv2 } = findTools({
  p4c: ["P4C", "p4c-bm2-ss"],
  p4test: ["P4TEST", "p4test"],
  bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"],
});
const PACKETS = fc.sample(
  fc.oneof(
    { weight: 4, arbitrary: traffic },
    { weight: 1, arbitrary: traffic6 },
    { weight: 1, arbitrary: probes },
  ),
  {
    numRuns: 1000,
    seed: 11,
  },
);

/** All that left the switch and all that it counted, with slow ports and bursts, so that queues fill and drain. */
function behaviour(sw: Switch): readonly string[] {
  const seen: string[] = [];
  const sink: Parameters<Switch["handle"]>[2] = (action) =>
    seen.push(
      "data" in action
        ? `${action.kind} ${"port" in action ? action.port : ""} ${Buffer.from(action.data).toString("hex")}`
        : JSON.stringify(action),
    );
  for (let port = 0; port < 8; port++)
    sw.trafficManager.setRate(port, { kind: "packetsPerSecond", rate: 400 });
  let now = 0;
  PACKETS.forEach(({ port, data }, i) => {
    sw.handle({ kind: "packet", port, data }, now, sink);
    if (i % 60 === 59) {
      now += 4000;
      for (let at = sw.nextWakeup(); at !== undefined && at <= now; at = sw.nextWakeup()) sw.tick(at, sink);
    }
  });
  for (let at = sw.nextWakeup(); at !== undefined; at = sw.nextWakeup()) sw.tick(at, sink);
  for (const [name, counter] of sw.counters) {
    const cells = Array.from({ length: counter.size }, (_, i) => counter.read(i).packets);
    seen.push(`${name}: ${cells.join(" ")}`);
  }
  return seen.sort();
}

/** The claims that hold for every subset, with the packets above. */
function checkCounts(sw: Switch, s: Subset, seen: number): void {
  const cell = (counter: string, i: number): bigint => sw.counter(counter).read(i).packets;
  expect(cell("forwarding.events", 0)).toBeGreaterThan(50n);
  if (s.priority) expect(cell("priority_queue.packets", 7)).toBeGreaterThan(20n);
  if (s.drop) for (const i of [0, 1, 2, 3]) expect(cell("selective_drop.events", i)).toBeGreaterThan(2n);
  const at = (event: (typeof ECMP_EVENTS)[number]): number => ECMP_EVENTS.indexOf(event);
  if (s.ecmp && s.spray !== "none") expect(cell("ecmp.events", at("sprayed"))).toBeGreaterThan(20n);
  if (s.spray !== undefined) expect(cell("ecmp.events", at("by_flow"))).toBeGreaterThan(20n);
  if (s.ipv6 === true)
    for (const i of [0, 1, 2, 4, 5, 6]) expect(cell("forwarding6.events", i)).toBeGreaterThan(0n);
  if (s.probe === true) expect(seen).toBeGreaterThan(5);
  if (s.telemetry === true) expect(cell("telemetry.packets", 0)).toBeGreaterThan(50n);
  if (s.aggregation)
    expect(cell("answer.events", AGGREGATOR_EVENTS.indexOf("contribution"))).toBeGreaterThan(5n);
}

describe.each(subsets)("priority, drop, ecmp and hotAggregation in any combination: $name", (subset) => {
  test("the checks find nothing", () => {
    expect(programOf(subset).warnings).toEqual([]);
  });

  test("it runs on the embedded switch, every feature does its part, and no array index is out of range", () => {
    const sw = switchOf(subset);
    const seen = behaviour(sw).filter((line) => line.startsWith("toCpu")).length;
    checkCounts(sw, subset, seen);
    expect(Object.values(sw.faults).every((n) => n === 0)).toBe(true);
    expect(sw.drops.priorityOutOfRange).toBe(0);
  });

  test.skipIf(p4c === undefined && p4test === undefined)(
    "p4c compiles it without a word, and its JSON behaves as ours",
    () => {
      const { ir } = programOf(subset);
      const folder = mkdtempSync(join(tmpdir(), "gradplane-"));
      const quiet = { status: 0, output: "" };
      try {
        writeFiles(folder, generate(ir));
        const main = join("v1model", `${ir.name}.p4`);
        if (p4test !== undefined) expect(run(p4test, ["--arch", "v1model", main], folder)).toEqual(quiet);
        if (p4c === undefined) return;
        const { status, output } = run(p4c, ["--arch", "v1model", "-o", "p4c.json", main], folder);
        expect({ status, output: withoutProfileWarnings(output) }).toEqual(quiet);
        const json = readFileSync(join(folder, "p4c.json"));
        expect(behaviour(switchOf(subset, json))).toEqual(behaviour(switchOf(subset)));
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    60_000,
  );
});

test("whatever features a program has, they compose: no check finds anything, whatever the order", () => {
  const names = ["priority", "drop", "ecmp", "aggregation", "telemetry", "ipv6", "probe"] as const;
  for (let bits = 0; bits < 2 ** names.length; bits++) {
    const subset = Object.fromEntries(names.map((name, i) => [name, ((bits >> i) & 1) === 1]));
    const { warnings } = programOf({
      priority: false,
      drop: false,
      ecmp: false,
      aggregation: false,
      ...subset,
    });
    expect([subset, warnings]).toEqual([subset, []]);
  }
}, 120_000);

describe.skipIf(bmv2 === undefined)("all of them on simple_switch_grpc", () => {
  test.each(["all", "gradient", "none"] as const)(
    "the same packets come out as of the embedded switch, member by member of a group (spray %s)",
    async (spray) => {
      const all = { priority: true, drop: true, ecmp: true, aggregation: true, spray };
      const sw = switchOf(all);
      // How long its queues get is up to its threads; so thresholds are out of reach here.
      const table = sw.table("selective_drop.threshold");
      const action = { kind: "action", action: "selective_drop.keep", parameters: [1000n] } as const;
      for (const name of Object.keys(KEEP)) table.modify([{ kind: "exact", value: BigInt(name) }], action);
      const files = generate(programOf(all).ir);
      const real = await SimpleSwitch.start(bmv2 ?? "", { cpuPort: CPU });
      try {
        const text = (name: string): string => Buffer.from(files.get(name) ?? "").toString();
        await real.load(text("p4info.txtpb"), text("traffic.json"), sw);
        const packets = PACKETS.filter(({ data }) => data.length > 0);
        const wanted = packets.map(({ port, data }) =>
          sw
            .inject(port, data)
            .map((f) => `${f.port}:${Buffer.from(f.data).toString("hex")}`)
            .sort(),
        );
        expect(await real.send(packets)).toEqual(wanted);
        expect(wanted.filter((out) => out.length > 0).length).toBeGreaterThan(200);
      } finally {
        await real.stop();
      }
    },
    120_000,
  );
});
