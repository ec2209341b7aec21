import { fileURLToPath } from "node:url";
import { bit, exactly, intrinsic, program, type SwitchProgram, wireHeader } from "gradplane";
import { describe, expect, test } from "vitest";
import { fileNames } from "../../src/ir/reservedwords.ts";
import { codes, findings, sendAll, small } from "./findings.ts";

const here = fileURLToPath(import.meta.url);

/** Words on which people stumble (p4lang/p4c#1335, #767; p4lang/p4-spec#332), and more that P4 or v1model take. */
const words =
  "type key state header table action control default entries error exact in out bit int list priority apply size " +
  "packet_in NoAction drop this hdr meta standard_metadata parser select transition register counter hash random " +
  "clone digest selector lpm ternary range optional varbit bool true false return exit switch if else const enum " +
  "struct extern package main accept reject start";

const named: Readonly<Record<string, (name: string) => SwitchProgram>> = {
  "a header field": (name) => small((p) => void p.header(wireHeader("h", { [name]: 8 }))),
  "a header": (name) => small((p) => void p.header(wireHeader(name, { a: 8 }))),
  "a metadata field": (name) => small((p) => void p.metadata(name, bit(8))),
  "a control": (name) =>
    small((p) => {
      const c = p.control(name, "ingress");
      p.ingress("route", (s) => s.invoke(c));
    }),
  "an action": (name) =>
    small((p) => {
      const c = p.control("c", "ingress");
      const a = c.action(name, {}, (s) => s.drop());
      c.apply((s) => s.call(a));
      p.ingress("route", (s) => s.invoke(c));
    }),
  "a parameter": (name) =>
    small((p) => {
      const c = p.control("c", "ingress");
      const m = p.metadata("m", bit(9));
      const a = c.action("a", { [name]: bit(9) }, (s, d) => {
        const given = d[name];
        if (given !== undefined) s.set(m, given);
      });
      c.apply((s) => s.call(a, { [name]: 1 }));
      p.ingress("route", (s) => s.invoke(c));
    }),
  "a table": (name) =>
    small((p) => {
      const c = p.control("c", "ingress");
      const t = c.table(name, { key: {}, actions: [], size: 1 });
      c.apply((s) => s.apply(t));
      p.ingress("route", (s) => s.invoke(c));
    }),
  "a match field": (name) =>
    small((p) => {
      const c = p.control("c", "ingress");
      const t = c.table("t", { key: { [name]: exactly(intrinsic.ingress_port) }, actions: [], size: 1 });
      c.apply((s) => s.apply(t));
      p.ingress("route", (s) => s.invoke(c));
    }),
  "a register": (name) =>
    small((p) => {
      const c = p.control("c", "ingress");
      const r = c.register(name, bit(8), 512);
      c.apply((s) => s.update(r, { index: intrinsic.ingress_port, next: (old) => old.add(1) }));
      p.ingress("route", (s) => s.invoke(c));
    }),
  "a parser state": (name) =>
    small((p) => {
      if (name !== "start") p.parser.state("start").otherwise(p.parser.state(name));
    }),
};

describe.each(Object.entries(named))("%s named with a word of P4", (_, build) => {
  test.each(words.split(" "))("%s is taken, or refused with the source line", (word) => {
    const found = findings(() => build(word));
    expect(found.length).toBeLessThanOrEqual(1);
    for (const d of found) {
      expect(d.code).toBe("GP1201");
      expect(d.message).toContain(word);
      expect(d.at?.file).toBe(here);
      expect(d.at?.line).toBeGreaterThan(1);
    }
  });
});

describe("names that are free", () => {
  test.each([
    ["type", "a header field"],
    ["key", "a metadata field"],
    ["state", "a header field"],
    ["priority", "a metadata field"],
    ["hdr", "a header field"],
    ["in", "a match field"],
    ["size", "a table"],
    ["drop", "an action"],
  ] as const)("%s as %s", (word, what) => {
    expect(named[what]?.(word).warnings).toEqual([]);
  });
});

describe("names of control-plane objects", () => {
  test("two tables of one name in one control are refused, with the place of the first", () => {
    const found = findings(() =>
      small((p) => {
        const c = p.control("c", "ingress");
        const [one, two] = [1, 2].map((size) => c.table("t", { key: {}, actions: [], size }));
        c.apply((s) => {
          if (one !== undefined) s.apply(one);
        });
        p.ingress("route", (s) => s.invoke(c));
        void two;
      }),
    );
    expect(found.map((d) => d.code)).toEqual(["GP1202"]);
    expect(found[0]?.message).toMatch(/table|object of control c/);
    expect(found[0]?.message).toMatch(/first in line \d+/);
  });

  test("two controls may each have a table of one name", () => {
    const built = small((p) => {
      for (const name of ["one", "two"]) {
        const c = p.control(name, "ingress");
        const t = c.table("t", { key: {}, actions: [], size: 1 });
        c.apply((s) => s.apply(t));
        p.ingress("route", (s) => s.invoke(c));
      }
    });
    expect(built.ir.controls.flatMap((c) => c.tables.map((t) => t.name))).toEqual(["one.t", "two.t"]);
  });

  test("a header, a metadata field and a control may share a name", () => {
    const build = () =>
      small((p) => {
        p.header(wireHeader("x", { x: 8 }));
        p.metadata("x", bit(8));
        const c = p.control("x", "ingress");
        p.ingress("route", (s) => s.invoke(c));
      });
    expect(codes(build)).toEqual([]);
  });

  test.each(["", "9a", "a-b", "a b", "ä", "a.b", "__a", 'a"b', "a\nb", "a*/b"])("%j is no name", (name) => {
    for (const [what, build] of Object.entries(named)) {
      expect([what, ...codes(() => build(name))]).toEqual([what, "GP1203"]);
    }
  });
});

describe("files of a program", () => {
  test.each([...fileNames.keys(), "Headers"])(
    "%s is no name for a program: it is that of a file beside it",
    (name) => {
      const found = findings(() => program(name, { ports: 4, features: [sendAll] }));
      // parser is a word of P4 besides.
      expect(found.map((d) => d.code)).toContain("GP1201");
      expect(found.some((d) => d.message.includes("has the name of a file"))).toBe(true);
    },
  );

  test("controls whose names differ in capitals alone are refused: not all file systems tell them apart", () => {
    const two = () =>
      small((p) => {
        for (const name of ["sorter", "Sorter"]) {
          const c = p.control(name, "ingress");
          c.apply((s) => s.drop());
          p.ingress("route", (s) => s.invoke(c));
        }
      });
    expect(findings(two).map((d) => `${d.code} ${d.message}`)).toContain(
      "GP1202 control Sorter differs from sorter in capitals alone",
    );
  });
});
