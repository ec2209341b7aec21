import { describe, expect, it } from "vitest";
import { P4RuntimeWriteError } from "../../src/p4runtime/call-error.ts";
import type { P4RuntimeClient } from "../../src/p4runtime/client.ts";
import { Code, codeName } from "../../src/p4runtime/code.ts";
import type { Entity, Update } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { bytes, insert, modify, rawEntity, rawEntry, rawUpdate, remove, startPrimary } from "./bench.ts";
import { ID } from "./program.ts";

async function codes(client: P4RuntimeClient, updates: readonly Update[]): Promise<string[]> {
  try {
    await client.write(updates);
    return updates.map(() => "OK");
  } catch (error) {
    if (error instanceof P4RuntimeWriteError && error.updates !== undefined)
      return error.updates.map((update) => codeName(update.code));
    throw error;
  }
}

function values(entities: readonly Entity[]): unknown[] {
  return entities.map(({ entity }) => entity?.value);
}

describe("counters", () => {
  it("are read one by one, by array and all; index 0 is not the same as no index (pitfall 104)", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    await client.write([modify(entities.counter("packets", 2, { packetCount: 7n, byteCount: 700n }))]);
    expect(values(await client.readAll([entities.counter("packets", 2)]))).toEqual([
      { counterId: ID.packets, index: { index: 2n }, data: { packetCount: 7n, byteCount: 700n } },
    ]);
    expect(await client.readAll([entities.counter("packets", 0)])).toHaveLength(1);
    expect(await client.readAll([entities.counter("packets")])).toHaveLength(4);
    expect(await client.readAll([rawEntity({ case: "counterEntry", value: {} })])).toHaveLength(4);
  });

  it("can be set, all at once too, and set to zero", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    await client.write([modify(entities.counter("packets", undefined, { packetCount: 1n, byteCount: 2n }))]);
    expect(target.running?.counters.size).toBe(4);
    await client.write([modify(entities.counter("packets", 1, {})), modify(entities.counter("packets", 2))]);
    expect(target.running?.counters.get("ingress.packets[1]")).toEqual({ packets: 0n, bytes: 0n });
    expect(target.running?.counters.get("ingress.packets[2]")).toEqual({ packets: 1n, bytes: 2n });
  });

  it("keep values above 2^53 exact (pitfall 101)", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    const packetCount = 2n ** 53n + 1n;
    await client.write([modify(entities.counter("packets", 0, { packetCount }))]);
    expect(values(await client.readAll([entities.counter("packets", 0)]))).toMatchObject([
      { data: { packetCount } },
    ]);
  });

  it("refuse indices out of range, and everything but MODIFY (pitfall 36)", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    expect(
      await codes(client, [
        modify(entities.counter("packets", 4, {})),
        modify(entities.counter("packets", -1, {})),
        insert(entities.counter("packets", 0, {})),
        remove(entities.counter("packets", 0)),
        modify(rawEntity({ case: "counterEntry", value: { counterId: 0x12ffffff, data: {} } })),
        modify(rawEntity({ case: "counterEntry", value: { data: {} } })),
      ]),
    ).toEqual([
      "OUT_OF_RANGE",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "NOT_FOUND",
      "INVALID_ARGUMENT",
    ]);
    await expect(client.readAll([entities.counter("packets", 4)])).rejects.toMatchObject({
      code: Code.OUT_OF_RANGE,
    });
  });
});

describe("direct counters and meters", () => {
  it("go with their entry", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    const config = { cir: 10n, cburst: 20n, pir: 30n, pburst: 40n };
    const entry = (options: object = {}) =>
      entities.tableEntry("acl", { protocol: 6 }, "drop", {}, { priority: 1, ...options });
    await client.write([
      insert(entry({ counterData: { packetCount: 5n, byteCount: 50n }, meterConfig: config })),
    ]);
    const [installed] = target.running?.entries("ingress.acl") ?? [];
    const rates = { committedRate: 10n, committedBurst: 20n, peakRate: 30n, peakBurst: 40n };
    expect(installed).toMatchObject({ counter: { packets: 5n, bytes: 50n }, meter: { config: rates } });
    const plain = values(await client.readAll([entities.allEntries("acl")]));
    expect(plain[0]).not.toHaveProperty("counterData");
    expect(plain[0]).not.toHaveProperty("meterConfig");
    const full = rawEntity({
      case: "tableEntry",
      value: { tableId: ID.acl, counterData: {}, meterConfig: {} },
    });
    expect(values(await client.readAll([full]))).toMatchObject([
      { counterData: { packetCount: 5n, byteCount: 50n }, meterConfig: config },
    ]);
    expect(values(await client.readAll([entities.directCounter("acl", { protocol: 6 }, 1)]))).toMatchObject([
      { data: { packetCount: 5n } },
    ]);
    expect(await client.readAll([entities.directCounter("acl")])).toHaveLength(1);
    expect(
      await client.readAll([rawEntity({ case: "directCounterEntry", value: { tableEntry: {} } })]),
    ).toHaveLength(1);
    expect(values(await client.readAll([entities.directMeter("acl", { protocol: 6 }, 1)]))).toMatchObject([
      { config },
    ]);

    // MODIFY without a meter configuration resets the meter and leaves the counter alone (9.1.7).
    await client.write([modify(entry())]);
    expect(installed).toMatchObject({ counter: { packets: 5n }, meter: { config: undefined } });
    await client.write([
      modify(entities.directCounter("acl", { protocol: 6 }, 1, {})),
      modify(entities.directMeter("acl", { protocol: 6 }, 1, config)),
    ]);
    expect(installed).toMatchObject({ counter: { packets: 0n, bytes: 0n }, meter: { config: rates } });
  });

  it("are refused for entries and tables that have none", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    const direct = (tableId: number) =>
      rawUpdate("MODIFY", {
        case: "directCounterEntry",
        value: { tableEntry: { tableId, priority: 1 }, data: {} },
      });
    expect(
      await codes(client, [
        direct(ID.acl),
        direct(ID.ipv4Lpm),
        direct(0),
        insert(entities.directCounter("acl", {}, 1, {})),
        rawUpdate("MODIFY", {
          case: "directCounterEntry",
          value: { tableEntry: { tableId: ID.acl, isDefaultAction: true }, data: {} },
        }),
        rawUpdate("MODIFY", { case: "directCounterEntry", value: { data: {} } }),
      ]),
    ).toEqual([
      "NOT_FOUND",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "UNIMPLEMENTED",
      "INVALID_ARGUMENT",
    ]);
    await expect(client.readAll([entities.directCounter("acl", {}, 1)])).rejects.toMatchObject({
      code: Code.NOT_FOUND,
    });
  });
});

describe("meters", () => {
  it("are configured and reset, one or all", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    const config = { cir: 1n, cburst: 2n, pir: 3n, pburst: 4n };
    await client.write([modify(entities.meter("meter", undefined, config))]);
    expect(target.running?.meters.size).toBe(2);
    await client.write([modify(entities.meter("meter", 1))]);
    expect(values(await client.readAll([entities.meter("meter")]))).toEqual([
      { meterId: ID.meter, index: { index: 0n }, config: { ...config, eburst: 0n } },
      { meterId: ID.meter, index: { index: 1n } },
    ]);
  });

  it("refuse rates that their type does not have", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    expect(
      await codes(client, [
        modify(entities.meter("meter", 0, { cir: 5n, pir: 4n })),
        modify(entities.meter("meter", 0, { cir: -1n })),
        modify(entities.meter("meter", 0, { eburst: 1n })),
        modify(entities.meter("meter", 2, {})),
      ]),
    ).toEqual(["INVALID_ARGUMENT", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "OUT_OF_RANGE"]);
  });
});

describe("registers", () => {
  it("are written and read, of any width (pitfall 12)", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    for (const value of [0n, 1n, 2n ** 64n, 2n ** 127n, 2n ** 128n - 1n]) {
      await client.write([modify(entities.register("wide_register", 1, value))]);
      expect(target.running?.registers.get("ingress.wide_register[1]")).toBe(value);
      expect(values(await client.readAll([entities.register("wide_register", 1)]))).toMatchObject([
        { data: { data: { case: "bitstring" } } },
      ]);
    }
    await client.write([modify(entities.register("sums", undefined, 9))]);
    expect(await client.readAll([entities.register("sums")])).toHaveLength(4);
    expect(await client.readAll([entities.register("sums", 0)])).toHaveLength(1);
  });

  it("refuse values and indices that do not fit", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    const raw = (hex: string) =>
      rawUpdate("MODIFY", {
        case: "registerEntry",
        value: { registerId: ID.sums, index: {}, data: { data: { case: "bitstring", value: bytes(hex) } } },
      });
    expect(
      await codes(client, [
        raw("0100000000"),
        raw(""),
        raw("00ffffffff"),
        modify(entities.register("sums", 4, 0)),
        modify(entities.register("sums", -1, 0)),
        modify(entities.register("sums", 0)),
        insert(entities.register("sums", 0, 0)),
        rawUpdate("MODIFY", {
          case: "registerEntry",
          value: { registerId: ID.sums, data: { data: { case: "bool", value: true } } },
        }),
      ]),
    ).toEqual([
      "OUT_OF_RANGE",
      "OUT_OF_RANGE",
      "OK",
      "OUT_OF_RANGE",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
    ]);
    expect(() => entities.register("sums", 0, 2 ** 32)).toThrow(/register ingress.sums: .*bit<32>/);
  });
});

describe("action profiles", () => {
  it("have members, groups and entries that refer to each other", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    await client.write(
      [1, 2].map((id) => insert(entities.member("selector", id, "forward", { port: id, dst: 0 }))),
    );
    await client.write([insert(entities.group("selector", 7, { 1: 1, 2: 3 }, 4))]);
    await client.write([
      insert(entities.tableEntry("ecmp", { group: 1 }, { group: 7 })),
      insert(entities.tableEntry("ecmp", { group: 2 }, { member: 1 })),
    ]);
    expect(target.running?.groups.get(7)).toMatchObject([
      { memberId: 1, weight: 1 },
      { memberId: 2, weight: 3 },
    ]);
    expect(
      await client.readAll([entities.member("selector", 0), entities.group("selector", 0)]),
    ).toHaveLength(3);
    expect(await client.readAll([entities.member("selector", 2)])).toHaveLength(1);
    // What is in use stays.
    expect(
      await codes(client, [remove(entities.member("selector", 1)), remove(entities.group("selector", 7))]),
    ).toEqual(["FAILED_PRECONDITION", "FAILED_PRECONDITION"]);
    await client.write([
      remove(entities.tableEntry("ecmp", { group: 1 })),
      modify(entities.tableEntry("ecmp", { group: 2 }, { member: 2 })),
    ]);
    await client.write([remove(entities.group("selector", 7))]);
    expect(
      await codes(client, [remove(entities.member("selector", 1)), remove(entities.member("selector", 2))]),
    ).toEqual(["OK", "FAILED_PRECONDITION"]);
  });

  it("refuse what does not exist, exists already, or does not fit", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    await client.write([insert(entities.member("selector", 1, "drop"))]);
    // As any client could send them, without the checks of the builder.
    const group = (groupId: number, weights: Record<number, number>, maxSize = 4) =>
      rawUpdate("INSERT", {
        case: "actionProfileGroup",
        value: {
          actionProfileId: ID.selector,
          groupId,
          maxSize,
          members: Object.entries(weights).map(([id, weight]) => ({ memberId: Number(id), weight })),
        },
      });
    const drop = { type: { case: "action", value: { actionId: ID.drop } } } as const;
    const exactly1 = (fieldId: number) =>
      ({ fieldId, fieldMatchType: { case: "exact", value: { value: bytes("01") } } }) as const;
    expect(
      await codes(client, [
        insert(entities.member("selector", 0, "drop")),
        insert(entities.member("selector", 1, "drop")),
        modify(entities.member("selector", 9, "drop")),
        remove(entities.member("selector", 9)),
        insert(entities.member("selector", 9)),
        group(0, {}),
        group(1, { 9: 1 }),
        group(1, { 1: 0 }),
        group(1, { 1: 5 }),
        group(1, { 1: 1 }, 5),
        group(1, { 1: 1 }, 0),
        insert(entities.tableEntry("ecmp", { group: 1 }, { group: 9 })),
        insert(entities.tableEntry("ecmp", { group: 1 }, { member: 9 })),
        insert(entities.tableEntry("ecmp", { group: 1 }, { member: 0 })),
        rawEntry("INSERT", { tableId: ID.ecmp, match: [exactly1(1)], action: drop }),
        rawEntry("INSERT", {
          tableId: ID.mac,
          match: [exactly1(1), exactly1(7)],
          action: { type: { case: "actionProfileMemberId", value: 1 } },
        }),
        rawEntry("MODIFY", { tableId: ID.ecmp, isDefaultAction: true, action: drop }),
      ]),
    ).toEqual([
      "INVALID_ARGUMENT",
      "ALREADY_EXISTS",
      "NOT_FOUND",
      "NOT_FOUND",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "NOT_FOUND",
      "INVALID_ARGUMENT",
      "RESOURCE_EXHAUSTED",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "NOT_FOUND",
      "NOT_FOUND",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "PERMISSION_DENIED",
    ]);
    const many = Array.from({ length: 8 }, (_, id) => insert(entities.member("selector", id + 10, "drop")));
    expect((await codes(client, many)).filter((code) => code !== "OK")).toEqual(["RESOURCE_EXHAUSTED"]);
  });

  it("take one-shot sets, which are read back as they were written", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    const oneShot = [
      { action: "forward", params: { port: 1, dst: 0 }, weight: 1, watchPort: 1 },
      { action: "forward", params: { port: 2, dst: 0 }, weight: 2 },
    ];
    const entry = entities.tableEntry("ecmp", { group: 1 }, { oneShot });
    await client.write([insert(entry)]);
    expect(target.running?.members.size).toBe(2);
    expect([...(target.running?.groups.values() ?? [])][0]).toMatchObject([
      { weight: 1, watchPort: 1 },
      { weight: 2, watchPort: undefined },
    ]);
    expect(values(await client.readAll([entities.allEntries("ecmp")]))).toMatchObject([
      { action: (entry.entity?.case === "tableEntry" && entry.entity.value.action) || undefined },
    ]);
    // Hidden members and groups are nobody's business.
    expect(await client.readAll([entities.member("selector", 0), entities.group("selector", 0)])).toEqual([]);
    await client.write([modify(entities.tableEntry("ecmp", { group: 1 }, { oneShot: oneShot.slice(1) }))]);
    expect(target.running?.members.size).toBe(1);
    await client.write([remove(entry)]);
    expect(target.running?.members.size).toBe(0);
    expect(target.running?.groups.size).toBe(0);
    const watch = [{ action: "drop", watchPort: 99 }];
    expect(
      await codes(client, [insert(entities.tableEntry("ecmp", { group: 1 }, { oneShot: watch }))]),
    ).toEqual(["INVALID_ARGUMENT"]);
  });
});

describe("multicast groups and clone sessions", () => {
  it("are written and read", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    await client.write([
      insert(entities.multicastGroup(1, [{ port: 1 }, { port: 1, instance: 2 }], bytes("abcd"))),
      insert(
        entities.cloneSession(5, [{ port: 3, instance: 1 }], { packetLengthBytes: 64, classOfService: 2 }),
      ),
    ]);
    expect(target.running?.multicastGroups.get(1)).toEqual([
      { port: 1, instance: 0 },
      { port: 1, instance: 2 },
    ]);
    expect(target.running?.cloneSessions.get(5)).toEqual({
      replicas: [{ port: 3, instance: 1 }],
      classOfService: 2,
      packetLengthBytes: 64,
    });
    const read = values(await client.readAll([entities.multicastGroup(0), entities.cloneSession(5)]));
    expect(read).toMatchObject([
      { type: { value: { multicastGroupId: 1, metadata: bytes("abcd") } } },
      { type: { value: { sessionId: 5, packetLengthBytes: 64 } } },
    ]);
    await client.write([modify(entities.multicastGroup(1, [])), remove(entities.cloneSession(5))]);
    expect(target.running?.multicastGroups.get(1)).toEqual([]);
    expect(target.running?.cloneSessions.has(5)).toBe(false);
  });

  it("take the old egress_port as well", async () => {
    const { client, target } = await startPrimary();
    await client.write([
      rawUpdate("INSERT", {
        case: "packetReplicationEngineEntry",
        value: {
          type: {
            case: "multicastGroupEntry",
            value: {
              multicastGroupId: 3,
              replicas: [{ portKind: { case: "egressPort", value: 0 }, instance: 1 }],
            },
          },
        },
      }),
    ]);
    expect(target.running?.multicastGroups.get(3)).toEqual([{ port: 0, instance: 1 }]);
  });

  it("refuse ids and replicas that are not right", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    await client.write([insert(entities.multicastGroup(1, []))]);
    expect(
      await codes(client, [
        insert(entities.multicastGroup(0, [])),
        insert(entities.multicastGroup(1, [])),
        insert(entities.multicastGroup(70_000, [])),
        modify(entities.multicastGroup(2, [])),
        remove(entities.cloneSession(2)),
        insert(entities.cloneSession(0)),
        rawUpdate("INSERT", {
          case: "packetReplicationEngineEntry",
          value: {
            type: {
              case: "multicastGroupEntry",
              value: {
                multicastGroupId: 3,
                replicas: [1, 1].map((port) => ({ portKind: { case: "egressPort", value: port } })),
              },
            },
          },
        }),
        insert(entities.multicastGroup(3, [{ port: 1, instance: 70_000 }])),
        rawUpdate("INSERT", { case: "packetReplicationEngineEntry", value: {} }),
      ]),
    ).toEqual([
      "INVALID_ARGUMENT",
      "ALREADY_EXISTS",
      "INVALID_ARGUMENT",
      "NOT_FOUND",
      "NOT_FOUND",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
    ]);
  });
});

describe("entities that this switch does not have", () => {
  it("are refused one by one, and do not harm the others", async () => {
    const { client } = await startPrimary();
    expect(
      await codes(client, [
        rawUpdate("MODIFY", { case: "valueSetEntry", value: { valueSetId: 1 } }),
        rawUpdate("INSERT", { case: "externEntry", value: { externId: 1 } }),
        rawEntry("INSERT", {
          tableId: ID.ipv4Lpm,
          action: { type: { case: "action", value: { actionId: ID.drop } } },
        }),
      ]),
    ).toEqual(["NOT_FOUND", "UNIMPLEMENTED", "OK"]);
  });
});
