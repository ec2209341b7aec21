// Made from p4/v1/p4data.proto by src/p4runtime/proto/generate.sh; not to be edited.
import { MessageType } from "../../../p4info/message/descriptor.ts";

export interface P4Data {
  readonly data?:
    | { readonly case: "bitstring"; readonly value: Uint8Array }
    | { readonly case: "varbit"; readonly value: P4Varbit }
    | { readonly case: "bool"; readonly value: boolean }
    | { readonly case: "tuple"; readonly value: P4StructLike }
    | { readonly case: "struct"; readonly value: P4StructLike }
    | { readonly case: "header"; readonly value: P4Header }
    | { readonly case: "headerUnion"; readonly value: P4HeaderUnion }
    | { readonly case: "headerStack"; readonly value: P4HeaderStack }
    | { readonly case: "headerUnionStack"; readonly value: P4HeaderUnionStack }
    | { readonly case: "enum"; readonly value: string }
    | { readonly case: "error"; readonly value: string }
    | { readonly case: "enumValue"; readonly value: Uint8Array }
    | undefined;
}
export const P4Data: MessageType<P4Data> = new MessageType("p4.v1.P4Data", () => [
  [1, "bitstring", "bytes", { oneof: "data" }],
  [2, "varbit", () => P4Varbit, { oneof: "data" }],
  [3, "bool", "bool", { oneof: "data" }],
  [4, "tuple", () => P4StructLike, { oneof: "data" }],
  [5, "struct", () => P4StructLike, { oneof: "data" }],
  [6, "header", () => P4Header, { oneof: "data" }],
  [7, "header_union", () => P4HeaderUnion, { oneof: "data" }],
  [8, "header_stack", () => P4HeaderStack, { oneof: "data" }],
  [9, "header_union_stack", () => P4HeaderUnionStack, { oneof: "data" }],
  [10, "enum", "string", { oneof: "data" }],
  [11, "error", "string", { oneof: "data" }],
  [12, "enum_value", "bytes", { oneof: "data" }],
]);

export interface P4Varbit {
  readonly bitstring: Uint8Array;
  readonly bitwidth: number;
}
export const P4Varbit: MessageType<P4Varbit> = new MessageType("p4.v1.P4Varbit", () => [
  [1, "bitstring", "bytes"],
  [2, "bitwidth", "int32"],
]);

export interface P4StructLike {
  readonly members: readonly P4Data[];
}
export const P4StructLike: MessageType<P4StructLike> = new MessageType("p4.v1.P4StructLike", () => [
  [1, "members", () => P4Data, "repeated"],
]);

export interface P4Header {
  readonly isValid: boolean;
  readonly bitstrings: readonly Uint8Array[];
}
export const P4Header: MessageType<P4Header> = new MessageType("p4.v1.P4Header", () => [
  [1, "is_valid", "bool"],
  [2, "bitstrings", "bytes", "repeated"],
]);

export interface P4HeaderStack {
  readonly entries: readonly P4Header[];
}
export const P4HeaderStack: MessageType<P4HeaderStack> = new MessageType("p4.v1.P4HeaderStack", () => [
  [1, "entries", () => P4Header, "repeated"],
]);

export interface P4HeaderUnion {
  readonly validHeaderName: string;
  readonly validHeader?: P4Header | undefined;
}
export const P4HeaderUnion: MessageType<P4HeaderUnion> = new MessageType("p4.v1.P4HeaderUnion", () => [
  [1, "valid_header_name", "string"],
  [2, "valid_header", () => P4Header],
]);

export interface P4HeaderUnionStack {
  readonly entries: readonly P4HeaderUnion[];
}
export const P4HeaderUnionStack: MessageType<P4HeaderUnionStack> = new MessageType("p4.v1.P4HeaderUnionStack", () => [
  [1, "entries", () => P4HeaderUnion, "repeated"],
]);
