import type { JsonCursor } from "./cursor.ts";
import { readExpression } from "./expression.ts";
import type { Calculation, CalculationInput, Checksum } from "./program.ts";

export function readCalculationInput(cursor: JsonCursor): CalculationInput {
  const type = cursor.get("type").string();
  const path = cursor.path;
  switch (type) {
    case "field": {
      const value = cursor.get("value");
      return { kind: "field", header: value.element(0).string(), field: value.element(1).string(), path };
    }
    case "hexstr":
      return {
        kind: "constant",
        value: cursor.get("value").hexstr(),
        width: cursor.get("bitwidth").naturalNumber(),
      };
    case "header":
      return { kind: "header", header: cursor.get("value").string(), path };
    case "payload":
      return { kind: "payload" };
    default:
      return cursor.get("type").unsupported(`unknown input "${type}" of a calculation`);
  }
}

export function readCalculation(cursor: JsonCursor): Calculation {
  return {
    name: cursor.get("name").string(),
    algorithm: cursor.get("algo").string(),
    inputs: cursor.list("input").map(readCalculationInput),
    path: cursor.path,
  };
}

export function readChecksum(cursor: JsonCursor): Checksum {
  const type = cursor.get("type").string();
  if (type !== "generic")
    cursor.get("type").unsupported(`checksum type "${type}"; only "generic" is supported`);
  const target = cursor.get("target");
  const condition = cursor.optional("if_cond");
  return {
    name: cursor.get("name").string(),
    header: target.element(0).string(),
    field: target.element(1).string(),
    calculation: cursor.get("calculation").string(),
    update: cursor.optional("update")?.boolean() ?? true,
    verify: cursor.optional("verify")?.boolean() ?? true,
    condition: condition === undefined ? undefined : readExpression(condition),
    path: cursor.path,
  };
}
