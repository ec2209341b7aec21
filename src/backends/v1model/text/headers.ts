import { typeName } from "../../../ir/index.ts";
import { wrap } from "../../p4text/comments.ts";
import { braces, concat, type Doc, hardline, WIDTH } from "../../p4text/layout.ts";
import type { LoweredHeaderType, LoweredProgram } from "../lowered.ts";
import { documented } from "./objects.ts";

/** `header` declarations. */
export function headerTypeTexts(program: LoweredProgram): readonly Doc[] {
  return program.headerTypes.map((type) => documented(type.doc, headerTypeText(type), 0));
}

function headerTypeText(type: LoweredHeaderType): Doc {
  const declaration = braces(`header ${type.name}`, members(type.fields));
  if (type.controllerHeader === undefined) return declaration;
  return concat(`@controller_header("${type.controllerHeader}")`, hardline, declaration);
}

export function headersStruct(program: LoweredProgram): Doc {
  return braces(
    "struct headers_t",
    program.headers.map((h) => `${h.type.name} ${h.name};`),
  );
}

export function metadataStruct(program: LoweredProgram): Doc {
  return braces("struct metadata_t", members(program.source.metadata));
}

/** Fields, each with its documentation behind it, or above it where the line would be too long. */
function members(fields: LoweredHeaderType["fields"]): readonly Doc[] {
  return fields.flatMap((f) => {
    const text = `${typeName(f.type)} ${f.name};`;
    if (f.doc === undefined) return [text];
    const behind = `${text} // ${f.doc}`;
    if (behind.length + 4 <= WIDTH && !/[\r\n]/.test(f.doc)) return [behind];
    return [...wrap(f.doc, WIDTH - 7).map((l) => `// ${l}`), text];
  });
}
