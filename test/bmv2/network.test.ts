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
  return { status, text: stdout + stderr };
}

const expected = (on: string): RegExp =>
  new RegExp(
    `^ready: 4 switches \\(${on}\\), 4 hosts
offloads: off on 16 of 16 interfaces
ping: 12 of 12 pairs
tcp: h1 to h4 [\\d.]+ Mbit/s
cut: leaf1 - spine1
ping: 12 of 12 pairs
$`,
  );

describe.skipIf(missing !== undefined)("a network in Mininet", { timeout: 400_000 }, () => {
  it("of embedded switches carries pings and TCP, goes on when a link is cut, and is not disturbed by one that was killed (pitfall 76)", async () => {
    const killed = spawn(python, [script, "--topology", "leaf-spine"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    killed.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    for (let tries = 0; tries < 1500 && !said.includes("ready:"); tries++) await sleep(100);
    expect(said).toContain("ready: 4 switches");
    killed.kill("SIGKILL");
    await sleep(500);
    // A link between switches stays, with their processes; those of hosts go with their namespaces.
    expect(existsSync("/sys/class/net/leaf1-eth3")).toBe(true);
    const { status, text } = network("--topology", "leaf-spine", "--check");
    expect(text).toMatch(expected("embedded"));
    expect(status).toBe(0);
    expect(existsSync("/sys/class/net/leaf1-eth3")).toBe(false);
  });

  it.skipIf(bmv2 === undefined)("of simple_switch_grpc does the same with the same arguments", () => {
    const { status, text } = network("--topology", "leaf-spine", "--on", "bmv2", "--check");
    expect(text).toMatch(expected("bmv2"));
    expect(status).toBe(0);
  });

  it.each(bmv2 === undefined ? ["embedded"] : ["embedded", "bmv2"])(
    "of %s adds for a job of hosts in it",
    (on) => {
      const { status, text } = network("--topology", "leaf-spine", "--on", on, "--aggregate");
      expect(text).toMatch(
        new RegExp(`^ready: 4 switches \\(${on}\\), 4 hosts
sums: 3 workers, 30 rounds on (leaf|spine)[12], 3930 right, 0 wrong
$`),
      );
      expect(status).toBe(0);
      expect(existsSync("/sys/class/net/gpcontrol")).toBe(false);
    },
  );

  it("of switches that a controller steers finds a cut link by probes, and the mended one", () => {
    const program = join(root, "examples/fabric/program.ts");
    const { status, text } = network("--topology", "leaf-spine", "--check", "--steer", "--program", program);
    expect(text).toMatch(
      /cut: leaf1 - spine1\nping: 12 of 12 pairs\nmended: leaf1 - spine1\nping: 12 of 12 pairs\n$/,
    );
    expect(status).toBe(0);
  });

  it("says what is wrong with its program", () => {
    expect(network("--program", "/nowhere")).toMatchObject({
      status: 1,
      text: expect.stringContaining("no folder /nowhere"),
    });
    expect(network("--program", root).text).toContain(".json in ");
  });
});
