import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { findTool } from "../backends/tools.ts";
import { root } from "../cli/gradplane.ts";

const python = "/usr/bin/python3";
const script = join(root, "bmv2/network.py");

/** Why there is no Mininet; undefined when there is. */
const missing = ((): string | undefined => {
  if (process.getuid?.() !== 0) return "root";
  try {
    execFileSync(python, ["-c", "import mininet"], { stdio: "pipe" });
    for (const tool of ["iperf", "ethtool", "tc"])
      execFileSync("sh", ["-c", `command -v ${tool}`], { stdio: "pipe" });
    // Some containers have root but may not make namespaces.
    execFileSync("unshare", ["--net", "true"], { stdio: "pipe" });
    return undefined;
  } catch {
    return "mininet, iperf, ethtool and network namespaces";
  }
})();
if (missing !== undefined) console.log(`skipped: networks in Mininet, no ${missing}`);
const bmv2 = findTool("SIMPLE_SWITCH_GRPC", "simple_switch_grpc");
if (bmv2 === undefined) console.log("skipped: simple_switch_grpc in Mininet (SIMPLE_SWITCH_GRPC)");

function network(...args: string[]): { readonly status: number | null; readonly text: string } {
  const { status, stdout, stderr } = spawnSync(python, [script, ...args], {
    encoding: "utf8",
    timeout: 300_000,
  });
  // In containers Mininet complains of limits that it may not set.
  return { status, text: (stdout + stderr).replace(/^\*\*\* .*\n/gm, "") };
}

const checked = (on: string): string =>
  `ready: 4 switches \\(${on}\\), 4 hosts
offloads: off on 16 of 16 interfaces
ping: 12 of 12 pairs
tcp: h1 to h4 [\\d.]+ Mbit/s
cut: leaf1 - spine1
ping: 12 of 12 pairs
mended: leaf1 - spine1
ping: 12 of 12 pairs
`;
const added = "sums: 3 workers, 30 rounds on (leaf|spine)[12], 3930 right, 0 wrong\n";
/** What a run has made is written here before its switches are ready. */
const made = "/run/gradplane-network.json";
/** A link between switches. */
const link = "/sys/class/net/leaf1-eth3";

describe.skipIf(missing !== undefined)("a network in Mininet", { timeout: 400_000 }, () => {
  it.each(bmv2 === undefined ? ["embedded"] : ["embedded", "bmv2"])(
    "of %s carries pings and TCP, goes on when a link is cut, and adds for a job of hosts in it",
    (on) => {
      const { status, text } = network("--topology", "leaf-spine", "--on", on, "--check", "--aggregate");
      expect(text).toMatch(new RegExp(`^${checked(on)}${added}$`));
      expect(status).toBe(0);
      expect(existsSync("/sys/class/net/gpcontrol")).toBe(false);
    },
  );

  it("that a controller steers finds a cut link by probes, and the mended one, and is not disturbed by a run that was killed (pitfall 76)", async () => {
    const killed = spawn(python, [script, "--topology", "leaf-spine"], { stdio: "ignore" });
    for (let tries = 0; tries < 1500 && !(existsSync(made) && existsSync(link)); tries++) await sleep(100);
    killed.kill("SIGKILL");
    await sleep(500);
    // A link between switches stays, with their processes; those of hosts go with their namespaces.
    expect(existsSync(link)).toBe(true);
    const program = join(root, "examples/fabric/program.ts");
    const { status, text } = network("--topology", "leaf-spine", "--check", "--steer", "--program", program);
    expect(text).toMatch(new RegExp(`^${checked("embedded")}$`));
    expect(status).toBe(0);
    expect(existsSync(link)).toBe(false);
  });

  it("says what is wrong with its program", () => {
    expect(network("--program", "/nowhere")).toMatchObject({
      status: 1,
      text: expect.stringContaining("no folder /nowhere"),
    });
    expect(network("--program", root).text).toContain(".json in ");
  });
});
