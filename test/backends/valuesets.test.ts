import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkTna, generate } from "../../src/backends/index.ts";
import { bit, program as build } from "../../src/dsl/index.ts";
import { check } from "../../src/ir/check/check.ts";
import type { Program } from "../../src/ir/index.ts";
import { Switch } from "../../src/switch/switch.ts";
import { assign, constant, field } from "./nodes.ts";
import { findTools } from "./tools.ts";
import { valueSets } from "./valuesetsprogram.ts";

const { p4c } = findTools({ p4c: ["P4C", "p4c-bm2-ss"] });

function ours(): string {
  const json = generate(valueSets()).get("value_sets.json");
  return typeof json === "string" ? json : expect.fail("no JSON");
}

/** p4c's JSON of the emitted P4. */
function theirs(compiler: string): string {
  const folder = mkdtempSync(join(tmpdir(), "gradplane-"));
  for (const [path, content] of generate(valueSets())) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  execFileSync(compiler, ["-o", join(folder, "p4c.json"), join(folder, "v1model/value_sets.p4")]);
  return readFileSync(join(folder, "p4c.json"), "utf8");
}

const kinds = [2n, 9n];
const tunnels = [
  [1n, 80n],
  [3n, 0xffffn],
] as const;

/** What the parser finds, in plain numbers. */
function model([kind = 0, high = 0, low = 0, third = 0]: readonly number[]): readonly number[] {
  const port = high * 256 + low;
  if (kind !== 1 && kinds.includes(BigInt(kind))) return [kind, high, low, 0x11];
  const isTunnel = tunnels.some(([k, p]) => k === BigInt(kind) && p === BigInt(port));
  return [kind, high, low, isTunnel || port === 7 ? 0x22 : third];
}

describe("value sets", () => {
  const sources = [
    ["ours", ours] as const,
    ...(p4c === undefined ? [] : [["p4c's", () => theirs(p4c)] as const]),
  ];
  it.each(sources)("select as the control plane has set them, by %s JSON", (_, json) => {
    const s = new Switch(json());
    s.valueSets.get("kinds")?.set(kinds);
    s.valueSets.get("tunnels")?.set(tunnels.map(([kind, port]) => (kind << 16n) | port));
    const kind = fc.constantFrom(0, 1, 2, 3, 9);
    const port = fc.constantFrom([0, 80], [0, 7], [255, 255], [1, 2]);
    fc.assert(
      fc.property(kind, port, fc.integer({ min: 0, max: 255 }), (k, p, third) => {
        const bytes = [k, ...p, third];
        expect(s.inject(0, Uint8Array.from(bytes)).map((o) => [...o.data])).toEqual([model(bytes)]);
      }),
    );
  });

  it("are in the P4Info with their fields", () => {
    expect(generate(valueSets()).get("p4info.txtpb")).toMatch(
      /value_sets \{\s+preamble \{\s+id: \d+\s+name: "tunnels"[\s\S]*?name: "kind"\s+bitwidth: 8\s+match_type: EXACT[\s\S]*?name: "port"\s+bitwidth: 16/,
    );
  });

  it("are as reviewed for Tofino", async () => {
    for (const [path, text] of generate(valueSets(), { targets: ["tna"] }))
      if (/^tna\/.*p4$/.test(path)) await expect(text).toMatchFileSnapshot(`golden/value_sets/${path}`);
  });

  it("can be written in the DSL", () => {
    const p = build("dsl_sets", {
      ports: 2,
      features: [
        {
          name: "sets",
          build: (b) => {
            const h = b.parser.state("start");
            const set = b.parser.valueSet("ports", { port: bit(9) }, { size: 2, doc: "trusted ports" });
            const found = b.metadata("found", bit(9));
            h.set(found, 0).select(found).onMember(set, "accept").otherwise("reject");
            b.ingress("route", (s) => s.drop());
          },
        },
      ],
    }).ir;
    expect(check(p).filter((d) => !d.code.startsWith("GP16"))).toEqual([]);
    expect(generate(p).get("v1model/parser.p4")).toMatch(
      /value_set<ports_t>\(2\) ports;[\s\S]*ports: accept;/,
    );
  });

  const wrong = (change: (p: Program) => Program) => [
    ...new Set(check(change(valueSets())).map((d) => d.code)),
  ];

  it.each<readonly [string, (p: Program) => Program]>([
    ["has no room", (p) => ({ ...p, valueSets: p.valueSets?.map((v) => ({ ...v, size: 0 })) ?? [] })],
    [
      "has other fields than the keys",
      (p) => ({
        ...p,
        valueSets: p.valueSets?.map((v) => ({ ...v, fields: [...v.fields].reverse() })) ?? [],
      }),
    ],
    ["is not declared", (p) => ({ ...p, valueSets: p.valueSets?.slice(0, 1) ?? [] })],
    [
      "is asked by nobody",
      (p) => ({
        ...p,
        valueSets: [...(p.valueSets ?? []), { name: "idle", fields: [{ name: "a", type: bit(8) }], size: 1 }],
      }),
    ],
  ])("GP1320 if one %s", (_, change) => {
    expect(wrong(change)).toEqual(["GP1320"]);
  });

  it("cannot be asked again in Tofino's egress", () => {
    const p = valueSets();
    const egress = [assign(field("one", "found", bit(8)), constant(1, bit(8)))];
    expect(checkTna({ ...p, egress }).map((d) => d.code)).toContain("GP1832");
  });
});
