// The sources of a clone put together into few modules, which load many times faster than some hundred TypeScript files one by one.
// Made again whenever a source has changed, and kept in node_modules/.cache.
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const clone = fileURLToPath(new URL("../", import.meta.url));
const sources = join(clone, "src");
const A_DAY = 86_400_000;

/** Modules that ask where they themselves lie; the others look for files of the clone, as they would from dist/. */
const ABOUT_THEMSELVES =
  /(?:dsl[\\/]callsite|cli[\\/](?:load|programfault|bindingsthread)|linux[\\/]linux-port)\.ts$/;
/** Modules of threads: they are loaded by their own names. */
const THREADS = [join("linux", "receiver.ts"), join("bindings", "thread.ts")];

/** URL of the folder with the bundle, ending in a slash. */
export async function bundle() {
  const files = sourcesBelow(sources);
  // Modules are known by their real paths, and node_modules may be a link.
  const cache = join(realpathSync(join(clone, "node_modules")), ".cache/gradplane");
  const name = createHash("sha256").update(clone).digest("hex").slice(0, 8);
  const folder = join(cache, `${name}-${keyOf(files)}`);
  if (!existsSync(join(folder, "cli/main.js"))) await make(files, folder);
  return pathToFileURL(`${folder}${sep}`).href;
}

/** Paths below src/. As fast as it goes: every start asks. */
function sourcesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}${sep}${entry.name}`;
    if (entry.isDirectory()) return sourcesBelow(path);
    return entry.name.endsWith(".ts") ? [path.slice(sources.length + 1)] : [];
  });
}

function keyOf(files) {
  const hash = createHash("sha256").update(readFileSync(fileURLToPath(import.meta.url)));
  for (const file of files) {
    const { mtimeMs, size } = statSync(`${sources}${sep}${file}`);
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  return hash.digest("hex").slice(0, 16);
}

async function make(files, folder) {
  const { build, stop } = await import("esbuild");
  // Several processes may begin at once: the first to finish wins, and nobody sees half of it.
  const draft = `${folder}.${process.pid}`;
  mkdirSync(dirname(folder), { recursive: true });
  const doors = files.filter((f) => /(?:^|[\\/])index\.ts$/.test(f) || THREADS.some((t) => f.endsWith(t)));
  await build({
    entryPoints: [...doors, join("cli", "main.ts")].map((f) => join(sources, f)),
    outbase: sources,
    outdir: draft,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // What has binaries, files of its own, or is seldom wanted and large.
    external: ["@grpc/grpc-js", "esbuild", "etcd3", "koffi", "ts-morph", "yaml"],
    logLevel: "silent",
    plugins: [
      { name: "places", setup: (b) => b.onLoad({ filter: /\.ts$/ }, (args) => loaded(args.path, folder)) },
    ],
  });
  // Its process would stay beside this one.
  await stop();
  try {
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  removeOld(folder);
}

/** A bundle has one place for all its modules: each gets the place back that it would have alone. */
function loaded(path, folder) {
  const base = ABOUT_THEMSELVES.test(path) ? folder : join(clone, "dist");
  const place = pathToFileURL(join(base, relative(sources, path).replace(/\.ts$/, ".js"))).href;
  const contents = readFileSync(path, "utf8").replaceAll("import.meta.url", JSON.stringify(place));
  return { contents, loader: "ts", resolveDir: dirname(path) };
}

/** Bundles of this clone that nobody has made lately; one that still runs may load more of its own. */
function removeOld(folder) {
  const cache = dirname(folder);
  const [name] = relative(cache, folder).split("-");
  for (const other of readdirSync(cache)) {
    const path = join(cache, other);
    if (path === folder || !other.startsWith(`${name}-`)) continue;
    if (Date.now() - statSync(path).mtimeMs > A_DAY) rmSync(path, { recursive: true, force: true });
  }
}
