import { describe, expect, test } from "vitest";
import { findTools } from "../backends/tools.ts";
import { folderWith } from "./folder.ts";
import { gradplane } from "./gradplane.ts";

const { bmv2 } = findTools({ bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"] });
const LIBRA = "examples/libra/scenario.ts";

/** Starts two switches at once, prints their processes, and does not pass. */
const PAIR = `import { scenario } from "gradplane/cli/run";

export default scenario({
  name: "pair",
  summary: "two switches",
  options: { peer: { help: "UDP port of port 0", default: "5000" }, share: { help: "a share", default: "0.5" } },
  async run(context) {
    const ports = new Map([[0, context.whole("peer", 1, 99_999)], [3, 5001]]);
    const start = (name: string, id: number) =>
      context.startSwitch({ name, deviceId: BigInt(id), cpuPort: 510, ports });
    const switches = await Promise.all([start("a", 1), start("b", 2)]);
    return {
      passed: false,
      table: [["switches", "2"], ["ports of a", [...(switches[0]?.ports.keys() ?? [])].join(" ")]],
      verdict: "nothing was compared",
      data: { pids: switches.map((s) => s.pid), share: context.fraction("share") },
    };
  },
});
`;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("gradplane run", { timeout: 120_000 }, () => {
  test("prints a scenario's report, exits with 1 when its checks fail, and leaves no switch behind", async () => {
    const folder = folderWith({ "pair.ts": PAIR });
    const shown = await gradplane(["run", "pair.ts"], folder);
    expect(shown).toEqual({
      status: 1,
      stdout: "  switches    2\n  ports of a  0 3\n\nFAILED: nothing was compared\n",
      stderr: "",
    });
    const { status, stdout } = await gradplane(["run", "pair.ts", "--json", "--share", "0.25"], folder);
    expect(status).toBe(1);
    const report: { readonly pids: readonly number[] } = JSON.parse(stdout);
    expect(report).toMatchObject({ passed: false, share: 0.25 });
    expect(new Set(report.pids).size).toBe(2);
    expect(report.pids.filter(isAlive)).toEqual([]);
  });

  test("says what a switch said that did not start, and ends although another did", async () => {
    const folder = folderWith({ "pair.ts": PAIR.replace('start("b", 2)', 'start("b", 0)') });
    const { status, stdout, stderr } = await gradplane(["run", "pair.ts"], folder);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain("gradplane: switch b ended at once:\n");
    expect(stderr).toContain('--device-id is "0"');
  });

  test("--options lists a scenario's options with their defaults", async () => {
    const { status, stdout, stderr } = await gradplane(["run", LIBRA, "--options"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^libra: /);
    for (const name of "workers rounds rows mode loss duplicate reorder seed kill".split(" "))
      expect(stdout).toMatch(new RegExp(`^ {2}--${name} .*; default \\S+$`, "m"));
  });

  test("--help behind a scenario tells of the scenario", async () => {
    const { status, stdout, stderr } = await gradplane(["run", LIBRA, "--help"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(
      /^Usage: gradplane run examples\/libra\/scenario\.ts \[--json\] \[options\]\n\nlibra: /,
    );
    expect(stdout).toMatch(/^ {2}--loss .*; default 0$/m);
    expect(await gradplane(["run", "nowhere.ts", "--help"])).toMatchObject({ status: 1, stdout: "" });
  });

  test("refuses wrong arguments and names them", async () => {
    const folder = folderWith({ "pair.ts": PAIR, "other.ts": "export default 1;\n" });
    for (const [args, reason] of [
      [[], "name a scenario first: gradplane run SCENARIO.ts"],
      [["nowhere.ts"], "there is no file nowhere.ts"],
      [["other.ts"], 'other.ts has no scenario: write "export default scenario'],
      [["pair.ts", "--speed", "9"], "there is no option --speed"],
      [["pair.ts", "more"], '"more" is no option of the scenario'],
      [["pair.ts", "--peer=many"], '--peer is "many"; it is a whole number from 1 to 99999'],
    ] as const) {
      const { status, stdout, stderr } = await gradplane(["run", ...args], folder);
      expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: "" });
      expect(stderr).toContain(reason);
    }
  });

  test.each([
    ["mode", "float", "it is one of int32, block, fp32, fp16, bf16"],
    ["loss", "2", "it is a number from 0 to 1"],
  ])("the Libra scenario refuses --%s %s", async (option, value, reason) => {
    const { status, stdout, stderr } = await gradplane(["run", LIBRA, `--${option}`, value]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(`gradplane: --${option} is "${value}"; ${reason}`);
  });
});

interface Report {
  readonly passed: boolean;
  readonly rows: number;
  readonly lanes: number;
  readonly hotKeys: number;
  readonly hotShare: number;
  readonly contributions: number;
  readonly resends: number;
  readonly generation: number;
  readonly finishedOn: string;
  readonly accuracy: number;
  readonly resultsCompared: number;
  readonly resultsWrong: number;
  readonly milliseconds: { readonly killToMoved: number | null; readonly killToNextRound: number | null };
  readonly model: {
    readonly withSwitch: string;
    readonly without: string;
    readonly relativeDifference: number;
  };
}

/** A few rounds of the Libra scenario, each with 4 workers and 8 rows. */
async function libra(...options: readonly string[]): Promise<Report> {
  const { status, stdout, stderr } = await gradplane([
    ...["run", LIBRA, "--json", "--rounds", "4", "--rows", "8"],
    ...options,
  ]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const report: Report = JSON.parse(stdout);
  expect(report).toMatchObject({ passed: true, rows: 8, resultsWrong: 0 });
  expect(report.model.withSwitch).toMatch(/^[0-9a-f]{16}$/);
  expect(report.hotKeys).toBeGreaterThan(0);
  expect(report.hotKeys).toBeLessThanOrEqual(8 * report.lanes);
  expect(report.hotShare).toBeGreaterThan(0.1);
  // A row's RESULT comes once at least; workers without gradients for it send nothing but a header.
  expect(report.resultsCompared).toBeGreaterThanOrEqual(4 * 8);
  return report;
}

describe("the Libra scenario", { timeout: 240_000 }, () => {
  test("trains on another switch when the first is killed, exactly", async () => {
    const report = await libra();
    expect(report.lanes).toBe(32);
    expect(report.model.withSwitch).toBe(report.model.without);
    expect(report.finishedOn).toBe("s2");
    expect(report.generation).toBeGreaterThanOrEqual(2);
    expect(report.milliseconds.killToMoved).toBeGreaterThan(0);
    expect(report.milliseconds.killToNextRound).toBeGreaterThanOrEqual(report.milliseconds.killToMoved ?? 0);
  });

  test("stays on the first switch when none is killed, with other workers", async () => {
    const { status, stdout, stderr } = await gradplane([
      ...["run", LIBRA, "--rounds", "2", "--rows", "4"],
      ...["--kill", "no", "--workers", "2"],
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^ {2}rows x lanes +4 x 32, mode int32$/m);
    expect(stdout).toMatch(/^ {2}failover +none: no switch was killed$/m);
    expect(stdout).toMatch(/^Passed: \d+ RESULTs compared with the integer sum .*, 0 differ; /m);
  });

  test("trains through the Tofino program on switches that behave as one, with one killed, over bad links", async () => {
    const report = await libra(
      "--personality",
      "tna",
      "--loss",
      "0.05",
      "--duplicate",
      "0.05",
      "--reorder",
      "0.1",
    );
    expect(report.lanes).toBe(32);
    expect(report.model.withSwitch).toBe(report.model.without);
    expect(report.finishedOn).toBe("s2");
  });

  test("gives the same model over links that lose, double and reorder frames, with a switch killed", async () => {
    const faults = ["--loss", "0.1", "--duplicate", "0.1", "--reorder", "0.2"];
    const report = await libra(...faults, "--seed", "3");
    expect(report.model.withSwitch).toBe(report.model.without);
    expect(report.resends).toBeGreaterThan(0);
    expect(report.finishedOn).toBe("s2");
  });

  test.each([
    ["fp16", 16],
    ["bf16", 16],
  ] as const)(
    "mode %s: a switch is killed, frames are lost and overtaken, and the bits are the same",
    async (mode, lanes) => {
      const report = await libra("--mode", mode, "--loss", "0.05", "--reorder", "0.1", "--seed", "4");
      expect(report).toMatchObject({ lanes, finishedOn: "s2" });
      expect(report.model.withSwitch).toBe(report.model.without);
    },
  );

  test("mode block: the same bits on one switch, and the same sums for their exponents on the next", async () => {
    const calm = await libra("--mode", "block", "--kill", "no", "--loss", "0.05", "--seed", "5");
    expect(calm.model.withSwitch).toBe(calm.model.without);
    const killed = await libra("--mode", "block", "--seed", "5");
    expect(killed).toMatchObject({ lanes: 32, finishedOn: "s2" });
    expect(killed.model.relativeDifference).toBeLessThan(1e-6);
  });
});

describe("gradplane run --on", { timeout: 240_000 }, () => {
  test("refuses what is no switch", async () => {
    const { status, stderr } = await gradplane(["run", LIBRA, "--on", "tofino"]);
    expect(status).toBe(1);
    expect(stderr).toContain('--on is "tofino"; it is embedded or bmv2');
  });

  test.skipIf(bmv2 === undefined)(
    "bmv2 trains through simple_switch_grpc, which is killed half-way",
    async () => {
      const { status, stdout, stderr } = await gradplane([
        "run",
        LIBRA,
        "--on",
        "bmv2",
        "--rounds",
        "6",
        "--json",
      ]);
      expect(stderr).not.toContain("Error");
      expect(status).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ passed: true });
    },
  );
});
