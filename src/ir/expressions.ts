import type { SourceLocation } from "./source.ts";
import { bit, bool, type DataType } from "./types.ts";

/**
 * Expressions are frozen plain objects. Each knows its type; `at` is the place in the user's program that made it.
 * Operators follow P4_16 section 8: no implicit casts, both sides of an arithmetic operator have one type.
 */
export type Expression =
  | Constant
  | FieldReference
  | MetadataReference
  | ParameterReference
  | IntrinsicReference
  | MemoryReference
  | Validity
  | Lookahead
  | Unary
  | Binary
  | Slice
  | Concat
  | Cast
  | Mux;

interface Node {
  readonly type: DataType;
  readonly at?: SourceLocation;
}

/** A declared constant where a value stands: what it is called, and the type that it has. */
export interface ConstantName {
  readonly name: string;
  readonly type: DataType;
}

/** A literal; of type bool, value is 0n or 1n. A value outside its type is kept and reported by the checks. */
export interface Constant extends Node {
  readonly kind: "constant";
  readonly value: bigint;
  /** The constant that was written here, whatever type the node has been given since. */
  readonly named?: ConstantName;
}

/** `hdr.header.field` */
export interface FieldReference extends Node {
  readonly kind: "field";
  readonly header: string;
  readonly field: string;
}

/** `meta.name` */
export interface MetadataReference extends Node {
  readonly kind: "metadata";
  readonly name: string;
}

/** A parameter of the action in which it stands. */
export interface ParameterReference extends Node {
  readonly kind: "parameter";
  readonly name: string;
}

/** What the architecture gives or takes; each backend has its own name for it. */
export interface IntrinsicReference extends Node {
  readonly kind: "intrinsic";
  readonly name: IntrinsicName;
}

export type IntrinsicName = keyof typeof intrinsics;

interface IntrinsicSpec {
  readonly type: DataType;
  readonly read: readonly ("parser" | "ingress" | "egress")[];
  readonly write: readonly ("ingress" | "egress")[];
  readonly doc: string;
}

/** Architecture values that both targets have, with where they may be read and written. */
export const intrinsics = {
  ingress_port: {
    type: bit(9),
    read: ["parser", "ingress", "egress"],
    write: [],
    doc: "port the packet came in on",
  },
  egress_port: {
    type: bit(9),
    read: ["ingress", "egress"],
    write: ["ingress"],
    doc: "ingress: port to send to; egress: port the packet leaves by",
  },
  multicast_group: { type: bit(16), read: ["ingress"], write: ["ingress"], doc: "0: none" },
  replication_id: {
    type: bit(16),
    read: ["egress"],
    write: [],
    doc: "instance of the replica of a multicast group",
  },
  priority: { type: bit(3), read: ["ingress", "egress"], write: ["ingress"], doc: "queue; 0 is the weakest" },
  colour: {
    type: bit(2),
    read: [],
    write: ["ingress"],
    doc: "drop precedence in the traffic manager: 0 green, 1 yellow, 2 red; what is red is dropped first",
  },
  packet_length: {
    type: bit(32),
    read: ["ingress", "egress"],
    write: [],
    doc: "bytes of the frame as it entered; in egress with the headers that ingress has added, without those that it took off",
  },
  is_clone: { type: bool, read: ["egress"], write: [], doc: "the packet is a clone made in ingress" },
  is_resubmitted: {
    type: bool,
    read: ["ingress"],
    write: [],
    doc: "the packet has been resubmitted: it comes once more",
  },
  is_recirculated: {
    type: bool,
    read: ["ingress"],
    write: [],
    doc: "the packet has been recirculated: it comes once more, as egress left it",
  },
  parser_failed: { type: bool, read: ["ingress"], write: [], doc: "the parser ended with an error" },
  checksum_failed: { type: bool, read: ["ingress"], write: [], doc: "a verified checksum was wrong" },
  enqueue_depth: {
    type: bit(19),
    read: ["egress"],
    write: [],
    doc: "length of the queue when the packet joined it",
  },
  dequeue_depth: {
    type: bit(19),
    read: ["egress"],
    write: [],
    doc: "length of the queue when the packet left it",
  },
} as const satisfies Record<string, IntrinsicSpec>;

/** Inside a register update: the cell before (`old`) and after (`next`) the update. */
export interface MemoryReference extends Node {
  readonly kind: "memory";
  readonly which: "old" | "next";
}

export interface Validity extends Node {
  readonly kind: "valid";
  readonly header: string;
}

/** In the parser: the next bits of the packet, which stay there. */
export interface Lookahead extends Node {
  readonly kind: "lookahead";
}

export type UnaryOperator = "-" | "~" | "!";

export interface Unary extends Node {
  readonly kind: "unary";
  readonly operator: UnaryOperator;
  readonly operand: Expression;
}

export type ArithmeticOperator = "+" | "-" | "*" | "|+|" | "|-|" | "&" | "|" | "^";
export type ShiftOperator = "<<" | ">>";
export type ComparisonOperator = "==" | "!=" | "<" | "<=" | ">" | ">=";
export type LogicalOperator = "&&" | "||";
export type BinaryOperator = ArithmeticOperator | ShiftOperator | ComparisonOperator | LogicalOperator;

export interface Binary extends Node {
  readonly kind: "binary";
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
}

/** Bits high..low, both included, of a bit value. */
export interface Slice extends Node {
  readonly kind: "slice";
  readonly operand: Expression;
  readonly high: number;
  readonly low: number;
}

/** `left ++ right`: left becomes the high bits. */
export interface Concat extends Node {
  readonly kind: "concat";
  readonly left: Expression;
  readonly right: Expression;
}

export interface Cast extends Node {
  readonly kind: "cast";
  readonly operand: Expression;
  /** What the architecture calls the type, whose width differs between its chips. */
  readonly typeName?: string;
}

export interface Mux extends Node {
  readonly kind: "mux";
  readonly condition: Expression;
  readonly whenTrue: Expression;
  readonly whenFalse: Expression;
}

/** Direct sub-expressions, in order of evaluation. */
export function operandsOf(e: Expression): readonly Expression[] {
  switch (e.kind) {
    case "unary":
    case "slice":
    case "cast":
      return [e.operand];
    case "binary":
    case "concat":
      return [e.left, e.right];
    case "mux":
      return [e.condition, e.whenTrue, e.whenFalse];
    default:
      return [];
  }
}
