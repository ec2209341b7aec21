import { type Rule, rules } from "./diagnostics.ts";
import { type RuleExample, ruleExamples } from "./ruleexamples.ts";
import { tnaRules } from "./tnarules.ts";

/** Where a code is explained, beside the package's README. */
export function errorSection(code: string): string {
  return `docs/errors.md#${code.toLowerCase()}`;
}

const chapters: Readonly<Record<string, string>> = {
  GP11: "Values and types",
  GP12: "Names",
  GP13: "Headers and parser",
  GP14: "Tables and actions",
  GP15: "Control flow",
  GP16: "Registers and counters",
  GP17: "Options and features",
  GP18: "What Tofino lacks",
  GP20: "What a generator cannot write",
};

/** Errors of generators: what the checks did not foresee. Their messages say what to change. */
const generatorRules: Readonly<Record<string, Rule>> = {
  GP2001: {
    title: "a name that the program does not declare",
    remedy: "declare the object",
    severity: "error",
  },
  GP2002: {
    title: "an object of another control",
    remedy: "use an object only in the control that declares it",
    severity: "error",
  },
  GP2003: {
    title: "a table with two different successors",
    remedy: "apply the table in one place, or declare two",
    severity: "error",
  },
  GP2004: {
    title: "a construct that the target lacks",
    remedy: "leave it out for this target, or build for another",
    severity: "error",
  },
};

/** docs/errors.md: a section for each code, from the tables that the checks use. */
export function errorPage(): string {
  const all: Readonly<Record<string, Rule>> = { ...rules, ...tnaRules, ...generatorRules };
  const examples: Readonly<Record<string, RuleExample | undefined>> = ruleExamples;
  const parts = Object.entries(chapters).map(([prefix, title]) => {
    const sections = Object.entries(all)
      .filter(([code]) => code.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([code, rule]) => section(code, rule, examples[code]));
    return `## ${title}\n\n${sections.join("\n")}`;
  });
  return `# Errors and warnings

Each finding of \`gradplane check\` and \`gradplane build\` has a code that stays the same from version to version. This page is made of the tables
that the checks use (\`npm run docs\`). Examples are what stands in a feature's \`build(p)\`; names come from "gradplane".

\`gradplane check PROGRAM.ts --json\` prints an array for editors; each finding has

| field | what it is |
| --- | --- |
| \`code\` | as below |
| \`severity\` | \`"error"\`, \`"warning"\`, or \`"note"\`: right, and worth knowing |
| \`message\` | what is wrong, with the names and values of the program |
| \`title\`, \`remedy\` | what the code means, and what to write instead |
| \`docs\` | the section of this page |
| \`target\` | only when one target alone refuses it: \`"v1model"\` or \`"tna"\` |
| \`file\`, \`line\`, \`column\` | where in the TypeScript, from 1; the file relative to the working directory. Left out when there is no place |
| \`endLine\`, \`endColumn\` | behind the word at that place |

It exits with 1 when there is an error that holds for all targets, else with 0.

${parts.join("\n")}`;
}

function section(code: string, rule: Rule, example: RuleExample | undefined): string {
  const target = code.startsWith("GP18") ? "; Tofino (tna) only" : "";
  const head = `### ${code}\n\n**${rule.title}** (${rule.severity}${target}). ${rule.severity === "note" ? "To change it" : "To mend it"}: ${rule.remedy}.\n`;
  if (example === undefined) return head;
  return `${head}\n${example.why}\n\n\`\`\`ts\n// wrong\n${example.wrong}\n\n// right\n${example.right}\n\`\`\`\n`;
}
