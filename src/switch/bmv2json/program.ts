/**
 * A BMv2 program as typed data: what JSON_format.md 2.24 describes, with numbers read exactly
 * and references still by name. Produced by `readProgram`, consumed by the engine's compiler.
 */

export interface FieldType {
  readonly name: string;
  /** Bits; "varbit" for the one variable-length field that a header may have. */
  readonly width: number | "varbit";
  readonly signed: boolean;
}

export interface HeaderType {
  readonly name: string;
  readonly fields: readonly FieldType[];
  /** Bytes, for headers with a variable-length field; 0 if the JSON states none. */
  readonly maxLength: number;
}

export interface HeaderInstance {
  readonly name: string;
  readonly id: number;
  readonly type: string;
  readonly metadata: boolean;
}

export interface HeaderStack {
  readonly name: string;
  readonly type: string;
  readonly headerIds: readonly number[];
}

export interface HeaderUnionType {
  readonly name: string;
  readonly members: readonly { readonly name: string; readonly headerType: string }[];
}

export interface HeaderUnion {
  readonly name: string;
  readonly id: number;
  readonly type: string;
  readonly headerIds: readonly number[];
}

export interface HeaderUnionStack {
  readonly name: string;
  readonly type: string;
  readonly unionIds: readonly number[];
}

/** Operators of expressions; the arity is fixed by the reader. */
export type UnaryOperator =
  | "~"
  | "not"
  | "valid"
  | "valid_union"
  | "d2b"
  | "b2d"
  | "last_stack_index"
  | "size_stack";
export type BinaryOperator =
  | "+"
  | "-"
  | "*"
  | "/"
  | "%"
  | "<<"
  | ">>"
  | "&"
  | "|"
  | "^"
  | "=="
  | "!="
  | "<"
  | "<="
  | ">"
  | ">="
  | "and"
  | "or"
  | "two_comp_mod"
  | "sat_cast"
  | "usat_cast"
  | "dereference_header_stack"
  | "dereference_union_stack";

/** A "type value object": an expression or an argument of a primitive. */
export type Expression =
  | { readonly kind: "field"; readonly header: string; readonly field: string; readonly path: string }
  | { readonly kind: "constant"; readonly value: bigint; readonly path: string }
  | { readonly kind: "boolean"; readonly value: boolean; readonly path: string }
  | { readonly kind: "local"; readonly index: number; readonly path: string }
  | { readonly kind: "header"; readonly name: string; readonly path: string }
  | { readonly kind: "stack"; readonly name: string; readonly path: string }
  | { readonly kind: "union"; readonly name: string; readonly path: string }
  | { readonly kind: "unionStack"; readonly name: string; readonly path: string }
  | { readonly kind: "stackField"; readonly stack: string; readonly field: string; readonly path: string }
  | {
      readonly kind: "unionStackField";
      readonly stack: string;
      readonly member: string;
      readonly field: string;
      readonly path: string;
    }
  | { readonly kind: "register"; readonly array: string; readonly index: Expression; readonly path: string }
  | { readonly kind: "lookahead"; readonly offset: number; readonly width: number; readonly path: string }
  | {
      readonly kind: "unary";
      readonly op: UnaryOperator;
      readonly operand: Expression;
      readonly path: string;
    }
  | {
      readonly kind: "binary";
      readonly op: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
      readonly path: string;
    }
  | {
      readonly kind: "conditional";
      readonly condition: Expression;
      readonly whenTrue: Expression;
      readonly whenFalse: Expression;
      readonly path: string;
    }
  | {
      readonly kind: "accessField";
      readonly header: Expression;
      readonly index: number;
      readonly path: string;
    }
  | {
      readonly kind: "accessUnionHeader";
      readonly union: Expression;
      readonly index: number;
      readonly path: string;
    }
  | {
      readonly kind: "named";
      readonly object: "calculation" | "meter_array" | "counter_array" | "register_array" | "extern";
      readonly name: string;
      readonly path: string;
    }
  | { readonly kind: "text"; readonly value: string; readonly path: string }
  | { readonly kind: "vector"; readonly items: readonly Expression[]; readonly path: string };

export interface Primitive {
  readonly op: string;
  readonly parameters: readonly Expression[];
  readonly path: string;
}

export type ExtractTarget =
  | { readonly kind: "regular"; readonly header: string }
  | { readonly kind: "stack"; readonly stack: string }
  | { readonly kind: "unionStack"; readonly stack: string; readonly member: string };

export type ParserOp =
  | {
      readonly kind: "extract";
      readonly target: ExtractTarget;
      readonly length?: Expression;
      readonly path: string;
    }
  | {
      readonly kind: "set";
      readonly destination: Expression;
      readonly source: Expression;
      readonly path: string;
    }
  | {
      readonly kind: "verify";
      readonly condition: Expression;
      readonly error: Expression;
      readonly path: string;
    }
  | { readonly kind: "advance"; readonly bits: Expression; readonly path: string }
  | { readonly kind: "primitive"; readonly primitive: Primitive; readonly path: string };

export type Transition =
  | { readonly kind: "default"; readonly next: string | null }
  | {
      readonly kind: "value";
      readonly value: bigint;
      readonly mask: bigint | null;
      readonly next: string | null;
      readonly path: string;
    }
  | {
      readonly kind: "valueSet";
      readonly valueSet: string;
      readonly mask: bigint | null;
      readonly next: string | null;
      readonly path: string;
    };

export interface ParseState {
  readonly name: string;
  readonly ops: readonly ParserOp[];
  readonly key: readonly Expression[];
  readonly transitions: readonly Transition[];
  readonly path: string;
}

export interface Parser {
  readonly name: string;
  readonly initState: string | null;
  readonly states: readonly ParseState[];
  readonly path: string;
}

export interface ParseValueSet {
  readonly name: string;
  readonly id: number;
  /** Bits of a value, without padding. */
  readonly width: number;
  readonly maxSize: number | undefined;
}

export interface Deparser {
  readonly name: string;
  readonly order: readonly string[];
  readonly primitives: readonly Primitive[];
  readonly path: string;
}

export interface MeterArray {
  readonly name: string;
  readonly id: number;
  readonly unit: "bytes" | "packets";
  readonly size: number;
  readonly direct?: { readonly table: string; readonly header: string; readonly field: string };
  readonly path: string;
}

export interface CounterArray {
  readonly name: string;
  readonly id: number;
  readonly size: number;
  readonly directTable: string | undefined;
}

export interface RegisterArray {
  readonly name: string;
  readonly id: number;
  readonly size: number;
  readonly width: number;
}

export type CalculationInput =
  | { readonly kind: "field"; readonly header: string; readonly field: string; readonly path: string }
  | { readonly kind: "constant"; readonly value: bigint; readonly width: number }
  | { readonly kind: "header"; readonly header: string; readonly path: string }
  | { readonly kind: "payload" };

export interface Calculation {
  readonly name: string;
  readonly algorithm: string;
  readonly inputs: readonly CalculationInput[];
  readonly path: string;
}

export interface Checksum {
  readonly name: string;
  readonly header: string;
  readonly field: string;
  readonly calculation: string;
  readonly update: boolean;
  readonly verify: boolean;
  readonly condition: Expression | undefined;
  readonly path: string;
}

export interface FieldList {
  readonly id: number;
  readonly name: string;
  readonly elements: readonly Expression[];
}

export interface ActionParameter {
  readonly name: string;
  readonly width: number;
}

export interface Action {
  readonly name: string;
  readonly id: number;
  readonly parameters: readonly ActionParameter[];
  readonly primitives: readonly Primitive[];
  readonly path: string;
}

export type MatchKind = "exact" | "lpm" | "ternary" | "range" | "optional";

export interface TableKey {
  readonly name: string;
  readonly kind: MatchKind;
  /** A field (perhaps "$valid$"), or a field of a stack element that is chosen at run time. */
  readonly target: Expression;
  readonly mask: bigint | undefined;
  readonly path: string;
}

export type EntryKey =
  | { readonly kind: "exact"; readonly value: bigint }
  | { readonly kind: "lpm"; readonly value: bigint; readonly prefixLength: number }
  | { readonly kind: "ternary"; readonly value: bigint; readonly mask: bigint }
  | { readonly kind: "range"; readonly low: bigint; readonly high: bigint };

export interface ActionEntry {
  readonly actionId: number;
  readonly data: readonly bigint[];
}

export interface ConstEntry {
  readonly key: readonly EntryKey[];
  readonly action: ActionEntry;
  /** BMv2's convention: the smaller number wins. */
  readonly priority: number;
  readonly path: string;
}

export interface Table {
  readonly name: string;
  readonly id: number;
  readonly key: readonly TableKey[];
  readonly matchType: "exact" | "lpm" | "ternary" | "range";
  readonly implementation: "simple" | "indirect" | "indirect_ws";
  readonly actionProfile: string | undefined;
  readonly maxSize: number;
  readonly withCounters: boolean;
  readonly supportsTimeout: boolean;
  readonly directMeters: string | undefined;
  readonly actionIds: readonly number[];
  readonly nextByAction: ReadonlyMap<string, string | null>;
  readonly nextOnHit: string | null | undefined;
  readonly nextOnMiss: string | null | undefined;
  readonly baseDefaultNext: string | null;
  readonly defaultEntry: (ActionEntry & { readonly isConst: boolean }) | undefined;
  readonly constEntries: readonly ConstEntry[] | undefined;
  readonly path: string;
}

export interface ActionProfile {
  readonly name: string;
  readonly id: number;
  readonly maxSize: number;
  readonly selector: { readonly algorithm: string; readonly inputs: readonly CalculationInput[] } | undefined;
  readonly path: string;
}

export interface Conditional {
  readonly name: string;
  readonly expression: Expression;
  readonly trueNext: string | null;
  readonly falseNext: string | null;
  readonly path: string;
}

export interface ActionCall {
  readonly name: string;
  readonly actionId: number;
  readonly next: string | null;
  readonly path: string;
}

export interface Pipeline {
  readonly name: string;
  readonly init: string | null;
  readonly tables: readonly Table[];
  readonly actionProfiles: readonly ActionProfile[];
  readonly conditionals: readonly Conditional[];
  readonly actionCalls: readonly ActionCall[];
  readonly path: string;
}

export interface FieldAlias {
  readonly alias: string;
  readonly header: string;
  readonly field: string;
}

export interface Bmv2Program {
  /** The P4 file's name if the compiler wrote it. */
  readonly name: string;
  readonly headerTypes: readonly HeaderType[];
  readonly headers: readonly HeaderInstance[];
  readonly stacks: readonly HeaderStack[];
  readonly unionTypes: readonly HeaderUnionType[];
  readonly unions: readonly HeaderUnion[];
  readonly unionStacks: readonly HeaderUnionStack[];
  readonly errors: ReadonlyMap<string, number>;
  readonly parsers: readonly Parser[];
  readonly valueSets: readonly ParseValueSet[];
  readonly deparsers: readonly Deparser[];
  readonly meters: readonly MeterArray[];
  readonly counters: readonly CounterArray[];
  readonly registers: readonly RegisterArray[];
  readonly calculations: readonly Calculation[];
  readonly checksums: readonly Checksum[];
  readonly digests: readonly FieldList[];
  readonly fieldLists: readonly FieldList[];
  readonly actions: readonly Action[];
  readonly pipelines: readonly Pipeline[];
  readonly aliases: readonly FieldAlias[];
}
