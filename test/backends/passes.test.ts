import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkTna, generate } from "../../src/backends/index.ts";
import { check } from "../../src/ir/check/check.ts";
import type { Program, Statement } from "../../src/ir/index.ts";
import { bit } from "../../src/ir/index.ts";
import { Switch } from "../../src/switch/switch.ts";
import { assign, constant, field, intrinsic, meta, program } from "./nodes.ts";
import { passes, passesModel } from "./passesprogram.ts";

const load = (p: Program): Switch => {
  const json = generate(p).get(`${p.name}.json`);
  return typeof json === "string" ? new Switch(json) : expect.fail("no JSON");
};

const packet = fc.tuple(
  fc.integer({ min: 0, max: 4 }),
  fc.integer({ min: 0, max: 4 }),
  ...Array.from({ length: 3 }, () => fc.integer({ min: 0, max: 255 })),
);

describe("packets that go through ingress more than once", () => {
  it.each([false, true])("do what the model does (recirculated ones keep metadata: %s)", (keeps) => {
    const p = passes(keeps);
    expect(check(p)).toEqual([]);
    const s = load(p);
    fc.assert(
      fc.property(packet, (bytes) => {
        const out = s.inject(1, Uint8Array.from(bytes)).map((o) => ({ port: o.port, bytes: [...o.data] }));
        const expected = passesModel(bytes, keeps);
        expect(out).toEqual(expected === undefined ? [] : [expected]);
      }),
    );
  });

  it("are marked for v1model by lists of what they keep", () => {
    const files = generate(passes(true));
    expect(files.get("v1model/headers.p4")).toMatch(/@field_list\(2\) bit<8> tag;/);
    expect(files.get("v1model/controls/passes.p4")).toContain("resubmit_preserving_field_list(2);");
    expect(files.get("v1model/egress.p4")).toMatch(
      /meta\.again == 2\) \{\s+recirculate_preserving_field_list\(2\);/,
    );
  });

  it("are as reviewed for Tofino", async () => {
    for (const [path, text] of generate(passes(), { targets: ["tna"] }))
      if (/^tna\/.*p4$/.test(path)) await expect(text).toMatchFileSnapshot(`golden/passes/${path}`);
  });

  const x = meta("x", bit(32));
  const wide = meta("wide", bit(48));
  const port = assign(intrinsic("egress_port"), constant(1, bit(9)));
  const with_ = (...ingress: readonly Statement[]): Program =>
    program("p", {
      metadata: [
        { name: "x", type: bit(32) },
        { name: "wide", type: bit(48) },
      ],
      ingress,
    });

  it.each<readonly [string, string, Program]>([
    ["GP1844", "keep more than 64 bits", with_({ kind: "resubmit", keep: [x, wide] })],
    [
      "GP1844",
      "keep different metadata",
      with_({ kind: "resubmit", keep: [x] }, { kind: "resubmit", keep: [] }),
    ],
    ["GP1844", "are dropped afterwards", with_({ kind: "resubmit", keep: [] }, { kind: "drop" })],
    ["GP1845", "keep metadata as they recirculate", with_({ kind: "recirculate", keep: [x] })],
    ["GP1845", "get an output port after they recirculate", with_({ kind: "recirculate", keep: [] }, port)],
  ])("%s on Tofino if they %s", (code, _, p) => {
    expect([...new Set(checkTna(p).map((d) => d.code))]).toEqual([code]);
  });

  it("start again in ingress only, and keep nothing but metadata", () => {
    const header = field("h", "f", bit(8));
    const inEgress = { ...with_(port), egress: [{ kind: "resubmit" as const, keep: [] }] };
    expect(check(inEgress).map((d) => d.code)).toContain("GP1502");
    // Data that the type system did not make.
    const wrong = JSON.parse(JSON.stringify({ kind: "resubmit", keep: [header] }));
    expect(check(with_(wrong)).map((d) => d.code)).toContain("GP1502");
  });
});
