import type { DataType } from "../../../ir/index.ts";
import { bit, memberPath, pathsOf, widthOf } from "../../../ir/index.ts";
import type { LoweredHeader, LoweredHeaderType, LoweredProgram } from "../lowered.ts";
import type { Json, JsonObject } from "./json.ts";
import { fieldList, type Scalars } from "./scalars.ts";
import { SCALARS } from "./values.ts";

/** v1model's standard_metadata, with the names under which simple_switch looks for some of its fields. */
export const standardMetadataFields: readonly (readonly [name: string, type: DataType, alias?: string])[] = [
  ["ingress_port", bit(9)],
  ["egress_spec", bit(9)],
  ["egress_port", bit(9)],
  ["instance_type", bit(32)],
  ["packet_length", bit(32)],
  ["enq_timestamp", bit(32), "queueing_metadata.enq_timestamp"],
  ["enq_qdepth", bit(19), "queueing_metadata.enq_qdepth"],
  ["deq_timedelta", bit(32), "queueing_metadata.deq_timedelta"],
  ["deq_qdepth", bit(19), "queueing_metadata.deq_qdepth"],
  ["ingress_global_timestamp", bit(48), "intrinsic_metadata.ingress_global_timestamp"],
  ["egress_global_timestamp", bit(48), "intrinsic_metadata.egress_global_timestamp"],
  ["mcast_grp", bit(16), "intrinsic_metadata.mcast_grp"],
  ["egress_rid", bit(16), "intrinsic_metadata.egress_rid"],
  ["checksum_error", bit(1)],
  ["parser_error", bit(32)],
  ["priority", bit(3), "intrinsic_metadata.priority"],
];

/** Header types, instances, stacks and unions. The scalars must be complete. */
export function headerSections(program: LoweredProgram, scalars: Scalars): JsonObject {
  const instances = [
    { name: SCALARS, type: "scalars_0", metadata: true },
    { name: "standard_metadata", type: "standard_metadata", metadata: true },
    ...program.headers.flatMap((h) => pathsOfHeader(h).map((path) => instance(path, h.type))),
    ...program.unions.flatMap((u) => u.members.map((m) => instance(memberPath(u.name, m.name), m.type))),
  ];
  const ids = new Map(instances.map((h, id) => [h.name, id]));
  const idsOf = (paths: readonly string[]): readonly number[] => paths.map((path) => ids.get(path) ?? 0);
  const types: readonly {
    readonly name: string;
    readonly fields: readonly Json[];
    readonly bytes?: number;
  }[] = [
    { name: "scalars_0", fields: scalars.fieldList() },
    ...program.headerTypes.map((t) => headerType(t)),
    {
      name: "standard_metadata",
      fields: fieldList(standardMetadataFields.map(([name, type]) => ({ name, type }))),
    },
  ];
  return {
    header_types: types.map((t, id) => ({
      name: t.name,
      id,
      fields: t.fields,
      ...(t.bytes === undefined ? {} : { max_length: t.bytes }),
    })),
    headers: instances.map((h, id) => ({
      name: h.name,
      id,
      header_type: h.type,
      metadata: h.metadata,
      pi_omit: true,
    })),
    header_stacks: program.headers
      .filter((h) => h.elements !== undefined)
      .map((h, id) => ({
        name: h.name,
        id,
        header_type: h.type.name,
        size: h.elements ?? 0,
        header_ids: idsOf(pathsOfHeader(h)),
      })),
    header_union_types: program.unions.map((u, id) => ({
      name: u.type,
      id,
      headers: u.members.map((m) => [m.name, m.type.name]),
    })),
    header_unions: program.unions.map((u, id) => ({
      name: u.name,
      id,
      union_type: u.type,
      header_ids: idsOf(u.members.map((m) => memberPath(u.name, m.name))),
      pi_omit: true,
    })),
  };
}

function headerType({ name, fields, varbit }: LoweredHeaderType) {
  if (varbit === undefined) return { name, fields: fieldList(fields) };
  const bits = fields.reduce((sum, f) => sum + widthOf(f.type), varbit.width);
  return { name, fields: [...fieldList(fields), [varbit.name, "*"]], bytes: bits / 8 };
}

function instance(name: string, type: LoweredHeaderType) {
  return { name, type: type.name, metadata: false };
}

function pathsOfHeader(h: LoweredHeader): readonly string[] {
  return pathsOf({ ...h, headerType: h.type.name });
}
