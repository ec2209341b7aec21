import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../src/cli/freeport.ts";
import { P4RuntimeClient } from "../src/p4runtime/index.ts";

/** Milliseconds that it may take to answer, tried every 200. */
const PATIENCE = 20_000;

/** Starts simple_switch_grpc without ports for the length of `work`, which gets its P4Runtime address and its process. */
export async function withSimpleSwitch<T>(
  binary: string,
  work: (address: string, pid: number) => Promise<T>,
): Promise<T> {
  const [grpc, thrift] = [await freePort(), await freePort()];
  const address = `127.0.0.1:${grpc}`;
  const own = ["--no-p4", "--device-id", "1", "--thrift-port", `${thrift}`];
  const target = ["--grpc-server-addr", address, "--cpu-port", "510"];
  const child = spawn(binary, [...own, "--", ...target], { stdio: "ignore" });
  try {
    for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(200)) {
      const found = await P4RuntimeClient.connect({ address }).catch(() => undefined);
      await found?.close();
      if (found !== undefined) return await work(address, child.pid ?? 0);
    }
    throw new Error("simple_switch_grpc does not answer");
  } finally {
    child.kill();
  }
}
