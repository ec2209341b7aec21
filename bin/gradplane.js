#!/usr/bin/env node
// An installed package has dist/; a clone has TypeScript sources, which run put together.
import { existsSync } from "node:fs";

const isClone = existsSync(new URL("../src/cli/main.ts", import.meta.url));
const modules = isClone ? await clone() : new URL("../dist/", import.meta.url).href;
if (modules !== undefined) await import(`${modules}cli/main.js`);

async function clone() {
  try {
    return await (await import("./bundle.js")).bundle();
  } catch (error) {
    process.stderr.write(
      `gradplane: the sources cannot be put together (is npm ci done?): ${error.message}\n`,
    );
    process.exitCode = 2;
    return undefined;
  }
}
