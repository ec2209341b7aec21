/**
 * Packets per second that a switch carries from one veth pair to another: the most that come out, whatever is sent, with the loss at that
 * rate; both switches in one run with the same JSON, entries and frames of 100 bytes: the embedded switch, and simple_switch_grpc when it
 * is here (SIMPLE_SWITCH_GRPC or PATH). The sender shares the machine with them.
 * IPv4 forwarding by longest prefix, 10,000 entries, TTL and checksum updated.
 * Needs root (veth pairs). Run: npx tsx bench/switch/veth.ts
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { generate } from "../../src/backends/index.ts";
import { ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { insert, P4RuntimeClient, p4infoFromBinary } from "../../src/p4runtime/index.ts";
import { type LinuxPort, openLinuxPorts } from "../../src/switch/index.ts";
import { realTool } from "../realtools.ts";

const PREFIXES = 10_000;
const SECONDS = 2;
const FRAME_BYTES = 100;
const pairs = [
  ["gpbench0", "gpbench1"],
  ["gpbench2", "gpbench3"],
] as const;

const files = generate(
  program("veth", { ports: 8, cpuPort: 510, features: [ipv4Forwarding({ routes: PREFIXES + 16 })] }).ir,
);
const bytes = (name: string): Uint8Array => Buffer.from(files.get(name) ?? "");

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

const prefix = (n: number): string => `10.${n >> 8}.${n & 0xff}.0/24`;

function frames(): Buffer[] {
  return Array.from({ length: 1024 }, (_, i) => {
    const n = (i * 7919) % PREFIXES;
    const frame = Buffer.alloc(FRAME_BYTES);
    frame.write("020000000001020000000002" + "0800" + "4500", "hex");
    frame.writeUInt16BE(FRAME_BYTES - 14, 16);
    frame.writeUInt8(64, 22);
    frame.writeUInt8(17, 23);
    frame.set([192, 168, 0, 1, 10, n >> 8, n & 0xff, 7], 26);
    let sum = 0;
    for (let at = 14; at < 34; at += 2) sum += frame.readUInt16BE(at);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    frame.writeUInt16BE(~sum & 0xffff, 24);
    return frame;
  });
}

const arrived = (): number =>
  Number(readFileSync(`/sys/class/net/${pairs[1][1]}/statistics/rx_packets`, "latin1"));

/** Sends at a rate; gives the part that did not arrive, or undefined when the sender itself was too slow. */
async function lossAt(rate: number, port: LinuxPort, all: readonly Buffer[]): Promise<number | undefined> {
  const before = arrived();
  const start = performance.now();
  const total = rate * SECONDS;
  let sent = 0;
  while (sent < total) {
    const due = Math.min(total, Math.floor((rate * (performance.now() - start)) / 1000));
    for (const end = Math.min(due, sent + 256); sent < end; sent++)
      port.send(all[sent & 1023] ?? Buffer.alloc(0));
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

async function carried(port: LinuxPort): Promise<Carried> {
  const all = frames();
  await lossAt(5_000, port, all);
  let best: Carried = { rate: 0, loss: 1, isSendersLimit: false };
  for (let offered = 5_000; ; offered = Math.round(offered * 1.3)) {
    const loss = await lossAt(offered, port, all);
    if (loss === undefined) return { ...best, isSendersLimit: true };
    const rate = Math.round(offered * (1 - loss));
    if (rate > best.rate) best = { ...best, rate, loss };
    // Far beyond what it can do.
    if (rate < best.rate / 2 || loss > 0.7) return best;
  }
}

async function install(address: string): Promise<void> {
  const client = await P4RuntimeClient.connect({ address });
  try {
    await client.arbitrate(1n);
    await client.pushPipeline(p4infoFromBinary(bytes("p4info.bin")), bytes("veth.json"));
    await client.write(
      Array.from({ length: PREFIXES }, (_, n) =>
        insert(
          client.entities.tableEntry("forwarding.route", { dst_addr: prefix(n) }, "forwarding.to_port", {
            port: 1,
            dst_mac: "02:00:00:00:00:09",
          }),
        ),
      ),
    );
  } finally {
    await client.close();
  }
}

/** The most packets per second that come out of a switch. */
async function measure(name: string, on: "embedded" | "bmv2"): Promise<number> {
  makePairs();
  const ports = ["-i", `0@${pairs[0][0]}`, "-i", `1@${pairs[1][0]}`, "--cpu-port", "510"];
  const args = [gradplane, "switch", "--on", on, "--no-p4", ...ports, "--grpc-server-addr", "127.0.0.1:0"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = openLinuxPorts([pairs[0][1]]);
  try {
    const [line]: Buffer[] = await once(child.stdout, "data");
    const grpc = /^ready grpc=(\S+)/.exec(`${line}`)?.[1];
    if (port === undefined || grpc === undefined) throw new Error(`${name} did not start`);
    await install(grpc);
    const { rate, loss, isSendersLimit } = await carried(port);
    const lost = `${(100 * loss).toFixed(1)} % lost${isSendersLimit ? ", the sender can no more" : ""}`;
    console.log(
      `${name.padEnd(20)} ${`${rate}`.padStart(9)} packets/s of ${FRAME_BYTES} bytes came out (${lost})`,
    );
    return rate;
  } finally {
    child.kill();
    if (child.exitCode === null) await once(child, "exit");
    await port?.close();
    removePairs();
  }
}

removePairs();
const embedded = await measure("embedded switch", "embedded");
if (realTool("SIMPLE_SWITCH_GRPC", "simple_switch_grpc") === undefined)
  console.log("simple_switch_grpc is not here (SIMPLE_SWITCH_GRPC): no comparison");
else {
  const bmv2 = await measure("simple_switch_grpc", "bmv2");
  console.log(`ratio ${(embedded / bmv2).toFixed(1)} (above 1: the embedded switch is faster)`);
}
