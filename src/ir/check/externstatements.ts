import type { Expression } from "../expressions.ts";
import { colourType, hashAlgorithms } from "../externs.ts";
import type { ExecuteMeter, Hash, Random, SendDigest } from "../statements.ts";
import { rangeOf, typeName, widthOf } from "../types.ts";
import type { Names } from "./names.ts";
import { type Context, hasWidth, type TypeChecker } from "./types.ts";

/** What BMv2 draws and counts with: 64-bit numbers; and 32 bits are enough for a hash. */
const MAX_BUCKETS = 1n << 32n;
const MAX_RANDOM_BITS = 64;
/** BMv2's identity looks no further. */
const IDENTITY_BITS = 64;

/** Statements that the architecture does for the program: their inputs, outputs and limits. */
export function checkExternStatement(
  s: Hash | Random | ExecuteMeter | SendDigest,
  context: Context,
  types: TypeChecker,
  names: Names,
): void {
  if (s.kind !== "digest") {
    types.target(s.into, context);
    types.unsigned(s.into, `result of ${s.kind}`, s.at);
  }
  switch (s.kind) {
    case "hash":
      checkHash(s, context, types);
      break;
    case "random":
      for (const bound of [s.low, s.high]) {
        types.expression(bound, context);
        types.same(s.into.type, bound.type, "bound of random", s.at);
      }
      if (s.low.kind === "constant" && s.high.kind === "constant" && s.low.value > s.high.value)
        types.fail("GP1110", `from ${s.low.value} to ${s.high.value}`, s.at);
      if (hasWidth(s.into.type) && widthOf(s.into.type) > MAX_RANDOM_BITS)
        types.fail("GP1110", `a random ${typeName(s.into.type)}`, s.at);
      break;
    case "meter":
      types.index(s.index, s.meter, names.meters.get(s.meter)?.size, "meter", context);
      types.same(colourType, s.into.type, "colour", s.at);
      if (!names.meters.has(s.meter)) types.fail("GP1204", `there is no meter ${s.meter}`, s.at);
      break;
    case "digest":
      checkDigest(s, context, types, names);
      break;
    default:
      s satisfies never;
  }
}

function checkHash(s: Hash, context: Context, types: TypeChecker): void {
  const wrong = (message: string): void => types.fail("GP1109", message, s.at);
  if (!(s.algorithm in hashAlgorithms)) {
    wrong(`there is no algorithm ${s.algorithm}; there are ${Object.keys(hashAlgorithms).join(", ")}`);
    return;
  }
  for (const field of s.fields) types.expression(field, context);
  const inputs = wrongInputs(s.algorithm, s.fields);
  if (inputs !== undefined) wrong(inputs);
  if (s.buckets !== undefined && (s.buckets < 1n || s.buckets > MAX_BUCKETS))
    wrong(`a hash to ${s.buckets} buckets`);
  if (!hasWidth(s.into.type)) return;
  const greatest = rangeOf(s.into.type)[1];
  const last = s.base + (s.buckets ?? 1n) - 1n;
  if (s.base < 0n || last > greatest)
    types.fail("GP1102", `results ${s.base} to ${last} do not fit ${typeName(s.into.type)}`, s.at);
}

function checkDigest(s: SendDigest, context: Context, types: TypeChecker, names: Names): void {
  const digest = names.digests.get(s.digest);
  if (context.place.block !== "ingress") types.fail("GP1502", `digest ${s.digest} is sent in egress`, s.at);
  for (const value of s.values) types.expression(value, context);
  if (digest === undefined) {
    types.fail("GP1204", `there is no digest ${s.digest}`, s.at);
    return;
  }
  if (digest.fields.length !== s.values.length)
    types.fail("GP1404", `${s.digest} takes ${digest.fields.length} values, not ${s.values.length}`, s.at);
  digest.fields.forEach((f, i) => {
    const value = s.values[i];
    if (value !== undefined) types.same(f.type, value.type, `field ${f.name} of ${s.digest}`, s.at);
  });
}

/** Why these cannot be the inputs of a hash, or undefined when they can. */
export function wrongInputs(algorithm: Hash["algorithm"], fields: readonly Expression[]): string | undefined {
  if (fields.length === 0) return "a hash of nothing";
  const flag = fields.find((f) => f.type.kind === "bool");
  if (flag !== undefined) return "a hash of a truth; make a bit of it: condition.toBit()";
  if (algorithm !== "identity") return undefined;
  const bits = fields.reduce((sum, f) => sum + widthOf(f.type), 0);
  return bits > IDENTITY_BITS || bits % 8 !== 0 ? `the identity of ${bits} bits` : undefined;
}
