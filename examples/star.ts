/** A star for scenarios: one switch with a program of forwarding, and hosts that are processes of their own. */
import type { SwitchProgram } from "gradplane";
import { generate, loadableOf } from "gradplane/backends";
import type { RunningHost, ScenarioContext } from "gradplane/cli/run";
import { Fleet } from "gradplane/controller";

/** Where a cable leads that is not plugged in yet. */
export const nowhere = { address: "127.0.0.1", port: 9 };

/** Addresses of host `i`, from 0. */
export function endpointOf(i: number): {
  readonly mac: string;
  readonly ip: string;
  readonly number: number;
} {
  const mac = `02:00:00:00:00:${(i + 1).toString(16).padStart(2, "0")}`;
  return { mac, ip: `10.0.0.${i + 1}`, number: 0x0a00_0001 + i };
}

/** What goes wrong while a host waits for something: it is told of that instead. */
export class Failures {
  readonly #failed: Promise<never>;
  #reject: (error: unknown) => void = () => {};

  constructor() {
    this.#failed = new Promise((_, reject) => {
      this.#reject = reject;
    });
    // Nobody may be waiting.
    this.#failed.catch(() => {});
  }

  readonly fail = (error: unknown): void => this.#reject(error);

  /** The result of the work, or what went wrong meanwhile or before. */
  during<T>(work: Promise<T>): Promise<T> {
    return Promise.race([this.#failed, work]);
  }
}

const CPU_PORT = 510;

/**
 * Plugs hosts into a switch that runs the program. Each host tells its UDP port first and then hears where its cable leads.
 *
 * @returns what steers the switch, to be closed in the end
 */
export async function star(
  context: Pick<ScenarioContext<string>, "startSwitch">,
  program: SwitchProgram,
  hosts: readonly RunningHost[],
): Promise<Fleet> {
  const ports = await Promise.all(hosts.map((host) => host.heard()));
  const running = await context.startSwitch({
    ...{ name: "s1", deviceId: 1n, cpuPort: CPU_PORT },
    ports: new Map(ports.map((port, i) => [i, Number(port)])),
  });
  const fleet = await new Promise<Fleet>((resolve, reject) => {
    const starting = Fleet.start({
      topology: {
        switches: [
          {
            ...{ name: "s1", target: running.grpc, deviceId: 1n },
            ...{ mac: "02:00:00:00:01:01", ipv4: "10.0.1.1" },
          },
        ],
        hosts: hosts.map((_, i) => {
          const { mac, ip } = endpointOf(i);
          return { name: `h${i}`, mac, ipv4: ip, attachments: [{ switch: "s1", port: i }] };
        }),
      },
      program: loadableOf(generate(program.ir, { targets: ["v1model"] }), program.name),
      onNotice: (notice) => {
        if (notice.kind === "switch" && notice.state === "ready") starting.then(resolve, reject);
        if (notice.kind === "failed") reject(new Error(`${notice.name}: ${notice.reason}`));
      },
    });
    starting.catch(reject);
  });
  for (const [i, host] of hosts.entries())
    host.tell({ address: "127.0.0.1", port: running.ports.get(i) ?? nowhere.port });
  return fleet;
}
