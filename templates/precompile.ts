/**
 * Writes `src/backends/p4text/generated/templates.ts` from the templates of this folder: what Handlebars makes of each, so that no build has to compile them again, which
 * would take longer than all the rest of it. Run: npm run templates
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import Handlebars from "handlebars";

/** The text of that module. Nothing is escaped: the output is P4, not HTML. */
export function precompiledTemplates(): string {
  const folder = new URL("./", import.meta.url);
  const targets = ["tna", "v1model"].map((target) => {
    const files = readdirSync(new URL(`${target}/`, folder)).sort();
    const templates = files.map((file) => {
      const text = readFileSync(new URL(`${target}/${file}`, folder), "utf8");
      // A file must have all that its template names; a part may be used by several.
      const code = Handlebars.precompile(text, { noEscape: true, strict: file.endsWith(".p4.hbs") });
      return `    "${file.slice(0, -".hbs".length)}": ${code},\n`;
    });
    return `  ${target}: {\n${templates.join("")}  },\n`;
  });
  return `// @ts-nocheck Made from templates/ by npm run templates; not to be edited.\nexport const precompiled = {\n${targets.join("")}};\n`;
}

const output = new URL("../src/backends/p4text/generated/templates.ts", import.meta.url);
if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(output, precompiledTemplates());
