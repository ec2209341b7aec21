import type {
  ActionCall,
  ActionProfile,
  Annotated,
  Annotation,
  Constant,
  Counter,
  DataType,
  Digest,
  DirectMeter,
  Expression,
  HashAlgorithm,
  MetadataField,
  MetadataReference,
  Meter,
  Program,
  Register,
  SetValidity,
  ShiftStack,
  Table,
  Target,
  VarbitField,
} from "../../ir/index.ts";

import type { LoweredChecksums } from "./checksums.ts";
import type { FieldList } from "./passes.ts";

/**
 * The program as v1model has it, between the IR and its two written forms (P4_16 text and BMv2 JSON), so that both say the same:
 * register updates are reads and writes on local variables, values from the control plane are unsigned, and every object has
 * its identifier within its control.
 */
export interface LoweredProgram {
  readonly source: Program;
  readonly headerTypes: readonly LoweredHeaderType[];
  readonly headers: readonly LoweredHeader[];
  readonly unions: readonly LoweredUnion[];
  /** The program's, and what the backend needs beside it. */
  readonly metadata: readonly MetadataField[];
  readonly checksums: LoweredChecksums;
  /** What packets keep that go through ingress once more. */
  readonly fieldLists: readonly FieldList[];
  /** P4 structs, by value set. */
  readonly valueSetTypes: ReadonlyMap<string, string>;
  readonly controls: readonly LoweredControl[];
  readonly ingress: LoweredPipeline;
  readonly egress: LoweredPipeline;
  /** Name of the parser state that stands for `reject`, if one is needed. */
  readonly rejectState?: string;
}

/** A header instance, or a stack of them. */
export interface LoweredHeader {
  readonly name: string;
  readonly type: LoweredHeaderType;
  readonly elements?: number;
}

export interface LoweredUnion {
  readonly name: string;
  /** P4 type. */
  readonly type: string;
  readonly members: readonly { readonly name: string; readonly type: LoweredHeaderType }[];
}

export interface LoweredHeaderType {
  readonly name: string;
  readonly doc?: string;
  readonly fields: readonly { readonly name: string; readonly type: DataType; readonly doc?: string }[];
  readonly varbit?: VarbitField;
  readonly controllerHeader?: "packet_in" | "packet_out";
}

export type Gress = "ingress" | "egress";

export interface LoweredPipeline {
  readonly gress: Gress;
  readonly instances: readonly Instance[];
  readonly block: LoweredBlock;
}

/** An instance of a control inside another. */
export interface Instance {
  readonly control: string;
  readonly type: string;
  readonly name: string;
}

export interface LoweredControl {
  readonly name: string;
  readonly type: string;
  readonly doc?: string;
  readonly annotations?: readonly Annotation[];
  readonly gress: Gress;
  readonly instances: readonly Instance[];
  readonly registers: readonly (Register & { readonly local: string; readonly storage: DataType })[];
  readonly counters: readonly (Counter & { readonly local: string })[];
  readonly directCounters: readonly {
    readonly name: string;
    readonly local: string;
    readonly table: string;
  }[];
  readonly meters: readonly (Meter & { readonly local: string })[];
  readonly directMeters: readonly (DirectMeter & {
    readonly local: string;
    readonly table: string;
    readonly size: number;
  })[];
  readonly digests: readonly LoweredDigest[];
  readonly actionProfiles: readonly (ActionProfile & { readonly local: string })[];
  readonly actions: readonly LoweredAction[];
  readonly tables: readonly LoweredTable[];
  readonly block: LoweredBlock;
}

export interface LoweredAction extends Annotated {
  /** Control-plane name. */
  readonly name: string;
  readonly local: string;
  readonly doc?: string;
  readonly parameters: readonly Local[];
  readonly steps: readonly Step[];
}

export interface LoweredTable extends Omit<Table, "actions"> {
  readonly local: string;
  readonly actions: readonly ActionReference[];
  readonly directCounterLocal?: string;
  readonly directMeterLocal?: string;
  readonly profile?: LoweredControl["actionProfiles"][number];
}

export interface ActionReference {
  readonly name: string;
  readonly local: string;
  /** The action is only the default one; entries cannot name it. */
  readonly defaultOnly: boolean;
}

/** A digest, and the struct type of its values. */
export interface LoweredDigest extends Digest {
  readonly type: string;
}

/** A parameter or local variable. */
export interface Local {
  readonly name: string;
  readonly type: DataType;
  readonly doc?: string;
  readonly annotations?: readonly Annotation[];
}

/** What an action does, and what stands in a control as straight-line code. Locals are referred to by parameter nodes. */
export type Step =
  | { readonly kind: "assign"; readonly target: Target | LocalTarget; readonly value: Expression }
  | SetValidity
  | ShiftStack
  | {
      readonly kind: "count";
      readonly counter: string;
      readonly counterLocal: string;
      readonly index: Expression;
    }
  | { readonly kind: "drop" }
  | { readonly kind: "clone"; readonly session: Expression }
  | { readonly kind: "resubmit" | "recirculate"; readonly list: number }
  | {
      readonly kind: "read";
      readonly register: string;
      readonly registerLocal: string;
      readonly into: Local;
      readonly index: Expression;
    }
  | {
      readonly kind: "write";
      readonly register: string;
      readonly registerLocal: string;
      readonly index: Expression;
      readonly value: Expression;
    }
  /** `into = base + hash mod max` */
  | {
      readonly kind: "hash";
      readonly algorithm: HashAlgorithm;
      readonly fields: readonly Expression[];
      readonly base: Constant;
      readonly max: Constant;
      readonly into: StoredTarget;
    }
  | {
      readonly kind: "random";
      readonly low: Expression;
      readonly high: Expression;
      readonly into: StoredTarget;
    }
  | {
      readonly kind: "meter";
      readonly meter: string;
      readonly meterLocal: string;
      readonly index: Expression;
      readonly into: StoredTarget;
    }
  /** In an action of a table with a meter: BMv2 meters before it, but P4 wants it said. */
  | { readonly kind: "readMeter"; readonly meterLocal: string; readonly into: MetadataReference }
  | { readonly kind: "digest"; readonly digest: LoweredDigest; readonly values: readonly Expression[] }
  | { readonly kind: "declare"; readonly local: Local; readonly value?: Expression }
  /** Register updates, each read, computed and written before another packet can come in between. */
  | { readonly kind: "atomic"; readonly updates: readonly (readonly Step[])[] };

/** What an extern can write itself: a whole field or variable. */
export type StoredTarget = Exclude<Target, { readonly kind: "slice" }> | LocalTarget;

export interface LocalTarget {
  readonly kind: "local";
  readonly name: string;
  readonly type: DataType;
}

export type LoweredBlock = readonly LoweredStatement[];

export type LoweredStatement =
  | { readonly kind: "steps"; readonly steps: readonly Step[] }
  | {
      readonly kind: "if";
      readonly condition: Expression;
      readonly whenTrue: LoweredBlock;
      readonly whenFalse: LoweredBlock;
    }
  | {
      readonly kind: "applyTable";
      readonly table: string;
      readonly local: string;
      readonly hit: LoweredBlock;
      readonly miss: LoweredBlock;
    }
  | { readonly kind: "applyControl"; readonly control: string; readonly instance: string }
  | {
      readonly kind: "callAction";
      readonly action: string;
      readonly local: string;
      readonly arguments: readonly Expression[];
    }
  | { readonly kind: "exit" };

export type { ActionCall };
