import type { Program } from "../../ir/index.ts";
import { headerBytes } from "../../wire/header.ts";
import {
  type FieldPlace,
  fieldDeclarations,
  fieldPlaces,
  filterName,
  flagKey,
  isMaskable,
  isNumber,
} from "./fields.ts";
import { luaMember, luaText } from "./lua.ts";
import type { Body, BodyPart, DissectedProtocol, PartType } from "./protocol.ts";
import { PROTOCOLS, protocolsOf } from "./protocols.ts";

/**
 * A Wireshark dissector in Lua for the packets of a program: its UDP payloads with fields, names of values and flags, lanes, and expert
 * information for what an operator looks for. For `wireshark -X lua_script:FILE`, or the folder of personal Lua plugins.
 */
export function dissector(program: Program): string {
  return dissectorOf(protocolsOf(program), program.name);
}

/** The same for packet formats of one's own; by default for all that are declared under `wire/`. */
export function dissectorOf(protocols: readonly DissectedProtocol[] = PROTOCOLS, name = "gradplane"): string {
  const lines = [
    `-- Wireshark dissector for the packets of ${name.replace(/\s+/g, " ")}. Made by gradplane; not to be edited.`,
    "-- Use: wireshark -X lua_script:FILE, or put the file into the folder of personal Lua plugins.",
  ];
  if (protocols.length === 0) lines.push("-- The program has no packet format over UDP.");
  for (const protocol of protocols) lines.push("", ...block("do", protocolLines(protocol), "end"));
  return `${lines.join("\n")}\n`;
}

function protocolLines(protocol: DissectedProtocol): readonly string[] {
  const { header, udpPort } = protocol;
  const fields = [...fieldDeclarations(protocol), ...bodyDeclarations(protocol)];
  const experts = expertDeclarations(protocol);
  return [
    ...(header.doc === undefined ? [] : [`-- ${header.doc.replace(/\s+/g, " ")}`]),
    `local proto = Proto(${luaText(filterName(header.name))}, ${luaText(`gradplane ${header.name.replaceAll("_", " ")}`)})`,
    "local f = {}",
    ...fields,
    "proto.fields = f",
    "local e = {}",
    ...experts,
    "proto.experts = e",
    "",
    ...(hasCodes(protocol) ? [...CODE_FUNCTIONS, ""] : []),
    ...block("function proto.dissector(tvb, pinfo, tree)", dissectLines(protocol), "end"),
    "",
    `DissectorTable.get("udp.port"):add(${udpPort}, proto)`,
  ];
}

function hasCodes({ body }: DissectedProtocol): boolean {
  const parts = [...(body?.parts.values() ?? [])].flat();
  return parts.flatMap((part) => [part, ...(part.instead ?? [])]).some(({ type }) => type in VALUE);
}

function expertDeclarations({ header, expert, version, body }: DissectedProtocol): readonly string[] {
  const declare = (key: string, text: string, group: string, severity: string): string =>
    `${luaMember("e", key)} = ProtoExpert.new(${luaText(`${filterName(header.name)}.expert.${key}`)}, ${luaText(text)}, ` +
    `expert.group.${group}, expert.severity.${severity})`;
  const malformed = (key: string, text: string): string => declare(key, text, "MALFORMED", "ERROR");
  return [
    malformed("too_short", "the packet is shorter than its header"),
    ...(version === undefined
      ? []
      : [malformed("version", `only version ${version.value} is known; the rest is not dissected`)]),
    ...(body === undefined
      ? []
      : [
          malformed("kind", `no known ${body.by}`),
          malformed("length", "the packet is longer or shorter than its header says"),
        ]),
    ...Object.entries(expert ?? {}).map(([key, { severity, text }]) =>
      declare(key, text, "SEQUENCE", severity.toUpperCase()),
    ),
  ];
}

/** The lines of `proto.dissector`. Wireshark takes the number that it returns as the bytes that were understood; 0 means "not mine". */
function dissectLines(protocol: DissectedProtocol): readonly string[] {
  const { header, version, body } = protocol;
  const bytes = headerBytes(header);
  return [
    "local v = {}",
    `pinfo.cols.protocol = ${luaText(header.name)}`,
    "local length = tvb:reported_len()",
    "local root = tree:add(proto, tvb())",
    ...block(
      `if tvb:len() < ${bytes} then`,
      [
        // A capture that was cut short is no fault of the sender.
        `if length < ${bytes} then root:add_proto_expert_info(e.too_short) end`,
        "return tvb:len()",
      ],
      "end",
    ),
    ...fieldPlaces(header).flatMap((place) => headerFieldLines(protocol, place)),
    ...meaningLines(protocol),
    ...(version === undefined
      ? []
      : block(
          `if ${luaMember("v", version.field)} ~= ${version.value} then`,
          ["root:add_proto_expert_info(e.version)", "return tvb:len()"],
          "end",
        )),
    ...summaryLines(protocol),
    ...(body === undefined ? [`return ${bytes}`] : bodyLines(body, bytes)),
  ];
}

function headerFieldLines(protocol: DissectedProtocol, place: FieldPlace): readonly string[] {
  const { field, offset, bytes } = place;
  const flags = Object.keys(protocol.flags?.[field.name] ?? {});
  const range = `tvb(${offset}, ${bytes})`;
  const isCut = isNumber(place) && place.mask !== undefined && !isMaskable(place);
  const add = `root:add(${[luaMember("f", field.name), range, ...(isCut ? [luaBits(place)] : [])].join(", ")})`;
  const value = isUsed(protocol, field.name) ? [`${luaMember("v", field.name)} = ${luaValue(place)}`] : [];
  if (protocol.meaning?.field === field.name) return [...value, `local meant = ${add}`];
  if (flags.length === 0) return [...value, add];
  return [
    ...value,
    ...block(
      "do",
      [
        `local item = ${add}`,
        ...flags.flatMap((flag) => [
          `item:add(${luaMember("f", flagKey(field.name, flag))}, ${range})`,
          ...(protocol.expert?.[flag] === undefined
            ? []
            : [
                `if bit.band(${range}:uint(), ${protocol.flags?.[field.name]?.[flag] ?? 0}) ~= 0 then ` +
                  `item:add_proto_expert_info(${luaMember("e", flag)}) end`,
              ]),
        ]),
      ],
      "end",
    ),
  ];
}

/** What a number means by the value of another field, behind it. */
function meaningLines({ meaning }: DissectedProtocol): readonly string[] {
  if (meaning === undefined) return [];
  const { field, by, of } = meaning;
  const texts = [...of].map(([value, { text }]) => `[${value}] = ${luaText(text)}`);
  const signed = [...of].flatMap(([value, { isSigned = false }]) => (isSigned ? [`[${value}] = true`] : []));
  const number = luaMember("v", field);
  return block(
    "do",
    [
      `local text = ({ ${texts.join(", ")} })[${luaMember("v", by)}]`,
      `local signed = ({ ${signed.join(", ")} })[${luaMember("v", by)}] and ${number} > 127 and ${number} - 256 or ${number}`,
      'if text ~= nil then meant:append_text(" (" .. text .. ": " .. signed .. ")") end',
    ],
    "end",
  );
}

/** Fields whose values the dissector itself needs. */
function isUsed({ version, summary, body, meaning }: DissectedProtocol, name: string): boolean {
  if (meaning?.field === name || meaning?.by === name) return true;
  if (version?.field === name || summary?.includes(name) || body?.by === name) return true;
  if (body?.pieces?.count === name) return true;
  return [...(body?.parts.values() ?? [])]
    .flat()
    .some(
      (part) =>
        part.when?.field === name ||
        (part.instead ?? []).some((other) => other.field === name) ||
        (typeof part.count === "object" && part.count.field === name),
    );
}

/** A field's value as a Lua number or text. */
function luaValue(place: FieldPlace): string {
  if (place.mask === undefined && place.bytes <= 4) return `tvb(${place.offset}, ${place.bytes}):uint()`;
  return place.field.bits <= 32 ? luaBits(place) : `tostring(${luaBits(place)})`;
}

function luaBits({ field, offset, bytes, mask }: FieldPlace): string {
  const first = mask === undefined ? 0 : bytes * 8 - mask.toString(2).length;
  return `tvb(${offset}, ${bytes}):bitfield(${first}, ${field.bits})`;
}

function summaryLines({ summary = [], body, names }: DissectedProtocol): readonly string[] {
  const shown = summary.map((name) => `${luaText(` ${name} `)} .. ${luaMember("v", name)}`);
  if (body === undefined) return shown.length === 0 ? [] : [`pinfo.cols.info = ${shown.join(" .. ")}`];
  const kinds = Object.entries(names?.[body.by] ?? {}).map(
    ([name, value]) => `[${value}] = ${luaText(name)}`,
  );
  const by = luaMember("v", body.by);
  return [
    `local kind = ({ ${kinds.join(", ")} })[${by}]`,
    `pinfo.cols.info = ${[`(kind or ${luaText(`${body.by} `)} .. ${by})`, ...shown].join(" .. ")}`,
    ...block("if kind == nil then", ["root:add_proto_expert_info(e.kind)", "return tvb:len()"], "end"),
  ];
}

/** What Wireshark calls it. Codes of half the width are shown as the float32 that has their value. */
const FIELD_KIND: Record<PartType, string> = {
  uint8: "uint8",
  uint24: "uint24",
  uint32: "uint32",
  int32: "int32",
  float32: "float",
  half: "float",
  brain: "float",
};

const BYTES: Record<PartType, number> = {
  uint8: 1,
  uint24: 3,
  uint32: 4,
  int32: 4,
  float32: 4,
  half: 2,
  brain: 2,
};

/** How a float code of half the width becomes a number; the others are read by Wireshark itself. */
const VALUE: Partial<Record<PartType, string>> = { half: "binary16", brain: "bfloat16" };

/** Values of float codes of 16 bits, for those who show them. */
const CODE_FUNCTIONS = [
  "local function binary16(range)",
  "  local code = range:uint()",
  "  local exponent, fraction = bit.band(bit.rshift(code, 10), 31), bit.band(code, 1023)",
  "  local sign = code >= 32768 and -1 or 1",
  "  if exponent == 31 then return fraction == 0 and sign / 0 or 0 / 0 end",
  "  if exponent == 0 then return sign * fraction * 2 ^ -24 end",
  "  return sign * (1024 + fraction) * 2 ^ (exponent - 25)",
  "end",
  "local function bfloat16(range)",
  "  local code = range:uint()",
  "  local exponent, fraction = bit.band(bit.rshift(code, 7), 255), bit.band(code, 127)",
  "  local sign = code >= 32768 and -1 or 1",
  "  if exponent == 255 then return fraction == 0 and sign / 0 or 0 / 0 end",
  "  if exponent == 0 then return sign * fraction * 2 ^ -133 end",
  "  return sign * (128 + fraction) * 2 ^ (exponent - 134)",
  "end",
];

/** Fields of the body, each once though several kinds of packet may have it. */
function bodyDeclarations({ header, body }: DissectedProtocol): readonly string[] {
  if (body === undefined) return [];
  const parts = [...body.parts.values()].flat().flatMap((part) => [part, ...(part.instead ?? [])]);
  const types = new Map(parts.map((part) => [part.name, part.type]));
  const lines = [...types].map(([name, type]) => {
    const about = [luaText(`${filterName(header.name)}.${name}`), luaText(name)];
    return `${luaMember("f", name)} = ProtoField.${FIELD_KIND[type]}(${about.join(", ")})`;
  });
  const piece = body.pieces === undefined ? [] : [pieceDeclaration(filterName(header.name))];
  return [...lines, ...piece];
}

function pieceDeclaration(name: string): string {
  return `f.piece = ProtoField.bytes(${luaText(`${name}.piece`)}, "part of a message")`;
}

function bodyLines(body: Body, bytes: number): readonly string[] {
  const pieces =
    body.pieces === undefined
      ? []
      : block(
          `if ${luaMember("v", body.pieces.count)} > 1 then`,
          [`if tvb:len() > ${bytes} then root:add(f.piece, tvb(${bytes})) end`, "return tvb:len()"],
          "end",
        );
  const kinds = [...body.parts].flatMap(([value, parts], index) => [
    `${index === 0 ? "if" : "elseif"} ${luaMember("v", body.by)} == ${value} then`,
    ...parts.flatMap(partLines).map(indent),
  ]);
  return [
    ...pieces,
    `local at = ${bytes}`,
    ...block(
      `local function words(field, name, count, is_list, size, value)`,
      [
        "local node = root",
        "local fitting = math.max(0, math.min(count, math.floor((tvb:len() - at) / size)))",
        'if is_list and fitting > 0 then node = root:add(tvb(at, fitting * size), name .. "s (" .. count .. ")") end',
        ...block(
          "for i = 0, fitting - 1 do",
          [
            "local range = tvb(at + i * size, size)",
            "local item = value == nil and node:add(field, range) or node:add(field, range, value(range))",
            'if is_list then item:prepend_text(string.format("%02d ", i)) end',
          ],
          "end",
        ),
        "at = at + count * size",
      ],
      "end",
    ),
    ...kinds,
    ...(kinds.length === 0 ? [] : ["end"]),
    `if at ~= length then root:add_proto_expert_info(e.length) end`,
    "return tvb:len()",
  ];
}

function partLines(part: BodyPart): readonly string[] {
  const left = "math.floor((length - at) / 4)";
  const count =
    typeof part.count === "object"
      ? luaMember("v", part.count.field)
      : part.count === "rest"
        ? left
        : part.count === "half"
          ? "math.floor((length - at) / 8)"
          : String(part.count);
  const isList = part.count !== 1;
  const call = ({ name, type }: { readonly name: string; readonly type: PartType }): string => {
    const value = VALUE[type];
    const about = [luaMember("f", name), luaText(name), count, `${isList}`, `${BYTES[type]}`];
    return `words(${[...about, ...(value === undefined ? [] : [value])].join(", ")})`;
  };
  const choices = (part.instead ?? []).flatMap((other, i) => [
    `${i === 0 ? "if" : "elseif"} ${luaMember("v", other.field)} == ${other.value} then`,
    indent(call(other)),
  ]);
  const lines = choices.length === 0 ? [call(part)] : [...choices, "else", indent(call(part)), "end"];
  const { when } = part;
  return when === undefined
    ? lines
    : block(`if ${luaMember("v", when.field)} == ${when.value} then`, lines, "end");
}

function block(open: string, lines: readonly string[], close: string): readonly string[] {
  return [open, ...lines.map(indent), close];
}

function indent(line: string): string {
  return line === "" ? line : `  ${line}`;
}
