import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { generate } from "../../src/backends/index.ts";
import type { Program } from "../../src/ir/index.ts";
import { deep, expressionsOf, placedStatements } from "../../src/ir/walk.ts";
import { Switch } from "../../src/switch/switch.ts";
import { examples } from "../examples/programs.ts";
import { Dice } from "./dice.ts";
import { externs } from "./externsprogram.ts";
import { parserPrograms } from "./parserprograms.ts";
import { passes } from "./passesprogram.ts";
import { forwarding, zoo } from "./programs.ts";
import { compose, composition } from "./random/compositions.ts";
import { randomProgram } from "./randomprogram.ts";
import { rememberedBy, SimpleSwitch } from "./simpleswitch.ts";
import { tofinoExterns } from "./tna/externsprogram.ts";
import { nat } from "./tna/natprogram.ts";
import { findTools, run, writeFiles } from "./tools.ts";
import { copiesFor, fill, hasEgressRegisters, packetsFor } from "./traffic.ts";
import { valueSets } from "./valuesetsprogram.ts";

const tools = findTools({ p4c: ["P4C", "p4c-bm2-ss"], bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"] });
const scratch = mkdtempSync(join(tmpdir(), "gradplane-"));

/**
 * Some random programs by default. With GRADPLANE_LONG_TESTS 200, or as many as GRADPLANE_RANDOM_PROGRAMS says, from the seed
 * GRADPLANE_RANDOM_SEED on; and half as many compositions of the features.
 */
const isLong = process.env.GRADPLANE_LONG_TESTS !== undefined;
const count = Number(process.env.GRADPLANE_RANDOM_PROGRAMS ?? (isLong ? 200 : 3));
const first = Number(process.env.GRADPLANE_RANDOM_SEED ?? 1);
const from = <T>(length: number, make: (seed: number) => T): readonly T[] =>
  Array.from({ length }, (_, i) => make(first + i));

type Made = readonly [name: string, make: () => Program];
const written: readonly Program[] = [
  forwarding(),
  zoo(),
  externs(),
  tofinoExterns(),
  nat(),
  passes(),
  passes(true),
  valueSets(),
  ...Object.values(examples).map(({ ir }) => ir),
  ...parserPrograms,
];
const programs: readonly Made[] = [
  // Those are the same in every part of a long run.
  ...(first === 1 ? written.map((p): Made => [p.name, () => p]) : []),
  ...from(count, (seed): Made => {
    const name = `random_${seed}`;
    return [name, () => randomProgram(name, new Dice(seed * 104729))];
  }),
  ...from(Math.floor(count / 2), (seed): Made => {
    const name = `composition_${seed}`;
    return [name, () => compose(composition(name, seed, { faults: false, lanes: 8 })).ir];
  }),
];
vi.setConfig({ testTimeout: 300_000 });

function text(files: ReadonlyMap<string, string | Uint8Array>, path: string): string {
  const content = files.get(path);
  if (typeof content !== "string") throw new Error(`${path} was not generated`);
  return content;
}

/**
 * Whether packets may fare otherwise in a crowd: when they look at the length of BMv2's queues, when they pass a register behind them, and
 * when they go round.
 */
function isForCrowds(p: Program): boolean {
  const lengths: ReadonlySet<string> = new Set(["enqueue_depth", "dequeue_depth"]);
  if (hasEgressRegisters(p)) return false;
  for (const [s] of placedStatements(p)) {
    if (s.kind === "resubmit" || s.kind === "recirculate") return false;
    for (const e of expressionsOf(s))
      for (const part of deep(e)) if (part.kind === "intrinsic" && lengths.has(part.name)) return false;
  }
  return true;
}

/**
 * Whether tables share an action profile. p4c gives each table actions of its own, with numbers of their own; a member has that of one
 * table, and simple_switch ends when a packet meets it in another (`MatchTableAbstract::get_next_node`). In the generated JSON the tables
 * have one action.
 */
function sharesProfile(p: Program): boolean {
  const used = p.controls.flatMap((c) => c.tables.flatMap((t) => t.implementation ?? []));
  return new Set(used).size < used.length;
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
    burst: number | undefined,
  ) {
    const bmv2 = await SimpleSwitch.start(tools.bmv2 ?? "");
    try {
      await bmv2.load(p4info, json, like);
      const out = await bmv2.send(packets, burst);
      return { out, remembered: await bmv2.remembered(json, like) };
    } finally {
      await bmv2.stop();
    }
  }

  for (const [name, make] of programs) {
    /** The program's files, packets, and what the embedded switch does with them. */
    const prepare = () => {
      const program = make();
      const files = generate(program);
      const arrivals = packetsFor(program, 400, new Dice(77));
      const json = text(files, `${name}.json`);
      const like = new Switch(json);
      fill(like, program, arrivals, 7919, copiesFor(program));
      const burst = isForCrowds(program) ? undefined : 1;
      return { program, files, json, arrivals, like, burst, out: embedded(like, arrivals) };
    };

    it(`treats random packets of ${name} as the embedded switch does`, async () => {
      const { files, json, arrivals, like, burst, out } = prepare();
      const remembered = rememberedBy(like, json);
      expect(await real(text(files, "p4info.txtpb"), json, like, arrivals, burst)).toEqual({
        out,
        remembered,
      });
    });

    it.skipIf(tools.p4c === undefined)(
      `does the same with p4c's JSON and P4Info of ${name}`,
      async ({ skip }) => {
        const { program, files, arrivals, like, burst, out } = prepare();
        if (sharesProfile(program)) skip("simple_switch ends of it");
        const folder = join(scratch, name);
        writeFiles(folder, files);
        const args = ["-o", "../p4c.json", "--p4runtime-files", "../p4c.txtpb", `${name}.p4`];
        const compiled = run(tools.p4c ?? "", args, join(folder, "v1model"));
        expect(compiled.status, compiled.output).toBe(0);
        const [json, info] = ["p4c.json", "p4c.txtpb"].map((file) =>
          readFileSync(join(folder, file), "utf8"),
        );
        const remembered = rememberedBy(like, json ?? "");
        expect(await real(info ?? "", json ?? "", like, arrivals, burst)).toEqual({ out, remembered });
      },
    );
  }
});
