import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { SlotReset } from "../../src/controller/slotreset.ts";
import { SwitchSession } from "../../src/controller/switchsession.ts";
import { baseState, jobEntries, lookupEntries } from "../../src/controller/wantedstate.ts";
import { fp32, int32 } from "../../src/dsl/index.ts";
import { AGGREGATOR_EVENTS } from "../../src/numeric/aggregator.ts";
import { p4infoFromBinary } from "../../src/p4runtime/index.ts";
import { ModeId } from "../../src/wire/aggregation.ts";
import { SimpleSwitch } from "../backends/simpleswitch.ts";
import { findTools } from "../backends/tools.ts";
import { CPU, frameFrom, LANES, placements, request, setUp, topology } from "./aggregationrequests.ts";

const { bmv2 } = findTools({ bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"] });
const [node] = topology.switches;

describe.skipIf(bmv2 === undefined)(
  "hotAggregation on simple_switch_grpc, steered by the controller's own code",
  () => {
    test.each([int32, fp32({ slices: [5, 6, 6, 6] })])(
      "mode $name: the same packets and counters as on the embedded switch",
      async (mode) => {
        if (node === undefined) throw new Error("no switch");
        const { sw, ir, steered, events } = setUp(mode);
        const files = generate(ir);
        const text = (name: string): Uint8Array => Buffer.from(files.get(name) ?? "");
        const real = await SimpleSwitch.start(bmv2 ?? "", { cpuPort: CPU });
        const lost: string[] = [];
        let session: SwitchSession | undefined;
        try {
          session = await SwitchSession.open(
            { ...node, target: real.address },
            { p4info: p4infoFromBinary(text("p4info.bin")), deviceConfig: text(`${ir.name}.json`) },
            { electionId: 10n, silence: 20_000, onLost: (reason) => lost.push(reason) },
          );
          await session.apply(baseState(topology, "s1"));
          await session.insertAll(lookupEntries(steered));
          for (const p of placements) {
            await session.reset(
              new SlotReset(p, node, { lanes: LANES, mode: ModeId[mode.name] }, { timeout: 2000 }),
            );
            await session.insertAll(jobEntries(topology, steered, p));
          }
          const before = await session.counter("answer.events");

          // From the ports of hosts only: what comes from the controller goes another way into BMv2.
          const requests = fc
            .sample(request(mode), { numRuns: 1500, seed: 7 })
            .filter(({ port }) => port !== CPU)
            .map(({ port, message }) => ({ port, data: frameFrom(port, message) }));
          const got = await real.send(requests);
          const wanted = requests.map(({ port, data }) =>
            sw
              .inject(port, data)
              .map((f) => `${f.port}:${Buffer.from(f.data).toString("hex")}`)
              .sort(),
          );
          expect(got).toEqual(wanted);
          const counted = (await session.counter("answer.events")).map((n, i) => n - (before[i] ?? 0n));
          expect(counted).toEqual(events());
          // The random requests reach every kind of answer that hosts can get.
          const seen = Object.fromEntries(AGGREGATOR_EVENTS.map((name, i) => [name, counted[i] ?? 0n]));
          for (const name of [
            "contribution",
            "null",
            "complete",
            "duplicate",
            "stale",
            "collect_result",
            "collect_pending",
          ]) {
            expect([name, (seen[name] ?? 0n) > 0n]).toEqual([name, true]);
          }
          expect(lost).toEqual([]);
        } finally {
          await session?.close();
          await real.stop();
        }
      },
      120_000,
    );
  },
);
