import { Client, credentials, type ServiceError } from "@grpc/grpc-js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { create, type Init } from "../../src/p4info/index.ts";
import type { P4RuntimeError } from "../../src/p4runtime/call-error.ts";
import { Code } from "../../src/p4runtime/code.ts";
import { electionIdMessage } from "../../src/p4runtime/election-id.ts";
import { insert } from "../../src/p4runtime/entities.ts";
import {
  type MasterArbitrationUpdate,
  PacketOut,
  type StreamError,
  type StreamMessageRequest,
  type StreamMessageResponse,
  type WriteRequest,
} from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { Schema } from "../../src/p4runtime/schema.ts";
import { P4RuntimeService, type StreamChannel } from "../../src/p4runtime/service.ts";
import { decodePacketIn, encodePacketOut } from "../../src/switch/p4runtime/packet-header.ts";
import { bytes, connect, PROGRAM_JSON, startPrimary, startServer, stopAfterTest } from "./bench.ts";
import { PROGRAM } from "./program.ts";

/** A stream without the client's own rules, for things that the client would not do. */
class RawStream {
  readonly received: StreamMessageResponse[] = [];
  readonly client: Client;
  readonly call: StreamChannel;
  status: number | undefined;

  constructor(address: string) {
    this.client = new Client(address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
    stopAfterTest(() => this.client.close());
    const { path, requestSerialize, responseDeserialize } = P4RuntimeService.StreamChannel;
    this.call = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    this.call.on("data", (message: StreamMessageResponse) => this.received.push(message));
    this.call.on("error", (error: ServiceError) => {
      this.status = error.code;
    });
    stopAfterTest(() => this.call.cancel());
  }

  send(update: Init<StreamMessageRequest>["update"]): void {
    this.call.write({ update });
  }

  arbitrate(electionId: bigint | undefined, deviceId = 1n): void {
    const id = electionId === undefined ? undefined : electionIdMessage(electionId);
    this.send({ case: "arbitration", value: { deviceId, electionId: id } });
  }

  /** The answers to arbitration so far. */
  get arbitrations(): MasterArbitrationUpdate[] {
    return this.received.flatMap(({ update }) => (update?.case === "arbitration" ? [update.value] : []));
  }

  get errors(): StreamError[] {
    return this.received.flatMap(({ update }) => (update?.case === "error" ? [update.value] : []));
  }

  codes(): (number | undefined)[] {
    return this.arbitrations.map((update) => update.status?.code);
  }
}

function write(stream: RawStream, request: Init<WriteRequest>): Promise<number> {
  const { path, requestSerialize, responseDeserialize } = P4RuntimeService.Write;
  return new Promise((resolve) => {
    stream.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error) =>
      resolve(error === null ? Code.OK : error.code),
    );
  });
}

describe("arbitration over gRPC", () => {
  it("fences the former primary (pitfall 22)", async () => {
    const { client: first, server, target } = await startPrimary();
    const second = await connect(server.address);
    expect(await second.arbitrate(4n)).toEqual({ isPrimary: true, hasPrimary: true, highestElectionId: 4n });
    await expect.poll(() => first.isPrimary).toBe(false);
    expect(first.arbitration).toEqual({ isPrimary: false, hasPrimary: true, highestElectionId: 4n });
    const update = insert(first.entities.tableEntry("ipv4_lpm", { dst: 1 }, "drop"));
    await expect(first.write([update])).rejects.toMatchObject({ code: Code.PERMISSION_DENIED });
    await expect(first.pushPipeline(PROGRAM, PROGRAM_JSON)).rejects.toMatchObject({
      code: Code.PERMISSION_DENIED,
    });
    expect(target.running?.entries("ingress.ipv4_lpm").length).toBe(0);
    // Reading needs no primary.
    expect(await first.readAll([first.entities.allEntries("fixed")])).toHaveLength(2);
  });

  it("tells a backup when the primary leaves, and lets the same id come back (pitfall 18)", async () => {
    const { client, server } = await startPrimary();
    const backup = await connect(server.address);
    expect(await backup.arbitrate(undefined)).toMatchObject({ isPrimary: false, hasPrimary: true });
    await client.close();
    await expect.poll(() => backup.arbitration?.hasPrimary).toBe(false);
    for (let round = 0; round < 20; round++) {
      const again = await connect(server.address);
      expect(await again.arbitrate(1n)).toMatchObject({ isPrimary: true });
      await again.close();
      await expect.poll(() => server.openStreams).toBe(1);
    }
  });

  it("takes a broken connection for a closed stream (pitfall 18)", async () => {
    const { server } = await startServer();
    const stream = new RawStream(server.address);
    stream.arbitrate(5n);
    await expect.poll(() => stream.codes()).toEqual([Code.OK]);
    stream.client.close();
    stream.call.cancel();
    const next = await connect(server.address);
    await expect.poll(() => server.openStreams).toBe(0);
    expect(await next.arbitrate(5n)).toMatchObject({ isPrimary: true });
  });

  it("tells an absent election id from {0, 0}, for streams and for writes (pitfall 20)", async () => {
    const { server } = await startServer();
    const [a, b, zero] = [1, 2, 3].map(() => new RawStream(server.address));
    a?.arbitrate(undefined);
    b?.arbitrate(undefined);
    await expect.poll(() => [a?.codes(), b?.codes()]).toEqual([[Code.NOT_FOUND], [Code.NOT_FOUND]]);
    zero?.arbitrate(0n);
    await expect.poll(() => zero?.codes()).toEqual([Code.OK]);
    expect(zero?.arbitrations[0]?.electionId).toEqual({ high: 0n, low: 0n });
    if (zero === undefined) return;
    expect(await write(zero, { deviceId: 1n })).toBe(Code.PERMISSION_DENIED);
    // Past the check of the primary, there is no pipeline.
    expect(await write(zero, { deviceId: 1n, electionId: {} })).toBe(Code.FAILED_PRECONDITION);
    expect(await write(zero, { deviceId: 99n, electionId: { low: 7n } })).toBe(Code.NOT_FOUND);
    expect(await write(zero, { deviceId: 1n, role: "nobody", electionId: {} })).toBe(Code.NOT_FOUND);
  });

  it("keeps 128-bit ids exact (pitfall 101)", async () => {
    const { server } = await startServer();
    const client = await connect(server.address);
    const id = 2n ** 128n - 1n;
    expect(await client.arbitrate(id)).toMatchObject({ highestElectionId: id });
    expect(() => client.arbitrate(2n ** 128n)).toThrow(RangeError);
  });

  it("serves a device id above 2^53 (pitfall 101)", async () => {
    const deviceId = 2n ** 53n + 1n;
    const { server } = await startServer({ deviceId });
    const client = await connect(server.address, { deviceId });
    expect(await client.arbitrate(1n)).toMatchObject({ isPrimary: true });
    const other = await connect(server.address, { deviceId: 2n ** 53n });
    await expect(other.arbitrate(2n)).rejects.toMatchObject({ code: Code.NOT_FOUND });
    await expect(other.getPipeline()).rejects.toMatchObject({ code: Code.NOT_FOUND });
  });

  it("ends the stream for an id in use, another device, another role", async () => {
    const { client, server } = await startPrimary();
    const second = await connect(server.address);
    await expect(second.arbitrate(1n)).rejects.toMatchObject({ code: Code.INVALID_ARGUMENT });
    await expect(second.arbitrate(2n)).rejects.toThrow();
    expect(client.isPrimary).toBe(true);
    const stream = new RawStream(server.address);
    stream.arbitrate(2n);
    await expect.poll(() => stream.codes()).toEqual([Code.OK]);
    stream.arbitrate(2n, 99n);
    await expect.poll(() => stream.status).toBe(Code.FAILED_PRECONDITION);
  });

  it("has a primary for each role, who writes under its name", async () => {
    const { client, server } = await startPrimary();
    const monitor = await connect(server.address, { role: "monitor" });
    expect(await monitor.arbitrate(1n)).toMatchObject({ isPrimary: true });
    await monitor.useProgram();
    await monitor.write([insert(monitor.entities.tableEntry("ipv4_lpm", { dst: 1 }, "drop"))]);
    expect(client.isPrimary).toBe(true);
  });

  it("does not wait for an answer to an id that was sent before", async () => {
    const { client } = await startPrimary();
    expect(await client.arbitrate(1n)).toMatchObject({ isPrimary: true });
    expect(await client.arbitrate(3n)).toMatchObject({ isPrimary: true, highestElectionId: 3n });
    expect(await client.arbitrate(2n)).toMatchObject({ isPrimary: false, hasPrimary: false });
  });
});

describe("packets", () => {
  const schema = new Schema(PROGRAM);
  const out = (port: string, payload = "aabb") =>
    create(PacketOut, {
      payload: bytes(payload),
      metadata: [
        { metadataId: 1, value: bytes(port) },
        { metadataId: 2, value: bytes("00") },
      ],
    });

  it("carry their header most significant bit first (pitfall 23)", () => {
    expect(encodePacketOut(schema.packetOut, out("01"))).toEqual(bytes("0080aabb"));
    expect(encodePacketOut(schema.packetOut, out("01ff"))).toEqual(bytes("ff80aabb"));
    expect(encodePacketOut(schema.packetOut, out("00", ""))).toEqual(bytes("0000"));
    expect(decodePacketIn(schema.packetIn, bytes("8000cc"))).toEqual({
      metadata: [
        { metadataId: 1, value: bytes("0100") },
        { metadataId: 2, value: bytes("00") },
      ],
      payload: bytes("cc"),
    });
    expect(decodePacketIn(schema.packetIn, bytes("80"))).toBeUndefined();
    expect(decodePacketIn(undefined, bytes("80"))).toEqual({ payload: bytes("80") });
  });

  it("come back from the header as they went in", () => {
    fc.assert(
      fc.property(fc.nat(511), fc.uint8Array({ maxLength: 20 }), (port, payload) => {
        const message = create(PacketOut, { ...out(port.toString(16).padStart(4, "0")), payload });
        const back = decodePacketIn(schema.packetIn, encodePacketOut(schema.packetOut, message));
        expect(back?.payload).toEqual(payload);
        expect(Buffer.from(back?.metadata?.[0]?.value ?? []).readUIntBE(0, port > 255 ? 2 : 1)).toBe(port);
      }),
    );
  });

  it("go out by the names of their metadata, padding by itself", async () => {
    const { client, target } = await startPrimary();
    client.sendPacket(bytes("0102"), { egress_port: 511 });
    await expect.poll(() => target.packetOuts.length).toBe(1);
    expect(target.packetOuts).toEqual([bytes("ff800102")]);
    expect(() => client.sendPacket(bytes("00"), {})).toThrow(
      /packet_out metadata egress_port: it is not given/,
    );
    expect(() => client.sendPacket(bytes("00"), { egress_port: 512 })).toThrow(/bit<9>/);
    expect(() => client.sendPacket(bytes("00"), { egres_port: 1 })).toThrow(/did you mean "egress_port"/);
  });

  it("that are bad are answered with an error, and the stream lives on (pitfall 23)", async () => {
    const { client, server, target } = await startPrimary();
    await client.close();
    await expect.poll(() => server.openStreams).toBe(0);
    const stream = new RawStream(server.address);
    stream.send({ case: "packet", value: out("01") });
    await expect
      .poll(() => stream.errors.map((error) => error.canonicalCode))
      .toEqual([Code.PERMISSION_DENIED]);
    stream.arbitrate(1n);
    const [port, padding] = out("01").metadata;
    if (port === undefined || padding === undefined) return;
    stream.send({ case: "packet", value: { payload: bytes("aa"), metadata: [port] } });
    stream.send({ case: "packet", value: { payload: bytes("aa"), metadata: [port, padding, padding] } });
    stream.send({
      case: "packet",
      value: { payload: bytes("aa"), metadata: [port, { metadataId: 9, value: bytes("00") }] },
    });
    stream.send({
      case: "packet",
      value: { payload: bytes("aa"), metadata: [{ metadataId: 1, value: bytes("0200") }, padding] },
    });
    stream.send({ case: "digestAck", value: { digestId: 1, listId: 1n } });
    stream.send(undefined);
    stream.send({ case: "packet", value: out("01") });
    await expect.poll(() => target.packetOuts.length).toBe(1);
    await expect.poll(() => stream.errors.length).toBe(7);
    expect(stream.errors.slice(1).map((error) => [error.canonicalCode, error.details?.case])).toEqual([
      [Code.INVALID_ARGUMENT, "packetOut"],
      [Code.INVALID_ARGUMENT, "packetOut"],
      [Code.INVALID_ARGUMENT, "packetOut"],
      [Code.OUT_OF_RANGE, "packetOut"],
      [expect.any(Number), "digestListAck"],
      [Code.INVALID_ARGUMENT, "other"],
    ]);
    expect(stream.status).toBeUndefined();
    expect(server.counters.packetOutsRefused).toBe(5);
  });

  it("come in to the primary only", async () => {
    const { client, server, target } = await startPrimary();
    const backup = new RawStream(server.address);
    backup.arbitrate(undefined);
    await expect.poll(() => backup.codes()).toEqual([Code.ALREADY_EXISTS]);
    target.packetIn(bytes("8000cafe"));
    const { value } = await client.packets().next();
    expect(value).toMatchObject({ payload: bytes("cafe"), metadata: { ingress_port: 256n, _pad: 0n } });
    expect(backup.received).toHaveLength(1);
    target.packetIn(bytes("80"));
    expect(server.counters).toMatchObject({ packetInsSent: 1, packetInsTooShort: 1 });
    await client.close();
    await expect.poll(() => server.openStreams).toBe(1);
    target.packetIn(bytes("8000"));
    expect(server.counters.packetInsWithoutPrimary).toBe(1);
  });

  it("of 9000 bytes pass both ways (pitfall 92)", async () => {
    const { client, target } = await startPrimary();
    const payload = new Uint8Array(9000).fill(7);
    client.sendPacket(payload, { egress_port: 1 });
    await expect.poll(() => target.packetOuts[0]?.length).toBe(9002);
    target.packetIn(new Uint8Array(9002));
    const { value } = await client.packets().next();
    expect(value?.payload.length).toBe(9000);
  });

  it("that nobody reads in time are dropped and counted, by the client", async () => {
    const { client, target } = await startPrimary({ packetQueue: 10 });
    for (let index = 0; index < 25; index++) target.packetIn(Uint8Array.of(0, 0, index));
    await expect.poll(() => client.packetsDropped).toBe(15);
    const seen: number[] = [];
    for await (const packet of client.packets()) {
      seen.push(packet.payload[0] ?? -1);
      if (seen.length === 10) break;
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it("do not pile up in the switch when the primary does not read its stream, and nobody waits for it", async () => {
    const { target, server } = await startServer({ packetInQueue: 100 });
    const stream = new RawStream(server.address);
    stream.arbitrate(1n);
    await expect.poll(() => stream.codes()).toEqual([Code.OK]);
    const other = await connect(server.address);
    stream.call.pause();
    for (let burst = 0; burst < 40 && server.counters.packetInsNotRead === 0; burst++) {
      for (let index = 0; index < 100; index++) target.packetIn(new Uint8Array(1500));
      // Another client is served all the while.
      await other.getPipeline();
    }
    expect(server.counters.packetInsNotRead).toBeGreaterThan(0);
  });

  it("stop with the loop's signal, and end with the client", async () => {
    const { client } = await startPrimary();
    const aborted = new AbortController();
    const waiting = client.packets({ signal: aborted.signal }).next();
    aborted.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    const loop = client.packets().next();
    await client.close();
    expect(await loop).toEqual({ done: true, value: undefined });
  });
});

describe("the end of the server", () => {
  it("is told to the client, which lives on without a handler (pitfall 94)", async () => {
    const { client, server } = await startPrimary();
    const told: P4RuntimeError[] = [];
    const listening = await connect(server.address, { onDisconnect: (error) => told.push(error) });
    await listening.arbitrate(undefined);
    const packets = expect(client.packets().next()).rejects.toMatchObject({
      code: Code.UNAVAILABLE,
      address: server.address,
    });
    await server.close();
    await packets;
    await expect.poll(() => told.map((error) => error.code)).toEqual([Code.UNAVAILABLE]);
    expect(client.isPrimary).toBe(false);
    expect(() => client.sendPacket(bytes("00"), { egress_port: 1 })).toThrow(/UNAVAILABLE/);
    await expect(client.getCookie()).rejects.toMatchObject({ code: Code.UNAVAILABLE });
    await expect(client.arbitrate(9n)).rejects.toMatchObject({ code: Code.UNAVAILABLE });
  });

  it("comes at once when it is aborted", async () => {
    const { client, server } = await startPrimary();
    const packets = expect(client.packets().next()).rejects.toMatchObject({ address: server.address });
    server.abort();
    await packets;
  });

  it("comes once, however often it is closed", async () => {
    const { server } = await startServer();
    await Promise.all([server.close(), server.close()]);
    await server.close();
  });
});
