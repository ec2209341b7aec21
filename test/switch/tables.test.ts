import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Match,
  type MatchField,
  Switch,
  SwitchRuntimeError,
  type Table,
} from "../../src/switch/index.ts";
import {
  assign,
  bytes,
  extract,
  hex,
  type Json,
  program,
  runtimeData,
  sm,
  text,
} from "./fixtures/builder.ts";

interface KeySpec {
  readonly field: string;
  readonly kind: "exact" | "lpm" | "ternary" | "range";
  readonly width: number;
}

/** A switch whose table t maps the header's fields to a result, ffff on a miss. */
function lookup(
  keys: readonly KeySpec[],
  options: {
    readonly size?: number;
    readonly entries?: readonly Json[];
    readonly constDefault?: boolean;
  } = {},
): Switch {
  const bits = keys.reduce((sum, key) => sum + key.width, 0);
  const padding = (8 - (bits % 8)) % 8;
  return new Switch(
    program({
      types: {
        h_t: [
          ...keys.map((key) => [key.field, key.width] as const),
          ...(padding > 0 ? [["pad", padding] as const] : []),
          ["result", 16],
        ],
      },
      headers: { h: "h_t" },
      parser: { start: { ops: [extract("h")] } },
      actions: { found: { parameters: [["result", 16]], primitives: [assign("h.result", runtimeData(0))] } },
      ingress: {
        init: "t",
        tables: {
          t: {
            key: keys.map((key) => ({ field: `h.${key.field}`, kind: key.kind })),
            actions: ["found", "NoAction"],
            default: { action: "found", data: ["0xffff"], isConst: options.constDefault ?? false },
            ...(options.size === undefined ? {} : { size: options.size }),
            ...(options.entries === undefined ? {} : { entries: options.entries }),
          },
        },
      },
    }),
  );
}

const found = (result: number) => ({
  kind: "action" as const,
  action: "found",
  parameters: [BigInt(result)],
});
const exact = (value: bigint): MatchField => ({ kind: "exact", value });

function ask(sw: Switch, keys: readonly KeySpec[], values: readonly bigint[]): number {
  let frame = 0n;
  let bits = 0;
  keys.forEach((key, i) => {
    frame = (frame << BigInt(key.width)) | (values[i] ?? 0n);
    bits += key.width;
  });
  const padding = (8 - (bits % 8)) % 8;
  frame <<= BigInt(padding + 16);
  const out = sw.inject(1, bytes(frame.toString(16).padStart((bits + padding + 16) / 4, "0")));
  return Number.parseInt(text(out[0]?.data)?.slice(-4) ?? "", 16);
}

const codeOf = (action: () => unknown): string => {
  try {
    action();
  } catch (error) {
    if (error instanceof SwitchRuntimeError) return error.code;
    throw error;
  }
  return "OK";
};

const one: readonly KeySpec[] = [{ field: "a", kind: "exact", width: 32 }];

describe("entries", () => {
  it("are unique by match: a second insert is ALREADY_EXISTS and changes nothing", () => {
    const sw = lookup(one);
    const t = sw.table("t");
    t.insert([exact(7n)], found(1));
    expect(codeOf(() => t.insert([exact(7n)], found(2)))).toBe("ALREADY_EXISTS");
    expect(ask(sw, one, [7n])).toBe(1);
    t.modify([exact(7n)], found(3));
    expect(ask(sw, one, [7n])).toBe(3);
    t.delete([exact(7n)]);
    expect(ask(sw, one, [7n])).toBe(0xffff);
    expect(codeOf(() => t.delete([exact(7n)]))).toBe("NOT_FOUND");
    expect(codeOf(() => t.modify([exact(7n)], found(1)))).toBe("NOT_FOUND");
  });

  it("fill a table: the one too many is RESOURCE_EXHAUSTED, deleting one makes room", () => {
    const t = lookup(one, { size: 3 }).table("t");
    for (let i = 0; i < 3; i++) t.insert([exact(BigInt(i))], found(i));
    expect(codeOf(() => t.insert([exact(9n)], found(9)))).toBe("RESOURCE_EXHAUSTED");
    t.modify([exact(1n)], found(5));
    t.delete([exact(0n)]);
    t.insert([exact(9n)], found(9));
    expect([...t.entries()].map((entry) => entry.match)).toEqual([[exact(1n)], [exact(2n)], [exact(9n)]]);
  });

  it("are all found, in their order, in a table that grew to its size at once and lost most of them", () => {
    const table = lookup([{ field: "a", kind: "exact", width: 32 }], { size: 300_000 }).table("t");
    const count = 140_000;
    const match = (n: number): Match => [{ kind: "exact", value: BigInt(n) * 7919n }];
    const action = (n: number) =>
      ({ kind: "action", action: "found", parameters: [BigInt(n & 0xffff)] }) as const;
    for (let n = 0; n < count; n++) table.insert(match(n), action(n));
    expect(table.store.keys.length).toBe(300_000);
    const kept = (n: number): boolean => n % 5 === 2;
    for (let n = 0; n < count; n++) if (!kept(n)) table.delete(match(n));
    const left = [...table.entries()].map((entry) => entry.match[0]);
    const wanted = Array.from({ length: count }, (_, n) => n).filter(kept);
    expect(left).toEqual(wanted.map((n) => match(n)[0]));
    for (const n of wanted.slice(0, 500)) expect(table.get(match(n)).action).toEqual(action(n));
    expect(table.find(match(3))).toBe(undefined);
  });

  it("that are badly formed are INVALID_ARGUMENT", () => {
    const t = lookup(one).table("t");
    expect(codeOf(() => t.insert([], found(1)))).toBe("INVALID_ARGUMENT");
    expect(codeOf(() => t.insert([undefined], found(1)))).toBe("INVALID_ARGUMENT");
    expect(codeOf(() => t.insert([exact(1n << 32n)], found(1)))).toBe("INVALID_ARGUMENT");
    expect(codeOf(() => t.insert([exact(1n)], { kind: "action", action: "nothing", parameters: [] }))).toBe(
      "INVALID_ARGUMENT",
    );
    expect(codeOf(() => t.insert([exact(1n)], { kind: "action", action: "found", parameters: [] }))).toBe(
      "INVALID_ARGUMENT",
    );
    expect(codeOf(() => t.insert([exact(1n)], found(0x10000)))).toBe("INVALID_ARGUMENT");
    expect(codeOf(() => t.insert([exact(1n)], found(1), { priority: 3 }))).toBe("INVALID_ARGUMENT");
    expect(codeOf(() => t.insert([exact(1n)], { kind: "member", member: 1 }))).toBe("INVALID_ARGUMENT");
    expect(t.size).toBe(0);
  });

  it("of ternary tables need a priority, and differ by it", () => {
    const keys: readonly KeySpec[] = [{ field: "a", kind: "ternary", width: 16 }];
    const sw = lookup(keys);
    const t = sw.table("t");
    const match: Match = [{ kind: "ternary", value: 0x1200n, mask: 0xff00n }];
    expect(codeOf(() => t.insert(match, found(1)))).toBe("INVALID_ARGUMENT");
    t.insert(match, found(1), { priority: 1 });
    t.insert(match, found(2), { priority: 2 });
    expect(codeOf(() => t.insert(match, found(3), { priority: 2 }))).toBe("ALREADY_EXISTS");
    expect(ask(sw, keys, [0x1234n])).toBe(2);
    expect(codeOf(() => t.delete(match))).toBe("NOT_FOUND");
    t.delete(match, 2);
    expect(ask(sw, keys, [0x1234n])).toBe(1);
    expect(
      codeOf(() => t.insert([{ kind: "ternary", value: 0x11n, mask: 0x0fn }], found(1), { priority: 1 })),
    ).toBe("INVALID_ARGUMENT");
  });

  it("of the program are const and win in the order written", () => {
    const keys: readonly KeySpec[] = [{ field: "a", kind: "ternary", width: 16 }];
    const entry = (key: string, mask: string, result: string, priority: number): Json => ({
      match_key: [{ match_type: "ternary", key, mask }],
      action_entry: { action_id: 1, action_data: [result] },
      priority,
    });
    const sw = lookup(keys, {
      entries: [entry("0x1200", "0xff00", "0x0001", 1), entry("0x1000", "0xf000", "0x0002", 2)],
    });
    expect(ask(sw, keys, [0x1234n])).toBe(1);
    expect(ask(sw, keys, [0x1334n])).toBe(2);
    const t = sw.table("t");
    expect(codeOf(() => t.insert([undefined], found(1), { priority: 1 }))).toBe("PERMISSION_DENIED");
    expect([...t.entries()].map((e) => [e.isConst, e.priority])).toEqual([
      [true, 2],
      [true, 1],
    ]);
  });
});

describe("default actions", () => {
  it("can be changed and reset, unless they are const", () => {
    const sw = lookup(one);
    sw.table("t").setDefault(found(5));
    expect(ask(sw, one, [1n])).toBe(5);
    sw.table("t").resetDefault();
    expect(ask(sw, one, [1n])).toBe(0xffff);
    const fixed = lookup(one, { constDefault: true }).table("t");
    expect(codeOf(() => fixed.setDefault(found(5)))).toBe("PERMISSION_DENIED");
  });
});

describe("ranges", () => {
  it("include both ends", () => {
    const keys: readonly KeySpec[] = [{ field: "p", kind: "range", width: 9 }];
    const sw = lookup(keys);
    const t = sw.table("t");
    t.insert([{ kind: "range", low: 0n, high: 5n }], found(1), { priority: 1 });
    t.insert([{ kind: "range", low: 7n, high: 7n }], found(2), { priority: 1 });
    expect([0n, 5n, 6n, 7n, 8n].map((value) => ask(sw, keys, [value]))).toEqual([1, 1, 0xffff, 2, 0xffff]);
    expect(codeOf(() => t.insert([{ kind: "range", low: 5n, high: 3n }], found(1), { priority: 1 }))).toBe(
      "INVALID_ARGUMENT",
    );
  });
});

// ---------------------------------------------------------------- random tables against a plain search

function matches(match: MatchField | undefined, value: bigint, width: number): boolean {
  if (match === undefined) return true;
  switch (match.kind) {
    case "exact":
    case "optional":
      return value === match.value;
    case "lpm":
      return (
        value >> BigInt(width - match.prefixLength) === match.value >> BigInt(width - match.prefixLength)
      );
    case "ternary":
      return (value & match.mask) === match.value;
    case "range":
      return value >= match.low && value <= match.high;
  }
}

function matchArbitrary(key: KeySpec): fc.Arbitrary<MatchField | undefined> {
  const full = (1n << BigInt(key.width)) - 1n;
  // Few distinct values, so that entries overlap and lookups hit.
  const value = fc
    .oneof(
      fc.bigInt({ min: 0n, max: 3n }),
      fc.bigInt({ min: 0n, max: 3n }).map((bits) => full ^ bits),
      fc.bigInt({ min: 0n, max: full }),
    )
    .map((v) => v & full);
  switch (key.kind) {
    case "exact":
      return value.map(exact);
    case "lpm":
      return fc.tuple(value, fc.integer({ min: 0, max: key.width })).map(
        ([v, length]): MatchField => ({
          kind: "lpm",
          value: (v >> BigInt(key.width - length)) << BigInt(key.width - length),
          prefixLength: length,
        }),
      );
    case "ternary":
      return fc.oneof(
        fc
          .tuple(value, fc.constantFrom(0n, 1n, 3n, full, full ^ 1n))
          .map(([v, m]): MatchField => ({ kind: "ternary", value: v & m & full, mask: m & full })),
        fc.constant(undefined),
      );
    case "range":
      return fc
        .tuple(value, value)
        .filter(([a, b]) => a <= b)
        .map(([low, high]): MatchField => ({ kind: "range", low, high }));
  }
}

function agrees(keys: readonly KeySpec[]): void {
  const usesPriority = keys.some((key) => key.kind === "ternary" || key.kind === "range");
  const entry = fc.tuple(
    fc.tuple(...keys.map(matchArbitrary)),
    usesPriority ? fc.integer({ min: 1, max: 4 }) : fc.constant(0),
  );
  const sw = lookup(keys, { size: 10_000 });
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 40 }),
      fc.array(fc.nat(), { maxLength: 20 }),
      fc.array(fc.tuple(...keys.map((key) => matchArbitrary({ ...key, kind: "exact" }))), {
        minLength: 5,
        maxLength: 20,
      }),
      (entries, deletions, questions) => {
        const t: Table = sw.table("t");
        for (const old of [...t.entries()]) t.delete(old.match, old.priority);
        const present: { readonly match: Match; readonly priority: number; readonly result: number }[] = [];
        entries.forEach(([match, priority], result) => {
          if (codeOf(() => t.insert(match, found(result), { priority })) === "OK")
            present.push({ match, priority, result });
        });
        for (const n of deletions) {
          const [gone] = present.splice(n % Math.max(1, present.length), 1);
          if (gone !== undefined) t.delete(gone.match, gone.priority);
        }
        const prefix = (match: Match) =>
          match.reduce((sum, m) => sum + (m?.kind === "lpm" ? m.prefixLength : 0), 0);
        for (const question of questions) {
          const values = question.map((m) => (m?.kind === "exact" ? m.value : 0n));
          const hits = present.filter((e) =>
            keys.every((key, i) => matches(e.match[i], values[i] ?? 0n, key.width)),
          );
          const best = hits.reduce<(typeof hits)[number] | undefined>((a, b) => {
            if (a === undefined) return b;
            if (usesPriority) return b.priority > a.priority ? b : a;
            return prefix(b.match) > prefix(a.match) ? b : a;
          }, undefined);
          expect(ask(sw, keys, values)).toBe(best?.result ?? 0xffff);
        }
      },
    ),
    { numRuns: 60 },
  );
}

describe("a lookup agrees with a search through all entries", () => {
  const cases: Readonly<Record<string, readonly KeySpec[]>> = {
    "exact, one word": [{ field: "a", kind: "exact", width: 32 }],
    "exact, several widths": [
      { field: "a", kind: "exact", width: 3 },
      { field: "b", kind: "exact", width: 48 },
      { field: "c", kind: "exact", width: 128 },
    ],
    "lpm of 32 bits": [{ field: "a", kind: "lpm", width: 32 }],
    "lpm of 9 bits": [{ field: "a", kind: "lpm", width: 9 }],
    "lpm of 128 bits behind an exact field": [
      { field: "a", kind: "exact", width: 8 },
      { field: "b", kind: "lpm", width: 128 },
    ],
    ternary: [
      { field: "a", kind: "ternary", width: 32 },
      { field: "b", kind: "ternary", width: 9 },
    ],
    "ternary with lpm and exact": [
      { field: "a", kind: "lpm", width: 32 },
      { field: "b", kind: "ternary", width: 48 },
      { field: "c", kind: "exact", width: 8 },
    ],
    range: [
      { field: "a", kind: "range", width: 16 },
      { field: "b", kind: "ternary", width: 8 },
    ],
    "range of 64 bits": [{ field: "a", kind: "range", width: 64 }],
  };
  for (const [name, keys] of Object.entries(cases)) it(name, () => agrees(keys), 60_000);
});

describe("a table from which most entries were deleted", () => {
  const cases: Readonly<Record<string, readonly KeySpec[]>> = {
    exact: one,
    lpm: [{ field: "a", kind: "lpm", width: 32 }],
    "lpm of 64 bits": [{ field: "a", kind: "lpm", width: 64 }],
    ternary: [{ field: "a", kind: "ternary", width: 32 }],
  };
  for (const [name, keys] of Object.entries(cases)) {
    it(`still finds the rest, in the order in which they came (${name})`, () => {
      const sw = lookup(keys, { size: 2000 });
      const t = sw.table("t");
      const [key] = keys;
      const priority = key?.kind === "ternary" ? 7 : 0;
      const matchFor = (i: number): Match => {
        const value = BigInt(i);
        if (key?.kind === "lpm") return [{ kind: "lpm", value, prefixLength: key.width }];
        return key?.kind === "ternary" ? [{ kind: "ternary", value, mask: 0xffffffffn }] : [exact(value)];
      };
      for (let i = 0; i < 1000; i++) t.insert(matchFor(i), found(i), { priority });
      for (let i = 0; i < 1000; i++) if (i % 50 !== 0) t.delete(matchFor(i), priority);
      const left = Array.from({ length: 20 }, (_, i) => i * 50);
      expect([...t.entries()].map((entry) => Number(entry.data[0]))).toEqual(left);
      for (const i of left) expect(ask(sw, keys, [BigInt(i)])).toBe(i);
      expect(ask(sw, keys, [51n])).toBe(0xffff);
      expect(t.find(matchFor(100), priority)?.match).toEqual(matchFor(100));
      t.insert(matchFor(51), found(7), { priority });
      expect(ask(sw, keys, [51n])).toBe(7);
    });
  }
});

describe("direct counters and idle times", () => {
  it("count hits, not misses", () => {
    const json = program({
      types: { h_t: [["a", 8]] },
      headers: { h: "h_t" },
      parser: { start: { ops: [extract("h")] } },
      ingress: {
        init: "t",
        tables: {
          t: {
            key: [{ field: "h.a", kind: "exact" }],
            actions: ["NoAction"],
            counters: true,
            timeout: true,
            default: { action: "NoAction" },
          },
        },
      },
    });
    const sw = new Switch(json);
    const entry = sw
      .table("t")
      .insert(
        [exact(1n)],
        { kind: "action", action: "NoAction", parameters: [] },
        { idleTimeout: 1000, now: 0 },
      );
    sw.inject(1, bytes("01aa"), 500);
    sw.inject(1, bytes("02aa"), 600);
    expect(entry.counter).toEqual({ packets: 1n, bytes: 2n });
    expect(sw.table("t").idleEntries(1400)).toEqual([]);
    expect(sw.table("t").idleEntries(1500)).toEqual([entry]);
  });
});

describe("ports", () => {
  it("are reported in numeric order", () => {
    const sw = new Switch(program({ ingressBody: [assign(sm("egress_spec"), hex(9))] }));
    for (const port of [10, 2]) sw.inject(port, bytes("aa"));
    expect(sw.usedPorts()).toEqual([2, 9, 10]);
    expect(sw.port(9)).toEqual({ rxPackets: 0, rxBytes: 0, txPackets: 2, txBytes: 2 });
  });
});

describe("names and ports that a switch does not have", () => {
  const sw = lookup([{ field: "a", kind: "exact", width: 8 }]);

  it("a table that is not there is refused with those that are", () => {
    expect(() => sw.table("route")).toThrow(/^route: there is no such table; there is t\b/);
  });

  it.each([-1, 512, 1.5, Number.NaN])(
    "a packet on port %s is refused, and not lost without a word",
    (port) => {
      expect(() => sw.inject(port, bytes("00"))).toThrow(
        `port ${port}: ports are whole numbers from 0 to 511`,
      );
    },
  );
});
