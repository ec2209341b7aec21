import type { WireField, WireHeader } from "../../wire/header.ts";
import { luaMember, luaNames, luaText } from "./lua.ts";
import type { DissectedProtocol } from "./protocol.ts";

/**
 * The name of a header's protocol in display filters: `gradplane.aggregation`. It has a prefix because Wireshark refuses a script that
 * takes the name of one of its own protocols, and lower case because it demands that.
 */
export function filterName(header: string): string {
  return `gradplane.${header.toLowerCase()}`;
}

/** Where a field lies: the bytes that hold it, and its bits in them when it does not fill them. */
export interface FieldPlace {
  readonly field: WireField;
  readonly offset: number;
  readonly bytes: number;
  /** Absent when the field fills its bytes. */
  readonly mask?: bigint;
}

/** Places of a header's fields, in the order on the wire. */
export function fieldPlaces(header: WireHeader): readonly FieldPlace[] {
  let bit = 0;
  return header.fields.map((field) => {
    const offset = bit >> 3;
    const bytes = Math.ceil((bit + field.bits) / 8) - offset;
    const after = (offset + bytes) * 8 - (bit + field.bits);
    const isWhole = field.bits === bytes * 8;
    bit += field.bits;
    const mask = ((1n << BigInt(field.bits)) - 1n) << BigInt(after);
    return { field, offset, bytes, ...(isWhole ? {} : { mask }) };
  });
}

/** Is the field shown as a number? The others, over 64 bits or spread over more than 8 bytes, are shown as bytes. */
export function isNumber(place: FieldPlace): boolean {
  return place.bytes <= 8;
}

/** Older Wiresharks take masks of 32 bits only; beyond that the dissector cuts the bits out itself. */
export function isMaskable(place: FieldPlace): boolean {
  return place.bytes <= 4;
}

/** `f.kind = ProtoField.uint8("aggregation.kind", ...)`, one statement for each field of the header and each named bit. */
export function fieldDeclarations(protocol: DissectedProtocol): readonly string[] {
  const { header } = protocol;
  return fieldPlaces(header).flatMap((place) => {
    const { name } = place.field;
    const declared = declaration(protocol, place);
    const bits = Object.entries(protocol.flags?.[name] ?? {}).map(
      ([flag, mask]) =>
        `${luaMember("f", flagKey(name, flag))} = ProtoField.bool(${luaText(`${filterName(header.name)}.${name}.${flag}`)}, ` +
        `${luaText(flag)}, ${place.bytes * 8}, nil, ${hex(BigInt(mask))})`,
    );
    return [declared, ...bits];
  });
}

/** The member of `f` that holds a named bit of a field. */
export function flagKey(field: string, flag: string): string {
  return `${field}_${flag}`;
}

function declaration(protocol: DissectedProtocol, place: FieldPlace): string {
  const { name, doc } = place.field;
  const filter = luaText(`${filterName(protocol.header.name)}.${name}`);
  const left = luaMember("f", name);
  const description = doc === undefined ? [] : [luaText(doc)];
  if (!isNumber(place))
    return `${left} = ProtoField.bytes(${[filter, luaText(name), "base.NONE", ...description].join(", ")})`;
  const names = protocol.names?.[name];
  const base = protocol.flags?.[name] === undefined ? "base.DEC" : "base.HEX";
  const rest = [
    names === undefined ? "nil" : luaNames(names),
    place.mask === undefined || !isMaskable(place) ? "nil" : hex(place.mask),
    ...description,
  ];
  while (rest.at(-1) === "nil") rest.pop();
  return `${left} = ProtoField.${numberType(place.bytes)}(${[filter, luaText(name), base, ...rest].join(", ")})`;
}

function numberType(bytes: number): string {
  if (bytes <= 4) return `uint${bytes * 8}`;
  return "uint64";
}

function hex(value: bigint): string {
  return `0x${value.toString(16).padStart(2, "0")}`;
}
