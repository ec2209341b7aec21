import type {
  Constant,
  Control,
  Expression,
  Hash,
  MetadataField,
  MetadataReference,
  Program,
  Random,
  SendDigest,
  StraightStatement,
  Target,
} from "../../ir/index.ts";
import { bit, hashAlgorithms, widthOf } from "../../ir/index.ts";
import { localPart, Names } from "../p4text/names.ts";
import { mappedStatements } from "./mapped.ts";
import type { Refuse } from "./refuse.ts";
import { isAtom } from "./stages.ts";

/** Hash functions that Tofino computes with the same result as BMv2. */
export const tofinoHashes = { crc16: "CRC16", crc32: "CRC32" } as const;

export type TofinoHash = keyof typeof tofinoHashes;

export function isTofinoHash(name: string): name is TofinoHash {
  return name in tofinoHashes;
}

/**
 * The program with its externs as Tofino has them: hashes and random numbers are as many bits as are asked for, with the base added
 * later; a digest is values kept in metadata for the deparser; an action of a table with a meter meters first.
 */
export function withTofinoExterns(program: Program, refuse: Refuse): Program {
  const names = new Names(program.metadata.map((m) => m.name));
  const added: MetadataField[] = [];
  const keep = (name: string, type: MetadataField["type"], doc: string): MetadataReference => {
    const field = { name: names.take(name), type, doc };
    added.push(field);
    return { kind: "metadata", name: field.name, type };
  };
  const straight = (s: StraightStatement, control: Control | undefined): readonly StraightStatement[] => {
    switch (s.kind) {
      case "hash":
        return hash(s, keep, refuse);
      case "random":
        return random(s, keep, refuse);
      case "digest":
        return digest(s, control, keep);
      default:
        return [s];
    }
  };
  const changed = mappedStatements(withMeterCalls(program), straight);
  return { ...changed, metadata: [...program.metadata, ...added] };
}

/** On a hit BMv2 meters before the action; on Tofino the action does it. */
function withMeterCalls(program: Program): Program {
  const controls = program.controls.map(
    (c): Control => ({
      ...c,
      actions: c.actions.map((a) => ({ ...a, body: [...meterOf(a.name, c), ...a.body] })),
    }),
  );
  return { ...program, controls };
}

type Keep = (name: string, type: MetadataField["type"], doc: string) => MetadataReference;

function meterOf(action: string, c: Control): readonly StraightStatement[] {
  return c.tables.flatMap((t): readonly StraightStatement[] => {
    if (t.directMeter === undefined || !t.actions.includes(action)) return [];
    const { name, into } = t.directMeter;
    return [{ kind: "meter", meter: name, index: { kind: "constant", type: bit(1), value: 0n }, into }];
  });
}

function hash(s: Hash, keep: Keep, refuse: Refuse): readonly StraightStatement[] {
  const { algorithm, buckets, into } = s;
  const width = Math.min(hashAlgorithms[algorithm], widthOf(into.type));
  const bits = buckets === undefined ? width : exactLog2(buckets);
  if (bits === undefined) {
    refuse("GP1841", `a hash to ${buckets} buckets`, s.at);
    return [];
  }
  if (bits > width) {
    refuse("GP1841", `${bits} bits of ${algorithm}, which has ${hashAlgorithms[algorithm]}`, s.at);
    return [];
  }
  if (bits === 0) return [set(into, s.base, s)];
  if (algorithm === "identity") return [...identity(s, bits), ...plus(s)];
  if (!isTofinoHash(algorithm)) {
    refuse("GP1841", `a hash by ${algorithm}`, s.at);
    return [];
  }
  const before: StraightStatement[] = [];
  const fields = s.fields.map((f): Expression => {
    if (isAtom(f)) return f;
    const target = keep("hash_input", f.type, "computed input of a hash");
    before.push({ kind: "assign", target, value: f, ...placed(s) });
    return target;
  });
  // BMv2 fills the last byte with zeros.
  const total = fields.reduce((sum, f) => sum + widthOf(f.type), 0);
  const padding: Constant = { kind: "constant", type: bit(8 - (total % 8)), value: 0n };
  return [
    ...before,
    {
      ...s,
      fields: total % 8 === 0 ? fields : [...fields, padding],
      base: 0n,
      buckets: 1n << BigInt(bits),
    },
    ...plus(s),
  ];
}

/** The number that the fields make is they themselves. */
function identity(s: Hash, bits: number): readonly StraightStatement[] {
  const parts: Expression[] = [];
  let missing = bits;
  for (const f of [...s.fields].reverse()) {
    if (missing === 0) break;
    const plain: Expression =
      f.type.kind === "bit" ? f : { kind: "cast", type: bit(widthOf(f.type)), operand: f };
    const width = widthOf(f.type);
    parts.unshift(
      width <= missing
        ? plain
        : { kind: "slice", operand: plain, high: missing - 1, low: 0, type: bit(missing) },
    );
    missing -= Math.min(width, missing);
  }
  const value = parts.reduce((left, right) => ({
    kind: "concat",
    type: bit(widthOf(left.type) + widthOf(right.type)),
    left,
    right,
  }));
  const width = widthOf(s.into.type);
  const whole: Expression =
    widthOf(value.type) === width ? value : { kind: "cast", type: bit(width), operand: value };
  return [{ kind: "assign", target: s.into, value: whole, ...placed(s) }];
}

function random(s: Random, keep: Keep, refuse: Refuse): readonly StraightStatement[] {
  const { low, high, into } = s;
  if (low.kind !== "constant" || high.kind !== "constant") {
    if (isAtom(low) && sameAtom(low, high))
      return [{ kind: "assign", target: into, value: low, ...placed(s) }];
    refuse("GP1842", "the bounds of a random number come from the packet", s.at);
    return [];
  }
  const bits = exactLog2(high.value - low.value + 1n);
  if (bits === undefined) {
    refuse("GP1842", `a random number from ${low.value} to ${high.value}`, s.at);
    return [];
  }
  if (bits === 0) return [set(into, low.value, s)];
  const drawn = { ...s, low: { ...low, value: 0n }, high: { ...high, value: (1n << BigInt(bits)) - 1n } };
  const { type } = into;
  if (widthOf(type) === bits && low.value === 0n) return [drawn];
  // The unit hands over its bits alone, and what is set beside them in one container is more than an action can do at once.
  const place = keep("drawn", bit(bits), "a random number");
  const wide: Expression = { kind: "cast", type, operand: place };
  const value: Expression =
    low.value === 0n ? wide : { kind: "binary", type, operator: "+", left: wide, right: low };
  return [
    { ...drawn, into: place },
    { kind: "assign", target: into, value, ...placed(s) },
  ];
}

/** Values as they are here; the deparser tells the control plane of them. */
function digest(s: SendDigest, control: Control | undefined, keep: Keep): readonly StraightStatement[] {
  const fields = control?.digests.find((d) => d.name === s.digest)?.fields ?? [];
  const kept = fields.map((f) =>
    keep(`${localPart(s.digest)}_${f.name}`, f.type, `of digest ${localPart(s.digest)}`),
  );
  return [
    ...kept.flatMap((target, i): readonly StraightStatement[] => {
      const value = s.values[i];
      return value === undefined ? [] : [{ kind: "assign", target, value, ...placed(s) }];
    }),
    { ...s, values: kept },
  ];
}

function plus(s: Hash): readonly StraightStatement[] {
  if (s.base === 0n) return [];
  const { into } = s;
  const right: Constant = { kind: "constant", type: into.type, value: s.base };
  const value: Expression = { kind: "binary", type: into.type, operator: "+", left: into, right };
  return [{ kind: "assign", target: into, value, ...placed(s) }];
}

function set(target: Target, value: bigint, s: StraightStatement): StraightStatement {
  return { kind: "assign", target, value: { kind: "constant", type: target.type, value }, ...placed(s) };
}

function placed(s: StraightStatement): Pick<StraightStatement, "at"> {
  return s.at === undefined ? {} : { at: s.at };
}

/** n where the number is 2^n. */
export function exactLog2(n: bigint): number | undefined {
  if (n < 1n || (n & (n - 1n)) !== 0n) return undefined;
  return n.toString(2).length - 1;
}

function sameAtom(a: Expression, b: Expression): boolean {
  if (a.kind === "metadata") return b.kind === "metadata" && a.name === b.name;
  if (a.kind === "field") return b.kind === "field" && a.header === b.header && a.field === b.field;
  return a.kind === "parameter" && b.kind === "parameter" && a.name === b.name;
}
