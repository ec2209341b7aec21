import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { Loader, Message, Plugin, PluginBuild } from "esbuild";
import { EnvironmentError, UserError } from "./exit.ts";
import { compilerText } from "./programfault.ts";

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
  const folder = temporaryFolder();
  try {
    const file = join(folder, `${basename(path).replace(/\.\w+$/, "")}.mjs`);
    writeFileSync(file, await moduleOf(path, file, own));
    return await loaded(pathToFileURL(file).href);
  } finally {
    // Where its lines come from has been read with it.
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Imports a module. What nobody waits for in it is its fault, too. */
async function loaded(url: string): Promise<Readonly<Record<string, unknown>>> {
  let fail = (_: unknown): void => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  process.on("unhandledRejection", fail);
  try {
    return await Promise.race([import(url), failed]);
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

async function moduleOf(path: string, outfile: string, own: string): Promise<Uint8Array> {
  const { build, stop } = await import("esbuild");
  try {
    const { outputFiles } = await build({
      entryPoints: [path],
      outfile,
      absWorkingDir: dirname(path),
      write: false,
      bundle: true,
      format: "esm",
      platform: "node",
      target: `node${process.versions.node}`,
      // Without "module", which is for bundlers alone.
      conditions: [],
      sourcemap: "inline",
      sourcesContent: false,
      logLevel: "silent",
      plugins: [{ name: "gradplane", setup: (b) => resolvePackages(b, own) }, ownPlaces],
    });
    return outputFiles[0]?.contents ?? new Uint8Array();
  } catch (error) {
    if (!isFailure(error)) throw error;
    const shown = error.errors.slice(0, SHOWN).map((m) => compilerText(m, dirname(path)));
    throw new UserError(`${relative(process.cwd(), path)} could not be loaded: ${shown.join("\n\n")}`);
  } finally {
    // Else its process would stay beside this one for as long as the program runs.
    await stop();
  }
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
