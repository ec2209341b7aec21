import type { Program, SelectCase } from "../../src/ir/index.ts";
import { bit } from "../../src/ir/index.ts";
import { assign, constant, extract, field, goto, intrinsic, program, state } from "./nodes.ts";

const u8 = bit(8);
const u16 = bit(16);
const [kind, port] = [field("op", "kind", u8), field("op", "port", u16)];
const set = (name: string, next: string): SelectCase => ({ values: [], valueSet: name, next });

/** A parser that asks the control plane which kinds, and which kinds with which ports, have a header behind them. */
export function valueSets(): Program {
  return program("value_sets", {
    ports: 8,
    headerTypes: [
      {
        name: "op",
        fields: [
          { name: "kind", type: u8 },
          { name: "port", type: u16 },
        ],
      },
      { name: "more", fields: [{ name: "found", type: u8 }] },
    ],
    headers: [
      { name: "op", headerType: "op" },
      { name: "one", headerType: "more" },
      { name: "two", headerType: "more" },
    ],
    valueSets: [
      { name: "kinds", fields: [{ name: "kind", type: u8 }], size: 4, doc: "Kinds with a header." },
      {
        name: "tunnels",
        fields: [
          { name: "kind", type: u8 },
          { name: "port", type: u16 },
        ],
        size: 8,
      },
    ],
    parser: [
      state("start", [extract("op")], {
        kind: "select",
        keys: [kind],
        cases: [{ values: [{ kind: "value", value: 1n }], next: "by_port" }, set("kinds", "parse_one")],
        otherwise: "by_port",
      }),
      state("by_port", [], {
        kind: "select",
        keys: [kind, port],
        cases: [
          set("tunnels", "parse_two"),
          { values: [{ kind: "any" }, { kind: "value", value: 7n }], next: "parse_two" },
        ],
        otherwise: "accept",
      }),
      state("parse_one", [extract("one")], goto("accept")),
      state("parse_two", [extract("two")], goto("accept")),
    ],
    ingress: [
      assign(intrinsic("egress_port"), constant(1, bit(9))),
      {
        kind: "if",
        condition: { kind: "valid", type: { kind: "bool" }, header: "one" },
        whenTrue: [assign(field("one", "found", u8), constant(0x11, u8))],
        whenFalse: [],
      },
      {
        kind: "if",
        condition: { kind: "valid", type: { kind: "bool" }, header: "two" },
        whenTrue: [assign(field("two", "found", u8), constant(0x22, u8))],
        whenFalse: [],
      },
    ],
    deparser: ["op", "one", "two"],
  });
}
