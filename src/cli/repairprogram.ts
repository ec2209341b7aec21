import { generate } from "../backends/index.ts";
import { ecmp, hotAggregation, int32, ipv4Forwarding, lookupTable, probe, program } from "../dsl/index.ts";
import type { FabricProgram } from "../lab/repair/network.ts";
import { p4infoFromBinary } from "../p4runtime/index.ts";

/** The program of the switches of `gradplane lab repair`: forwarding over equal paths by turns, probes of links, and aggregation. */
export function repairProgram(): FabricProgram {
  const [ports, cpuPort] = [16, 100];
  const room = { groups: 32, members: 8 };
  const feature = hotAggregation({ workers: 8, lanes: 4, rows: 64, chunk: 16, mode: int32, result: "ps" });
  const { ir } = program("fabric", {
    ports,
    cpuPort,
    features: [ipv4Forwarding(), ecmp({ ...room, spray: "all" }), feature, probe()],
  });
  const files = generate(ir);
  const [info, json] = [files.get("p4info.bin"), files.get("fabric.json")];
  if (!(info instanceof Uint8Array) || json === undefined) throw new Error("the program was not generated");
  return {
    loadable: {
      p4info: p4infoFromBinary(info),
      deviceConfig: typeof json === "string" ? new TextEncoder().encode(json) : json,
    },
    aggregation: { options: feature.options, lookupTable },
    room,
    ports,
    cpuPort,
  };
}
