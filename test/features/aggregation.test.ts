import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bf16, block, fp16, fp32, int32 } from "../../src/dsl/index.ts";
import { AGGREGATOR_EVENTS } from "../../src/numeric/aggregator.ts";
import { parseIpv4 } from "../../src/wire/address.ts";
import { AGGREGATION_PORT, Kind } from "../../src/wire/aggregation.ts";
import { decodeAggregation } from "../../src/wire/aggregationpacket.ts";
import { parseFrame } from "../../src/wire/datagram.ts";
import {
  CPU,
  frameFrom,
  goldenModel,
  placements,
  requests,
  SERVER_PORT,
  SWITCH,
  setUp,
  topology,
  type Variant,
} from "./aggregationrequests.ts";

interface Seen {
  readonly port: number;
  readonly dstIp: number;
  readonly dstPort: number;
  readonly header: object;
  readonly exponents: object | undefined;
  readonly lanes: readonly number[];
}

/** A frame that left the switch, opened; fails the test when it is not a sound aggregation packet. */
function open(port: number, data: Uint8Array): Seen {
  const frame = parseFrame(port === CPU ? data.subarray(2) : data);
  if ("refused" in frame) throw new Error(`the switch sent a frame that hosts refuse: ${frame.refused}`);
  const message = decodeAggregation(frame.payload);
  if ("refused" in message) throw new Error(`the switch sent a packet that hosts refuse: ${message.refused}`);
  return {
    port,
    dstIp: frame.dstIp,
    dstPort: frame.dstPort,
    header: message.header,
    exponents: message.exponents,
    lanes: [...message.lanes],
  };
}

function byPort(a: Seen, b: Seen): number {
  return a.port - b.port;
}

const modes = [int32, block, fp32({ slices: [5, 6, 6, 6] }), fp16(), bf16()];
const variants: readonly Variant[] = modes.flatMap((mode) =>
  (["ps", "allreduce"] as const).map((result) => ({ mode, result })),
);

describe.each(variants)(
  "hotAggregation on the embedded switch, mode $mode.name, result $result",
  (variant) => {
    test("any sequence of requests gets the golden model's answers, and is counted alike", () => {
      const { sw, events, restart } = setUp(variant);
      const seen = new Set<string>();
      fc.assert(
        fc.property(requests(variant, 120), (list) => {
          const golden = goldenModel(variant);
          restart();
          const before = events();
          for (const { port, message } of list) {
            const sent = frameFrom(port, message);
            const got = sw
              .inject(port, sent)
              .map((f) => open(f.port, f.data))
              .sort(byPort);
            const sender = port === CPU ? topology.hosts[4] : topology.hosts[Math.min(port, 4)];
            const outcome = golden.handle(message, port === CPU);
            const wanted = outcome.answers
              .flatMap((a): Seen | Seen[] => {
                const lanes = [...a.lanes];
                const { exponents, header } = a;
                const back = { dstIp: parseIpv4(sender?.ipv4 ?? ""), dstPort: 40_000 + port };
                if (a.to === "server") {
                  const dstIp = parseIpv4("10.0.0.99");
                  return { port: SERVER_PORT, dstIp, dstPort: AGGREGATION_PORT, header, exponents, lanes };
                }
                if (typeof a.to === "object")
                  return a.to.workers.map((member) => {
                    const worker = workerOf(header.job, member);
                    const dstIp = parseIpv4(worker.ipv4);
                    return { port: worker.port, dstIp, dstPort: AGGREGATION_PORT, header, exponents, lanes };
                  });
                if (a.header.kind === Kind.RESET) {
                  // Goes back to the controller as it is.
                  const dstIp = parseIpv4(SWITCH.ipv4);
                  return { port: CPU, dstIp, dstPort: AGGREGATION_PORT, header, exponents, lanes };
                }
                // The completing contribution is acknowledged by a clone, which leaves by its member's own port.
                const ackPort =
                  outcome.event === "complete" ? workerOf(header.job, header.member).port : port;
                return { port: ackPort, ...back, header, exponents, lanes };
              })
              .sort(byPort);
            expect(got).toEqual(wanted);
          }
          for (const name of AGGREGATOR_EVENTS) if (golden.counters[name] > 0) seen.add(name);
          const counted = events().map((packets, i) => packets - (before[i] ?? 0n));
          expect(counted).toEqual(AGGREGATOR_EVENTS.map((name) => BigInt(golden.counters[name])));
        }),
        { numRuns: 60 },
      );
      const possible = AGGREGATOR_EVENTS.filter(
        (e) => variant.result === "allreduce" || e !== "result_again",
      );
      expect([...seen].sort()).toEqual([...possible].sort());
    });
  },
);

/** The host that a job's member is. */
function workerOf(job: number, member: number): { readonly ipv4: string; readonly port: number } {
  const name = placements.find((p) => p.job === job)?.workers[member];
  const host = topology.hosts.find((h) => h.name === name);
  return { ipv4: host?.ipv4 ?? "", port: host?.attachments[0]?.port ?? -1 };
}
