import { describe, expect, test } from "vitest";
import { EntityPool, keyOf } from "../../src/controller/entitypool.ts";
import { IntentBasis, IntentBook } from "../../src/controller/intent.ts";
import { NO_OUTAGE, type Outage, PathCache } from "../../src/controller/paths.ts";
import { linkName } from "../../src/controller/topology.ts";
import { Turns } from "../../src/controller/turns.ts";
import { create, P4Info } from "../../src/p4info/index.ts";
import { EntityBuilder, entityKey, Schema } from "../../src/p4runtime/index.ts";
import { pointsProgram } from "../p4runtime/pointsprogram.ts";
import { leafSpine } from "./fabric.ts";

const { p4info } = pointsProgram();
const schema = new Schema(p4info);
const build = new EntityBuilder(schema);
const route = (host: number, port = 1) => ({
  table: "forwarding.route",
  match: { dst_addr: `10.0.0.${host}/32` },
  action: "forwarding.to_port",
  params: { port, dst_mac: "02:00:00:00:00:01" },
});

describe("a pool of entries", () => {
  test("gives one and the same for what is the same, and others for what differs in anything", () => {
    const pool = new EntityPool();
    const first = pool.entry(build, route(1));
    expect(pool.entry(new EntityBuilder(schema), route(1))).toBe(first);
    expect(pool.entry(build, route(2))).not.toBe(first);
    expect(pool.entry(build, route(1, 2))).not.toBe(first);
    expect(pool.entry(build, { ...route(1), action: "forwarding.to_local", params: {} })).not.toBe(first);
  });

  test("knows the keys of its entries, which are those that others have", () => {
    const pool = new EntityPool();
    const own = pool.entry(build, route(3));
    expect(keyOf(own, schema)).toBe(entityKey(own, schema));
    const { table, match, action, params } = route(3);
    const other = build.tableEntry(table, match, action, params);
    expect(keyOf(other, schema)).toBe(keyOf(own, schema));
  });

  test("keeps the entries of programs apart", () => {
    const pool = new EntityPool();
    const again = new EntityBuilder(new Schema(create(P4Info, p4info)));
    const first = pool.entry(build, route(1));
    const second = pool.entry(again, route(1));
    expect(second).not.toBe(first);
    expect(second).toEqual(first);
  });

  test("refuses what the program has not, each time", () => {
    const pool = new EntityPool();
    for (let i = 0; i < 2; i++)
      expect(() => pool.entry(build, { ...route(1), table: "forwarding.nowhere" })).toThrow(/nowhere/);
  });
});

describe("a cache of paths", () => {
  const topology = leafSpine(3, 2, 1);
  const names = (topology.links ?? []).map(({ ends }) => linkName(ends));
  const without = (...links: readonly string[]): Outage => ({ ...NO_OUTAGE, links: new Set(links) });

  test("has the same paths for the same outage, however it is written, and the whole ones for none", () => {
    const cache = new PathCache(topology);
    const [a = "", b = ""] = names;
    expect(cache.under(without(a, b))).toBe(cache.under(without(b, a)));
    expect(cache.under(without(a))).not.toBe(cache.under(without(b)));
    expect(cache.under(NO_OUTAGE)).toBe(cache.whole);
    expect(cache.under(without())).toBe(cache.whole);
  });

  test("tells drained switches from lost ones", () => {
    const cache = new PathCache(topology);
    const spine = new Set(["spine1"]);
    const drained = cache.under({ ...NO_OUTAGE, drained: spine });
    const lost = cache.under({ ...NO_OUTAGE, switches: spine });
    expect(drained).not.toBe(lost);
    expect(drained.hops("spine1", new Set(["leaf1"]))).toHaveLength(1);
    expect(lost.hops("spine1", new Set(["leaf1"]))).toEqual([]);
  });

  test("forgets those that were not asked for lately, and keeps those that were", () => {
    const cache = new PathCache(topology);
    const outages = Array.from({ length: 2 ** names.length - 1 }, (_, i) =>
      without(...names.filter((_name, bit) => ((i + 1) >> bit) & 1)),
    );
    const [first = NO_OUTAGE, second = NO_OUTAGE] = outages;
    const kept = cache.under(first);
    const dropped = cache.under(second);
    for (const outage of outages.slice(2, 40)) {
      cache.under(outage);
      expect(cache.under(first)).toBe(kept);
    }
    expect(cache.under(second)).not.toBe(dropped);
  });
});

describe("routes of one basis", () => {
  const topology = leafSpine(3, 2, 1);
  const [first] = topology.links ?? [];
  const cut = { ...NO_OUTAGE, links: new Set(first === undefined ? [] : [linkName(first.ends)]) };

  test("are the same arrays where next hops have not changed, and what another basis makes of them", () => {
    const basis = new IntentBasis(topology);
    const intentUnder = (outage: Outage, of = basis) =>
      new IntentBook({ topology, outage }, of).intentOf("leaf1", schema);
    const whole = intentUnder(NO_OUTAGE);
    const left = intentUnder(cut);
    const shared = left.parts.filter((part) => whole.parts.includes(part));
    expect(shared.length).toBeGreaterThan(0);
    expect(shared.length).toBeLessThan(left.parts.length);
    for (const outage of [cut, NO_OUTAGE, cut]) {
      const fresh = intentUnder(outage, new IntentBasis(topology));
      expect(intentUnder(outage).entities).toEqual(fresh.entities);
    }
  });
});

describe("turns", () => {
  /** Work that ends when it is told to. */
  function work() {
    let end: (error?: Error) => void = () => {};
    const done = new Promise<void>((resolve, reject) => {
      end = (error) => (error === undefined ? resolve() : reject(error));
    });
    return { end: (error?: Error) => end(error), done };
  }
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  test("are had by so many at a time, the others in the order in which they came", async () => {
    const turns = new Turns(2);
    const began: number[] = [];
    const jobs = Array.from({ length: 5 }, () => work());
    const all = jobs.map((job, i) =>
      turns.take(() => {
        began.push(i);
        return job.done.then(() => i);
      }),
    );
    await settled();
    expect(began).toEqual([0, 1]);
    jobs[1]?.end();
    await settled();
    expect(began).toEqual([0, 1, 2]);
    for (const job of jobs) job.end();
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4]);
    expect(began).toEqual([0, 1, 2, 3, 4]);
  });

  test("are given back by work that fails, at once or later", async () => {
    const turns = new Turns(1);
    const job = work();
    const first = turns.take(() => job.done);
    const second = turns.take(() => {
      throw new Error("at once");
    });
    const third = turns.take(() => Promise.resolve(3));
    job.end(new Error("later"));
    await expect(first).rejects.toThrow("later");
    await expect(second).rejects.toThrow("at once");
    expect(await third).toBe(3);
  });

  test("that nobody waits for are free again", async () => {
    const turns = new Turns(2);
    for (let i = 0; i < 5; i++) expect(await turns.take(() => Promise.resolve(i))).toBe(i);
    const [a, b, c] = [work(), work(), work()];
    let began = 0;
    const all = [a, b, c].map((job) =>
      turns.take(() => {
        began++;
        return job.done;
      }),
    );
    await settled();
    expect(began).toBe(2);
    for (const job of [a, b, c]) job.end();
    await Promise.all(all);
  });
});
