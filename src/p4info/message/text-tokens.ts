import { MessageError } from "./error.ts";

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A piece of protobuf text format. A string is the bytes between its quotes, unescaped. */
export type Token =
  | { readonly kind: "name" | "number" | "punctuation"; readonly text: string; readonly at: Position }
  | { readonly kind: "string"; readonly bytes: Uint8Array; readonly at: Position }
  | { readonly kind: "end"; readonly at: Position };

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
// Also takes malformed numbers such as 12ab, so that they are refused as one word.
const NUMBER = /[0-9.][A-Za-z0-9_.+]*/y;
const PUNCTUATION = "{}<>[]:;,-/.";

/**
 * Cut protobuf text format into tokens; white space and comments (`#` to the end of the line) go.
 *
 * @param source name of the text in error messages.
 * @throws MessageError with code `syntax`.
 */
export function tokensOf(text: string, source: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  let lineStart = 0;
  let at = 0;
  const position = (): Position => ({ line, column: at - lineStart + 1 });
  while (at < text.length) {
    const char = text.charAt(at);
    if (char === "\n") {
      line++;
      at++;
      lineStart = at;
    } else if (/\s/.test(char) || char === "\ufeff") {
      at++;
    } else if (char === "#") {
      while (at < text.length && text.charAt(at) !== "\n") at++;
    } else if (char === '"' || char === "'") {
      const start = position();
      const { bytes, next } = stringAt(text, at, source, start);
      tokens.push({ kind: "string", bytes, at: start });
      at = next;
    } else {
      const word = matchAt(NAME, text, at);
      const number = word === undefined ? matchAt(NUMBER, text, at) : undefined;
      const piece = word ?? number ?? char;
      if (word === undefined && number === undefined && !PUNCTUATION.includes(char))
        throw new MessageError("syntax", source, `unexpected character ${JSON.stringify(char)}`, position());
      const kind =
        word !== undefined ? "name" : number !== undefined && /[0-9]/.test(piece) ? "number" : "punctuation";
      tokens.push({ kind, text: piece, at: position() });
      at += piece.length;
    }
  }
  tokens.push({ kind: "end", at: position() });
  return tokens;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

const SIMPLE_ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  "\\": 0x5c,
  "'": 0x27,
  '"': 0x22,
  "?": 0x3f,
};

function stringAt(
  text: string,
  start: number,
  source: string,
  position: Position,
): { readonly bytes: Uint8Array; readonly next: number } {
  const quote = text.charAt(start);
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  let at = start + 1;
  for (;;) {
    const char = text.charAt(at);
    if (char === "" || char === "\n")
      throw new MessageError("syntax", source, "a string has no closing quote", position);
    if (char === quote) return { bytes: Uint8Array.from(bytes), next: at + 1 };
    if (char !== "\\") {
      const code = text.codePointAt(at) ?? 0;
      const piece = String.fromCodePoint(code);
      bytes.push(...encoder.encode(piece));
      at += piece.length;
      continue;
    }
    const escaped = text.charAt(at + 1);
    const simple = SIMPLE_ESCAPES[escaped];
    if (simple !== undefined) {
      bytes.push(simple);
      at += 2;
      continue;
    }
    const rest = text.slice(at + 1, at + 10);
    const octal = /^[0-7]{1,3}/.exec(rest)?.[0];
    const hex = /^[xX]([0-9a-fA-F]{1,2})/.exec(rest);
    const unicode = /^(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/.exec(rest);
    const codePoint = unicode === null ? -1 : Number.parseInt(unicode[1] ?? unicode[2] ?? "", 16);
    if (octal !== undefined) {
      bytes.push(Number.parseInt(octal, 8) & 0xff);
      at += 1 + octal.length;
    } else if (hex !== null) {
      bytes.push(Number.parseInt(hex[1] ?? "", 16));
      at += 1 + hex[0].length;
    } else if (unicode !== null && codePoint <= 0x10ffff) {
      bytes.push(...encoder.encode(String.fromCodePoint(codePoint)));
      at += 1 + unicode[0].length;
    } else {
      throw new MessageError("syntax", source, `a string has the unknown escape \\${escaped}`, position);
    }
  }
}
