import { any, bit, lookahead, wireHeader, withVarbit } from "gradplane";
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

  test("loops that read a stack or pass over bytes", () => {
    const built = small((p) => {
      const label = wireHeader("label", { value: 15, bottom: 1 });
      const labels = p.stack("labels", label, 4);
      const inner = p.stack("inner", label, 2);
      const hop = p.parser.state("hop");
      const read = p.parser.state("read").extract(labels.next);
      read.select(labels.last.bottom, labels.at(0).value).on([0, any], read).on([1, 3], hop);
      hop
        .advance(8)
        .select(lookahead(bit(8)))
        .on(1, hop)
        .on(2, read)
        .on(3, p.parser.state("last"));
      p.parser.state("last").extract(inner.next).extract(inner.next);
      p.parser.state("start").otherwise(read);
      p.ingress("route", (s) => {
        s.pushFront(labels);
        s.setValid(labels.at(0));
        s.set(labels.at(0).value, labels.at(1).value);
        s.popFront(inner, 2);
      });
    });
    expect(built.warnings).toEqual([]);
    expect(built.ir.headers.map((h) => [h.name, h.headerType, h.elements])).toEqual([
      ["labels", "label", 4],
      ["inner", "label", 2],
    ]);
    expect(built.ir.headerTypes.map((t) => t.name)).toEqual(["label"]);
  });

  test("a union of which one member is read and another made", () => {
    const built = small((p) => {
      const body = p.union("body", { first: sample, second: wireHeader("other", { x: 8 }) });
      p.parser.state("start").extract(body.first);
      p.ingress("route", (s) => {
        s.if(p.valid(body.first), (then) => {
          then.setValid(body.second);
          then.set(body.second.x, 1);
        });
      });
    });
    // For Tofino it is refused when it is built for that.
    expect(built.warnings).toEqual([]);
    expect(built.ir.deparser).toEqual(["body"]);
  });

  test("options of variable length, and a checksum over them and the payload", () => {
    const built = small((p) => {
      const h = p.header(sample);
      const options = p.header(withVarbit(wireHeader("options", {}), "bytes", 320));
      p.parser
        .state("start")
        .extract(h)
        .extract(options, h.small.cast(bit(16)).shiftLeft(3));
      p.checksum(h, "b", {
        fields: [h.a, h.wide],
        varbits: [options],
        payload: true,
        when: h.more.eq(1),
        zeroIsNone: true,
      });
    });
    expect(built.warnings).toEqual([]);
    expect(built.ir.checksums[0]?.varbits).toEqual(["options.bytes"]);
  });

  test("two instances of one header, each shared by features", () => {
    const built = small((p) => {
      const outer = p.header(sample, "outer");
      const inner = p.header(sample, "inner");
      expect(p.header(sample, "outer")).toBe(outer);
      p.parser.state("start").extract(outer).extract(inner);
    });
    expect(built.warnings).toEqual([]);
    expect(built.ir.deparser).toEqual(["outer", "inner"]);
  });
});
