import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import libra from "../../examples/libra/program.ts";
import { generate } from "../../src/backends/index.ts";
import type { Program } from "../../src/ir/index.ts";
import { Switch } from "../../src/switch/switch.ts";
import { Dice } from "./dice.ts";
import { externs } from "./externsprogram.ts";
import { parserPrograms } from "./parserprograms.ts";
import { passes } from "./passesprogram.ts";
import { forwarding, zoo } from "./programs.ts";
import { randomProgram } from "./randomprogram.ts";
import { SimpleSwitch } from "./simpleswitch.ts";
import { tofinoExterns } from "./tna/externsprogram.ts";
import { nat } from "./tna/natprogram.ts";
import { findTools, run, writeFiles } from "./tools.ts";
import { fill, packetsFor } from "./traffic.ts";
import { valueSets } from "./valuesetsprogram.ts";

const tools = findTools({ p4c: ["P4C", "p4c-bm2-ss"], bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"] });
const scratch = mkdtempSync(join(tmpdir(), "gradplane-"));
const programs: readonly Program[] = [
  forwarding(),
  zoo(),
  externs(),
  tofinoExterns(),
  nat(),
  passes(),
  passes(true),
  valueSets(),
  libra.ir,
  ...parserPrograms,
  ...[1, 2, 3].map((seed) => randomProgram(`random_${seed}`, new Dice(seed * 104729))),
];

function text(files: ReadonlyMap<string, string | Uint8Array>, path: string): string {
  const content = files.get(path);
  if (typeof content !== "string") throw new Error(`${path} was not generated`);
  return content;
}

/** The same packets through the embedded switch: what came out for each. */
function embedded(s: Switch, packets: readonly { readonly port: number; readonly data: Uint8Array }[]) {
  return packets.map(({ port, data }) =>
    s
      .inject(port, data)
      .map((out) => `${out.port}:${Buffer.from(out.data).toString("hex")}`)
      .sort(),
  );
}

describe.skipIf(tools.bmv2 === undefined)("simple_switch_grpc with the generated JSON and P4Info", () => {
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  /** The packets through a fresh simple_switch_grpc that has the entries of the other switch. */
  async function real(
    p4info: string,
    json: string,
    like: Switch,
    packets: Parameters<SimpleSwitch["send"]>[0],
  ) {
    const bmv2 = await SimpleSwitch.start(tools.bmv2 ?? "");
    try {
      await bmv2.load(p4info, json, like);
      return await bmv2.send(packets);
    } finally {
      await bmv2.stop();
    }
  }

  for (const program of programs) {
    const files = generate(program);
    const arrivals = packetsFor(program, 400, new Dice(77));
    const expected = (
      json: string,
    ): { readonly like: Switch; readonly out: readonly (readonly string[])[] } => {
      const like = new Switch(json);
      fill(like, program, arrivals, 7919);
      return { like, out: embedded(like, arrivals) };
    };

    it(`treats random packets of ${program.name} as the embedded switch does`, async () => {
      const json = text(files, `${program.name}.json`);
      const { like, out } = expected(json);
      expect(await real(text(files, "p4info.txtpb"), json, like, arrivals)).toEqual(out);
    });

    it.skipIf(tools.p4c === undefined)(
      `does the same with p4c's JSON and P4Info of ${program.name}`,
      async () => {
        const folder = join(scratch, program.name);
        writeFiles(folder, files);
        const compiled = run(
          tools.p4c ?? "",
          [
            "-o",
            join(folder, "p4c.json"),
            "--p4runtime-files",
            join(folder, "p4c.txtpb"),
            `${program.name}.p4`,
          ],
          join(folder, "v1model"),
        );
        expect(compiled.status, compiled.output).toBe(0);
        const read = (name: string): string => readFileSync(join(folder, name), "utf8");
        const { like, out } = expected(text(files, `${program.name}.json`));
        expect(await real(read("p4c.txtpb"), read("p4c.json"), like, arrivals)).toEqual(out);
      },
    );
  }
});
