// @ts-expect-error It has no types of its own: they are a part of those of "handlebars".
import runtime from "handlebars/dist/handlebars.runtime.min.js";
import { precompiled } from "./generated/templates.ts";

/** Fills the template `file` of a target's folder. */
export type Templates = (file: string, view: Readonly<Record<string, unknown>>) => string;

const { create }: Pick<typeof import("handlebars"), "create"> = runtime;

/** The templates of one target (`templates/<target>/`). `*.p4.hbs` are files, the other `*.hbs` are partials. */
export function loadTemplates(target: "tna" | "v1model"): Templates {
  const engine = create();
  const made = new Map<string, (view: Readonly<Record<string, unknown>>) => string>();
  for (const [name, specification] of Object.entries(precompiled[target])) {
    const template = engine.template(specification);
    if (name.endsWith(".p4")) made.set(name, template);
    else engine.registerPartial(name, template);
  }
  return (file, view) => {
    const template = made.get(file);
    if (template === undefined) throw new Error(`no template ${target}/${file}.hbs`);
    return template(view);
  };
}
