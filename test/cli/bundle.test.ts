import { cpSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "./folder.ts";
import { gradplane, root } from "./gradplane.ts";

/** A clone in which the command line only says a word, and node_modules hold nothing but what makes bundles. */
function clone(word: string) {
  const folder = folderWith({ "package.json": '{ "type": "module" }' });
  cpSync(join(root, "bin"), join(folder, "bin"), { recursive: true });
  mkdirSync(join(folder, "src/cli"), { recursive: true });
  mkdirSync(join(folder, "node_modules"));
  for (const name of ["tsx", "esbuild", "@esbuild"])
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
  const say = (text: string, at: Date): void => {
    const file = join(folder, "src/cli/main.ts");
    writeFileSync(
      file,
      `const word: string = ${JSON.stringify(text)};\nconsole.log(word, import.meta.url.endsWith("dist/cli/main.js"));\n`,
    );
    utimesSync(file, at, at);
  };
  say(word, new Date(1_000_000));
  return { run: () => gradplane([], folder, join(folder, "bin/gradplane.js")), say };
}

test("a clone runs its sources put together, and anew when one has changed", async () => {
  const { run, say } = clone("first");
  expect(await run()).toMatchObject({ status: 0, stdout: "first true\n", stderr: "" });
  expect(await run()).toMatchObject({ status: 0, stdout: "first true\n" });
  say("other", new Date(2_000_000));
  expect(await run()).toMatchObject({ status: 0, stdout: "other true\n" });
}, 120_000);

test("of several that begin at once all run", async () => {
  const { run } = clone("many");
  const ended = await Promise.all([run(), run(), run()]);
  for (const e of ended) expect(e).toMatchObject({ status: 0, stdout: "many true\n", stderr: "" });
}, 120_000);
