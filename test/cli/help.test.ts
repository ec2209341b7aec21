import { describe, expect, test } from "vitest";
import { gradplane } from "./gradplane.ts";

const usage = await gradplane(["--help"]);
const verbs = [...usage.stdout.matchAll(/^ {2}(\w+) +\S/gm)].map(([, name = ""]) => name);

describe("gradplane", () => {
  test("--help lists the verbs, with an example", () => {
    expect(usage).toMatchObject({ status: 0, stderr: "" });
    expect(verbs.filter((name) => name !== "gradplane")).toEqual([
      "build",
      "check",
      "fit",
      "where",
      "bindings",
      "dissector",
      "switch",
      "run",
      "controller",
      "server",
      "worker",
      "jobs",
      "apply",
      "diff",
      "status",
      "drain",
      "lab",
      "cable",
      "p4rt",
    ]);
    expect(usage.stdout).toContain("\nExample:\n  gradplane run ");
  });

  test.each(verbs.filter((name) => name !== "gradplane"))(
    "%s --help says how it is used, with an example",
    async (verb) => {
      const { status, stdout, stderr } = await gradplane([verb, "--help"]);
      expect(stdout).toMatch(new RegExp(`^Usage: gradplane ${verb} `));
      expect(stdout).toMatch(new RegExp(`\\nExamples?:\\n {2}gradplane ${verb} \\S`));
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    },
  );

  test("without a verb it prints the usage, which is not what was wanted", async () => {
    expect(await gradplane([])).toMatchObject({ status: 1, stdout: usage.stdout });
  });

  test("help VERB is VERB --help", async () => {
    expect(await gradplane(["help", "fit"])).toEqual(await gradplane(["fit", "--help"]));
  });

  test("refuses an unknown verb and names the known ones", async () => {
    const { status, stderr } = await gradplane(["bulid"]);
    expect(status).toBe(1);
    expect(stderr).toBe(
      'gradplane: there is no verb "bulid" (did you mean "build"?); the verbs are build, check, fit, where, bindings, dissector, switch, run, controller, server, worker, jobs, apply, diff, status, drain, lab, cable, p4rt\n',
    );
  });

  test.each([
    ["build", "--tarjet"],
    ["check", "--verbose"],
    ["switch", "--thrfit-port"],
  ])("%s refuses the unknown option %s and names it", async (verb, option) => {
    const { status, stdout, stderr } = await gradplane([verb, option]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(`there is no option ${option}`);
    expect(stderr).toContain(`See gradplane ${verb} --help.`);
  });

  test("says which version it is", async () => {
    const { stdout } = await gradplane(["--version"]);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
