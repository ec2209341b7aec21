import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { p4infoFromBinary, p4infoFromText } from "../../src/p4info/index.ts";
import { contents, folderWith } from "./folder.ts";
import { gradplane } from "./gradplane.ts";
import { NOT_FOR_TNA, NOT_FOR_V1MODEL, RIGHT, WRONG } from "./programs.ts";

const folder = folderWith({ "right.ts": RIGHT });
const built = await gradplane(["build", "right.ts"], folder);
const files = contents(join(folder, "p4out"));
const file = (name: string): string => files.get(`right/${name}`)?.toString("latin1") ?? "";

describe("gradplane build", () => {
  test("writes what it lists", () => {
    expect(built).toMatchObject({ status: 0, stderr: "" });
    expect([...files.keys()]).toEqual(
      [
        "bindings.ts",
        "p4info.bin",
        "p4info.txtpb",
        "packets.md",
        "report.md",
        "right.json",
        "right.lua",
        "sourcemap.json",
        "tables.json",
        "tna/constants.p4",
        "tna/controls/forwarding.p4",
        "tna/deparser.p4",
        "tna/egress.p4",
        "tna/headers.p4",
        "tna/ingress.p4",
        "tna/p4info.bin",
        "tna/p4info.txtpb",
        "tna/parser.p4",
        "tna/right.json",
        "tna/right.p4",
        "tna/stages.svg",
        "v1model/checksums.p4",
        "v1model/constants.p4",
        "v1model/controls/forwarding.p4",
        "v1model/deparser.p4",
        "v1model/egress.p4",
        "v1model/headers.p4",
        "v1model/ingress.p4",
        "v1model/parser.p4",
        "v1model/right.p4",
      ].map((path) => `right/${path}`),
    );
    const listed = built.stdout.trimEnd().split("\n");
    const bytes = [...files.values()].reduce((sum, content) => sum + content.length, 0);
    expect(listed.pop()).toBe(`${files.size} files, ${bytes} bytes`);
    expect([...listed].sort()).toEqual([...files.keys()].map((path) => `p4out/${path}`));
  });

  test("writes the same bytes each time, wherever it runs", async () => {
    const elsewhere = folderWith();
    const again = await gradplane(["build", join(folder, "right.ts"), "--out", "again"], elsewhere);
    expect(again).toMatchObject({ status: 0, stderr: "" });
    expect(contents(join(elsewhere, "again"))).toEqual(files);
  });

  test("what it writes names neither the machine nor the day", () => {
    for (const path of files.keys()) {
      const text = file(path.slice("right/".length));
      expect(text.includes(folder), path).toBe(false);
      expect(text, path).not.toMatch(/\b20\d\d-\d\d-\d\d\b/);
    }
  });

  test("the forms of what it writes agree", () => {
    const info = p4infoFromBinary(Buffer.from(file("p4info.bin"), "latin1"));
    expect(p4infoFromText(file("p4info.txtpb"))).toEqual(info);
    expect(file("bindings.ts")).toContain('from "gradplane/p4runtime"');
    const [{ tables }] = JSON.parse(file("right.json")).pipelines;
    expect(tables.map((t: { readonly name: string }) => t.name)).toEqual(
      expect.arrayContaining(info.tables.map((t) => t.preamble?.name)),
    );
  });

  test("a program with errors is not built: code, place, remedy, exit 1", async () => {
    const wrong = folderWith({ "wrong.ts": WRONG });
    const { status, stdout, stderr } = await gradplane(["build", "wrong.ts"], wrong);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain("error GP1102: ");
    expect(stderr).toContain("--> wrong.ts:9:9\n");
    expect(stderr).toContain("To mend it: ");
    expect([...contents(wrong).keys()]).toEqual(["wrong.ts"]);
  });

  test("refuses what the target that is built lacks", async () => {
    const twice = folderWith({ "twice.ts": NOT_FOR_V1MODEL });
    for (const options of [["--target", "v1model"], []]) {
      const { status, stdout, stderr } = await gradplane(["build", "twice.ts", ...options], twice);
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
      expect(stderr).toContain("error GP1501 [v1model]: ");
      expect(stderr).toContain("--> twice.ts:17:34\n");
    }
    expect([...contents(twice).keys()]).toEqual(["twice.ts"]);
  });

  test("builds for the targets that have all that is needed, and says what the other lacks", async () => {
    const mixed = folderWith({ "mixed.ts": NOT_FOR_TNA });
    const { status, stdout, stderr } = await gradplane(["build", "mixed.ts"], mixed);
    expect(status).toBe(0);
    expect(stdout).toContain("p4out/mixed/v1model/mixed.p4\n");
    expect(stdout).not.toContain("/tna/");
    expect(stderr).toContain("GP1407 [tna]");
    expect(stderr).toContain("not built for tna");
  });

  test.each([
    ["v1model", 0],
    ["all", 1],
  ])(
    "builds what was asked for or nothing: --target %s of a program that is not for tna",
    async (target, status) => {
      const mixed = folderWith({ "mixed.ts": NOT_FOR_TNA });
      const ended = await gradplane(["build", "mixed.ts", "--target", target], mixed);
      expect(ended.status).toBe(status);
      expect(ended.stderr.includes("GP1407 [tna]")).toBe(status === 1);
      expect(ended.stdout === "").toBe(status === 1);
    },
  );

  test("builds several programs, one after the other", async () => {
    const two = folderWith({ "right.ts": RIGHT, "mixed.ts": NOT_FOR_TNA });
    const { status, stdout } = await gradplane(["build", "right.ts", "mixed.ts", "--target", "v1model"], two);
    expect(status).toBe(0);
    expect(stdout).toMatch(/right\.json\n(?:.*\n)*.*mixed\.json\n/);
  });

  test("verifies with Tofino's compilers only, and says what to do when they are not there", async () => {
    const plain = await gradplane(["build", "right.ts", "--verify"], folder);
    expect(plain).toMatchObject({ status: 1, stderr: expect.stringContaining("add --target tna") });
    const nowhere = folderWith({ "right.ts": RIGHT });
    const named = { P4C_BAREFOOT: join(nowhere, "none"), BFAS: join(nowhere, "none") };
    const missing = await gradplane(
      ["build", "right.ts", "--target", "tna", "--verify"],
      nowhere,
      undefined,
      named,
    );
    expect(missing.status).toBe(2);
    expect(missing.stderr).toMatch(/^gradplane: cannot verify: p4c-barefoot and bfas not found: .*\n$/);
  });

  test("refuses a target that it does not know", async () => {
    const { status, stderr } = await gradplane(["build", "right.ts", "--target", "ebpf"], folder);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^gradplane: --target is "ebpf"; it is one of v1model/);
  });

  test("a place that cannot be written to is a fault of the environment", async () => {
    const blocked = folderWith({ "right.ts": RIGHT });
    // A file where a folder is wanted: that stops the superuser too.
    writeFileSync(join(blocked, "p4out"), "");
    const { status, stdout, stderr } = await gradplane(["build", "right.ts"], blocked);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^gradplane: cannot write below p4out\/right: /);
  });
});

describe("gradplane dissector", () => {
  test("prints the dissector that build writes", async () => {
    const { status, stdout, stderr } = await gradplane(["dissector", "right.ts"], folder);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toBe(file("right.lua"));
  });
});
