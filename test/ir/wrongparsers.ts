import { fileURLToPath } from "node:url";
import { bit, intrinsic, lookahead, mux, type SwitchProgram, value, wireHeader, withVarbit } from "gradplane";
import type { RuleCode, TargetName } from "../../src/ir/index.ts";
import { small } from "./findings.ts";

export const here = fileURLToPath(import.meta.url);

const sample = wireHeader("sample", { a: 16, b: 16, wide: 32, small: 8, more: 8 });
const label = wireHeader("label", { value: 15, bottom: 1 });

interface Wrong {
  readonly code: RuleCode;
  readonly what: string;
  readonly target?: TargetName;
  readonly run: () => SwitchProgram;
}

/** Parsers with one fault each. A comment marks where the finding must point: at the word before the bracket. */
export const wrongParsers: readonly Wrong[] = [
  {
    code: "GP1320",
    what: "a value set that no state asks",
    run: () =>
      small((p) => {
        p.parser.valueSet("trusted", { port: bit(9) }, { size: 4 }); //! valueSet
      }),
  },
  {
    code: "GP1104",
    what: "a lookahead that is assigned to a narrower field",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        p.parser.state("start").set(m, lookahead(bit(16) as never)); //! set
      }),
  },
  {
    code: "GP1201",
    what: "an error with a name that P4 has for something else",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        p.parser
          .state("start")
          .set(m, lookahead(bit(8)))
          .verify(m.eq(1), "select"); //! verify
      }),
  },
  {
    code: "GP1203",
    what: "an error that is no name",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        p.parser
          .state("start")
          .set(m, lookahead(bit(8)))
          .verify(m.eq(1), "too short"); //! verify
      }),
  },
  {
    code: "GP1204",
    what: "the error that is none",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        p.parser
          .state("start")
          .set(m, lookahead(bit(8)))
          .verify(m.eq(1), "NoError"); //! verify
      }),
  },
  {
    code: "GP1306",
    what: "an advance by half a byte",
    run: () => small((p) => void p.parser.state("start").advance(12)), //! advance
  },
  {
    code: "GP1306",
    what: "an advance by nothing",
    run: () => small((p) => void p.parser.state("start").advance(0)), //! advance
  },
  {
    code: "GP1307",
    what: "a lookahead in one branch of a choice",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const m = p.metadata("m", bit(8));
        p.parser
          .state("start")
          .extract(h)
          .set(m, mux(h.a.eq(1), lookahead(bit(8)), 0)); //! lookahead
      }),
  },
  {
    code: "GP1307",
    what: "a lookahead behind a condition",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.parser
          .state("start")
          .extract(h)
          .verify(h.a.eq(1).or(lookahead(bit(8)).eq(1)), "NoMatch"); //! lookahead
      }),
  },
  {
    code: "GP1502",
    what: "a parser state that writes a header",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.parser.state("start").extract(h).set(h.a, 1); //! set
      }),
  },
  {
    code: "GP1502",
    what: "a lookahead in ingress",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        p.ingress("route", (s) => s.set(m, lookahead(bit(8)))); //! lookahead
      }),
  },
  {
    code: "GP1202",
    what: "two header types of one name with other fields",
    run: () =>
      small((p) => {
        p.header(wireHeader("h", { a: 8 }), "one");
        p.header(wireHeader("h", { b: 8 }), "two"); //! header
      }),
  },
  {
    code: "GP1202",
    what: "a stack with the name of a header",
    run: () =>
      small((p) => {
        p.header(sample);
        p.stack("sample", sample, 4); //! stack
      }),
  },
  {
    code: "GP1302",
    what: "a loop whose lookahead passes over nothing",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        const again = p.parser
          .state("again")
          .set(m, lookahead(bit(8)))
          .select(m);
        p.parser.state("start").otherwise(again);
        again.on(1, again); //! on
      }),
  },
  {
    code: "GP1302",
    what: "a loop that passes over as many bits as the packet says, perhaps none",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const again = p.parser
          .state("again")
          .advance(h.wide)
          .select(lookahead(bit(8)));
        p.parser.state("start").extract(h).otherwise(again);
        again.on(1, again); //! on
      }),
  },
  {
    code: "GP1305",
    what: "a header in a loop over a stack",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const labels = p.stack("labels", label, 4);
        const again = p.parser.state("again").extract(labels.next);
        again.extract(h); //! extract
        p.parser.state("start").otherwise(again);
        again.select(labels.last.bottom).on(0, again);
      }),
  },
  {
    code: "GP1310",
    what: "a stack of no elements",
    run: () => small((p) => void p.stack("labels", label, 0)), //! stack
  },
  {
    code: "GP1310",
    what: "a stack of half an element",
    run: () => small((p) => void p.stack("labels", label, 1.5)), //! stack
  },
  {
    code: "GP1310",
    what: "an element behind the end of the stack",
    run: () =>
      small((p) => {
        const labels = p.stack("labels", label, 4);
        p.ingress("route", (s) => s.setInvalid(labels.at(4))); //! setInvalid
      }),
  },
  {
    code: "GP1310",
    what: "a field in front of the stack",
    run: () =>
      small((p) => {
        const labels = p.stack("labels", label, 4);
        p.ingress("route", (s) => s.set(labels.at(-1).value, 1)); //! set
      }),
  },
  {
    code: "GP1310",
    what: "an element of a stack extracted by its number",
    run: () =>
      small((p) => {
        const labels = p.stack("labels", label, 4);
        p.parser.state("start").extract(labels.at(0)); //! extract
      }),
  },
  {
    code: "GP1310",
    what: "a stack shifted by nothing",
    run: () =>
      small((p) => {
        const labels = p.stack("labels", label, 4);
        p.ingress("route", (s) => s.popFront(labels, 0)); //! popFront
      }),
  },
  {
    code: "GP1502",
    what: "the last element outside the parser",
    run: () =>
      small((p) => {
        const labels = p.stack("labels", label, 4);
        p.ingress("route", (s) => s.set(labels.last.value, 1)); //! set
      }),
  },
  {
    code: "GP1502",
    what: "the next element outside the parser",
    run: () =>
      small((p) => {
        const labels = p.stack("labels", label, 4);
        p.ingress("route", (s) => s.setValid(labels.next)); //! setValid
      }),
  },
  {
    code: "GP1313",
    what: "a union of nothing",
    run: () => small((p) => void p.union("u", {})), //! union
  },
  {
    code: "GP1311",
    what: "options without a length",
    run: () =>
      small((p) => {
        const options = p.header(withVarbit(sample, "options", 320));
        p.parser.state("start").extract(options); //! extract
      }),
  },
  {
    code: "GP1311",
    what: "a length for a header that has one already",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const m = p.metadata("m", bit(8));
        p.parser.state("start").set(m, lookahead(bit(8)));
        p.parser.state("start").extract(h, m); //! extract
      }),
  },
  {
    code: "GP1311",
    what: "options as long as they say themselves",
    run: () =>
      small((p) => {
        const options = p.header(withVarbit(sample, "options", 320));
        p.parser.state("start").extract(options, options.small); //! extract
      }),
  },
  {
    code: "GP1311",
    what: "options of part of a byte",
    run: () =>
      small((p) => {
        const options = p.header(withVarbit(sample, "options", 12)); //! header
        p.parser.state("start").extract(options, value(bit(8), 8));
      }),
  },
  {
    code: "GP1311",
    what: "options in a stack",
    run: () => small((p) => void p.stack("labels", withVarbit(label, "options", 32), 4)), //! stack
  },
  {
    code: "GP1314",
    what: "a checksum in a byte",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.checksum(h, "small", { fields: [h.a] }); //! checksum
      }),
  },
  {
    code: "GP1314",
    what: "a checksum over part of a word",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.checksum(h, "b", { fields: [h.a, h.small] }); //! checksum
      }),
  },
  {
    code: "GP1314",
    what: "a checksum over a sum",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.checksum(h, "b", { fields: [h.a.add(1)] }); //! checksum
      }),
  },
  {
    code: "GP1314",
    what: "a checksum that depends on the port",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.checksum(h, "b", { fields: [h.a], when: intrinsic.ingress_port.eq(1) }); //! checksum
      }),
  },
];
