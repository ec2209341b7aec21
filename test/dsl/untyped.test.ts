import {
  type Bool,
  bit,
  exactly,
  type Feature,
  intrinsic,
  type MatchField,
  type Num,
  program,
  type Update,
  type Variable,
  value,
} from "gradplane";
import { describe, expect, test } from "vitest";
import type { BitType } from "../../src/ir/index.ts";
import { findings, inControl, sendAll, small } from "../ir/findings.ts";

/** `gradplane check` runs programs without a type checker: what that would refuse is refused with a code and a place all the same. */
const mistakes: readonly (readonly [string, () => unknown, string, RegExp])[] = [
  [
    "=== in a condition",
    () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        const isOne: unknown = (m as unknown) === 1;
        p.ingress("route", (s) => s.if(isOne as Bool, (then) => then.drop()));
      }),
    "GP1104",
    /a condition is false, which JavaScript has computed: write field\.eq\(5\)/,
  ],
  [
    "a comparison by JavaScript behind and()",
    () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        p.ingress("route", (s) => s.if(m.eq(1).and(true as unknown as Bool), (then) => then.drop()));
      }),
    "GP1104",
    /a condition is true/,
  ],
  [
    "a sum by JavaScript",
    () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        p.ingress("route", (s) => s.set(m, Number.NaN));
      }),
    "GP1101",
    /NaN is not an exact integer for bit<8>: JavaScript's operators do not work on fields; write field\.add\(1\)/,
  ],
  [
    "an address as a text",
    () =>
      small((p) => {
        const m = p.metadata("m", bit(32));
        p.ingress("route", (s) => s.set(m, "10.0.0.1" as unknown as number));
      }),
    "GP1101",
    /10\.0\.0\.1 is not an exact integer for bit<32>: write the number/,
  ],
  [
    "a write to a constant",
    () =>
      small((p) => {
        const k = p.constant("K", bit(8), 5);
        p.ingress("route", (s) => s.set(k as Num as Variable, 6));
      }),
    "GP1502",
    /a constant cannot be written/,
  ],
  [
    "a write to a sum",
    () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        p.ingress("route", (s) => s.set(m.add(1) as Variable, 6));
      }),
    "GP1502",
    /what is computed cannot be written/,
  ],
  [
    "a match field that does not say how it matches",
    () =>
      inControl((c) => {
        const no = c.action("no", {}, (a) => a.drop());
        const port = intrinsic.ingress_port as unknown as MatchField;
        const t = c.table("t", { key: { port }, actions: [no], size: 4 });
        c.apply((s) => s.apply(t));
      }),
    "GP1701",
    /table tested\.t: match field port says not how it is matched; write port: exactly\(\.\.\.\)/,
  ],
  [
    "an option of a table that there is not",
    () =>
      inControl((c) => {
        const no = c.action("no", {}, (a) => a.drop());
        const options = {
          key: { port: exactly(intrinsic.ingress_port) },
          actions: [no],
          size: 4,
          default: no.with({}),
        };
        const t = c.table("t", options);
        c.apply((s) => s.apply(t));
      }),
    "GP1701",
    /table tested\.t has no option default; its options are .*defaultAction/,
  ],
  [
    "an entry with a field that the table does not match",
    () =>
      inControl((c) => {
        const no = c.action("no", {}, (a) => a.drop());
        const key: { readonly port: number } = { port: 1, ...{ prt: 2 } };
        const t = c.table("t", {
          key: { port: exactly(intrinsic.ingress_port) },
          actions: [no],
          size: 4,
          entries: [{ key, run: no.with({}) }],
        });
        c.apply((s) => s.apply(t));
      }),
    "GP1405",
    /there is no match field prt \(it has port\)/,
  ],
  [
    "an update that says not what becomes of the cell",
    () =>
      inControl((c) => {
        const r = c.register("r", bit(32), 4);
        const update = { index: value(bit(2), 1) } as unknown as Update<BitType<32>>;
        c.apply((s) => s.update(r, update));
      }),
    "GP1701",
    /update of tested\.r: next is missing/,
  ],
  [
    "an update with an option that there is not",
    () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(32));
        const r = c.register("r", bit(32), 4);
        const update = { index: value(bit(2), 1), next: (old: Num<BitType<32>>) => old.add(1), out: m };
        c.apply((s) => s.update(r, update));
      }),
    "GP1701",
    /update of tested\.r has no option out; its options are index, next, output, into/,
  ],
  [
    "a build that returns a promise",
    () => {
      const late: Feature = {
        name: "late",
        build: (async () => {}) as () => void,
      };
      return program("waiting", { ports: 4, features: [late, sendAll] });
    },
    "GP1701",
    /feature late: build returns a promise/,
  ],
];

describe("a mistake that a type checker would find", () => {
  test.each(mistakes)("%s has a code and a place", (_, run, code, message) => {
    const found = findings(run as Parameters<typeof findings>[0]);
    expect(found.map((d) => d.code)).toContain(code);
    const named = found.find((d) => d.code === code);
    expect(named?.message).toMatch(message);
    expect(named?.at?.file).toMatch(/untyped\.test\.ts$/);
  });

  test("a right one has none", () => {
    expect(
      findings(() =>
        inControl((c) => {
          const no = c.action("no", {}, (a) => a.drop());
          const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [no], size: 4 });
          c.apply((s) => s.apply(t));
        }),
      ),
    ).toEqual([]);
  });
});
