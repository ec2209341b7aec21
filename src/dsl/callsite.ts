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
  for (const frame of frames()) {
    const file = frame.getFileName();
    if (featureSite !== undefined && frame.getFunctionName()?.endsWith(FEATURE_FRAME)) return featureSite;
    if (file === null || file === undefined || file.startsWith("node:")) continue;
    if (file.startsWith(packageRoot) || file.startsWith(packagePath)) continue;
    return original(file, frame.getLineNumber() ?? 1, frame.getColumnNumber() ?? 1);
  }
  return featureSite;
}

/** The stack as V8 has it. A hook instead of the text: thousands of nodes ask, and the text is slow to make. */
function frames(): readonly NodeJS.CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  let stack: readonly NodeJS.CallSite[] = [];
  Error.stackTraceLimit = 40;
  Error.prepareStackTrace = (_, sites) => {
    stack = sites;
  };
  const holder: { stack?: unknown } = {};
  Error.captureStackTrace(holder, callSite);
  void holder.stack;
  Error.prepareStackTrace = prepareStackTrace;
  Error.stackTraceLimit = stackTraceLimit;
  return stack;
}

const places = new Map<string, SourceLocation>();

/** The place in the TypeScript source, when a source map tells. */
function original(file: string, line: number, column: number): SourceLocation {
  const key = `${file}:${line}:${column}`;
  let place = places.get(key);
  if (place === undefined) {
    const path = (file.startsWith("file:") ? fileURLToPath(file) : file).replace(/\?.*$/, "");
    const entry = findSourceMap(file)?.findEntry(line - 1, column - 1);
    place =
      entry !== undefined && "originalLine" in entry
        ? Object.freeze({ file: path, line: entry.originalLine + 1, column: entry.originalColumn + 1 })
        : Object.freeze({ file: path, line, column });
    places.set(key, place);
  }
  return place;
}
