/**
 * Collective operations between processes over TCP, each sending at most RATE bytes per second: how the time grows with the number of
 * nodes, by algorithm. The rate is far below what the machine can copy, so that the network is what is measured.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Algorithm } from "../../src/host/lp/index.ts";
import { TcpSeat } from "../../src/host/lp/index.ts";

const RATE = 2e6;
const VALUES = 500_000;
const BLOCK = 8192;
const algorithms: readonly Algorithm[] = ["chain", "tree", "exchange", "ring"];

interface Times {
  readonly broadcast: number;
  readonly reduce: number;
  readonly allreduce: number;
}

async function member(node: number): Promise<void> {
  const seat = await TcpSeat.listen({ host: "127.0.0.1", port: 0 });
  process.stdout.write(`${seat.port}\n`);
  const ports: readonly number[] = await new Promise((resolve) => {
    createInterface({ input: process.stdin }).once("line", (line) => resolve(JSON.parse(line)));
  });
  const addresses = ports.map((port) => ({ host: "127.0.0.1", port }));
  const group = await seat.join({ node, addresses, session: 1, options: { rate: RATE, silence: 60_000 } });
  const values = new Float32Array(VALUES).fill(1);
  for (const algorithm of algorithms) {
    const options = { algorithm, block: BLOCK };
    const timed = async (what: () => Promise<unknown>): Promise<number> => {
      await group.allreduce(new Float32Array(0), { algorithm: "tree" });
      const start = performance.now();
      await what();
      await group.allreduce(new Float32Array(0), { algorithm: "tree" });
      return performance.now() - start;
    };
    const times: Times = {
      broadcast: await timed(() => group.broadcast(values, 0, options)),
      reduce: await timed(() => group.reduce(values, 0, options)),
      allreduce: await timed(() => group.allreduce(values, options)),
    };
    if (node === 0) process.stdout.write(`${JSON.stringify(times)}\n`);
  }
  await group.close();
  process.exit(0);
}

async function measure(nodes: number): Promise<readonly Times[]> {
  const script = fileURLToPath(import.meta.url);
  const children = Array.from({ length: nodes }, (_, node) =>
    spawn(process.execPath, ["--import", "tsx", script, "member", `${node}`], {
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  const lines = children.map(({ stdout }) => createInterface({ input: stdout })[Symbol.asyncIterator]());
  const ports = await Promise.all(lines.map(async (l) => Number((await l.next()).value)));
  for (const { stdin } of children) stdin.write(`${JSON.stringify(ports)}\n`);
  const times: Times[] = [];
  for (const _ of algorithms) times.push(JSON.parse((await lines[0]?.next())?.value ?? "{}"));
  await Promise.all(children.map((child) => new Promise((resolve) => child.once("exit", resolve))));
  return times;
}

if (process.argv[2] === "member") await member(Number(process.argv[3]));
else {
  const sizes = [2, 4, 8];
  const found = new Map<number, readonly Times[]>();
  for (const nodes of sizes) found.set(nodes, await measure(nodes));
  console.log(`${VALUES * 4} bytes, ${RATE / 1e6} MB/s per node; seconds, and the ratio to 2 nodes`);
  for (const [i, algorithm] of algorithms.entries())
    for (const operation of ["broadcast", "reduce", "allreduce"] as const) {
      const first = found.get(2)?.[i]?.[operation] ?? Number.NaN;
      const cells = sizes.map((nodes) => {
        const time = found.get(nodes)?.[i]?.[operation] ?? Number.NaN;
        return `P=${nodes} ${(time / 1000).toFixed(2)} (${(time / first).toFixed(2)})`;
      });
      console.log(`  ${algorithm.padEnd(9)} ${operation.padEnd(10)} ${cells.join("   ")}`);
    }
}
