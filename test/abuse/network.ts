import { generate } from "../../src/backends/index.ts";
import type { HostNode, SwitchNode, Topology } from "../../src/controller/topology.ts";
import { hotAggregation, int32, ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { parseIpv4, parseMac } from "../../src/wire/address.ts";
import { AGGREGATION_PORT, AGGREGATION_VERSION, Kind, ModeId } from "../../src/wire/aggregation.ts";
import { type AggregationMessage, aggregationFrame, carriesLanes } from "../../src/wire/aggregationpacket.ts";

/** The switch program that is attacked: Libra's, with narrow rows so that many packets can be thrown at it. */
export const LANES = 4;
export const ROWS = 64;
export const CHUNK = 16;
export const CPU = 100;
export const PORTS = 40;
/** Fraction bits of all jobs. */
export const SCALE = 16;

const feature = hotAggregation({
  workers: 32,
  lanes: LANES,
  rows: ROWS,
  chunk: CHUNK,
  mode: int32,
  result: "ps",
});
export const { ir } = program("attacked", {
  ports: PORTS,
  cpuPort: CPU,
  features: [ipv4Forwarding(), feature],
});
export const aggregation = feature;

let files: ReadonlyMap<string, string | Uint8Array> | undefined;

/** A file that is generated from the program. */
export function generated(name: string): Uint8Array {
  files ??= generate(ir);
  const file = files.get(name);
  if (file === undefined) throw new RangeError(`${name} is not generated`);
  return typeof file === "string" ? new TextEncoder().encode(file) : file;
}

/** `workers` workers w0, w1, ... at ports 0, 1, ... and the server ps at the next, all plugged into s1 and s2. */
export function hosts(workers: number): readonly HostNode[] {
  return Array.from({ length: workers + 1 }, (_, i) => ({
    name: i < workers ? `w${i}` : "ps",
    mac: `02:00:00:00:00:${(i + 1).toString(16).padStart(2, "0")}`,
    ipv4: `10.0.0.${i + 1}`,
    attachments: ["s1", "s2"].map((name) => ({ switch: name, port: i })),
  }));
}

export function switchNode(i: number, target = "127.0.0.1:1"): SwitchNode {
  return { name: `s${i}`, target, deviceId: BigInt(i), mac: `02:00:00:00:01:0${i}`, ipv4: `10.0.1.${i}` };
}

export function topologyOf(workers: number, targets: readonly string[] = ["", ""]): Topology {
  return { hosts: hosts(workers), switches: targets.map((target, i) => switchNode(i + 1, target)) };
}

/** A request to aggregate, sound unless changed. */
export function message(
  changes: Partial<AggregationMessage["header"]> & { readonly values?: readonly number[] } = {},
): AggregationMessage {
  const { values, ...header } = changes;
  const kind = header.kind ?? Kind.CONTRIBUTION;
  const words = values ?? (carriesLanes(kind) ? Array.from({ length: LANES }, (_, i) => i + 1) : []);
  return {
    header: {
      version: AGGREGATION_VERSION,
      kind,
      flags: 0,
      job: 1,
      generation: 1,
      member: 0,
      scale: SCALE,
      slot: 0,
      lanes: LANES,
      mode: ModeId.int32,
      round: 1,
      ...header,
    },
    lanes: Int32Array.from(words),
  };
}

/** The frame of a request from a host to a switch. */
export function frameTo(on: SwitchNode, from: HostNode, what: AggregationMessage): Uint8Array {
  return aggregationFrame(
    {
      srcMac: parseMac(from.mac),
      dstMac: parseMac(on.mac),
      srcIp: parseIpv4(from.ipv4),
      dstIp: parseIpv4(on.ipv4),
      srcPort: AGGREGATION_PORT,
      dstPort: AGGREGATION_PORT,
    },
    what,
  );
}
