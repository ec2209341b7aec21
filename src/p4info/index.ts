/**
 * P4Info: what a control plane may know of a P4 program, as a message with a binary and a text form.
 *
 * This folder stands beside `p4runtime`, below `backends` and `p4runtime`: the compiler writes P4Info, the P4Runtime client and the
 * switch read it, and neither needs the other. It also holds the small message runtime (`message/`) that P4Runtime's own messages use.
 *
 * To make a P4Info, give only what matters; the rest is filled in:
 *
 * ```ts
 * const info = create(P4Info, {
 *   pkgInfo: { name: "forward", arch: "v1model" },
 *   tables: [
 *     {
 *       preamble: { id: 0x02000001, name: "ingress.ipv4_lpm", alias: "ipv4_lpm" },
 *       matchFields: [{ id: 1, name: "hdr.ipv4.dst", bitwidth: 32, match: { case: "matchType", value: "LPM" } }],
 *       actionRefs: [{ id: 0x01000001 }],
 *       size: 1024n,
 *     },
 *   ],
 *   actions: [{ preamble: { id: 0x01000001, name: "ingress.forward", alias: "forward" }, params: [{ id: 1, name: "port", bitwidth: 9 }] }],
 * });
 * writeFileSync("forward.p4info.txtpb", p4infoToText(info));
 * writeFileSync("forward.p4info.bin", p4infoToBinary(info));
 * ```
 */
export { Any } from "./generated/any.ts";
export * from "./generated/p4info.ts";
export * from "./generated/p4types.ts";
export { ID_PREFIX, type ObjectKind } from "./ids.ts";
export { decode, encode } from "./message/binary.ts";
export { create } from "./message/create.ts";
export { EnumType, type Init, MessageType, type UnknownEnumValue } from "./message/descriptor.ts";
export { MessageError, type MessageErrorCode } from "./message/error.ts";
export { type Json, toJson } from "./message/json.ts";
export { parseText } from "./message/text-parse.ts";
export { printText } from "./message/text-print.ts";
export { p4infoFromBinary, p4infoFromFile, p4infoFromText, p4infoToBinary, p4infoToText } from "./p4info.ts";
