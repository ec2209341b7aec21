import { readFileSync } from "node:fs";
import {
  type ControlBuilder,
  type Diagnostic,
  type Feature,
  type Header,
  intrinsic,
  type ProgramBuilder,
  ProgramError,
  program,
  type SwitchProgram,
} from "gradplane";
import { describe, expect, test } from "vitest";
import type { Program, RuleCode, TargetName } from "../../src/ir/index.ts";
import type { WireHeader } from "../../src/wire/header.ts";

/** A small program with what `build` declares; all packets leave by port 1. */
export function small(build: (p: ProgramBuilder) => void): SwitchProgram {
  return program("small", { ports: 4, features: [{ name: "tested", build }, sendAll] });
}

/** A control that is applied, with its part of the program inside. */
export function inControl(build: (c: ControlBuilder, p: ProgramBuilder) => void): SwitchProgram {
  return small((p) => {
    const c = p.control("tested", "ingress");
    build(c, p);
    p.ingress("route", (s) => s.invoke(c));
  });
}

/** A header that each packet has. */
export function parsed<F extends string>(p: ProgramBuilder, header: WireHeader<F>): Header<F> {
  const h = p.header(header);
  p.parser.state("start").extract(h);
  return h;
}

/** A program with one fault. A comment marks where the finding must point: at the word before the bracket. */
export interface Wrong {
  readonly code: RuleCode;
  readonly what: string;
  readonly target?: TargetName;
  readonly run: () => SwitchProgram;
}

export function describeWrong(file: string, programs: readonly Wrong[]): void {
  describe("a wrong program gives one finding, at the user's line", () => {
    test.each(programs)("$code: $what", ({ code, what, target, run }) => {
      const found = findings(run);
      expect(found.map((d) => [d.code, d.target])).toEqual([[code, target]]);
      expect(found[0]?.at).toEqual({ file, ...markedPlace(file, `what: "${what}"`) });
    });
  });
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
