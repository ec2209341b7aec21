import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { bindingsModule } from "../backends/bindings/index.ts";
import { MessageError, type P4Info, p4infoFromFile } from "../p4info/index.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { parse, type Verb } from "./verb.ts";

export const bindingsVerb: Verb = {
  help: `Usage: gradplane bindings P4INFO [-o FILE | --into FILE] [--name NAME]

Makes a TypeScript module from the P4Info of any P4 program, ours or p4c's: tables, actions, counters, meters, registers, digests and
controller packets with their types. It is what gradplane build writes as bindings.ts.

  P4INFO       text (.txtpb) or binary (.bin)
  -o FILE      write here; otherwise to stdout
  --into FILE  renew the bindings in a file to which something was added below them: that stays, with its imports. Names that it uses
               and the program no longer has are told, with their lines, and the exit code is 1
  --name NAME  of the program, for comments and type names; default: what P4Info says, or the file's name

Example:
  gradplane bindings router.p4info.txtpb -o router.bindings.ts`,
  async run(args) {
    const { values, positionals } = parse("bindings", args, {
      out: { type: "string", short: "o" },
      into: { type: "string" },
      name: { type: "string" },
    });
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0)
      throw new UserError("name one P4Info file: gradplane bindings P4INFO [-o FILE]");
    if (values.out !== undefined && values.into !== undefined)
      throw new UserError("-o writes a file anew, and --into renews what is in one: give one of them");
    const info = load(file);
    const text = bindingsModule(info, { name: values.name ?? nameOf(info, file) });
    if (values.into !== undefined) await renew(values.into, text);
    else if (values.out !== undefined) write(values.out, text);
    else process.stdout.write(text);
  },
};

async function renew(file: string, fresh: string): Promise<void> {
  const { bindingsInto } = await import("../backends/bindings/into.ts");
  const merged = bindingsInto(new TextDecoder().decode(read(file)), fresh);
  if (merged === undefined)
    throw new UserError(`${file} has no bindings to renew: make some with gradplane bindings P4INFO -o FILE`);
  write(file, merged.text);
  if (merged.gone.length === 0) return;
  const list = merged.gone.map(({ name, line }) => `  ${name}, in line ${line} of the older file`);
  throw new UserError(`${file} is renewed, and uses what the program no longer has:\n${list.join("\n")}`);
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new EnvironmentError(`cannot write ${file}: ${reason(error)}`);
  }
}

function read(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UserError(`cannot read ${file}: ${reason(error)}`);
  }
}

function load(file: string): P4Info {
  const bytes = read(file);
  try {
    return p4infoFromFile(bytes, file);
  } catch (error) {
    if (error instanceof MessageError) throw new UserError(`${file} is no P4Info: ${error.message}`);
    throw error;
  }
}

/** What P4Info calls the program, or the file's name up to its first dot, as a name. */
function nameOf(info: P4Info, file: string): string {
  const given = info.pkgInfo?.name ?? "";
  const name = given === "" ? (basename(file).split(".")[0] ?? "") : given;
  const plain = name.replace(/\W+/g, "_").replace(/^(?=\d|$)/, "_");
  return plain;
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
