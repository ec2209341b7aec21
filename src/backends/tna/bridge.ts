import type { Program } from "../../ir/index.ts";
import { placedStatements, targetOf } from "../../ir/walk.ts";

export function isWrittenInIngress(program: Program, name: string): boolean {
  return [...placedStatements(program)].some(([s, place]) => {
    const target = targetOf(s);
    const whole = target?.kind === "slice" ? target.operand : target;
    return place.block === "ingress" && whole?.kind === "metadata" && whole.name === name;
  });
}

/** The program with these metadata fields as fields of the bridge header, in all its nodes. */
export function inBridge(program: Program, names: readonly string[], header: string): Program {
  if (names.length === 0) return program;
  const moved = (x: unknown): unknown => {
    if (Array.isArray(x)) return x.map(moved);
    if (typeof x !== "object" || x === null) return x;
    if ("kind" in x && x.kind === "metadata" && "name" in x && names.includes(String(x.name)))
      return { ...x, kind: "field", header, field: x.name };
    return Object.fromEntries(Object.entries(x).map(([key, value]) => [key, moved(value)]));
  };
  const { controls, ingress, egress } = program;
  // The same shapes: a metadata reference becomes a field reference.
  const changed = moved({ controls, ingress, egress }) as Pick<Program, "controls" | "ingress" | "egress">;
  return { ...program, ...changed };
}
