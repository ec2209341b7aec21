import { basename, dirname, relative } from "node:path";
import type { Program, SourceLocation } from "../ir/index.ts";
import type { PlacedFiles } from "./p4text/places.ts";

/** Which line of the user's program a line of emitted P4 comes from. */
export interface SourceMap {
  readonly version: 1;
  readonly program: string;
  /** The user's files, from the folder that holds them all. */
  readonly sources: readonly string[];
  /** By emitted file, in order of lines: line, number of the source, its line and column. What is not there belongs to the line above. */
  readonly files: Readonly<Record<string, readonly (readonly [number, number, number, number])[]>>;
}

/**
 * The map of emitted files, by path from the program's folder. A line has the place of the expression or declaration on it; tables,
 * actions, registers and the like are told by their control-plane names.
 */
export function sourceMap(program: Program, targets: ReadonlyMap<string, PlacedFiles>): SourceMap {
  const objects = placesByName(program);
  const byFile = new Map<string, ReadonlyMap<number, SourceLocation>>();
  for (const [target, { files, places }] of targets)
    for (const [path, text] of files)
      byFile.set(`${target}/${path}`, linesOf(text, places.get(path) ?? new Map(), objects));
  const all = [...new Set([...byFile.values()].flatMap((m) => [...m.values()].map((p) => p.file)))].sort();
  const root = commonFolder(all);
  const files = [...byFile].flatMap(([path, places]) => {
    const rows = [...places]
      .sort(([a], [b]) => a - b)
      .map(([line, p]) => [line, all.indexOf(p.file), p.line, p.column] as const);
    return rows.length === 0 ? [] : [[path, rows] as const];
  });
  return {
    version: 1,
    program: program.name,
    sources: all.map((file) => relative(root, file).split("\\").join("/") || basename(file)),
    files: Object.fromEntries(files),
  };
}

/** The map as it is written: a line an emitted line would be too many, so a line a file. */
export function sourceMapText({ files, ...rest }: SourceMap): string {
  const entries = Object.entries(files).map(
    ([path, rows]) => `    ${JSON.stringify(path)}: ${JSON.stringify(rows)}`,
  );
  const head = Object.entries(rest).map(
    ([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)},`,
  );
  return `{\n${head.join("\n")}\n  "files": {\n${entries.join(",\n")}\n  }\n}\n`;
}

/** The user's place of an emitted line: its own, or that of the nearest line above which has one. */
export function originOf(
  map: SourceMap,
  path: string,
  line: number,
): { readonly file: string; readonly line: number; readonly column: number } | undefined {
  const row = map.files[path]?.findLast(([l]) => l <= line);
  const file = row === undefined ? undefined : map.sources[row[1]];
  return row === undefined || file === undefined ? undefined : { file, line: row[2], column: row[3] };
}

function linesOf(
  text: string,
  marked: ReadonlyMap<number, SourceLocation>,
  objects: ReadonlyMap<string, SourceLocation>,
): ReadonlyMap<number, SourceLocation> {
  const found = new Map(marked);
  text.split("\n").forEach((l, i) => {
    const name = /@name\("\.([^"]+)"\)/.exec(l)?.[1];
    const place = name === undefined ? undefined : objects.get(name);
    if (place !== undefined) found.set(i + 1, place);
  });
  return found;
}

/** Places of what a program declares, by control-plane name. */
export function placesByName(program: Program): ReadonlyMap<string, SourceLocation> {
  const objects = program.controls.flatMap((c) => [
    ...c.actions,
    ...c.tables,
    ...c.registers,
    ...c.counters,
    ...c.meters,
    ...c.actionProfiles,
    c,
  ]);
  return new Map(
    objects.flatMap((o): readonly (readonly [string, SourceLocation])[] =>
      "at" in o && o.at !== undefined ? [[o.name, o.at]] : [],
    ),
  );
}

function commonFolder(files: readonly string[]): string {
  const [first, ...others] = files.map((f) => dirname(f).split("/"));
  if (first === undefined) return "/";
  let shared = first.length;
  for (const parts of others) {
    let i = 0;
    while (i < shared && parts[i] === first[i]) i++;
    shared = i;
  }
  return first.slice(0, shared).join("/") || "/";
}
