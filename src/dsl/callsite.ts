import { findSourceMap } from "node:module";
import { fileURLToPath } from "node:url";
import type { SourceLocation } from "../ir/index.ts";

/**
 * Finds the line of the user's program that calls into the DSL: the innermost frame outside this package. Built-in
 * features call the lower storey themselves; their nodes get the line on which the user asked for the feature.
 */
const packageRoot = new URL("..", import.meta.url).href;
const packagePath = fileURLToPath(packageRoot);

let featureSite: SourceLocation | undefined;

/** Runs `build` so that nodes made by the package's own code are placed at `site`. */
export function placedAt<T>(site: SourceLocation | undefined, build: () => T): T {
  const before = featureSite;
  featureSite = site;
  try {
    return build();
  } finally {
    featureSite = before;
  }
}

/** Name of the function whose callees belong to the feature that is being built. */
const FEATURE_FRAME = "buildFeatureHere";

export function callSite(): SourceLocation | undefined {
  const { sites, print } = stack();
  for (const site of sites) {
    const file = site.getFileName();
    if (featureSite !== undefined && site.getFunctionName()?.endsWith(FEATURE_FRAME)) return featureSite;
    if (file === null || file === undefined || file.startsWith("node:")) continue;
    if (file.startsWith(packageRoot) || file.startsWith(packagePath)) continue;
    return original(site, file, print);
  }
  return featureSite;
}

/** Whoever transforms sources while they load (a test runner, say) installs one of these to print true places. */
type StackPrinter = typeof Error.prepareStackTrace;

/** The stack as V8 has it. A hook instead of the text: thousands of nodes ask, and the text is slow to make. */
function stack(): { readonly sites: readonly NodeJS.CallSite[]; readonly print: StackPrinter } {
  const { prepareStackTrace: print, stackTraceLimit } = Error;
  let sites: readonly NodeJS.CallSite[] = [];
  Error.stackTraceLimit = 40;
  Error.prepareStackTrace = (_, found) => {
    sites = found;
  };
  const holder: { stack?: unknown } = {};
  Error.captureStackTrace(holder, callSite);
  void holder.stack;
  Error.prepareStackTrace = print;
  Error.stackTraceLimit = stackTraceLimit;
  return { sites, print };
}

const places = new Map<string, SourceLocation>();

/** The place in the TypeScript source: by the printer of stacks if there is one, by Node's source maps otherwise. */
function original(site: NodeJS.CallSite, file: string, print: StackPrinter): SourceLocation {
  const line = site.getLineNumber() ?? 1;
  const column = site.getColumnNumber() ?? 1;
  const key = `${file}:${line}:${column}`;
  let place = places.get(key);
  if (place === undefined) {
    place = Object.freeze(printed(site, print) ?? mapped(file, line, column));
    places.set(key, place);
  }
  return place;
}

function printed(site: NodeJS.CallSite, print: StackPrinter): SourceLocation | undefined {
  const text: unknown = print?.(new Error("place"), [site]);
  if (typeof text !== "string") return undefined;
  const last = text.trimEnd();
  const place = last.endsWith(")") ? /\((.+):(\d+):(\d+)\)$/ : / at (?:async )?(.+):(\d+):(\d+)$/;
  const [, file, line, column] = place.exec(last.slice(last.lastIndexOf("\n") + 1)) ?? [];
  return file === undefined ? undefined : { file: pathOf(file), line: Number(line), column: Number(column) };
}

function mapped(file: string, line: number, column: number): SourceLocation {
  const entry = findSourceMap(file)?.findEntry(line - 1, column - 1);
  return entry !== undefined && "originalLine" in entry
    ? { file: pathOf(file), line: entry.originalLine + 1, column: entry.originalColumn + 1 }
    : { file: pathOf(file), line, column };
}

function pathOf(file: string): string {
  return (file.startsWith("file:") ? fileURLToPath(file) : file).replace(/\?.*$/, "");
}
