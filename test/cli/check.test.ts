import { describe, expect, test } from "vitest";
import { folderWith } from "./folder.ts";
import { gradplane } from "./gradplane.ts";
import { NOT_FOR_TNA, READS, RIGHT, WRONG } from "./programs.ts";

describe("gradplane check", () => {
  test("passes a right program in any folder, whatever its package.json says", async () => {
    const plain = folderWith({ "right.ts": RIGHT });
    expect(await gradplane(["check", "right.ts"], plain)).toEqual({
      status: 0,
      stdout: "right.ts: 0 errors, 0 warnings\n",
      stderr: "",
    });
    const commonjs = folderWith({ "right.ts": RIGHT, "package.json": '{ "type": "commonjs" }' });
    expect(await gradplane(["check", "right.ts"], commonjs)).toMatchObject({ status: 0, stderr: "" });
  });

  test("shows every error with its code, its place and the line, and exits with 1", async () => {
    const { status, stdout, stderr } = await gradplane(
      ["check", "wrong.ts"],
      folderWith({ "wrong.ts": WRONG }),
    );
    expect(status).toBe(1);
    expect(stdout).toBe("wrong.ts: 2 errors, 0 warnings\n");
    expect(stderr).toContain("error GP1102: constant 256 does not fit bit<8>");
    expect(stderr).toContain("--> wrong.ts:9:9\n");
    expect(stderr).toContain(">  9 |       s.set(m, 256);\n     |         ^\n");
    expect(stderr).toContain("error GP1201: metadata field table is a word of P4");
    expect(stderr).toContain("--> wrong.ts:11:7\n");
    expect(stderr.match(/^To mend it: /gm)).toHaveLength(2);
  });

  test("--json gives the same to programs, on stdout", async () => {
    const { status, stdout, stderr } = await gradplane(
      ["check", "--json", "wrong.ts"],
      folderWith({ "wrong.ts": WRONG }),
    );
    expect({ status, stderr }).toEqual({ status: 1, stderr: "" });
    expect(JSON.parse(stdout)).toEqual([
      {
        code: "GP1102",
        severity: "error",
        message: "constant 256 does not fit bit<8> (0 to 255)",
        title: expect.any(String),
        remedy: expect.stringMatching(/./),
        docs: "docs/errors.md#gp1102",
        file: "wrong.ts",
        line: 9,
        column: 9,
        endLine: 9,
        endColumn: 12,
      },
      expect.objectContaining({ code: "GP1201", severity: "error", file: "wrong.ts", line: 11, column: 7 }),
    ]);
  });

  test("--json of a right program is an empty list", async () => {
    const { status, stdout } = await gradplane(["check", "--json", "r.ts"], folderWith({ "r.ts": RIGHT }));
    expect({ status, found: JSON.parse(stdout) }).toEqual({ status: 0, found: [] });
  });

  test("what one target alone refuses is shown and named, but stops nobody yet", async () => {
    const { status, stdout, stderr } = await gradplane(
      ["check", "m.ts"],
      folderWith({ "m.ts": NOT_FOR_TNA }),
    );
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: "m.ts: 0 errors, 0 warnings, 1 error for tna alone\n",
    });
    expect(stderr).toContain("GP1407 [tna]");
  });

  test("what is right and may surprise is a note, and no warning", async () => {
    const folder = folderWith({ "n.ts": READS });
    const { status, stdout, stderr } = await gradplane(["check", "n.ts"], folder);
    expect({ status, stdout }).toEqual({ status: 0, stdout: "n.ts: 0 errors, 0 warnings, 1 note\n" });
    expect(stderr).toContain(
      "note GP1866 [tna]: packets that end within a header are dropped by Tofino's parser",
    );
    expect(stderr).toContain("--> n.ts:7:");
    expect(stderr).toContain("To change it: ");
    const json = await gradplane(["check", "--json", "n.ts"], folder);
    expect(JSON.parse(json.stdout)).toMatchObject([{ code: "GP1866", severity: "note", line: 7 }]);
  });

  test.each([
    ["no file", [], "name one program: gradplane check PROGRAM.ts"],
    ["two files", ["a.ts", "b.ts"], "name one program: gradplane check PROGRAM.ts"],
    ["a file that is not there", ["nowhere.ts"], "there is no file nowhere.ts"],
    ["a folder", ["."], "there is no file ."],
    ["a file without a program", ["none.ts"], "none.ts has no program"],
    [
      "a program that is not the default",
      ["named.ts"],
      'named.ts exports a program as sw, and none by default: write "export default sw"',
    ],
    ["a file that is no TypeScript", ["broken.ts"], "broken.ts could not be loaded"],
  ])("refuses %s", async (_, files, reason) => {
    const folder = folderWith({
      "none.ts": "export default 3;\n",
      "broken.ts": "export default {{;\n",
      "named.ts": RIGHT.replace("export default", "export const sw ="),
    });
    const { status, stdout, stderr } = await gradplane(["check", ...files], folder);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(`gradplane: ${reason}`);
  });
});
