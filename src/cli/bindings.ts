import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { bindingsModule } from "../backends/bindings/index.ts";
import { MessageError, type P4Info, p4infoFromFile } from "../p4info/index.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { parse, type Verb } from "./verb.ts";

export const bindingsVerb: Verb = {
  help: `Usage: gradplane bindings P4INFO [-o FILE] [--name NAME]

Makes a TypeScript module from the P4Info of any P4 program, ours or p4c's: tables, actions, counters, meters, registers, digests and
controller packets with their types. It is what gradplane build writes as bindings.ts.

  P4INFO       text (.txtpb) or binary (.bin)
  -o FILE      write here; otherwise to stdout
  --name NAME  of the program, for comments and type names; default: what P4Info says, or the file's name

Example:
  gradplane bindings router.p4info.txtpb -o router.bindings.ts`,
  async run(args) {
    const { values, positionals } = parse("bindings", args, {
      out: { type: "string", short: "o" },
      name: { type: "string" },
    });
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0)
      throw new UserError("name one P4Info file: gradplane bindings P4INFO [-o FILE]");
    const info = load(file);
    const text = bindingsModule(info, { name: values.name ?? nameOf(info, file) });
    if (values.out === undefined) {
      process.stdout.write(text);
      return;
    }
    try {
      writeFileSync(values.out, text);
    } catch (error) {
      throw new EnvironmentError(`cannot write ${values.out}: ${reason(error)}`);
    }
  },
};

function load(file: string): P4Info {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new UserError(`cannot read ${file}: ${reason(error)}`);
  }
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
