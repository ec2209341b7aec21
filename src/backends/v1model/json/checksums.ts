import { widthOf } from "../../../ir/index.ts";
import { BackendError } from "../../backenderror.ts";
import type { ChecksumCall } from "../checksums.ts";
import type { LoweredProgram } from "../lowered.ts";
import type { Calculations } from "./calculations.ts";
import { bytesFor, hexstr, type Json, type JsonObject } from "./json.ts";
import { place, type ValueScope, value } from "./values.ts";

const scope: ValueScope = {
  gress: "ingress",
  slot(name: string): never {
    throw new Error(`a checksum has no variable ${name}`);
  },
};

/** Updates first, then verifications, each with a calculation of its own. */
export function checksums(program: LoweredProgram, calculations: Calculations): readonly Json[] {
  const { calls } = program.checksums;
  const ordered = [...calls.filter((c) => c.call === "update"), ...calls.filter((c) => c.call === "verify")];
  return ordered.map(
    (c, id): JsonObject => ({
      name: `cksum_${id}`,
      id,
      target: place(c.target, scope) ?? [],
      type: "generic",
      calculation: calculations.add("csum16", input(c)),
      verify: c.call === "verify",
      update: c.call === "update",
      if_cond: value(c.condition, scope),
    }),
  );
}

function input(c: ChecksumCall): readonly Json[] {
  const fields = c.fields.map((f): Json => {
    if (f.kind === "constant") {
      const width = widthOf(f.type);
      return { type: "hexstr", value: hexstr(f.value, bytesFor(width)), bitwidth: width };
    }
    const at = place(f, scope);
    if (at !== undefined) return { type: "field", value: at };
    const message = `the checksum of ${c.source.header} has a computed value among its fields; v1model takes fields and constants`;
    throw new BackendError("GP2004", "v1model", message, c.source.at);
  });
  const varbits = c.varbits.map((path): Json => {
    const at = path.lastIndexOf(".");
    return { type: "field", value: [path.slice(0, at), path.slice(at + 1)] };
  });
  return [...fields, ...varbits, ...(c.payload ? [{ type: "payload", value: null }] : [])];
}
