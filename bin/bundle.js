// The sources of a clone put together into few modules, which load many times faster than some hundred TypeScript files one by one.
// Made again whenever a source has changed, and kept in node_modules/.cache.
const { createHash } = require("node:crypto");
const {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require("node:fs");
const { dirname, join, relative, resolve, sep } = require("node:path");
const { pathToFileURL } = require("node:url");
const { cacheOf, nameOf, noteGenerator, stateOf } = require("./fresh.js");

const clone = join(__dirname, "..");
const sources = join(clone, "src");
const A_DAY = 86_400_000;

/** Modules that ask where they themselves lie; the others look for files of the clone, as they would from dist/. */
const ABOUT_THEMSELVES = /(?:dsl[\\/]callsite|cli[\\/](?:load|programfault)|linux[\\/]linux-port)\.ts$/;
/** Modules of threads: they are loaded by their own names. */
const THREADS = [join("linux", "receiver.ts")];
/** What has binaries, files of its own, or is seldom wanted and large. */
const EXTERNAL = ["@grpc/grpc-js", "esbuild", "etcd3", "koffi", "ts-morph", "yaml"];

/** The folder with the bundle, made when it is not there. */
async function modules() {
  const states = [...sourcesBelow(sources), ...sourcesBelow(__dirname)].map(stateOf);
  const key = createHash("sha256").update(JSON.stringify(states)).digest("hex").slice(0, 16);
  const folder = join(cacheOf(clone), `${nameOf(clone)}-${key}`);
  if (!existsSync(join(folder, "cli/main.js"))) await make(states, folder);
  return folder;
}

function sourcesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sourcesBelow(path);
    return /\.(?:ts|js)$/.test(entry.name) ? [path] : [];
  });
}

async function make(states, folder) {
  // Several processes may begin at once: the first to finish wins, and nobody sees half of it.
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  // Else the modules would take what they are from the place of the clone.
  writeFileSync(join(draft, "package.json"), '{ "type": "module" }\n');
  const esbuild = require("esbuild");
  const files = states.map(([path]) => path).filter((path) => path.startsWith(sources));
  const doors = await makeModules(esbuild, files, { draft, folder });
  const inputs = await makeGenerator(esbuild, doors, { draft, folder, dist: join(clone, "dist") });
  // Its process would stay beside this one.
  await esbuild.stop();
  try {
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  noteGenerator(
    clone,
    folder,
    states.filter(([path]) => inputs.has(path) || path.startsWith(__dirname)),
  );
  removeOld(folder);
}

/** The generator of a package, into its folder of compiled modules. */
async function packaged(folder) {
  const dist = resolve(folder);
  const esbuild = require("esbuild");
  const doors = await makeModules(esbuild, sourcesBelow(sources), {});
  await makeGenerator(esbuild, doors, { draft: dist, folder: dist, dist });
  await esbuild.stop();
}

/** Modules for each door, and the command line, when there is a draft to write them to. Returns what each door exports. */
async function makeModules({ build }, files, { draft, folder = sources }) {
  const doors = files.filter((f) => /(?:^|[\\/])index\.ts$/.test(f));
  const others = files.filter((f) => THREADS.some((t) => f.endsWith(t)));
  const place = (path) => {
    const base = ABOUT_THEMSELVES.test(path) ? folder : join(clone, "dist");
    return JSON.stringify(pathToFileURL(join(base, inJavaScript(path))).href);
  };
  const { metafile } = await build({
    ...COMMON,
    entryPoints: [...doors, ...others, join(sources, "cli/main.ts")],
    outbase: sources,
    outdir: draft ?? folder,
    write: draft !== undefined,
    splitting: true,
    format: "esm",
    metafile: true,
    plugins: [places(place)],
  });
  const outputs = Object.values(metafile.outputs);
  return doors.map((door) => {
    const made = outputs.find(({ entryPoint }) => entryPoint && resolve(entryPoint) === door);
    return { path: inJavaScript(door).split(sep).join("/"), names: made?.exports ?? [] };
  });
}

/**
 * The script of the verbs that generate, and beside it a module for each door: what is in the script comes from there, so that there is
 * one of it. Returns the files that it is made of.
 */
async function makeGenerator({ build }, doors, { draft, folder, dist }) {
  const entry = join(sources, "cli/generator.ts");
  if (!existsSync(entry)) return new Set();
  const home = join(folder, "generator");
  // Relative to the script, wherever it will lie.
  const place = (path) => {
    const base = ABOUT_THEMSELVES.test(path) ? home : dist;
    const from = relative(home, join(base, inJavaScript(path)))
      .split(sep)
      .join("/");
    return `new URL(${JSON.stringify(from)}, scriptUrl).href`;
  };
  const { metafile } = await build({
    ...COMMON,
    entryPoints: [entry],
    metafile: true,
    outfile: join(draft, "generator/all.cjs"),
    format: "cjs",
    minifyWhitespace: true,
    lineLimit: 160,
    banner: {
      js: 'const scriptUrl = require("node:url").pathToFileURL(__filename).href, importModule = require("./import.cjs");',
    },
    plugins: [
      withoutOtherVerbs,
      places(place, (text) => text.replaceAll(/\bimport\((?!["'])/g, "importModule(")),
    ],
  });
  // A script that is compiled by hand cannot import.
  writeFileSync(join(draft, "generator/import.cjs"), "module.exports = (url) => import(url);\n");
  for (const { path, names } of doors) {
    const up = "../".repeat(path.split("/").length - 1);
    const inside = IN_GENERATOR.get(path);
    const text =
      inside === undefined
        ? `export * from "../${up}${path}";\n`
        : `import { createRequire } from "node:module";
const { ${inside} } = createRequire(import.meta.url)("./${up}all.cjs").doors;
${names.map((name, i) => `const n${i} = ${inside}.${name};\n`).join("")}export { ${names.map((name, i) => `n${i} as ${name}`).join(", ")} };
`;
    const file = join(draft, "generator", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return new Set(Object.keys(metafile.inputs).map((path) => resolve(path)));
}

/** Doors whose modules are in the script; src/cli/generator.ts has them by these names. */
const IN_GENERATOR = new Map([
  ["index.js", "dsl"],
  ["dsl/index.js", "dsl"],
  ["backends/index.js", "backends"],
  ["numeric/index.js", "numeric"],
  ["wire/index.js", "wire"],
]);

const COMMON = {
  bundle: true,
  platform: "node",
  target: "node20",
  external: EXTERNAL,
  logLevel: "silent",
};

function inJavaScript(path) {
  return relative(sources, path).replace(/\.ts$/, ".js");
}

/** Of the command line's verbs only those that generate, as bin/generator.js chooses them. */
const withoutOtherVerbs = {
  name: "verbs",
  setup(b) {
    b.onResolve({ filter: /./ }, ({ path, kind, importer }) =>
      kind === "dynamic-import" && importer.endsWith(`cli${sep}main.ts`) && !VERBS.test(path)
        ? { path, external: true }
        : undefined,
    );
  },
};
const VERBS = /^\.\/(?:build|check|fit|dissector|where|bindings)\.ts$|errorpage/;

/** A bundle has one place for all its modules: each gets the place back that it would have alone, as an expression. */
function places(place, changed = (text) => text) {
  const loaded = ({ path }) => {
    const text = readFileSync(path, "utf8").replaceAll("import.meta.url", () => place(path));
    return { contents: changed(text), loader: "ts", resolveDir: dirname(path) };
  };
  return { name: "places", setup: (b) => b.onLoad({ filter: /\.ts$/ }, loaded) };
}

/** Bundles of this clone that nobody has made lately; one that still runs may load more of its own. */
function removeOld(folder) {
  const cache = dirname(folder);
  const name = nameOf(clone);
  for (const other of readdirSync(cache)) {
    const path = join(cache, other);
    if (
      path === folder ||
      !other.startsWith(name) ||
      !/^-[0-9a-f]{16}(?:\.|$)/.test(other.slice(name.length))
    )
      continue;
    if (Date.now() - statSync(path).mtimeMs > A_DAY) rmSync(path, { recursive: true, force: true });
  }
}

module.exports = { modules, packaged };
