import type { Annotated, Annotation } from "./annotations.ts";
import type { CopyRules, TableContents } from "./contents.ts";
import type { TargetName } from "./diagnostics.ts";
import type { ConstantName, Expression, FieldReference, MetadataReference } from "./expressions.ts";
import type { ActionProfile, Digest, DirectMeter, Meter } from "./externs.ts";
import type { SourceLocation } from "./source.ts";
import type { Block, StraightStatement } from "./statements.ts";
import type { DataType } from "./types.ts";

/**
 * A switch program as frozen plain data, in order of declaration, the same for every target.
 * Objects of controls (tables, actions, registers, counters) are named `control.object` throughout; this is also
 * their control-plane name, whatever the nesting.
 */
export interface Program {
  readonly name: string;
  readonly doc?: string;
  /** Front-panel ports 0..ports-1. */
  readonly ports: number;
  /** Port of the controller (packet-in and packet-out), when the program uses one. */
  readonly cpuPort?: number;
  /** Strict-priority queues per port that the program needs (intrinsic `priority`). */
  readonly priorityQueues: number;
  /** Named constants, for those who read the generated program; what is written by name is in the nodes by value too. */
  readonly constants: readonly NamedConstant[];
  readonly queues?: readonly Queue[];
  readonly headerTypes: readonly HeaderType[];
  readonly headers: readonly HeaderInstance[];
  readonly unions?: readonly HeaderUnion[];
  readonly metadata: readonly MetadataField[];
  /** Headers in front of packets from and to the controller; the first member of each is its header instance. */
  readonly packetIn?: string;
  readonly packetOut?: string;
  readonly parser: readonly ParserState[];
  readonly valueSets?: readonly ValueSet[];
  readonly checksums: readonly Checksum[];
  readonly controls: readonly Control[];
  readonly ingress: Block;
  readonly egress: Block;
  readonly copies?: CopyRules;
  /** Headers, stacks and unions in the order in which the deparser emits them, if valid. */
  readonly deparser: readonly string[];
}

export interface NamedConstant {
  readonly name: string;
  readonly type: DataType;
  readonly value: bigint;
  readonly doc?: string;
  /** What it and the constants beside it of the same group are values of. */
  readonly group?: string;
  readonly at?: SourceLocation;
}

export interface HeaderType {
  readonly name: string;
  readonly fields: readonly HeaderField[];
  /** A field of variable length behind the others: `width` is the most that it can have. */
  readonly varbit?: VarbitField;
  readonly doc?: string;
  readonly at?: SourceLocation;
}

export interface VarbitField {
  readonly name: string;
  readonly width: number;
  readonly doc?: string;
}

export interface HeaderField {
  readonly name: string;
  readonly type: DataType;
  readonly doc?: string;
}

export interface HeaderInstance {
  readonly name: string;
  readonly headerType: string;
  /** This is a stack with so many headers of the type. */
  readonly elements?: number;
  readonly at?: SourceLocation;
}

/** Headers of which at most one is valid. Only v1model has unions. */
export interface HeaderUnion {
  readonly name: string;
  readonly members: readonly { readonly name: string; readonly headerType: string }[];
  readonly at?: SourceLocation;
}

export interface MetadataField {
  readonly name: string;
  readonly type: DataType;
  readonly doc?: string;
  readonly at?: SourceLocation;
}

/** The first state is `start`. `accept` and `reject` are built in. */
export interface ParserState {
  readonly name: string;
  /** What the state does, in order, before it goes on. */
  readonly steps: readonly ParserStep[];
  readonly transition: Transition;
  readonly at?: SourceLocation;
}

export type ParserStep = Extract | Advance | ParserAssign | Verify;

/** Reads a header and makes it valid. */
export interface Extract {
  readonly kind: "extract";
  /** Path of the header; `stack.next` for the next element of a stack. */
  readonly header: string;
  /** Bits of the header's varbit field. */
  readonly length?: Expression;
  readonly at?: SourceLocation;
}

/** Passes over bits of the packet: a whole number of bytes. */
export interface Advance {
  readonly kind: "advance";
  readonly bits: Expression;
  readonly at?: SourceLocation;
}

/** Keeps a value for later states and for ingress. */
export interface ParserAssign {
  readonly kind: "assign";
  readonly target: MetadataReference;
  readonly value: Expression;
  readonly at?: SourceLocation;
}

/** Ends the parser with an error unless the condition holds; ingress runs with `parser_failed`. */
export interface Verify {
  readonly kind: "verify";
  readonly condition: Expression;
  /** One of `parserErrors`, or a name of the program's own. */
  readonly error: string;
  readonly at?: SourceLocation;
}

/** The errors that P4 has (core.p4), in the order of their numbers. */
export const parserErrors = [
  "NoError",
  "PacketTooShort",
  "NoMatch",
  "StackOutOfBounds",
  "HeaderTooShort",
  "ParserTimeout",
  "ParserInvalidArgument",
] as const;

export type Transition =
  | { readonly kind: "goto"; readonly next: string }
  | {
      readonly kind: "select";
      readonly keys: readonly Expression[];
      readonly cases: readonly SelectCase[];
      /** Where a packet goes that no case takes; without it P4 rejects. */
      readonly otherwise: string;
    };

export interface SelectCase {
  /** One per key; none where a value set stands. */
  readonly values: readonly KeySet[];
  /** The case takes what the control plane has put into this set. */
  readonly valueSet?: string;
  readonly next: string;
  readonly at?: SourceLocation;
}

/** One position of a select case or of a constant table entry. */
export type KeySet =
  | { readonly kind: "value"; readonly value: bigint; readonly named?: ConstantName }
  | { readonly kind: "mask"; readonly value: bigint; readonly mask: bigint }
  | { readonly kind: "prefix"; readonly value: bigint; readonly length: number }
  | { readonly kind: "range"; readonly low: bigint; readonly high: bigint }
  | { readonly kind: "any" };

/** Values that parser states select on and the control plane sets: of each key one, all compared exactly. */
export interface ValueSet {
  readonly name: string;
  readonly fields: readonly { readonly name: string; readonly type: DataType }[];
  /** Most members. */
  readonly size: number;
  readonly doc?: string;
  readonly at?: SourceLocation;
}

/** Internet checksum (RFC 1071) over `fields`, verified after the parser and written before the deparser while `header` is valid. */
export interface Checksum {
  readonly header: string;
  readonly target: FieldReference;
  readonly fields: readonly Expression[];
  /** Fields of variable length behind the others: `header.field`. */
  readonly varbits?: readonly string[];
  /** What the parser has not read is summed up too. */
  readonly payload?: boolean;
  /** Only then, and while the header is valid. */
  readonly condition?: Expression;
  /** 0 says that there is no checksum (UDP, RFC 768): it is neither verified nor renewed, and a sum of 0 is written as 0xffff. */
  readonly zeroIsNone?: boolean;
  readonly verify: boolean;
  readonly update: boolean;
  readonly at?: SourceLocation;
}

/** One concern of the switch: becomes one P4 control in a file of its own. */
export interface Control {
  readonly name: string;
  readonly doc?: string;
  readonly gress: "ingress" | "egress";
  readonly actions: readonly Action[];
  readonly tables: readonly Table[];
  readonly registers: readonly Register[];
  readonly counters: readonly Counter[];
  readonly actionProfiles: readonly ActionProfile[];
  readonly meters: readonly Meter[];
  readonly digests: readonly Digest[];
  readonly apply: Block;
  readonly annotations?: readonly Annotation[];
  /** Only this target has the control; programs for others are made without it (`forTarget`). */
  readonly only?: TargetName;
  readonly at?: SourceLocation;
}

/**
 * What a traffic manager is asked to do with one queue of each port, where its control plane sets that: Tofino gets it as entries
 * of BFRuntime tables, BMv2 orders its queues by their numbers.
 */
export interface Queue {
  readonly number: number;
  /** Strict priority, 0 the weakest. */
  readonly priority?: number;
  /** How many packets may wait in front of a red one before it is dropped. */
  readonly keepRed?: number;
}

export interface Action extends Annotated {
  /** `control.action`; the built-in action without effect is `NoAction`. */
  readonly name: string;
  readonly parameters: readonly ActionParameter[];
  readonly body: readonly StraightStatement[];
  readonly doc?: string;
  readonly at?: SourceLocation;
}

export interface ActionParameter {
  readonly name: string;
  readonly type: DataType;
  readonly doc?: string;
  readonly annotations?: readonly Annotation[];
}

export type MatchKind = "exact" | "lpm" | "ternary" | "range" | "optional";

export interface Table extends Annotated {
  readonly name: string;
  readonly doc?: string;
  readonly key: readonly TableKey[];
  readonly actions: readonly string[];
  readonly size: number;
  readonly defaultAction: ActionCall & { readonly constant: boolean };
  /** In winning order; the control plane cannot change them, unless they are initial. */
  readonly constEntries: readonly ConstEntry[];
  /** The entries are what the control plane finds at first: it may change and remove them, and add others up to the size. */
  readonly entriesAreInitial?: true;
  /** What the control plane is to write on every switch. */
  readonly contents?: TableContents;
  /** Counts packets and bytes per entry. */
  readonly directCounter?: string;
  /** Its actions are this table's alone. */
  readonly directMeter?: DirectMeter;
  /** The action profile of the same control that holds the actions of the entries. */
  readonly implementation?: string;
  readonly at?: SourceLocation;
}

export interface TableKey {
  /** Control-plane name of the match field. */
  readonly name: string;
  readonly expression: Expression;
  readonly match: MatchKind;
  readonly doc?: string;
  readonly annotations?: readonly Annotation[];
}

export interface ActionCall {
  readonly action: string;
  readonly arguments: readonly bigint[];
  /** Which arguments were given by the name of a constant; none when left out. */
  readonly named?: readonly (ConstantName | undefined)[];
}

export interface ConstEntry extends ActionCall {
  readonly keys: readonly KeySet[];
  readonly at?: SourceLocation;
}

export interface Register extends Annotated {
  readonly name: string;
  readonly type: DataType;
  readonly size: number;
  readonly doc?: string;
  readonly at?: SourceLocation;
}

export interface Counter extends Annotated {
  readonly name: string;
  readonly size: number;
  readonly unit: "packets" | "bytes" | "both";
  /** What each cell counts, when cells have names. */
  readonly cells?: readonly string[];
  /** There are as many cells for each value of something: cell `value * cells + i`. */
  readonly per?: { readonly name: string; readonly cells: number };
  readonly doc?: string;
  readonly at?: SourceLocation;
}

/** The built-in action without effect. */
export const NO_ACTION = "NoAction";
