import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findTools } from "../backends/tools.ts";
import { folderWith } from "./folder.ts";
import { gradplane, inTurn, root } from "./gradplane.ts";

const { bmv2 } = findTools({ bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"] });
const LIBRA = "examples/libra/scenario.ts";

/** Every numeric mode on good and on bad links; otherwise what each of those is about at least once. */
const isLong = process.env.GRADPLANE_LONG_TESTS !== undefined;

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

  test("--options, and --help behind a scenario, tell of its options and their defaults", async () => {
    const [options, help, nowhere] = await inTurn([
      ["run", LIBRA, "--options"],
      ["run", LIBRA, "--help"],
      ["run", "nowhere.ts", "--help"],
    ]);
    expect(options).toMatchObject({ status: 0, stderr: "" });
    expect(options?.stdout).toMatch(/^libra: /);
    for (const name of "workers rounds rows mode loss duplicate reorder seed kill".split(" "))
      expect(options?.stdout).toMatch(new RegExp(`^ {2}--${name} .*; default \\S+$`, "m"));
    expect(help).toMatchObject({ status: 0, stderr: "" });
    expect(help?.stdout).toMatch(
      /^Usage: gradplane run examples\/libra\/scenario\.ts \[--json\] \[options\]\n\nlibra: /,
    );
    expect(help?.stdout).toMatch(/^ {2}--loss .*; default 0$/m);
    expect(nowhere).toMatchObject({ status: 1, stdout: "" });
  });

  test("refuses wrong arguments and names them", async () => {
    const folder = folderWith({ "pair.ts": PAIR, "other.ts": "export default 1;\n" });
    const libra = join(root, LIBRA);
    const refused = [
      [[], "name a scenario first: gradplane run SCENARIO.ts"],
      [["nowhere.ts"], "there is no file nowhere.ts"],
      [["other.ts"], 'other.ts has no scenario: write "export default scenario'],
      [["pair.ts", "--speed", "9"], "there is no option --speed"],
      [["pair.ts", "more"], '"more" is no option of the scenario'],
      [["pair.ts", "--peer=many"], '--peer is "many"; it is a whole number from 1 to 99999'],
      [["pair.ts", "--on", "tofino"], '--on is "tofino"; it is embedded or bmv2'],
      [
        [libra, "--mode", "float"],
        'gradplane: --mode is "float"; it is one of int32, block, fp32, fp16, bf16',
      ],
      [[libra, "--loss", "2"], 'gradplane: --loss is "2"; it is a number from 0 to 1'],
    ] as const;
    const lines = refused.map(([args]) => ["run", ...args]);
    const ends = await inTurn(lines, { cwd: folder });
    for (const [i, [args, reason]] of refused.entries()) {
      expect(ends[i], `${args}`).toMatchObject({ status: 1, stdout: "" });
      expect(ends[i]?.stderr).toContain(reason);
    }
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

/** A few rounds of the Libra scenario with 8 rows, for each of some options. */
async function libra(...runs: readonly string[]): Promise<readonly Report[]> {
  const ends = await inTurn(
    runs.map((options) => ["run", LIBRA, "--json", "--rounds", "4", "--rows", "8", ...options.split(" ")]),
  );
  return ends.map(({ status, stdout, stderr }) => {
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
  });
}

describe("the Libra scenario", { timeout: 400_000 }, () => {
  test("stays on the first switch when none is killed, and trains in mode block to the same bits", async () => {
    const { status, stdout, stderr } = await gradplane([
      ...["run", LIBRA, "--rounds", "2", "--rows", "4"],
      ...["--kill", "no", "--workers", "2", "--mode", "block", "--loss", "0.05", "--seed", "5"],
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^ {2}rows x lanes +4 x 32, mode block$/m);
    expect(stdout).toMatch(/^ {2}failover +none: no switch was killed$/m);
    expect(stdout).toMatch(/^Passed: \d+ RESULTs compared with the integer sum .*, 0 differ; /m);
    expect(stdout).toContain("bit-identical to");
  });

  test("trains on another switch when the first is killed, exactly, over links that lose, double and reorder frames", async () => {
    const reports = await libra(
      "--loss 0.1 --duplicate 0.1 --reorder 0.2 --seed 3",
      "--personality tna --loss 0.05 --duplicate 0.05 --reorder 0.1",
      "--mode fp16 --loss 0.05 --reorder 0.1 --seed 4",
      ...(isLong ? ["--mode bf16 --loss 0.05 --reorder 0.1 --seed 4", "--seed 1"] : []),
    );
    for (const report of reports) {
      expect(report.model.withSwitch).toBe(report.model.without);
      expect(report.finishedOn).toBe("s2");
      expect(report.generation).toBeGreaterThanOrEqual(2);
      expect(report.milliseconds.killToMoved).toBeGreaterThan(0);
      expect(report.milliseconds.killToNextRound).toBeGreaterThanOrEqual(
        report.milliseconds.killToMoved ?? 0,
      );
    }
    expect(reports.map((r) => r.lanes)).toEqual([32, 32, 16, ...(isLong ? [16, 32] : [])]);
    expect(reports[0]?.resends).toBeGreaterThan(0);
  });

  test("mode block: the same sums for the exponents of the next switch", async () => {
    const [killed] = await libra("--mode block --seed 5");
    expect(killed).toMatchObject({ lanes: 32, finishedOn: "s2" });
    expect(killed?.model.relativeDifference).toBeLessThan(1e-6);
  });
});

describe("gradplane run --on", { timeout: 240_000 }, () => {
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
