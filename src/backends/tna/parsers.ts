import type { Expression, ParserState, ParserStep, Program } from "../../ir/index.ts";
import { bit, extractedBy, instanceOf, widthOf } from "../../ir/index.ts";
import { Names } from "../p4text/names.ts";
import type { IncrementalChecksum } from "./checksums.ts";
import { bytesBefore, checkReparse, type EgressNeeds, longestPath, prunedStates } from "./egress.ts";
import { ORIGIN_CLONE, ORIGIN_INGRESS } from "./intrinsics.ts";
import type {
  Bridge,
  CloneNames,
  Member,
  Opening,
  Resubmission,
  TakenOut,
  TnaParser,
  TnaState,
} from "./lowered.ts";
import { checkReread } from "./parsersteps.ts";
import type { Refuse } from "./refuse.ts";

export interface ParserInput {
  readonly needs: EgressNeeds;
  readonly bridge: Bridge | undefined;
  readonly checksumFlags: readonly { readonly header: string; readonly flag: string }[];
  readonly incremental: readonly IncrementalChecksum[];
  readonly resubmission: Resubmission | undefined;
  /** The program has metadata, which start as zero. */
  readonly hasMetadata: boolean;
  readonly refuse: Refuse;
}

export interface Parsers {
  readonly ingress: TnaParser;
  readonly egress: TnaParser;
  readonly cut?: CloneNames["cut"];
}

/** Bytes that Tofino's egress parser reads, the intrinsic metadata in front included. */
const EGRESS_DEPTH = 160;
const EGRESS_INTRINSIC_BYTES = 28;

/** The ingress parser, and an egress parser that finds again what egress works on. */
export function parsers(program: Program, input: ParserInput): Parsers {
  const { needs, bridge, refuse } = input;
  const bytesOf = (header: string): number => {
    const type = program.headers.find((h) => h.name === header)?.headerType;
    const fields = program.headerTypes.find((t) => t.name === type)?.fields ?? [];
    return fields.reduce((sum, f) => sum + widthOf(f.type), 0) / 8;
  };
  const sent = prunedStates(program.parser, needs.sent).map((s) => ({
    ...s,
    // What ingress does not send on is not there.
    steps: s.steps.filter((step) => isSentOn(step, program)),
  }));
  const cloned = prunedStates(program.parser, needs.clone);
  if (needs.sent.size > 0) checkReparse(program, sent, needs.sent, refuse);
  for (const states of [sent, cloned]) {
    checkReread(states, refuse);
    const depth = EGRESS_INTRINSIC_BYTES + (bridge?.bytes ?? 0) + longestPath(states, bytesOf);
    if (depth > EGRESS_DEPTH) refuse("GP1816", `egress would read ${depth} bytes`);
  }
  const cut = cutOf(program, needs, bridge, bytesOf, refuse);
  return {
    ingress: ingressParser(program, input),
    egress: egressParser(sent, cloned, input),
    ...(cut === undefined ? {} : { cut }),
  };
}

function isSentOn(step: ParserStep, program: Program): boolean {
  return step.kind !== "extract" || program.deparser.includes(instanceOf(step.header));
}

function ingressParser(
  program: Program,
  { bridge, checksumFlags, incremental, hasMetadata, resubmission }: ParserInput,
): TnaParser {
  const start = new Names(["start", "accept", "reject", ...program.parser.map((s) => s.name)]);
  // Resubmitted packets have what they keep where others have the port's data.
  const packet = resubmission === undefined ? "start" : start.take("parse_packet");
  const to = (name: string): string => (name === "start" ? packet : name);
  const states = program.parser.map((s, i): TnaState => {
    const checked = checksumFlags.filter((c) => extractedBy(s).includes(c.header));
    return {
      name: to(s.name),
      first:
        i > 0 || resubmission !== undefined
          ? []
          : [
              { kind: "intrinsicMetadata" },
              { kind: "portData" },
              ...cleared(hasMetadata),
              ...bridgeStart(bridge),
            ],
      steps: s.steps,
      taken: incremental.flatMap((c) => takenIn(s, c)),
      verified: checked,
      transition: renamed(s.transition, to),
    };
  });
  if (resubmission !== undefined)
    states.unshift(...entries(resubmission, packet, start, bridge, hasMetadata));
  const checksums = [
    ...checksumFlags.map((c) => `${c.header}_checksum`),
    ...incremental.map((c) => c.instance),
  ];
  return { checksums, states };
}

function renamed(t: ParserState["transition"], to: (name: string) => string): ParserState["transition"] {
  if (t.kind === "goto") return { ...t, next: to(t.next) };
  return { ...t, cases: t.cases.map((c) => ({ ...c, next: to(c.next) })), otherwise: to(t.otherwise) };
}

/** The start, and the ways to the packet of those that come for the first time and of those that come again. */
function entries(
  { header, kept }: Resubmission,
  packet: string,
  names: Names,
  bridge: Bridge | undefined,
  hasMetadata: boolean,
): readonly TnaState[] {
  const [first, again] = [names.take("parse_port_data"), names.take("parse_resubmitted")];
  const flag: Expression = { kind: "parameter", name: "ig_intr_md.resubmit_flag", type: bit(1) };
  // Of those, a parser state may write a value only once.
  const isKept = (field: string): boolean =>
    kept.some(({ source: m }) => m.kind === "field" && m.header === bridge?.header && m.field === field);
  const [later, always] = [true, false].map((wanted) =>
    (bridge?.metadata ?? []).filter((m) => isKept(m.name) === wanted),
  );
  return [
    {
      name: "start",
      first: [
        { kind: "intrinsicMetadata" },
        ...cleared(hasMetadata),
        ...bridgeStart(bridge === undefined ? undefined : { ...bridge, metadata: always ?? [] }),
      ],
      steps: [],
      verified: [],
      transition: {
        kind: "select",
        keys: [flag],
        cases: [{ values: [{ kind: "value", value: 1n }], next: again }],
        otherwise: first,
      },
    },
    {
      name: first,
      first: [{ kind: "portData" }, ...(bridge === undefined ? [] : zeros(bridge.header, later ?? []))],
      steps: [],
      verified: [],
      transition: { kind: "goto", next: packet },
    },
    {
      name: again,
      first: [
        { kind: "extract", header },
        ...kept.map(
          (k): Opening => ({
            kind: "set",
            target: k.source,
            value: { kind: "field", header, field: k.name, type: k.type },
          }),
        ),
      ],
      steps: [],
      verified: [],
      transition: { kind: "goto", next: packet },
    },
  ];
}

/** What a state takes out of a checksum: the fields of the headers that it reads, and at the checksum's own header the sum ends. */
function takenIn(state: ParserState, c: IncrementalChecksum): readonly TakenOut[] {
  const { instance, rest } = c;
  return c.taken
    .filter((t) => extractedBy(state).includes(t.header))
    .map(({ header, fields }) => ({
      instance,
      fields,
      ...(header === c.target.header ? { rest: rest.name } : {}),
    }));
}

/** Tofino's containers hold what the packet before left there. The compiler clears only those that are read before they are written. */
function cleared(hasMetadata: boolean): readonly Opening[] {
  return hasMetadata ? [{ kind: "clearMetadata" }] : [];
}

function bridgeStart(bridge: Bridge | undefined): readonly Opening[] {
  if (bridge === undefined) return [];
  const { header } = bridge;
  const type = bit(8);
  const origin: Opening = {
    kind: "set",
    target: { kind: "field", header, field: "origin", type },
    value: { kind: "constant", type, value: 0n, named: { name: ORIGIN_INGRESS, type } },
  };
  return [
    { kind: "startHeader", header },
    ...(bridge.origin ? [origin] : []),
    ...zeros(header, bridge.metadata),
  ];
}

function zeros(header: string, fields: readonly Member[]): readonly Opening[] {
  return fields.map(({ name, type }) => ({
    kind: "set",
    target: { kind: "field", header, field: name, type },
    value: { kind: "constant", type, value: 0n },
  }));
}

function egressParser(
  sent: readonly ParserState[],
  cloned: readonly ParserState[],
  { bridge, hasMetadata }: ParserInput,
): TnaParser {
  const names = new Names(["start", "accept", "reject"]);
  // Where egress treats clones as it does other packets, one way leads to both.
  const isAlike = textOf(sent) === textOf(cloned);
  const both = sent.length > 0 && cloned.length > 0;
  const renamed = (states: readonly ParserState[], suffix: string): readonly TnaState[] => {
    const map = new Map(
      states.map((s) => [s.name, names.take(s.name === "start" ? "parse_start" : s.name, suffix)]),
    );
    const to = (name: string): string => map.get(name) ?? name;
    return states.map((s): TnaState => {
      const t = s.transition;
      return {
        name: to(s.name),
        first: [],
        // What the states of ingress keep in metadata comes with the bridge header.
        steps: s.steps.filter((step) => step.kind !== "assign"),
        verified: [],
        transition:
          t.kind === "goto"
            ? { ...t, next: to(t.next) }
            : { ...t, cases: t.cases.map((c) => ({ ...c, next: to(c.next) })), otherwise: to(t.otherwise) },
      };
    });
  };
  const sentStates = renamed(sent, "sent");
  const clonedStates = isAlike ? [] : renamed(cloned, both ? "of_clone" : "clone");
  const first: readonly Opening[] = [{ kind: "intrinsicMetadata" }, ...cleared(hasMetadata)];
  const sentTo = sentStates[0]?.name ?? "accept";
  const clonedTo = isAlike ? sentTo : (clonedStates[0]?.name ?? "accept");
  const isClone = { name: ORIGIN_CLONE, type: { kind: "bit", width: 8 } } as const;
  const start: TnaState = {
    name: "start",
    first: bridge === undefined ? first : [...first, { kind: "extract", header: bridge.header }],
    steps: [],
    verified: [],
    transition:
      bridge?.origin !== true || sentTo === clonedTo
        ? { kind: "goto", next: sentTo }
        : {
            kind: "select",
            keys: [
              { kind: "field", header: bridge.header, field: "origin", type: { kind: "bit", width: 8 } },
            ],
            cases: [{ values: [{ kind: "value", value: 1n, named: isClone }], next: clonedTo }],
            otherwise: sentTo,
          },
  };
  return { checksums: [], states: [start, ...sentStates, ...clonedStates] };
}

function textOf(states: readonly ParserState[]): string {
  return JSON.stringify(states, (_, v: unknown) => (typeof v === "bigint" ? v.toString() : v));
}

/** Where the mirror session must cut clones, because egress takes a header off them that it does not parse. */
function cutOf(
  program: Program,
  needs: EgressNeeds,
  bridge: Bridge | undefined,
  bytesOf: (header: string) => number,
  refuse: Refuse,
): CloneNames["cut"] {
  const [header, ...more] = needs.cutFromClones;
  if (header === undefined) return undefined;
  const places = bytesBefore(
    program.parser.map((s) => ({ ...s, steps: s.steps.filter((step) => isSentOn(step, program)) })),
    header,
    bytesOf,
  );
  const follows = program.parser.some((s) => {
    const extracts = extractedBy(s);
    const i = extracts.indexOf(header);
    const next =
      s.transition.kind === "goto"
        ? [s.transition.next]
        : [...s.transition.cases.map((c) => c.next), s.transition.otherwise];
    return i >= 0 && (i < extracts.length - 1 || next.some((n) => n !== "accept" && n !== "reject"));
  });
  const [bytes, ...others] = [...places];
  if (more.length > 0 || follows || bytes === undefined || others.length > 0) {
    refuse(
      "GP1807",
      `egress takes ${header} off clones, which only the mirror session can, at one place at the packet's end`,
    );
    return undefined;
  }
  return { bytes: bytes + (bridge?.bytes ?? 0), header };
}
