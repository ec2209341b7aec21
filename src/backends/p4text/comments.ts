import { concat, type Doc, lines, WIDTH } from "./layout.ts";

/** Text as `//` lines of at most the page's width. */
export function comment(text: string, indent: number): Doc {
  return lines(wrap(text, WIDTH - indent - 3).map((l) => (l === "" ? "//" : concat("// ", l))));
}

/** Breaks text at spaces, but not at the non-breaking ones; paragraphs of the text stay apart. */
export function wrap(text: string, width: number): string[] {
  return text.split(/\r\n|[\r\n\u2028\u2029]/).flatMap((paragraph) => {
    const out: string[] = [];
    let current = "";
    for (const word of paragraph.split(/[^\S\u00a0]+/).filter((w) => w !== "")) {
      if (current !== "" && current.length + 1 + word.length > width) {
        out.push(current);
        current = word;
      } else {
        current = current === "" ? word : `${current} ${word}`;
      }
    }
    out.push(current);
    return out.map((l) => endOfLine(l.replaceAll("\u00a0", " ")));
  });
}

/** Text behind `//` that the end of the line ends: behind a backslash the preprocessor would take the next line for more of it. */
export function endOfLine(text: string): string {
  return /\\\s*$/.test(text) ? `${text}.` : text;
}

/** Documentation as a sentence: with a capital in front, unless a name stands there, and a full stop behind. */
export function sentence(text: string): string {
  const [word = ""] = /^\S*/.exec(text) ?? [];
  const start = /^[a-z]+[,;]?$/.test(word) ? word.charAt(0).toUpperCase() : text.charAt(0);
  return `${start}${text.slice(1)}${/^[^\r\n]*[\p{L}\p{N})"'`]$/u.test(text) ? "." : ""}`;
}
