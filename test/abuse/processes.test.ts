import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { connect as connectTo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { folderWith } from "../cli/folder.ts";
import { executable, gradplane, root, start } from "../cli/gradplane.ts";

/** Starts two switches, and goes on for ever. */
const ENDLESS = `import { scenario } from "gradplane/cli/run";

export default scenario({
  name: "endless",
  summary: "two switches and a long wait",
  options: {},
  async run(context) {
    const start = (name, id) =>
      context.startSwitch({ name, deviceId: BigInt(id), cpuPort: 510, ports: new Map([[0, 5000]]) });
    await Promise.all([start("a", 1), start("b", 2)]);
    await new Promise((resolve) => setTimeout(resolve, 1e9));
    return { passed: true, table: [], verdict: "", data: {} };
  },
});
`;
/** What a job's host throws when nothing leads to its server any more. */
const STRANDED = `import { scenario } from "gradplane/cli/run";
import { LibraError } from "gradplane/host/libra";

export default scenario({
  name: "stranded",
  summary: "a job whose switches are all gone",
  options: {},
  run() {
    throw new LibraError("server_unreachable", "job 1: server 10.0.0.5 does not answer worker 0");
  },
});
`;
const folder = folderWith({ "endless.ts": ENDLESS, "stranded.ts": STRANDED });
let runs = 0;

/** Starts `gradplane` so that it and all that it starts can be found by a mark in their environment. */
function marked(
  args: readonly string[],
  stdout: "pipe" | "ignore" = "ignore",
): { readonly child: ChildProcess; readonly mark: string } {
  const mark = `GRADPLANE_TEST_RUN=${process.pid}-${runs++}`;
  const [name = "", value = ""] = mark.split("=");
  const child = spawn(process.execPath, [executable, ...args], {
    cwd: root,
    stdio: ["ignore", stdout, "ignore"],
    env: { ...process.env, [name]: value },
  });
  onTestFinished(() => {
    for (const pid of carrying(mark)) process.kill(pid, "SIGKILL");
  });
  return { child, mark };
}

/** Processes with the mark that are alive. */
function carrying(mark: string): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const isZombie = /^State:\s+Z/m.test(readFileSync(`/proc/${name}/status`, "utf8"));
      const hasMark = readFileSync(`/proc/${name}/environ`, "utf8").split("\0").includes(mark);
      return hasMark && !isZombie ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

async function nobodyIsLeft(mark: string): Promise<void> {
  await expect.poll(() => carrying(mark), { timeout: 30_000, interval: 100 }).toEqual([]);
}

describe("a switch whose parent is gone ends by itself", { timeout: 60_000 }, () => {
  test.each([0, 700])("when it went %i ms after it started the switch", async (milliseconds) => {
    const args = ["switch", "--no-p4", "-i", "0@udp", "--grpc-server-addr", "127.0.0.1:0"];
    const child = spawn(process.execPath, [executable, ...args], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const ended = once(child, "exit");
    await sleep(milliseconds);
    child.disconnect();
    expect(await ended).toEqual([0, null]);
  });
});

describe("a switch that is asked to end", { timeout: 60_000 }, () => {
  test("does so although connections are open that say nothing, or half a sentence", async () => {
    const it = start(["switch", "--no-p4", "-i", "0@udp", "--grpc-server-addr", "127.0.0.1:0"]);
    onTestFinished(() => void it.child.kill("SIGKILL"));
    await expect.poll(() => it.said.stdout, { timeout: 50_000 }).toContain("ready");
    const port = Number(/grpc=127\.0\.0\.1:(\d+)/.exec(it.said.stdout)?.[1]);
    for (const say of ["", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]) {
      const socket = connectTo(port, "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => {});
      await once(socket, "connect");
      socket.write(say);
    }
    await sleep(200);
    it.child.kill("SIGTERM");
    expect(await it.end).toMatchObject({ status: 0, stderr: "" });
  });
});

const canLook = existsSync("/proc/self/environ");

describe.skipIf(!canLook)("a scenario that is stopped by force", { timeout: 120_000 }, () => {
  const signals = ["SIGINT", "SIGTERM", "SIGKILL"] as const;
  // From before it is loaded until its switches run.
  const moments = [200, 1500, 3000];

  test.each(moments.map((at, i) => [signals[i % 3] ?? "SIGINT", at] as const))(
    "%s after %i ms: no switch outlives it, and it does not exit with 0",
    async (signal, milliseconds) => {
      const { child, mark } = marked(["run", join(folder, "endless.ts")]);
      const ended = once(child, "exit");
      await sleep(milliseconds);
      child.kill(signal);
      const [code] = await ended;
      expect(code).not.toBe(0);
      await nobodyIsLeft(mark);
    },
  );

  test.each(["SIGINT", "SIGKILL"] as const)("%s once its switches run", async (signal) => {
    const { child, mark } = marked(["run", join(folder, "endless.ts")]);
    await expect.poll(() => carrying(mark).length, { timeout: 60_000 }).toBe(3);
    const ended = once(child, "exit");
    child.kill(signal);
    const [code] = await ended;
    expect(code).not.toBe(0);
    await nobodyIsLeft(mark);
  });

  test("whoever reads the output of the Libra scenario stops early: it ends, and its switches too", async () => {
    const options = ["--rounds", "2", "--rows", "4", "--kill", "no"];
    const { child, mark } = marked(["run", "examples/libra/scenario.ts", ...options], "pipe");
    child.stdout?.destroy();
    await once(child, "exit");
    await nobodyIsLeft(mark);
  });
});

test("a job whose switches are all gone is a fault of the environment: one line and exit code 2", async () => {
  expect(await gradplane(["run", join(folder, "stranded.ts")])).toEqual({
    status: 2,
    stdout: "",
    stderr: "gradplane: job 1: server 10.0.0.5 does not answer worker 0\n",
  });
}, 60_000);
