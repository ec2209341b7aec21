import type { HostNode, Placement, SwitchNode, Topology } from "gradplane/controller";
import type { JobLayout } from "gradplane/host/libra";
import {
  blockExponent,
  contributionLimit,
  fp16Limit,
  type NumericMode,
  windowBaseFor,
} from "gradplane/numeric";
import { WORKERS } from "./program.ts";

export const JOB = 1;

/** `workers` workers w0, w1, ... and the server ps, each plugged into both switches at the same port number. */
export function hosts(workers: number): readonly HostNode[] {
  return Array.from({ length: workers + 1 }, (_, i) => ({
    name: i < workers ? `w${i}` : "ps",
    mac: `02:00:00:00:00:${(i + 1).toString(16).padStart(2, "0")}`,
    ipv4: `10.0.0.${i + 1}`,
    attachments: ["s1", "s2"].map((name) => ({ switch: name, port: i })),
  }));
}

export function switchNode(i: number, target: string): SwitchNode {
  return { name: `s${i}`, target, deviceId: BigInt(i), mac: `02:00:00:00:01:0${i}`, ipv4: `10.0.1.${i}` };
}

/** What the hosts are told: a placement with keys and addresses. */
export function layoutOf(
  topology: Pick<Topology, "hosts" | "switches">,
  p: Placement,
  grid: { readonly rows: readonly (readonly number[])[]; readonly lanes: number; readonly mode: NumericMode },
): JobLayout {
  const endpoint = (name: string) => {
    const node = [...topology.hosts, ...topology.switches].find((n) => n.name === name);
    if (node === undefined) throw new RangeError(`no ${name} in the topology`);
    return { mac: node.mac, ip: node.ipv4 };
  };
  return {
    job: p.job,
    generation: p.generation,
    workers: p.workers.map((name, member) => ({ member, ...endpoint(name) })),
    slotBase: p.slotBase,
    firstRound: p.firstRound,
    aggregator: endpoint(p.on ?? p.server),
    server: endpoint(p.server),
    ...grid,
  };
}

/**
 * The numeric mode for gradients of at most `largest`, with room for eight times that before a row has to go by the server.
 *
 * @param slices of the lookup tables of the program, for modes that have some
 */
export function modeFor(name: NumericMode["name"], largest: number, slices: readonly number[]): NumericMode {
  const bound = 8 * largest;
  const workers = WORKERS;
  const fractionBits = (limit: number): number => Math.floor(Math.log2(limit / bound));
  switch (name) {
    case "int32":
      return { name, workers, fractionBits: fractionBits(contributionLimit(workers)) };
    case "block":
      return { name, workers, exponent: blockExponent(Float32Array.of(bound)) ?? 0 };
    case "fp32":
    case "bf16":
      return { name, workers, base: windowBaseFor(bound, name), slices };
    case "fp16":
      return { name, workers, fractionBits: fractionBits(fp16Limit(workers)), slices };
  }
}
