import { describe, expect, it } from "vitest";
import { resolveEndpoint } from "../../src/host/endpoint.ts";
import { AggregatorNode, formatFor } from "../../src/host/libra/aggregatornode.ts";
import { AGGREGATION_PORT, Kind } from "../../src/wire/aggregation.ts";
import { aggregationFrame } from "../../src/wire/aggregationpacket.ts";
import { newFrame } from "../../src/wire/datagram.ts";
import { SERVER, SWITCH_A, testLayout } from "./libracluster.ts";

const layout = testLayout({ members: [0] });
const [worker, aggregator, server] = [{ mac: "02:00:00:00:00:00", ip: "10.0.0.1" }, SWITCH_A, SERVER].map(
  resolveEndpoint,
);
if (worker === undefined || aggregator === undefined || server === undefined) throw new Error("no endpoints");

const request = {
  srcMac: worker.mac,
  dstMac: aggregator.mac,
  srcIp: worker.ip,
  dstIp: aggregator.ip,
  srcPort: 1234,
  dstPort: AGGREGATION_PORT,
};
const header = {
  version: 1,
  kind: Kind.CONTRIBUTION,
  flags: 0,
  job: 7,
  generation: 1,
  member: 0,
  scale: 16,
  slot: 4,
  lanes: 4,
  mode: 1,
  round: 1,
};
const lanes = Int32Array.of(1, 2, 3, 4);

function node(): AggregatorNode {
  const made = new AggregatorNode(aggregator as NonNullable<typeof aggregator>, formatFor(layout)); // checked above
  made.place(layout);
  return made;
}

describe("an aggregator on the network", () => {
  it("answers the sender with addresses and ports changed, and sends the sum to the job's server", () => {
    const outcome = node().receive(aggregationFrame(request, { header, lanes }));
    expect(outcome?.event).toBe("complete");
    expect(outcome?.packets.map(({ to, message }) => ({ to, kind: message.header.kind }))).toEqual([
      {
        to: {
          srcMac: aggregator.mac,
          dstMac: worker.mac,
          srcIp: aggregator.ip,
          dstIp: worker.ip,
          srcPort: AGGREGATION_PORT,
          dstPort: 1234,
        },
        kind: Kind.ACK,
      },
      {
        to: {
          srcMac: aggregator.mac,
          dstMac: server.mac,
          srcIp: aggregator.ip,
          dstIp: server.ip,
          srcPort: AGGREGATION_PORT,
          dstPort: AGGREGATION_PORT,
        },
        kind: Kind.RESULT,
      },
    ]);
  });

  it("leaves alone what is addressed to others", () => {
    const golden = node();
    const others = [
      aggregationFrame({ ...request, dstIp: 1 }, { header, lanes }),
      aggregationFrame({ ...request, dstPort: 1 }, { header, lanes }),
      new Uint8Array(20),
    ];
    for (const frame of others) expect(golden.receive(frame)).toBeUndefined();
    expect(golden.golden.counters.malformed).toBe(0);
  });

  it("counts as malformed what is addressed to it and can't be decoded", () => {
    const golden = node();
    const bad = [
      newFrame(request, 0),
      newFrame(request, 15),
      newFrame(request, 16),
      aggregationFrame(request, { header, lanes: lanes.subarray(1) }),
      aggregationFrame(request, { header: { ...header, version: 3 }, lanes }),
    ];
    for (const frame of bad) expect(golden.receive(frame)).toEqual({ event: "malformed", packets: [] });
    expect(golden.golden.counters.malformed).toBe(bad.length);
  });

  it("takes RESET from the controller's port alone", () => {
    const golden = node();
    const reset = aggregationFrame(request, {
      header: { ...header, kind: Kind.RESET, round: 9 },
      lanes: new Int32Array(0),
    });
    expect(golden.receive(reset)?.event).toBe("malformed");
    expect(golden.receive(reset, true)?.event).toBe("refused_reset");
    const unknown = aggregationFrame(request, {
      header: { ...header, kind: Kind.RESET, job: header.job + 1, round: 9 },
      lanes: new Int32Array(0),
    });
    expect(golden.receive(unknown, true)?.event).toBe("reset");
    expect(golden.receive(aggregationFrame(request, { header, lanes }))?.event).toBe("stale");
  });
});
