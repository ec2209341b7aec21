import {
  bit,
  type ControlHandle,
  hotAggregation,
  int32,
  ipv4Forwarding,
  program,
  type Steps,
  type Table,
} from "gradplane";
import { describe, expect, test } from "vitest";
import { codes, findings, small } from "./findings.ts";

describe("a table is applied once on each path", () => {
  const applied = (apply: (s: Steps, t: Table, other: Table) => void) => () =>
    small((p) => {
      const m = p.metadata("m", bit(8));
      const c = p.control("c", "ingress");
      const hit = c.action("hit", {}, (a) => a.set(m, 1));
      const [t, other] = ["t", "other"].map((name) => c.table(name, { key: {}, actions: [hit], size: 1 }));
      c.apply((s) => {
        if (t === undefined || other === undefined) return;
        apply(s, t, other);
      });
      p.ingress("route", (s) => {
        s.invoke(c);
        s.if(m.eq(1), (then) => then.drop());
      });
    });

  test("a table that comes again after another is refused", () => {
    const found = findings(
      applied((s, t, other) => {
        s.apply(t);
        s.apply(other);
        s.apply(t);
      }),
    );
    expect(found.map((d) => d.code)).toEqual(["GP1501"]);
    expect(found[0]?.message).toMatch(/^table c\.t is applied twice on one path; first in line \d+$/);
  });

  test("a table that is applied again on its own hit is refused", () => {
    const build = applied((s, t, other) => {
      s.apply(t, { hit: (then) => then.apply(t) });
      s.apply(other);
    });
    expect(codes(build)).toEqual(["GP1501"]);
  });

  test("a table in both branches that go on alike is right for every target", () => {
    const build = applied((s, t, other) =>
      s.apply(other, { hit: (then) => then.apply(t), miss: (then) => then.apply(t) }),
    );
    expect(codes(build)).toEqual([]);
  });

  test("a table in both branches with its own consequences is refused for v1model alone", () => {
    const build = applied((s, t, other) =>
      s.apply(other, {
        hit: (then) => then.apply(t, { hit: (found) => found.drop() }),
        miss: (then) => then.apply(t),
      }),
    );
    expect(findings(build).map((d) => [d.code, d.target])).toEqual([["GP1501", "v1model"]]);
  });

  test("a control invoked twice on one path applies its tables twice", () => {
    const found = findings(() =>
      small((p) => {
        const c = p.control("c", "ingress");
        const t = c.table("t", { key: {}, actions: [], size: 1 });
        c.apply((s) => s.apply(t));
        p.ingress("route", (s) => s.invoke(c));
        p.ingress("deliver", (s) => s.invoke(c));
      }),
    );
    expect(found.map((d) => d.code)).toEqual(["GP1501"]);
  });
});

describe("a register belongs to one control of one direction", () => {
  test("use in ingress and in egress is refused with the place of the wrong one", () => {
    const found = findings(() =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        const into = p.control("into", "ingress");
        const after = p.control("after", "egress");
        const r = into.register("r", bit(8), 256);
        into.apply((s) => s.update(r, { index: m, next: (old) => old.add(1) }));
        after.apply((s) => s.update(r, { index: m, next: (old) => old.add(1) }));
        p.ingress("route", (s) => s.invoke(into));
        p.egress("route", (s) => s.invoke(after));
      }),
    );
    expect(found.map((d) => [d.code, d.target])).toEqual([["GP1505", undefined]]);
    expect(found[0]?.message).toContain("register into.r is used outside its control");
  });

  test("two accesses on different paths are right", () => {
    const build = () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        const c = p.control("c", "ingress");
        const r = c.register("r", bit(8), 256);
        const add = (s: Steps, by: number) => s.update(r, { index: m, next: (old) => old.add(by) });
        c.apply((s) =>
          s.if(
            m.eq(0),
            (then) => add(then, 1),
            (then) => add(then, 2),
          ),
        );
        p.ingress("route", (s) => s.invoke(c));
      });
    expect(codes(build)).toEqual([]);
  });

  test("two accesses by actions of tables on one path are an error for Tofino, with the first place", () => {
    const found = findings(() =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        const c = p.control("c", "ingress");
        const r = c.register("r", bit(8), 256);
        const [one, two] = ["one", "two"].map((name) => {
          const a = c.action(`add_${name}`, {}, (s) => s.update(r, { index: m, next: (old) => old.add(1) }));
          return c.table(name, { key: {}, actions: [a], size: 1 });
        });
        c.apply((s) => {
          for (const t of [one, two]) if (t !== undefined) s.apply(t);
        });
        p.ingress("route", (s) => s.invoke(c));
      }),
    );
    expect(found.map((d) => [d.code, d.target])).toEqual([["GP1601", "tna"]]);
    expect(found[0]?.message).toMatch(/^register c\.r is used twice on one path; first in line \d+$/);
  });
});

describe("the output port", () => {
  const ending = (steps: (s: Steps, c: ControlHandle) => void) =>
    codes(() =>
      program("ending", {
        ports: 4,
        features: [
          {
            name: "f",
            build: (p) => {
              const m = p.metadata("m", bit(8));
              const c = p.control("c", "ingress");
              c.apply((s) => s.if(m.eq(0), (then) => then.drop()));
              p.ingress("deliver", (s) => steps(s, c));
            },
          },
        ],
      }),
    );

  test("set on one path only is a warning", () => {
    expect(ending((s, c) => s.invoke(c))).toEqual(["GP1504"]);
  });

  test("set on every path is right, whether by drop, port or exit after either", () => {
    expect(
      ending((s, c) => {
        s.invoke(c);
        s.drop();
        s.exit();
      }),
    ).toEqual([]);
  });
});

test("a big program is checked in one walk: 32 lanes give no finding", () => {
  const built = program("libra", {
    ports: 32,
    cpuPort: 510,
    features: [
      ipv4Forwarding(),
      hotAggregation({ workers: 32, lanes: 32, rows: 1024, mode: int32, result: "ps" }),
    ],
  });
  expect(built.warnings).toEqual([]);
});
