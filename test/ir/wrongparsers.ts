import { fileURLToPath } from "node:url";
import { bit, lookahead, mux, type SwitchProgram, wireHeader } from "gradplane";
import type { RuleCode, TargetName } from "../../src/ir/index.ts";
import { small } from "./findings.ts";

export const here = fileURLToPath(import.meta.url);

const sample = wireHeader("sample", { a: 16, b: 16, wide: 32, small: 8, more: 8 });

interface Wrong {
  readonly code: RuleCode;
  readonly what: string;
  readonly target?: TargetName;
  readonly run: () => SwitchProgram;
}

/** Parsers with one fault each. A comment marks where the finding must point: at the word before the bracket. */
export const wrongParsers: readonly Wrong[] = [
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
];
