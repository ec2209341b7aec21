import CodeBlockWriter from "code-block-writer";
import { commentLines } from "./documentation.ts";
import type { ActionLeaf, BindCall, BindingsModule, ObjectLeaf, Section, TypeDeclaration } from "./module.ts";
import { isTree, type NameTree, objectKey, typeKey } from "./names.ts";

/** Columns of a line; longer ones are broken. */
const LINE_WIDTH = 110;

/** The text of a bindings module. */
export function printModule(module: BindingsModule): string {
  const writer = new CodeBlockWriter({ indentNumberOfSpaces: 2, newLine: "\n" });
  writeDoc(writer, module.doc);
  writeImport(writer, module);
  for (const declaration of module.declarations) writeDeclaration(writer, declaration);
  writer.newLine();
  writeDoc(writer, "The actions of the program, for the tables that have them.");
  writer.write("export const actions = ");
  writeTree(writer, module.actions, writeAction);
  writer.write(";").newLine();
  writer.newLine();
  writeDoc(writer, module.bindDoc);
  // A parameter that is not used has to say so.
  writer.write(`export function bind(${module.sections.length > 0 ? "client" : "_client"}: BoundClient) `);
  writer.block(() => writeBound(writer, module.sections));
  writer.blankLine();
  writeDoc(writer, "A client with the names of the program.");
  writer.writeLine(`export type ${module.boundType} = ReturnType<typeof bind>;`);
  return `${writer.toString().trimEnd()}\n`;
}

function writeImport(writer: CodeBlockWriter, { types, functions }: BindingsModule): void {
  const isType = new Set(types);
  const names = functions.length === 0 ? types : [...types, ...functions].sort(byLetters);
  const list = names.map((name) => (isType.has(name) && functions.length > 0 ? `type ${name}` : name));
  const open = functions.length === 0 ? "import type {" : "import {";
  const line = `${open} ${list.join(", ")} } from "gradplane/p4runtime";`;
  if (line.length <= LINE_WIDTH) {
    writer.writeLine(line);
    return;
  }
  writer.writeLine(open);
  writer.indent(() => {
    for (const name of list) writer.writeLine(`${name},`);
  });
  writer.writeLine('} from "gradplane/p4runtime";');
}

/** The order in which linters want imports: letter by letter, A before a before B. */
function byLetters(a: string, b: string): number {
  const key = (name: string): string =>
    name.replace(/[A-Za-z]/g, (c) => `${c.toLowerCase()}${c < "a" ? 0 : 1}`);
  return key(a) < key(b) ? -1 : 1;
}

function writeDeclaration(writer: CodeBlockWriter, { name, doc, type }: TypeDeclaration): void {
  writer.newLine();
  writeDoc(writer, doc);
  const head = `export type ${name} =`;
  if ("members" in type) {
    writer.write(`${head} `).inlineBlock(() => {
      for (const { name: key, type: value, isOptional, doc: text } of type.members) {
        writeDoc(writer, text);
        writer.writeLine(`readonly ${typeKey(key)}${isOptional ? "?" : ""}: ${value};`);
      }
    });
    writer.write(";").newLine();
    return;
  }
  if ("generic" in type) {
    const line = `${head} ${type.generic}<${type.arguments.join(", ")}>;`;
    if (line.length <= LINE_WIDTH) writer.writeLine(line);
    else {
      writer.writeLine(`${head} ${type.generic}<`);
      writer.indent(() => writeList(writer, type.arguments, ",", ""));
      writer.writeLine(">;");
    }
    return;
  }
  const line = `${head} ${type.alternatives.join(" | ")};`;
  if (line.length <= LINE_WIDTH || type.alternatives.length === 1) {
    writer.writeLine(line);
    return;
  }
  writer.writeLine(head);
  const alternatives = type.alternatives.map((alternative) => `| ${alternative}`);
  writer.indent(() => writeList(writer, alternatives, "", ";"));
}

/** The objects of a tree as nested object literals. */
function writeTree<T>(
  writer: CodeBlockWriter,
  tree: NameTree<T>,
  writeLeaf: (writer: CodeBlockWriter, key: string, leaf: T) => void,
): void {
  if (tree.entries.size === 0) {
    writer.write("{}");
    return;
  }
  writer.inlineBlock(() => {
    for (const [name, node] of tree.entries) {
      const key = objectKey(name);
      if (isTree(node)) {
        writer.write(`${key}: `);
        writeTree(writer, node, writeLeaf);
        writer.write(",").newLine();
      } else writeLeaf(writer, key, node);
    }
  });
}

function writeAction(writer: CodeBlockWriter, key: string, leaf: ActionLeaf): void {
  writeDoc(writer, leaf.doc);
  const parameters = leaf.paramsType === undefined ? "" : `params: ${leaf.paramsType}`;
  const head = `${key}: (${parameters}): ${leaf.callType} => (`;
  writer.write(head).inlineBlock(() => {
    writer.writeLine(`action: ${JSON.stringify(leaf.name)},`);
    writer.writeLine(leaf.paramsType === undefined ? "params: {}," : "params,");
  });
  writer.write("),").newLine();
}

function writeBound(writer: CodeBlockWriter, sections: readonly Section[]): void {
  writer.write("return ").inlineBlock(() => {
    writer.writeLine("actions,");
    for (const { name, doc, content } of sections) {
      writeDoc(writer, doc);
      if ("callee" in content) {
        writeCall(writer, `${name}: `, content);
        continue;
      }
      writer.write(`${name}: `);
      writeTree(writer, content, writeObject);
      writer.write(",").newLine();
    }
  });
  writer.write(";").newLine();
}

function writeObject(writer: CodeBlockWriter, key: string, { doc, content }: ObjectLeaf): void {
  writeDoc(writer, doc);
  if ("callee" in content) {
    writeCall(writer, `${key}: `, content);
    return;
  }
  if (content.length === 0) {
    writer.writeLine(`${key}: {},`);
    return;
  }
  writer.write(`${key}: `).inlineBlock(() => {
    for (const call of content)
      writeCall(writer, call.property === undefined ? "..." : `${call.property}: `, call);
  });
  writer.write(",").newLine();
}

function writeCall(writer: CodeBlockWriter, before: string, call: BindCall): void {
  const types = call.typeArguments.length === 0 ? "" : `<${call.typeArguments.join(", ")}>`;
  const args = ["client", ...call.arguments];
  const head = `${before}${call.callee}`;
  const fits = (line: string): boolean => writer.getIndentationLevel() * 2 + line.length <= LINE_WIDTH;
  const line = `${head}${types}(${args.join(", ")}),`;
  if (fits(line)) {
    writer.writeLine(line);
  } else if (fits(`${head}${types}(`)) {
    writer.writeLine(`${head}${types}(`);
    writer.indent(() => writeList(writer, args, ",", ","));
    writer.writeLine("),");
  } else {
    writer.writeLine(`${head}<`);
    writer.indent(() => writeList(writer, call.typeArguments, ",", ""));
    writer.writeLine(`>(${args.join(", ")}),`);
  }
}

/** One element a line. */
function writeList(
  writer: CodeBlockWriter,
  elements: readonly string[],
  between: string,
  last: string,
): void {
  elements.forEach((element, index) => {
    writer.writeLine(`${element}${index === elements.length - 1 ? last : between}`);
  });
}

function writeDoc(writer: CodeBlockWriter, doc: string): void {
  if (doc === "") return;
  const lines = commentLines(doc);
  if (lines.length === 1) {
    writer.writeLine(`/** ${lines[0]} */`);
    return;
  }
  writer.writeLine("/**");
  for (const line of lines) writer.writeLine(line === "" ? " *" : ` * ${line}`);
  writer.writeLine(" */");
}
