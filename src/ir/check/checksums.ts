import type { Diagnostic } from "../diagnostics.ts";
import type { Expression } from "../expressions.ts";
import type { Checksum, Program } from "../program.ts";
import { typeName, widthOf } from "../types.ts";
import { deep } from "../walk.ts";
import { checkHeaderPath } from "./headers.ts";
import type { Names } from "./names.ts";
import { type Context, hasWidth, type TypeChecker } from "./types.ts";

type Report = (d: Diagnostic) => void;

/** Checksums: what is summed up, into what, and when. */
export function checkChecksums(program: Program, names: Names, types: TypeChecker, report: Report): void {
  for (const c of program.checksums) checkChecksum(c, program, names, types, report);
}

function checkChecksum(
  c: Checksum,
  program: Program,
  names: Names,
  types: TypeChecker,
  report: Report,
): void {
  const { at } = c;
  const context: Context = { place: { block: "ingress" }, at };
  const wrong = (message: string): void => report({ code: "GP1314", message, at });
  if (!checkHeaderPath(c.header, names, context.place, at, report)) return;
  types.expression(c.target, context);
  if (c.target.type.kind !== "bit" || c.target.type.width !== 16)
    wrong(`the checksum of ${c.header} goes into a ${typeName(c.target.type)}; it has 16 bits`);
  for (const f of c.fields) {
    types.expression(f, context);
    if (!["field", "metadata", "constant"].includes(f.kind) || f.type.kind === "bool")
      wrong(`the checksum of ${c.header} is over a computed value; keep it in metadata first`);
  }
  const bits = c.fields.reduce((sum, f) => sum + (hasWidth(f.type) ? widthOf(f.type) : 0), 0);
  if (bits % 16 !== 0) wrong(`the checksum of ${c.header} is over ${bits} bits, not whole 16-bit words`);
  if (c.fields.length === 0) wrong(`the checksum of ${c.header} is over no fields`);
  for (const path of c.varbits ?? []) {
    const known = program.headerTypes.some((t) => t.varbit?.name === path.slice(path.lastIndexOf(".") + 1));
    if (!known) report({ code: "GP1204", message: `there is no varbit field ${path}`, at });
  }
  if (c.condition === undefined) return;
  types.expression(c.condition, context);
  if (c.condition.type.kind !== "bool") {
    const message = `a condition is bool, not ${typeName(c.condition.type)}`;
    report({ code: "GP1104", message, at });
  }
  if ([...deep(c.condition)].some(isOutside))
    wrong(`the checksum of ${c.header} depends on more than headers and metadata`);
}

function isOutside(e: Expression): boolean {
  return e.kind === "intrinsic" || e.kind === "lookahead" || e.kind === "memory" || e.kind === "parameter";
}
