import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { type CodeFrameOptions, codeFrame } from "../../src/ir/codeframe.ts";
import type { Diagnostic, SourceLocation } from "../../src/ir/index.ts";

const missing = (): string => {
  throw new Error("ENOENT");
};

function frame(
  text: string | undefined,
  at: Omit<SourceLocation, "file">,
  more: Partial<CodeFrameOptions & Diagnostic> = {},
): readonly string[] {
  const { colour, relativeTo, ...d } = more;
  const diagnostic: Diagnostic = {
    code: "GP1102",
    message: "constant 300 does not fit bit<8> (0 to 255)",
    at: { file: "/home/u/libra.ts", ...at },
    ...d,
  };
  return codeFrame(diagnostic, {
    readFile: text === undefined ? missing : () => text,
    ...(relativeTo === undefined ? {} : { relativeTo }),
    ...(colour === undefined ? {} : { colour }),
  }).split("\n");
}

const source = "one\ntwo\nthree\n  s.set(m, 300);\nfive\nsix\nseven\n";

describe("a code frame", () => {
  test("has the message, the place, two lines around, a caret and the remedy", () => {
    expect(frame(source, { line: 4, column: 5 })).toEqual([
      "error GP1102: constant 300 does not fit bit<8> (0 to 255)",
      "  --> /home/u/libra.ts:4:5",
      "  2 | two",
      "  3 | three",
      "> 4 |   s.set(m, 300);",
      "    |     ^",
      "  5 | five",
      "  6 | six",
      "To mend it: widen the type, or cut the constant to the width yourself. See docs/errors.md#gp1102.",
    ]);
  });

  test("shows paths relative to a directory", () => {
    expect(frame(source, { line: 4, column: 5 }, { relativeTo: "/home/u" })[1]).toBe("  --> libra.ts:4:5");
    expect(frame(source, { line: 4, column: 5 }, { relativeTo: "/home/u/lab" })[1]).toBe(
      "  --> ../libra.ts:4:5",
    );
  });

  test("aligns line numbers of different length", () => {
    const lines = frame(Array.from({ length: 12 }, (_, i) => `line${i + 1}`).join("\n"), {
      line: 9,
      column: 1,
    });
    expect(lines.slice(2, 8)).toEqual([
      "   7 | line7",
      "   8 | line8",
      ">  9 | line9",
      "     | ^",
      "  10 | line10",
      "  11 | line11",
    ]);
  });

  test("at the first and the last line has no lines beyond", () => {
    expect(frame("a\nb\nc", { line: 1, column: 1 }).slice(2, 6)).toEqual([
      "> 1 | a",
      "    | ^",
      "  2 | b",
      "  3 | c",
    ]);
    expect(frame("a\nb\nc", { line: 3, column: 1 }).slice(2, 6)).toEqual([
      "  1 | a",
      "  2 | b",
      "> 3 | c",
      "    | ^",
    ]);
  });

  test.each([
    ["the file is missing", undefined, 4],
    ["the line is beyond the end", "one\ntwo", 3],
    ["the line is 0", "one\ntwo", 0],
  ])("keeps message, place and remedy when %s", (_, text, line) => {
    expect(frame(text, { line, column: 5 })).toEqual([
      "error GP1102: constant 300 does not fit bit<8> (0 to 255)",
      `  --> /home/u/libra.ts:${line}:5`,
      "To mend it: widen the type, or cut the constant to the width yourself. See docs/errors.md#gp1102.",
    ]);
  });

  test("of a finding without a place is message and remedy", () => {
    const d: Diagnostic = { code: "GP1504", message: "a path leaves the output port unset" };
    expect(codeFrame(d, { readFile: missing }).split("\n")).toHaveLength(2);
  });

  test("puts the caret behind the line when the column is beyond its end", () => {
    expect(frame("abc", { line: 1, column: 90 })[3]).toBe("    |    ^");
    expect(frame("", { line: 1, column: 0 })[3]).toBe("    | ^");
  });

  test("keeps tabs in front of the caret, so that it stands under the place at any tab width", () => {
    expect(frame("\tif (x)\ty();", { line: 1, column: 9 }).slice(2, 4)).toEqual([
      "> 1 | \tif (x)\ty();",
      "    | \t      \t^",
    ]);
  });

  test("knows the line ends of all systems", () => {
    expect(frame("a\r\nb\r\nc", { line: 2, column: 1 }).slice(2, 6)).toEqual([
      "  1 | a",
      "> 2 | b",
      "    | ^",
      "  3 | c",
    ]);
  });

  test("cuts a very long line around the place", () => {
    const long = `${"a".repeat(4000)}X${"b".repeat(4000)}`;
    const lines = frame(`short\n${long}\nshort`, { line: 2, column: 4001 });
    const [text = "", caret = ""] = [lines[3], lines[4]];
    expect(text.length).toBeLessThan(120);
    expect(text).toMatch(/^> 2 \| \.\.\.a+Xb+\.\.\.$/);
    expect(text[caret.indexOf("^")]).toBe("X");
    expect(caret.endsWith("^")).toBe(true);
  });

  test.each([1, 2, 49, 50, 51, 52, 60, 99, 100, 101, 102, 150, 199, 200])(
    "keeps the caret under column %i of a line of 200",
    (column) => {
      const line = Array.from({ length: 200 }, (_, i) => (i === column - 1 ? "X" : "a")).join("");
      const [, , text = "", caret = ""] = frame(line, { line: 1, column });
      expect(text[caret.indexOf("^")]).toBe("X");
    },
  );

  test("names the target that forbids it", () => {
    const [first] = frame(source, { line: 4, column: 5 }, { target: "tna", code: "GP1601", message: "r" });
    expect(first).toBe("error GP1601 [tna]: r");
  });

  test("calls a warning a warning", () => {
    const [first] = frame(source, { line: 4, column: 5 }, { code: "GP1504", message: "m" });
    expect(first).toBe("warning GP1504: m");
  });

  test("has colours only when asked", () => {
    const plain = frame(source, { line: 4, column: 5 }).join("\n");
    const coloured = frame(source, { line: 4, column: 5 }, { colour: true }).join("\n");
    expect(plain).not.toContain("\u001b");
    expect(coloured).toContain("\u001b[1;31merror GP1102\u001b[0m");
    expect(stripVTControlCharacters(coloured)).toBe(plain);
  });
});
