import type { Diagnostic } from "../diagnostics.ts";
import { type Expression, operandsOf } from "../expressions.ts";
import { folded } from "../folding.ts";
import { expressionsOfState } from "../parserstates.ts";
import type { Action, Program } from "../program.ts";
import type { SourceLocation } from "../source.ts";
import type { RegisterUpdate } from "../statements.ts";
import { deep, expressionsOf, placedStatements } from "../walk.ts";
import { checkWays } from "./parser.ts";

type Report = (d: Diagnostic) => void;

/** What has no effect: conditions that are decided already, parameters that nobody reads, updates that change nothing. */
export function checkEffects(program: Program, report: Report): void {
  for (const state of program.parser) {
    checkWays(state, report);
    for (const e of expressionsOfState(state)) checkTruth(e, state.at, report);
  }
  for (const c of program.checksums) if (c.condition !== undefined) checkTruth(c.condition, c.at, report);
  for (const control of program.controls)
    for (const table of control.tables)
      for (const { name, expression } of table.key) {
        if (folded(expression).kind === "constant")
          report({ code: "GP1411", message: `${name} of table ${table.name} is a constant`, at: table.at });
        else checkTruth(expression, table.at, report);
      }
  for (const [s] of placedStatements(program)) {
    for (const e of expressionsOf(s)) checkTruth(e, s.at, report);
    if (s.kind === "if" && s.condition.kind === "constant")
      report({ code: "GP1111", message: `the condition is always ${s.condition.value === 1n}`, at: s.at });
    if (s.kind === "registerUpdate") checkUpdate(s, report);
  }
  for (const control of program.controls)
    for (const action of control.actions) checkParameters(action, report);
}

/** Conditions that come out the same for all packets; of those within each other the outermost. */
function checkTruth(e: Expression, around: SourceLocation | undefined, report: Report): void {
  const at = e.at ?? around;
  if (e.type.kind === "bool" && e.kind !== "constant") {
    const simple = folded(e);
    if (simple.kind === "constant") {
      report({ code: "GP1111", message: `the condition is always ${simple.value === 1n}`, at });
      return;
    }
  }
  for (const operand of operandsOf(e)) checkTruth(operand, at, report);
}

function checkUpdate(s: RegisterUpdate, report: Report): void {
  const next = folded(s.next);
  const output = s.output === undefined || s.into === undefined ? undefined : folded(s.output);
  const keeps = next.kind === "memory" && next.which === "old";
  const isRead = output !== undefined && [...deep(output)].some((e) => e.kind === "memory");
  if (keeps && !isRead)
    report({ code: "GP1607", message: `${s.register} is neither changed nor read`, at: s.at });
}

/** Parameters that the action does nothing with, however often it names them. */
function checkParameters(action: Action, report: Report): void {
  const used = new Set<string>();
  for (const s of action.body)
    for (const e of expressionsOf(s))
      for (const part of deep(folded(e))) if (part.kind === "parameter") used.add(part.name);
  for (const p of action.parameters)
    if (!used.has(p.name))
      report({
        code: "GP1506",
        message: `parameter ${p.name} of ${action.name} is never used`,
        at: action.at,
      });
}
