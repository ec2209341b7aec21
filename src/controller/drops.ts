import { cellName, type P4RuntimeClient } from "../p4runtime/index.ts";

/** Counters of feature `telemetry` that count each packet once, in ingress and in egress. */
const COUNTERS = ["telemetry.packets", "telemetry_egress.packets"];
/** What became of packets that are not dropped. */
const NO_DROPS: readonly string[] = ["passed", "replicated"];

/**
 * How many packets a switch has dropped, by reason, those that it has dropped none for left out. Undefined where the program does not
 * count drops.
 */
export async function readDrops(client: P4RuntimeClient): Promise<ReadonlyMap<string, bigint> | undefined> {
  const counters = COUNTERS.flatMap((name) => client.schema.counters.find(name) ?? []);
  if (counters.length === 0) return undefined;
  const drops = new Map<string, bigint>();
  for (const counter of counters)
    for (const { entity } of await client.readAll([client.entities.counter(counter.name)])) {
      if (entity?.case !== "counterEntry") continue;
      const reason = cellName(counter, Number(entity.value.index?.index ?? 0n));
      const packets = entity.value.data?.packetCount ?? 0n;
      if (reason !== undefined && packets > 0n && !NO_DROPS.includes(reason)) drops.set(reason, packets);
    }
  return drops;
}
