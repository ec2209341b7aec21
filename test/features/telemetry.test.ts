import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { readDrops } from "../../src/controller/drops.ts";
import {
  bit,
  DROP_EVENTS,
  ECMP_EVENTS,
  exactly,
  type Feature,
  FORWARDING_EVENTS,
  internet,
  intrinsic,
  ipv4Forwarding,
  ProgramError,
  program,
  telemetry,
} from "../../src/dsl/index.ts";
import type { Counter } from "../../src/ir/index.ts";
import { AGGREGATOR_EVENTS } from "../../src/numeric/aggregator.ts";
import { nameEntity, P4RuntimeClient, p4infoFromText } from "../../src/p4runtime/index.ts";
import type { Switch } from "../../src/switch/index.ts";
import { startSwitch } from "../abuse/switches.ts";
import { SimpleSwitch } from "../backends/simpleswitch.ts";
import { findTools, run, writeFiles } from "../backends/tools.ts";
import { CPU } from "./aggregationrequests.ts";
import { localSwitch } from "./localswitch.ts";
import { burst, frame, programOf, type Subset, switchOf, traffic } from "./trafficprograms.ts";

const { p4c, bmv2 } = findTools({
  p4c: ["P4C", "p4c-bm2-ss"],
  bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"],
});
const none = { priority: false, drop: false, ecmp: false, aggregation: false, telemetry: true } as const;
const programs: readonly (Subset & { readonly name: string })[] = [
  { ...none, name: "plain" },
  { ...none, ecmp: true, spray: "none", name: "by_flow" },
  { ...none, priority: true, drop: true, ecmp: true, name: "dlcp" },
  { ...none, priority: true, drop: true, ecmp: true, aggregation: true, spray: "gradient", name: "all" },
];
const PACKETS = fc.sample(traffic, { numRuns: 600, seed: 23 });

const counters = new Map<Subset, readonly Counter[]>();

function countersOf(s: Subset): readonly Counter[] {
  const known = counters.get(s) ?? programOf(s).ir.controls.flatMap((c) => c.counters);
  counters.set(s, known);
  return known;
}

function cellsOf(sw: Switch, s: Subset, counter: string): readonly (readonly [string, bigint])[] {
  const declared = countersOf(s).find((c) => c.name === counter);
  if (declared === undefined) throw new Error(`no counter ${counter}`);
  const stride = declared.per?.cells ?? declared.size;
  return Array.from({ length: declared.size }, (_, i) => [
    declared.cells?.[i % stride] ?? "unused",
    sw.counter(counter).read(i).packets,
  ]);
}

function countedBy(sw: Switch, s: Subset, counter: string): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const [name, packets] of cellsOf(sw, s, counter)) sums.set(name, (sums.get(name) ?? 0n) + packets);
  return sums;
}

/** The names of the cells that have grown, as often as they have. */
function growth(before: ReadonlyMap<string, bigint>, after: ReadonlyMap<string, bigint>): readonly string[] {
  return [...after].flatMap(([name, n]) =>
    Array.from({ length: Number(n - (before.get(name) ?? 0n)) }, () => name),
  );
}

const DROPPED_REQUESTS: Readonly<Record<string, string>> = {
  malformed: "slot.malformed",
  refused_unknown: "slot.unknown",
  refused_generation: "slot.generation",
  refused_scale: "slot.scale",
  refused_reset: "slot.reset",
};

/** What has to be the reason, from the features' own counters, which have tests of their own. */
function reasonFor(events: {
  readonly forwarding: string;
  readonly ecmp?: string;
  readonly request?: string;
}): string {
  const { forwarding, ecmp, request } = events;
  if (request !== undefined) return DROPPED_REQUESTS[request] ?? "passed";
  if (ecmp !== undefined) return ecmp.startsWith("drop_") ? `ecmp.${ecmp.replace("drop_", "")}` : "passed";
  return forwarding === "forwarded" ? "passed" : `forwarding.${forwarding.replace("drop_", "")}`;
}

/** The event of the only cell that has grown, if any. */
function eventOf<E extends string>(
  sw: Switch,
  counter: string,
  names: readonly E[],
  before: readonly bigint[],
): E | undefined {
  return names.find((_, i) => sw.counter(counter).read(i).packets !== before[i]);
}

const read = (sw: Switch, counter: string, names: readonly string[]): readonly bigint[] =>
  names.map((_, i) => sw.counter(counter).read(i).packets);

describe.each(programs)("telemetry with $name", (subset) => {
  test("each packet is counted once, by what became of it; what is dropped by the reason that the features give", () => {
    const sw = switchOf(subset);
    const seen = new Set<string>();
    for (const { port, data } of PACKETS) {
      const before = countedBy(sw, subset, "telemetry.packets");
      const forwarding = read(sw, "forwarding.events", FORWARDING_EVENTS);
      const ecmp = subset.ecmp ? read(sw, "ecmp.events", ECMP_EVENTS) : [];
      const answer = subset.aggregation ? read(sw, "answer.events", AGGREGATOR_EVENTS) : [];
      const out = sw.inject(port, data);
      const grown = growth(before, countedBy(sw, subset, "telemetry.packets"));
      const chosen = subset.ecmp ? eventOf(sw, "ecmp.events", ECMP_EVENTS, ecmp) : undefined;
      const asked = subset.aggregation ? eventOf(sw, "answer.events", AGGREGATOR_EVENTS, answer) : undefined;
      const wanted = reasonFor({
        forwarding: eventOf(sw, "forwarding.events", FORWARDING_EVENTS, forwarding) ?? "?",
        ...(chosen === undefined ? {} : { ecmp: chosen }),
        ...(asked === undefined ? {} : { request: asked }),
      });
      expect(grown).toEqual([wanted]);
      expect(out.length > 0).toBe(wanted === "passed");
      seen.add(wanted);
    }
    const reasons = [
      "passed",
      "forwarding.no_route",
      "forwarding.ttl",
      "forwarding.local",
      "forwarding.truncated",
    ];
    expect([...seen]).toEqual(expect.arrayContaining(reasons));
    if (subset.aggregation)
      expect([...seen]).toEqual(expect.arrayContaining(["slot.malformed", "slot.unknown"]));
  });

  test("by port and by class the sums are the same", () => {
    const sw = switchOf(subset);
    for (const { port, data } of PACKETS) sw.inject(port, data);
    const all = countedBy(sw, subset, "telemetry.packets");
    const nonZero = (counts: ReadonlyMap<string, bigint>) => new Map([...counts].filter(([, n]) => n > 0n));
    expect(nonZero(countedBy(sw, subset, "telemetry.by_port"))).toEqual(nonZero(all));
    if (subset.priority) expect(nonZero(countedBy(sw, subset, "telemetry.by_class"))).toEqual(nonZero(all));
    const ports = new Map<number, bigint>();
    cellsOf(sw, subset, "telemetry.by_port").forEach(([, n], i, cells) => {
      const port = Math.floor(i / (cells.length / 512));
      if (n > 0n) ports.set(port, (ports.get(port) ?? 0n) + n);
    });
    const sent = new Map<number, bigint>();
    for (const { port } of PACKETS) sent.set(port, (sent.get(port) ?? 0n) + 1n);
    expect([...ports].sort()).toEqual([...sent].sort());
  });
});

const dlcp: Subset = { ...none, priority: true, drop: true, ecmp: true };

test("what egress drops for its importance is counted there, once, by port and class, and passed ingress", () => {
  const sw = switchOf(dlcp);
  sw.trafficManager.setRate(3, { kind: "packetsPerSecond", rate: 100 });
  const out = burst(
    sw,
    Array.from({ length: 30 }, (_, id) => ({ id })),
  );
  const kept = BigInt(out.length);
  expect(kept).toBeLessThan(30n);
  expect(countedBy(sw, dlcp, "telemetry.packets").get("passed")).toBe(30n);
  const dropped = sw.counter("selective_drop.events").read(DROP_EVENTS.indexOf("drop_unimportant")).packets;
  for (const counter of [
    "telemetry_egress.packets",
    "telemetry_egress.by_port",
    "telemetry_egress.by_class",
  ]) {
    const counts = countedBy(sw, dlcp, counter);
    expect(counts.get("passed")).toBe(kept);
    expect(counts.get("selective_drop.unimportant")).toBe(dropped);
  }
  expect(dropped).toBe(30n - kept);
});

test("what a full queue refuses is what was sent to it and did not arrive", () => {
  const sw = switchOf({ ...none });
  sw.trafficManager.setRate(3, { kind: "packetsPerSecond", rate: 100 });
  sw.trafficManager.setDepth(3, 10);
  const out = burst(
    sw,
    Array.from({ length: 50 }, (_, id) => ({ id })),
  );
  const cell = (counter: string) => sw.counter(counter).read(3).packets;
  expect(cell("queue_losses.sent")).toBe(50n);
  expect(cell("queue_losses_egress.arrived")).toBe(BigInt(out.length));
  expect(BigInt(sw.drops.queueFull)).toBe(50n - BigInt(out.length));
  expect(out.length).toBeLessThan(50);
});

describe("a feature of one's own", () => {
  const noDns = (drop: (s: { drop(reason?: string): void }) => void): Feature => ({
    name: "noDns",
    build(p) {
      const { udp } = p.once(internet);
      const c = p.control("no_dns", "ingress");
      const refuse = c.action("refuse", {}, drop);
      const blocked = c.table("blocked", {
        key: { port: exactly(udp.dst_port) },
        actions: [refuse],
        size: 16,
        entries: [{ key: { port: 2000 }, run: refuse.with({}) }],
      });
      c.apply((s) => s.if(p.valid(udp), (then) => then.apply(blocked)));
      p.ingress("deliver", (s) => s.invoke(c));
    },
  });
  const counted = (feature: Feature) => {
    // Telemetry first: the order of features makes no difference.
    const { ir } = program("own", { ports: 8, features: [telemetry(), ipv4Forwarding(), feature] });
    const sw = localSwitch(ir);
    expect(sw.inject(0, frame({}))).toEqual([]);
    const names =
      ir.controls.flatMap((c) => c.counters).find((c) => c.name === "telemetry.packets")?.cells ?? [];
    return names.filter((_, i) => sw.counter("telemetry.packets").read(i).packets > 0n);
  };

  test("has its drops counted under its own names", () => {
    expect(counted(noDns((a) => a.drop()))).toEqual(["no_dns.refuse"]);
    expect(counted(noDns((a) => a.drop("asks_for_names")))).toEqual(["no_dns.asks_for_names"]);
  });

  test("must not leave the pipeline with a dropped packet behind the back of telemetry", () => {
    const hasty: Feature = {
      name: "hasty",
      build: (p) =>
        p.ingress("classify", (s) =>
          s.if(intrinsic.ingress_port.eq(3), (t) => {
            t.drop();
            t.exit();
          }),
        ),
    };
    const make = (features: readonly Feature[]) => program("hasty", { ports: 8, features });
    expect(() => make([ipv4Forwarding(), hasty, telemetry()])).toThrow(ProgramError);
    expect(make([ipv4Forwarding(), hasty]).warnings).toEqual([]);
  });

  test("costs nothing where nobody counts drops", () => {
    const without = program("same", { ports: 8, features: [ipv4Forwarding()] }).ir;
    expect(without.metadata.map((m) => m.name)).not.toContain("drop_reason");
    expect(bit(8)).toEqual({ kind: "bit", width: 8 });
  });
});

test("clients read the reasons by name, over P4Runtime", async () => {
  const files = generate(programOf(dlcp).ir);
  const text = (name: string): string => Buffer.from(files.get(name) ?? "").toString();
  const { server, engine } = await startSwitch(1);
  const client = await P4RuntimeClient.connect({ address: server.address });
  try {
    await client.arbitrate(1n);
    await client.pushPipeline(p4infoFromText(text("p4info.txtpb")), Buffer.from(text("traffic.json")));
    for (let i = 0; i < 3; i++) engine.inject(2, frame({}));
    engine.inject(1, Uint8Array.of(1, 2, 3));
    expect(await readDrops(client)).toEqual(
      new Map([
        ["forwarding.no_route", 3n],
        ["forwarding.truncated", 1n],
      ]),
    );
    const cells = (await client.readAll([client.entities.counter("telemetry.by_port")]))
      .map((entity) => nameEntity(client.schema, entity))
      .filter((e) => e.packets !== 0)
      .map((e) => e.cell);
    expect(cells).toEqual(["port 1 forwarding.truncated", "port 2 forwarding.no_route"]);
  } finally {
    await client.close();
  }
});

describe.skipIf(p4c === undefined)("by p4c", () => {
  test.each(programs)(
    "the JSON of $name counts as ours; so does simple_switch_grpc, where it is installed",
    async (subset) => {
      const { ir } = programOf(subset);
      const files = generate(ir);
      const folder = mkdtempSync(join(tmpdir(), "gradplane-"));
      try {
        writeFiles(folder, files);
        const main = join("v1model", `${ir.name}.p4`);
        run(p4c ?? "", ["--arch", "v1model", "-o", "p4c.json", main], folder);
        const json = readFileSync(join(folder, "p4c.json"));
        const [ours, theirs] = [switchOf(subset), switchOf(subset, json)];
        const packets = PACKETS.filter(({ data }) => data.length > 0);
        for (const sw of [ours, theirs]) for (const { port, data } of packets) sw.inject(port, data);
        const names = ir.controls.flatMap((c) => c.counters).filter((c) => /^telemetry|^queue/.test(c.name));
        const counts = (sw: Switch) => names.map((c) => cellsOf(sw, subset, c.name).map(([, n]) => n));
        expect(counts(theirs)).toEqual(counts(ours));
        if (bmv2 === undefined) return;
        const real = await SimpleSwitch.start(bmv2, subset.aggregation ? { cpuPort: CPU } : {});
        try {
          const info = Buffer.from(files.get("p4info.txtpb") ?? "").toString();
          const fresh = switchOf(subset);
          await real.load(info, json.toString(), fresh);
          await real.send(packets);
          // Egress drops by the queue's length, which is up to simple_switch's threads.
          for (const c of names.filter(
            ({ name }) => !name.includes("egress.by") && name !== "telemetry_egress.packets",
          ))
            expect([c.name, await real.counter(c.name)]).toEqual([
              c.name,
              cellsOf(ours, subset, c.name).map(([, n]) => n),
            ]);
        } finally {
          await real.stop();
        }
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    120_000,
  );
});
