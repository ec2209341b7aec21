import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { Calculation, CalculationInput, Expression as EngineExpression } from "../bmv2json/program.ts";
import type { Expression } from "./document.ts";

/** Hashes and checksums of one gress. */
export class Calculations {
  readonly list: Calculation[] = [];

  /** @param inputs fields, and constants that are as wide as their type. */
  add(
    algorithm: string,
    inputs: readonly (EngineExpression | Extract<Expression, { readonly kind: "constant" }>)[],
    path: string,
  ): string {
    const name = `calculation_${this.list.length}`;
    this.list.push({ name, algorithm, inputs: inputs.map((i) => inputOf(i, path)), path });
    return name;
  }
}

/** An input of a hash: a field, or a constant of the document. */
export function inputOf(
  input: EngineExpression | Extract<Expression, { readonly kind: "constant" }>,
  path: string,
): CalculationInput {
  if (input.kind === "constant" && "type" in input)
    return {
      kind: "constant",
      value: BigInt.asUintN(input.type.width, input.value),
      width: input.type.width,
    };
  if (input.kind === "field") return { kind: "field", header: input.header, field: input.field, path };
  throw new SwitchConfigError("UNSUPPORTED", path, "a hash is over fields and constants");
}

/** The engine's name of a hash function of Tofino. */
export function algorithmOf(name: string, path: string): string {
  switch (name) {
    case "CRC16":
      return "crc16";
    case "CRC32":
      return "crc32";
    default:
      throw new SwitchConfigError("UNSUPPORTED", path, `hash algorithm ${name}; there are CRC16 and CRC32`);
  }
}
