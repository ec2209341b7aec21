import { dissector } from "../backends/index.ts";
import { loadProgram } from "./load.ts";
import { onlyFile, parse, type Verb } from "./verb.ts";

export const dissectorVerb: Verb = {
  help: `Usage: gradplane dissector PROGRAM.ts

Prints a Wireshark dissector in Lua for the packets of the program.

Example:
  gradplane dissector examples/libra/program.ts > libra.lua && wireshark -X lua_script:libra.lua`,
  async run(args) {
    const { positionals } = parse("dissector", args, {});
    const program = await loadProgram(onlyFile("dissector", positionals));
    process.stdout.write(dissector(program.ir));
  },
};
