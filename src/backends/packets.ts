import type { HeaderType, Program } from "../ir/index.ts";
import { memberPath, typeName, unionsOf, widthOf } from "../ir/index.ts";

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
  const instances = [
    ...program.headers
      .filter((h) => h.headerType === type.name)
      .map(
        (h) =>
          `\`${h.name}\`${h.elements === undefined ? "" : ` (up to ${h.elements}, one behind the other)`}`,
      ),
    ...unionsOf(program).flatMap((u) =>
      u.members
        .filter((m) => m.headerType === type.name)
        .map((m) => `\`${memberPath(u.name, m.name)}\` (one of \`${u.name}\`)`),
    ),
  ];
  const roles = [
    ...(instances.length === 1 && instances[0] === `\`${type.name}\``
      ? []
      : [`Instances: ${instances.join(", ") || "none"}.`]),
    ...(isType(program.packetIn) ? ["In front of packets to the controller."] : []),
    ...(isType(program.packetOut) ? ["In front of packets from the controller."] : []),
  ];
  let at = 0;
  const rows = type.fields.map((f) => {
    const start = at;
    at += widthOf(f.type);
    return [
      `${Math.floor(start / 8)}`,
      `${start % 8}`,
      `\`${f.name}\``,
      `\`${typeName(f.type)}\``,
      cell(f.doc ?? ""),
    ];
  });
  if (type.varbit !== undefined) {
    const { name, width, doc = "" } = type.varbit;
    rows.push([`${at / 8}`, "0", `\`${name}\``, `\`varbit<${width}>\``, cell(doc)]);
  }
  return [
    `## ${type.name}`,
    "",
    ...(type.doc === undefined ? [] : [type.doc, ""]),
    ...(roles.length === 0 ? [] : [roles.join(" "), ""]),
    `${Math.ceil(at / 8)}${type.varbit === undefined ? "" : ` to ${(at + type.varbit.width) / 8}`} bytes.`,
    "",
    ...markdownTable(["byte", "bit", "field", "type", "meaning"], [true, true, false, false, false], rows),
    "",
  ].join("\n");

  function isType(instance: string | undefined): boolean {
    return (
      instance !== undefined && program.headers.find((h) => h.name === instance)?.headerType === type.name
    );
  }
}

/** A table whose columns are aligned in the source too. */
function markdownTable(
  head: readonly string[],
  isNumber: readonly boolean[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const widths = head.map((h, c) => Math.max(h.length, 3, ...rows.map((r) => (r[c] ?? "").length)));
  const padded = (row: readonly string[]): string =>
    `| ${row.map((text, c) => (isNumber[c] ? text.padStart(widths[c] ?? 0) : text.padEnd(widths[c] ?? 0))).join(" | ")} |`;
  const rule = widths.map((w, c) => (isNumber[c] ? `${"-".repeat(w - 1)}:` : "-".repeat(w)));
  return [padded(head), padded(rule), ...rows.map(padded)];
}

/** Text inside a table's cell: a bar would end it. */
function cell(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, " ").replace(/\|/g, "\\|");
}
