import { bit, value } from "gradplane";
import { describe, expect, test } from "vitest";
import { check } from "../../src/ir/check/check.ts";
import { bool, type Program } from "../../src/ir/index.ts";
import { describeWrong, emptyProgram, findings, inControl } from "./findings.ts";
import { fields, withTable, wrongExterns, wrongExternsFile } from "./wrongexterns.ts";

describeWrong(wrongExternsFile, wrongExterns);

test("selectors and profiles that are right give no finding", () => {
  const found = findings(() =>
    inControl((c, p) => {
      const f = fields(p);
      const keys = [f.x, f.y];
      withTable(c, f, c.actionSelector("hops", { size: 8, algorithm: "crc32", keys, maxGroupSize: 8 }), "a");
      withTable(c, f, c.actionProfile("members", { size: 1 }), "b");
      c.apply((s) => {
        s.hash(f.x, { algorithm: "crc32", fields: [f.wide, f.y], base: 1, buckets: 65535 });
        s.hash(f.y.bits(3, 0), { algorithm: "identity", fields: [f.x] });
        s.random(f.y);
        s.random(f.x, f.y.cast(bit(16)), 300);
        s.random(f.x.bits(2, 0), value(bit(3), 1));
      });
    }),
  );
  expect(found).toEqual([]);
});

describe("what the DSL's types refuse", () => {
  const yes = { kind: "constant", value: 1n, type: bool } as const;
  const x = { kind: "metadata", name: "x", type: bit(8) } as const;
  const withMetadata = (more: Partial<Program>): Program => ({
    ...emptyProgram,
    metadata: [{ name: "x", type: bit(8) }],
    ...more,
  });

  test("a hash of a truth, and of an algorithm that is not there", () => {
    const hash = { kind: "hash", algorithm: "crc16", fields: [yes], base: 0n, into: x } as const;
    const unknown = { ...hash, algorithm: "md5" as "crc16", fields: [x] };
    const found = check(withMetadata({ ingress: [hash, unknown, ...emptyProgram.ingress] }));
    expect(found.map((d) => [d.code, d.message])).toEqual([
      ["GP1109", "a hash of a truth; make a bit of it: condition.toBit()"],
      ["GP1109", "there is no algorithm md5; there are crc16, crc32, csum16, xor16, identity"],
    ]);
  });

  test("entries and default actions beside an action profile", () => {
    const call = { action: "c.a", arguments: [] };
    const found = check(
      withMetadata({
        controls: [
          {
            name: "c",
            gress: "ingress",
            actions: [{ name: "c.a", parameters: [], body: [] }],
            tables: [
              {
                name: "c.t",
                key: [{ name: "x", expression: x, match: "exact" }],
                actions: ["c.a"],
                size: 4,
                defaultAction: { ...call, constant: false },
                constEntries: [{ ...call, keys: [{ kind: "value", value: 1n }] }],
                implementation: "c.p",
              },
            ],
            registers: [],
            counters: [],
            actionProfiles: [{ name: "c.p", size: 4 }],
            meters: [],
            digests: [],
            apply: [{ kind: "applyTable", table: "c.t", hit: [], miss: [] }],
          },
        ],
        ingress: [{ kind: "applyControl", control: "c" }, ...emptyProgram.ingress],
      }),
    );
    expect(found.map((d) => [d.code, d.message])).toEqual([
      ["GP1410", "table c.t has entries of its own"],
      ["GP1410", "table c.t has default action c.a, which BMv2 would not run"],
    ]);
  });
});

test("a hash into egress_port sets the output", () => {
  const into = { kind: "intrinsic", name: "egress_port", type: bit(9) } as const;
  const x = { kind: "metadata", name: "x", type: bit(8) } as const;
  const hash = { kind: "hash", algorithm: "crc16", fields: [x], base: 0n, buckets: 4n, into } as const;
  const program: Program = { ...emptyProgram, metadata: [{ name: "x", type: bit(8) }], ingress: [hash] };
  expect(check(program)).toEqual([]);
});
