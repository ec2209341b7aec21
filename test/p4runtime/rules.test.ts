import { describe, expect, it } from "vitest";
import { create, P4Info } from "../../src/p4info/index.ts";
import { dataMessage } from "../../src/p4runtime/data-message.ts";
import { EntityBuilder, insert, modify, remove } from "../../src/p4runtime/entities.ts";
import { Schema } from "../../src/p4runtime/schema.ts";
import { PROGRAM } from "./program.ts";

const entities = new EntityBuilder(new Schema(PROGRAM), "1.5.0");
const withSelector = (changes: object) =>
  new EntityBuilder(
    new Schema({ ...PROGRAM, actionProfiles: PROGRAM.actionProfiles.map((p) => ({ ...p, ...changes })) }),
  );

describe("what no switch may take is refused before it is sent", () => {
  it("an entry without an action, an inserted default entry, an id of 0 (points 11, 17, 18, 26)", () => {
    const route = entities.tableEntry("ipv4_lpm", { "hdr.ipv4.dst": "10.0.0.0/8" });
    expect(() => insert(route)).toThrow(/needs an action/);
    expect(() => insert(entities.defaultEntry("ipv4_lpm", "drop"))).toThrow(/only modified/);
    expect(() => insert(entities.multicastGroup(0, [{ port: 1 }]))).toThrow(/its id is 0/);
    expect(() => insert(entities.cloneSession(0))).toThrow(/its id is 0/);
    expect(() => remove(entities.member("selector", 0))).toThrow(/its number is 0/);
  });

  it("cells that are inserted or deleted: they are always there (points 25, 27)", () => {
    for (const cell of [
      entities.counter("packets", 1, {}),
      entities.meter("meter", 1),
      entities.register("sums", 1, 1),
      entities.directCounter("acl"),
    ]) {
      expect(() => insert(cell)).toThrow(/only modified/);
      expect(() => remove(cell)).toThrow(/only modified/);
      expect(modify(cell).type).toBe("MODIFY");
    }
  });

  it("actions outside their scope, and a table without a key (points 14, 17)", () => {
    expect(() => entities.tableEntry("ipv4_lpm", { "hdr.ipv4.dst": 1 }, "NoAction")).toThrow(
      /NoAction is for its default entry only/,
    );
    expect(() => entities.defaultEntry("acl", "forward", { port: 1, dst: 1 })).toThrow(
      /forward is for its other entries only/,
    );
    expect(() => entities.defaultEntry("fixed", "drop")).toThrow(/constant/);
    expect(() => entities.tableEntry("keyless", {}, "forward", { port: 1, dst: 1 })).toThrow(/no key/);
  });

  it("groups whose weights are no weights or do not fit, and watched ports are sent (points 23, 24)", () => {
    expect(() => entities.group("selector", 1, { 1: 0 })).toThrow(/above 0/);
    expect(() => entities.group("selector", 1, { 1: 3, 2: 2 })).toThrow(/add up to 5.*room for 4/);
    expect(() =>
      withSelector({ selectorSizeSemantics: { case: "sumOfMembers", value: {} } }).group("selector", 1, {
        1: 3,
        2: 2,
      }),
    ).not.toThrow();
    expect(() => withSelector({ weightsDisallowed: true }).group("selector", 1, { 1: 2 })).toThrow(
      /no weights/,
    );
    expect(() => withSelector({ withSelector: false }).group("selector", 1)).toThrow(/no groups/);
    expect(() => entities.group("selector", 1, [{ member: 1 }, { member: 1 }])).toThrow(/twice/);
    expect(entities.group("selector", 1, [{ member: 1, watchPort: 300 }]).entity?.value).toMatchObject({
      members: [{ memberId: 1, weight: 1, watchKind: { case: "watchPort", value: Uint8Array.of(1, 44) } }],
    });
    const key = { "meta.group": 1 };
    expect(() => entities.tableEntry("ecmp", key, "drop")).toThrow(/members or groups/);
    expect(() => entities.tableEntry("acl", {}, { member: 1 }, {}, { priority: 1 })).toThrow(
      /no action profile/,
    );
    const set = { oneShot: [{ action: "drop" }], selectionMode: "RANDOM" } as const;
    expect(entities.tableEntry("ecmp", key, set).entity?.value).toMatchObject({
      action: { type: { value: { actionSelectionMode: "RANDOM" } } },
    });
  });

  it("a replica twice; backups go to servers that know them (point 26)", () => {
    expect(() => entities.multicastGroup(1, [{ port: 1 }, { port: 1 }])).toThrow(/there twice/);
    const replicas = [{ port: 1, backups: [{ port: 2 }] }];
    expect(entities.multicastGroup(1, replicas).entity?.value).toMatchObject({
      type: { value: { replicas: [{ backupReplicas: [{ port: Uint8Array.of(2), instance: 0 }] }] } },
    });
    expect(() => new EntityBuilder(new Schema(PROGRAM), "1.4.1").multicastGroup(1, replicas)).toThrow(/1\.5/);
  });
});

describe("entities", () => {
  it("of all kinds are made by name: value sets, digests, externs, filters (points 20, 22, 27, 28)", () => {
    const valueSets = [
      {
        preamble: { id: 0x03000001, name: "parser.tags", alias: "tags" },
        match: [{ id: 1, name: "tag", bitwidth: 16, match: { case: "matchType", value: "EXACT" } }],
        size: 2,
      },
    ] as const;
    const info = create(P4Info, { ...PROGRAM, valueSets });
    const builder = new EntityBuilder(new Schema(info));
    expect(builder.valueSet("tags", [{ tag: 5 }]).entity?.value).toMatchObject({
      valueSetId: 0x03000001,
      members: [{ match: [{ fieldId: 1 }] }],
    });
    expect(() => builder.valueSet("tags", [{ tag: 5 }, { tag: 6 }, { tag: 7 }])).toThrow(/room for 2/);
    expect(builder.digest("learn_t", { maxListSize: 3 }).entity?.value).toMatchObject({
      config: { maxListSize: 3 },
    });
    expect(builder.extern(1, 2, { typeUrl: "x" }).entity?.case).toBe("externEntry");
    expect(
      builder.allEntries("acl", { action: "drop", counters: true, lastHit: true }).entity?.value,
    ).toMatchObject({
      action: { type: { value: { params: [] } } },
      counterData: {},
      timeSinceLastHit: {},
    });
    expect(
      builder.tableEntry("ipv4_lpm", { "hdr.ipv4.dst": 1 }, "drop", {}, { idleTimeout: 5n }).entity?.value,
    ).toMatchObject({ idleTimeoutNs: 5n });
  });

  it("take the names of a serializable enum (point 12)", () => {
    const info = create(P4Info, {
      ...PROGRAM,
      typeInfo: {
        serializableEnums: {
          Type: { underlyingType: { bitwidth: 16 }, members: [{ name: "ARP", value: Uint8Array.of(8, 6) }] },
        },
      },
      tables: PROGRAM.tables.map((table) => ({
        ...table,
        matchFields: table.matchFields.map((field) =>
          field.bitwidth === 16 ? { ...field, typeName: { name: "Type" } } : field,
        ),
      })),
    });
    const builder = new EntityBuilder(new Schema(info));
    const entry = builder.tableEntry(
      "acl",
      { "hdr.ethernet.ether_type": "ARP" },
      "drop",
      {},
      { priority: 1 },
    );
    expect(entry.entity?.value).toMatchObject({
      match: [{ fieldMatchType: { value: { value: Uint8Array.of(8, 6) } } }],
    });
    expect(() =>
      builder.tableEntry("acl", { "hdr.ethernet.ether_type": "RARP" }, "drop", {}, { priority: 1 }),
    ).toThrow(/"RARP" is neither an integer nor one of ARP/);
  });

  it("of registers hold values of any type (point 27)", () => {
    const bit = (bitwidth: number) =>
      ({
        typeSpec: { case: "bitstring", value: { typeSpec: { case: "bit", value: { bitwidth } } } },
      }) as const;
    const info = create(P4Info, {
      typeInfo: {
        structs: {
          pair: {
            members: [
              { name: "low", typeSpec: bit(8) },
              { name: "high", typeSpec: bit(9) },
            ],
          },
        },
      },
      registers: [
        {
          preamble: { id: 0x16000001, name: "pairs", alias: "pairs" },
          typeSpec: { typeSpec: { case: "struct", value: { name: "pair" } } },
          size: 1,
        },
      ],
    });
    const [spec] = info.registers;
    const message = dataMessage(spec?.typeSpec, info.typeInfo, { low: 1, high: 300 }, "pairs");
    expect(message).toEqual({
      data: {
        case: "struct",
        value: {
          members: [
            { data: { case: "bitstring", value: Uint8Array.of(1) } },
            { data: { case: "bitstring", value: Uint8Array.of(1, 44) } },
          ],
        },
      },
    });
    expect(() => dataMessage(spec?.typeSpec, info.typeInfo, { low: 1 }, "pairs")).toThrow(
      /pairs\.high: it is not/,
    );
    expect(() => dataMessage(spec?.typeSpec, info.typeInfo, { low: 256, high: 0 }, "pairs")).toThrow(
      /pairs\.low.*does not fit/,
    );
  });
});
