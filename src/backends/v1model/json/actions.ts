import type { DataType, Expression } from "../../../ir/index.ts";
import { widthOf } from "../../../ir/index.ts";
import type { Gress, Local, LoweredDigest, Step } from "../lowered.ts";
import type { Calculations } from "./calculations.ts";
import { bytesFor, hexstr, type JsonObject } from "./json.ts";
import type { Scalars } from "./scalars.ts";
import {
  argument,
  constant,
  destination,
  isDirect,
  operation,
  place,
  SCALARS,
  type Slot,
  type ValueScope,
  value,
} from "./values.ts";

/** The empty field list of clones: nothing of the packet's metadata goes with them. */
export const CLONE_FIELD_LIST = 1;

/** Parts of the document that primitives add to. */
export interface Parts {
  readonly scalars: Scalars;
  readonly calculations: Calculations;
  /** Names of the digests; the first has id 1. */
  readonly digests: readonly string[];
}

/** Names of one action: its parameters are runtime data, its variables live in the scalars. */
export class ActionScope implements ValueScope {
  readonly gress: Gress;
  readonly #prefix: string;
  readonly #scalars: Scalars;
  readonly #parts: Parts;
  readonly #slots = new Map<string, Slot>();

  /** @param prefix in front of the names of variables in the scalars: the action or control that owns them. */
  constructor(gress: Gress, prefix: string, parts: Parts, parameters: readonly Local[]) {
    this.gress = gress;
    this.#prefix = prefix;
    this.#scalars = parts.scalars;
    this.#parts = parts;
    parameters.forEach((p, index) => {
      this.#slots.set(p.name, { kind: "data", index });
    });
  }

  slot(name: string): Slot {
    const found = this.#slots.get(name);
    if (found === undefined) throw new Error(`${this.#prefix} has no variable ${name}`);
    return found;
  }

  declare(local: Local): void {
    this.#slots.set(local.name, {
      kind: "scalar",
      field: this.#scalars.field(`${this.#prefix}.${local.name}`, local.type),
    });
  }

  bind(name: string, slot: Slot): void {
    this.#slots.set(name, slot);
  }

  get parts(): Parts {
    return this.#parts;
  }

  /** A field of the scalars for a value that BMv2 cannot take as an expression. */
  temporary(type: DataType): string {
    return this.#scalars.temporary(type);
  }
}

/** The primitives of straight-line code. */
export function primitives(steps: readonly Step[], scope: ActionScope): readonly JsonObject[] {
  return steps.flatMap((s) => step(s, scope));
}

function step(s: Step, scope: ActionScope): readonly JsonObject[] {
  switch (s.kind) {
    case "atomic":
      return primitives(s.updates.flat(), scope);
    case "declare":
      scope.declare(s.local);
      return s.value === undefined
        ? []
        : [assignment(destination({ kind: "local", ...s.local }, scope), argument(s.value, scope))];
    case "assign":
      return [assign(s, scope)];
    case "setValidity":
      return [
        { op: s.valid ? "add_header" : "remove_header", parameters: [{ type: "header", value: s.header }] },
      ];
    case "pushFront":
    case "popFront":
      return [
        {
          op: s.kind === "pushFront" ? "push" : "pop",
          parameters: [
            { type: "header_stack", value: s.stack },
            { type: "hexstr", value: hexstr(BigInt(s.count)) },
          ],
        },
      ];
    case "drop":
      return [{ op: "mark_to_drop", parameters: [{ type: "header", value: "standard_metadata" }] }];
    case "count":
      return withOperands([s.index], scope, ([index]) => ({
        op: "count",
        parameters: [{ type: "counter_array", value: s.counter }, index],
      }));
    case "clone":
      return withOperands([s.session], scope, ([session]) => ({
        op: "clone_ingress_pkt_to_egress",
        parameters: [session, { type: "hexstr", value: hexstr(BigInt(CLONE_FIELD_LIST), bytesFor(32)) }],
      }));
    case "resubmit":
    case "recirculate":
      return [{ op: s.kind, parameters: [{ type: "hexstr", value: hexstr(BigInt(s.list)) }] }];
    case "hash":
      return hash(s, scope);
    case "meter":
      return withOperands([s.index], scope, ([index]) => ({
        op: "execute_meter",
        parameters: [{ type: "meter_array", value: s.meter }, index, destination(s.into, scope)],
      }));
    case "readMeter":
      return [];
    case "digest":
      return sendDigest(s, scope);
    case "random":
      return withOperands([s.low, s.high], scope, ([low, high]) => ({
        op: "modify_field_rng_uniform",
        parameters: [destination(s.into, scope), low, high],
      }));
    case "read":
      return withOperands([s.index], scope, ([index]) => ({
        op: "register_read",
        parameters: [
          destination({ kind: "local", ...s.into }, scope),
          { type: "register_array", value: s.register },
          index,
        ],
      }));
    case "write":
      return withOperands([s.index, s.value], scope, ([index, stored]) => ({
        op: "register_write",
        parameters: [{ type: "register_array", value: s.register }, index, stored],
      }));
  }
}

/**
 * Fields of headers are copied first, as p4c does it: BMv2 leaves the fields of an invalid header out of a calculation, and the
 * hash would be one of fewer fields.
 */
function hash(s: Extract<Step, { kind: "hash" }>, scope: ActionScope): readonly JsonObject[] {
  const before: JsonObject[] = [];
  const input = s.fields.map((f): JsonObject => {
    if (f.kind === "constant") {
      const bitwidth = widthOf(f.type);
      return {
        type: "hexstr",
        value: hexstr(BigInt.asUintN(bitwidth, f.value), bytesFor(bitwidth)),
        bitwidth,
      };
    }
    if (f.kind === "metadata") return { type: "field", value: place(f, scope) ?? [] };
    const copy: JsonObject = { type: "field", value: [SCALARS, scope.temporary(f.type)] };
    before.push(assignment(copy, argument(f, scope)));
    return copy;
  });
  const calculation = scope.parts.calculations.add(s.algorithm, input);
  return [
    ...before,
    {
      op: "modify_field_with_hash_based_offset",
      parameters: [
        destination(s.into, scope),
        constant(s.base.value, s.base.type),
        { type: "calculation", value: calculation },
        constant(s.max.value, s.max.type),
      ],
    },
  ];
}

/** The field that holds a digest's value until ingress ends. */
export function digestField(digest: LoweredDigest, field: string): string {
  return `${digest.name}.${field}`;
}

function sendDigest(s: Extract<Step, { kind: "digest" }>, scope: ActionScope): readonly JsonObject[] {
  const { scalars, digests } = scope.parts;
  const copies = s.digest.fields.flatMap((f, i) => {
    const value = s.values[i];
    const field = scalars.field(digestField(s.digest, f.name), f.type);
    return value === undefined
      ? []
      : [assignment({ type: "field", value: [SCALARS, field] }, argument(value, scope))];
  });
  const id = BigInt(digests.indexOf(s.digest.name) + 1);
  const receiver: JsonObject = { type: "hexstr", value: hexstr(1n, bytesFor(32)) };
  return [
    ...copies,
    { op: "generate_digest", parameters: [receiver, { type: "hexstr", value: hexstr(id) }] },
  ];
}

/** A primitive on values; those that have to be computed go to a temporary first, as p4c does it. */
function withOperands<const E extends readonly Expression[]>(
  operands: E,
  scope: ActionScope,
  make: (values: { readonly [I in keyof E]: JsonObject }) => JsonObject,
): readonly JsonObject[] {
  const before: JsonObject[] = [];
  const values = operands.map((e) => {
    if (isDirect(e, scope)) return argument(stripWidening(e), scope);
    const field: JsonObject = { type: "field", value: [SCALARS, scope.temporary(e.type)] };
    before.push(assignment(field, argument(e, scope)));
    return field;
  });
  // One value for each operand, in order.
  return [...before, make(values as { readonly [I in keyof E]: JsonObject })];
}

function stripWidening(e: Expression): Expression {
  return e.kind === "cast" ? stripWidening(e.operand) : e;
}

function assign(s: Extract<Step, { kind: "assign" }>, scope: ActionScope): JsonObject {
  if (s.target.kind !== "slice") return assignment(destination(s.target, scope), argument(s.value, scope));
  // A slice is written by replacing its bits within the whole field.
  const { operand, high, low } = s.target;
  const width = widthOf(operand.type);
  const mask = ((1n << BigInt(high - low + 1)) - 1n) << BigInt(low);
  const all = (1n << BigInt(width)) - 1n;
  const bitsType: DataType = { kind: "bit", width };
  const kept = operation("&", value(operand, scope), constant(all ^ mask, bitsType));
  const moved = operation("<<", value(s.value, scope), { type: "hexstr", value: hexstr(BigInt(low)) });
  const merged = operation("|", kept, operation("&", moved, constant(mask, bitsType)));
  return assignment(destination(operand, scope), { type: "expression", value: merged });
}

function assignment(to: JsonObject, from: JsonObject): JsonObject {
  return { op: "assign", parameters: [to, from] };
}
