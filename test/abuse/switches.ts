import { once } from "node:events";
import { connect as connectTo, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Topology } from "../../src/controller/topology.ts";
import { Switch, SwitchRunner } from "../../src/switch/index.ts";
import { EmbeddedSwitchTarget, ioOf, P4RuntimeServer } from "../../src/switch/p4runtime/index.ts";
import { CPU, PORTS, topologyOf } from "./network.ts";

/** A switch with its P4Runtime server, and a cable to the controller that can be cut. */
export interface SteeredSwitch {
  readonly engine: Switch;
  readonly runner: SwitchRunner;
  readonly server: P4RuntimeServer;
  /** What the controller connects to. */
  readonly cable: Cable;
  /** As a power cut. */
  kill(): void;
}

/** Starts a switch that is stopped after the test at the latest. */
export async function startSwitch(deviceId: number, address = "127.0.0.1:0"): Promise<SteeredSwitch> {
  const ports = [...Array(PORTS).keys(), CPU];
  const engine = new Switch(undefined, { cpuPort: CPU, ports });
  const runner = new SwitchRunner(engine);
  const target = new EmbeddedSwitchTarget(engine, ioOf(runner));
  const server = await P4RuntimeServer.start({ target, address, deviceId: BigInt(deviceId) });
  const cable = await Cable.open(server.address);
  const kill = (): void => {
    cable.cut();
    server.abort();
  };
  onTestFinished(async () => {
    kill();
    await runner.close();
  });
  return { engine, runner, server, cable, kill };
}

/** Two switches s1 and s2 for a topology with `workers` workers. */
export async function startTwo(
  workers: number,
): Promise<{ readonly topology: Topology; readonly s1: SteeredSwitch; readonly s2: SteeredSwitch }> {
  const [s1, s2] = await Promise.all([startSwitch(1), startSwitch(2)]);
  return { topology: topologyOf(workers, [s1.cable.address, s2.cable.address]), s1, s2 };
}

/** A TCP relay that is cut, or falls silent, after some number of bytes towards the switch. */
export class Cable {
  readonly #server: Server;
  readonly #to: number;
  readonly #sockets = new Set<Socket>();
  #limit = Number.POSITIVE_INFINITY;
  #onLimit: (() => void) | undefined;
  #isSilent = false;
  /** Bytes that have gone from the controller to the switch. */
  bytes = 0;

  private constructor(server: Server, to: number) {
    this.#server = server;
    this.#to = to;
    server.on("connection", (socket) => this.#relay(socket));
  }

  static async open(to: string): Promise<Cable> {
    const server = createServer();
    const cable = new Cable(server, Number(to.slice(to.lastIndexOf(":") + 1)));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => cable.cut());
    return cable;
  }

  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the cable is cut");
    return `127.0.0.1:${address.port}`;
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#sockets.size / 2;
  }

  /** Does something when this many bytes have gone to the switch; the rest is lost. */
  after(bytes: number, what: () => void): void {
    this.#limit = bytes;
    this.#onLimit = what;
  }

  /** Keeps the connections and lets nothing pass any more, either way. */
  silence(): void {
    this.#isSilent = true;
  }

  /** Breaks all connections and refuses new ones. */
  cut(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #relay(here: Socket): void {
    const there = connectTo({ host: "127.0.0.1", port: this.#to, noDelay: true });
    here.setNoDelay(true);
    for (const [from, to] of [
      [here, there],
      [there, here],
    ] as const) {
      this.#sockets.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.on("data", (data) => {
        if (from === here && !this.#passes(data.length)) return;
        if (!this.#isSilent && !to.destroyed) to.write(data);
      });
    }
  }

  #passes(bytes: number): boolean {
    this.bytes += bytes;
    if (this.bytes < this.#limit) return true;
    this.#onLimit?.();
    this.#onLimit = undefined;
    return false;
  }
}
