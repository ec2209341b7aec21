import { EntityError } from "./entity-error.ts";
import type { FieldMatch } from "./proto/generated/p4runtime.ts";
import type { MatchFieldSchema } from "./schema.ts";
import { bytesOf, decodeValue, encodeValue, formatValue, maxOf, parseValue, type Value } from "./values.ts";

/** The match kinds of P4Runtime (P4Info's `MatchField.match_type`). */
export type MatchKind = "EXACT" | "LPM" | "TERNARY" | "RANGE" | "OPTIONAL";

/**
 * A match on one field in normal form: bits outside a mask or prefix are zero, and it is not "don't care" (that is said by leaving the
 * field out, P4Runtime specification 9.1.1).
 */
export type Match =
  | { readonly kind: "EXACT" | "OPTIONAL"; readonly value: bigint }
  | { readonly kind: "LPM"; readonly value: bigint; readonly prefixLength: number }
  | { readonly kind: "TERNARY"; readonly value: bigint; readonly mask: bigint }
  | { readonly kind: "RANGE"; readonly low: bigint; readonly high: bigint };

/**
 * A match as a user writes it. A plain value means exactly this value, for every match kind. Otherwise
 *
 * - LPM: `"10.0.0.0/8"` or `{ value, prefixLength }`;
 * - ternary: `"0x0800 &&& 0xff00"`, `"10.0.0.0/8"`, or `{ value, mask }`;
 * - range: `"1..9"` or `{ low, high }`.
 *
 * `undefined`, `"*"`, a prefix of length 0, a mask of 0 and a full range mean any value.
 */
export type MatchInput =
  | Value
  | undefined
  | { readonly value: Value; readonly prefixLength: number }
  | { readonly value: Value; readonly mask: Value }
  | { readonly low: Value; readonly high: Value };

/** The mask of a prefix: 24 of 32 bits -> 0xffffff00. */
export function prefixMask(prefixLength: number, bitwidth: number): bigint {
  return maxOf(bitwidth) ^ maxOf(bitwidth - prefixLength);
}

/**
 * Normalise what a user wrote: bits outside a mask or prefix are cleared, and undefined comes back for "any value".
 *
 * @throws EntityError that names the field.
 */
export function parseMatch(field: MatchFieldSchema, input: MatchInput): Match | undefined {
  const match = inputOf(field, input);
  if (match === undefined && field.kind === "EXACT")
    throw new EntityError("missing", field.where, "an exact field needs a value");
  return match;
}

function inputOf(field: MatchFieldSchema, input: MatchInput): Match | undefined {
  if (input === undefined) return undefined;
  if (typeof input === "string") return matchOfText(field, input.trim());
  if (typeof input !== "object" || input === null || input instanceof Uint8Array)
    return single(field, parseValue(input, field));
  if ("prefixLength" in input) return prefix(field, input.value, input.prefixLength);
  if ("mask" in input) return masked(field, parseValue(input.value, field), parseValue(input.mask, field));
  if ("low" in input && "high" in input)
    return range(field, parseValue(input.low, field), parseValue(input.high, field));
  throw new EntityError(
    "invalid-value",
    field.where,
    "a match is a value, or has prefixLength, mask, or low and high",
  );
}

function matchOfText(field: MatchFieldSchema, text: string): Match | undefined {
  if (text === "*" && field.bitwidth > 0) return undefined;
  if (field.bitwidth === 0) return single(field, bigintOfText(field, text));
  const [value = "", mask] = text.split("&&&");
  if (mask !== undefined) return masked(field, parseValue(value, field), parseValue(mask, field));
  const ends = /^([^.].*?)\s*(?:\.\.\.?)\s*([^.].*)$/.exec(text);
  if (ends !== null && field.kind === "RANGE" && !/^\d+\.\d+\.\d+\.\d+$/.test(text))
    return range(field, parseValue(ends[1] ?? "", field), parseValue(ends[2] ?? "", field));
  const slash = text.lastIndexOf("/");
  if (slash < 0) return single(field, parseValue(text, field));
  const length = text.slice(slash + 1).trim();
  if (!/^\d{1,5}$/.test(length))
    throw new EntityError("invalid-value", field.where, `"${length}" is no prefix length`);
  return prefix(field, text.slice(0, slash), Number(length));
}

/** Text values (width 0) are compared as the number that their bytes make. */
function bigintOfText(field: MatchFieldSchema, text: string): bigint {
  return decodeValue(encodeValue(text, field), field);
}

function single(field: MatchFieldSchema, value: bigint): Match {
  switch (field.kind) {
    case "EXACT":
    case "OPTIONAL":
      return { kind: field.kind, value };
    case "LPM":
      return { kind: "LPM", value, prefixLength: field.bitwidth };
    case "TERNARY":
      return { kind: "TERNARY", value, mask: maxOf(field.bitwidth) };
    case "RANGE":
      return { kind: "RANGE", low: value, high: value };
  }
}

function prefix(field: MatchFieldSchema, value: Value, prefixLength: number): Match | undefined {
  if (!Number.isInteger(prefixLength) || prefixLength < 0 || prefixLength > field.bitwidth)
    throw new EntityError(
      "out-of-range",
      field.where,
      `a prefix length of ${prefixLength} does not fit bit<${field.bitwidth}>`,
    );
  const mask = prefixMask(prefixLength, field.bitwidth);
  const parsed = parseValue(value, field) & mask;
  if (field.kind === "LPM")
    return prefixLength === 0 ? undefined : { kind: "LPM", value: parsed, prefixLength };
  return masked(field, parsed, mask);
}

function masked(field: MatchFieldSchema, value: bigint, mask: bigint): Match | undefined {
  if (mask === maxOf(field.bitwidth)) return single(field, value);
  if (mask === 0n && field.kind !== "EXACT") return undefined;
  if (field.kind !== "TERNARY") throw wrongForm(field, "mask");
  return { kind: "TERNARY", value: value & mask, mask };
}

function range(field: MatchFieldSchema, low: bigint, high: bigint): Match | undefined {
  if (low > high) throw new EntityError("invalid-value", field.where, `the range ${low}..${high} is empty`);
  if (low === high) return single(field, low);
  if (low === 0n && high === maxOf(field.bitwidth) && field.kind !== "EXACT") return undefined;
  if (field.kind !== "RANGE") throw wrongForm(field, "range");
  return { kind: "RANGE", low, high };
}

function wrongForm(field: MatchFieldSchema, form: string): EntityError {
  return new EntityError(
    "invalid-value",
    field.where,
    `the field is matched ${field.kind}, which takes no ${form}`,
  );
}

/** The message for a match in normal form, with canonical bytes. */
export function encodeMatch(field: MatchFieldSchema, match: Match): FieldMatch {
  const fieldId = field.id;
  switch (match.kind) {
    case "EXACT":
      return { fieldId, fieldMatchType: { case: "exact", value: { value: bytesOf(match.value) } } };
    case "OPTIONAL":
      return { fieldId, fieldMatchType: { case: "optional", value: { value: bytesOf(match.value) } } };
    case "LPM":
      return {
        fieldId,
        fieldMatchType: {
          case: "lpm",
          value: { value: bytesOf(match.value), prefixLen: match.prefixLength },
        },
      };
    case "TERNARY":
      return {
        fieldId,
        fieldMatchType: {
          case: "ternary",
          value: { value: bytesOf(match.value), mask: bytesOf(match.mask) },
        },
      };
    case "RANGE":
      return {
        fieldId,
        fieldMatchType: { case: "range", value: { low: bytesOf(match.low), high: bytesOf(match.high) } },
      };
  }
}

/**
 * Read a match as a server must: "don't care" forms, bits outside the mask or prefix and empty ranges are refused.
 *
 * @throws EntityError that names the field (P4Runtime specification 9.1.1).
 */
export function decodeMatch(field: MatchFieldSchema, message: FieldMatch): Match {
  const form = message.fieldMatchType;
  const wanted = { EXACT: "exact", LPM: "lpm", TERNARY: "ternary", RANGE: "range", OPTIONAL: "optional" }[
    field.kind
  ];
  if (form === undefined) throw new EntityError("missing", field.where, "the match has no value");
  if (form.case !== wanted)
    throw new EntityError(
      "invalid-value",
      field.where,
      `the field is matched ${field.kind}, not ${form.case}`,
    );
  switch (form.case) {
    case "exact":
      return { kind: "EXACT", value: decodeValue(form.value.value, field) };
    case "optional":
      return { kind: "OPTIONAL", value: decodeValue(form.value.value, field) };
    case "lpm":
      return decodeLpm(field, decodeValue(form.value.value, field), form.value.prefixLen);
    case "ternary":
      return decodeTernary(field, decodeValue(form.value.value, field), decodeValue(form.value.mask, field));
    case "range":
      return decodeRange(field, decodeValue(form.value.low, field), decodeValue(form.value.high, field));
    default:
      throw new EntityError(
        "invalid-value",
        field.where,
        "match kinds of other architectures are not supported",
      );
  }
}

function decodeLpm(field: MatchFieldSchema, value: bigint, prefixLength: number): Match {
  if (prefixLength === 0)
    throw new EntityError("invalid-value", field.where, "a prefix of length 0 must be left out of the match");
  if (prefixLength < 0 || prefixLength > field.bitwidth)
    throw new EntityError(
      "invalid-value",
      field.where,
      `a prefix length of ${prefixLength} does not fit bit<${field.bitwidth}>`,
    );
  if ((value & maxOf(field.bitwidth - prefixLength)) !== 0n)
    throw new EntityError(
      "invalid-value",
      field.where,
      `${formatValue(value, field.bitwidth)}/${prefixLength} has bits set after the prefix`,
    );
  return { kind: "LPM", value, prefixLength };
}

function decodeTernary(field: MatchFieldSchema, value: bigint, mask: bigint): Match {
  if (mask === 0n)
    throw new EntityError("invalid-value", field.where, "a mask of 0 must be left out of the match");
  if ((value & ~mask) !== 0n)
    throw new EntityError(
      "invalid-value",
      field.where,
      `0x${value.toString(16)} &&& 0x${mask.toString(16)} has bits set outside the mask`,
    );
  return { kind: "TERNARY", value, mask };
}

function decodeRange(field: MatchFieldSchema, low: bigint, high: bigint): Match {
  if (low > high) throw new EntityError("invalid-value", field.where, `the range ${low}..${high} is empty`);
  if (low === 0n && high === maxOf(field.bitwidth))
    throw new EntityError("invalid-value", field.where, "a full range must be left out of the match");
  return { kind: "RANGE", low, high };
}

/**
 * Read a match as a client must: servers do not all leave "any value" out, so that is recognised here, and undefined comes back for it.
 *
 * @throws EntityError when the message is not a match for the field at all.
 */
export function normaliseMatch(field: MatchFieldSchema, message: FieldMatch): Match | undefined {
  const form = message.fieldMatchType;
  if (form?.case === "lpm" && form.value.prefixLen === 0) return undefined;
  if (form?.case === "ternary" && decodeValue(form.value.mask, field) === 0n) return undefined;
  if (form?.case === "range") {
    const full =
      decodeValue(form.value.low, field) === 0n &&
      decodeValue(form.value.high, field) === maxOf(field.bitwidth);
    if (full) return undefined;
  }
  return decodeMatch(field, message);
}

/** A match for people, in the form that `parseMatch` reads. */
export function formatMatch(match: Match, bitwidth: number): string {
  const value = (x: bigint): string => formatValue(x, bitwidth);
  switch (match.kind) {
    case "EXACT":
    case "OPTIONAL":
      return value(match.value);
    case "LPM":
      return `${value(match.value)}/${match.prefixLength}`;
    case "TERNARY":
      return `${value(match.value)} &&& 0x${match.mask.toString(16)}`;
    case "RANGE":
      return `${value(match.low)}..${value(match.high)}`;
  }
}
