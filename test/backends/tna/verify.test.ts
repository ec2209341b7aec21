import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { generate } from "../../../src/backends/index.ts";
import { type Compilers, findCompilers } from "../../../src/backends/tna/verify/compilers.ts";
import { stageFigures } from "../../../src/backends/tna/verify/figures.ts";
import { figuresText, findingsOf, verifyTna } from "../../../src/backends/tna/verify/index.ts";
import { compilerMessages } from "../../../src/backends/tna/verify/messages.ts";
import type { Program } from "../../../src/ir/index.ts";
import { forwarding } from "../programs.ts";

const scratch = mkdtempSync(join(tmpdir(), "gradplane-verify-test-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let made = 0;

/** A program that stands in for a tool: a body of JavaScript, with `fs`, the arguments and the folder of `-o`. */
function fake(body: string): string {
  const path = join(scratch, `tool${made++}`);
  const head = `const fs = require("node:fs"); const args = process.argv.slice(2); const out = args[args.indexOf("-o") + 1];`;
  writeFileSync(path, `#!${process.execPath}\n${head}\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

const stage = (number: number, tables: readonly string[]) => ({
  stage_number: number,
  logical_tables: { size: 16, ids: tables.map((table_name, id) => ({ id, table_name })) },
  meter_alus: {
    meters: [
      { row: 1, usages: [{ used_by: "r", used_for: "stateful_ram" }] },
      { row: 3, usages: [{ used_by: "m", used_for: "meter_ram" }] },
    ],
  },
  statistic_alus: { stats: [] },
  rams: { srams: [{ row: 0, column: 2 }] },
  map_rams: { maprams: [{}, {}] },
  tcams: { tcams: [] },
  gateways: { gateways: [{}] },
  xbar_bytes: {
    bytes: [{ byte_type: "exact" }, { byte_type: "exact" }, { byte_type: "ternary" }],
  },
  hash_bits: { bits: [{}] },
  hash_distribution_units: { units: [] },
  action_bus_bytes: { bytes: [{}, {}, {}] },
  vliw: { instructions: [{}] },
});
const report = {
  resources: { mau: { nStages: 12, mau_stages: [stage(0, ["forwarding.routes", "cond-1"])] } },
};
const container = (phv_number: number) => ({
  container_type: "normal",
  bit_width: 32,
  phv_number,
  slices: [],
});
// A container that several fields share is there twice.
const phv = { containers: [container(0), container(0), container(1)] };

function compiler({
  assembly = "stage 0 ingress:\n",
  text = JSON.stringify(report),
  after = "",
} = {}): string {
  return fake(`
    fs.mkdirSync(out + "/pipe/logs", { recursive: true });
    fs.writeFileSync(out + "/pipe/p.bfa", ${JSON.stringify(assembly)});
    fs.writeFileSync(out + "/pipe/logs/resources.json", ${JSON.stringify(text)});
    fs.writeFileSync(out + "/pipe/logs/phv.json", ${JSON.stringify(JSON.stringify(phv))});
    ${after}`);
}
const assembler = fake('fs.writeFileSync("tofino.bin", "");');

const p4 = (p: Program): ReadonlyMap<string, string> =>
  new Map(
    [...generate(p, { targets: ["tna"] })].flatMap(([path, text]): readonly [string, string][] =>
      typeof text === "string" && path.startsWith("tna/") ? [[path.slice(4), text]] : [],
    ),
  );
const verify = (compilers: Partial<Compilers>) =>
  verifyTna(p4(forwarding()), "forward.p4", { compiler: compiler(), assembler, ...compilers });

describe("Tofino's compilers", () => {
  it("are named by the environment, or on its PATH", () => {
    const [one, other] = [compiler(), assembler];
    expect(findCompilers({ P4C_BAREFOOT: one, BFAS: other })).toEqual({ compiler: one, assembler: other });
  });

  it("are asked for in one line when they are missing, also when the variable names nothing", () => {
    expect(findCompilers({ PATH: scratch })).toMatch(
      /^p4c-barefoot and bfas not found: .*P4C_BAREFOOT and BFAS$/,
    );
    expect(findCompilers({ PATH: scratch, P4C_BAREFOOT: assembler, BFAS: join(scratch, "no") })).toMatch(
      /^bfas not found: .* in BFAS$/,
    );
  });
});

describe("a program fits", () => {
  it("when both tools end well, there is a binary, and the assembly has at most 12 stages", async () => {
    const found = await verify({});
    expect(found).toMatchObject({
      kind: "fits",
      figures: {
        stages: 1,
        perStage: [
          {
            stage: 0,
            logicalTables: ["forwarding.routes", "cond-1"],
            meterAlus: 2,
            statefulAlus: 1,
            sram: 1,
            mapRam: 2,
            exactCrossbarBytes: 2,
            ternaryCrossbarBytes: 1,
            actionBusBytes: 3,
          },
        ],
        containers: expect.arrayContaining([{ kind: "normal", bits: 32, used: 2, of: 64 }]),
      },
    });
    if (found.kind === "fits") expect(figuresText(found.figures)).toContain("2 of 64 of 32 bits");
  });

  it("and not by an exit code alone: tables behind the last stage (pitfall of the compiler)", async () => {
    const assembly = "stage 0 ingress:\nstage 12 egress:\n";
    expect(await verify({ compiler: compiler({ assembly }) })).toMatchObject({
      kind: "refused",
      by: "stages",
      messages: [{ text: "13 stages, and there are 12" }],
    });
  });

  it("and not without a report or a binary", async () => {
    expect(await verify({ compiler: compiler({ text: "{" }) })).toMatchObject({
      kind: "refused",
      by: "p4c-barefoot",
    });
    expect(await verify({ compiler: fake("") })).toMatchObject({
      kind: "refused",
      messages: [{ text: "p4c-barefoot ended with 0 and without a result" }],
    });
    expect(await verify({ assembler: fake("") })).toMatchObject({
      kind: "refused",
      by: "bfas",
      messages: [{ text: "bfas ended with 0 and without a result" }],
    });
  });

  it("and not when a tool is ended from outside, or cannot be started", async () => {
    expect(await verify({ assembler: fake('process.kill(process.pid, "SIGKILL");') })).toMatchObject({
      kind: "refused",
      messages: [{ text: "bfas ended by SIGKILL" }],
    });
    expect(await verify({ compiler: join(scratch, "nowhere") })).toMatchObject({
      kind: "refused",
      messages: [{ text: expect.stringMatching(/^p4c-barefoot spawn .* ENOENT$/) }],
    });
  });
});

describe("what the compiler says", () => {
  const said = [
    "controls/forwarding.p4(40): [--Wwarn=unused] warning: 'x' is unused",
    "    bit<8> x;",
    "           ^",
    "controls/forwarding.p4(20): error: forwarding.route: action spanning multiple stages.",
    "    action route(",
    "           ^^^^^",
    "warning: Parser state min_parse_depth_accept_loop will be unrolled up to 4 times due to @pragma max_loop_depth.",
    "error: table placement cannot make any more progress.",
    "  needs 3 more",
    "",
    "2 errors, 1 warning generated.",
  ].join("\n");

  it("is read with its place in the emitted text, without the source lines and the count", () => {
    expect(compilerMessages(said)).toEqual([
      { severity: "warning", text: "'x' is unused", file: "controls/forwarding.p4", line: 40 },
      {
        severity: "error",
        text: "forwarding.route: action spanning multiple stages.",
        file: "controls/forwarding.p4",
        line: 20,
      },
      { severity: "error", text: "table placement cannot make any more progress.\n  needs 3 more" },
    ]);
  });

  it("is the reason of a refusal", async () => {
    const refusing = compiler({
      after: `process.stderr.write(${JSON.stringify(said)}); process.exitCode = 1;`,
    });
    expect(await verify({ compiler: refusing })).toMatchObject({
      kind: "refused",
      by: "p4c-barefoot",
      messages: [{ severity: "error", line: 20 }, { severity: "error" }],
    });
  });

  it("is shown at the user's own line, by where it points or by the name in it", () => {
    const at = { file: "/program.ts", line: 7, column: 3 };
    const program = forwarding();
    const placed: Program = {
      ...program,
      controls: program.controls.map((c) => ({
        ...c,
        tables: c.tables.map((t) => ({ ...t, at })),
        actions: c.actions.map((a) => ({ ...a, at: { ...at, line: 8 } })),
      })),
    };
    const files = p4(placed);
    const text = files.get("controls/forwarding.p4") ?? "";
    const line = text.split("\n").findIndex((l) => l.includes("table routes")) + 1;
    const found = findingsOf(
      [
        { severity: "error", text: "no room", file: "controls/forwarding.p4", line },
        { severity: "error", text: "SwitchIngress.forwarding.route does not fit" },
        { severity: "error", text: "nothing of ours" },
        { severity: "error", text: "too complex", file: "/tmp/p4/controls/forwarding.p4", line: 1 },
      ],
      placed,
      { files, places: new Map([["controls/forwarding.p4", new Map([[1, { ...at, line: 9 }]])]]) },
    );
    expect(found.map((d) => d.at?.line)).toEqual([7, 8, undefined, 9]);
    expect(found[0]?.code).toBe("GP1899");
  });

  it("a report without the lists that it should have is not read as a program without tables", () => {
    expect(() => stageFigures(JSON.stringify({ resources: { mau: {} } }))).toThrow(/mau_stages/);
  });
});
