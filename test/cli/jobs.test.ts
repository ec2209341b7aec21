import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../src/cli/freeport.ts";
import { etcd, startEtcd } from "../controller/etcd.ts";
import { folderWith } from "./folder.ts";
import { gradplane, type Running, root, start } from "./gradplane.ts";

const TRAINING = `${root}test/cli/fixtures/counting.ts`;
const WAIT = { timeout: 120_000, interval: 50 };
const PROGRAM = `
import { hotAggregation, int32, ipv4Forwarding, program } from "${root}src/index.ts";
export default program("counting", {
  ports: 8,
  cpuPort: 100,
  features: [ipv4Forwarding(), hotAggregation({ workers: 8, lanes: 4, rows: 32, chunk: 16, mode: int32, result: "ps" })],
});
`;

function run(...args: string[]): Running {
  const running = start(args);
  onTestFinished(() => void running.child.kill("SIGKILL"));
  return running;
}

/** Events that a process has printed. */
const events = (running: Running): readonly Readonly<Record<string, unknown>>[] =>
  running.said.stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));

describe.skipIf(etcd === undefined)("a job whose every host is a process", { timeout: 400_000 }, () => {
  test("outlives the end of the leading controller and of a worker, both by force, and every sum is exact", async () => {
    const running = await startEtcd();
    onTestFinished(() => running.stop());
    const folder = folderWith({ "program.ts": PROGRAM });
    const hosts = ["w0", "w1", "ps"];
    const own = await Promise.all(hosts.map(() => freePort()));
    const switches = [1, 2].map((id) =>
      run(
        "switch",
        "--no-p4",
        "--device-id",
        `${id}`,
        "--cpu-port",
        "100",
        "--grpc-server-addr",
        "127.0.0.1:0",
        ...own.flatMap((port, at) => ["-i", `${at}@udp:0:${port}`]),
      ),
    );
    const cables: string[][] = [];
    const targets: string[] = [];
    for (const [i, running] of switches.entries()) {
      await expect.poll(() => running.said.stdout, WAIT).toMatch(/^ready /m);
      const line = running.said.stdout.split("\n").find((l) => l.startsWith("ready")) ?? "";
      targets.push(/grpc=(\S+)/.exec(line)?.[1] ?? "");
      for (const [, at, port] of line.matchAll(/(\d+)@udp:(\d+)/g))
        cables[Number(at)] = [...(cables[Number(at)] ?? []), "--cable", `s${i + 1}=127.0.0.1:${port}`];
    }
    const file = join(folder, "net.yaml");
    writeFileSync(
      file,
      [
        "program: program.ts",
        "switches:",
        ...targets.map(
          (t, i) =>
            `  s${i + 1}: { target: "${t}", deviceId: ${i + 1}, mac: "02:00:00:00:01:0${i}", ipv4: 10.9.0.${i + 1} }`,
        ),
        "hosts:",
        ...hosts.map(
          (h, i) =>
            `  ${h}: { mac: "02:00:00:00:00:0${i + 1}", ipv4: 10.0.0.${i + 1}, at: ["s1:${i}", "s2:${i}"] }`,
        ),
      ].join("\n"),
    );
    const jobPorts = [await freePort(), await freePort()];
    const controllers = jobPorts.map((port) =>
      run(
        "controller",
        "--topology",
        file,
        "--listen",
        "127.0.0.1:0",
        "--jobs",
        `127.0.0.1:${port}`,
        "--etcd",
        running.url,
        "--etcd-ttl",
        "2",
      ),
    );
    const leading = (): Running | undefined =>
      controllers.find(
        (c) =>
          c.child.exitCode === null && c.child.signalCode === null && c.said.stdout.includes("ready http"),
      );
    await expect.poll(() => leading() !== undefined, WAIT).toBe(true);
    const service = jobPorts.map((port) => `127.0.0.1:${port}`).join(",");
    const host = (verb: string, i: number, ...more: string[]): Running =>
      run(
        verb,
        TRAINING,
        "--controller",
        service,
        "--host",
        hosts[i] ?? "",
        "--bind",
        `127.0.0.1:${own[i]}`,
        ...(cables[i] ?? []),
        ...more,
      );
    const server = host("server", 2, "--workers", "w0,w1", "--needs-switch");
    const w0 = host("worker", 0);
    const w1 = host("worker", 1);
    const joined = (worker: Running) =>
      expect.poll(() => events(worker).map((e) => e.event), WAIT).toContain("joined");
    await Promise.all([joined(w0), joined(w1)]);
    const job = async (): Promise<Readonly<Record<string, unknown>>> => {
      const { stdout } = await gradplane(["jobs", "--controller", service, "--json"]);
      return stdout === "" ? {} : JSON.parse(stdout);
    };
    await expect.poll(async () => Number((await job()).openRound), WAIT).toBeGreaterThan(5);

    const first = leading();
    const killedAt = performance.now();
    first?.child.kill("SIGKILL");
    await expect.poll(() => leading() !== undefined && leading() !== first, WAIT).toBe(true);
    console.log(
      `the next controller steers ${Math.round(performance.now() - killedAt)} ms after the first was killed (lease of 2 s)`,
    );
    await expect.poll(async () => (await job()).openRound !== undefined, WAIT).toBe(true);

    w1.child.kill("SIGKILL");
    const again = host("worker", 1);
    await joined(again);
    expect(events(again).find((e) => e.event === "joined")).toMatchObject({ member: 1, life: 1 });
    expect(await w0.end).toMatchObject({ status: 0 });
    expect(await again.end).toMatchObject({ status: 0 });
    expect(await server.end).toMatchObject({ status: 0 });
    const ended = events(server).find((e) => e.event === "ended");
    expect(ended).toMatchObject({ rounds: 250, reason: expect.stringContaining("all workers are done") });
    const sums = Array.isArray(ended?.sums) ? ended.sums : [];
    expect(sums).toHaveLength(250);
    for (const [i, sum] of sums.entries())
      expect([`${i + 1} 2 3 3 3 3`, `${i + 1} 1 1 1 1 1`]).toContain(sum);
    expect(await job()).toEqual({});
  });
});
