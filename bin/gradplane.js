#!/usr/bin/env node
// From a clone the TypeScript sources run as they are; an installed package has only dist/.
import { existsSync } from "node:fs";
import { register as registerHooks } from "node:module";
import { register as registerTypeScript } from "tsx/esm/api";

const fromClone = existsSync(new URL("../src/cli/main.ts", import.meta.url));
const root = new URL(fromClone ? "../src/" : "../dist/", import.meta.url).href;
const extension = fromClone ? "ts" : "js";

process.setSourceMapsEnabled(true);
registerTypeScript();
registerHooks("./resolve.js", import.meta.url, { data: { root, extension } });
await import(`${root}cli/main.${extension}`);
