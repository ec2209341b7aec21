/**
 * A lowered Tofino program as typed data: what the TNA backend writes beside the P4 text, from the same nodes. Produced by
 * `readTnaDocument`; `translate.ts` brings it into the form that the engine compiles. `path` leads to a node's place in the JSON.
 */

export interface DataType {
  readonly kind: "bit" | "int" | "bool";
  /** Bits; 1 for bool. */
  readonly width: number;
}

export type Gress = "ingress" | "egress";

interface Node {
  readonly type: DataType;
  readonly path: string;
}

export type BinaryOperator = (typeof binaryOperators)[number];
export type UnaryOperator = (typeof unaryOperators)[number];

export const unaryOperators = ["-", "~", "!"] as const;
export const binaryOperators = [
  "+",
  "-",
  "*",
  "|+|",
  "|-|",
  "&",
  "|",
  "^",
  "<<",
  ">>",
  "==",
  "!=",
  "<",
  "<=",
  ">",
  ">=",
  "&&",
  "||",
] as const;

export interface FieldReference extends Node {
  readonly kind: "field";
  readonly header: string;
  readonly field: string;
}

export interface MetadataReference extends Node {
  readonly kind: "metadata";
  readonly name: string;
}

/** A parameter or a variable of an action. */
export interface LocalReference extends Node {
  readonly kind: "local";
  readonly name: string;
}

/** Intrinsic metadata by their names in the architecture: `ig_tm_md.qid`. */
export interface ArchitectureReference extends Node {
  readonly kind: "architecture";
  readonly field: string;
}

export type PlaceReference = FieldReference | MetadataReference | LocalReference | ArchitectureReference;

export interface Slice extends Node {
  readonly kind: "slice";
  readonly operand: Expression;
  readonly high: number;
  readonly low: number;
}

export type Expression =
  | (Node & { readonly kind: "constant"; readonly value: bigint })
  | PlaceReference
  /** In the program of a stateful ALU: the cell, as it is at this point of the program. */
  | (Node & { readonly kind: "memory" })
  | (Node & { readonly kind: "valid"; readonly header: string })
  /** In the parser: the next bits, which stay there. */
  | (Node & { readonly kind: "lookahead" })
  | (Node & { readonly kind: "unary"; readonly operator: UnaryOperator; readonly operand: Expression })
  | (Node & {
      readonly kind: "binary";
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    })
  | Slice
  | (Node & { readonly kind: "concat"; readonly left: Expression; readonly right: Expression })
  | (Node & { readonly kind: "cast"; readonly operand: Expression })
  | (Node & {
      readonly kind: "mux";
      readonly condition: Expression;
      readonly whenTrue: Expression;
      readonly whenFalse: Expression;
    });

export type Target = PlaceReference | Slice;

export type KeySet =
  | { readonly kind: "value"; readonly value: bigint }
  | { readonly kind: "mask"; readonly value: bigint; readonly mask: bigint }
  | { readonly kind: "prefix"; readonly value: bigint; readonly length: number }
  | { readonly kind: "range"; readonly low: bigint; readonly high: bigint }
  | { readonly kind: "any" };

export interface Member {
  readonly name: string;
  readonly type: DataType;
}

export type ParserStep =
  | { readonly kind: "intrinsicMetadata" | "portData" | "clearMetadata" }
  | { readonly kind: "startHeader" | "extract"; readonly header: string; readonly path: string }
  | { readonly kind: "advance"; readonly bits: Expression; readonly path: string }
  | { readonly kind: "set"; readonly target: Target; readonly value: Expression; readonly path: string }
  /** Takes fields out of a checksum; where the sum ends, what is left of it goes to `rest`. */
  | {
      readonly kind: "subtract";
      readonly checksum: string;
      readonly fields: readonly Expression[];
      readonly rest?: Target;
      readonly path: string;
    }
  /** Sets `failed` when the checksum over all of a header is wrong. */
  | { readonly kind: "verify"; readonly header: string; readonly failed: Target; readonly path: string };

export interface ParserState {
  readonly name: string;
  readonly steps: readonly ParserStep[];
  readonly keys: readonly Expression[];
  readonly cases: readonly {
    readonly values: readonly KeySet[];
    readonly valueSet?: string;
    readonly next: string;
    readonly path: string;
  }[];
  readonly next: string;
  readonly path: string;
}

/** One instruction of a stateful program, in order. */
export type CellStatement =
  | {
      readonly kind: "set";
      readonly target: "value" | "result";
      readonly value: Expression;
      readonly path: string;
    }
  | {
      readonly kind: "if";
      readonly condition: Expression;
      readonly whenTrue: readonly CellStatement[];
      readonly whenFalse: readonly CellStatement[];
      readonly path: string;
    };

/** A program of a stateful ALU (RegisterAction). */
export interface StatefulProgram {
  readonly local: string;
  readonly register: string;
  readonly outputType?: DataType;
  readonly body: readonly CellStatement[];
  readonly path: string;
}

/** A hash function, or a source of random numbers, of so many bits. */
export type Unit =
  | {
      readonly kind: "hash";
      readonly local: string;
      readonly bits: number;
      readonly algorithm: string;
      readonly path: string;
    }
  | { readonly kind: "random"; readonly local: string; readonly bits: number; readonly path: string };

export type Step =
  | { readonly kind: "assign"; readonly target: Target; readonly value: Expression; readonly path: string }
  | { readonly kind: "invalidate"; readonly field: string; readonly path: string }
  | { readonly kind: "setValidity"; readonly header: string; readonly valid: boolean; readonly path: string }
  | { readonly kind: "count"; readonly counter: string; readonly index: Expression; readonly path: string }
  | { readonly kind: "directCount"; readonly counter: string; readonly path: string }
  | {
      readonly kind: "hash";
      readonly unit: string;
      readonly fields: readonly Expression[];
      readonly into: Target;
      readonly path: string;
    }
  | { readonly kind: "random"; readonly unit: string; readonly into: Target; readonly path: string }
  /** Without an index: the meter of the table's entry. */
  | {
      readonly kind: "meter";
      readonly meter: string;
      readonly index?: Expression;
      readonly into: Target;
      readonly path: string;
    }
  | {
      readonly kind: "execute";
      readonly update: string;
      readonly index: Expression;
      readonly into?: Target;
      readonly path: string;
    };

export interface Action {
  /** Control-plane name. */
  readonly name: string;
  readonly local: string;
  readonly parameters: readonly Member[];
  readonly updates: readonly StatefulProgram[];
  readonly units: readonly Unit[];
  readonly steps: readonly Step[];
  readonly path: string;
}

export type Block = readonly Statement[];

export type Statement =
  | { readonly kind: "steps"; readonly steps: readonly Step[]; readonly path: string }
  | {
      readonly kind: "if";
      readonly condition: Expression;
      readonly whenTrue: Block;
      readonly whenFalse: Block;
      readonly path: string;
    }
  | {
      readonly kind: "applyTable";
      readonly table: string;
      readonly hit: Block;
      readonly miss: Block;
      readonly path: string;
    }
  | { readonly kind: "applyControl"; readonly instance: string; readonly path: string }
  | {
      readonly kind: "callAction";
      readonly action: string;
      readonly arguments: readonly Expression[];
      readonly path: string;
    }
  | { readonly kind: "exit"; readonly path: string };

/** The body of a control, or of a whole gress. */
export interface Body {
  readonly instances: ReadonlyMap<string, string>;
  readonly actions: readonly Action[];
  readonly block: Block;
}

export interface Register {
  readonly name: string;
  readonly local: string;
  readonly type: DataType;
  readonly size: number;
  readonly path: string;
}

export interface ActionCall {
  readonly action: string;
  readonly arguments: readonly bigint[];
}

export type MatchKind = (typeof matchKinds)[number];
export const matchKinds = ["exact", "lpm", "ternary", "range", "optional"] as const;

export interface Table {
  readonly name: string;
  readonly local: string;
  readonly key: readonly {
    readonly name: string;
    readonly match: MatchKind;
    readonly expression: Expression;
  }[];
  readonly actions: readonly { readonly name: string; readonly defaultOnly: boolean }[];
  readonly size: number;
  readonly defaultAction: ActionCall & { readonly constant: boolean };
  /** In winning order. */
  readonly entries?: readonly (ActionCall & { readonly keys: readonly KeySet[]; readonly path: string })[];
  readonly directCounter?: string;
  readonly directMeter?: string;
  readonly implementation?: string;
  readonly path: string;
}

export interface Control extends Body {
  readonly name: string;
  readonly registers: readonly Register[];
  readonly counters: readonly { readonly name: string; readonly local: string; readonly size: number }[];
  readonly directCounters: readonly { readonly name: string; readonly local: string }[];
  readonly meters: readonly {
    readonly name: string;
    readonly local: string;
    readonly size: number;
    readonly unit: "packets" | "bytes";
  }[];
  readonly directMeters: readonly {
    readonly name: string;
    readonly local: string;
    readonly unit: "packets" | "bytes";
  }[];
  readonly actionProfiles: readonly {
    readonly name: string;
    readonly size: number;
    readonly selector?: { readonly algorithm: string; readonly keys: readonly Expression[] };
    readonly path: string;
  }[];
  readonly tables: readonly Table[];
  readonly path: string;
}

export interface GressSection extends Body {
  readonly gress: Gress;
  readonly parser: readonly ParserState[];
  readonly controls: readonly Control[];
  readonly checksums: readonly {
    readonly target: Target;
    readonly fields: readonly Expression[];
    /** The checksum is renewed only where this is 1, and 0 is written as 0xffff. */
    readonly given?: Expression;
    readonly path: string;
  }[];
  /** Headers and stacks in the order in which the deparser emits them, if valid. */
  readonly emits: readonly string[];
  readonly path: string;
}

/** What a deparser puts in front of mirrored packets: a header of its own. */
export interface Mirror {
  readonly gress: Gress;
  /** Value of `mirror_type`. */
  readonly number: number;
  readonly session: Expression;
  readonly headerType: string;
  readonly values: readonly Expression[];
  /** Bytes that the mirror session must cut the packet to, the header included; 0 if it may stay whole. */
  readonly maxLength: number;
  readonly path: string;
}

export interface Resubmit {
  /** Value of `resubmit_type`. */
  readonly number: number;
  readonly headerType: string;
  readonly values: readonly Expression[];
  readonly path: string;
}

export interface Digest {
  readonly name: string;
  /** Value of `digest_type`. */
  readonly number: number;
  readonly values: readonly Expression[];
  readonly path: string;
}

export interface HeaderType {
  readonly name: string;
  readonly fields: readonly Member[];
  readonly path: string;
}

export interface HeaderInstance {
  readonly name: string;
  readonly headerType: string;
  /** A stack of so many. */
  readonly elements?: number;
  readonly path: string;
}

export interface ValueSet {
  readonly name: string;
  readonly fields: readonly Member[];
  readonly size: number;
}

/** How the traffic manager is to treat a queue of each port. */
export interface Queue {
  readonly number: number;
  readonly priority?: number;
  readonly keepRed?: number;
}

export interface TnaDocument {
  readonly program: string;
  readonly headerTypes: readonly HeaderType[];
  readonly headers: readonly HeaderInstance[];
  readonly metadata: readonly Member[];
  /** The header in front of packets from ingress to egress, if there is one. */
  readonly bridge?: string;
  readonly valueSets: readonly ValueSet[];
  readonly queues: readonly Queue[];
  readonly mirrors: readonly Mirror[];
  readonly resubmits: readonly Resubmit[];
  readonly digests: readonly Digest[];
  readonly ingress: GressSection;
  readonly egress: GressSection;
}
