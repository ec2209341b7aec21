/** One message of the compiler or of the assembler. */
export interface CompilerMessage {
  readonly severity: "error" | "warning";
  readonly text: string;
  /** Where in the emitted P4, as the tool says it. */
  readonly file?: string;
  readonly line?: number;
}

/** What p4c-barefoot remarks on states that it adds itself, to read as far into short packets as the chip must. */
const OF_ITS_OWN = /Parser state min_parse_depth_\w+ will be unrolled/;

const PLACED = /^(?<file>[^\s(:]+)\((?<line>\d+)\):\s*(?<rest>.*)$/;
const ASSEMBLY = /^(?<file>[^\s(:]+\.bfa):(?<line>\d+):\s*(?<rest>.*)$/;
const SAID =
  /^(?:\[--W[^\]]*\]\s*)?(?<severity>error|warning|fatal|internal compiler error|Compiler Bug):\s*(?<text>.*)$/i;

/**
 * The errors and warnings in what p4c-barefoot or bfas wrote. The lines of source that p4c shows below a message are left out, and so
 * is its count at the end, and remarks on what is not in the program; a message may go on over several lines.
 */
export function compilerMessages(output: string): readonly CompilerMessage[] {
  const found: CompilerMessage[] = [];
  let goesOn = false;
  for (const raw of output.split("\n")) {
    const line = raw.trimEnd();
    const placed = PLACED.exec(line) ?? ASSEMBLY.exec(line);
    const said = SAID.exec(placed?.groups?.rest ?? line);
    if (said?.groups !== undefined) {
      const { severity = "", text = "" } = said.groups;
      found.push({
        severity: severity.toLowerCase() === "warning" ? "warning" : "error",
        text,
        ...(placed?.groups === undefined
          ? {}
          : { file: placed.groups.file ?? "", line: Number(placed.groups.line) }),
      });
      goesOn = placed === null;
    } else if (goesOn && line !== "" && !/^\d+ (errors?|warnings?)\b/.test(line)) {
      const last = found.pop();
      if (last !== undefined) found.push({ ...last, text: `${last.text}\n${line}` });
    } else goesOn = false;
  }
  return found.filter((m) => !OF_ITS_OWN.test(m.text));
}
