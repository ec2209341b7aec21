import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { folderWith } from "./folder.ts";
import { gradplane } from "./gradplane.ts";
import { RIGHT } from "./programs.ts";

describe("a user's program that cannot be loaded", { timeout: 60_000 }, () => {
  const place = (file: string, line: number, column: number): string => `  --> ${file}:${line}:${column}\n`;

  test.each([
    ["is no TypeScript", "export default {{;\n", 'Expected identifier but found "{"', place("p.ts", 1, 17)],
    [
      "throws",
      'interface A { readonly a: number }\n\nfunction f(a: A): never {\n  throw new RangeError("no " + a.a);\n}\nf({ a: 3 });\n',
      "RangeError: no 3",
      place("p.ts", 4, 9),
    ],
    ["throws what is no error", 'throw "all away";\n', 'it throws "all away"', ""],
    [
      "leaves a rejection to nobody",
      'Promise.reject(new Error("later"));\nexport default await new Promise(() => {});\n',
      "Error: later",
      place("p.ts", 1, 16),
    ],
    [
      "imports a file that is not there",
      'import { y } from "./nowhere.js";\nexport default y;\n',
      'Could not resolve "./nowhere.js"',
      place("p.ts", 1, 19),
    ],
    [
      "imports a package that is not there",
      'import y from "no-such-package";\nexport default y;\n',
      'Could not resolve "no-such-package"',
      place("p.ts", 1, 15),
    ],
    [
      "imports a name that gradplane does not have",
      'import {\n  hotAgregation } from "gradplane";\nexport default hotAgregation;\n',
      '"gradplane" has no export "hotAgregation" (did you mean "hotAggregation"?)',
      place("p.ts", 2, 3),
    ],
    [
      "misspells a member",
      "const f: any = {};\nf.port.eq(3);\n",
      "TypeError: Cannot read properties of undefined (reading 'eq'); something that is used or handed over there is undefined: is its name spelt right?",
      place("p.ts", 2, 8),
    ],
    ["exports nothing", "export const x = 3;\n", "", 'p.ts has no program: write "export default program('],
    ["exports a number", "export default 3;\n", "", 'p.ts has no program: write "export default program('],
  ])("because it %s: the message has the place, and no stack of ours", async (_, text, message, at) => {
    const { status, stdout, stderr } = await gradplane(["build", "p.ts"], folderWith({ "p.ts": text }));
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(
      stderr.startsWith(`gradplane: p.ts ${message === "" ? "has no" : `could not be loaded: ${message}`}`),
    ).toBe(true);
    expect(stderr).toContain(at);
    expect(stderr).not.toMatch(/^ {4}at /m);
  });
});

describe("a user's program", { timeout: 60_000 }, () => {
  test("may consist of many files, know where they lie, and use packages of its own", async () => {
    const folder = folderWith({
      "main.ts": `import { name } from "./name.js";
import odd from "odd";
import data from "./data.json";
import right from "./right.ts";
import { isBuiltin } from "node:module";
if (name !== "name.ts" || odd !== 3 || data.x !== 7 || !isBuiltin("fs")) throw new Error(String([name, odd, data]));
export default right;
`,
      "name.ts": `import { basename } from "path";
export const name: string = basename(import.meta.filename);
if (!import.meta.url.endsWith("/name.ts")) throw new Error(import.meta.url);
`,
      "data.json": '{ "x": 7 }',
      "right.ts": RIGHT,
    });
    const home = join(folder, "node_modules/odd");
    mkdirSync(home, { recursive: true });
    writeFileSync(
      join(home, "package.json"),
      '{ "name": "odd", "module": "bundlers.js", "main": "index.js" }',
    );
    writeFileSync(join(home, "index.js"), "module.exports = 3;");
    writeFileSync(join(home, "bundlers.js"), "export default 4;");
    expect(await gradplane(["check", "main.ts"], folder)).toMatchObject({ status: 0, stderr: "" });
  });

  test("is known by the name under which it was asked for, also through a link", async () => {
    const folder = folderWith({ "p.ts": RIGHT });
    symlinkSync(join(folder, "p.ts"), join(folder, "link.ts"));
    const { status, stdout } = await gradplane(["check", "link.ts"], folder);
    expect({ status, stdout }).toEqual({ status: 0, stdout: "link.ts: 0 errors, 0 warnings\n" });
  });
});
