import { SwitchRuntimeError } from "../tables/runtime-error.ts";
import type { GeneratorApp } from "./packet-generator.ts";
import type { Pipe } from "./packet-path.ts";
import type { Tofino } from "./tofino.ts";

/** Cells that are not 0: index and value, in decimal. */
type Cells = readonly (readonly [index: number, value: string])[];

/** What a Tofino keeps beside tables, counters and meters' settings, as JSON can hold it. */
export interface TofinoDocument {
  /** Registers by name, for each pipe. */
  readonly pipes: readonly Readonly<Record<string, Cells>>[];
  /** Exclusion ids of copies (group, replication id, exclusion id), and ports that exclusion ids name. */
  readonly nodes: readonly (readonly [group: number, instance: number, exclusionId: number])[];
  readonly ports: readonly (readonly [exclusionId: number, ports: readonly number[]])[];
  /** Applications of the packet generator, with what they send in hexadecimal. */
  readonly generator: readonly (Omit<GeneratorApp, "packet"> & {
    readonly id: number;
    readonly packet: string;
  })[];
}

/** Whether something is such a document at its first look; what is wrong within is found when it is used. */
export function isTofinoDocument(value: unknown): value is TofinoDocument {
  if (typeof value !== "object" || value === null) return false;
  const parts: readonly (keyof TofinoDocument)[] = ["pipes", "nodes", "ports", "generator"];
  const found = new Map<string, unknown>(Object.entries(value));
  return parts.every((part) => Array.isArray(found.get(part)));
}

export function tofinoDocument(tofino: Tofino): TofinoDocument {
  return {
    pipes: tofino.pipes.map((pipe) =>
      Object.fromEntries(registersOf(pipe).map((register) => [register.name, cellsOf(register)])),
    ),
    nodes: tofino.exclusions.nodes(),
    ports: tofino.exclusions.ports(),
    generator: tofino.packetGenerator.apps().map(({ id, app: { packet, ...app } }) => ({
      id,
      ...app,
      packet: Buffer.from(packet).toString("hex"),
    })),
  };
}

/**
 * Puts what `tofinoDocument` gave into a Tofino whose program is in its initial state, or has what the first pipe had. `now` is in
 * microseconds: the periods of the packet generator begin anew.
 *
 * @throws SwitchRuntimeError or RangeError with what does not fit, TypeError for what is no such document
 */
export function applyTofino(tofino: Tofino, document: TofinoDocument, now: number): void {
  if (document.pipes.length !== tofino.pipes.length)
    throw new SwitchRuntimeError(
      "INVALID_ARGUMENT",
      "pipes",
      `there are ${tofino.pipes.length}, not ${document.pipes.length}`,
    );
  // What is written to the first pipe is written to all of them.
  tofino.pipes.forEach((pipe, i) => {
    const wanted = document.pipes[i] ?? {};
    const registers = new Map(registersOf(pipe).map((register) => [register.name, register]));
    for (const [name, cells] of Object.entries(wanted)) {
      const register = registers.get(name);
      if (register === undefined)
        throw new SwitchRuntimeError("NOT_FOUND", name, "the program has no such register");
      register.reset();
      for (const [index, value] of cells) register.write(index, BigInt(value));
    }
  });
  for (const [group, instance, exclusionId] of document.nodes)
    tofino.exclusions.setNode(group, instance, exclusionId);
  for (const [exclusionId, ports] of document.ports) tofino.exclusions.setPorts(exclusionId, ports);
  for (const { id, packet, ...app } of document.generator)
    tofino.packetGenerator.start(id, { ...app, packet: Buffer.from(packet, "hex") }, now);
}

function registersOf({ ingress, egress }: Pipe): readonly Register[] {
  return [...ingress.registers.values(), ...egress.registers.values()];
}

type Register = Pipe["ingress"]["registers"] extends ReadonlyMap<string, infer R> ? R : never;

function cellsOf(register: Register): Cells {
  const cells: [number, string][] = [];
  for (let index = 0; index < register.size; index++) {
    const value = register.read(index);
    if (value !== 0n) cells.push([index, String(value)]);
  }
  return cells;
}
