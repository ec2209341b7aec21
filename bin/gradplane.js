#!/usr/bin/env node
// An installed package has dist/; a clone has TypeScript sources, which run put together or, where that cannot be, as they are.
import { existsSync } from "node:fs";

const isClone = existsSync(new URL("../src/cli/main.ts", import.meta.url));
const bundled = isClone ? await (await import("./bundle.js")).bundle() : undefined;
const own =
  isClone && bundled === undefined
    ? { root: new URL("../src/", import.meta.url).href, extension: "ts" }
    : { root: bundled ?? new URL("../dist/", import.meta.url).href, extension: "js" };

let learned;
const learn = () => {
  learned ??= import("./typescript.js").then(({ learnTypeScript }) => learnTypeScript(own));
  return learned;
};
// Only a verb that loads a user's program has to wait for it (src/cli/load.ts).
globalThis[Symbol.for("gradplane.learnTypeScript")] = learn;
if (own.extension === "ts") await learn();
await import(`${own.root}cli/main.${own.extension}`);
