import {
  bit,
  type ControlBuilder,
  exactly,
  intrinsic,
  program,
  type TargetAnnotations,
  value,
  wireHeader,
} from "../../src/dsl/index.ts";
import type { Program } from "../../src/ir/index.ts";

const note = wireHeader("note", { kind: 8, size: 8, rest: 16 });

export interface Extra {
  readonly annotations?: TargetAnnotations;
  readonly id?: number;
  /** Declares more in the control. */
  readonly more?: (c: ControlBuilder) => void;
}

/** Objects of each kind with an id and annotations; `extra` goes to its table. */
export function annotated(extra: Extra = {}): Program {
  return program("annotated", {
    ports: 16,
    features: [
      {
        name: "annotated",
        build: (p) => {
          const h = p.header(note);
          const mark = p.metadata("mark", bit(8));
          p.parser.state("start").extract(h);
          const c = p.control("sorter", "ingress", "sorts notes", undefined, {
            annotations: { tna: ['@pa_solitary("ingress", "meta.mark")'], v1model: ["@sorts"] },
          });
          const seen = c.register("seen", bit(32), 16, { doc: "notes of a kind", id: 21 });
          const sizes = c.counter("sizes", ["small", "large"], {
            id: 22,
            annotations: { v1model: ['@owner("operations", 2)'] },
          });
          const go = c.action(
            "go",
            { port: bit(9) },
            (a, d) => {
              a.set(intrinsic.egress_port, d.port);
              a.set(mark, 1);
            },
            {
              doc: "sends it on",
              id: 0xffffff,
              annotations: { v1model: ["@lane( -1,0x2, eight )"] },
              parameters: {
                port: { doc: "where it goes", annotations: { v1model: ["@format( PORT )"] } },
              },
            },
          );
          const told = c.digest(
            "told",
            { kind: bit(8) },
            { doc: "a large note", annotations: { v1model: ["@rate(5)"] } },
          );
          const stay = c.action("stay", {}, (a) => a.drop());
          const kinds = c.table("kinds", {
            doc: "where notes go",
            key: {
              kind: exactly(h.kind, {
                doc: "as it came",
                annotations: { v1model: ["@format(NUMBER)", "@empty()"] },
              }),
            },
            actions: [go, stay],
            size: 64,
            defaultAction: stay.with({}),
            id: extra.id ?? 7,
            annotations: extra.annotations ?? { tna: ["@stage(3)"], v1model: ["@shown", "@empty()"] },
          });
          extra.more?.(c);
          c.apply((s) => {
            s.update(seen, { index: h.kind.slice(3, 0), next: (old) => old.add(1) });
            s.if(
              h.size.eq(0),
              (small) => small.count(sizes, "small"),
              (large) => large.count(sizes, "large"),
            );
            s.apply(kinds);
            s.if(h.size.eq(255), (large) => large.digest(told, { kind: mark }));
            s.if(mark.eq(1), (then) => then.set(h.rest, value(bit(16), 5)));
          });
          p.ingress("route", (s) => s.invoke(c));
        },
      },
    ],
  }).ir;
}
