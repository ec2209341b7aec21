import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkTna, generateAll, type TargetName } from "../../src/backends/index.ts";
import { examples } from "../examples/programs.ts";
import { contents } from "./folder.ts";
import { root } from "./gradplane.ts";

const remedy = 'p4out is out of date: run "npm run p4out" and look at the difference';

const kept = Object.entries(examples).map(([folder, { name, ir }]) => ({ folder, name, ir }));

describe("the generated programs that are kept in p4out", () => {
  test("are those of the examples", () => {
    const folders = readdirSync(join(root, "examples"));
    expect(kept.map((e) => e.folder)).toEqual(
      folders.filter((f) => existsSync(join(root, "examples", f, "program.ts"))),
    );
    expect(readdirSync(join(root, "p4out")).sort()).toEqual(kept.map((e) => e.name).sort());
  });

  test.each(kept)(
    "p4out/$name is what gradplane build examples/$folder/program.ts writes",
    ({ name, ir }) => {
      const targets: readonly TargetName[] = checkTna(ir).length === 0 ? ["v1model", "tna"] : ["v1model"];
      const made = generateAll(ir, { targets });
      const stored = [...contents(join(root, "p4out", name))];
      expect(
        stored.map(([path]) => path),
        remedy,
      ).toEqual([...made.keys()].sort());
      for (const [path, content] of stored)
        expect(content.equals(Buffer.from(made.get(path) ?? "")), `${path}: ${remedy}`).toBe(true);
    },
    120_000,
  );
});
