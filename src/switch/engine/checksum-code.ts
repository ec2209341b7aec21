import { yieldsBigint } from "./calculation-code.ts";
import { widestNumber } from "./layout.ts";
import type { ProgramScope } from "./program-scope.ts";

/**
 * Statements that check every checksum to be verified and set `p.checksumError` if one is wrong. A checksum whose field
 * is in an invalid header, or whose condition is false, is passed over. A wrong checksum drops nothing.
 */
export function checksumVerification(scope: ProgramScope): string {
  const lines: string[] = [];
  for (const checksum of scope.program.checksums) {
    if (!checksum.verify) continue;
    const header = scope.layout.header(checksum.header, checksum.path);
    const slot = scope.layout.field(checksum.header, checksum.field, checksum.path);
    const index = scope.calculation(checksum.calculation, checksum.path);
    const condition =
      checksum.condition === undefined ? "true" : scope.expressions().bool(checksum.condition);
    const valid = header.metadata ? "true" : `u[${header.valid}] !== 0`;
    const big = yieldsBigint(scope.program.calculations[index]?.algorithm ?? "");
    const cell = `${slot.store}[${slot.index}]`;
    // Loose inequality compares a number with a bigint exactly.
    const differs = big === slot.width > widestNumber ? "!==" : "!=";
    lines.push(`if (${valid} && (${condition}) && calc${index}(p) ${differs} ${cell}) p.checksumError = 1;`);
  }
  return lines.join("\n");
}

/** Statements that bring every checksum to be updated up to date. */
export function checksumUpdates(scope: ProgramScope): string {
  const lines: string[] = [];
  for (const checksum of scope.program.checksums) {
    if (!checksum.update) continue;
    const expressions = scope.expressions();
    const slot = scope.layout.field(checksum.header, checksum.field, checksum.path);
    const index = scope.calculation(checksum.calculation, checksum.path);
    const big = yieldsBigint(scope.program.calculations[index]?.algorithm ?? "");
    const condition = checksum.condition === undefined ? "true" : expressions.bool(checksum.condition);
    const store = expressions.storeLocal({ slot, index: String(slot.index) }, "x", big);
    lines.push(`if (${condition}) { const x = calc${index}(p); ${store} }`);
  }
  return lines.join("\n");
}
