import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Etcd3 } from "etcd3";
import { onPath } from "../../src/backends/onpath.ts";
import { freePort } from "../../src/cli/freeport.ts";

/** Debian's etcd-server; undefined when it is not installed. */
export const etcd: string | undefined = onPath("etcd", process.env.PATH);
if (etcd === undefined) console.log("etcd is not here: tests of several controllers are skipped");

export interface RunningEtcd {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  readonly client: Etcd3;
  stop(): Promise<void>;
}

/** Starts an etcd of one member in an empty folder. */
export async function startEtcd(): Promise<RunningEtcd> {
  const folder = mkdtempSync(join(tmpdir(), "gradplane-etcd-"));
  const [port, peer] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  const child: ChildProcess = spawn(
    etcd ?? "etcd",
    [
      ["--data-dir", folder],
      ["--name", "e"],
      ["--listen-client-urls", url],
      ["--advertise-client-urls", url],
      ["--listen-peer-urls", peerUrl],
      ["--initial-advertise-peer-urls", peerUrl],
      ["--initial-cluster", `e=${peerUrl}`],
      ["--heartbeat-interval", "50"],
      ["--election-timeout", "300"],
    ].flat(),
    { stdio: "ignore" },
  );
  const client = new Etcd3({ hosts: url });
  for (let tries = 0; ; tries++) {
    const answer = await client
      .get("x")
      .string()
      .catch((error: unknown) => error);
    if (!(answer instanceof Error)) break;
    if (tries > 300) throw answer;
    await sleep(100);
  }
  const stop = async (): Promise<void> => {
    client.close();
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    rmSync(folder, { recursive: true });
  };
  return { url, port, client, stop };
}
