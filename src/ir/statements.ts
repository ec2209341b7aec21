import type {
  Expression,
  FieldReference,
  IntrinsicReference,
  MetadataReference,
  Slice,
} from "./expressions.ts";
import type { HashAlgorithm } from "./externs.ts";
import type { SourceLocation } from "./source.ts";

/** What an assignment may write: a field, a metadata field, an intrinsic, or a constant slice of a field. */
export type Target =
  | FieldReference
  | MetadataReference
  | IntrinsicReference
  | (Slice & { readonly operand: FieldReference | MetadataReference });

/**
 * Statements of controls and actions. Actions hold the straight-line ones only; `if`, `apply` and `invoke` stand in
 * controls, so that one program serves both targets.
 */
export type Statement = StraightStatement | If | ApplyTable | ApplyControl | CallAction | Exit;

export type StraightStatement =
  | Assign
  | SetValidity
  | ShiftStack
  | RegisterUpdate
  | Count
  | Drop
  | Clone
  | Hash
  | Random
  | ExecuteMeter
  | SendDigest
  | SendAgain;

export type Block = readonly Statement[];

interface Node {
  readonly at?: SourceLocation;
}

export interface Assign extends Node {
  readonly kind: "assign";
  readonly target: Target;
  readonly value: Expression;
}

export interface SetValidity extends Node {
  readonly kind: "setValidity";
  readonly header: string;
  readonly valid: boolean;
}

/**
 * Makes room for `count` headers in front of a stack, which are not valid yet, or takes `count` headers off. What is pushed beyond the
 * end of the stack is lost.
 */
export interface ShiftStack extends Node {
  readonly kind: "pushFront" | "popFront";
  readonly stack: string;
  readonly count: number;
}

/**
 * One atomic read-modify-write of one register cell. `next` is computed from the packet and `memory old`; `output`
 * from the packet, `memory old` and `memory next`; then `into = output`. TNA makes a RegisterAction of it, v1model a read
 * and a write within one action (BMv2 locks the register for the action).
 */
export interface RegisterUpdate extends Node {
  readonly kind: "registerUpdate";
  /** Name within the program: `control.register`. */
  readonly register: string;
  readonly index: Expression;
  readonly next: Expression;
  readonly output?: Expression;
  readonly into?: Target;
}

/** Counts the packet in a cell of an indirect counter. */
export interface Count extends Node {
  readonly kind: "count";
  readonly counter: string;
  readonly index: Expression;
}

/** Marks the packet for dropping. In ingress a later write of egress_port undoes it. */
export interface Drop extends Node {
  readonly kind: "drop";
}

/** Copies the packet as it entered ingress to the clone session's port, after ingress ends. The last call wins. */
export interface Clone extends Node {
  readonly kind: "clone";
  readonly session: Expression;
}

/**
 * `into = base + hash(fields) mod buckets`. Without `buckets` it is the hash's low bits, as many as it has and the target can hold.
 */
export interface Hash extends Node {
  readonly kind: "hash";
  readonly algorithm: HashAlgorithm;
  readonly fields: readonly Expression[];
  readonly base: bigint;
  readonly buckets?: bigint;
  readonly into: Target;
}

/** A random number from low to high, both included, each as likely as any other. With low above high the target stays as it was. */
export interface Random extends Node {
  readonly kind: "random";
  readonly low: Expression;
  readonly high: Expression;
  readonly into: Target;
}

/** Meters the packet in a cell of a meter and writes its colour. */
export interface ExecuteMeter extends Node {
  readonly kind: "meter";
  readonly meter: string;
  readonly index: Expression;
  readonly into: Target;
}

/** Tells the control plane of the packet, with values as they are here; ingress only. The last one wins. */
export interface SendDigest extends Node {
  readonly kind: "digest";
  readonly digest: string;
  readonly values: readonly Expression[];
}

/**
 * Sends the packet through ingress once more, from the parser on. `resubmit`: as it came, when ingress ends, whatever else has been said.
 * `recirculate`: as it leaves egress, instead of being sent; a drop that comes later drops it. These metadata keep their values, all
 * others are 0 again.
 */
export interface SendAgain extends Node {
  readonly kind: "resubmit" | "recirculate";
  readonly keep: readonly MetadataReference[];
}

export interface If extends Node {
  readonly kind: "if";
  readonly condition: Expression;
  readonly whenTrue: Block;
  readonly whenFalse: Block;
}

export interface ApplyTable extends Node {
  readonly kind: "applyTable";
  readonly table: string;
  readonly hit: Block;
  readonly miss: Block;
}

export interface ApplyControl extends Node {
  readonly kind: "applyControl";
  readonly control: string;
}

export interface CallAction extends Node {
  readonly kind: "callAction";
  readonly action: string;
  readonly arguments: readonly Expression[];
}

export interface Exit extends Node {
  readonly kind: "exit";
}
