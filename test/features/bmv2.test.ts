import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { SlotReset } from "../../src/controller/slotreset.ts";
import { SwitchSession } from "../../src/controller/switchsession.ts";
import { baseState, jobEntries, jobGroups } from "../../src/controller/wantedstate.ts";
import { bf16, block, fp16, fp32, int32 } from "../../src/dsl/index.ts";
import type { Program } from "../../src/ir/index.ts";
import { contentsOf } from "../../src/ir/index.ts";
import { AGGREGATOR_EVENTS } from "../../src/numeric/aggregator.ts";
import { type P4Info, p4infoFromBinary } from "../../src/p4runtime/index.ts";
import type { Switch } from "../../src/switch/index.ts";
import { ModeId } from "../../src/wire/aggregation.ts";
import { SimpleSwitch } from "../backends/simpleswitch.ts";
import { findTools, run, writeFiles } from "../backends/tools.ts";
import {
  CPU,
  frameFrom,
  LANES,
  placements,
  requests,
  setUp,
  topology,
  type Variant,
} from "./aggregationrequests.ts";

const { bmv2, p4c } = findTools({
  bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"],
  p4c: ["P4C", "p4c-bm2-ss"],
});
const [node] = topology.switches;
const modes = [int32, block, fp32({ slices: [5, 6, 6, 6] }), fp16(), bf16()];
const variants: readonly Variant[] = modes.flatMap((mode) =>
  (["ps", "allreduce"] as const).map((result) => ({ mode, result })),
);
/** Every kind of answer that hosts can get; the random requests must reach them all. */
const ANSWERS = [
  "contribution",
  "null",
  "complete",
  "duplicate",
  "stale",
  "collect_result",
  "collect_pending",
];

type Frames = readonly { readonly port: number; readonly data: Uint8Array }[];

/** From the ports of hosts only: what comes from the controller goes another way into BMv2. */
function requestsOf(variant: Variant): Frames {
  return fc
    .sample(requests(variant, 1500), { numRuns: 1, seed: 7 })
    .flat()
    .filter(({ port }) => port !== CPU)
    .map(({ port, message }) => ({ port, data: frameFrom(port, message) }));
}

function answersOf(sw: Switch, requests: Frames): readonly (readonly string[])[] {
  return requests.map(({ port, data }) =>
    sw
      .inject(port, data)
      .map((f) => `${f.port}:${Buffer.from(f.data).toString("hex")}`)
      .sort(),
  );
}

/** The requests through simple_switch_grpc, prepared by the controller's own code; with the counters' growth. */
async function onBmv2(variant: Variant, p4info: P4Info, deviceConfig: Uint8Array, requests: Frames) {
  if (node === undefined) throw new Error("no switch");
  const { ir, feature } = setUp(variant);
  const real = await SimpleSwitch.start(bmv2 ?? "", { cpuPort: CPU });
  const lost: string[] = [];
  let session: SwitchSession | undefined;
  try {
    session = await SwitchSession.open(
      { ...node, target: real.address },
      { p4info, deviceConfig },
      { electionId: 10n, silence: 20_000, onLost: (reason) => lost.push(reason) },
    );
    await session.apply(baseState(topology, "s1"));
    await session.insertAll(contentsOf(ir));
    for (const p of placements) {
      const format = { lanes: LANES, mode: ModeId[variant.mode.name] };
      await session.reset(new SlotReset(p, node, format, { timeout: 2000 }));
      await session.insertGroups(jobGroups(topology, feature, p));
      await session.insertAll(jobEntries(topology, feature, p));
    }
    const before = await session.counter("answer.events");
    const answers = await real.send(requests);
    const counted = (await session.counter("answer.events")).map((n, i) => n - (before[i] ?? 0n));
    expect(lost).toEqual([]);
    return { answers, counted };
  } finally {
    await session?.close();
    await real.stop();
  }
}

describe.skipIf(bmv2 === undefined)(
  "hotAggregation on simple_switch_grpc, feature by the controller's own code",
  () => {
    test.each(variants)(
      "mode $mode.name, result $result: the same packets and counters as on the embedded switch",
      async (variant) => {
        const { sw, ir, events } = setUp(variant);
        const { p4info, json } = filesOf(ir);
        const requests = requestsOf(variant);
        const real = await onBmv2(variant, p4info, json, requests);
        expect(real.answers).toEqual(answersOf(sw, requests));
        expect(real.counted).toEqual(events());
        const seen = AGGREGATOR_EVENTS.filter((_, i) => (real.counted[i] ?? 0n) > 0n);
        expect(seen).toEqual(
          expect.arrayContaining(variant.result === "ps" ? ANSWERS : [...ANSWERS, "result_again"]),
        );
      },
      120_000,
    );
  },
);

describe.skipIf(p4c === undefined)("hotAggregation by p4c", () => {
  test.each(variants)(
    "mode $mode.name, result $result: p4c's JSON gives the same packets and counters as ours, wherever it runs",
    async (variant) => {
      const { sw, ir, events } = setUp(variant);
      const files = generate(ir);
      const folder = mkdtempSync(join(tmpdir(), "gradplane-"));
      try {
        writeFiles(folder, files);
        const main = join("v1model", `${ir.name}.p4`);
        expect(run(p4c ?? "", ["--arch", "v1model", "-o", "p4c.json", main], folder)).toEqual({
          status: 0,
          output: "",
        });
        const json = readFileSync(join(folder, "p4c.json"));
        const requests = requestsOf(variant);
        const wanted = answersOf(sw, requests);
        const other = setUp(variant, json);
        expect(answersOf(other.sw, requests)).toEqual(wanted);
        expect(other.events()).toEqual(events());
        if (bmv2 === undefined) return;
        const real = await onBmv2(variant, filesOf(ir).p4info, json, requests);
        expect(real.answers).toEqual(wanted);
        expect(real.counted).toEqual(events());
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    120_000,
  );
});

function filesOf(ir: Program) {
  const files = generate(ir);
  const bytes = (name: string): Uint8Array => Buffer.from(files.get(name) ?? "");
  return { p4info: p4infoFromBinary(bytes("p4info.bin")), json: bytes(`${ir.name}.json`) };
}
