import type {
  Annotated,
  Annotation,
  DataType,
  Diagnostic,
  Expression,
  FieldReference,
  KeySet,
  MetadataReference,
  MeterUnit,
  ParserStep,
  Program,
  SetValidity,
  Table,
  Target,
} from "../../ir/index.ts";

/**
 * The program as Tofino has it, between the IR and the P4_16 text: actions of one stage each, register updates as programs of
 * stateful ALUs, headers that cross from ingress to egress, and an egress parser of its own.
 */
export interface TnaProgram {
  readonly source: Program;
  /** What Tofino cannot do; when there is any, the rest is not to be used. */
  readonly findings: readonly Diagnostic[];
  readonly headerTypes: readonly HeaderTypeText[];
  readonly headers: readonly { readonly name: string; readonly type: string; readonly elements?: number }[];
  readonly metadata: readonly Member[];
  readonly bridge?: Bridge;
  readonly clone?: CloneNames;
  readonly digests: readonly TnaDigest[];
  readonly resubmission?: Resubmission;
  /** P4 structs, by value set. */
  readonly valueSetTypes: ReadonlyMap<string, string>;
  /** Some packets go to the port that leads back to ingress. */
  readonly recirculates: boolean;
  readonly ingressParser: TnaParser;
  readonly egressParser: TnaParser;
  readonly controls: readonly TnaControl[];
  readonly ingress: TnaPipeline;
  readonly egress: TnaPipeline;
  readonly ingressChecksums: readonly ChecksumText[];
  readonly egressChecksums: readonly ChecksumText[];
  /** Headers in the order in which each deparser emits them; those that the gress can have. */
  readonly ingressDeparser: readonly string[];
  readonly egressDeparser: readonly string[];
}

export type Gress = "ingress" | "egress";

export interface Member {
  readonly name: string;
  readonly type: DataType;
  readonly doc?: string;
  readonly annotations?: readonly Annotation[];
  /** P4 type, where it has a name of its own. */
  readonly typeName?: string;
  readonly isPadding?: boolean;
}

export interface HeaderTypeText {
  readonly name: string;
  readonly doc?: string;
  readonly fields: readonly Member[];
}

/** The header in front of a packet on its way from ingress to egress. */
export interface Bridge {
  /** Header instance. */
  readonly header: string;
  readonly type: string;
  readonly bytes: number;
  /** Tells clones from packets that ingress sends. */
  readonly origin: boolean;
  readonly ingressPort: boolean;
  /** Metadata that egress reads, which have their place here. */
  readonly metadata: readonly Member[];
}

export interface CloneNames {
  /** Metadata: mirror session, and the origin that the clone's bridge header gets. */
  readonly session: string;
  readonly origin: string;
  /** Bytes of the mirrored packet that egress needs, bridge header included, when a header has to be cut off behind them. */
  readonly cut?: { readonly bytes: number; readonly header: string };
}

/** The header that resubmitted packets have in front on their second way through the parser. */
export interface Resubmission {
  readonly header: string;
  readonly type: string;
  readonly kept: readonly {
    readonly name: string;
    readonly type: DataType;
    /** Where the value comes from and goes to. */
    readonly source: MetadataReference | FieldReference;
  }[];
  /** Bits behind the fields. */
  readonly padding: number;
}

/** What the deparser of ingress sends to the control plane when it is asked for by number. */
export interface TnaDigest {
  readonly name: string;
  /** Struct of its values. */
  readonly type: string;
  readonly local: string;
  readonly constant: string;
  readonly number: number;
  readonly fields: readonly Member[];
  /** Metadata with the values. */
  readonly values: readonly string[];
  readonly doc?: string;
  readonly annotations?: readonly Annotation[];
}

export interface TnaParser {
  readonly checksums: readonly string[];
  readonly states: readonly TnaState[];
}

export interface TnaState {
  readonly name: string;
  /** What comes in front of the steps of the program. */
  readonly first: readonly Opening[];
  readonly steps: readonly ParserStep[];
  /** What is taken out of a checksum, behind the steps. */
  readonly taken?: readonly TakenOut[];
  /** Headers whose checksum is verified last, and the metadata that say that it was wrong. */
  readonly verified: readonly { readonly header: string; readonly flag: string }[];
  readonly transition:
    | { readonly kind: "goto"; readonly next: string }
    | {
        readonly kind: "select";
        readonly keys: readonly Expression[];
        readonly cases: readonly {
          readonly values: readonly KeySet[];
          readonly valueSet?: string;
          readonly next: string;
        }[];
        readonly otherwise: string;
      };
}

/** What Tofino's parsers do beside what the program asks for. */
export type Opening =
  /** Takes the intrinsic metadata that stand in front of every packet. */
  | { readonly kind: "intrinsicMetadata" }
  /** Passes over the data of the port. */
  | { readonly kind: "portData" }
  /** All metadata start as zero. */
  | { readonly kind: "clearMetadata" }
  | { readonly kind: "startHeader"; readonly header: string }
  | { readonly kind: "extract"; readonly header: string }
  | {
      readonly kind: "set";
      readonly target: MetadataReference | FieldReference;
      readonly value: Expression;
    };

export interface TakenOut {
  readonly instance: string;
  readonly fields: readonly Expression[];
  /** Metadata for what is left; given where the sum ends. */
  readonly rest?: string;
}

export interface ChecksumText {
  readonly instance: string;
  readonly target: FieldReference;
  readonly fields: readonly Expression[];
  /** Metadata: the checksum is renewed only where this is 1, and 0 is written as 0xffff. */
  readonly isGiven?: string;
}

export interface Instance {
  readonly control: string;
  readonly type: string;
  readonly name: string;
}

export interface TnaPipeline {
  readonly gress: Gress;
  readonly instances: readonly Instance[];
  readonly actions: readonly TnaAction[];
  readonly block: TnaBlock;
}

export interface TnaControl extends TnaPipeline {
  readonly annotations?: readonly Annotation[];
  readonly name: string;
  readonly type: string;
  readonly doc?: string;
  readonly registers: readonly TnaRegister[];
  readonly counters: readonly TnaCounter[];
  readonly meters: readonly (TnaMeter & {
    readonly cells: { readonly size: number; readonly indexType: DataType };
  })[];
  readonly directMeters: readonly TnaMeter[];
  readonly actionProfiles: readonly TnaActionProfile[];
  readonly directCounters: readonly { readonly name: string; readonly local: string }[];
  readonly tables: readonly TnaTable[];
}

export interface TnaRegister extends Annotated {
  readonly name: string;
  readonly local: string;
  readonly type: DataType;
  readonly indexType: DataType;
  readonly size: number;
  readonly doc?: string;
}

export interface TnaCounter extends Annotated {
  readonly name: string;
  readonly local: string;
  readonly indexType: DataType;
  readonly size: number;
  readonly unit: "packets" | "bytes" | "both";
  readonly doc: string;
}

export interface TnaMeter extends Annotated {
  readonly name: string;
  readonly local: string;
  readonly unit: MeterUnit;
  readonly doc?: string;
}

export interface TnaActionProfile extends Annotated {
  readonly name: string;
  readonly local: string;
  readonly size: number;
  readonly doc?: string;
  /** Tofino keeps groups apart from members. */
  readonly selector?: {
    readonly name: string;
    readonly local: string;
    readonly algorithm: string;
    readonly hashLocal: string;
    readonly groupSize: number;
    readonly groups: number;
    readonly keys: readonly Expression[];
  };
}

export interface TnaTable extends Omit<Table, "actions"> {
  readonly local: string;
  readonly actions: readonly {
    readonly name: string;
    readonly local: string;
    readonly defaultOnly: boolean;
  }[];
  readonly directCounterLocal?: string;
  readonly directMeterLocal?: string;
}

/** An action that one stage can do; `updates` and `units` are what it runs, declared in front of it. */
export interface TnaAction extends Annotated {
  readonly name: string;
  readonly local: string;
  readonly doc?: string;
  readonly parameters: readonly Member[];
  readonly updates: readonly StatefulProgram[];
  readonly units: readonly Unit[];
  readonly steps: readonly Step[];
}

/** A hash function, or a source of random numbers, of so many bits. */
export type Unit =
  | { readonly kind: "hash"; readonly local: string; readonly bits: number; readonly algorithm: string }
  | { readonly kind: "random"; readonly local: string; readonly bits: number };

/** One program of a stateful ALU: what it does with a cell, and what it hands out. */
export interface StatefulProgram {
  readonly local: string;
  readonly register: string;
  readonly type: DataType;
  readonly indexType: DataType;
  readonly outputType?: DataType;
  readonly body: readonly CellStatement[];
  readonly why?: string;
}

export type CellStatement =
  | { readonly kind: "set"; readonly target: "value" | "result"; readonly value: Expression }
  | {
      readonly kind: "if";
      readonly condition: Expression;
      readonly whenTrue: readonly CellStatement[];
      readonly whenFalse: readonly CellStatement[];
    };

export interface LocalTarget {
  readonly kind: "local";
  readonly name: string;
  readonly type: DataType;
}

export type Step =
  | {
      readonly kind: "assign";
      readonly target: Target | LocalTarget;
      readonly value: Expression;
      /** The hash unit moves the bits. */
      readonly inHash?: boolean;
    }
  | { readonly kind: "declare"; readonly local: LocalTarget; readonly value: Expression }
  /** A value for the traffic manager or the deparser, by its name in the architecture. */
  | {
      readonly kind: "architecture";
      readonly field: string;
      readonly value: Expression;
      readonly cast?: { readonly type: DataType; readonly typeName: string };
      readonly inHash?: boolean;
    }
  | { readonly kind: "invalidate"; readonly field: string }
  | SetValidity
  | { readonly kind: "count"; readonly counterLocal: string; readonly index: Expression }
  | { readonly kind: "directCount"; readonly counterLocal: string }
  | {
      readonly kind: "hash";
      readonly local: string;
      readonly bits: number;
      readonly fields: readonly Expression[];
      readonly into: Target;
    }
  | { readonly kind: "random"; readonly local: string; readonly bits: number; readonly into: Target }
  /** Without an index: the meter of the table's entry. */
  | {
      readonly kind: "meter";
      readonly meterLocal: string;
      readonly index?: Expression;
      readonly into: Target;
    }
  | {
      readonly kind: "execute";
      readonly program: string;
      readonly index: Expression;
      readonly into?: Target | LocalTarget;
    };

export type TnaBlock = readonly TnaStatement[];

export type TnaStatement =
  | { readonly kind: "steps"; readonly steps: readonly Step[] }
  | {
      readonly kind: "if";
      readonly condition: Expression;
      readonly whenTrue: TnaBlock;
      readonly whenFalse: TnaBlock;
    }
  | { readonly kind: "applyTable"; readonly local: string; readonly hit: TnaBlock; readonly miss: TnaBlock }
  | { readonly kind: "applyControl"; readonly instance: string }
  | { readonly kind: "callAction"; readonly local: string; readonly arguments: readonly Expression[] }
  | { readonly kind: "exit" };
