import { emittedPaths, valueSetsOf, widthOf } from "../../../ir/index.ts";
import type { LoweredProgram } from "../lowered.ts";
import { Actions, addAction } from "./actionlist.ts";
import { CLONE_FIELD_LIST, digestField } from "./actions.ts";
import { Calculations } from "./calculations.ts";
import { checksums } from "./checksums.ts";
import { headerSections, standardMetadataFields } from "./headers.ts";
import { type Json, type JsonObject, jsonText } from "./json.ts";
import { errorsOf, parser } from "./parser.ts";
import { PipelineWriter } from "./pipeline.ts";
import { Scalars } from "./scalars.ts";
import { metadataField, SCALARS } from "./values.ts";

/** Version of the format (behavioral-model, docs/JSON_format.md) that this document follows. */
const FORMAT_VERSION = [2, 23] as const;

/**
 * The BMv2 JSON of a program, for simple_switch and the embedded switch. It does what p4c's JSON of the emitted P4 does;
 * names of tables, actions, registers, counters and headers are the same, those of temporaries are not.
 */
export function bmv2Document(program: LoweredProgram): JsonObject {
  const scalars = new Scalars(program.metadata);
  const calculations = new Calculations();
  const sums = checksums(program, calculations);
  const digests = program.controls.flatMap((c) => c.digests);
  const parts = { scalars, calculations, digests: digests.map((d) => d.name) };
  const actions = new Actions();
  const controls = new Map(program.controls.map((c) => [c.name, c]));
  for (const c of program.controls) for (const a of c.actions) addAction(a, c, actions, parts);

  const parsed = parser(program, scalars);
  const ids = { tables: 0, conditionals: 0, actionProfiles: 0 };
  const pipelines = [program.ingress, program.egress].map((p, id) =>
    new PipelineWriter(p.gress, controls, actions, parts, ids).write(p.block, id),
  );

  return {
    ...headerSections(program, scalars),
    header_union_stacks: [],
    field_lists: [
      ...(usesClone(actions) ? [{ id: CLONE_FIELD_LIST, name: "fl", elements: [] }] : []),
      ...program.fieldLists.map(({ id, fields }) => ({
        ...{ id, name: `fl_${id}` },
        elements: fields.map((name) => ({ type: "field", value: [SCALARS, metadataField(name)] })),
      })),
    ],
    errors: errorsOf(program).map((name, number) => [name, number]),
    enums: [],
    parsers: [parsed],
    parse_vsets: valueSetsOf(program.source).map(({ name, size, fields }, id) => ({
      ...{ name, id, max_size: size },
      compressed_bitwidth: fields.reduce((sum, f) => sum + widthOf(f.type), 0),
    })),
    deparsers: [{ name: "deparser", id: 0, order: emittedPaths(program.source), primitives: [] }],
    meter_arrays: meterArrays(program),
    counter_arrays: counterArrays(program),
    register_arrays: program.controls
      .flatMap((c) => c.registers)
      .map((r, id) => ({ name: r.name, id, size: r.size, bitwidth: widthOf(r.storage) })),
    calculations: calculations.list(),
    learn_lists: digests.map((d, i) => ({
      id: i + 1,
      name: d.name,
      elements: d.fields.map((f) => ({ type: "field", value: [SCALARS, digestField(d, f.name)] })),
    })),
    actions: actions.list(),
    pipelines,
    checksums: sums,
    force_arith: [],
    extern_instances: [],
    field_aliases: standardMetadataFields.flatMap(([name, , alias]) =>
      alias === undefined ? [] : [[alias, ["standard_metadata", name]]],
    ),
    program: `${program.source.name}.p4`,
    __meta__: { version: FORMAT_VERSION, compiler: "gradplane" },
  };
}

/** The document as text. */
export function bmv2Json(program: LoweredProgram): string {
  return jsonText(bmv2Document(program));
}

function usesClone(actions: Actions): boolean {
  return JSON.stringify(actions.list()).includes('"clone_ingress_pkt_to_egress"');
}

function counterArrays(program: LoweredProgram): readonly Json[] {
  const arrays: JsonObject[] = [];
  for (const c of program.controls) {
    for (const counter of c.counters)
      arrays.push({ name: counter.name, id: arrays.length, size: counter.size, is_direct: false });
    for (const direct of c.directCounters)
      arrays.push({ name: direct.name, id: arrays.length, is_direct: true, binding: direct.table });
  }
  return arrays;
}

function meterArrays(program: LoweredProgram): readonly Json[] {
  const arrays: JsonObject[] = [];
  for (const c of program.controls) {
    for (const { name, unit, size } of c.meters)
      arrays.push({ name, id: arrays.length, is_direct: false, size, rate_count: 2, type: unit });
    for (const { name, unit, size, table, into } of c.directMeters)
      arrays.push({
        ...{ name, id: arrays.length, is_direct: true, rate_count: 2, type: unit, size, binding: table },
        result_target: [SCALARS, metadataField(into.name)],
      });
  }
  return arrays;
}
