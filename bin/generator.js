// Runs the verbs that generate from one script, with the code that V8 made of it in an earlier run of the same verb.
const { existsSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const Module = require("node:module");
const { dirname, join } = require("node:path");
const vm = require("node:vm");

/** Verbs that generate, and have nothing to do with switches that run; true for those that read a program. */
const GENERATING = new Map([
  ["build", true],
  ["check", true],
  ["fit", true],
  ["dissector", true],
  ["where", false],
  ["bindings", false],
]);

/** The compiler for TypeScript starts as a process beside this one. */
function startCompiler(verb) {
  if (!GENERATING.get(verb)) return;
  try {
    require("esbuild").initialize({});
  } catch {
    // Whoever needs it says that it is not there.
  }
}

function scriptIn(modules) {
  return join(modules, "generator/all.cjs");
}

function hasGenerator(modules) {
  return existsSync(scriptIn(modules));
}

/** @param modules folder with gradplane's modules */
function runGenerator(modules, verb) {
  const path = scriptIn(modules);
  const kept = `${path}-${verb}-${process.version}`;
  const cachedData = contents(kept);
  // It is ASCII, and read fastest so.
  const script = new vm.Script(Module.wrap(readFileSync(path, "latin1")), { filename: path, cachedData });
  if (cachedData === undefined || script.cachedDataRejected) process.once("exit", () => keep(kept, script));
  const module = new Module(path);
  // Users' programs import its parts by the same name.
  require.cache[path] = module;
  script.runInThisContext()(module.exports, Module.createRequire(path), module, path, dirname(path));
}

function contents(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/** For the next run; where nobody may write, that takes its time again. */
function keep(path, script) {
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, script.createCachedData());
    renameSync(draft, path);
  } catch {}
}

module.exports = { GENERATING, hasGenerator, runGenerator, startCompiler };
