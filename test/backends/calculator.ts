import type { Expression, HeaderField, Program } from "../../src/ir/index.ts";
import { bit, widthOf } from "../../src/ir/index.ts";
import { operands } from "./arbitrary.ts";
import { action, assign, constant, control, extract, field, mux, program } from "./nodes.ts";
import { evaluate } from "./reference.ts";

/** A program that computes expressions from the header `args` into the header `results`, which follows it on the wire. */
export function calculator(name: string, expressions: readonly Expression[]): Program {
  const results: readonly HeaderField[] = expressions.map((e, i) => ({
    name: `r${i}`,
    type: e.type.kind === "bool" ? bit(8) : e.type,
  }));
  return program(name, {
    headerTypes: [
      { name: "operands", fields: operands },
      { name: "results", fields: results },
    ],
    headers: [
      { name: "args", headerType: "operands" },
      { name: "results", headerType: "results" },
    ],
    parser: [
      {
        name: "start",
        steps: [extract("args"), extract("results")],
        transition: { kind: "goto", next: "accept" },
      },
    ],
    controls: [
      control("calculate", {
        actions: expressions.map((e, i) =>
          action(
            `calculate.step_${i}`,
            [],
            [
              assign(
                field("results", `r${i}`, results[i]?.type ?? e.type),
                e.type.kind === "bool" ? mux(e, constant(1, bit(8)), constant(0, bit(8))) : e,
              ),
            ],
          ),
        ),
        apply: expressions.map((_, i) => ({
          kind: "callAction" as const,
          action: `calculate.step_${i}`,
          arguments: [],
        })),
      }),
    ],
    ingress: [{ kind: "applyControl", control: "calculate" }],
    deparser: ["args", "results"],
  });
}

/** A packet with these operands and empty `results`. */
export function question(values: readonly bigint[], expressions: readonly Expression[]): Uint8Array {
  const out = expressions.reduce((sum, e) => sum + (e.type.kind === "bool" ? 8 : widthOf(e.type)), 0) / 8;
  return pack([...operands.map((o, i) => [values[i] ?? 0n, widthOf(o.type)] as const), [0n, out * 8]]);
}

/** What the packet must be when it comes out. */
export function answer(values: readonly bigint[], expressions: readonly Expression[]): Uint8Array {
  const read = (e: Expression): bigint => {
    if (e.kind === "valid") return 1n;
    const i = operands.findIndex((o) => e.kind === "field" && o.name === e.field);
    const bits = values[i] ?? 0n;
    const type = operands[i]?.type;
    return type?.kind === "int" ? BigInt.asIntN(type.width, bits) : bits;
  };
  return pack([
    ...operands.map((o, i) => [values[i] ?? 0n, widthOf(o.type)] as const),
    ...expressions.map((e) => [evaluate(e, read), e.type.kind === "bool" ? 8 : widthOf(e.type)] as const),
  ]);
}

/** Numbers side by side, in network order. */
export function pack(parts: readonly (readonly [value: bigint, width: number])[]): Uint8Array {
  let all = 0n;
  let width = 0;
  for (const [v, w] of parts) {
    all = (all << BigInt(w)) | BigInt.asUintN(w, v);
    width += w;
  }
  return Uint8Array.from(Buffer.from(all.toString(16).padStart(width / 4, "0"), "hex"));
}
