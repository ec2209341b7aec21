import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findTools } from "../backends/tools.ts";
import { gradplane, root } from "./gradplane.ts";

const { p4c } = findTools({ p4c: ["P4C", "p4c-bm2-ss"] });
const folder = mkdtempSync(join(tmpdir(), "gradplane-"));
const router = join(root, "p4out/router");
const kept = readFileSync(join(router, "bindings.ts"), "utf8");

// Whole processes, each of which loads ts-morph.
describe("gradplane bindings", { timeout: 120_000 }, () => {
  test.each(["p4info.txtpb", "p4info.bin"])(
    "makes of %s what build has made of the program",
    async (file) => {
      expect(await gradplane(["bindings", join(router, file)])).toEqual({
        status: 0,
        stdout: kept,
        stderr: "",
      });
    },
  );

  test("writes to the file that it is given", async () => {
    const out = join(folder, "router.ts");
    const ended = await gradplane(["bindings", join(router, "p4info.bin"), "-o", out]);
    expect(ended).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(readFileSync(out, "utf8")).toBe(kept);
  });

  test.skipIf(p4c === undefined)("takes the P4Info that p4c makes", async () => {
    const info = join(folder, "from_p4c.txtpb");
    const source = join(router, "v1model/router.p4");
    execFileSync(p4c ?? "", ["--p4runtime-files", info, "-o", join(folder, "router.json"), source]);
    const { status, stdout, stderr } = await gradplane(["bindings", info]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const names = [...kept.matchAll(/^export (?:interface|type|const|function) (\w+)/gm)].map(([, n]) => n);
    expect(
      [...stdout.matchAll(/^export (?:interface|type|const|function) (\w+)/gm)].map(([, n]) => n),
    ).toHaveLength(names.length);
  });

  test("says what is wrong with a file that is no P4Info, or not there", async () => {
    const file = join(folder, "no.txtpb");
    writeFileSync(file, "tables { preamble { id: what } }");
    const wrong = await gradplane(["bindings", file]);
    expect(wrong.status).toBe(1);
    expect(wrong.stderr).toContain(`${file} is no P4Info`);
    const missing = await gradplane(["bindings", join(folder, "missing.bin")]);
    expect(missing.status).toBe(1);
    expect(missing.stderr).toContain("cannot read");
    expect((await gradplane(["bindings"])).status).toBe(1);
  });
});
