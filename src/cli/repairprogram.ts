import { generate, loadableOf } from "../backends/index.ts";
import { ecmp, hotAggregation, int32, ipv4Forwarding, probe, program } from "../dsl/index.ts";
import type { FabricProgram } from "../lab/repair/network.ts";

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
  return {
    loadable: loadableOf(generate(ir), ir.name),
    aggregation: feature,
    room,
    ports,
    cpuPort,
  };
}
