/**
 * p4c's own sample programs on both switches, for those who have them:
 *   P4C=.../p4c-bm2-ss SIMPLE_SWITCH_GRPC=.../simple_switch_grpc P4C_SAMPLES=.../p4c/testdata/p4_16_samples npx vitest run ...
 * A few here; `differential/run.ts` takes any.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import router from "../../examples/router/program.ts";
import { generate } from "../../src/backends/index.ts";
import { p4infoFromText } from "../../src/p4info/index.ts";
import { readProgram, Switch } from "../../src/switch/index.ts";
import { Dice } from "../backends/dice.ts";
import { findTools } from "../backends/tools.ts";
import { compare } from "./differential/compare.ts";
import { fillRandomly } from "./differential/entries.ts";
import { knownDifference } from "./differential/known.ts";
import { PacketMaker, packetsOfScript } from "./differential/packets.ts";

const tools = findTools({ p4c: ["P4C", "p4c-bm2-ss"], bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"] });
const { p4c, bmv2 } = tools;
const samples = process.env.P4C_SAMPLES;
const NAMES = ["basic_routing", "stack_complex", "issue1879", "checksum1", "ternary2", "union-valid"];

describe("random packets and entries for any program", () => {
  const files = generate(router.ir);
  const text = (path: string): string => {
    const found = files.get(path);
    if (typeof found !== "string") throw new Error(`no ${path}`);
    return found;
  };
  const json = text("router.json");
  const maker = new PacketMaker(readProgram(json), [], new Dice(3));
  const packets = Array.from({ length: 300 }, () => maker.make());

  it("take every way through the parser", () => {
    const states = new Set<string>();
    const sw = new Switch(json);
    sw.trace((event) => {
      if (event.kind === "parserState") states.add(event.name);
    });
    for (const { port, data } of packets) sw.inject(port, data);
    expect([...states].sort()).toEqual(["parse_ipv4", "parse_ports", "start"]);
  });

  it("hit entries of every table, behind others too", () => {
    const sw = new Switch(json);
    fillRandomly(sw, p4infoFromText(text("p4info.txtpb")), packets, () => new Switch(json), new Dice(3));
    const hit = new Set<string>();
    sw.trace((event) => {
      if (event.kind === "table" && event.hit) hit.add(event.table);
    });
    for (const { port, data } of packets) sw.inject(port, data);
    const tables = [...sw.tables.values()].filter((t) => t.description.key.length > 0).map((t) => t.name);
    expect([...hit].sort()).toEqual(tables.sort());
  });

  it("start from the packets of a script, and leave out programs that measure", () => {
    expect(packetsOfScript("add t x:1 a()\npacket 3 00 01ff # comment\nexpect 3 00")).toEqual([
      { port: 3, data: Uint8Array.of(0, 1, 0xff) },
    ]);
    const reads = { pipelines: [{ value: ["standard_metadata", "deq_qdepth"] }] };
    expect(knownDifference(JSON.stringify(reads))).toBe("reads deq_qdepth, which is measured");
    expect(knownDifference(json)).toBeUndefined();
  });
});

describe.skipIf(p4c === undefined || bmv2 === undefined || samples === undefined)("p4c's samples", () => {
  it.each(NAMES)(
    "%s does the same on simple_switch_grpc",
    async (name) => {
      const file = join(samples ?? "", `${name}-bmv2.p4`);
      const options = { p4c: p4c ?? "", bmv2: bmv2 ?? "", packets: 200, seed: 5 };
      expect(await compare(file, options)).toMatchObject({ kind: "same" });
    },
    300_000,
  );
});
