import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { contents, folderWith } from "./folder.ts";
import { gradplane, root } from "./gradplane.ts";

const remedy = 'p4out is out of date: run "npm run p4out" and look at the difference';

describe("the generated programs that are kept in p4out", () => {
  test.each([["libra", "examples/libra/program.ts"]])(
    "p4out/%s is what gradplane build %s writes",
    async (name, source) => {
      const folder = folderWith();
      const { status, stderr } = await gradplane(["build", source, "--out", folder, "--target", "v1model"]);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      const made = contents(join(folder, name));
      // What is made for other targets has tests of its own.
      const kept = [...contents(join(root, "p4out", name))].filter(([path]) => !path.startsWith("tna/"));
      expect(
        kept.map(([path]) => path),
        remedy,
      ).toEqual([...made.keys()]);
      for (const [path, content] of kept)
        expect(made.get(path)?.equals(content), `${path}: ${remedy}`).toBe(true);
    },
  );
});
