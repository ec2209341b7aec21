import { bit, lookahead, wireHeader } from "gradplane";
import { describe, expect, test } from "vitest";
import { findings, markedPlace, small } from "./findings.ts";
import { here, wrongParsers } from "./wrongparsers.ts";

const sample = wireHeader("sample", { a: 16, b: 16, wide: 32, small: 8, more: 8 });

describe("a wrong parser gives one finding, at the user's line", () => {
  test.each(wrongParsers)("$code: $what", ({ code, what, target, run }) => {
    const found = findings(run);
    expect(found.map((d) => [d.code, d.target])).toEqual([[code, target]]);
    expect(found[0]?.at).toEqual({ file: here, ...markedPlace(here, `what: "${what}"`) });
  });
});

describe("right parsers give no findings", () => {
  test("a state that looks ahead, keeps values, verifies and passes over bytes", () => {
    const built = small((p) => {
      const h = p.header(sample);
      const length = p.metadata("length", bit(32));
      const kind = p.metadata("kind", bit(4));
      p.parser
        .state("start")
        .set(kind, lookahead(bit(16)).slice(15, 12))
        .extract(h)
        .verify(h.small.lt(20), "HeaderTooShort")
        .verify(h.small.ne(7), "Unlucky")
        .set(length, h.small.cast(bit(32)).shiftLeft(3))
        .advance(length)
        .advance(16)
        .select(lookahead(bit(8)), kind)
        .on([1, 2], p.parser.state("last"));
    });
    expect(built.warnings).toEqual([]);
  });
});
