import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkTna, generate } from "../../../src/backends/index.ts";
import { withIncrementalChecksums } from "../../../src/backends/tna/checksums.ts";
import type { Checksum, Expression, Program, Statement } from "../../../src/ir/index.ts";
import { bit, widthOf } from "../../../src/ir/index.ts";
import { arithmetic, assign, constant, field } from "../nodes.ts";
import { tofinoExterns } from "./externsprogram.ts";
import { nat } from "./natprogram.ts";

const files = (p: Program): ReadonlyMap<string, string> =>
  new Map(
    [...generate(p, { targets: ["tna"] })].flatMap(([path, text]) =>
      /^tna\/.*p4$/.test(path) && typeof text === "string" ? [[path, text] as const] : [],
    ),
  );

const incrementalOf = (p: Program) =>
  withIncrementalChecksums(p, (code, message) => expect.fail(`${code} ${message}`)).incremental;

/** Ones' complement sum of 16-bit words (RFC 1071). */
function sum(parts: readonly (readonly [bigint, number])[]): bigint {
  const bits = parts.map(([value, width]) => value.toString(2).padStart(width, "0")).join("");
  let total = 0n;
  for (let i = 0; i < bits.length; i += 16) total += BigInt(`0b${bits.slice(i, i + 16).padEnd(16, "0")}`);
  while (total > 0xffffn) total = (total & 0xffffn) + (total >> 16n);
  return total;
}

describe("externs on Tofino", () => {
  it.each([tofinoExterns(), nat()])("are as reviewed ($name)", async (p) => {
    for (const [path, text] of files(p))
      await expect(text).toMatchFileSnapshot(`../golden/${p.name}/${path}`);
  });

  it("has no line over 100 columns", () => {
    for (const p of [tofinoExterns(), nat()])
      for (const text of files(p).values())
        for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  });

  it("hashes what BMv2 hashes: the last byte filled with zeros", () => {
    const text = files(tofinoExterns()).get("tna/controls/hashing.p4");
    expect(text).toContain("parts_rest_hash_2.get({ hdr.op.b, hdr.op.d[2:0], 5w0 })");
  });

  it("meters before the action, as v1model does, and knows red as 2", () => {
    const text = files(tofinoExterns()).get("tna/controls/police.p4") ?? "";
    expect(text).toContain("DirectMeter(MeterType_t.PACKETS, 2, 1, 0) rate;");
    expect(text).toMatch(/action pass\(bit<8> mask\) \{\s+meta\.entry_colour = \(bit<2>\)rate\.execute\(\);/);
  });

  it("sends a digest with the values as they were at its statement", () => {
    const police = files(tofinoExterns()).get("tna/controls/police.p4") ?? "";
    expect(police.indexOf("meta.seen_next = hdr.op.c + 1;")).toBeLessThan(police.indexOf("hdr.op.c = 0;"));
    expect(files(tofinoExterns()).get("tna/deparser.p4")).toContain(
      "seen.pack({meta.seen_a, meta.seen_signed, meta.seen_next});",
    );
  });
});

describe("checksums over the payload on Tofino", () => {
  it("take out what ingress may write and put it in again: what was right stays right", () => {
    const p = nat();
    for (const c of incrementalOf(p)) {
      const whole = p.checksums.find((x) => x.header === c.target.header)?.fields ?? [];
      const written = new Set(
        c.taken.flatMap((t) =>
          t.fields.flatMap((f) => (f.kind === "field" ? [`${f.header}.${f.field}`] : [])),
        ),
      );
      const names = [
        ...new Set(whole.flatMap((f) => (f.kind === "field" ? [`${f.header}.${f.field}`] : []))),
      ];
      fc.assert(
        fc.property(
          fc.array(fc.bigInt({ min: 0n, max: 0xffff_ffffn }), {
            minLength: names.length,
            maxLength: names.length,
          }),
          fc.array(fc.bigInt({ min: 0n, max: 0xffff_ffffn }), {
            minLength: names.length,
            maxLength: names.length,
          }),
          fc.bigInt({ min: 1n, max: 0xffffn }),
          (before, after, payload) => {
            const at =
              (values: readonly bigint[], isNew: boolean) =>
              (e: Expression): readonly [bigint, number] => {
                const width = widthOf(e.type);
                if (e.kind !== "field") return [0n, width];
                const name = `${e.header}.${e.field}`;
                const from = isNew && !written.has(name) ? before : values;
                return [BigInt.asUintN(width, from[names.indexOf(name)] ?? 0n), width];
              };
            const full = (values: readonly bigint[], isNew: boolean): bigint =>
              0xffffn - sum([...whole.map(at(values, isNew)), [payload, 16]]);
            const old = full(before, false);
            const taken = c.taken.flatMap((t) => t.fields.filter((f) => f !== c.target));
            // The parser: minus what is taken out, the old checksum with it.
            const rest = 0xffffn - sum([...taken.map(at(before, false)), [old, 16]]);
            const incremental = 0xffffn - sum([...taken.map(at(after, true)), [rest, 16]]);
            // Both are a 0 of ones' complement at most.
            expect(incremental % 0xffffn).toBe(full(after, true) % 0xffffn);
          },
        ),
      );
    }
  });

  it("are left alone where ingress writes nothing of them", () => {
    const p = nat();
    const still = { ...p, controls: [], ingress: [] };
    expect(incrementalOf(still)).toEqual([]);
  });

  const checksum = field("udp", "checksum", bit(16));
  const off = assign(checksum, constant(0, bit(16)));

  it("stay off when ingress takes them off", () => {
    const text = files(nat([off])).get("tna/controls/translate.p4") ?? "";
    expect(text).toMatch(/hdr\.udp\.checksum = 0;\s+meta\.udp_checksum_given = 0;/);
  });

  it.each<readonly [string, readonly Statement[], Partial<Checksum>]>([
    ["is verified", [], { verify: true }],
    ["has a condition", [], { condition: { kind: "valid", type: { kind: "bool" }, header: "ipv4" } }],
    ["is not over the payload", [], { payload: false }],
    ["gets a value of its own", [assign(checksum, constant(7, bit(16)))], {}],
    ["is of a header that ingress adds", [{ kind: "setValidity", header: "udp", valid: true }], {}],
    [
      "is over half a written field",
      [],
      {
        fields: [
          {
            kind: "slice",
            operand: field("ipv4", "src_addr", bit(32)),
            high: 15,
            low: 0,
            type: bit(16),
          },
        ],
      },
    ],
  ])("are refused where one %s", (_, more, udp) => {
    expect(checkTna(nat(more, udp)).map((d) => d.code)).toEqual(["GP1838"]);
  });

  it("are refused where egress writes what they are over", () => {
    const p = nat();
    const ttl = field("ipv4", "dst_addr", bit(32));
    const egress = [assign(ttl, arithmetic(ttl, "+", constant(1, bit(32))))];
    expect([...new Set(checkTna({ ...p, egress }).map((d) => d.code))]).toEqual(["GP1838"]);
  });
});
