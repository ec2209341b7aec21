import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ts } from "ts-morph";
import { describe, expect, test } from "vitest";

/** What each folder of `src/` may import from. Only the command line imports everything. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  ir: [],
  wire: [],
  p4info: [],
  numeric: ["wire"],
  dsl: ["ir", "wire", "numeric"],
  backends: ["ir", "wire", "numeric", "p4info"],
  p4runtime: ["p4info"],
  switch: ["p4info", "p4runtime"],
  host: ["wire", "numeric"],
  controller: ["wire", "numeric", "p4info", "p4runtime", "host"],
  lab: ["wire", "numeric", "p4info", "p4runtime", "host", "switch", "controller"],
  testing: ["p4info", "p4runtime", "switch"],
  // The public door.
  "index.ts": ["dsl"],
};
const unbound = ["cli"];

/** Packages of the folders that do no I/O: without these they have no socket, timer, clock or file at hand. */
const mayUsePackage: Readonly<Record<string, readonly string[]>> = {
  ir: ["node:path"],
  wire: [],
  numeric: [],
  p4info: ["google-protobuf"],
  dsl: ["node:module", "node:url"],
  "switch/engine": [],
};

const root = fileURLToPath(new URL("../..", import.meta.url));
const src = join(root, "src");

interface Import {
  /** Path below `src/`. */
  readonly from: string;
  /** Path below `src/`, or the name of a package. */
  readonly to: string;
  readonly isPackage: boolean;
  readonly place: string;
}

function sources(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((f) => /\.[cm]?[jt]s$/.test(f));
}

/** Every import, re-export, dynamic import and `import("...")` type of a file. */
function importsOf(path: string): readonly Import[] {
  const file = ts.createSourceFile(path, readFileSync(join(src, path), "utf8"), ts.ScriptTarget.Latest, true);
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    const name = moduleOf(node);
    if (name !== undefined) {
      const isPackage = !name.startsWith(".");
      const { line } = file.getLineAndCharacterOfPosition(node.getStart());
      found.push({
        from: path,
        to: isPackage ? name : relative(src, resolve(src, dirname(path), name)),
        isPackage,
        place: `src/${path}:${line + 1} imports ${name}`,
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function moduleOf(node: ts.Node): string | undefined {
  const at = (n: ts.Node | undefined): string | undefined =>
    n !== undefined && ts.isStringLiteralLike(n) ? n.text : undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return at(node.moduleSpecifier);
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return at(node.argument.literal);
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return at(node.arguments[0]);
  return undefined;
}

const folderOf = (path: string): string => path.split("/")[0] ?? path;
const imports = sources(src).flatMap(importsOf);
const within = imports.filter((i) => !i.isPackage);
const across = within.filter((i) => folderOf(i.from) !== folderOf(i.to));

describe("imports point downwards only", () => {
  test("every folder of src/ has its place in the table", () => {
    const known = [...Object.keys(mayImport), ...unbound];
    expect(readdirSync(src).filter((f) => !known.includes(f))).toEqual([]);
  });

  test.each(Object.entries(mayImport))("%s imports only %j", (folder, allowed) => {
    const wrong = across.filter((i) => folderOf(i.from) === folder && !allowed.includes(folderOf(i.to)));
    expect(wrong.map((i) => i.place)).toEqual([]);
  });

  test("there is no circle between folders", () => {
    const next = (folder: string): readonly string[] => [
      ...new Set(across.filter((i) => folderOf(i.from) === folder).map((i) => folderOf(i.to))),
    ];
    const circles: string[] = [];
    const visit = (folder: string, path: readonly string[]): void => {
      if (path.includes(folder)) circles.push([...path.slice(path.indexOf(folder)), folder].join(" -> "));
      else for (const n of next(folder)) visit(n, [...path, folder]);
    };
    for (const folder of readdirSync(src)) visit(folder, []);
    expect(circles).toEqual([]);
  });

  test("relative imports stay within src/", () => {
    expect(within.filter((i) => i.to.startsWith("..")).map((i) => i.place)).toEqual([]);
  });

  test("the package does not import itself by its name", () => {
    expect(imports.filter((i) => /^gradplane(\/|$)/.test(i.to)).map((i) => i.place)).toEqual([]);
  });

  test("the imports are really read", () => {
    const edges = new Set(across.map((i) => `${folderOf(i.from)} -> ${folderOf(i.to)}`));
    for (const edge of ["dsl -> ir", "backends -> ir", "numeric -> wire", "index.ts -> dsl"]) {
      expect(edges).toContain(edge);
    }
    expect(imports.filter((i) => i.isPackage).map((i) => i.to)).toContain("google-protobuf");
  });
});

describe("folders without I/O", () => {
  test.each(Object.entries(mayUsePackage))("%s uses only packages %j", (folder, allowed) => {
    const wrong = imports.filter(
      (i) => i.isPackage && i.from.startsWith(`${folder}/`) && !allowed.some((p) => isOf(p, i.to)),
    );
    expect(wrong.map((i) => i.place)).toEqual([]);
  });
});

function isOf(packageName: string, specifier: string): boolean {
  return specifier === packageName || specifier.startsWith(`${packageName}/`);
}

test("no file or folder is named after nothing in particular", () => {
  const vague = /^(utils?|helpers?|commons?|misc|shared)\b/;
  const folders = ["src", "test", "examples", "bench"].filter((f) => existsSync(join(root, f)));
  const files = folders.flatMap((f) => sources(join(root, f)).map((s) => `${f}/${s}`));
  expect(files.filter((f) => f.split("/").some((part) => vague.test(part)))).toEqual([]);
});
