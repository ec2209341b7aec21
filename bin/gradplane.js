#!/usr/bin/env node
// An installed package has dist/; a clone has TypeScript sources, which run put together.
const { existsSync } = require("node:fs");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");
const { generatorFolder } = require("./fresh.js");
const { GENERATING, hasGenerator, runGenerator, startCompiler } = require("./generator.js");

const home = join(__dirname, "..");
const dist = join(home, "dist");
const verb = process.argv[2] ?? "";
const isGenerating = GENERATING.has(verb);

if (isGenerating) startCompiler(verb);
if (existsSync(join(home, "src/cli/main.ts"))) inClone();
else if (isGenerating && hasGenerator(dist)) runGenerator(dist, verb);
else start(dist);

function inClone() {
  const folder = isGenerating ? generatorFolder(home) : undefined;
  if (folder !== undefined) {
    runGenerator(folder, verb);
    return;
  }
  putTogether().then(
    (made) => (isGenerating ? runGenerator(made, verb) : start(made)),
    (error) => {
      process.stderr.write(
        `gradplane: the sources cannot be put together (is npm ci done?): ${error.message}\n`,
      );
      process.exitCode = 2;
    },
  );
}

async function putTogether() {
  return await require("./bundle.js").modules();
}

function start(folder) {
  return import(pathToFileURL(join(folder, "cli/main.js")).href);
}
