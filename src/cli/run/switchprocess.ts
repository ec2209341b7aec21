import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { EnvironmentError } from "../exit.ts";

export interface SwitchRequest {
  readonly name: string;
  readonly deviceId: bigint;
  readonly cpuPort: number;
  /** UDP port of 127.0.0.1 that each switch port sends to. */
  readonly ports: ReadonlyMap<number, number>;
  /** What it behaves as; v1model when absent. */
  readonly personality?: "v1model" | "tna";
  /** gradplane's own switch when absent, or simple_switch_grpc. */
  readonly on?: "embedded" | "bmv2";
}

export interface RunningSwitch {
  readonly name: string;
  /** host:port of its P4Runtime server. */
  readonly grpc: string;
  /** UDP port of 127.0.0.1 on which each switch port listens. */
  readonly ports: ReadonlyMap<number, number>;
  readonly pid: number;
  /** As a power cut: SIGKILL. */
  kill(): void;
  /** SIGTERM, and waits for the end. */
  stop(): Promise<void>;
}

const executable = fileURLToPath(new URL("../../../bin/gradplane.js", import.meta.url));
/** Milliseconds; a machine that is busy with other things starts switches slowly. */
const START_LIMIT = 60_000;
/** Milliseconds after SIGTERM before SIGKILL. */
const STOP_LIMIT = 5_000;

/** Starts `gradplane switch` and waits for its ready line. @throws EnvironmentError with what it said. */
export async function startSwitchProcess(request: SwitchRequest): Promise<RunningSwitch> {
  const args = [
    executable,
    "switch",
    "--no-p4",
    "--device-id",
    `${request.deviceId}`,
    "--cpu-port",
    `${request.cpuPort}`,
    "--grpc-server-addr",
    "127.0.0.1:0",
    ...(request.personality === undefined ? [] : ["--personality", request.personality]),
    ...(request.on === undefined ? [] : ["--on", request.on]),
    ...[...request.ports].flatMap(([port, peer]) => ["-i", `${port}@udp:0:${peer}`]),
  ];
  // Through the channel the switch notices the end of this process, even a violent one, and ends too.
  // With --on bmv2 a second process stands beside it: both are one group, so that a power cut is one of both.
  const hasGroup = request.on === "bmv2";
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: hasGroup,
  });
  const { pid } = child;
  const kill = (): void => {
    if (!hasGroup) child.kill("SIGKILL");
    else if (pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-pid, "SIGKILL");
  };
  const ready = await readyLine(child, request.name, kill);
  if (pid === undefined) throw new EnvironmentError(`switch ${request.name} has no process`);
  return {
    name: request.name,
    ...ready,
    pid,
    kill,
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) {
          resolve();
          return;
        }
        const limit = setTimeout(kill, STOP_LIMIT);
        child.once("exit", () => {
          clearTimeout(limit);
          resolve();
        });
        child.kill("SIGTERM");
      }),
  };
}

function readyLine(
  child: ChildProcess,
  name: string,
  kill: () => void,
): Promise<Pick<RunningSwitch, "grpc" | "ports">> {
  return new Promise((resolve, reject) => {
    const said: string[] = [];
    const fail = (why: string): void => {
      kill();
      reject(
        new EnvironmentError(`switch ${name} ${why}${said.length === 0 ? "" : `:\n${said.join("\n")}`}`),
      );
    };
    const limit = setTimeout(() => fail(`was not ready after ${START_LIMIT / 1000} s`), START_LIMIT);
    const onExit = (): void => {
      clearTimeout(limit);
      fail("ended at once");
    };
    // "close" and not "exit": what it said last is still to be read.
    child.once("close", onExit);
    child.once("error", (error) => fail(error.message));
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on("line", (line) => {
        const ready = parseReady(line);
        if (ready === undefined) {
          if (said.length < 20) said.push(line);
          return;
        }
        clearTimeout(limit);
        child.off("close", onExit);
        resolve(ready);
      });
    }
  });
}

/** `ready grpc=127.0.0.1:40001 0@udp:41000 1@udp:41001` */
export function parseReady(line: string): Pick<RunningSwitch, "grpc" | "ports"> | undefined {
  const [word, grpc, ...ports] = line.split(" ");
  if (word !== "ready" || grpc?.startsWith("grpc=") !== true) return undefined;
  return {
    grpc: grpc.slice("grpc=".length),
    ports: new Map(
      ports.flatMap((text) => {
        const parts = /^(\d+)@udp:(\d+)$/.exec(text);
        return parts === null ? [] : [[Number(parts[1]), Number(parts[2])] as const];
      }),
    ),
  };
}
