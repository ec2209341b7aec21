import type { Diagnostic } from "../diagnostics.ts";
import { type Expression, operandsOf } from "../expressions.ts";
import { instanceOf, stackOf } from "../headers.ts";
import { expressionsOfState } from "../parserstates.ts";
import { type Extract, type ParserState, type ParserStep, parserErrors } from "../program.ts";
import { isIdentifier, reservedBy } from "../reservedwords.ts";
import type { SourceLocation } from "../source.ts";
import { bit, typeName } from "../types.ts";
import { deep } from "../walk.ts";
import { checkHeaderPath } from "./headers.ts";
import type { Names } from "./names.ts";
import type { Context, TypeChecker } from "./types.ts";

type Report = (d: Diagnostic) => void;

/** What one parser state does: names, types, and what a parser can do at all. */
export function checkSteps(state: ParserState, names: Names, types: TypeChecker, report: Report): void {
  for (const step of state.steps) checkStep(step, state, names, types, report);
  for (const e of expressionsOfState(state)) {
    const late = conditionalLookahead(e, false);
    if (late !== undefined) {
      const message = `state ${state.name} looks ahead only if another value says so`;
      report({ code: "GP1307", message, at: late.at ?? state.at });
    }
  }
}

function checkStep(
  step: ParserStep,
  state: ParserState,
  names: Names,
  types: TypeChecker,
  report: Report,
): void {
  const at = step.at ?? state.at;
  const context: Context = { place: { block: "parser" }, at };
  switch (step.kind) {
    case "extract":
      checkExtract(step.header, names, at, report);
      if (step.length !== undefined) types.expression(step.length, context);
      checkLength(step, names, at, report);
      break;
    case "advance":
      types.expression(step.bits, context);
      checkAdvance(step.bits, state.name, at, report);
      break;
    case "assign":
      types.statement(step, context.place);
      break;
    case "verify":
      types.expression(step.condition, context);
      if (step.condition.type.kind !== "bool") {
        const message = `verify takes a bool, not ${typeName(step.condition.type)}`;
        report({ code: "GP1104", message, at });
      }
      checkError(step.error, at, report);
  }
}

function checkExtract(header: string, names: Names, at: SourceLocation | undefined, report: Report): void {
  const stack = stackOf(header, "next");
  if (stack !== undefined && names.stacks.has(stack)) return;
  if (!checkHeaderPath(header, names, { block: "parser" }, at, report)) return;
  if (names.stacks.has(instanceOf(header))) {
    const message = `${header} is extracted out of turn; a parser extracts the next element of ${instanceOf(header)}`;
    report({ code: "GP1310", message, at });
  }
}

/** A header with a varbit field, and no other, is extracted with the length of that field. */
function checkLength(
  { header, length }: Extract,
  names: Names,
  at: SourceLocation | undefined,
  report: Report,
): void {
  const type = names.headers.get(header);
  const wrong = (message: string): void => report({ code: "GP1311", message, at });
  if (type?.varbit !== undefined && length === undefined)
    wrong(`${header} is extracted without the length of ${type.varbit.name}`);
  if (length === undefined) return;
  if (type !== undefined && type.varbit === undefined) wrong(`${header} has no field of variable length`);
  if (length.type.kind !== "bit") wrong(`the length is ${typeName(length.type)}; it is a number of bits`);
  if (length.kind === "constant" && length.value % 8n !== 0n)
    wrong(`${header} is extracted with ${length.value} bits, not whole bytes`);
  if ([...deep(length)].some((e) => e.kind === "field" && e.header === header))
    wrong(`the length of ${header} is told by ${header} itself, which has not been read`);
}

function checkAdvance(bits: Expression, state: string, at: SourceLocation | undefined, report: Report): void {
  if (bits.type.kind !== "bit") {
    const message = `advance takes ${typeName(bit(32))}, not ${typeName(bits.type)}`;
    report({ code: "GP1104", message, at });
  } else if (bits.kind === "constant" && (bits.value % 8n !== 0n || bits.value <= 0n)) {
    report({ code: "GP1306", message: `state ${state} advances by ${bits.value} bits`, at });
  }
}

function checkError(name: string, at: SourceLocation | undefined, report: Report): void {
  const known: readonly string[] = parserErrors;
  if (name === "NoError") report({ code: "GP1204", message: "NoError is not an error to end with", at });
  else if (!isIdentifier(name)) {
    report({ code: "GP1203", message: `error ${JSON.stringify(name)} is not a name in P4`, at });
  } else if (!known.includes(name) && reservedBy(name, "member") !== undefined) {
    report({ code: "GP1201", message: `error ${name} is a word of P4`, at });
  }
}

/** A lookahead that is evaluated for some packets only; a parser state has no branches inside. */
function conditionalLookahead(e: Expression, isConditional: boolean): Expression | undefined {
  if (e.kind === "lookahead") return isConditional ? e : undefined;
  const isLogical = e.kind === "binary" && (e.operator === "&&" || e.operator === "||");
  for (const [i, operand] of operandsOf(e).entries()) {
    const found = conditionalLookahead(operand, isConditional || (i > 0 && (e.kind === "mux" || isLogical)));
    if (found !== undefined) return found;
  }
  return undefined;
}
