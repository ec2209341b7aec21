/** Many embedded switches in one process, each with a P4Runtime server: says their addresses to its parent, and ends or cuts one when told. */
import { InProcessPort, Switch, SwitchRunner } from "../../../src/switch/index.ts";
import { EmbeddedSwitchTarget, ioOf, P4RuntimeServer } from "../../../src/switch/p4runtime/index.ts";

/** How switches are joined: far end of each port, by `switch:port`, both as numbers. */
export interface SwitchesRequest {
  readonly count: number;
  readonly ports: number;
  readonly cpuPort: number;
  readonly links: readonly (readonly [readonly [number, number], readonly [number, number]])[];
}

export type SwitchesOrder =
  | { readonly kind: "start"; readonly request: SwitchesRequest }
  | { readonly kind: "kill" | "cut"; readonly index: number };

const servers: P4RuntimeServer[] = [];
/** Each switch's end of its cables. */
const cables = new Map<number, InProcessPort[]>();

async function start({ count, ports, cpuPort, links }: SwitchesRequest): Promise<readonly string[]> {
  const runners: SwitchRunner[] = [];
  for (let i = 0; i < count; i++) {
    const engine = new Switch(undefined, { cpuPort, ports: [...Array(ports).keys(), cpuPort] });
    const runner = new SwitchRunner(engine);
    const target = new EmbeddedSwitchTarget(engine, ioOf(runner));
    servers.push(await P4RuntimeServer.start({ target, address: "127.0.0.1:0", deviceId: BigInt(i + 1) }));
    runners.push(runner);
  }
  for (const [a, b] of links) {
    const [here, there] = InProcessPort.link(`${a}`, `${b}`);
    cables.set(a[0], [...(cables.get(a[0]) ?? []), here]);
    cables.set(b[0], [...(cables.get(b[0]) ?? []), there]);
    runners[a[0]]?.attach(a[1], here);
    runners[b[0]]?.attach(b[1], there);
  }
  return servers.map((server) => server.address);
}

process.on("message", (order: SwitchesOrder) => {
  switch (order.kind) {
    case "kill":
      servers[order.index]?.abort();
      return;
    case "cut":
      for (const cable of cables.get(order.index) ?? []) void cable.close();
      return;
    case "start":
      void start(order.request).then((addresses) => process.send?.(addresses));
  }
});
process.on("disconnect", () => process.exit());
