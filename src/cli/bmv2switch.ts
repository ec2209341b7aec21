/** `gradplane switch --on bmv2`: the same arguments, but simple_switch_grpc does the work. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { onPath } from "../backends/onpath.ts";
import type { P4Info } from "../p4info/index.ts";
import { P4RuntimeClient } from "../p4runtime/index.ts";
import { Bmv2Ports } from "./bmv2ports.ts";
import { EnvironmentError } from "./exit.ts";
import { freePort } from "./freeport.ts";
import { type OpenPort, openPorts, type PortRequest } from "./switchports.ts";

export interface Bmv2Request {
  /** Linux interfaces only, or none of them: then simple_switch_grpc has its ports by gRPC. */
  readonly ports: readonly PortRequest[];
  readonly deviceId: bigint;
  readonly cpuPort: number | undefined;
  readonly dropPort: number;
  /** BMv2 drops what has a priority from here on, and has one queue unless it is told. */
  readonly priorityQueues: number;
  /** HOST:PORT; port 0 takes a free one. */
  readonly address: string;
  readonly program: { readonly p4info: P4Info; readonly deviceConfig: Uint8Array } | undefined;
}

/** Milliseconds that it may take to answer. */
const patience = 60_000;

/**
 * Runs simple_switch_grpc until `ended`, or until it ends by itself.
 *
 * @throws EnvironmentError when it is not there, does not start, or ends by itself
 */
export async function runBmv2(request: Bmv2Request, ended: Promise<void>): Promise<void> {
  const binary = findBmv2();
  // It would only write this to its log, and run without the port.
  const linux = request.ports.filter((port) => port.kind === "linux");
  for (const { number, name } of linux)
    if (!existsSync(`/sys/class/net/${name}`))
      throw new EnvironmentError(`port ${number}: there is no interface ${name}; "ip link" lists them`);
  const opened = await openPorts(request.ports.filter((port) => port.kind !== "linux"));
  const address = request.address.replace(/:0$/, `:${await freePort()}`);
  const dataplane = opened.length === 0 ? undefined : `127.0.0.1:${await freePort()}`;
  const child = spawn(binary, argumentsOf(request, address, dataplane, await freePort()), {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said.push(text);
      if (said.length > 50) said.shift();
    });
  const exit = new Promise<never>((_, reject) => {
    const fail = (reason: string): void =>
      reject(new EnvironmentError(`${binary} ${reason}: ${lastLines(said)}`));
    child.once("error", (error) => fail(`cannot be run (${error.message})`));
    child.once("exit", (code, signal) => fail(`ended with ${code ?? signal}`));
  });
  exit.catch(() => {});
  let bridge: Bmv2Ports | undefined;
  try {
    if (!(await Promise.race([start(request, address), exit])))
      throw new EnvironmentError(`simple_switch_grpc does not answer on ${address}: ${lastLines(said)}`);
    if (dataplane !== undefined) bridge = new Bmv2Ports(dataplane, request.deviceId, opened);
    const names = [...linux.map(({ number, name }) => `${number}@${name}`), ...opened.map((o) => o.where)];
    process.stdout.write(`ready grpc=${address}${names.map((name) => ` ${name}`).join("")}\n`);
    await Promise.race([ended, exit]);
  } finally {
    bridge?.close();
    await stop(child);
    await Promise.all(opened.map(({ port }: OpenPort) => port.close()));
  }
}

function argumentsOf(
  request: Bmv2Request,
  address: string,
  dataplane: string | undefined,
  thriftPort: number,
): string[] {
  const { ports, deviceId, cpuPort, dropPort, priorityQueues } = request;
  return [
    "--no-p4",
    ...ports.flatMap((port) => (port.kind === "linux" ? ["-i", `${port.number}@${port.name}`] : [])),
    ...["--device-id", `${deviceId}`],
    // Its default is the same for every switch of a machine.
    ...["--thrift-port", `${thriftPort}`],
    ...["--log-level", "warn", "--log-console"],
    "--",
    ...["--grpc-server-addr", address],
    ...(dataplane === undefined ? [] : ["--dp-grpc-server-addr", dataplane]),
    ...(cpuPort === undefined ? [] : ["--cpu-port", `${cpuPort}`]),
    ...["--drop-port", `${dropPort}`, "--priority-queues", `${priorityQueues}`],
  ];
}

function lastLines(said: readonly string[]): string {
  return said.join("").trim().split("\n").slice(-3).join("; ");
}

/** Waits until it answers, and gives it the program; false when it does not answer. */
async function start({ deviceId, program }: Bmv2Request, address: string): Promise<boolean> {
  const end = Date.now() + patience;
  for (;;) {
    const client = await P4RuntimeClient.connect({ address, deviceId }).catch(() => undefined);
    if (client !== undefined) {
      try {
        if (program === undefined) return true;
        await client.arbitrate(1n);
        await client.pushPipeline(program.p4info, program.deviceConfig);
        return true;
      } finally {
        await client.close();
      }
    }
    if (Date.now() > end) return false;
    await sleep(100);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), 2000);
  await gone;
  clearTimeout(late);
}

/** simple_switch_grpc, from the variable SIMPLE_SWITCH_GRPC or the PATH. */
function findBmv2(): string {
  const named = process.env.SIMPLE_SWITCH_GRPC;
  if (named !== undefined && named !== "") return named;
  const found = onPath("simple_switch_grpc", process.env.PATH);
  if (found === undefined)
    throw new EnvironmentError(
      "simple_switch_grpc is not on the PATH; set SIMPLE_SWITCH_GRPC, or see bmv2/README.md for how to get it",
    );
  return found;
}
