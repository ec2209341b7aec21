import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { builtinModules, createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { Loader, Message, Plugin, PluginBuild } from "esbuild";
import { EnvironmentError, UserError } from "./exit.ts";
import { compilerText } from "./programfault.ts";
import { isInScript, MissingExport, ownDoors, runScript } from "./userscript.ts";

/**
 * Imports a user's TypeScript file. It and the files that it imports become one module, in which "gradplane" is the copy that runs it,
 * wherever the program lies: two copies in one process would not recognise each other's values. Packages stay what they are.
 *
 * @param own URL of the folder with gradplane's modules
 * @throws UserError with the place of what is no TypeScript, or is not found; whatever the program throws
 */
export async function importTypeScript(
  path: string,
  own: string,
): Promise<Readonly<Record<string, unknown>>> {
  process.setSourceMapsEnabled(true);
  const quickly = ownDoors.size > 0 ? await asScript(path) : undefined;
  if (quickly !== undefined) return quickly;
  const folder = temporaryFolder();
  try {
    const file = join(folder, `${basename(path).replace(/\.\w+$/, "")}.mjs`);
    const { contents } = await compiled(path, file, "esm", (b) => resolvePackages(b, own));
    await endCompiler();
    writeFileSync(file, contents);
    return await withItsFaults(() => import(pathToFileURL(file).href));
  } finally {
    // Where its lines come from has been read with it.
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the program exports when it can run as a script; undefined when it has to be imported as a module. */
async function asScript(path: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const file = `${path}.cjs`;
  let isAlone = true;
  const resolve = (b: PluginBuild): void =>
    b.onResolve({ filter: /^[^./]/ }, ({ path: name, kind }) => {
      if (kind === "entry-point") return undefined;
      isAlone &&= isInScript(name) && kind !== "dynamic-import";
      return { path: name, external: true };
    });
  try {
    const { contents } = await compiled(path, file, "cjs", resolve);
    if (!isAlone) return undefined;
    await endCompiler();
    return await withItsFaults(async () => runScript(new TextDecoder().decode(contents), file));
  } catch (error) {
    // Modules can wait while they load, and say which names are missing; and their compiler's words are the better ones.
    if (error instanceof MissingExport || isFailure(error)) return undefined;
    throw error;
  }
}

/** Runs a program. What nobody waits for in it is its fault, too. */
async function withItsFaults<T>(run: () => Promise<T>): Promise<T> {
  let fail = (_: unknown): void => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  process.on("unhandledRejection", fail);
  try {
    return await Promise.race([run(), failed]);
  } finally {
    process.off("unhandledRejection", fail);
  }
}

function temporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), "gradplane-program-"));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EnvironmentError(`no folder to translate the program in: ${reason}`);
  }
}

/** @throws UserError with the places of what is no TypeScript when it becomes a module; else what the compiler throws */
async function compiled(
  path: string,
  outfile: string,
  format: "esm" | "cjs",
  resolve: (b: PluginBuild) => void,
): Promise<{ readonly contents: Uint8Array }> {
  try {
    const { outputFiles } = await compiler().build({
      entryPoints: [path],
      outfile,
      absWorkingDir: dirname(path),
      write: false,
      bundle: true,
      format,
      platform: "node",
      target: `node${process.versions.node}`,
      // Without "module", which is for bundlers alone.
      conditions: [],
      sourcemap: "inline",
      sourcesContent: false,
      logLevel: "silent",
      plugins: [{ name: "gradplane", setup: resolve }, ownPlaces],
    });
    return outputFiles[0] ?? { contents: new Uint8Array() };
  } catch (error) {
    if (!isFailure(error) || format === "cjs") throw error;
    const shown = error.errors.slice(0, SHOWN).map((m) => compilerText(m, dirname(path)));
    await endCompiler();
    throw new UserError(`${relative(process.cwd(), path)} could not be loaded: ${shown.join("\n\n")}`);
  }
}

/** By require, as what it is: import would first look through it for what it exports. */
function compiler(): typeof import("esbuild") {
  return createRequire(import.meta.url)("esbuild");
}

/** Else its process would stay beside this one for as long as the program runs. */
async function endCompiler(): Promise<void> {
  await compiler().stop();
}

/** "gradplane" is this copy, and packages are imported from where the user's file finds them. */
function resolvePackages(b: PluginBuild, own: string): void {
  const builtin = new Set(builtinModules);
  b.onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, importer, pluginData }) => {
    if (pluginData === RESOLVED || kind === "entry-point") return undefined;
    const door = /^gradplane(?:\/(.+))?$/.exec(path);
    if (door !== null && door[1] !== "package.json") {
      const url = `${own}${door[1] === undefined ? "" : `${door[1]}/`}index.js`;
      return { path: url, external: true };
    }
    if (path.startsWith("node:") || builtin.has(path)) return { path, external: true };
    const found = await b.resolve(path, { kind, resolveDir, importer, pluginData: RESOLVED });
    if (found.errors.length > 0 || found.external) return found;
    const isTheirs = /\.[cm]?tsx?$/.test(found.path) && !found.path.includes("/node_modules/");
    return isTheirs ? found : { path: pathToFileURL(found.path).href, external: true };
  });
}

/** Mistakes shown at once; what follows a first one is often its echo. */
const SHOWN = 5;
const RESOLVED = Symbol("resolved");

/** In one module all have one place: those that ask for theirs get the one that they would have alone. */
const ownPlaces: Plugin = {
  name: "places",
  setup(b) {
    b.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const places = { url: pathToFileURL(path).href, dirname: dirname(path), filename: path };
      const contents = text.replace(/\bimport\.meta\.(url|dirname|filename)\b/g, (_, which: string) =>
        JSON.stringify(Reflect.get(places, which)),
      );
      const extension = /\.[cm]?([jt]sx?)$/.exec(path)?.[1];
      const loader: Loader =
        extension === "tsx" || extension === "jsx" || extension === "js" ? extension : "ts";
      return { contents, loader };
    });
  },
};

function isFailure(error: unknown): error is { readonly errors: readonly Message[] } {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}
