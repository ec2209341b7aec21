/**
 * One node as a process of its own: `member.ts NODE NODES LENGTH`. It prints its port, reads all ports as JSON from stdin, sums up
 * for ever, and prints what becomes of it.
 */
import { createInterface } from "node:readline";
import { CollectiveError } from "../../../src/host/lp/errors.ts";
import { TcpSeat } from "../../../src/host/lp/tcp.ts";

const [node = 0, length = 0] = process.argv.slice(2).map(Number);
const seat = await TcpSeat.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`port ${seat.port}\n`);
const lines = createInterface({ input: process.stdin });
const ports: readonly number[] = JSON.parse(
  await new Promise<string>((resolve) => {
    lines.once("line", resolve);
  }),
);
lines.close();
try {
  const addresses = ports.map((port) => ({ host: "127.0.0.1", port }));
  const options = { heartbeat: 100, silence: 1000 };
  const group = await seat.join({ node, addresses, session: 1, options });
  const values = new Float32Array(length).fill(node + 1);
  for (let round = 0; ; round++) {
    const sum = await group.allreduce(values);
    if (round === 1) process.stdout.write(`sum ${sum[0]}\n`);
  }
} catch (error) {
  if (!(error instanceof CollectiveError)) throw error;
  process.stdout.write(`error ${error.code} ${error.node}\n`);
  process.exit(0);
}
