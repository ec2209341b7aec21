import { type NamedConstant, typeName } from "../../ir/index.ts";
import { comment, endOfLine, sentence } from "./comments.ts";
import { concat, type Doc, hardline, lines, WIDTH } from "./layout.ts";
import { literal } from "./literals.ts";

/**
 * Declarations of the constants that the program's files use, one block for each group: p4c warns of others. The files are searched for the
 * names, whatever became of the expressions in which they stood.
 */
export function constantTexts(
  constants: readonly NamedConstant[],
  files: ReadonlyMap<string, string>,
): readonly Doc[] {
  const words = new Set([...files].flatMap(([path, text]) => (path === "headers.p4" ? [] : wordsOf(text))));
  const groups: NamedConstant[][] = [];
  for (const constant of constants) {
    if (!words.has(constant.name)) continue;
    const last = groups.at(-1);
    if (last !== undefined && last[0]?.group === constant.group) last.push(constant);
    else groups.push([constant]);
  }
  return groups.map(block);
}

/** Words that stand for something in scope: no comments, no annotations, no members. */
function wordsOf(text: string): readonly string[] {
  const code = text.replace(/"(?:[^"\\]|\\.)*"/g, "").replace(/\/\/.*$/gm, "");
  return code.match(/(?<![.\w])[A-Z_a-z]\w*/g) ?? [];
}

function block(group: readonly NamedConstant[]): Doc {
  const heads = group.map((k) => `const ${typeName(k.type)} ${k.name}`);
  const width = Math.max(...heads.map((h) => h.length));
  const declarations = group.flatMap((k, i) => {
    const declaration = `${(heads[i] ?? "").padEnd(width)} = ${literal(k.value, k.type, false)};`;
    if (k.doc === undefined) return [declaration];
    const behind = `${declaration} // ${endOfLine(k.doc)}`;
    return behind.length <= WIDTH && !/[\r\n]/.test(k.doc) ? [behind] : [comment(k.doc, 0), declaration];
  });
  const about = group[0]?.group;
  // A group without a description is called by the prefix of its names.
  return about === undefined || group[0]?.name.startsWith(`${about}_`.toUpperCase())
    ? lines(declarations)
    : concat(comment(sentence(about), 0), hardline, lines(declarations));
}
