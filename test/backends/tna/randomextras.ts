import type {
  Block,
  Control,
  Expression,
  FieldReference,
  MetadataReference,
  Program,
  Statement,
  StraightStatement,
  Table,
  Target,
} from "../../../src/ir/index.ts";
import { bit, colourType, NO_ACTION } from "../../../src/ir/index.ts";
import type { Dice } from "../dice.ts";
import { binary, constant, field, hash, intrinsic, meta, random, unary, when } from "../nodes.ts";

type Place = FieldReference | MetadataReference;

/** What a control draws its statements from. */
export interface Source {
  readonly name: string;
  readonly dice: Dice;
  /** A place that may be read, of this width. */
  readonly place: (width?: number) => Place;
  /** A place that may be written, of this width. */
  readonly writable: (width: number) => Target;
}

const NOTHING = { action: NO_ACTION, arguments: [], constant: true } as const;

/** Metadata that the extras write. */
export const EXTRA_METADATA = [
  { name: "colour", type: colourType },
  { name: "entry_colour", type: colourType },
];

/**
 * What programs have beyond tables and registers: hashes, random numbers, meters, digests, action profiles and selectors. Objects
 * are declared when something uses them.
 */
export class Extras {
  readonly #source: Source;
  readonly #meters = new Set<string>();
  readonly #digests = new Map<string, readonly Expression[]>();
  readonly #profiles: Control["actionProfiles"][number][] = [];

  constructor(source: Source) {
    this.#source = source;
  }

  statement(gress: "ingress" | "egress"): StraightStatement {
    const { dice, place, writable } = this.#source;
    switch (dice.below(gress === "ingress" ? 4 : 3)) {
      case 0: {
        const width = dice.pick(16, 32);
        const fields = [place(8), place(16), place()].slice(0, 1 + dice.below(3));
        return hash(
          writable(width),
          width === 16 ? "crc16" : "crc32",
          fields,
          dice.pick({}, { buckets: 64n }),
        );
      }
      case 1: {
        const width = dice.pick(8, 16);
        const low = dice.pick(0, 0, 16);
        return random(writable(width), constant(low, bit(width)), constant(low + 15, bit(width)));
      }
      case 2:
        return this.#meter();
      default:
        return this.#digest();
    }
  }

  #meter(): StraightStatement {
    const { name, place } = this.#source;
    const meter = `${name}.rates_${this.#meters.size}`;
    this.#meters.add(meter);
    return { kind: "meter", meter, index: place(8), into: meta("colour", colourType) };
  }

  #digest(): StraightStatement {
    const { name, dice, place } = this.#source;
    const values = [place(8), place(16), place(32)].slice(0, 1 + dice.below(3));
    const digest = `${name}.news_${this.#digests.size}`;
    this.#digests.set(digest, values);
    return { kind: "digest", digest, values };
  }

  /** The table with its actions in a profile, now and then with groups; or with a meter of its own. */
  table(t: Table): Table {
    const { dice, name } = this.#source;
    if (t.constEntries.length > 0 || t.key.some((k) => k.match === "range")) return t;
    switch (dice.below(5)) {
      case 0: {
        const profile = `${name}.profile_${this.#profiles.length}`;
        const keys = [field("eth", "dst", bit(48)), field("eth", "src", bit(48))];
        const selector = { algorithm: "crc16", keys, maxGroupSize: dice.pick(8, 60) } as const;
        this.#profiles.push({ name: profile, size: 64, ...(dice.below(2) === 0 ? {} : { selector }) });
        return { ...t, implementation: profile, defaultAction: { ...NOTHING, constant: false } };
      }
      case 1:
        if (t.directCounter !== undefined) return t;
        return {
          ...t,
          actions: t.actions.filter((a) => a !== NO_ACTION),
          defaultAction: NOTHING,
          directMeter: { name: `${t.name}_meter`, unit: "bytes", into: meta("entry_colour", colourType) },
        };
      default:
        return t;
    }
  }

  objects(): Pick<Control, "meters" | "digests" | "actionProfiles"> {
    return {
      meters: [...this.#meters].map((meter) => ({ name: meter, size: 256, unit: "packets" })),
      digests: [...this.#digests].map(([digest, values]) => ({
        name: digest,
        fields: values.map((v, i) => ({ name: `value_${i}`, type: v.type })),
      })),
      actionProfiles: this.#profiles,
    };
  }
}

/** Packets whose source address says so go through ingress again. */
export function passesAgain(dice: Dice): Block {
  const [m8, m16] = [meta("m8", bit(8)), meta("m16", bit(16))];
  const chosen = (value: number): Expression =>
    binary(field("eth", "src", bit(48)), "==", constant(value, bit(48)));
  const resubmit: Statement = when(binary(chosen(1), "&&", unary("!", intrinsic("is_resubmitted"))), [
    { kind: "assign", target: m8, value: constant(dice.below(256), bit(8)) },
    { kind: "assign", target: m16, value: field("eth", "type", bit(16)) },
    { kind: "resubmit", keep: dice.pick([m8], [m8, m16]) },
    { kind: "exit" },
  ]);
  const recirculate: Statement = when(binary(chosen(2), "&&", unary("!", intrinsic("is_recirculated"))), [
    { kind: "recirculate", keep: [] },
    { kind: "exit" },
  ]);
  const fails: Statement = when(intrinsic("parser_failed"), [{ kind: "drop" }, { kind: "exit" }]);
  return [fails, resubmit, recirculate].filter(() => dice.below(2) === 0);
}

/** The parser with a set of values that the control plane fills, beside those that it knows. */
export function withValueSet(p: Program): Program {
  const parser = p.parser.map((state): Program["parser"][number] => {
    const t = state.transition;
    if (state.name !== "parse_a" || t.kind !== "select") return state;
    const [first, ...rest] = t.cases;
    if (first === undefined) return state;
    const ofSet = { values: [], valueSet: "kinds", next: first.next };
    return { ...state, transition: { ...t, cases: [first, ofSet, ...rest] } };
  });
  const kinds = { name: "kinds", fields: [{ name: "f8", type: bit(8) }], size: 8 };
  return { ...p, parser, valueSets: [kinds] };
}
