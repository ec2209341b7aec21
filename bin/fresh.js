// Whether what was put together of a clone is still what its sources say. As fast as it goes: every start asks.
const { readFileSync, realpathSync, statSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");

/** Where a clone keeps what is put together. Modules are known by their real paths, and node_modules may be a link. */
function cacheOf(clone) {
  return join(realpathSync.native(join(clone, "node_modules")), ".cache/gradplane");
}

/** The part of its names that is the clone's own. */
function nameOf(clone) {
  return clone.replace(/\W+/g, "-").slice(-100);
}

function listOf(clone) {
  return join(cacheOf(clone), `${nameOf(clone)}.json`);
}

/** What tells that a file has changed. */
function stateOf(path) {
  const { mtimeMs, size } = statSync(path);
  return [path, mtimeMs, size];
}

/** The folder that has the generator as the sources are now; undefined when it is to be made. */
function generatorFolder(clone) {
  try {
    const { of, folder, inputs } = JSON.parse(readFileSync(listOf(clone), "utf8"));
    if (of !== clone) return undefined;
    for (const [path, mtimeMs, size] of inputs) {
      const now = statSync(path);
      if (now.mtimeMs !== mtimeMs || now.size !== size) return undefined;
    }
    statSync(join(folder, "generator/all.cjs"));
    return folder;
  } catch {
    return undefined;
  }
}

/** @param inputs the files that the generator was made of, as `stateOf` had them before */
function noteGenerator(clone, folder, inputs) {
  writeFileSync(listOf(clone), JSON.stringify({ of: clone, folder, inputs }));
}

module.exports = { cacheOf, generatorFolder, nameOf, noteGenerator, stateOf };
