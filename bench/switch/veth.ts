/**
 * Packets per second that a switch carries from one port to another: the most that come out, whatever is sent, with the loss at that
 * rate. The embedded switch and, when it is here (SIMPLE_SWITCH_GRPC or PATH), simple_switch_grpc, in one run with the same JSON, entries and frames
 * between two veth pairs, whose sender shares the machine with them; and the embedded switch without sockets, inside this process.
 * Programs: exact addresses, longest prefixes with TTL and checksum, an access list, and contributions to Libra's aggregation (each also makes an
 * acknowledgement, which is not counted).
 * Needs root (veth pairs). Run: npx tsx bench/switch/veth.ts
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { P4RuntimeClient, p4infoFromBinary } from "../../src/p4runtime/index.ts";
import { type LinuxPort, openLinuxPorts, type SwitchAction } from "../../src/switch/index.ts";
import { TestSwitch } from "../../src/testing/index.ts";
import { realTool } from "../realtools.ts";
import { type Workload, workloads } from "../switchprograms.ts";

const SECONDS = 2;
const IN_PROCESS = 200_000;
const pairs = [
  ["gpbench0", "gpbench1"],
  ["gpbench2", "gpbench3"],
] as const;

const ip = (...args: string[]): void => void execFileSync("ip", args, { stdio: "pipe" });
function makePairs(): void {
  for (const [a, b] of pairs) {
    ip("link", "add", a, "type", "veth", "peer", "name", b);
    for (const name of [a, b]) {
      ip("link", "set", name, "addrgenmode", "none");
      ip("link", "set", name, "up");
    }
  }
}
function removePairs(): void {
  for (const [a] of pairs) {
    try {
      ip("link", "del", a);
    } catch {
      // It was never made.
    }
  }
}

const gradplane = fileURLToPath(new URL("../../bin/gradplane.js", import.meta.url));

const arrived = (): number =>
  Number(readFileSync(`/sys/class/net/${pairs[1][1]}/statistics/rx_packets`, "latin1"));

/** Frames of a workload, one after the other over all rates. */
class Frames {
  readonly #workload: Workload;
  #sent = 0;

  constructor(workload: Workload) {
    this.#workload = workload;
  }

  next(): Uint8Array {
    return this.#workload.frame(this.#sent++);
  }
}

/** Sends at a rate; gives the part that did not arrive, or undefined when the sender itself was too slow. */
async function lossAt(rate: number, port: LinuxPort, frames: Frames): Promise<number | undefined> {
  const before = arrived();
  const start = performance.now();
  const total = rate * SECONDS;
  let sent = 0;
  while (sent < total) {
    const due = Math.min(total, Math.floor((rate * (performance.now() - start)) / 1000));
    for (const end = Math.min(due, sent + 256); sent < end; sent++) port.send(frames.next());
    await turn();
  }
  if (performance.now() - start > SECONDS * 1100) return undefined;
  await sleep(300);
  return 1 - (arrived() - before) / total;
}

interface Carried {
  /** Packets per second that came out, and the part that did not. */
  readonly rate: number;
  readonly loss: number;
  /** The sender could send no more. */
  readonly isSendersLimit: boolean;
}

async function carried(port: LinuxPort, frames: Frames): Promise<Carried> {
  await lossAt(1_000, port, frames);
  let best: Carried = { rate: 0, loss: 1, isSendersLimit: false };
  for (let offered = 1_000; ; offered = Math.round(offered * 1.5)) {
    const loss = await lossAt(offered, port, frames);
    if (loss === undefined) return { ...best, isSendersLimit: true };
    const rate = Math.round(offered * (1 - loss));
    if (rate > best.rate) best = { ...best, rate, loss };
    // Far beyond what it can do.
    if (rate < best.rate / 2 || loss > 0.7) return best;
  }
}

async function install({ p4info, json, updates }: Workload, address: string): Promise<void> {
  const client = await P4RuntimeClient.connect({ address });
  try {
    await client.arbitrate(1n);
    await client.pushPipeline(p4infoFromBinary(p4info), json);
    await client.write(updates(client.entities));
  } finally {
    await client.close();
  }
}

function print({ frameBytes }: Workload, name: string, rate: number, note: string): void {
  const figure = Math.round(rate).toLocaleString("en").padStart(10);
  console.log(`  ${name.padEnd(28)} ${figure} packets/s of ${frameBytes} bytes${note}`);
}

/** The most packets per second that come out of a switch between veth pairs. */
async function overVeth(workload: Workload, name: string, on: "embedded" | "bmv2"): Promise<number> {
  makePairs();
  const ports = ["-i", `0@${pairs[0][0]}`, "-i", `1@${pairs[1][0]}`, "--cpu-port", "64"];
  const args = [gradplane, "switch", "--on", on, "--no-p4", ...ports, "--grpc-server-addr", "127.0.0.1:0"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = openLinuxPorts([pairs[0][1]]);
  try {
    const [line]: Buffer[] = await once(child.stdout, "data");
    const grpc = /^ready grpc=(\S+)/.exec(`${line}`)?.[1];
    if (port === undefined || grpc === undefined) throw new Error(`${name} did not start`);
    await install(workload, grpc);
    const { rate, loss, isSendersLimit } = await carried(port, new Frames(workload));
    const lost = `${(100 * loss).toFixed(1)} % lost${isSendersLimit ? ", the sender can no more" : ""}`;
    print(workload, `${name}, veth`, rate, ` (${lost})`);
    return rate;
  } finally {
    child.kill();
    if (child.exitCode === null) await once(child, "exit");
    await port?.close();
    removePairs();
  }
}

/** The best of several rounds: the machine's other work only ever slows one down. */
function inProcess(workload: Workload): number {
  const sw = TestSwitch.load({ json: workload.json, p4info: p4infoFromBinary(workload.p4info) });
  sw.write(...workload.updates(sw.entities));
  const frames = new Frames(workload);
  let sent = 0;
  const sink = (action: SwitchAction): void => {
    if (action.kind === "transmit" && action.port === 1) sent++;
  };
  let best = 0;
  for (let round = 0; round < 5; round++) {
    sent = 0;
    const start = performance.now();
    for (let i = 0; i < IN_PROCESS; i++) sw.core.receive(0, frames.next(), 0, sink);
    best = Math.max(best, (IN_PROCESS * 1000) / (performance.now() - start));
    if (sent !== IN_PROCESS) throw new Error(`${workload.name}: ${sent} of ${IN_PROCESS} packets came out`);
  }
  print(workload, "embedded switch, in process", best, "");
  return best;
}

removePairs();
const hasBmv2 = realTool("SIMPLE_SWITCH_GRPC", "simple_switch_grpc") !== undefined;
if (!hasBmv2) console.log("simple_switch_grpc is not here (SIMPLE_SWITCH_GRPC): no comparison");
for (const workload of workloads()) {
  console.log(workload.name);
  const alone = inProcess(workload);
  const embedded = await overVeth(workload, "embedded switch", "embedded");
  if (!hasBmv2) continue;
  const bmv2 = await overVeth(workload, "simple_switch_grpc", "bmv2");
  const [veth, inside] = [embedded / bmv2, alone / bmv2].map((r) => r.toFixed(1));
  console.log(`  ratio ${veth} over veth, ${inside} in process (above 1: the embedded switch is faster)`);
}
