import type { HeaderType, Program } from "../ir/index.ts";
import { typeName, widthOf } from "../ir/index.ts";

/** The packet formats of a program as Markdown: one table per header type, with the place of each field on the wire. */
export function packetFormats(program: Program): string {
  const sections = program.headerTypes.map((t) => section(t, program));
  return `# ${program.name}: packet formats\n\n${order(program)}\n${sections.join("\n")}`;
}

function order(program: Program): string {
  if (program.deparser.length === 0) return "";
  const names = program.deparser.map((h) => `\`${h}\``).join(", ");
  return `Headers leave the switch in this order, each if it is valid: ${names}.\n`;
}

function section(type: HeaderType, program: Program): string {
  const instances = program.headers.filter((h) => h.headerType === type.name).map((h) => `\`${h.name}\``);
  const roles = [
    ...(instances.length === 1 && instances[0] === `\`${type.name}\``
      ? []
      : [`Instances: ${instances.join(", ") || "none"}.`]),
    ...(isType(program.packetIn) ? ["In front of packets to the controller."] : []),
    ...(isType(program.packetOut) ? ["In front of packets from the controller."] : []),
  ];
  let at = 0;
  const rows = type.fields.map((f) => {
    const row = `| ${Math.floor(at / 8)} | ${at % 8} | \`${cell(f.name)}\` | \`${typeName(f.type)}\` | ${cell(f.doc ?? "")} |`;
    at += widthOf(f.type);
    return row;
  });
  const bytes = Math.ceil(at / 8);
  return [
    `## ${type.name}`,
    "",
    ...(type.doc === undefined ? [] : [type.doc, ""]),
    ...(roles.length === 0 ? [] : [roles.join(" "), ""]),
    `${bytes} bytes.`,
    "",
    "| byte | bit | field | type | meaning |",
    "| ---: | ---: | --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");

  function isType(instance: string | undefined): boolean {
    return (
      instance !== undefined && program.headers.find((h) => h.name === instance)?.headerType === type.name
    );
  }
}

/** Text inside a table's cell: a bar would end it. */
function cell(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, " ").replace(/\|/g, "\\|");
}
