import type { Program } from "../../ir/index.ts";
import { typeName, valueSetsOf } from "../../ir/index.ts";
import { documented, memberTexts, objectTexts } from "./declarations.ts";
import { braces, type Doc, INDENT, render } from "./layout.ts";

/** The declarations of value sets, as they stand at the beginning of a parser; types by the names of the sets. */
export function valueSetTexts(program: Program, types: ReadonlyMap<string, string>): readonly string[] {
  return objectTexts(
    valueSetsOf(program).map((v) => ({
      name: v.name,
      doc: v.doc,
      text: `value_set<${types.get(v.name) ?? v.name}>(${v.size}) ${v.name};`,
    })),
  ).map((d) => render(d, INDENT));
}

/** The structs of the values in sets: their fields are match fields for the control plane. */
export function valueSetTypes(program: Program, types: ReadonlyMap<string, string>): readonly Doc[] {
  return valueSetsOf(program).map((v) =>
    documented(
      `Values in ${v.name}.`,
      braces(
        `struct ${types.get(v.name) ?? v.name}`,
        memberTexts(v.fields.map((f) => ({ text: `${typeName(f.type)} ${f.name};` }))),
      ),
      0,
    ),
  );
}
