import { createRequire } from "node:module";
import type { Identifier, SourceFile, Statement } from "ts-morph";

/** Brings new bindings into a file in which somebody has written something of his own below older ones. */

const OWN_MODULE = "gradplane/p4runtime";

export interface Merged {
  readonly text: string;
  /** Names that the file's own statements use and the bindings no longer have. */
  readonly gone: readonly { readonly name: string; readonly line: number }[];
}

/**
 * The file with its bindings replaced by `fresh`, a module that `bindingsModule` made. What stands below the old bindings stays, with
 * the imports that are not the bindings' own. Undefined when the file has no bindings.
 */
export function bindingsInto(existing: string, fresh: string): Merged | undefined {
  const { Project } = tsMorph();
  const project = new Project({ useInMemoryFileSystem: true, skipLoadingLibFiles: true });
  const old = project.createSourceFile("old.ts", existing);
  const last = lastGenerated(old);
  if (last === undefined) return undefined;
  const own = old.getStatements().filter((statement) => statement.getPos() >= last.getEnd());
  const made = project.createSourceFile("new.ts", fresh);
  keepImports(old, made, own);
  const kept = existing.slice(last.getEnd()).trim();
  const text = made.getFullText().trimEnd();
  return { text: `${text}\n${kept === "" ? "" : `\n${kept}\n`}`, gone: goneNames(old, made, last, own) };
}

/** The type of a bound client ends what is generated. */
function lastGenerated(file: SourceFile): Statement | undefined {
  return file
    .getTypeAliases()
    .find((alias) => alias.isExported() && alias.getTypeNode()?.getText() === "ReturnType<typeof bind>");
}

function keepImports(old: SourceFile, made: SourceFile, own: readonly Statement[]): void {
  const used = new Set(own.flatMap((statement) => identifiersOf(statement).map((id) => id.getText())));
  for (const declaration of old.getImportDeclarations()) {
    if (declaration.getModuleSpecifierValue() !== OWN_MODULE) {
      if (!own.some((statement) => statement === declaration))
        made.addImportDeclaration(declaration.getStructure());
      continue;
    }
    const theirs = made.getImportDeclaration(OWN_MODULE);
    const has = new Set(theirs?.getNamedImports().map((named) => named.getName()));
    const isTypes = declaration.isTypeOnly();
    const missing = declaration
      .getNamedImports()
      .filter((named) => used.has(named.getAliasNode()?.getText() ?? named.getName()))
      .filter((named) => named.getAliasNode() !== undefined || !has.has(named.getName()))
      .map((named) => ({ ...named.getStructure(), isTypeOnly: isTypes || named.isTypeOnly() }));
    if (missing.length > 0) made.addImportDeclaration({ moduleSpecifier: OWN_MODULE, namedImports: missing });
  }
}

function goneNames(
  old: SourceFile,
  made: SourceFile,
  last: Statement,
  own: readonly Statement[],
): Merged["gone"] {
  const lost = new Set(declared(old, last.getEnd()));
  for (const name of declared(made, made.getEnd())) lost.delete(name);
  return own
    .flatMap(identifiersOf)
    .filter((id) => lost.has(id.getText()))
    .map((id) => ({ name: id.getText(), line: id.getStartLineNumber() }));
}

/** Names that statements up to a place export. */
function declared(file: SourceFile, end: number): readonly string[] {
  return [...file.getExportedDeclarations()]
    .filter(([, nodes]) => nodes.some((node) => node.getEnd() <= end))
    .map(([name]) => name);
}

/** Names that mean something by themselves: not those behind a dot, and not keys. */
function identifiersOf(statement: Statement): readonly Identifier[] {
  const { Node, SyntaxKind } = tsMorph();
  return statement.getDescendantsOfKind(SyntaxKind.Identifier).filter((id) => {
    const parent = id.getParent();
    if (Node.isPropertyAccessExpression(parent)) return parent.getNameNode() !== id;
    return (
      !(Node.isPropertyAssignment(parent) || Node.isPropertySignature(parent)) || parent.getNameNode() !== id
    );
  });
}

/** Loaded when it is wanted, which takes a while; by require, since import would first look through its 12 MB for what they export. */
function tsMorph(): typeof import("ts-morph") {
  return createRequire(import.meta.url)("ts-morph");
}
