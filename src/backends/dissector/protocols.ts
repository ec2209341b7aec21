import type { HeaderType, Program } from "../../ir/index.ts";
import { extractedBy, widthOf } from "../../ir/index.ts";
import {
  AGGREGATION_PORT,
  AGGREGATION_VERSION,
  aggregation,
  COLLECTOR,
  Flag,
  Kind,
  ModeId,
} from "../../wire/aggregation.ts";
import type { WireHeader } from "../../wire/header.ts";
import { udp } from "../../wire/internet.ts";
import {
  MessageKind,
  PARAMETER_SERVER_PORT,
  PARAMETER_SERVER_VERSION,
  parameterServer,
} from "../../wire/parameterserver.ts";
import type { BodyPart, DissectedProtocol } from "./protocol.ts";

const lanes: BodyPart = { name: "lane", type: "int32", count: { field: "lanes" } };
/** In mode block in front of everything else, in all kinds of packets: two words, each of a tag that tells the round, and an exponent. */
const exponents: readonly BodyPart[] = (["current", "next"] as const).flatMap((word): BodyPart[] => {
  const when = { field: "mode", value: ModeId.block };
  return [
    { name: `${word}_tag`, type: "uint24", count: 1, when },
    { name: `${word}_exponent`, type: "uint8", count: 1, when },
  ];
});

const codes: BodyPart["instead"] = [
  { field: "mode", value: ModeId.fp32, name: "lane_fp32", type: "float32" },
  { field: "mode", value: ModeId.fp16, name: "lane_fp16", type: "half" },
  { field: "mode", value: ModeId.bf16, name: "lane_bf16", type: "brain" },
];

/** Hot-parameter aggregation between workers, switch and parameter server. */
export const AGGREGATION: DissectedProtocol = {
  header: aggregation,
  udpPort: AGGREGATION_PORT,
  version: { field: "version", value: AGGREGATION_VERSION },
  names: { kind: Kind, mode: ModeId, member: { COLLECTOR } },
  flags: { flags: Flag },
  expert: {
    MARK: { severity: "warn", text: "a value does not fit the window: the lanes are not to be used" },
    DUPLICATE: { severity: "note", text: "this contribution had been counted before" },
    STALE: { severity: "note", text: "the slot has moved on to a newer round" },
  },
  summary: ["job", "round", "slot", "member"],
  meaning: {
    field: "scale",
    by: "mode",
    of: new Map([
      [ModeId.int32, { text: "fraction bits", isSigned: true }],
      [ModeId.block, { text: "first exponent of the job" }],
      [ModeId.fp32, { text: "base of the window" }],
      [ModeId.fp16, { text: "fraction bits", isSigned: true }],
      [ModeId.bf16, { text: "base of the window" }],
    ]),
  },
  body: {
    by: "kind",
    parts: new Map<number, readonly BodyPart[]>(
      Object.values(Kind).map((kind) => [
        kind,
        [
          ...exponents,
          // In some modes workers send raw codes; the switch answers in fixed point.
          ...(kind === Kind.CONTRIBUTION ? [{ ...lanes, instead: codes }] : []),
          ...(kind === Kind.RESULT ? [lanes] : []),
        ],
      ]),
    ),
  },
};

/** Messages between workers and their parameter server. */
export const PARAMETER_SERVER: DissectedProtocol = {
  header: parameterServer,
  udpPort: PARAMETER_SERVER_PORT,
  version: { field: "version", value: PARAMETER_SERVER_VERSION },
  names: { kind: MessageKind },
  summary: ["job", "round", "member", "message", "chunk"],
  body: {
    by: "kind",
    pieces: { number: "chunk", count: "chunks" },
    parts: new Map<number, readonly BodyPart[]>([
      [
        MessageKind.PUSH,
        [
          { name: "key", type: "uint32", count: "half" },
          { name: "value", type: "float32", count: "rest" },
        ],
      ],
      [
        MessageKind.PULL,
        [
          { name: "request", type: "uint32", count: 1 },
          { name: "key", type: "uint32", count: "rest" },
        ],
      ],
      [
        MessageKind.VALUES,
        [
          { name: "request", type: "uint32", count: 1 },
          { name: "value", type: "float32", count: "rest" },
        ],
      ],
      [MessageKind.FETCH, [{ name: "row", type: "uint32", count: 1 }]],
      [
        MessageKind.ROW,
        [
          { name: "row", type: "uint32", count: 1 },
          { name: "lane", type: "float32", count: "rest" },
        ],
      ],
      [MessageKind.FAILURE, [{ name: "lost", type: "uint32", count: 1 }]],
    ]),
  },
};

/** All packet formats that gradplane declares over UDP. */
export const PROTOCOLS: readonly DissectedProtocol[] = [AGGREGATION, PARAMETER_SERVER];

/**
 * The packet formats over UDP that a program's parser knows: those of this package as they are declared, those of the user with the
 * fields of his header. Programs that aggregate bring the parameter server's messages along, which pass the switch unseen.
 */
export function protocolsOf(program: Program): readonly DissectedProtocol[] {
  const found: DissectedProtocol[] = [];
  for (const { port, type } of udpPayloads(program)) {
    if (found.some((protocol) => protocol.udpPort === port || protocol.header.name === type.name)) continue;
    if (port === AGGREGATION_PORT && type.name === aggregation.name)
      found.push(AGGREGATION, PARAMETER_SERVER);
    else found.push({ header: wireHeaderOf(type), udpPort: port });
  }
  return found;
}

/** The first header that the parser extracts after UDP, by destination port. */
function udpPayloads(program: Program): { readonly port: number; readonly type: HeaderType }[] {
  const typeOf = (instance: string | undefined): HeaderType | undefined => {
    const name = program.headers.find((header) => header.name === instance)?.headerType;
    return program.headerTypes.find((type) => type.name === name);
  };
  const state = (name: string) => program.parser.find((candidate) => candidate.name === name);
  const found: { port: number; type: HeaderType }[] = [];
  for (const { transition } of program.parser) {
    if (transition.kind !== "select") continue;
    const key = transition.keys.findIndex(
      (k) => k.kind === "field" && typeOf(k.header)?.name === udp.name && k.field === "dst_port",
    );
    if (key < 0) continue;
    for (const { values, next } of transition.cases) {
      const value = values[key];
      const following = state(next);
      const type = typeOf(following === undefined ? undefined : extractedBy(following)[0]);
      if (value?.kind === "value" && type !== undefined) found.push({ port: Number(value.value), type });
    }
  }
  return found;
}

function wireHeaderOf(type: HeaderType): WireHeader {
  return {
    name: type.name,
    fields: type.fields.map((field) => ({
      name: field.name,
      bits: widthOf(field.type),
      ...(field.doc === undefined ? {} : { doc: field.doc }),
    })),
    ...(type.doc === undefined ? {} : { doc: type.doc }),
  };
}
