import type { Diagnostic, Program } from "../ir/index.ts";
import { deep, expressionsOf, placedStatements } from "../ir/walk.ts";

/**
 * What is not the same on the two targets of a program that reads headers: packets that end within one. Nothing where the program asks for
 * the parser's error.
 */
export function shortPackets(program: Program): Diagnostic | undefined {
  const asked = [
    ...[...placedStatements(program)].flatMap(([s]) => expressionsOf(s)),
    ...program.controls.flatMap((c) => c.tables.flatMap((t) => t.key.map((k) => k.expression))),
  ];
  const asks = asked.some((e) =>
    [...deep(e)].some((d) => d.kind === "intrinsic" && d.name === "parser_failed"),
  );
  const read = program.parser.flatMap((state) => state.steps).find((step) => step.kind === "extract");
  if (asks || read === undefined) return undefined;
  return {
    code: "GP1866",
    message:
      "packets that end within a header are dropped by Tofino's parser, and go on without it in v1model; what intrinsic.parser_failed decides in ingress is the same on both",
    at: read.at,
    target: "tna",
  };
}
