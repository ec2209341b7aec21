import type { TargetName } from "./diagnostics.ts";

/** An annotation as P4 writes it: `@stage(3)`. */
export interface Annotation {
  readonly text: string;
  /** Only programs for this target have it. */
  readonly only?: TargetName;
}

/** What an object that the control plane knows can be given beside its definition. */
export interface Annotated {
  /** Its number among the objects of its kind, 1 to 2^24-1, in place of one made of its name. P4Info has the kind's prefix in front. */
  readonly id?: number;
  readonly annotations?: readonly Annotation[];
}

/** The id and the annotations of an object, for another form of it. */
export function annotationsOf({ id, annotations }: Annotated): Annotated {
  return { ...(id === undefined ? {} : { id }), ...(annotations === undefined ? {} : { annotations }) };
}

export const MOST_ID = 0xffffff;

/** A name, a number, a string, or a mark; all that arguments are made of. */
const TOKEN = /[A-Za-z_]\w*|[0-9]\w*|"(?:[^"\\\r\n]|\\.)*"|[()[\]{},;.:=+-]/y;
/** Characters that P4 reads as one word when two of them meet. */
const DOUBLE = new Set(["..", "::", "==", "++", "+=", "-="]);
const CLOSING: ReadonlyMap<string, string> = new Map([
  [")", "("],
  ["]", "["],
  ["}", "{"],
]);

export interface ParsedAnnotation {
  readonly name: string;
  /** What stands between the parentheses, word by word. */
  readonly words: readonly string[];
}

/** Reads `@name` or `@name(words)`; answers a reason where the text is not one. */
export function parseAnnotation(text: string): ParsedAnnotation | string {
  const head = /^@([A-Za-z_]\w*)\s*/.exec(text);
  const name = head?.[1];
  if (head === null || name === undefined) return "is not @name or @name(...)";
  if (name === "pragma") return "is a line of its own in P4: write @stage(3) for @pragma stage 3";
  const words: string[] = [];
  const open: string[] = [];
  let place = head[0].length;
  while (place < text.length) {
    if (/\s/.test(text.charAt(place))) {
      place++;
      continue;
    }
    TOKEN.lastIndex = place;
    const word = TOKEN.exec(text)?.[0];
    if (word === undefined)
      return `has ${JSON.stringify(text.charAt(place))} in it, which is no part of a word`;
    if (DOUBLE.has(text.slice(place, place + 2))) return `has ${text.slice(place, place + 2)} in it`;
    if (words.length > 0 && open.length === 0) return "has something behind its parentheses";
    if (words.length === 0 && word !== "(") return "is not @name or @name(...)";
    const opening = CLOSING.get(word);
    if (opening !== undefined && open.pop() !== opening) return `has a ${word} that closes nothing`;
    if (["(", "[", "{"].includes(word)) open.push(word);
    words.push(word);
    place += word.length;
  }
  if (open.length > 0) return `has a ${open.at(-1)} that is not closed`;
  return { name, words: words.slice(1, -1) };
}

/** Annotations that say what the program says already, and who says it there. */
export const reservedAnnotations: ReadonlyMap<string, string> = new Map([
  ["name", "the names in the program are those of the control plane"],
  ["id", "write the option id"],
  ["brief", "write the option doc"],
  ["description", "write the option doc"],
  ["max_group_size", "write the selector's option maxGroupSize"],
  ["defaultonly", "the generator writes it where an action is not in the table's list"],
  ["tableonly", "entries and default actions follow from the table's options"],
  ["hidden", "P4Info would be without the object"],
  ["controller_header", "packetIn and packetOut declare such headers"],
  ["noWarn", "the generator writes it where the compiler would warn"],
  ["atomic", "register updates are atomic by themselves"],
  ["deprecated", "the compiler would warn of each use"],
]);
