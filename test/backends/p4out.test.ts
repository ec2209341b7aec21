import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import libra from "../../examples/libra/program.ts";
import { generate } from "../../src/backends/index.ts";

const root = fileURLToPath(new URL("../../p4out/", import.meta.url));

/** Files below a folder, by relative path. */
function filesBelow(folder: string, under = ""): readonly string[] {
  return readdirSync(join(folder, under)).flatMap((name) => {
    const path = join(under, name);
    return statSync(join(folder, path)).isDirectory() ? filesBelow(folder, path) : [path];
  });
}

describe("the generated programs that are kept in p4out", () => {
  for (const [source, program] of [["examples/libra/program.ts", libra.ir]] as const) {
    const folder = join(root, program.name);
    const remedy = `p4out is out of date: run "npx gradplane build ${source}" and look at the difference`;

    it(`are what ${source} generates today`, () => {
      const files = generate(program);
      expect([...filesBelow(folder)].sort(), remedy).toEqual([...files.keys()].sort());
      for (const [path, content] of files) {
        const kept = readFileSync(join(folder, path));
        expect(kept.equals(Buffer.from(content)), `${path}: ${remedy}`).toBe(true);
      }
    });
  }
});
