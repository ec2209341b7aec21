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

  test("renews the bindings of a file and keeps what was added below them", async () => {
    const file = join(folder, "mine.ts");
    const head = '} from "gradplane/p4runtime";';
    const older = kept
      .replaceAll("RoutingViaParams", "RoutingOldParams")
      .replace("  type Value,", "  type TableEntry,\n  type Value,")
      .replace(head, `${head}\nimport { readFileSync as read } from "node:fs";`);
    const mine = [
      "// What I have added.",
      "export const via = (params: RoutingOldParams) => actions.routing.via(params);",
      'export const entries: readonly TableEntry[] = JSON.parse(read("entries.json", "utf8"));',
    ];
    writeFileSync(file, `${older}\n${mine.join("\n")}\n`);
    const ended = await gradplane(["bindings", join(router, "p4info.bin"), "--into", file]);
    const line = older.split("\n").length + 2;
    expect(ended).toMatchObject({ status: 1, stdout: "" });
    expect(ended.stderr).toContain(`RoutingOldParams, in line ${line} of the older file`);
    const text = readFileSync(file, "utf8");
    expect(text.endsWith(`\n\n${mine.join("\n")}\n`)).toBe(true);
    expect(text).toContain('import { readFileSync as read } from "node:fs";');
    expect(text).toContain('import { type TableEntry } from "gradplane/p4runtime";');
    const added = text.split("\n").filter((l) => !kept.split("\n").includes(l));
    expect(added).toHaveLength(mine.length + 2);
    // Again, with nothing that is gone: it is what it was.
    writeFileSync(file, text.replace("RoutingOldParams", "RoutingViaParams"));
    const again = await gradplane(["bindings", join(router, "p4info.bin"), "--into", file]);
    expect(again).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(readFileSync(file, "utf8")).toBe(text.replace("RoutingOldParams", "RoutingViaParams"));
  });

  test("renews nothing in a file without bindings", async () => {
    const file = join(folder, "none.ts");
    writeFileSync(file, "export const a = 3;\n");
    const ended = await gradplane(["bindings", join(router, "p4info.bin"), "--into", file]);
    expect(ended.status).toBe(1);
    expect(ended.stderr).toContain("has no bindings to renew");
    expect(readFileSync(file, "utf8")).toBe("export const a = 3;\n");
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
