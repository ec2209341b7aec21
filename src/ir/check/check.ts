import type { Diagnostic } from "../diagnostics.ts";
import type { Program } from "../program.ts";
import { placedStatements } from "../walk.ts";
import { checkFlow } from "./flow.ts";
import { checkNames, Names } from "./names.ts";
import { checkParser } from "./parser.ts";
import { checkTables } from "./tables.ts";
import { TypeChecker } from "./types.ts";

/** Highest front-panel port: v1model keeps 511 as the drop port. */
const MAX_PORTS = 511;

/** Everything that is wrong with a program. A finding with a `target` holds for that target alone. */
export function check(program: Program): readonly Diagnostic[] {
  const found: Diagnostic[] = [];
  const report = (d: Diagnostic): void => {
    found.push(d);
  };
  const names = new Names(program);
  const types = new TypeChecker(names, report);
  if (!Number.isInteger(program.ports) || program.ports < 1 || program.ports > MAX_PORTS) {
    report({ code: "GP1703", message: `the program has ${program.ports} ports` });
  }
  const cpu = program.cpuPort;
  if (cpu !== undefined && (!Number.isInteger(cpu) || cpu < program.ports || cpu >= MAX_PORTS)) {
    report({
      code: "GP1703",
      message: `the controller's port is ${cpu}; it is one of ${program.ports} to ${MAX_PORTS - 1}`,
    });
  }
  checkNames(program, report);
  checkParser(program, names, types, report);
  checkTables(program, names, types, report);
  for (const [statement, place] of placedStatements(program)) types.statement(statement, place);
  for (const checksum of program.checksums) {
    for (const field of checksum.fields) types.expression(field, { block: "ingress" });
  }
  checkFlow(program, names, report);
  return found;
}
