import type { DataType, KeySet, ParserState } from "../../../ir/index.ts";
import { bool, ownErrors, parserErrors, widthOf } from "../../../ir/index.ts";
import { prefixMask } from "../../p4text/literals.ts";
import type { LoweredProgram } from "../lowered.ts";
import { bytesFor, hexstr, type Json, type JsonObject } from "./json.ts";
import { StateWriter } from "./parsersteps.ts";
import type { Scalars } from "./scalars.ts";

/** The program's errors in the order of their numbers. */
export function errorsOf(program: LoweredProgram): readonly string[] {
  return [...parserErrors, ...ownErrors(program.source)];
}

export function parser(program: LoweredProgram, scalars: Scalars): JsonObject {
  const next = (state: string): Json => {
    if (state === "accept") return null;
    return state === "reject" ? (program.rejectState ?? null) : state;
  };
  const errors = errorsOf(program);
  const states = program.source.parser.map((s, id) =>
    parseState(s, id, next, new StateWriter(scalars, errors)),
  );
  if (program.rejectState !== undefined) {
    const writer = new StateWriter(scalars, errors);
    writer.step({ kind: "verify", condition: { kind: "constant", type: bool, value: 0n }, error: "NoMatch" });
    states.push({
      name: program.rejectState,
      id: states.length,
      parser_ops: writer.ops,
      transitions: [otherwise(null)],
      transition_key: [],
    });
  }
  return { name: "parser", id: 0, init_state: "start", parse_states: states };
}

function parseState(
  state: ParserState,
  id: number,
  next: (state: string) => Json,
  writer: StateWriter,
): JsonObject {
  for (const step of state.steps) writer.step(step);
  const t = state.transition;
  if (t.kind === "goto")
    return {
      name: state.name,
      id,
      parser_ops: writer.ops,
      transitions: [otherwise(next(t.next))],
      transition_key: [],
    };
  const key = t.keys.map((k) => writer.key(k));
  const types = t.keys.map((k) => k.type);
  const cases = t.cases.flatMap((c) => {
    const to = next(c.next);
    if (c.valueSet !== undefined) return [{ next: to, takesAll: false, transition: inSet(c.valueSet, to) }];
    return combinations(c.values, types).map((masks) => ({
      next: to,
      takesAll: masks.every((m) => m.mask === 0n),
      transition: transition(masks, types, to),
    }));
  });
  // What takes everything is the default. BMv2 goes by the last default that it reads, so that there must be one.
  const all = cases.findIndex((c) => c.takesAll);
  const deciding = all < 0 ? cases : cases.slice(0, all);
  return {
    name: state.name,
    id,
    parser_ops: writer.ops,
    transitions: [
      ...deciding.map((c) => c.transition),
      otherwise(cases[all]?.next ?? (all < 0 ? next(t.otherwise) : null)),
    ],
    transition_key: key,
  };
}

interface Masked {
  readonly value: bigint;
  readonly mask: bigint;
}

/** A case as values and masks, one of each per key; ranges become several. */
function combinations(sets: readonly KeySet[], types: readonly DataType[]): readonly (readonly Masked[])[] {
  let all: readonly (readonly Masked[])[] = [[]];
  sets.forEach((set, i) => {
    const choices = masked(set, widthOf(types[i] ?? { kind: "bit", width: 1 }));
    all = all.flatMap((head) => choices.map((choice) => [...head, choice]));
  });
  return all;
}

function masked(set: KeySet, width: number): readonly Masked[] {
  const ones = (1n << BigInt(width)) - 1n;
  switch (set.kind) {
    case "value":
      return [{ value: BigInt.asUintN(width, set.value), mask: ones }];
    case "mask":
      return [{ value: BigInt.asUintN(width, set.value), mask: BigInt.asUintN(width, set.mask) }];
    case "prefix":
      return [{ value: set.value, mask: prefixMask(set.length, width) }];
    case "any":
      return [{ value: 0n, mask: 0n }];
    case "range":
      return rangeToMasks(set.low, set.high, width);
  }
}

/** The fewest aligned blocks that cover a range exactly. */
export function rangeToMasks(low: bigint, high: bigint, width: number): readonly Masked[] {
  const ones = (1n << BigInt(width)) - 1n;
  const out: Masked[] = [];
  for (let at = low; at <= high; ) {
    let size = 1n;
    while (at % (size * 2n) === 0n && at + size * 2n - 1n <= high) size *= 2n;
    out.push({ value: at, mask: ones ^ (size - 1n) });
    at += size;
  }
  return out;
}

/** BMv2 compares the keys side by side, each filled to whole bytes. */
function transition(parts: readonly Masked[], types: readonly DataType[], next: Json): JsonObject {
  let value = 0n;
  let mask = 0n;
  let bytes = 0;
  let exact = true;
  parts.forEach((part, i) => {
    const width = widthOf(types[i] ?? { kind: "bit", width: 1 });
    const size = bytesFor(width);
    value = (value << BigInt(8 * size)) | part.value;
    mask = (mask << BigInt(8 * size)) | part.mask;
    exact &&= part.mask === (1n << BigInt(width)) - 1n;
    bytes += size;
  });
  if (mask === 0n) return otherwise(next);
  return {
    type: "hexstr",
    value: hexstr(value, bytes),
    mask: exact ? null : hexstr(mask, bytes),
    next_state: next,
  };
}

function inSet(name: string, next: Json): JsonObject {
  return { type: "parse_vset", value: name, mask: null, next_state: next };
}

function otherwise(next: Json): JsonObject {
  return { type: "default", value: null, mask: null, next_state: next };
}
