#!/usr/bin/env node
// From a clone the TypeScript sources run as they are; an installed package has only dist/.
import { existsSync } from "node:fs";
import { register } from "tsx/esm/api";

const source = new URL("../src/cli/main.ts", import.meta.url);
process.setSourceMapsEnabled(true);
register();
await import(existsSync(source) ? source.href : new URL("../dist/cli/main.js", import.meta.url).href);
