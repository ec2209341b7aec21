import type { CodeBlockWriter, StatementStructures } from "ts-morph";
import type { ActionLeaf, BindCall, BindingsModule, ObjectLeaf, Section, TypeDeclaration } from "./module.ts";
import { isTree, type NameTree, objectKey, typeKey } from "./names.ts";

/** Columns of a line; longer ones are broken. */
const LINE_WIDTH = 110;

/** The text of a bindings module. ts-morph is loaded here, so that only those who make bindings wait for it. */
export async function printModule(module: BindingsModule): Promise<string> {
  const { IndentationText, Project, QuoteKind, StructureKind, VariableDeclarationKind } = await import(
    "ts-morph"
  );
  const project = new Project({
    useInMemoryFileSystem: true,
    skipLoadingLibFiles: true,
    manipulationSettings: { indentationText: IndentationText.TwoSpaces, quoteKind: QuoteKind.Double },
  });
  const statements: (StatementStructures | ((writer: CodeBlockWriter) => void))[] = [
    (writer) => writeDoc(writer, module.doc),
    (writer) => writeImport(writer, module),
    ...module.declarations.map(
      (declaration): StatementStructures => ({
        kind: StructureKind.TypeAlias,
        isExported: true,
        name: declaration.name,
        docs: docsOf(declaration.doc),
        leadingTrivia: (writer) => writer.newLine(),
        type: (writer) => afterEquals(writer, () => writeType(writer, declaration)),
      }),
    ),
    {
      kind: StructureKind.VariableStatement,
      isExported: true,
      declarationKind: VariableDeclarationKind.Const,
      leadingTrivia: (writer) => writer.newLine(),
      docs: docsOf("The actions of the program, for the tables that have them."),
      declarations: [
        {
          name: "actions",
          initializer: (writer) => afterEquals(writer, () => writeTree(writer, module.actions, writeAction)),
        },
      ],
    },
    {
      kind: StructureKind.Function,
      isExported: true,
      name: "bind",
      parameters: [{ name: "client", type: "BoundClient" }],
      docs: docsOf(module.bindDoc),
      statements: (writer) => writeBound(writer, module.sections),
    },
    {
      kind: StructureKind.TypeAlias,
      isExported: true,
      name: module.boundType,
      docs: docsOf("A client with the names of the program."),
      type: "ReturnType<typeof bind>",
    },
  ];
  return `${project.createSourceFile("bindings.ts", { statements }).getFullText().trimEnd()}\n`;
}

/** By itself ts-morph would indent the inside of a block once more, since it hangs below the equals sign. */
function afterEquals(writer: CodeBlockWriter, write: () => void): void {
  writer.hangingIndentUnlessBlock(write);
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

function writeType(writer: CodeBlockWriter, { name, type }: TypeDeclaration): void {
  if ("members" in type) {
    if (type.members.length === 0) {
      writer.write("Readonly<Record<never, never>>");
      return;
    }
    writer.inlineBlock(() => {
      for (const member of type.members) {
        writeDoc(writer, member.doc);
        writer.writeLine(`readonly ${typeKey(member.name)}${member.isOptional ? "?" : ""}: ${member.type};`);
      }
    });
    return;
  }
  const line = type.alternatives.join(" | ");
  if (`export type ${name} = ${line};`.length <= LINE_WIDTH) writer.write(line);
  else if (type.alternatives.length === 1) writer.write(line);
  else for (const alternative of type.alternatives) writer.newLine().write(`| ${alternative}`);
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
  const head = `${before}${call.callee}${types}(`;
  const line = `${head}${args.join(", ")}),`;
  if (writer.getIndentationLevel() * 2 + line.length <= LINE_WIDTH) {
    writer.writeLine(line);
    return;
  }
  writer.writeLine(head);
  writer.indent(() => {
    for (const argument of args) writer.writeLine(`${argument},`);
  });
  writer.writeLine("),");
}

function writeDoc(writer: CodeBlockWriter, doc: string): void {
  if (doc === "") return;
  const lines = doc.split("\n");
  if (lines.length === 1) {
    writer.writeLine(`/** ${doc} */`);
    return;
  }
  writer.writeLine("/**");
  for (const line of lines) writer.writeLine(line === "" ? " *" : ` * ${line}`);
  writer.writeLine(" */");
}

/** One line stays on one line; several begin below the opening. */
function docsOf(doc: string): string[] {
  if (doc === "") return [];
  return [doc.includes("\n") ? `\n${doc}` : doc];
}
