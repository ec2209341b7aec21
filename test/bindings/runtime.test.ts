import { describe, expect, test } from "vitest";
import type { P4Info } from "../../src/p4info/index.ts";
import {
  type BoundClient,
  create,
  EntityBuilder,
  EntityError,
  insert,
  P4RuntimeWriteError,
  Schema,
  StreamMessageResponse,
} from "../../src/p4runtime/index.ts";
import { connect, PROGRAM_JSON, startServer } from "../p4runtime/bench.ts";
import { bind as bindEverything } from "./golden/everything.ts";
import { bind } from "./golden/libra.ts";
import { EVERYTHING, FORWARDING } from "./programs.ts";

/** A P4Runtime server that runs a program, over real gRPC, and its primary. */
async function start(program: P4Info) {
  const { target, server } = await startServer();
  const client = await connect(server.address);
  await client.arbitrate(1n);
  await client.pushPipeline(program, PROGRAM_JSON);
  return { target, server, client };
}

/** A client that knows the program and has no switch. */
function offline(program: P4Info): BoundClient {
  const schema = new Schema(program);
  const never = (): never => {
    throw new Error("there is no switch");
  };
  return {
    entities: new EntityBuilder(schema),
    schema,
    write: never,
    read: never,
    packets: never,
    sendPacket: never,
  };
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

/** The EntityError of a call that is refused before anything is sent. */
async function refused(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (error instanceof EntityError) return error.message;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("tables", () => {
  test("an entry that is inserted is read back with its types", async () => {
    const { client, target } = await start(FORWARDING);
    const libra = bind(client);
    const { route } = libra.tables.forwarding;
    const toPort = libra.actions.forwarding.to_port({ port: 5, dst_mac: "02:00:00:00:00:01" });
    await route.insert({ dst_addr: "10.0.0.5/8" }, toPort);
    const [entry] = await all(route.read());
    expect(entry?.match).toEqual({ dst_addr: { value: 0x0a000000n, prefixLength: 8 } });
    expect(entry?.action).toEqual({
      action: "forwarding.to_port",
      params: { port: 5n, dst_mac: 0x020000000001n },
    });
    expect(target.running?.entries("forwarding.route").length).toBe(1);
    await route.modify({ dst_addr: "10.0.0.0/8" }, libra.actions.forwarding.no_route());
    expect((await all(route.read()))[0]?.action).toEqual({ action: "forwarding.no_route", params: {} });
    await route.delete({ dst_addr: "10.0.0.0/8" });
    expect(await all(route.read())).toEqual([]);
  });

  test("an entry that matches everything is one entry, and goes alone (pitfalls 4, 10)", async () => {
    const { client } = await start(FORWARDING);
    const libra = bind(client);
    const { route } = libra.tables.forwarding;
    const noRoute = libra.actions.forwarding.no_route();
    await route.insert({ dst_addr: "0.0.0.0/0" }, noRoute);
    await route.insert({ dst_addr: "10.0.0.0/8" }, noRoute);
    expect((await all(route.read())).map(({ match }) => match)).toContainEqual({});
    await route.delete({});
    expect((await all(route.read())).map(({ match }) => match)).toEqual([
      { dst_addr: { value: 0x0a000000n, prefixLength: 8 } },
    ]);
  });

  test("what was read can be inserted again, in every match kind", async () => {
    const { client } = await start(EVERYTHING);
    const everything = bindEverything(client);
    const { acl } = everything.tables.MyIngress;
    const { drop, ipv4_forward: forward } = everything.actions.MyIngress;
    const match = {
      "hdr.ipv4.$valid$": 1,
      "hdr.ipv4.dstAddr": "10.1.2.0/24",
      "hdr.ethernet.etherType": "0x0800 &&& 0xff00",
      "standard_metadata.ingress_port": "1..4",
      "hdr.mpls[0].label": 77,
    };
    await acl.insert(match, forward({ dstAddr: 1, port: 2 }), { priority: 3 });
    await acl.insert({ "hdr.ipv4.$valid$": 0 }, drop(), { priority: 4, metadata: Uint8Array.of(1, 2) });
    const before = await all(acl.read());
    expect(before.map((entry) => [entry.match, entry.priority])).toEqual([
      [
        {
          "hdr.ipv4.$valid$": 1n,
          "hdr.ipv4.dstAddr": { value: 0x0a010200n, prefixLength: 24 },
          "hdr.ethernet.etherType": { value: 0x0800n, mask: 0xff00n },
          "standard_metadata.ingress_port": { low: 1n, high: 4n },
          "hdr.mpls[0].label": 77n,
        },
        3,
      ],
      [{ "hdr.ipv4.$valid$": 0n }, 4],
    ]);
    for (const entry of before) {
      await acl.delete(entry.match, { priority: entry.priority });
      if (entry.action !== undefined) await acl.insert(entry.match, entry.action, entry);
    }
    expect(await all(acl.read())).toEqual(before);
  });

  test("a value that is too wide is refused with the name of its field, and nothing is sent (pitfall 12)", async () => {
    const { client, target } = await start(FORWARDING);
    const libra = bind(client);
    const { route } = libra.tables.forwarding;
    const { to_port: toPort, no_route: noRoute } = libra.actions.forwarding;
    expect(await refused(() => route.insert({}, toPort({ port: 512, dst_mac: 1 })))).toBe(
      "action forwarding.to_port, parameter port: 512 does not fit into bit<9>: the largest value is 511",
    );
    expect(await refused(() => route.insert({ dst_addr: 1n << 32n }, noRoute()))).toContain(
      "table forwarding.route, field dst_addr:",
    );
    expect(await refused(() => route.insert({ dst_addr: "10.0.0.0/33" }, noRoute()))).toContain("dst_addr");
    expect(await refused(() => route.entry({ dst_addr: -1 }, noRoute()))).toContain("dst_addr");
    expect(target.running?.entries("forwarding.route").length).toBe(0);
  });

  test("names and priorities that came around the type checker are refused (pitfall 6)", async () => {
    const { client } = await start(EVERYTHING);
    const everything = bindEverything(client);
    const { acl, class: classes } = everything.tables.MyIngress;
    const { drop } = everything.actions.MyIngress;
    const key = { "hdr.ipv4.$valid$": 1 };
    // @ts-expect-error the priority is missing
    expect(await refused(() => acl.insert(key, drop()))).toContain("need a priority above 0");
    expect(await refused(() => acl.insert(key, drop(), { priority: -1 }))).toContain("priority above 0");
    // @ts-expect-error exact fields are missing
    expect(await refused(() => classes.delete({ default: 1 }, { priority: 1 }))).toContain(
      "an exact field needs a value",
    );
    // @ts-expect-error no action of the table
    expect(await refused(() => classes.insert({ default: 1 }, drop(), { priority: 1 }))).toBeTruthy();
  });

  test("names that are reserved words or strange work like all others", async () => {
    const { client } = await start(EVERYTHING);
    const everything = bindEverything(client);
    const { class: classes } = everything.tables.MyIngress;
    const { return: back } = everything.actions.MyIngress;
    await classes.insert(
      { default: 1, ["__proto__"]: 2, "port name": "Ethernet1/1", "meta.x[3:0]": 5 },
      back({ new: 3, ["__proto__"]: 4, text: "α" }),
      { priority: 1 },
    );
    const [entry] = await all(classes.read());
    expect(Object.entries(entry?.match ?? {})).toEqual([
      ["default", 1n],
      ["__proto__", 2n],
      ["port name", "Ethernet1/1"],
      ["meta.x[3:0]", { value: 5n, mask: 15n }],
    ]);
    expect(Object.entries(entry?.action?.params ?? {})).toEqual([
      ["new", 3n],
      ["__proto__", 4n],
      ["text", "α"],
    ]);
  });

  test("several entries go in one write", async () => {
    const { client } = await start(FORWARDING);
    const libra = bind(client);
    const { route } = libra.tables.forwarding;
    const entries = [1, 2, 3].map((net) =>
      route.entry({ dst_addr: `10.${net}.0.0/16` }, libra.actions.forwarding.no_route()),
    );
    await client.write(entries.map(insert));
    expect(await all(route.read())).toHaveLength(3);
  });

  test("what the switch refuses is an error with the names of the entry (pitfall 8)", async () => {
    const { client } = await start(FORWARDING);
    const libra = bind(client);
    const { route } = libra.tables.forwarding;
    await route.insert({ dst_addr: "10.0.0.0/8" }, libra.actions.forwarding.no_route());
    const again = route.insert({ dst_addr: "10.0.0.0/8" }, libra.actions.forwarding.no_route());
    await expect(again).rejects.toBeInstanceOf(P4RuntimeWriteError);
    await expect(again).rejects.toThrow(
      /table forwarding\.route \{dst_addr = 10\.0\.0\.0\/8\}: ALREADY_EXISTS/,
    );
  });

  test("a default entry is set, read and put back", async () => {
    const { client } = await start(EVERYTHING);
    const everything = bindEverything(client);
    const { keyless } = everything.tables.MyIngress;
    const before = await keyless.readDefault();
    await keyless.setDefault(everything.actions.MyIngress.ipv4_forward({ dstAddr: 1, port: 2 }));
    expect(await keyless.readDefault()).toEqual({
      action: "MyIngress.ipv4_forward",
      params: { dstAddr: 1n, port: 2n },
    });
    await keyless.resetDefault();
    expect(await keyless.readDefault()).toEqual(before);
  });

  test("a table whose name begins with another's is there under its full name", async () => {
    const { client } = await start(EVERYTHING);
    const everything = bindEverything(client);
    const inner = everything.tables["MyIngress.acl.inner"];
    await inner.insert({ "hdr.ipv6.dstAddr": "fe80::1" }, everything.actions.MyIngress.drop());
    const [entry] = await all(inner.read());
    expect(entry?.match["hdr.ipv6.dstAddr"]?.value).toBe(0xfe80n * (1n << 112n) + 1n);
  });
});

describe("action profiles", () => {
  test("members, groups and the entries that use them", async () => {
    const { client } = await start(EVERYTHING);
    const everything = bindEverything(client);
    const { ecmp } = everything.tables.MyIngress;
    const { selector } = everything.actionProfiles.MyIngress;
    const forward = everything.actions.MyIngress.ipv4_forward({ dstAddr: 1, port: 2 });
    await selector.insertMember(1, forward);
    await selector.insertMember(2, everything.actions.MyIngress.drop());
    await selector.insertGroup(7, { 1: 1, 2: 3 }, { maxSize: 4 });
    await ecmp.insert({ "meta.group": 1 }, { group: 7 });
    await ecmp.insert({ "meta.group": 2 }, { member: 1 });
    const read = await all(ecmp.read());
    expect(read.map(({ action }) => action)).toEqual([{ group: 7 }, { member: 1 }]);
    await ecmp.delete({ "meta.group": 1 });
    await ecmp.delete({ "meta.group": 2 });
    await selector.modifyGroup(7, { 1: 1 }, { maxSize: 4 });
    await selector.deleteGroup(7);
    await selector.modifyMember(1, everything.actions.MyIngress.drop());
    await selector.deleteMember(1);
  });

  test("a set of actions is written and read back as it was", async () => {
    const { client } = await start(EVERYTHING);
    const everything = bindEverything(client);
    const { ecmp } = everything.tables.MyIngress;
    const forward = everything.actions.MyIngress.ipv4_forward({ dstAddr: 1, port: 2 });
    await ecmp.insert({ "meta.group": 3 }, { oneShot: [{ ...forward, weight: 2, watchPort: 5 }] });
    const [entry] = await all(ecmp.read());
    expect(entry?.action).toEqual({
      oneShot: [
        { action: "MyIngress.ipv4_forward", params: { dstAddr: 1n, port: 2n }, weight: 2, watchPort: 5 },
      ],
    });
  });
});

describe("counters, meters and registers", () => {
  test("counters give what their unit counts", async () => {
    const { client } = await start(EVERYTHING);
    const { counters } = bindEverything(client);
    await counters.both.write(1, { packets: 3n, bytes: 300n });
    expect(await counters.both.read(1)).toEqual({ packets: 3n, bytes: 300n });
    await counters.packets.write(0, { packets: 5n });
    expect(await counters.packets.read(0)).toEqual({ packets: 5n });
    expect(await all(counters.packets.readAll())).toEqual(
      [5n, 0n, 0n, 0n].map((packets, index) => ({ index: BigInt(index), value: { packets } })),
    );
  });

  test("a cell beyond the array is refused with the name of the array (pitfall 36)", async () => {
    const { client } = await start(EVERYTHING);
    const { counters, registers } = bindEverything(client);
    for (const index of [4, -1, 0.5, Number.NaN])
      expect(await refused(() => counters.both.read(index))).toBe(
        `counter both: there is no cell ${index}; it has 4`,
      );
    expect(await refused(() => registers.sums.write(1n << 40n, 1))).toContain("register sums");
  });

  test("the counter and the meter of an entry", async () => {
    const { client } = await start(EVERYTHING);
    const everything = bindEverything(client);
    const { acl } = everything.tables.MyIngress;
    const key = { "hdr.ipv4.$valid$": 1 };
    await acl.insert(key, everything.actions.MyIngress.drop(), { priority: 2 });
    await acl.counter.write(key, { bytes: 64n }, { priority: 2 });
    expect(await acl.counter.read(key, { priority: 2 })).toEqual({ bytes: 64n });
    expect(await all(acl.counter.readAll())).toEqual([
      { match: { "hdr.ipv4.$valid$": 1n }, priority: 2, value: { bytes: 64n } },
    ]);
    await acl.meter.write(key, { cir: 1000n, cburst: 100n }, { priority: 2 });
    expect(await acl.meter.read(key, { priority: 2 })).toEqual({ cir: 1000n, cburst: 100n });
    await acl.meter.write(key, undefined, { priority: 2 });
    expect(await acl.meter.read(key, { priority: 2 })).toBeUndefined();
  });

  test("the counter of the entry that matches everything is not that of all entries", async () => {
    const { client } = await start(FORWARDING);
    const libra = bind(client);
    const { route } = libra.tables.forwarding;
    await route.insert({ dst_addr: "10.0.0.0/8" }, libra.actions.forwarding.no_route());
    await route.insert({}, libra.actions.forwarding.no_route());
    await route.counter.write({ dst_addr: "10.0.0.0/8" }, { packets: 1n, bytes: 1n });
    expect(await route.counter.read({})).toEqual({ packets: 0n, bytes: 0n });
  });

  test("meters of each type", async () => {
    const { client } = await start(EVERYTHING);
    const { meters } = bindEverything(client);
    const rates = { cir: 10n, cburst: 20n, pir: 30n, pburst: 40n };
    await meters.two_rates.write(1, rates);
    expect(await meters.two_rates.read(1)).toEqual(rates);
    await meters.two_colors.write(0, { cir: 1n, cburst: 2n });
    expect(await meters.two_colors.read(0)).toEqual({ cir: 1n, cburst: 2n });
    expect(await meters.two_colors.read(1)).toBeUndefined();
  });

  test("registers keep wide and negative values (pitfall 12)", async () => {
    const { client } = await start(EVERYTHING);
    const { registers } = bindEverything(client);
    for (const value of [0n, 1n, 1n << 64n, (1n << 128n) - 1n]) {
      await registers.sums.write(2, value);
      expect(await registers.sums.read(2)).toBe(value);
    }
    for (const value of [-2048, -1, 0, 1, 127, 128, 255, 2047]) {
      await registers.signed.write(0, value);
      expect(await registers.signed.read(0)).toBe(BigInt(value));
    }
    expect(await refused(() => registers.signed.write(0, 2048))).toContain("does not fit into int<12>");
    expect(await refused(() => registers.signed.write(0, -2049))).toContain("does not fit into int<12>");
    expect(await refused(() => registers.sums.write(0, 1n << 128n))).toContain("register sums");
  });
});

describe("value sets", () => {
  test("are set as a whole and read back, with named fields and without (9.6)", async () => {
    const { client } = await start(EVERYTHING);
    const { tunnels, kinds } = bindEverything(client).valueSets.MyParser;
    expect(await tunnels.read()).toEqual([]);
    await tunnels.set([
      { protocol: 17, port: 4789 },
      { protocol: 6, port: "0x50" },
    ]);
    await tunnels.set([{ protocol: 17, port: 6081 }]);
    expect(await tunnels.read()).toEqual([{ protocol: 17n, port: 6081n }]);
    await kinds.set([0x800, 0x86ddn]);
    expect(await kinds.read()).toEqual([0x800n, 0x86ddn]);
    await kinds.set([]);
    expect(await kinds.read()).toEqual([]);
  });

  test("refuse what does not fit before anything is sent", async () => {
    const { tunnels, kinds } = bindEverything(offline(EVERYTHING)).valueSets.MyParser;
    expect(await refused(() => kinds.set([1, 2, 3]))).toContain("room for 2 members");
    expect(await refused(() => kinds.set([0x10000]))).toContain("kinds");
    expect(await refused(() => tunnels.set([{ protocol: 256, port: 1 }]))).toContain("protocol");
  });
});

describe("packets and digests", () => {
  test("a packet goes out with its metadata, padding filled in, and one comes in (pitfall 23)", async () => {
    const { client, target } = await start(FORWARDING);
    const libra = bind(client);
    libra.sendPacket(Uint8Array.of(1, 2, 3), { egress_port: 5, submit: 1 });
    await expect.poll(() => target.packetOuts.length).toBe(1);
    // 9 bits of port, 1 of submit, 6 of padding.
    expect([...(target.packetOuts[0] ?? [])]).toEqual([0x02, 0xc0, 1, 2, 3]);
    target.packetIn(Uint8Array.of(0x80, 0x00, 7, 8));
    for await (const { payload, metadata } of libra.packets()) {
      expect(metadata).toEqual({ ingress_port: 256n, padding: 0n });
      expect([...payload]).toEqual([7, 8]);
      break;
    }
    expect(
      await refused(() => libra.sendPacket(new Uint8Array(0), { egress_port: 512, submit: 0 })),
    ).toContain("packet_out metadata egress_port");
  });

  test("a digest is read by the names of its members", () => {
    const everything = bindEverything(offline(EVERYTHING));
    const data = {
      data: {
        case: "struct" as const,
        value: {
          members: [
            { data: { case: "bitstring" as const, value: Uint8Array.of(2, 0) } },
            { data: { case: "bitstring" as const, value: Uint8Array.of(0xff) } },
            { data: { case: "enum" as const, value: "GREEN" } },
            { data: { case: "bitstring" as const, value: new TextEncoder().encode("eth0") } },
            { data: { case: "header" as const, value: { isValid: true, bitstrings: [Uint8Array.of(7)] } } },
          ],
        },
      },
    };
    const message = create(StreamMessageResponse, {
      update: { case: "digest", value: { digestId: 0x17000001, listId: 4n, timestamp: 9n, data: [data] } },
    });
    expect(everything.digests.learn_t.read(message)).toEqual({
      listId: 4n,
      timestamp: 9n,
      values: [{ src: 512n, delta: -1n, color: "GREEN", port: "eth0", header: { class: 7n } }],
    });
    expect(everything.digests.tuple_digest.read(message)).toBeUndefined();
  });
});
