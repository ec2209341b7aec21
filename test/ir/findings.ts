import { readFileSync } from "node:fs";
import {
  type Diagnostic,
  type Feature,
  intrinsic,
  type ProgramBuilder,
  ProgramError,
  program,
  type SwitchProgram,
} from "gradplane";
import type { Program } from "../../src/ir/index.ts";

/** A small program with what `build` declares; all packets leave by port 1. */
export function small(build: (p: ProgramBuilder) => void): SwitchProgram {
  return program("small", { ports: 4, features: [{ name: "tested", build }, sendAll] });
}

export const sendAll: Feature = {
  name: "send_all",
  build: (p) => p.ingress("deliver", (s) => s.set(intrinsic.egress_port, 1)),
};

export const dropAll: Feature = { name: "drop_all", build: (p) => p.ingress("deliver", (s) => s.drop()) };

/** What the checks find, whether or not the program can be built. */
export function findings(run: () => SwitchProgram): readonly Diagnostic[] {
  try {
    return run().warnings;
  } catch (error) {
    if (error instanceof ProgramError) return error.diagnostics;
    throw error;
  }
}

export function codes(run: () => SwitchProgram): readonly string[] {
  return findings(run).map((d) => d.code);
}

/**
 * The place that a comment marks in a test's source: `//! word` stands at the end of the line, behind `word(`. The first one
 * after the text `after` counts.
 */
export function markedPlace(file: string, after: string): { line: number; column: number } {
  const lines = readFileSync(file, "utf8").split("\n");
  const start = lines.findIndex((l) => l.includes(after));
  const found = lines.findIndex((l, i) => i >= start && l.includes("//! "));
  const line = lines[found] ?? "";
  const word = line.slice(line.indexOf("//! ") + 4).trim();
  const column = line.search(new RegExp(`\\b${word}\\(`));
  if (start < 0 || column < 0) throw new Error(`no mark for ${after}`);
  return { line: found + 1, column: column + 1 };
}

/** The smallest right program as plain data, to be changed by tests. */
export const emptyProgram: Program = {
  name: "empty",
  ports: 4,
  priorityQueues: 1,
  constants: [],
  headerTypes: [],
  headers: [],
  metadata: [],
  parser: [{ name: "start", steps: [], transition: { kind: "goto", next: "accept" } }],
  checksums: [],
  controls: [],
  ingress: [{ kind: "drop" }],
  egress: [],
  deparser: [],
};
