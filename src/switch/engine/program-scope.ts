import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { Action, Bmv2Program, Expression } from "../bmv2json/program.ts";
import { ExpressionCompiler } from "./expression-code.ts";
import { type PhvLayout, unknownName } from "./layout.ts";

/** Core errors in the order of core.p4; a program that lists errors gives them its own numbers. */
const coreErrors = [
  "NoError",
  "PacketTooShort",
  "NoMatch",
  "StackOutOfBounds",
  "HeaderTooShort",
  "ParserTimeout",
  "ParserInvalidArgument",
] as const;

export type CoreError = (typeof coreErrors)[number];

/**
 * Names of a program's objects in the generated code. Objects are numbered in the order of the JSON: registers are
 * `R0`, `R1`, ..., counters `C0`, meters `M0`, calculations `calc0`, value sets `V0`, tables `T0`, actions `action0`.
 */
export class ProgramScope {
  readonly program: Bmv2Program;
  readonly layout: PhvLayout;
  /** True while the traced variant is generated. */
  readonly tracing: boolean;
  private readonly actionsById: ReadonlyMap<number, { readonly action: Action; readonly index: number }>;

  constructor(program: Bmv2Program, layout: PhvLayout, tracing: boolean) {
    this.program = program;
    this.layout = layout;
    this.tracing = tracing;
    this.actionsById = new Map(program.actions.map((action, index) => [action.id, { action, index }]));
  }

  expressions(parameterWidths: readonly number[] = []): ExpressionCompiler {
    return new ExpressionCompiler({
      layout: this.layout,
      parameterWidths,
      register: (name, path) => this.register(name, path),
    });
  }

  register(
    name: string,
    path: string,
  ): { readonly cells: string; readonly width: number; readonly size: number } {
    const index = this.program.registers.findIndex((array) => array.name === name);
    const array = this.program.registers[index];
    if (array === undefined) return unknownName("register array", name, path);
    return { cells: `R${index}`, width: array.width, size: array.size };
  }

  counter(name: string, path: string): string {
    const index = this.program.counters.findIndex((array) => array.name === name);
    return index < 0 ? unknownName("counter array", name, path) : `C${index}`;
  }

  meter(name: string, path: string): string {
    const index = this.program.meters.findIndex((array) => array.name === name);
    return index < 0 ? unknownName("meter array", name, path) : `M${index}`;
  }

  calculation(name: string, path: string): number {
    const index = this.program.calculations.findIndex((calculation) => calculation.name === name);
    return index < 0 ? unknownName("calculation", name, path) : index;
  }

  valueSet(name: string, path: string): { readonly code: string; readonly width: number } {
    const index = this.program.valueSets.findIndex((set) => set.name === name);
    const set = this.program.valueSets[index];
    return set === undefined
      ? unknownName("parse value set", name, path)
      : { code: `V${index}`, width: set.width };
  }

  action(id: number, path: string): { readonly action: Action; readonly index: number } {
    return this.actionsById.get(id) ?? unknownName("action with id", String(id), path);
  }

  errorCode(name: CoreError): number {
    return this.program.errors.get(name) ?? coreErrors.indexOf(name);
  }

  errorName(code: number): string {
    for (const [name, value] of this.program.errors) if (value === code) return name;
    return coreErrors[code] ?? String(code);
  }
}

/** The name of the object that an argument must name. */
export function namedArgument(argument: Expression | undefined, object: string, path: string): string {
  if (argument?.kind === "named" && argument.object === object) return argument.name;
  throw new SwitchConfigError("WRONG_TYPE", argument?.path ?? path, `expected a ${object}`);
}
