import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fp32, int32, type NumericMode } from "../../src/dsl/index.ts";
import { AGGREGATOR_EVENTS } from "../../src/numeric/aggregator.ts";
import { parseIpv4 } from "../../src/wire/address.ts";
import { AGGREGATION_PORT, Kind } from "../../src/wire/aggregation.ts";
import { type AggregationMessage, decodeAggregation } from "../../src/wire/aggregationpacket.ts";
import { parseFrame } from "../../src/wire/datagram.ts";
import {
  CPU,
  frameFrom,
  goldenModel,
  placements,
  request,
  SERVER_PORT,
  SWITCH,
  setUp,
  topology,
} from "./aggregationrequests.ts";

interface Seen {
  readonly port: number;
  readonly dstIp: number;
  readonly dstPort: number;
  readonly header: object;
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
    lanes: [...message.lanes],
  };
}

function byPort(a: Seen, b: Seen): number {
  return a.port - b.port;
}

function claims(mode: NumericMode): void {
  test("any sequence of requests gets the golden model's answers, and is counted alike", () => {
    const { sw, events } = setUp(mode);
    fc.assert(
      fc.property(fc.array(request(mode), { maxLength: 60 }), (requests) => {
        const golden = goldenModel(mode);
        for (const register of sw.registers.values()) register.reset();
        const before = events();
        for (const { port, message } of requests) {
          const sent = frameFrom(port, message);
          const got = sw
            .inject(port, sent)
            .map((f) => open(f.port, f.data))
            .sort(byPort);
          const sender = port === CPU ? topology.hosts[4] : topology.hosts[Math.min(port, 4)];
          const outcome = golden.handle(message, port === CPU);
          const wanted = outcome.answers
            .map((a): Seen => {
              const lanes = [...a.lanes];
              const back = { dstIp: parseIpv4(sender?.ipv4 ?? ""), dstPort: 40_000 + port };
              if (a.to === "server") {
                const dstIp = parseIpv4("10.0.0.99");
                return { port: SERVER_PORT, dstIp, dstPort: AGGREGATION_PORT, header: a.header, lanes };
              }
              if (a.header.kind === Kind.RESET) {
                // Goes back to the controller as it is.
                const dstIp = parseIpv4(SWITCH.ipv4);
                return { port: CPU, dstIp, dstPort: AGGREGATION_PORT, header: a.header, lanes };
              }
              // The completing contribution is acknowledged by a clone, which leaves by its member's own port.
              const ackPort = outcome.event === "complete" ? memberPort(message) : port;
              return { port: ackPort, ...back, header: a.header, lanes };
            })
            .sort(byPort);
          expect(got).toEqual(wanted);
        }
        const counted = events().map((packets, i) => packets - (before[i] ?? 0n));
        expect(counted).toEqual(AGGREGATOR_EVENTS.map((name) => BigInt(golden.counters[name])));
      }),
      { numRuns: 150 },
    );
  });
}

function memberPort({ header }: AggregationMessage): number {
  const name = placements.find((p) => p.job === header.job)?.workers[header.member];
  return topology.hosts.find((h) => h.name === name)?.attachments[0]?.port ?? -1;
}

describe("hotAggregation on the embedded switch, mode int32", () => claims(int32));
describe("hotAggregation on the embedded switch, mode fp32", () => claims(fp32({ slices: [5, 6, 6, 6] })));
