/** Programs as users write them, outside the repository. */

export const RIGHT = `import { ipv4Forwarding, program } from "gradplane";

const features: readonly ReturnType<typeof ipv4Forwarding>[] = [ipv4Forwarding({ routes: 16 })];
export default program("right", { ports: 4, features });
`;

/** Reads a header, and does not ask whether all of it was there. */
export const READS = `import { type Feature, intrinsic, program, wireHeader } from "gradplane";

const feature: Feature = {
  name: "reads",
  build(p) {
    const note = p.header(wireHeader("note", { kind: 8, size: 8 }));
    p.parser.state("start").extract(note);
    p.ingress("route", (s) => s.if(note.kind.eq(0), (then) => then.drop(), (not) => not.set(intrinsic.egress_port, 1)));
  },
};
export default program("reads", { ports: 4, features: [feature] });
`;

/** Line 9 has a constant that is too wide, line 11 a name that P4 reserves. */
export const WRONG = `import { bit, type Feature, program } from "gradplane";

const feature: Feature = {
  name: "wrong",
  build(p) {
    const m = p.metadata("m", bit(8));
    p.ingress("route", (s) => {
      s.drop();
      s.set(m, 256);
    });
    p.metadata("table", bit(8));
  },
};
export default program("wrong", { ports: 4, features: [feature] });
`;

/** BMv2 has one successor for each outcome of a table; this one would need two. */
export const NOT_FOR_V1MODEL = `import { bit, exactly, type Feature, program } from "gradplane";

const feature: Feature = {
  name: "twice",
  build(p) {
    const [a, b] = [p.metadata("a", bit(8)), p.metadata("b", bit(8))];
    const c = p.control("twice", "ingress");
    const set = c.action("set", {}, (s) => s.set(b, 1));
    const t = c.table("t", { key: { a: exactly(a) }, actions: [set], size: 4 });
    c.apply((s) => {
      s.if(
        a.eq(1),
        (then) => {
          then.apply(t);
          then.set(b, 2);
        },
        (otherwise) => otherwise.apply(t),
      );
    });
    p.ingress("route", (s) => {
      s.drop();
      s.invoke(c);
    });
  },
};
export default program("twice", { ports: 4, features: [feature] });
`;

/** Tofino takes no prefix beside a ternary field; BMv2 does. */
export const NOT_FOR_TNA = `import { bit, type Feature, lpm, program, ternary } from "gradplane";

const feature: Feature = {
  name: "mixed",
  build(p) {
    const [a, b] = [p.metadata("a", bit(8)), p.metadata("b", bit(8))];
    const c = p.control("mixed", "ingress");
    const drop = c.action("discard", {}, (s) => s.drop());
    const t = c.table("t", { key: { a: lpm(a), b: ternary(b) }, actions: [drop], size: 4 });
    c.apply((s) => s.apply(t));
    p.ingress("route", (s) => {
      s.drop();
      s.invoke(c);
    });
  },
};
export default program("mixed", { ports: 4, features: [feature] });
`;
