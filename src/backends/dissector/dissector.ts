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
import type { Body, BodyPart, DissectedProtocol } from "./protocol.ts";
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
    ...block("function proto.dissector(tvb, pinfo, tree)", dissectLines(protocol), "end"),
    "",
    `DissectorTable.get("udp.port"):add(${udpPort}, proto)`,
  ];
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

/** Fields whose values the dissector itself needs. */
function isUsed({ version, summary, body }: DissectedProtocol, name: string): boolean {
  if (version?.field === name || summary?.includes(name) || body?.by === name) return true;
  if (body?.pieces?.count === name) return true;
  return [...(body?.parts.values() ?? [])]
    .flat()
    .some(
      (part) => part.instead?.field === name || (typeof part.count === "object" && part.count.field === name),
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

/** Fields of the body, each once though several kinds of packet may have it. */
function bodyDeclarations({ header, body }: DissectedProtocol): readonly string[] {
  if (body === undefined) return [];
  const parts = [...body.parts.values()]
    .flat()
    .flatMap((part) => [part, ...(part.instead ? [part.instead] : [])]);
  const types = new Map(parts.map((part) => [part.name, part.type]));
  const lines = [...types].map(([name, type]) => {
    const kind = type === "float32" ? "float" : type;
    return `${luaMember("f", name)} = ProtoField.${kind}(${luaText(`${filterName(header.name)}.${name}`)}, ${luaText(name)})`;
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
      `local function words(field, name, count, is_list)`,
      [
        "local node = root",
        "local fitting = math.max(0, math.min(count, math.floor((tvb:len() - at) / 4)))",
        'if is_list and fitting > 0 then node = root:add(tvb(at, fitting * 4), name .. "s (" .. count .. ")") end',
        ...block(
          "for i = 0, fitting - 1 do",
          [
            "local item = node:add(field, tvb(at + i * 4, 4))",
            'if is_list then item:prepend_text(string.format("%02d ", i)) end',
          ],
          "end",
        ),
        "at = at + count * 4",
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
  const call = (name: string): string =>
    `words(${luaMember("f", name)}, ${luaText(name)}, ${count}, ${isList})`;
  if (part.instead === undefined) return [call(part.name)];
  return [
    `if ${luaMember("v", part.instead.field)} == ${part.instead.value} then`,
    indent(call(part.instead.name)),
    "else",
    indent(call(part.name)),
    "end",
  ];
}

function block(open: string, lines: readonly string[], close: string): readonly string[] {
  return [open, ...lines.map(indent), close];
}

function indent(line: string): string {
  return line === "" ? line : `  ${line}`;
}
