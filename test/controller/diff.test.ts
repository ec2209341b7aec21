import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { differenceOf, isApplied, OWNER } from "../../src/controller/diff.ts";
import { describePlan, planOf } from "../../src/controller/plan.ts";
import {
  type Entity,
  EntityBuilder,
  entityContent,
  entityKey,
  Schema,
  type Update,
} from "../../src/p4runtime/index.ts";
import { ID, PROGRAM } from "../p4runtime/program.ts";

const schema = new Schema(PROGRAM);
const entities = new EntityBuilder(schema);
const route = (n: number, port = 1, metadata: Uint8Array = OWNER) =>
  entities.tableEntry("ipv4_lpm", { "hdr.ipv4.dst": n }, "forward", { port, dst: 1 }, { metadata });
const acl = (priority: number, metadata: Uint8Array = OWNER) =>
  entities.tableEntry("acl", {}, "drop", {}, { priority, metadata });
const foreign = new Uint8Array();

describe("a difference", () => {
  test("tells what is missing, changed, stale and somebody else's", () => {
    const wanted = [route(1), route(2, 5), route(3)];
    const found = [route(1), route(2), route(4), route(5, 1, foreign), entities.multicastGroup(9)];
    const difference = differenceOf(wanted, found, schema);
    expect(difference).toMatchObject({
      missing: [route(3)],
      changed: [{ wanted: route(2, 5), found: route(2) }],
      stale: [route(4)],
      foreign: [route(5, 1, foreign), entities.multicastGroup(9)],
      same: 1,
    });
    expect(isApplied(difference)).toBe(false);
    expect(isApplied(differenceOf(wanted, wanted, schema))).toBe(true);
  });

  test("leaves alone what belongs to the program", () => {
    const constant = entities.tableEntry("fixed", { "meta.class": 1 }, "drop");
    expect(differenceOf([], [constant, entities.defaultEntry("ipv4_lpm", "drop")], schema)).toMatchObject({
      stale: [],
      foreign: [],
    });
  });

  test("refuses two wishes for one entry", () => {
    expect(() => differenceOf([route(1), route(1, 2)], [], schema)).toThrow(/wanted twice/);
  });
});

describe("a plan", () => {
  const lines = (wanted: Entity[], found: Entity[], options = {}) =>
    describePlan(planOf(differenceOf(wanted, found, schema), schema, options), schema);

  test("makes before it breaks, and leaves drift unless asked", () => {
    const found = [route(4), route(5, 1, foreign)];
    expect(lines([route(3)], found)).toEqual([
      "INSERT table ingress.ipv4_lpm {hdr.ipv4.dst = 0.0.0.3/32}",
      "DELETE table ingress.ipv4_lpm {hdr.ipv4.dst = 0.0.0.4/32}",
    ]);
    expect(lines([route(3)], found, { undoDrift: true })).toHaveLength(3);
  });

  test("makes room first in a full table, and no more than is needed", () => {
    // The table has room for 4.
    const found = [acl(1), acl(2), acl(3), acl(4)];
    expect(lines([acl(3), acl(4), acl(5)], found).map((line) => line.replace(/table.*priority/, ""))).toEqual(
      ["DELETE  1", "INSERT  5", "DELETE  2"],
    );
  });

  test("keeps the meter of an entry that it changes (point 21)", () => {
    const meterConfig = { cir: 1n, cburst: 2n, pir: 3n, pburst: 4n };
    const found = entities.tableEntry("acl", {}, "drop", {}, { priority: 1, metadata: OWNER, meterConfig });
    const wanted = entities.tableEntry(
      "acl",
      {},
      "forward",
      { port: 1, dst: 1 },
      { priority: 1, metadata: OWNER },
    );
    const plan = planOf(differenceOf([wanted], [found], schema), schema);
    expect(plan.stages[0]?.[0]).toMatchObject({
      type: "MODIFY",
      entity: { entity: { value: { meterConfig } } },
    });
  });

  test("leads from any state to any other, and an interrupted one to a state from which the next goes on", () => {
    const any = fc.array(
      fc.oneof(
        fc
          .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 3 }))
          .map(([n, port]) => route(n, port)),
        fc.integer({ min: 1, max: 6 }).map((n) => acl(n)),
        fc.integer({ min: 1, max: 3 }).map((n) => entities.cloneSession(n, [{ port: n }])),
      ),
      { maxLength: 10 },
    );
    const unique = (list: Entity[]): Map<string, Entity> =>
      new Map(list.map((e) => [entityKey(e, schema), e]));
    const fits = (list: Entity[]): Entity[] => {
      const all = [...unique(list).values()];
      const rows = all.filter((e) => e.entity?.case === "tableEntry" && e.entity.value.tableId === ID.acl);
      return all.filter((e) => !rows.slice(4).includes(e));
    };
    fc.assert(
      fc.property(any, any, fc.nat(), (from, to, cut) => {
        const state = unique(fits(from));
        const wanted = fits(to);
        const plan = () => planOf(differenceOf(wanted, state.values(), schema), schema, { undoDrift: true });
        const perform = (updates: readonly Update[]): void => {
          for (const { type, entity } of updates) {
            if (entity === undefined) throw new Error("no entity");
            const key = entityKey(entity, schema);
            if (type === "INSERT" ? state.has(key) : !state.has(key)) throw new Error(`${type} of ${key}`);
            if (type === "DELETE") state.delete(key);
            else state.set(key, entity);
            const rows = [...state.keys()].filter((k) => k.startsWith(`entry/${ID.acl}/`));
            if (rows.length > 4) throw new Error("the table is full");
          }
        };
        const first = plan().stages.flat();
        perform(first.slice(0, cut % (first.length + 1)));
        perform(plan().stages.flat());
        expect(plan().updates).toBe(0);
        expect([...state].map(([k, e]) => [k, entityContent(e, schema)]).sort()).toEqual(
          [...unique(wanted)].map(([k, e]) => [k, entityContent(e, schema)]).sort(),
        );
      }),
    );
  });
});
