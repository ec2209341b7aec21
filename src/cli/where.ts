import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { originOf, type SourceMap } from "../backends/sourcemap.ts";
import { UserError } from "./exit.ts";
import { parse, type Verb } from "./verb.ts";

export const where: Verb = {
  help: `Usage: gradplane where FILE.p4:LINE ...

Says which line of the program a line of generated P4 comes from, by the sourcemap.json beside it. A line that has no
place of its own belongs to the nearest one above. Places are named from the folder of the program.

Example:
  gradplane where p4out/router/v1model/controls/routing.p4:21`,
  async run(args) {
    const { positionals } = parse("where", args, {});
    if (positionals.length === 0) throw new UserError("name a line: gradplane where FILE.p4:LINE");
    for (const place of positionals) process.stdout.write(`${origin(place)}\n`);
  },
};

function origin(place: string): string {
  const [, file, number] = /^(.+?):(\d+)(?::\d+)?$/.exec(place) ?? [];
  if (file === undefined || number === undefined)
    throw new UserError(`${place} is no place: write FILE.p4:LINE, for example ingress.p4:42`);
  const path = resolve(file);
  if (!existsSync(path)) throw new UserError(`there is no file ${file}`);
  const folder = folderOfMap(dirname(path));
  if (folder === undefined)
    throw new UserError(`there is no sourcemap.json above ${file}: gradplane build writes it beside the P4`);
  const map: SourceMap = JSON.parse(readFileSync(join(folder, "sourcemap.json"), "utf8"));
  const lines = readFileSync(path, "utf8").split("\n").length;
  if (Number(number) < 1 || Number(number) > lines)
    throw new UserError(`${file} has ${lines} lines, and not ${number}`);
  const found = originOf(map, relative(folder, path).split("\\").join("/"), Number(number));
  if (found === undefined) return `${place}: written for every program, and of none of its lines`;
  return `${place}: ${found.file}:${found.line}:${found.column}`;
}

/** The nearest folder upwards with a source map. */
function folderOfMap(folder: string): string | undefined {
  if (existsSync(join(folder, "sourcemap.json"))) return folder;
  const above = dirname(folder);
  return above === folder ? undefined : folderOfMap(above);
}
