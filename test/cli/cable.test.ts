import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../src/cli/freeport.ts";
import { openLinuxPorts } from "../../src/switch/index.ts";
import { gradplane, start } from "./gradplane.ts";

const ip = (...args: string[]): string => execFileSync("ip", args, { encoding: "utf8", stdio: "pipe" });

/** Whether interfaces can be made here. */
const canMake = ((): boolean => {
  try {
    ip("link", "add", "gpcable0", "type", "veth", "peer", "name", "gpcable1");
    ip("link", "del", "gpcable0");
    return true;
  } catch {
    console.log("skipped: cables of Linux interfaces, no veth pairs (root, iproute2)");
    return false;
  }
})();

describe.skipIf(!canMake)("gradplane cable", { timeout: 60_000 }, () => {
  test("carries frames between an interface and a host that speaks by UDP, both ways", async () => {
    ip("link", "add", "gpcable0", "type", "veth", "peer", "name", "gpcable1");
    onTestFinished(() => void ip("link", "del", "gpcable0"));
    for (const name of ["gpcable0", "gpcable1"]) {
      ip("link", "set", name, "addrgenmode", "none");
      ip("link", "set", name, "up");
    }
    const host = createSocket("udp4").bind(0, "127.0.0.1");
    onTestFinished(() => void host.close());
    await once(host, "listening");
    const local = await freePort();
    const it = start(["cable", "gpcable0", "--local", String(local), "--peer", String(host.address().port)]);
    onTestFinished(() => void it.child.kill("SIGKILL"));
    await expect.poll(() => it.said.stdout, { timeout: 30_000 }).toBe(`ready gpcable0 udp:${local}\n`);
    const [far] = openLinuxPorts(["gpcable1"]);
    onTestFinished(() => far?.close());
    const frame = Buffer.concat([Buffer.from("02000000000102000000000288b5", "hex"), Buffer.alloc(60, 7)]);
    const [atHost] = await Promise.all([once(host, "message"), far?.send(frame)]);
    expect(atHost[0]).toEqual(frame);
    const atFar: Buffer[] = [];
    far?.onFrame((got) => atFar.push(Buffer.from(got)));
    host.send(frame, local, "127.0.0.1");
    await expect.poll(() => atFar, { timeout: 30_000 }).toEqual([frame]);
    it.child.kill("SIGTERM");
    expect(await it.end).toMatchObject({ status: 0, stderr: "" });
  });

  test("names the interface that there is not", async () => {
    const { status, stderr } = await gradplane(["cable", "gpnone", "--local", "50001", "--peer", "50002"]);
    expect(status).toBe(2);
    expect(stderr).toContain("there is no interface gpnone");
  });
});

test.each([
  [["eth0"], "--local PORT and --peer PORT are needed"],
  [["--local", "1", "--peer", "2"], "name one interface"],
  [["eth0", "--local", "x", "--peer", "2"], '--local is "x"'],
])(
  "a cable %j is refused",
  async (args, reason) => {
    const { status, stderr } = await gradplane(["cable", ...args]);
    expect(status).toBe(1);
    expect(stderr).toContain(reason);
  },
  60_000,
);
