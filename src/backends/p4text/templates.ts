import { readdirSync, readFileSync } from "node:fs";
import Handlebars from "handlebars";

/** Fills the template `file` of a target's folder. */
export type Templates = (file: string, view: Readonly<Record<string, unknown>>) => string;

/**
 * The templates of one target (`templates/<target>/`), read once. `*.p4.hbs` are files, the other `*.hbs` are partials.
 * Nothing is escaped: the output is P4, not HTML.
 */
export function loadTemplates(target: string): Templates {
  const folder = new URL(`../../../templates/${target}/`, import.meta.url);
  const engine = Handlebars.create();
  const compiled = new Map<string, (view: Readonly<Record<string, unknown>>) => string>();
  for (const name of readdirSync(folder).sort()) {
    const text = readFileSync(new URL(name, folder), "utf8");
    if (name.endsWith(".p4.hbs"))
      compiled.set(name.slice(0, -".hbs".length), engine.compile(text, { noEscape: true, strict: true }));
    else if (name.endsWith(".hbs"))
      engine.registerPartial(name.slice(0, -".hbs".length), engine.compile(text, { noEscape: true }));
  }
  return (file, view) => {
    const template = compiled.get(file);
    if (template === undefined) throw new Error(`no template ${target}/${file}.hbs`);
    return template(view);
  };
}
