import { type BitType, bit } from "../ir/index.ts";
import { ProgramError } from "./programerror.ts";
import { at, type Bool, type Variable } from "./value.ts";

export type Gress = "ingress" | "egress";

/** What the reason of a packet is that is not dropped: it goes to one port, or it is replicated. */
export const PASSED = "passed";
export const REPLICATED = "replicated";

const CODES = 256;

/** Names of reasons by their codes, 0 first: `control.reason`. A packet has the code of its reason in the variable, when ingress or egress ends. */
export interface DropReasonsOf {
  readonly variable: Variable<BitType<8>>;
  readonly names: readonly string[];
}

/** A second field, whose reasons count in the place of the first one's where the condition holds when ingress ends. */
export interface OwnReasons {
  readonly when: Bool;
  readonly variable: Variable<BitType<8>>;
}

type MakeMetadata = (name: string, type: BitType<8>, doc: string) => Variable<BitType<8>>;

/**
 * Why packets are dropped, where a feature asks (`countsDrops`): each `drop` also writes its reason into a metadata field, and what sends
 * the packet after all takes it back.
 */
export class DropReasons {
  readonly #metadata: MakeMetadata;
  readonly #reasons: Record<Gress, { variable: Variable<BitType<8>> | undefined; readonly names: string[] }> =
    {
      ingress: { variable: undefined, names: [PASSED, REPLICATED] },
      egress: { variable: undefined, names: [PASSED] },
    };

  readonly #own: OwnReasons[] = [];

  constructor(metadata: MakeMetadata) {
    this.#metadata = metadata;
  }

  of(gress: Gress): DropReasonsOf {
    const reasons = this.#reasons[gress];
    // Two fields, so that nothing of it has to travel from ingress to egress.
    reasons.variable ??=
      gress === "ingress"
        ? this.#metadata("drop_reason", bit(8), "why ingress drops the packet; 0: it does not")
        : this.#metadata("egress_drop_reason", bit(8), "why egress drops the packet; 0: it does not");
    return { variable: reasons.variable, names: reasons.names };
  }

  /**
   * Reasons of packets that a feature takes from the others in ingress, in a field of its own: so what it does need not wait, in a
   * pipeline, for what the others have done. Its controls are declared with `ownReasons`, and write the codes themselves.
   */
  own(name: string, when: Bool): Variable<BitType<8>> {
    const variable = this.#metadata(
      name,
      bit(8),
      "why ingress drops a packet of the feature; 0: it does not",
    );
    this.#own.push({ when, variable });
    return variable;
  }

  get ownReasons(): readonly OwnReasons[] {
    return this.#own;
  }

  /** The code of a reason; the same for all that have its name. */
  code(gress: Gress, name: string): number {
    const { names } = this.#reasons[gress];
    const known = names.indexOf(name);
    if (known >= 0) return known;
    if (names.length === CODES)
      throw new ProgramError(
        at({ code: "GP1702", message: `more than ${CODES} reasons for drops in ${gress}` }),
      );
    return names.push(name) - 1;
  }
}
