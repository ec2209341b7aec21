// Made from p4/config/v1/p4types.proto by src/p4runtime/proto/generate.sh; not to be edited.
import { MessageType } from "../message/descriptor.ts";

export interface P4BitTypeSpec {
  readonly bitwidth: number;
}
export const P4BitTypeSpec: MessageType<P4BitTypeSpec> = new MessageType("p4.config.v1.P4BitTypeSpec", () => [
  [1, "bitwidth", "int32"],
]);

export interface P4IntTypeSpec {
  readonly bitwidth: number;
}
export const P4IntTypeSpec: MessageType<P4IntTypeSpec> = new MessageType("p4.config.v1.P4IntTypeSpec", () => [
  [1, "bitwidth", "int32"],
]);

export interface P4VarbitTypeSpec {
  readonly maxBitwidth: number;
}
export const P4VarbitTypeSpec: MessageType<P4VarbitTypeSpec> = new MessageType("p4.config.v1.P4VarbitTypeSpec", () => [
  [1, "max_bitwidth", "int32"],
]);

export interface P4BitstringLikeTypeSpec {
  readonly typeSpec?:
    | { readonly case: "bit"; readonly value: P4BitTypeSpec }
    | { readonly case: "int"; readonly value: P4IntTypeSpec }
    | { readonly case: "varbit"; readonly value: P4VarbitTypeSpec }
    | undefined;
  readonly annotations: readonly string[];
  readonly annotationLocations: readonly SourceLocation[];
  readonly structuredAnnotations: readonly StructuredAnnotation[];
}
export const P4BitstringLikeTypeSpec: MessageType<P4BitstringLikeTypeSpec> = new MessageType("p4.config.v1.P4BitstringLikeTypeSpec", () => [
  [1, "bit", () => P4BitTypeSpec, { oneof: "typeSpec" }],
  [2, "int", () => P4IntTypeSpec, { oneof: "typeSpec" }],
  [3, "varbit", () => P4VarbitTypeSpec, { oneof: "typeSpec" }],
  [4, "annotations", "string", "repeated"],
  [5, "annotation_locations", () => SourceLocation, "repeated"],
  [6, "structured_annotations", () => StructuredAnnotation, "repeated"],
]);

export type P4BoolType = Record<never, never>;
export const P4BoolType: MessageType<P4BoolType> = new MessageType("p4.config.v1.P4BoolType", () => []);

export type P4ErrorType = Record<never, never>;
export const P4ErrorType: MessageType<P4ErrorType> = new MessageType("p4.config.v1.P4ErrorType", () => []);

export interface P4NamedType {
  readonly name: string;
}
export const P4NamedType: MessageType<P4NamedType> = new MessageType("p4.config.v1.P4NamedType", () => [
  [1, "name", "string"],
]);

export interface P4TupleTypeSpec {
  readonly members: readonly P4DataTypeSpec[];
}
export const P4TupleTypeSpec: MessageType<P4TupleTypeSpec> = new MessageType("p4.config.v1.P4TupleTypeSpec", () => [
  [1, "members", () => P4DataTypeSpec, "repeated"],
]);

export interface P4HeaderStackTypeSpec {
  readonly header?: P4NamedType | undefined;
  readonly size: number;
}
export const P4HeaderStackTypeSpec: MessageType<P4HeaderStackTypeSpec> = new MessageType("p4.config.v1.P4HeaderStackTypeSpec", () => [
  [1, "header", () => P4NamedType],
  [2, "size", "int32"],
]);

export interface P4HeaderUnionStackTypeSpec {
  readonly headerUnion?: P4NamedType | undefined;
  readonly size: number;
}
export const P4HeaderUnionStackTypeSpec: MessageType<P4HeaderUnionStackTypeSpec> = new MessageType("p4.config.v1.P4HeaderUnionStackTypeSpec", () => [
  [1, "header_union", () => P4NamedType],
  [2, "size", "int32"],
]);

export interface P4DataTypeSpec {
  readonly typeSpec?:
    | { readonly case: "bitstring"; readonly value: P4BitstringLikeTypeSpec }
    | { readonly case: "bool"; readonly value: P4BoolType }
    | { readonly case: "tuple"; readonly value: P4TupleTypeSpec }
    | { readonly case: "struct"; readonly value: P4NamedType }
    | { readonly case: "header"; readonly value: P4NamedType }
    | { readonly case: "headerUnion"; readonly value: P4NamedType }
    | { readonly case: "headerStack"; readonly value: P4HeaderStackTypeSpec }
    | { readonly case: "headerUnionStack"; readonly value: P4HeaderUnionStackTypeSpec }
    | { readonly case: "enum"; readonly value: P4NamedType }
    | { readonly case: "error"; readonly value: P4ErrorType }
    | { readonly case: "serializableEnum"; readonly value: P4NamedType }
    | { readonly case: "newType"; readonly value: P4NamedType }
    | undefined;
}
export const P4DataTypeSpec: MessageType<P4DataTypeSpec> = new MessageType("p4.config.v1.P4DataTypeSpec", () => [
  [1, "bitstring", () => P4BitstringLikeTypeSpec, { oneof: "typeSpec" }],
  [2, "bool", () => P4BoolType, { oneof: "typeSpec" }],
  [3, "tuple", () => P4TupleTypeSpec, { oneof: "typeSpec" }],
  [4, "struct", () => P4NamedType, { oneof: "typeSpec" }],
  [5, "header", () => P4NamedType, { oneof: "typeSpec" }],
  [6, "header_union", () => P4NamedType, { oneof: "typeSpec" }],
  [7, "header_stack", () => P4HeaderStackTypeSpec, { oneof: "typeSpec" }],
  [8, "header_union_stack", () => P4HeaderUnionStackTypeSpec, { oneof: "typeSpec" }],
  [9, "enum", () => P4NamedType, { oneof: "typeSpec" }],
  [10, "error", () => P4ErrorType, { oneof: "typeSpec" }],
  [11, "serializable_enum", () => P4NamedType, { oneof: "typeSpec" }],
  [12, "new_type", () => P4NamedType, { oneof: "typeSpec" }],
]);

export interface P4StructTypeSpec_Member {
  readonly name: string;
  readonly typeSpec?: P4DataTypeSpec | undefined;
}
export const P4StructTypeSpec_Member: MessageType<P4StructTypeSpec_Member> = new MessageType("p4.config.v1.P4StructTypeSpec.Member", () => [
  [1, "name", "string"],
  [2, "type_spec", () => P4DataTypeSpec],
]);

export interface P4StructTypeSpec {
  readonly members: readonly P4StructTypeSpec_Member[];
  readonly annotations: readonly string[];
  readonly annotationLocations: readonly SourceLocation[];
  readonly structuredAnnotations: readonly StructuredAnnotation[];
}
export const P4StructTypeSpec: MessageType<P4StructTypeSpec> = new MessageType("p4.config.v1.P4StructTypeSpec", () => [
  [1, "members", () => P4StructTypeSpec_Member, "repeated"],
  [2, "annotations", "string", "repeated"],
  [3, "annotation_locations", () => SourceLocation, "repeated"],
  [4, "structured_annotations", () => StructuredAnnotation, "repeated"],
]);

export interface P4HeaderTypeSpec_Member {
  readonly name: string;
  readonly typeSpec?: P4BitstringLikeTypeSpec | undefined;
}
export const P4HeaderTypeSpec_Member: MessageType<P4HeaderTypeSpec_Member> = new MessageType("p4.config.v1.P4HeaderTypeSpec.Member", () => [
  [1, "name", "string"],
  [2, "type_spec", () => P4BitstringLikeTypeSpec],
]);

export interface P4HeaderTypeSpec {
  readonly members: readonly P4HeaderTypeSpec_Member[];
  readonly annotations: readonly string[];
  readonly annotationLocations: readonly SourceLocation[];
  readonly structuredAnnotations: readonly StructuredAnnotation[];
}
export const P4HeaderTypeSpec: MessageType<P4HeaderTypeSpec> = new MessageType("p4.config.v1.P4HeaderTypeSpec", () => [
  [1, "members", () => P4HeaderTypeSpec_Member, "repeated"],
  [2, "annotations", "string", "repeated"],
  [3, "annotation_locations", () => SourceLocation, "repeated"],
  [4, "structured_annotations", () => StructuredAnnotation, "repeated"],
]);

export interface P4HeaderUnionTypeSpec_Member {
  readonly name: string;
  readonly header?: P4NamedType | undefined;
}
export const P4HeaderUnionTypeSpec_Member: MessageType<P4HeaderUnionTypeSpec_Member> = new MessageType("p4.config.v1.P4HeaderUnionTypeSpec.Member", () => [
  [1, "name", "string"],
  [2, "header", () => P4NamedType],
]);

export interface P4HeaderUnionTypeSpec {
  readonly members: readonly P4HeaderUnionTypeSpec_Member[];
  readonly annotations: readonly string[];
  readonly annotationLocations: readonly SourceLocation[];
  readonly structuredAnnotations: readonly StructuredAnnotation[];
}
export const P4HeaderUnionTypeSpec: MessageType<P4HeaderUnionTypeSpec> = new MessageType("p4.config.v1.P4HeaderUnionTypeSpec", () => [
  [1, "members", () => P4HeaderUnionTypeSpec_Member, "repeated"],
  [2, "annotations", "string", "repeated"],
  [3, "annotation_locations", () => SourceLocation, "repeated"],
  [4, "structured_annotations", () => StructuredAnnotation, "repeated"],
]);

export interface P4EnumTypeSpec_Member {
  readonly name: string;
  readonly annotations: readonly string[];
  readonly structuredAnnotations: readonly StructuredAnnotation[];
  readonly annotationLocations: readonly SourceLocation[];
}
export const P4EnumTypeSpec_Member: MessageType<P4EnumTypeSpec_Member> = new MessageType("p4.config.v1.P4EnumTypeSpec.Member", () => [
  [1, "name", "string"],
  [2, "annotations", "string", "repeated"],
  [3, "structured_annotations", () => StructuredAnnotation, "repeated"],
  [4, "annotation_locations", () => SourceLocation, "repeated"],
]);

export interface P4EnumTypeSpec {
  readonly members: readonly P4EnumTypeSpec_Member[];
  readonly annotations: readonly string[];
  readonly structuredAnnotations: readonly StructuredAnnotation[];
  readonly annotationLocations: readonly SourceLocation[];
}
export const P4EnumTypeSpec: MessageType<P4EnumTypeSpec> = new MessageType("p4.config.v1.P4EnumTypeSpec", () => [
  [1, "members", () => P4EnumTypeSpec_Member, "repeated"],
  [2, "annotations", "string", "repeated"],
  [3, "structured_annotations", () => StructuredAnnotation, "repeated"],
  [4, "annotation_locations", () => SourceLocation, "repeated"],
]);

export interface P4SerializableEnumTypeSpec_Member {
  readonly name: string;
  readonly value: Uint8Array;
  readonly annotations: readonly string[];
  readonly structuredAnnotations: readonly StructuredAnnotation[];
  readonly annotationLocations: readonly SourceLocation[];
}
export const P4SerializableEnumTypeSpec_Member: MessageType<P4SerializableEnumTypeSpec_Member> = new MessageType("p4.config.v1.P4SerializableEnumTypeSpec.Member", () => [
  [1, "name", "string"],
  [2, "value", "bytes"],
  [3, "annotations", "string", "repeated"],
  [4, "structured_annotations", () => StructuredAnnotation, "repeated"],
  [5, "annotation_locations", () => SourceLocation, "repeated"],
]);

export interface P4SerializableEnumTypeSpec {
  readonly underlyingType?: P4BitTypeSpec | undefined;
  readonly members: readonly P4SerializableEnumTypeSpec_Member[];
  readonly annotations: readonly string[];
  readonly structuredAnnotations: readonly StructuredAnnotation[];
  readonly annotationLocations: readonly SourceLocation[];
}
export const P4SerializableEnumTypeSpec: MessageType<P4SerializableEnumTypeSpec> = new MessageType("p4.config.v1.P4SerializableEnumTypeSpec", () => [
  [1, "underlying_type", () => P4BitTypeSpec],
  [2, "members", () => P4SerializableEnumTypeSpec_Member, "repeated"],
  [3, "annotations", "string", "repeated"],
  [4, "structured_annotations", () => StructuredAnnotation, "repeated"],
  [5, "annotation_locations", () => SourceLocation, "repeated"],
]);

export interface P4ErrorTypeSpec {
  readonly members: readonly string[];
}
export const P4ErrorTypeSpec: MessageType<P4ErrorTypeSpec> = new MessageType("p4.config.v1.P4ErrorTypeSpec", () => [
  [1, "members", "string", "repeated"],
]);

export type P4NewTypeTranslation_SdnString = Record<never, never>;
export const P4NewTypeTranslation_SdnString: MessageType<P4NewTypeTranslation_SdnString> = new MessageType("p4.config.v1.P4NewTypeTranslation.SdnString", () => []);

export interface P4NewTypeTranslation {
  readonly uri: string;
  readonly sdnType?:
    | { readonly case: "sdnBitwidth"; readonly value: number }
    | { readonly case: "sdnString"; readonly value: P4NewTypeTranslation_SdnString }
    | undefined;
}
export const P4NewTypeTranslation: MessageType<P4NewTypeTranslation> = new MessageType("p4.config.v1.P4NewTypeTranslation", () => [
  [1, "uri", "string"],
  [2, "sdn_bitwidth", "int32", { oneof: "sdnType" }],
  [3, "sdn_string", () => P4NewTypeTranslation_SdnString, { oneof: "sdnType" }],
]);

export interface P4NewTypeSpec {
  readonly representation?:
    | { readonly case: "originalType"; readonly value: P4DataTypeSpec }
    | { readonly case: "translatedType"; readonly value: P4NewTypeTranslation }
    | undefined;
  readonly annotations: readonly string[];
  readonly structuredAnnotations: readonly StructuredAnnotation[];
  readonly annotationLocations: readonly SourceLocation[];
}
export const P4NewTypeSpec: MessageType<P4NewTypeSpec> = new MessageType("p4.config.v1.P4NewTypeSpec", () => [
  [1, "original_type", () => P4DataTypeSpec, { oneof: "representation" }],
  [2, "translated_type", () => P4NewTypeTranslation, { oneof: "representation" }],
  [3, "annotations", "string", "repeated"],
  [4, "structured_annotations", () => StructuredAnnotation, "repeated"],
  [5, "annotation_locations", () => SourceLocation, "repeated"],
]);

export interface P4TypeInfo {
  readonly structs: Readonly<Record<string, P4StructTypeSpec>>;
  readonly headers: Readonly<Record<string, P4HeaderTypeSpec>>;
  readonly headerUnions: Readonly<Record<string, P4HeaderUnionTypeSpec>>;
  readonly enums: Readonly<Record<string, P4EnumTypeSpec>>;
  readonly error?: P4ErrorTypeSpec | undefined;
  readonly serializableEnums: Readonly<Record<string, P4SerializableEnumTypeSpec>>;
  readonly newTypes: Readonly<Record<string, P4NewTypeSpec>>;
}
export const P4TypeInfo: MessageType<P4TypeInfo> = new MessageType("p4.config.v1.P4TypeInfo", () => [
  [1, "structs", () => P4StructTypeSpec, "map"],
  [2, "headers", () => P4HeaderTypeSpec, "map"],
  [3, "header_unions", () => P4HeaderUnionTypeSpec, "map"],
  [4, "enums", () => P4EnumTypeSpec, "map"],
  [5, "error", () => P4ErrorTypeSpec],
  [6, "serializable_enums", () => P4SerializableEnumTypeSpec, "map"],
  [7, "new_types", () => P4NewTypeSpec, "map"],
]);

export interface SourceLocation {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}
export const SourceLocation: MessageType<SourceLocation> = new MessageType("p4.config.v1.SourceLocation", () => [
  [1, "file", "string"],
  [2, "line", "int32"],
  [3, "column", "int32"],
]);

export interface Expression {
  readonly value?:
    | { readonly case: "stringValue"; readonly value: string }
    | { readonly case: "int64Value"; readonly value: bigint }
    | { readonly case: "boolValue"; readonly value: boolean }
    | undefined;
}
export const Expression: MessageType<Expression> = new MessageType("p4.config.v1.Expression", () => [
  [1, "string_value", "string", { oneof: "value" }],
  [2, "int64_value", "int64", { oneof: "value" }],
  [3, "bool_value", "bool", { oneof: "value" }],
]);

export interface ExpressionList {
  readonly expressions: readonly Expression[];
}
export const ExpressionList: MessageType<ExpressionList> = new MessageType("p4.config.v1.ExpressionList", () => [
  [1, "expressions", () => Expression, "repeated"],
]);

export interface KeyValuePair {
  readonly key: string;
  readonly value?: Expression | undefined;
}
export const KeyValuePair: MessageType<KeyValuePair> = new MessageType("p4.config.v1.KeyValuePair", () => [
  [1, "key", "string"],
  [2, "value", () => Expression],
]);

export interface KeyValuePairList {
  readonly kvPairs: readonly KeyValuePair[];
}
export const KeyValuePairList: MessageType<KeyValuePairList> = new MessageType("p4.config.v1.KeyValuePairList", () => [
  [1, "kv_pairs", () => KeyValuePair, "repeated"],
]);

export interface StructuredAnnotation {
  readonly name: string;
  readonly body?:
    | { readonly case: "expressionList"; readonly value: ExpressionList }
    | { readonly case: "kvPairList"; readonly value: KeyValuePairList }
    | undefined;
  readonly sourceLocation?: SourceLocation | undefined;
}
export const StructuredAnnotation: MessageType<StructuredAnnotation> = new MessageType("p4.config.v1.StructuredAnnotation", () => [
  [1, "name", "string"],
  [2, "expression_list", () => ExpressionList, { oneof: "body" }],
  [3, "kv_pair_list", () => KeyValuePairList, { oneof: "body" }],
  [4, "source_location", () => SourceLocation],
]);
