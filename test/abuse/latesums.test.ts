import { describe, expect, test } from "vitest";
import type { JobLayout } from "../../src/host/libra/layout.ts";
import { LibraServer } from "../../src/host/libra/server.ts";
import { parseIpv4, parseMac } from "../../src/wire/address.ts";
import { AGGREGATION_PORT, AGGREGATION_VERSION, Kind, ModeId } from "../../src/wire/aggregation.ts";
import { aggregationFrame } from "../../src/wire/aggregationpacket.ts";
import {
  MessageKind,
  PARAMETER_SERVER_PORT,
  PARAMETER_SERVER_VERSION,
  parameterServerFrame,
} from "../../src/wire/parameterserver.ts";
import { SERVER, SWITCH_A, SWITCH_B, testLayout } from "../host/libracluster.ts";

const ROWS = [[100], [200], [300]];
/** The job begins on switch A at slot 2, and moves to switch B at slot 0. */
const onA = testLayout({ members: [0], rows: ROWS, lanes: 1, slotBase: 2, aggregator: SWITCH_A });
const onB: JobLayout = { ...onA, generation: 2, slotBase: 0, aggregator: SWITCH_B };

/** A server of that job, and what it has been told to update. */
function serverOf(layout: JobLayout) {
  const updates: string[] = [];
  const server = new LibraServer(layout, {
    update: (round, keys, sums) =>
      void updates.push(`${round}: ${[...keys].map((k, i) => `${k}=${sums[i]}`).join(" ")}`),
    read: (keys) => new Float32Array(keys.length),
  });
  const addressing = (port: number) => ({
    srcMac: parseMac(SWITCH_A.mac),
    dstMac: parseMac(SERVER.mac),
    srcIp: parseIpv4(SWITCH_A.ip),
    dstIp: parseIpv4(SERVER.ip),
    srcPort: port,
    dstPort: port,
  });
  return {
    server,
    updates,
    move: (to: JobLayout) => server.handle({ type: "layout", layout: to }, 0),
    /** A row's sum, as the switch of this placement sends it. */
    result(from: JobLayout, row: number, sum: number): void {
      const header = {
        version: AGGREGATION_VERSION,
        kind: Kind.RESULT,
        flags: 0,
        job: from.job,
        generation: from.generation,
        member: 0,
        scale: 16,
        slot: from.slotBase + row,
        lanes: 1,
        mode: ModeId.int32,
        round: 1,
      };
      const lanes = Int32Array.of(sum * 65_536);
      const frame = aggregationFrame(addressing(AGGREGATION_PORT), { header, lanes });
      server.handle({ type: "frame", frame }, 0);
    },
    /** The worker's word that it takes part in round 1. */
    push(): void {
      const header = {
        version: PARAMETER_SERVER_VERSION,
        kind: MessageKind.PUSH,
        member: 0,
        job: onA.job,
        round: 1,
        message: 0,
        chunk: 0,
        chunks: 1,
      };
      const frame = parameterServerFrame(addressing(PARAMETER_SERVER_PORT), {
        header,
        body: new Uint8Array(0),
      });
      server.handle({ type: "frame", frame }, 0);
    },
  };
}

describe("RESULTs of another placement than the server's own", () => {
  test("that come late count for the row that they are of, though the job's slots are others now", () => {
    const { updates, move, result, push } = serverOf(onA);
    push();
    move(onB);
    result(onA, 0, 1);
    result(onB, 1, 2);
    result(onB, 2, 3);
    expect(updates).toEqual(["1: 100=1 200=2 300=3"]);
  });

  test("that come before the server has heard of the placement do not count", () => {
    const { server, updates, move, result, push } = serverOf(onA);
    push();
    result(onB, 2, 3);
    expect(server.counters.get("result_foreign")).toBe(1);
    move(onB);
    for (const [row, sum] of [1, 2, 3].entries()) result(onB, row, sum);
    expect(updates).toEqual(["1: 100=1 200=2 300=3"]);
  });

  test("of placements that never were do not count", () => {
    const { server, move, result } = serverOf({ ...onA, generation: 5 });
    move({ ...onB, generation: 9 });
    for (const generation of [4, 6, 8, 10]) result({ ...onB, generation }, 0, 1);
    expect(server.counters.get("result_foreign")).toBe(4);
  });

  test("of other rows do not count, when the rows have changed before the first round", () => {
    const { server, updates, move, result, push } = serverOf(onA);
    move({ ...onB, rows: [[300], [200], [100]] });
    push();
    result(onA, 0, 1);
    expect(server.counters.get("result_foreign")).toBe(1);
    for (const [row, sum] of [3, 2, 1].entries()) result(onB, row, sum);
    expect(updates).toEqual(["1: 300=3 200=2 100=1"]);
  });
});
