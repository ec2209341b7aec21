import type { WireHeader } from "../../wire/header.ts";

/** Names of a field's values, as the wire declarations give them: `{ CONTRIBUTION: 1, NULL: 2 }`. */
export type ValueNames = Readonly<Record<string, number>>;

/** One packet format over UDP: its header's declaration, and what a reader of packets wants to see beside the numbers. */
export interface DissectedProtocol {
  /** Declares the fields; its name is the protocol's name in display filters. */
  readonly header: WireHeader;
  readonly udpPort: number;
  /** Names of the values of fields. */
  readonly names?: Readonly<Record<string, ValueNames>>;
  /** Fields whose bits have names. */
  readonly flags?: Readonly<Record<string, ValueNames>>;
  /** Flags that are worth a line of expert information, by name. */
  readonly expert?: Readonly<Record<string, Expert>>;
  /** A field that must have a value; packets with another are not dissected further. */
  readonly version?: { readonly field: string; readonly value: number };
  /** Fields that the packet list shows after the kind. */
  readonly summary?: readonly string[];
  /** A field whose number means something else for each value of another field; shown behind it. */
  readonly meaning?: Meaning;
  readonly body?: Body;
}

export interface Meaning {
  readonly field: string;
  readonly by: string;
  readonly of: ReadonlyMap<number, { readonly text: string; readonly isSigned?: boolean }>;
}

export interface Expert {
  readonly severity: "note" | "warn";
  readonly text: string;
}

/** What follows the header. */
export interface Body {
  /** The field that decides. */
  readonly by: string;
  /** Parts in their order, by the value of that field. Values that are absent have no body. */
  readonly parts: ReadonlyMap<number, readonly BodyPart[]>;
  /** Fields that number the pieces of a message; only messages of one piece are taken apart. */
  readonly pieces?: { readonly number: string; readonly count: string };
}

/** How a value is read and shown; `half` and `brain` are the float codes binary16 and bfloat16. */
export type PartType = "uint8" | "uint24" | "uint32" | "int32" | "float32" | "half" | "brain";

export interface BodyPart {
  readonly name: string;
  readonly type: PartType;
  /**
   * How many: a number, the value of a header field, all that is left, or half of it (the other half belongs to the next part).
   * A packet may not be longer or shorter than its parts.
   */
  readonly count: number | { readonly field: string } | "rest" | "half";
  /** The part is there only while a header field has a value. */
  readonly when?: { readonly field: string; readonly value: number };
  /** Other readings of the same values, shown instead while a header field has a value. */
  readonly instead?: readonly {
    readonly field: string;
    readonly value: number;
    readonly name: string;
    readonly type: PartType;
  }[];
}
