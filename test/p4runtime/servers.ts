import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { Client, credentials } from "@grpc/grpc-js";
import { freePort } from "../../src/cli/freeport.ts";
import { P4RuntimeServer } from "../../src/switch/p4runtime/server.ts";
import { EmbeddedSwitchTarget, ioOf } from "../../src/switch/p4runtime/switch-target.ts";
import { SwitchRunner } from "../../src/switch/ports/switch-runner.ts";
import { Switch } from "../../src/switch/switch.ts";
import { findTools } from "../backends/tools.ts";
import { stopAfterTest } from "./bench.ts";

const { bmv2 } = findTools({ bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"] });

/** The controller's port of all of them. */
export const CPU_PORT = 100;

/** A switch with a P4Runtime server, device 1, without a program. */
export interface TestedServer {
  readonly title: string;
  readonly isHere: boolean;
  /** Does it go PI's ways where they are not those of the specification? */
  readonly isPi: boolean;
  readonly isReal: boolean;
  /** Starts one that is stopped after the test. @returns its address */
  start(): Promise<string>;
}

async function embedded(profile: "spec" | "bmv2"): Promise<string> {
  const sw = new Switch(undefined, { cpuPort: CPU_PORT, ports: [0, 1, 2, 3, 4, 5, 6, 7, CPU_PORT] });
  const runner = new SwitchRunner(sw);
  stopAfterTest(() => runner.close());
  const target = new EmbeddedSwitchTarget(sw, ioOf(runner));
  const server = await P4RuntimeServer.start({ target, address: "127.0.0.1:0", profile });
  stopAfterTest(() => server.close());
  return server.address;
}

async function simpleSwitch(): Promise<string> {
  const [grpc, thrift] = [await freePort(), await freePort()];
  const address = `127.0.0.1:${grpc}`;
  const own = ["--no-p4", "--device-id", "1", "--thrift-port", String(thrift)];
  const child = spawn(
    bmv2 ?? "",
    [...own, "--", "--grpc-server-addr", address, "--cpu-port", `${CPU_PORT}`],
    {
      cwd: tmpdir(),
      stdio: "ignore",
    },
  );
  stopAfterTest(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  const probe = new Client(address, credentials.createInsecure());
  await new Promise<void>((resolve, reject) =>
    probe.waitForReady(Date.now() + 60_000, (error) => (error === undefined ? resolve() : reject(error))),
  );
  probe.close();
  return address;
}

export const SERVERS: readonly TestedServer[] = [
  { title: "the embedded switch", isHere: true, isPi: false, isReal: false, start: () => embedded("spec") },
  {
    title: "the embedded switch with profile bmv2",
    isHere: true,
    isPi: true,
    isReal: false,
    start: () => embedded("bmv2"),
  },
  { title: "simple_switch_grpc", isHere: bmv2 !== undefined, isPi: true, isReal: true, start: simpleSwitch },
];
