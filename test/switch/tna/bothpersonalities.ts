import { tnaDocument } from "../../../src/backends/tna/document.ts";
import { lowerTna } from "../../../src/backends/tna/lower.ts";
import { bmv2Json } from "../../../src/backends/v1model/json/document.ts";
import { lower } from "../../../src/backends/v1model/lower.ts";
import type { Program } from "../../../src/ir/index.ts";
import { Switch, type SwitchOptions } from "../../../src/switch/index.ts";
import type { Arrival } from "../../backends/traffic.ts";

/** One program on two switches: its v1model form, and its lowered Tofino form on the tna personality. */
export interface Both {
  readonly v1model: Switch;
  readonly tna: Switch;
}

/** Ports of the first pipe. */
const FRONT = Array.from({ length: 64 }, (_, port) => port);

/** Packets for other ports are dropped on both switches: v1model knows of no device ports. */
function options(program: Program): SwitchOptions {
  const { cpuPort } = program;
  return cpuPort === undefined ? { ports: FRONT } : { ports: [...FRONT, cpuPort], cpuPort };
}

export function tnaSwitch(program: Program): Switch {
  const lowered = lowerTna(program);
  // A port that an entry names by chance may be one that leads back to ingress, of which v1model knows nothing.
  const passes = lowered.recirculates || lowered.resubmission !== undefined ? {} : { maxPasses: 1 };
  return new Switch(tnaDocument(lowered), { ...options(program), ...passes, personality: "tna" });
}

export function both(program: Program): Both {
  return { v1model: new Switch(bmv2Json(lower(program)), options(program)), tna: tnaSwitch(program) };
}

/**
 * The packets of which both make the same: none that ends within a header (v1model goes on with what there is, Tofino's parser drops it),
 * and of a program with registers only those of the first pipe, since each pipe has its own.
 */
export function comparable(program: Program, arrivals: readonly Arrival[]): readonly Arrival[] {
  const probe = tnaSwitch(program);
  const hasRegisters = probe.registers.size > 0;
  return arrivals.filter(({ port, data }) => {
    if (port > 63 && (port !== program.cpuPort || (port > 127 && hasRegisters))) return false;
    const before = probe.drops.parserError;
    probe.handle({ kind: "packet", port, data }, 0);
    return probe.drops.parserError === before;
  });
}

/**
 * What both must do alike: frames and digests, each packet's in order, and state. Reasons of drops have names of their own, and in egress
 * of Tofino the bytes of the bridge header count.
 */
export function alike(program: Program, lines: readonly string[]): readonly string[] {
  const inEgress = program.controls
    .filter((c) => c.gress === "egress")
    .flatMap((c) => c.counters.map((counter) => `${counter.name} `));
  return lines.map((line) => {
    if (inEgress.some((name) => line.startsWith(name))) return line.replaceAll(/\/\d+/g, "");
    return line
      .split(/ (?=\d+:|cpu:|drop |digest )/)
      .filter((part) => !part.startsWith("drop "))
      .join(" ");
  });
}
