import type { Diagnostic } from "../../../ir/index.ts";
import type { FitReport } from "./report.ts";

/** The finding about a program that the chip has no place for, at the end of the chain that costs most; none when it fits, or may. */
export function fitFindings(report: FitReport): readonly Diagnostic[] {
  if (report.verdict !== "no") return [];
  const chain = shortened(report.chain.map((l) => l.name)).join(" -> ");
  return [
    {
      code: "GP1850",
      message: `the program is beyond ${report.chip}: ${report.lacks}; the chain that costs most takes ${report.chainStages} stages by itself: ${chain}`,
      at: report.chain.findLast((l) => l.at !== undefined)?.at,
      target: "tna",
    },
  ];
}

/** Both ends of a long list. */
function shortened(names: readonly string[]): readonly string[] {
  const left = names.length - 9;
  return left < 2 ? names : [...names.slice(0, 6), `(${left} more)`, ...names.slice(-3)];
}
