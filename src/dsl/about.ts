import type { Annotated, Annotation } from "../ir/index.ts";
import { callSite } from "./callsite.ts";
import { onlyKnown } from "./options.ts";
import { ProgramError } from "./programerror.ts";

/** What an object is for, or that and more: its id and its annotations. */
export type About = string | AboutOptions;

export interface AboutOptions extends AnnotationOptions {
  /** Documentation: for comments, P4Info, bindings. */
  readonly doc?: string;
}

/** What a match field, a parameter or a digest is for, or that and its annotations. */
export type PartAbout = string | { readonly doc?: string; readonly annotations?: TargetAnnotations };

export interface AnnotationOptions {
  /** Number in P4Info below the kind's prefix, 1 to 2^24-1; without it the number is made of the name, and changes with it. */
  readonly id?: number;
  readonly annotations?: TargetAnnotations;
}

/** Annotations as P4 writes them, by target: `{ tna: ["@stage(3)"] }`; `all` go to every target. P4Info lists them too. */
export interface TargetAnnotations {
  readonly all?: readonly string[];
  readonly v1model?: readonly string[];
  readonly tna?: readonly string[];
}

/** @throws ProgramError GP1701 for options that there are not. */
export function aboutOf(what: string, about: About | undefined): Annotated & { readonly doc?: string } {
  if (about === undefined || typeof about === "string") return about === undefined ? {} : { doc: about };
  onlyKnown(what, about, ["doc", "id", "annotations"]);
  return { ...(about.doc === undefined ? {} : { doc: about.doc }), ...annotated(what, about) };
}

/** The same of what has no id of its own. */
export function partAbout(
  what: string,
  about: PartAbout | undefined,
): { readonly doc?: string; readonly annotations?: readonly Annotation[] } {
  if (about === undefined || typeof about === "string") return about === undefined ? {} : { doc: about };
  onlyKnown(what, about, ["doc", "annotations"]);
  const { doc, annotations } = about;
  return {
    ...(doc === undefined ? {} : { doc }),
    ...(annotations === undefined ? {} : { annotations: listed(what, annotations) }),
  };
}

/** The id and the annotations among an object's options. */
export function annotated(what: string, { id, annotations }: AnnotationOptions): Annotated {
  return {
    ...(id === undefined ? {} : { id }),
    ...(annotations === undefined ? {} : { annotations: listed(what, annotations) }),
  };
}

/** Annotations of an object that has no id. */
export function listed(what: string, given: TargetAnnotations): readonly Annotation[] {
  const targets = ["v1model", "tna"] as const;
  onlyKnown(`annotations of ${what}`, given, ["all", ...targets]);
  for (const [target, texts] of Object.entries({ ...given })) {
    if (Array.isArray(texts) && texts.every((text: unknown) => typeof text === "string")) continue;
    const message = `annotations of ${what}: ${target} is not a list of texts, such as ["@stage(3)"]`;
    throw new ProgramError({ code: "GP1701", message, at: callSite() });
  }
  return [
    ...(given.all ?? []).map((text) => ({ text })),
    ...targets.flatMap((only) => (given[only] ?? []).map((text) => ({ text, only }))),
  ];
}
