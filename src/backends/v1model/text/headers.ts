import { typeName } from "../../../ir/index.ts";
import { linesAbove } from "../../p4text/annotations.ts";
import { documented, memberTexts } from "../../p4text/declarations.ts";
import { braces, concat, type Doc, hardline } from "../../p4text/layout.ts";
import { nameText } from "../../p4text/tables.ts";
import { valueSetTypes } from "../../p4text/valuesets.ts";
import type { LoweredDigest, LoweredHeaderType, LoweredProgram } from "../lowered.ts";

/** `header` declarations. */
export function headerTypeTexts(program: LoweredProgram): readonly Doc[] {
  return [
    ...program.headerTypes.map((type) => documented(type.doc, headerTypeText(type), 0)),
    ...program.unions.map((u) =>
      braces(
        `header_union ${u.type}`,
        u.members.map((m) => `${m.type.name} ${m.name};`),
      ),
    ),
    ...valueSetTypes(program.source, program.valueSetTypes),
    ...program.controls.flatMap((c) => c.digests).map((d) => documented(d.doc, digestText(d), 0)),
  ];
}

function headerTypeText(type: LoweredHeaderType): Doc {
  const declaration = braces(`header ${type.name}`, members(type.fields, type.varbit));
  if (type.controllerHeader === undefined) return declaration;
  return concat(`@controller_header("${type.controllerHeader}")`, hardline, declaration);
}

export function headersStruct(program: LoweredProgram): Doc {
  return braces("struct headers_t", [
    ...program.headers.map((h) =>
      h.elements === undefined ? `${h.type.name} ${h.name};` : `${h.type.name}[${h.elements}] ${h.name};`,
    ),
    ...program.unions.map((u) => `${u.type} ${u.name};`),
  ]);
}

export function metadataStruct(program: LoweredProgram): Doc {
  const listed = (name: string): string => {
    const ids = program.fieldLists.filter((l) => l.fields.includes(name)).map((l) => l.id);
    return ids.length === 0 ? "" : `@field_list(${ids.join(", ")}) `;
  };
  return braces(
    "struct metadata_t",
    memberTexts(
      program.metadata.map((f) => ({
        text: `${listed(f.name)}${typeName(f.type)} ${f.name};`,
        doc: f.doc,
      })),
    ),
  );
}

function members(fields: LoweredHeaderType["fields"], varbit?: LoweredHeaderType["varbit"]): readonly Doc[] {
  const fixed = fields.map((f) => ({ text: `${typeName(f.type)} ${f.name};`, doc: f.doc }));
  const last =
    varbit === undefined ? [] : [{ text: `varbit<${varbit.width}> ${varbit.name};`, doc: varbit.doc }];
  return memberTexts([...fixed, ...last]);
}

/** The control plane knows a digest by the name of its struct. */
function digestText({ name, type, fields, annotations }: LoweredDigest): Doc {
  return concat(nameText(name), hardline, linesAbove(annotations), braces(`struct ${type}`, members(fields)));
}
