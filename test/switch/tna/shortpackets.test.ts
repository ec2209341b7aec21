import { describe, expect, it } from "vitest";
import { checkTna, generate } from "../../../src/backends/index.ts";
import { intrinsic, program, type Steps, wireHeader } from "../../../src/dsl/index.ts";
import { both } from "./bothpersonalities.ts";

/** All packets leave by port 1, with or without a header of two bytes in front; `first` is what ingress begins with. */
function reading(first: (s: Steps) => void) {
  return program("reading", {
    ports: 4,
    features: [
      {
        name: "reading",
        build: (p) => {
          const kind = p.header(wireHeader("kind", { kind: 8 }));
          const note = p.header(wireHeader("note", { size: 16 }));
          const more = p.parser.state("parse_note").extract(note);
          p.parser.state("start").extract(kind).select(kind.kind).on(1, more);
          p.ingress("route", (s) => {
            s.set(intrinsic.egress_port, 1);
            first(s);
          });
        },
      },
    ],
  }).ir;
}

/** Ports by which a frame leaves each of the two switches, and what Tofino's parser has dropped. */
function sent(ir: ReturnType<typeof reading>, frame: readonly number[]) {
  const { v1model, tna } = both(ir);
  const ports = (sw: typeof tna) =>
    sw.inject(0, Uint8Array.from(frame)).map((out) => [out.port, ...out.data]);
  return { v1model: ports(v1model), tna: ports(tna), parserError: tna.drops.parserError };
}

const whole = [1, 0xaa, 0xbb, 7];
const short = [1, 0xaa];

describe("a packet that ends within a header", () => {
  it("goes on in v1model without the header, and is dropped by Tofino's parser", () => {
    const p = reading(() => {});
    expect(checkTna(p)).toEqual([]);
    expect(sent(p, whole)).toEqual({ v1model: [[1, ...whole]], tna: [[1, ...whole]], parserError: 0 });
    // What the parser did not get is behind the headers in v1model.
    expect(sent(p, short)).toEqual({ v1model: [[1, ...short]], tna: [], parserError: 1 });
  });

  it("is told in the report of a program that does not ask for the error, and of no other", () => {
    const report = (first: (s: Steps) => void) => String(generate(reading(first)).get("report.md"));
    expect(report(() => {})).toContain("packets that end within a header are dropped by Tofino's parser");
    const asking = report((s) => s.if(intrinsic.parser_failed, (then) => then.drop("short")));
    expect(asking).not.toContain("packets that end within a header");
  });

  it("is dropped by both when the program drops what its parser could not read", () => {
    const p = reading((s) => s.if(intrinsic.parser_failed, (then) => then.drop("short")));
    expect(sent(p, whole)).toEqual({ v1model: [[1, ...whole]], tna: [[1, ...whole]], parserError: 0 });
    expect(sent(p, short)).toEqual({ v1model: [], tna: [], parserError: 0 });
  });

  it("goes on in both when the program asks for the error and sends it elsewhere", () => {
    const p = reading((s) => s.if(intrinsic.parser_failed, (then) => then.set(intrinsic.egress_port, 2)));
    const { v1model, tna, parserError } = sent(p, short);
    expect({ v1model: v1model.map(([port]) => port), tna: tna.map(([port]) => port), parserError }).toEqual({
      v1model: [2],
      tna: [2],
      parserError: 0,
    });
  });
});
