import { REPAIR_CASES } from "../lab/repair/faults.ts";
import { type CaseOutcomes, repairPage, repairRows } from "../lab/repair/report.ts";
import { runRepair } from "../lab/repair/run.ts";
import { didYouMean } from "../p4info/suggest.ts";
import { UserError } from "./exit.ts";
import { aligned } from "./p4rt/lines.ts";
import { Progress } from "./progress.ts";
import { repairProgram } from "./repairprogram.ts";

export interface RepairRequest {
  /** All cases when none is named. */
  readonly names: readonly string[];
  readonly seeds: number;
  readonly json: boolean;
}

/** Runs cases of failure and repair, and prints or returns what came of them. @throws UserError */
export async function labRepair({ names, seeds, json }: RepairRequest): Promise<string> {
  const known = REPAIR_CASES.map((c) => c.name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UserError(
      `there is no case ${unknown}${didYouMean(unknown, known)}; there are ${known.join(", ")}`,
    );
  const program = repairProgram();
  const progress = new Progress();
  const all: CaseOutcomes[] = [];
  for (const one of REPAIR_CASES) {
    if (names.length > 0 && !names.includes(one.name)) continue;
    const outcomes = [];
    for (let seed = 1; seed <= seeds; seed++) {
      progress.show(`${one.name}: seed ${seed} of ${seeds}`);
      outcomes.push(await runRepair(one, program, seed));
    }
    all.push({ case: one, outcomes });
    progress.clear();
    if (json)
      for (const [i, { notices, ...figures }] of outcomes.entries())
        process.stdout.write(`${JSON.stringify({ case: one.name, seed: i + 1, ...figures })}\n`);
  }
  if (!json) for (const line of aligned(repairRows(all))) process.stdout.write(`${line}\n`);
  if (all.some(({ outcomes }) => outcomes.some((o) => o.wrong.length > 0))) process.exitCode = 1;
  return repairPage(all, seeds, ["gradplane lab repair", ...names].join(" "));
}
