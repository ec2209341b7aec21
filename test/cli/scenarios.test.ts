import { describe, expect, test } from "vitest";
import { folderWith } from "./folder.ts";
import { gradplane } from "./gradplane.ts";

/** A host that ends before it has said anything. */
const BROKEN = `import { scenario } from "gradplane/cli/run";

export default scenario({
  name: "broken",
  summary: "a host that ends",
  options: {},
  hosts: {
    quitter: async ({ settings }) => process.exit(Number(settings)),
  },
  async run(context) {
    const host = context.startHost("quitter", 7);
    const heard = await host.heard().catch((error) => error.message);
    return { passed: heard === "host quitter has ended (7)", table: [["heard", heard]], verdict: "-", data: {} };
  },
});
`;

describe("scenarios whose hosts are processes", { timeout: 400_000 }, () => {
  test.each([
    ["lp", "--nodes 3 --megabytes 1 --rate 50 --turns 1"],
    ["p3", "--machines 2 --iterations 2 --loss 0.02"],
    ["dlcp", "--workers 2 --rounds 2 --loss 0.05"],
    ["all-in-one", "--workers 2 --rounds 2 --loss 0.02"],
  ])("%s gives what a serial run gives", async (name, options) => {
    const { status, stdout, stderr } = await gradplane([
      "run",
      `examples/${name}/scenario.ts`,
      "--json",
      ...options.split(" "),
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ passed: true });
  });

  test("a host that ends is named", async () => {
    const { status, stdout } = await gradplane(["run", "broken.ts"], folderWith({ "broken.ts": BROKEN }));
    expect(stdout).toContain("host quitter has ended (7)");
    expect(status).toBe(0);
  });

  test("nobody can be a host but by its scenario", async () => {
    const { status, stderr } = await gradplane(["run", "examples/lp/scenario.ts", "--as-host", "node"]);
    expect(status).toBe(1);
    expect(stderr).toContain("--as-host is for scenarios that start their own hosts");
  });
});
