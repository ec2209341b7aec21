import { createSocket } from "node:dgram";
import { once } from "node:events";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { LibraServer, type ServerAction } from "../../src/host/libra/server.ts";
import { LibraWorker } from "../../src/host/libra/worker.ts";
import { seededRandom } from "../../src/host/random.ts";
import { UdpHost } from "../../src/host/udp.ts";
import { parseIpv4, parseMac } from "../../src/wire/address.ts";
import { AGGREGATION_PORT, AGGREGATION_VERSION, Kind, ModeId } from "../../src/wire/aggregation.ts";
import { type AggregationMessage, aggregationFrame } from "../../src/wire/aggregationpacket.ts";
import { ipv4HeaderChecksum, PAYLOAD_AT } from "../../src/wire/datagram.ts";
import {
  MessageKind,
  PARAMETER_SERVER_PORT,
  PARAMETER_SERVER_VERSION,
  type ParameterServerPacket,
  parameterServerFrame,
} from "../../src/wire/parameterserver.ts";
import { LibraCluster, SERVER, SWITCH_A, testLayout, workerIp } from "../host/libracluster.ts";

const layout = testLayout();
const addressing = (to: { mac: string; ip: string }, port: number) => ({
  srcMac: parseMac(SWITCH_A.mac),
  dstMac: parseMac(to.mac),
  srcIp: parseIpv4(SWITCH_A.ip),
  dstIp: parseIpv4(to.ip),
  srcPort: port,
  dstPort: port,
});
const W0 = { mac: "02:00:00:00:00:00", ip: workerIp(0) };

function aggregationTo(
  to: { mac: string; ip: string },
  changes: Partial<AggregationMessage["header"]> = {},
  lanes: readonly number[] = [],
): Uint8Array {
  const header = {
    version: AGGREGATION_VERSION,
    kind: Kind.ACK,
    flags: 0,
    job: layout.job,
    generation: layout.generation,
    member: 0,
    scale: 16,
    slot: layout.slotBase,
    lanes: layout.lanes,
    mode: ModeId.int32,
    round: 1,
    ...changes,
  };
  return aggregationFrame(addressing(to, AGGREGATION_PORT), { header, lanes: Int32Array.from(lanes) });
}

function psTo(
  to: { mac: string; ip: string },
  changes: Partial<ParameterServerPacket["header"]> = {},
  body: Uint8Array = new Uint8Array(0),
): Uint8Array {
  const header = {
    version: PARAMETER_SERVER_VERSION,
    kind: MessageKind.PUSH,
    member: 0,
    job: layout.job,
    round: 1,
    message: 0,
    chunk: 0,
    chunks: 1,
    ...changes,
  };
  return parameterServerFrame(addressing(to, PARAMETER_SERVER_PORT), { header, body });
}

const keep = new Uint8Array(0);

function edited(frame: Uint8Array, at: number, bytes: readonly number[], checksum = true): Uint8Array {
  const copy = frame.slice();
  copy.set(bytes, at);
  if (!checksum) return copy;
  copy.set([0, 0], 24);
  const sum = ipv4HeaderChecksum(copy, 14);
  copy.set([sum >> 8, sum & 255], 24);
  return copy;
}

const RESULT = { kind: Kind.RESULT } as const;
const lanes = [1, 2, 3, 4];
const result = aggregationTo(SERVER, RESULT, lanes);

const forServer: readonly (readonly [string, string, Uint8Array])[] = [
  ["an empty datagram", "frame_too_short", new Uint8Array(0)],
  ["half an Ethernet header", "frame_too_short", result.subarray(0, 9)],
  ["an IPv4 header cut short", "frame_too_short", result.subarray(0, 20)],
  ["ARP", "not_ipv4", edited(result, 12, [8, 6])],
  ["IPv6", "not_ipv4", edited(result, 12, [0x86, 0xdd])],
  ["a VLAN tag", "not_ipv4", edited(result, 12, [0x81, 0])],
  ["IPv4 options", "ipv4_malformed", edited(result, 14, [0x46])],
  ["a total length above the frame's", "ipv4_malformed", edited(result, 16, [0xff, 0xff])],
  ["a total length of 0", "ipv4_malformed", edited(result, 16, [0, 0])],
  ["a wrong header checksum", "ipv4_checksum", edited(result, 24, [1, 2], false)],
  ["a first fragment", "ipv4_fragment", edited(result, 20, [0x20, 0])],
  ["a later fragment", "ipv4_fragment", edited(result, 20, [0, 5])],
  ["TCP", "not_udp", edited(result, 23, [6])],
  ["a wrong UDP length", "udp_length", edited(result, 38, [0, 9])],
  ["a wrong UDP checksum", "udp_checksum", edited(result, 40, [1, 2])],
  ["another address", "other_address", edited(result, 30, [10, 9, 9, 9])],
  ["another port", "other_port", edited(result, 36, [0, 53])],
  ["aggregation cut short", "ipv4_malformed", result.subarray(0, PAYLOAD_AT + 8)],
  ["another version", "aggregation_version", edited(result, PAYLOAD_AT, [0x24])],
  ["kind 0", "aggregation_kind", edited(result, PAYLOAD_AT, [0x10])],
  ["a RESULT without lanes", "aggregation_length", aggregationTo(SERVER, RESULT)],
  ["a RESULT of other rows", "result_foreign", aggregationTo(SERVER, { ...RESULT, lanes: 2 }, [1, 2])],
  ["another job", "other_job", aggregationTo(SERVER, { ...RESULT, job: 8 }, lanes)],
  ["an old generation", "result_foreign", aggregationTo(SERVER, { ...RESULT, generation: 0 }, lanes)],
  ["another unit", "result_foreign", aggregationTo(SERVER, { ...RESULT, scale: 3 }, lanes)],
  ["another mode", "result_foreign", aggregationTo(SERVER, { ...RESULT, mode: 3 }, lanes)],
  ["a row below the job's", "result_foreign", aggregationTo(SERVER, { ...RESULT, slot: 3 }, lanes)],
  ["a row above the job's", "result_foreign", aggregationTo(SERVER, { ...RESULT, slot: 7 }, lanes)],
  ["a round that is not open", "result_other_round", aggregationTo(SERVER, { ...RESULT, round: 9 }, lanes)],
  ["ACK", "unexpected_kind", aggregationTo(SERVER)],
  [
    "a contribution, though a switch adds",
    "not_aggregator",
    aggregationTo(SERVER, { kind: Kind.CONTRIBUTION }, lanes),
  ],
  ["another job's message", "other_job", psTo(SERVER, { job: 9 })],
  ["a member that is none", "not_a_member", psTo(SERVER, { member: 31 })],
  ["another version of message", "message_version", edited(psTo(SERVER), PAYLOAD_AT, [0x21])],
  ["message kind 15", "message_kind", edited(psTo(SERVER), PAYLOAD_AT, [0x1f])],
  ["chunk 5 of 2", "message_chunk", psTo(SERVER, { chunk: 5, chunks: 2 })],
  ["no chunks", "message_chunk", psTo(SERVER, { chunks: 0 })],
  ["an empty chunk that is not the only one", "message_chunk", psTo(SERVER, { chunk: 1, chunks: 2 })],
  ["a body that is no push", "bad_body", psTo(SERVER, {}, new Uint8Array(7))],
  ["a push of another round", "push_other_round", psTo(SERVER, { round: 77 })],
  ["a kind that only servers send", "unexpected_kind", psTo(SERVER, { kind: MessageKind.CONFIRM })],
];

describe("the server counts what it drops, by reason", () => {
  test.each(forServer)("%s: %s", (_, reason, frame) => {
    const store = { update: () => expect.fail("nothing is finished"), read: () => new Float32Array(0) };
    const server = new LibraServer(layout, store);
    const actions = server.handle({ type: "frame", frame }, 0);
    expect(server.counters.snapshot()).toEqual({ [reason]: 1 });
    expect(actions.filter((a) => a.type !== "send")).toEqual([]);
  });
});

const ack = aggregationTo(W0);
const forWorker: readonly (readonly [string, string, Uint8Array])[] = [
  ["an empty datagram", "frame_too_short", keep],
  ["a RESULT", "unexpected_kind", aggregationTo(W0, RESULT, lanes)],
  ["another's acknowledgement", "other_member", aggregationTo(W0, { member: 1 })],
  ["another job's", "other_placement", aggregationTo(W0, { job: 8 })],
  ["an old generation's", "other_placement", aggregationTo(W0, { generation: 0 })],
  ["one for a row that was never sent", "acknowledged_before", ack],
  ["one for a row below the job's", "acknowledged_before", aggregationTo(W0, { slot: 0 })],
  ["one for a round that is not open", "acknowledged_before", aggregationTo(W0, { round: 3 })],
  ["another's message", "other_member", psTo(W0, { member: 2, kind: MessageKind.CONFIRM })],
  ["a kind that only workers send", "unexpected_kind", psTo(W0)],
  [
    "a FETCH of a row that is none",
    "bad_body",
    psTo(W0, { kind: MessageKind.FETCH }, Uint8Array.of(0, 0, 1, 0)),
  ],
  ["values without a number", "bad_body", psTo(W0, { kind: MessageKind.VALUES }, new Uint8Array(2))],
];

describe("a worker counts what it drops, by reason", () => {
  test.each(forWorker)("%s: %s", (_, reason, frame) => {
    const worker = new LibraWorker(layout, 0);
    const actions = worker.handle({ type: "frame", frame }, 0);
    expect(worker.counters.snapshot()).toEqual({ [reason]: 1 });
    expect(actions.filter((a) => a.type !== "send")).toEqual([]);
  });
});

describe("any bytes", () => {
  test("at any host, at any time, stop nothing: the job's sums are those without them", () => {
    const garbage = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc
        .tuple(
          fc.constantFrom(...forServer.map(([, , f]) => f), ...forWorker.map(([, , f]) => f)),
          fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
          fc.nat(200),
        )
        .map(([frame, edits, length]) => {
          const copy = frame.slice(0, length);
          for (const [at, byte] of edits) if (copy.length > 0) copy[at % Math.min(copy.length, 42)] = byte;
          return copy;
        })
        // What is sound in all its fields is no garbage: it would be a lie, and hosts believe one another.
        .filter((frame) => frame.length < PAYLOAD_AT || frame[PAYLOAD_AT + 3] !== layout.job),
    );
    const gradients = [0, 1, 2].map(
      (m) =>
        new Map([
          [100 + m, m + 1],
          [7, m],
        ]),
    );
    const run = (noise: readonly Uint8Array[]) => {
      const cluster = new LibraCluster(layout, seededRandom(3), { loss: 0.1, reorder: 0.3 });
      for (let round = 0; round < 3; round++)
        for (const [m, gradient] of gradients.entries()) cluster.push(m, gradient);
      const machines = [cluster.server, ...[...cluster.workers.values()].map((w) => w.machine)];
      let i = 0;
      const isDone = () => [...cluster.finished.values()].every((f) => f.length === 3);
      // After each event of the network one piece of noise, straight into a machine.
      const done = cluster.network.run(() => {
        const frame = noise[i];
        if (frame !== undefined) machines[i % machines.length]?.handle({ type: "frame", frame }, 0);
        i++;
        return isDone();
      }, 600_000);
      expect(done).toBe(true);
      expect([...cluster.errors.values()].flat()).toEqual([]);
      return cluster.updates;
    };
    const clean = run([]);
    fc.assert(
      fc.property(fc.array(garbage, { maxLength: 200 }), (noise) => {
        expect(run(noise)).toEqual(clean);
      }),
      { numRuns: 40 },
    );
  }, 120_000);

  test("200,000 of them take no memory", () => {
    const store = { update: () => {}, read: (keys: Uint32Array) => new Float32Array(keys.length) };
    const server = new LibraServer(layout, store);
    const worker = new LibraWorker(layout, 0);
    const random = seededRandom(11);
    const any = (n: number): number => Math.floor(random() * n);
    const frames = Array.from({ length: 1000 }, (_, i) =>
      i % 2 === 0
        ? Uint8Array.from({ length: any(1500) }, () => any(256))
        : psTo(SERVER, { message: 64 + any(2 ** 30), round: any(9), member: any(3), kind: 1 + any(8) }),
    );
    let before = 0;
    for (let i = 0; i < 200_000; i++) {
      if (i === 50_000) before = process.memoryUsage().heapUsed;
      const frame = frames[any(frames.length)] ?? keep;
      server.handle({ type: "frame", frame }, i / 100);
      worker.handle({ type: "frame", frame }, i / 100);
    }
    globalThis.gc?.();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(40e6);
  }, 120_000);

  test("a flood of the first chunks of long messages is held within the window", () => {
    const store = { update: () => {}, read: (keys: Uint32Array) => new Float32Array(keys.length) };
    const server = new LibraServer(layout, store);
    const body = new Uint8Array(1336);
    for (let message = 0; message < 20_000; message++)
      server.handle({ type: "frame", frame: psTo(SERVER, { message, chunks: 0x4001 }, body) }, message);
    expect(process.memoryUsage().heapUsed).toBeLessThan(400e6);
  });

  test("over UDP, jumbo datagrams among them, do not stop a host", async () => {
    const store = { update: () => {}, read: (keys: Uint32Array) => new Float32Array(keys.length) };
    const server = new LibraServer(layout, store);
    const errors: unknown[] = [];
    const host = await UdpHost.open(server, {
      remote: { address: "127.0.0.1", port: 9 },
      onAction: (_: ServerAction) => {},
      onError: (error) => errors.push(error),
    });
    onTestFinished(() => host.close());
    const socket = createSocket({ type: "udp4", sendBufferSize: 1 << 20 });
    onTestFinished(() => void socket.close());
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    const sizes = [0, 1, 13, 14, 33, 34, 41, 42, 57, 58, 1500, 9000, 65_507];
    for (const size of sizes) {
      await new Promise((resolve) =>
        socket.send(new Uint8Array(size).fill(size), host.local.port, "127.0.0.1", resolve),
      );
    }
    for (const [, , frame] of forServer)
      await new Promise((resolve) => socket.send(frame, host.local.port, "127.0.0.1", resolve));
    await expect.poll(() => host.counters.received).toBe(sizes.length + forServer.length);
    expect(errors).toEqual([]);
    const counted = Object.values(server.counters.snapshot()).reduce((a, b) => a + b, 0);
    // Messages with one number are duplicates of one another.
    expect(counted + server.traffic.messageDuplicates).toBe(sizes.length + forServer.length);
  });
});
