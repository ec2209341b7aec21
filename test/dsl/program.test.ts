import {
  accept,
  any,
  bit,
  exactly,
  type Feature,
  fp32,
  hotAggregation,
  inRange,
  int,
  internet,
  intrinsic,
  ipv4Forwarding,
  lpm,
  masked,
  mux,
  optional,
  type ProgramBuilder,
  phases,
  prefix,
  program,
  range,
  reject,
  type SwitchProgram,
  ternary,
  value,
  wireHeader,
} from "gradplane";
import { describe, expect, test } from "vitest";
import type { Program, Statement } from "../../src/ir/index.ts";

/** A header of the user's own, on Ethernet. */
const probe = wireHeader(
  "probe",
  { kind: 8, hops: 8, group: [16, "multicast group, 0 for none"], stamp: 48, budget: 32 },
  "measures a path",
);
const ETHERTYPE_PROBE = 0x88b5;

/** A feature as users write it: with the public interface and nothing else. */
function probes(options: { readonly session: number }): Feature {
  return {
    name: "probes",
    build(p) {
      const net = p.once(internet);
      const h = p.header(probe);
      const parseProbe = p.parser.state("parse_probe").extract(h);
      net.parseEthernet.on(ETHERTYPE_PROBE, parseProbe);
      parseProbe
        .select(h.kind, h.hops)
        .on([masked(0, 0x80), range(0, 63)], accept)
        .otherwise(reject);
      const cell = p.metadata("cell", bit(16), "cell of the sender");
      const late = p.metadata("late", bit(32));
      const delta = p.metadata("delta", int(16));

      const c = p.control("probing", "ingress", "Counts, limits and copies probes.");
      const events = c.counter("events", ["seen", "late", "unknown"], "what became of probes");
      const budget = c.register("budget", bit(32), 256, "bytes left");
      const mark = c.action(
        "mark",
        { cell: bit(16), limit: bit(32) },
        (a, d) => {
          a.set(cell, d.cell);
          a.update(budget, {
            index: d.cell,
            next: (old) => mux(old.lt(d.limit), d.limit, old.subSat(1)),
            output: ({ old, next }) => next.sub(old),
            into: late,
          });
          a.count(events, "seen");
        },
        "a known sender",
      );
      const unknown = c.action("unknown", {}, (a) => {
        a.count(events, "unknown");
        a.drop();
      });
      const sender = c.table("sender", {
        doc: "who may probe",
        key: {
          port: exactly(intrinsic.ingress_port),
          address: lpm(h.stamp.slice(47, 16)),
        },
        actions: [mark, unknown],
        size: 64,
        defaultAction: unknown.with({}),
        constDefault: true,
        counter: "sender_counter",
        entries: [
          { key: { port: 1, address: prefix(0x0a00_0000, 8) }, run: mark.with({ cell: 0, limit: 9 }) },
        ],
      });
      const rate = c.table("rate", {
        key: {
          kind: ternary(h.kind),
          hops: inRange(h.hops),
          group: optional(h.group),
          valid: exactly(p.valid(h)),
        },
        actions: [unknown],
        size: 4,
        entries: [
          {
            key: { kind: masked(0x80, 0x80), hops: range(0, 9), group: 7, valid: true },
            run: unknown.with({}),
          },
          { key: { kind: any, hops: any, group: any, valid: false }, run: unknown.with({}) },
        ],
      });
      c.apply((s) => {
        s.apply(sender, {
          hit: (known) => {
            known.set(
              delta,
              h.hops
                .cast(bit(16))
                .cast(int(16))
                .sub(value(int(16), 3)),
            );
            known.if(
              delta.lt(0).or(late.slice(7, 0).ne(0)).and(h.group.eq(0).not()),
              (then) => {
                then.set(intrinsic.multicast_group, h.group);
                then.clone(options.session);
              },
              (otherwise) => otherwise.set(intrinsic.egress_port, 3),
            );
          },
        });
        s.apply(rate);
        s.set(h.stamp.bits(15, 0), cell);
        s.if(late.gt(100), (then) => {
          then.count(events, cell.cast(bit(32)));
          then.setInvalid(h);
        });
      });
      p.ingress("classify", (s) => s.if(p.valid(h), (then) => then.invoke(c)));

      const hop = p.control("hop", "egress");
      hop.apply((s) =>
        s.if(p.valid(h).and(intrinsic.is_clone.not()), (then) => then.set(h.hops, h.hops.add(1))),
      );
      p.egress("deliver", (s) => s.invoke(hop));
    },
  };
}

const withProbes = (): SwitchProgram =>
  program("probed", { ports: 8, cpuPort: 9, features: [ipv4Forwarding(), probes({ session: 5 })] });

describe("a feature of the user's own", () => {
  const built = withProbes();
  const { ir } = built;
  const control = ir.controls.find((c) => c.name === "probing");

  test("makes a right program; where Tofino cannot count twice on one path, that is told", () => {
    expect(built.warnings).toMatchObject([{ code: "GP1601", target: "tna" }]);
  });

  test("declares its header, and the deparser emits it after those before", () => {
    expect(ir.headerTypes.find((t) => t.name === "probe")).toMatchObject({
      doc: "measures a path",
      fields: [
        { name: "kind", type: bit(8) },
        { name: "hops", type: bit(8) },
        { name: "group", type: bit(16), doc: "multicast group, 0 for none" },
        { name: "stamp", type: bit(48) },
        { name: "budget", type: bit(32) },
      ],
    });
    expect(ir.deparser).toEqual(["ethernet", "ipv4", "udp", "probe"]);
  });

  test("declares metadata", () => {
    expect(ir.metadata.map((m) => m.name)).toEqual(expect.arrayContaining(["cell", "late", "delta"]));
    expect(ir.metadata.find((m) => m.name === "cell")).toMatchObject({
      type: bit(16),
      doc: "cell of the sender",
    });
  });

  test("extends the parser of another feature", () => {
    const state = (name: string) => ir.parser.find((s) => s.name === name);
    expect(state("parse_ethernet")?.transition).toMatchObject({
      kind: "select",
      cases: [
        { next: "parse_ipv4", values: [{ kind: "value", value: 0x0800n }] },
        { next: "parse_probe", values: [{ kind: "value", value: 0x88b5n }] },
      ],
      otherwise: "accept",
    });
    expect(state("parse_probe")).toMatchObject({
      steps: [{ kind: "extract", header: "probe" }],
      transition: {
        keys: [{ field: "kind" }, { field: "hops" }],
        cases: [
          {
            values: [
              { kind: "mask", value: 0n, mask: 0x80n },
              { kind: "range", low: 0n, high: 63n },
            ],
            next: "accept",
          },
        ],
      },
    });
  });

  test("has tables of every match kind, with constant entries and default actions", () => {
    const [sender, rate] = control?.tables ?? [];
    expect(sender).toMatchObject({
      name: "probing.sender",
      key: [
        { name: "port", match: "exact" },
        { name: "address", match: "lpm" },
      ],
      actions: ["probing.mark", "probing.unknown"],
      size: 64,
      defaultAction: { action: "probing.unknown", arguments: [], constant: true },
      directCounter: "probing.sender_counter",
      constEntries: [
        {
          keys: [
            { kind: "value", value: 1n },
            { kind: "prefix", value: 0x0a00_0000n, length: 8 },
          ],
          action: "probing.mark",
          arguments: [0n, 9n],
        },
      ],
    });
    expect(rate?.key.map((k) => k.match)).toEqual(["ternary", "range", "optional", "exact"]);
    expect(rate?.defaultAction).toEqual({ action: "NoAction", arguments: [], constant: false });
    expect(rate?.constEntries.map((e) => e.keys.map((k) => k.kind))).toEqual([
      ["mask", "range", "value", "value"],
      ["any", "any", "any", "value"],
    ]);
  });

  test("updates registers and counts by name", () => {
    const [mark] = control?.actions ?? [];
    expect(mark?.parameters).toEqual([
      { name: "cell", type: bit(16) },
      { name: "limit", type: bit(32) },
    ]);
    expect(mark?.body).toMatchObject([
      { kind: "assign", target: { kind: "metadata", name: "cell" } },
      {
        kind: "registerUpdate",
        register: "probing.budget",
        index: { kind: "parameter", name: "cell" },
        next: { kind: "mux", condition: { operator: "<", left: { kind: "memory", which: "old" } } },
        output: { operator: "-", left: { which: "next" }, right: { which: "old" } },
        into: { kind: "metadata", name: "late" },
      },
      { kind: "count", counter: "probing.events", index: { kind: "constant", value: 0n } },
    ]);
  });

  test("branches, multicasts, clones and writes parts of fields", () => {
    const [apply, rate, part, last] = control?.apply ?? [];
    expect(apply).toMatchObject({
      kind: "applyTable",
      table: "probing.sender",
      miss: [],
      hit: [
        { kind: "assign" },
        {
          kind: "if",
          whenTrue: [
            { kind: "assign", target: { kind: "intrinsic", name: "multicast_group" } },
            { kind: "clone", session: { kind: "constant", value: 5n } },
          ],
          whenFalse: [{ kind: "assign", target: { kind: "intrinsic", name: "egress_port" } }],
        },
      ],
    });
    expect(rate).toMatchObject({ kind: "applyTable", table: "probing.rate" });
    expect(part).toMatchObject({ kind: "assign", target: { kind: "slice", high: 15, low: 0 } });
    expect(last).toMatchObject({
      kind: "if",
      whenTrue: [{ kind: "count" }, { kind: "setValidity", valid: false }],
    });
  });
});

describe("order", () => {
  /** A feature that marks each phase with its letter. */
  const letter = (name: string): Feature => ({
    name,
    build(p) {
      const m = p.metadata(`${name}_mark`, bit(8));
      for (const [i, phase] of phases.entries()) {
        p.ingress(phase, (s) => s.set(m, i));
        p.egress(phase, (s) => s.set(m, i));
      }
      p.ingress("deliver", (s) => s.drop());
    },
  });
  const marks = (block: readonly Statement[]): readonly string[] =>
    block.flatMap((s) =>
      s.kind === "assign" && s.target.kind === "metadata" && s.value.kind === "constant"
        ? [`${s.target.name.slice(0, 1)}${s.value.value}`]
        : [],
    );

  test("phases run in their order, whatever the order of features", () => {
    const one = program("one", { ports: 4, features: [letter("a"), letter("b")] }).ir;
    expect(marks(one.ingress)).toEqual(["a0", "b0", "a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4"]);
    const other = program("other", { ports: 4, features: [letter("b"), letter("a")] }).ir;
    expect(marks(other.ingress)).toEqual(["b0", "a0", "b1", "a1", "b2", "a2", "b3", "a3", "b4", "a4"]);
    expect(marks(other.egress)).toEqual(marks(other.ingress));
  });

  test("the same program twice is the same data, but for where it stands", () => {
    expect(withoutPlaces(withProbes().ir)).toEqual(withoutPlaces(withProbes().ir));
  });
});

describe("parts that features share", () => {
  test("are made once and are the same object for all", () => {
    let made = 0;
    const part = (p: ProgramBuilder) => {
      made++;
      return { state: p.metadata("shared_state", bit(8)) };
    };
    const seen: unknown[] = [];
    const user = (name: string): Feature => ({
      name,
      build(p) {
        const { state } = p.once(part);
        seen.push(state);
        p.ingress("route", (s) => s.set(state, 1));
        p.ingress("deliver", (s) => s.drop());
      },
    });
    const { ir } = program("shared", { ports: 4, features: [user("one"), user("two")] });
    expect(made).toBe(1);
    expect(seen[0]).toBe(seen[1]);
    expect(ir.metadata.map((m) => m.name)).toEqual(["shared_state"]);
  });

  test("a header declared alike by two features is one header", () => {
    const user = (name: string): Feature => ({
      name,
      build(p) {
        const h = p.header(wireHeader("same", { a: 8 }));
        p.ingress("classify", (s) => s.setValid(h));
        p.ingress("deliver", (s) => s.drop());
      },
    });
    const { ir } = program("shared", { ports: 4, features: [user("one"), user("two")] });
    expect(ir.headers.map((h) => h.name)).toEqual(["same"]);
    expect(ir.deparser).toEqual(["same"]);
  });

  test("a header that is also the controller's is emitted once, in front", () => {
    const { ir } = program("shared", {
      ports: 4,
      cpuPort: 5,
      features: [
        {
          name: "f",
          build(p) {
            p.header(wireHeader("first", { a: 8 }));
            p.header(wireHeader("to_cpu", { port: 16 }));
            p.packetIn(wireHeader("to_cpu", { port: 16 }));
            p.ingress("deliver", (s) => s.drop());
          },
        },
      ],
    });
    expect(ir.deparser).toEqual(["to_cpu", "first"]);
  });
});

describe("what a program is", () => {
  test("the plain data are frozen through and through", () => {
    const built = program("frozen", {
      ports: 32,
      cpuPort: 510,
      features: [
        ipv4Forwarding(),
        hotAggregation({ workers: 4, lanes: 2, rows: 64, mode: fp32(), result: "ps" }),
        probes({ session: 1 }),
      ],
    });
    const thawed: string[] = [];
    const visit = (o: unknown, path: string): void => {
      if (typeof o !== "object" || o === null) return;
      if (!Object.isFrozen(o)) thawed.push(path);
      for (const [key, inner] of Object.entries(o)) visit(inner, `${path}.${key}`);
    };
    visit(built.ir, "ir");
    visit(built.warnings, "warnings");
    expect(thawed).toEqual([]);
    expect(Object.isFrozen(built)).toBe(true);
    expect(Object.isFrozen(built.features)).toBe(true);
  });

  test("it holds nothing but objects, arrays, texts, numbers, bigints and truths", () => {
    const kinds = new Set<string>();
    const visit = (o: unknown): void => {
      if (typeof o === "object" && o !== null) {
        kinds.add(Array.isArray(o) ? "array" : (Object.getPrototypeOf(o)?.constructor?.name ?? "null"));
        for (const inner of Object.values(o)) visit(inner);
      } else kinds.add(typeof o);
    };
    visit(withProbes().ir);
    expect([...kinds].sort()).toEqual(["Object", "array", "bigint", "boolean", "number", "string"]);
  });

  test("a control that is used after the program was built does not change it", () => {
    let late: (() => void) | undefined;
    const built = program("late", {
      ports: 4,
      features: [
        {
          name: "f",
          build(p) {
            p.ingress("deliver", (s) => s.drop());
            late = () => void p.metadata("late", bit(8));
          },
        },
      ],
    });
    late?.();
    expect(built.ir.metadata).toEqual([]);
  });
});

/** A program without the places of its nodes. */
function withoutPlaces(ir: Program): unknown {
  return JSON.parse(
    JSON.stringify(ir, (key, v) => (key === "at" ? undefined : typeof v === "bigint" ? `${v}n` : v)),
  );
}
