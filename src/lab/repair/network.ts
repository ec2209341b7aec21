import type { AggregationFeature } from "../../controller/program.ts";
import type { GroupRoom } from "../../controller/routes.ts";
import type { LoadableProgram } from "../../controller/switchsession.ts";
import type { HostNode, LinkNode, SwitchNode, Topology } from "../../controller/topology.ts";
import { Switch } from "../../switch/index.ts";
import { EmbeddedSwitchTarget, P4RuntimeServer } from "../../switch/p4runtime/index.ts";
import { ControlLine } from "../controlline.ts";
import type { Lab } from "../lab.ts";

/** The program of the switches: forwarding over equal paths, probes of links, aggregation. */
export interface FabricProgram {
  readonly loadable: LoadableProgram;
  readonly aggregation: AggregationFeature;
  readonly room: GroupRoom;
  readonly ports: number;
  readonly cpuPort: number;
}

/** Leaves with hosts at their first ports, each joined to every spine. Spines come first, so that jobs are placed there. */
export function fabricTopology(leaves: number, spines: number, hosts: readonly string[]): Topology {
  const perLeaf = Math.ceil(hosts.length / leaves);
  const numbered = (kind: string, count: number, network: number): readonly SwitchNode[] =>
    Array.from({ length: count }, (_, i) => ({
      name: `${kind}${i + 1}`,
      target: `${kind}${i + 1}`,
      deviceId: BigInt(network * 1000 + i + 1),
      mac: `02:00:00:${network}:00:${hex(i + 1)}`,
      ipv4: `10.${network}.0.${i + 1}`,
    }));
  const leafAt = (i: number): string => `leaf${(i % leaves) + 1}`;
  return {
    switches: [...numbered("spine", spines, 20), ...numbered("leaf", leaves, 10)],
    hosts: hosts.map((name, i): HostNode => {
      const port = Math.floor(i / leaves);
      const at = [{ switch: leafAt(i), port }];
      return {
        name,
        mac: `02:00:00:01:${hex(i >> 8)}:${hex(i & 255)}`,
        ipv4: `10.0.${Math.floor(i / 250)}.${(i % 250) + 1}`,
        attachments: at,
      };
    }),
    links: Array.from({ length: leaves }, (_, l) =>
      Array.from({ length: spines }, (_, s): LinkNode => {
        const [leaf, spine] = [`leaf${l + 1}`, `spine${s + 1}`];
        return {
          ends: [
            { switch: leaf, port: perLeaf + s },
            { switch: spine, port: l },
          ],
        };
      }),
    ).flat(),
  };
}

function hex(n: number): string {
  return n.toString(16).padStart(2, "0");
}

/** Milliseconds on a cable of the data plane. */
export const CABLE = 0.02;
/** Milliseconds between a controller and a switch, one way. */
export const CONTROL = 1;

/** The switches of a topology, each with its P4Runtime server, joined by their links. */
export class Fabric {
  readonly topology: Topology;
  readonly #lab: Lab;
  readonly #lines = new Map<string, ControlLine>();

  constructor(lab: Lab, topology: Topology, program: FabricProgram) {
    this.#lab = lab;
    this.topology = topology;
    for (const { name, deviceId } of topology.switches) {
      const ports = [...Array(program.ports).keys(), program.cpuPort];
      const engine = new Switch(undefined, { cpuPort: program.cpuPort, ports });
      let packetIn: (data: Uint8Array) => void = () => {};
      const target = new EmbeddedSwitchTarget(engine, {
        now: () => lab.now * 1000,
        packetOut: (data) => lab.packetOut(name, data),
        onPacketIn: (listener) => {
          packetIn = listener;
        },
      });
      const server = P4RuntimeServer.unbound({ target, deviceId });
      this.#lines.set(name, new ControlLine(lab, server.methods, CONTROL));
      lab.addSwitch(name, engine, (data) => packetIn(data));
    }
    for (const { ends } of topology.links ?? []) lab.link(ends[0], ends[1], { delay: CABLE });
  }

  line(name: string): ControlLine {
    const line = this.#lines.get(name);
    if (line === undefined) throw new RangeError(`no switch ${name}`);
    return line;
  }

  /** The power of a switch is cut, or its process is ended and its machine says so. */
  crash(name: string, how: "power" | "process"): void {
    this.#lab.removeSwitch(name);
    if (how === "power") this.line(name).silence();
    else this.line(name).refuse();
  }

  /** Cuts both directions of the link between two switches; returns the names of the wires. */
  cut(a: string, b: string): readonly string[] {
    const link = this.topology.links?.find(({ ends }) => ends.every((e) => e.switch === a || e.switch === b));
    if (link === undefined) throw new RangeError(`no link between ${a} and ${b}`);
    const [x, y] = link.ends.map((end) => `${end.switch}:${end.port}`);
    const wires = [`${x}>${y}`, `${y}>${x}`];
    for (const wire of wires) this.#lab.wire(wire).cut();
    return wires;
  }
}
