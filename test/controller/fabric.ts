import { generate } from "../../src/backends/index.ts";
import type { HostNode, LinkNode, SwitchNode, Topology } from "../../src/controller/topology.ts";
import { ecmp, hotAggregation, int32, ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { type P4Info, p4infoFromBinary } from "../../src/p4runtime/index.ts";

/** A leaf-spine network: `hostsPerLeaf` hosts at the first ports of each leaf, then one port to each spine. */
export function leafSpine(
  leaves: number,
  spines: number,
  hostsPerLeaf: number,
  target: (name: string) => string = () => "127.0.0.1:1",
): Topology {
  const switchOf = (kind: number, name: string, i: number): SwitchNode => ({
    name,
    target: target(name),
    deviceId: BigInt(kind * 1000 + i + 1),
    mac: `02:00:00:0${kind}:00:${hex(i)}`,
    ipv4: `10.${200 + kind}.0.${i + 1}`,
  });
  const leafNames = Array.from({ length: leaves }, (_, i) => `leaf${i + 1}`);
  const spineNames = Array.from({ length: spines }, (_, i) => `spine${i + 1}`);
  const hosts: HostNode[] = leafNames.flatMap((leaf, l) =>
    Array.from({ length: hostsPerLeaf }, (_, h) => ({
      name: `h${l * hostsPerLeaf + h + 1}`,
      mac: `02:00:00:00:${hex(l)}:${hex(h)}`,
      ipv4: `10.0.${l}.${h + 1}`,
      attachments: [{ switch: leaf, port: h }],
    })),
  );
  const links: LinkNode[] = leafNames.flatMap((leaf, l) =>
    spineNames.map(
      (spine, s): LinkNode => ({
        ends: [
          { switch: leaf, port: hostsPerLeaf + s },
          { switch: spine, port: l },
        ],
      }),
    ),
  );
  return {
    switches: [
      ...leafNames.map((name, i) => switchOf(1, name, i)),
      ...spineNames.map((name, i) => switchOf(2, name, i)),
    ],
    hosts,
    links,
  };
}

function hex(n: number): string {
  return n.toString(16).padStart(2, "0");
}

export const CPU = 100;
export const PORTS = 16;
export const ROOM = { groups: 16, members: 8 };

const feature = hotAggregation({ workers: 8, lanes: 4, rows: 32, chunk: 16, mode: int32, result: "ps" });
export const { ir } = program("fabric", {
  ports: PORTS,
  cpuPort: CPU,
  features: [ipv4Forwarding(), ecmp({ ...ROOM, spray: "all" }), feature],
});

/** The program of its switches: forwarding, ECMP, aggregation. */
export const aggregation = feature;

let made: { readonly p4info: P4Info; readonly deviceConfig: Uint8Array } | undefined;

export function loadable(): { readonly p4info: P4Info; readonly deviceConfig: Uint8Array } {
  if (made !== undefined) return made;
  const files = generate(ir);
  const [info, json] = [files.get("p4info.bin"), files.get("fabric.json")];
  if (!(info instanceof Uint8Array) || json === undefined) throw new Error("the program was not generated");
  const deviceConfig = typeof json === "string" ? new TextEncoder().encode(json) : json;
  made = { p4info: p4infoFromBinary(info), deviceConfig };
  return made;
}
