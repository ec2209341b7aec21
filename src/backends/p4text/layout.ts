import type { SourceLocation } from "../../ir/index.ts";
import { placeMark } from "./places.ts";

/**
 * A small layout engine: a document says where lines may break, `render` breaks them only where a line would be too long
 * (the algorithm of Oppen and Wadler: a group is printed flat if it fits, else all its own breaks become line ends).
 */
export type Doc =
  | string
  | { readonly kind: "concat"; readonly parts: readonly Doc[] }
  | { readonly kind: "nest"; readonly by: number; readonly body: Doc }
  | { readonly kind: "group"; readonly body: Doc }
  | { readonly kind: "line"; readonly flat: string; readonly hard: boolean }
  /** Nothing to see: what follows comes from there in the user's program. */
  | { readonly kind: "place"; readonly at: SourceLocation };

export const INDENT = 4;
export const WIDTH = 100;

/** A space, or a line end where the group does not fit. */
export const line: Doc = { kind: "line", flat: " ", hard: false };
/** Nothing, or a line end where the group does not fit. */
export const softline: Doc = { kind: "line", flat: "", hard: false };
/** Always a line end. */
export const hardline: Doc = { kind: "line", flat: "", hard: true };

export function concat(...parts: readonly Doc[]): Doc {
  return { kind: "concat", parts };
}

export function nest(...parts: readonly Doc[]): Doc {
  return { kind: "nest", by: INDENT, body: concat(...parts) };
}

export function group(...parts: readonly Doc[]): Doc {
  return { kind: "group", body: concat(...parts) };
}

export function join(separator: Doc, parts: readonly Doc[]): Doc {
  return concat(...parts.flatMap((part, i) => (i === 0 ? [part] : [separator, part])));
}

/** `open a, b, c close`, one item a line where it does not fit. */
export function list(open: string, items: readonly Doc[], close: string): Doc {
  if (items.length === 0) return open + close;
  return group(open, nest(softline, join(concat(",", line), items)), softline, close);
}

/** Statements one below the other. */
export function lines(parts: readonly Doc[]): Doc {
  return join(hardline, parts);
}

/** `head {`, the body one step in, `}`. */
export function braces(head: Doc, body: readonly Doc[]): Doc {
  if (body.length === 0) return concat(head, " { }");
  return concat(head, " {", nest(hardline, lines(body)), hardline, "}");
}

type Frame = readonly [indent: number, flat: boolean, doc: Doc];

/** The text, each line at most `width` columns where breaks allow it; `indent` columns in front of every line but empty ones. */
export function render(doc: Doc, indent = 0, width = WIDTH): string {
  let out = " ".repeat(indent);
  let column = indent;
  const stack: Frame[] = [[indent, false, doc]];
  for (let frame = stack.pop(); frame !== undefined; frame = stack.pop()) {
    const [depth, flat, d] = frame;
    if (typeof d === "string") {
      out += d;
      column += d.length;
    } else if (d.kind === "concat") {
      for (let i = d.parts.length - 1; i >= 0; i--) stack.push([depth, flat, d.parts[i] ?? ""]);
    } else if (d.kind === "nest") {
      stack.push([depth + d.by, flat, d.body]);
    } else if (d.kind === "group") {
      stack.push([depth, flat || fits(d.body, width - column, stack), d.body]);
    } else if (d.kind === "place") {
      out += placeMark(d.at);
    } else if (flat && !d.hard) {
      out += d.flat;
      column += d.flat.length;
    } else {
      out += `\n${" ".repeat(depth)}`;
      column = depth;
    }
  }
  return out
    .split("\n")
    .map((l) => l.trimEnd())
    .join("\n");
}

/** Whether the group and what follows it up to the next possible line end fit in `room` columns. */
function fits(body: Doc, room: number, rest: readonly Frame[]): boolean {
  let left = room;
  let next = rest.length;
  const stack: Frame[] = [[0, true, body]];
  while (left >= 0) {
    let frame = stack.pop();
    if (frame === undefined) {
      next--;
      frame = rest[next];
      if (frame === undefined) return true;
    }
    const [depth, flat, d] = frame;
    if (typeof d === "string") left -= d.length;
    else if (d.kind === "concat")
      for (let i = d.parts.length - 1; i >= 0; i--) stack.push([depth, flat, d.parts[i] ?? ""]);
    else if (d.kind === "nest" || d.kind === "group") stack.push([depth, flat, d.body]);
    else if (d.kind === "place") continue;
    else if (d.hard || !flat) return true;
    else left -= d.flat.length;
  }
  return false;
}
