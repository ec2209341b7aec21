import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { create, type Init } from "../../src/p4info/index.ts";
import { EntityBuilder, insert, modify, remove } from "../../src/p4runtime/entities.ts";
import { entityContent, entityKey } from "../../src/p4runtime/entity-key.ts";
import { Entity, type FieldMatch } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { Schema } from "../../src/p4runtime/schema.ts";
import { requestsOf, sequence } from "../../src/p4runtime/sequence.ts";
import { bytes } from "./bench.ts";
import { ID, PROGRAM } from "./program.ts";

const schema = new Schema(PROGRAM);
const entities = new EntityBuilder(schema);
const route = (n: number, port = 1) =>
  entities.tableEntry("ipv4_lpm", { "hdr.ipv4.dst": n }, "forward", { port, dst: 1 });
const member = (n: number) => entities.member("selector", n, "drop");
const group = (n: number) => entities.group("selector", n, { 1: 1 });
const pointer = (n: number) => entities.tableEntry("ecmp", { "meta.group": n }, { group: 1 });

describe("requests", () => {
  it("hold at most so many updates, in their order", () => {
    const updates = Array.from({ length: 600 }, (_, i) => insert(route(i + 1)));
    const requests = requestsOf(updates, 256, schema);
    expect(requests.map((r) => r.length)).toEqual([256, 256, 88]);
    expect(requests.flat()).toEqual(updates);
  });

  it("never hold an update and another that it needs (point 30)", () => {
    const updates = [
      insert(member(1)),
      insert(member(2)),
      insert(group(1)),
      insert(pointer(1)),
      insert(route(1)),
    ];
    expect(requestsOf(updates, 256, schema).map((r) => r.length)).toEqual([2, 1, 2]);
  });

  it("never hold two updates of one entity, however it is written", () => {
    const padded = create(Entity, {
      entity: {
        case: "tableEntry",
        value: {
          tableId: ID.ipv4Lpm,
          match: [
            {
              fieldId: 1,
              fieldMatchType: { case: "lpm", value: { value: bytes("0000000a"), prefixLen: 32 } },
            },
          ],
        },
      },
    });
    const updates = [
      insert(route(9)),
      insert(route(10)),
      modify(route(11)),
      remove(padded),
      remove(route(11)),
    ];
    expect(requestsOf(updates, 256, schema).map((r) => r.length)).toEqual([3, 2]);
  });

  it("lose nothing, for any list of updates", () => {
    const update = fc.oneof(
      fc.integer({ min: 1, max: 5 }).map((n) => insert(route(n))),
      fc.integer({ min: 1, max: 5 }).map((n) => remove(route(n))),
      fc.integer({ min: 1, max: 5 }).map((n) => insert(member(n))),
      fc.integer({ min: 1, max: 5 }).map((n) => remove(group(n))),
    );
    fc.assert(
      fc.property(fc.array(update), fc.integer({ min: 1, max: 4 }), (updates, limit) => {
        const requests = requestsOf(updates, limit, schema);
        expect(requests.flat()).toEqual(updates);
        for (const request of requests) {
          expect(request.length).toBeLessThanOrEqual(limit);
          const typeOf = new Map<string, string>();
          for (const { type, entity } of request) {
            const key = entity === undefined ? "" : entityKey(entity, schema);
            expect(typeOf.get(key) ?? type).toBe(type);
            typeOf.set(key, `${type}`);
          }
        }
      }),
    );
  });
});

describe("a sequence", () => {
  it("makes what is referred to first, and takes it away last (point 23)", () => {
    const stages = sequence([
      remove(member(2)),
      remove(group(2)),
      remove(pointer(2)),
      insert(pointer(1)),
      insert(group(1)),
      insert(member(1)),
      insert(entities.cloneSession(1, [{ port: 1 }])),
    ]);
    const kinds = stages.map((stage) => stage.map((u) => `${u.type} ${u.entity?.entity?.case}`));
    expect(kinds).toEqual([
      ["INSERT actionProfileMember", "INSERT packetReplicationEngineEntry"],
      ["INSERT actionProfileGroup"],
      ["INSERT tableEntry"],
      ["DELETE tableEntry"],
      ["DELETE actionProfileGroup"],
      ["DELETE actionProfileMember"],
    ]);
  });

  it("goes by the rank of tables where entries of one lead to those of another", () => {
    const tableRank = new Map([[ID.ipv4Lpm, 1]]);
    const updates = [insert(route(1)), remove(route(2)), insert(pointer(1)), remove(pointer(2))];
    const order = sequence(updates, { tableRank }).flat();
    expect(order).toEqual([updates[2], updates[0], updates[1], updates[3]]);
  });
});

describe("entities are compared by what they mean (points 10, 13)", () => {
  const entry = (match: Init<FieldMatch>[]): Entity =>
    create(Entity, { entity: { case: "tableEntry", value: { tableId: ID.acl, match, priority: 3 } } });

  it("padding, the order of fields, and full masks and ranges make no difference", () => {
    const canonical = entities.tableEntry(
      "acl",
      { "hdr.ethernet.ether_type": "0x0800" },
      "drop",
      {},
      { priority: 3 },
    );
    const padded = entry([
      { fieldId: 2, fieldMatchType: { case: "range", value: { low: bytes("0000"), high: bytes("01ff") } } },
      {
        fieldId: 1,
        fieldMatchType: { case: "ternary", value: { value: bytes("000800"), mask: bytes("ffff") } },
      },
    ]);
    expect(entityKey(padded, schema)).toBe(entityKey(canonical, schema));
  });

  it("another priority is another entry; another action or counter is not", () => {
    const acl = (priority: number, action = "drop") =>
      entities.tableEntry("acl", {}, action, action === "drop" ? {} : { port: 1, dst: 1 }, { priority });
    expect(entityKey(acl(1), schema)).not.toBe(entityKey(acl(2), schema));
    expect(entityKey(acl(1, "forward"), schema)).toBe(entityKey(acl(1), schema));
    expect(entityContent(acl(1, "forward"), schema)).not.toBe(entityContent(acl(1), schema));
    const counted = entities.tableEntry(
      "acl",
      {},
      "drop",
      {},
      { priority: 1, counterData: { packetCount: 5n } },
    );
    expect(entityContent(counted, schema)).toBe(entityContent(acl(1), schema));
  });

  it("replicas and members are sets, and what a server loses can be left out", () => {
    const a = entities.multicastGroup(1, [{ port: 1 }, { port: 2 }], bytes("01"));
    const b = new EntityBuilder(schema, "1.3.0").multicastGroup(1, [{ port: 2 }, { port: 1 }]);
    expect(entityKey(a, schema)).toBe(entityKey(b, schema));
    expect(entityContent(a, schema)).not.toBe(entityContent(b, schema));
    const pi = { watchPorts: false, multicastMetadata: false, backupReplicas: false };
    expect(entityContent(a, schema, pi)).toBe(entityContent(b, schema, pi));
  });
});
