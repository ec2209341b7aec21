import type { RuleCode } from "./diagnostics.ts";
import type { TnaCode } from "./tnarules.ts";

/** A mistake and its cure, as the body of a feature's `build(p)`. A test runs both. */
export interface RuleExample {
  /** Why it is refused. */
  readonly why: string;
  readonly wrong: string;
  readonly right: string;
}

const mark = 'const mark = p.metadata("mark", bit(8));\n';
const key =
  'const c = p.control("sorter", "ingress");\nconst go = c.action("go", { port: bit(9) }, (a, d) => a.set(intrinsic.egress_port, d.port));\n';
const use = '\nc.apply((s) => s.apply(t));\np.ingress("route", (s) => s.invoke(c));';

const note = 'const note = p.header(wireHeader("note", { kind: 8, size: 8 }));\n';
const optionalNote = `${note}const more = p.parser.state("parse_note").extract(note);\np.parser.state("start").select(intrinsic.ingress_port).on(1, more);\n`;

/** Examples for docs/errors.md, by code. */
export const ruleExamples: Partial<Record<RuleCode | TnaCode, RuleExample>> = {
  GP1101: {
    why: "A plain number is a double: beyond 2^53 it may have been rounded before gradplane saw it.",
    wrong: 'const m = p.metadata("m", bit(64));\np.ingress("route", (s) => s.set(m, 0.5));',
    right:
      'const m = p.metadata("m", bit(64));\np.ingress("route", (s) => s.set(m, 0xffff_ffff_ffff_ffffn));',
  },
  GP1102: {
    why: "P4 would cut the constant, p4c warns of it, and the program would do something else than it says.",
    wrong: `${mark}p.ingress("route", (s) => s.set(mark, 256));`,
    right: `${mark}p.ingress("route", (s) => s.set(mark, 255));`,
  },
  GP1104: {
    why: "P4 has no implicit casts between widths.",
    wrong: `${mark}const wide = p.metadata("wide", bit(16));\np.ingress("route", (s) => s.set(wide, mark));`,
    right: `${mark}const wide = p.metadata("wide", bit(16));\np.ingress("route", (s) => s.set(wide, mark.cast(bit(16))));`,
  },
  GP1107: {
    why: "Bits are numbered from 0, the lowest.",
    wrong: `${mark}p.ingress("route", (s) => s.if(mark.slice(8, 8).eq(1), (then) => then.drop()));`,
    right: `${mark}p.ingress("route", (s) => s.if(mark.slice(7, 7).eq(1), (then) => then.drop()));`,
  },
  GP1108: {
    why: "The result would be 0 whatever the value; Tofino shifts by constants only.",
    wrong: `${mark}p.ingress("route", (s) => s.set(mark, mark.shiftLeft(8)));`,
    right: `${mark}p.ingress("route", (s) => s.set(mark, mark.shiftLeft(7)));`,
  },
  GP1111: {
    why: "Compilers take the test out and what stands behind it; p4c then warns of the rest.",
    wrong: `${mark}p.ingress("route", (s) => s.if(mark.lt(0), (then) => then.drop()));`,
    right: `${mark}p.ingress("route", (s) => s.if(mark.eq(0), (then) => then.drop()));`,
  },
  GP1201: {
    why: "The word means something in P4, or in the architecture's own files.",
    wrong: 'p.metadata("table", bit(8));',
    right: 'p.metadata("table_number", bit(8));',
  },
  GP1202: {
    why: "Names of one kind share a scope, in P4 and in the control plane.",
    wrong: 'p.metadata("mark", bit(8));\np.metadata("mark", bit(16));',
    right: 'p.metadata("mark", bit(8));\np.metadata("wide_mark", bit(16));',
  },
  GP1301: {
    why: "Switches read and write whole bytes.",
    wrong: 'p.parser.state("start").extract(p.header(wireHeader("note", { kind: 4 })));',
    right: 'p.parser.state("start").extract(p.header(wireHeader("note", { kind: 4, padding: 4 })));',
  },
  GP1303: {
    why: "A state that nobody goes to reads nothing; most often a transition was forgotten.",
    wrong: 'p.parser.state("parse_note");',
    right: 'const note = p.parser.state("parse_note");\np.parser.state("start").otherwise(note);',
  },
  GP1308: {
    why: "Most often a state was to be another one.",
    wrong: `${note}p.parser.state("start").extract(note).select(note.kind).on(1, accept).otherwise(accept);`,
    right: `${note}p.parser.state("start").extract(note).select(note.kind).on(1, accept).otherwise(reject);`,
  },
  GP1309: {
    why: "Fields of an invalid header hold anything, also what another packet left there.",
    wrong: `${note}p.ingress("route", (s) => s.set(note.kind, 1));`,
    right: `${note}p.parser.state("start").extract(note);\np.ingress("route", (s) => s.set(note.kind, 1));`,
  },
  GP1312: {
    why: "Not all packets have the header; in the others its fields hold anything.",
    wrong: `${optionalNote}p.ingress("route", (s) => s.set(note.kind, 1));`,
    right: `${optionalNote}p.ingress("route", (s) => s.if(p.valid(note), (then) => then.set(note.kind, 1)));`,
  },
  GP1402: {
    why: "Longest prefix is an order of one field; with two of them no entry would be the longest.",
    wrong: `${key}const [x, y] = [p.metadata("x", bit(8)), p.metadata("y", bit(8))];\nconst t = c.table("t", { key: { x: lpm(x), y: lpm(y) }, actions: [go], size: 4 });${use}`,
    right: `${key}const [x, y] = [p.metadata("x", bit(8)), p.metadata("y", bit(8))];\nconst t = c.table("t", { key: { x: lpm(x), y: exactly(y) }, actions: [go], size: 4 });${use}`,
  },
  GP1403: {
    why: "Only what is in the list can be in the table's memory.",
    wrong: `${key}const no = c.action("no", {}, (a) => a.drop());\nconst t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 4, defaultAction: no.with({}) });${use}`,
    right: `${key}const no = c.action("no", {}, (a) => a.drop());\nconst t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go, no], size: 4, defaultAction: no.with({}) });${use}`,
  },
  GP1404: {
    why: "An entry carries exactly the data that its action takes.",
    wrong: `${key}const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 4, defaultAction: go.with({ prot: 1 }) });${use}`,
    right: `${key}const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 4, defaultAction: go.with({ port: 1 }) });${use}`,
  },
  GP1506: {
    why: "What nothing uses is dead code in the P4, of which p4c warns; a parameter without use costs memory in each entry.",
    wrong:
      'const c = p.control("limits", "ingress");\nc.register("rates", bit(32), 16);\np.ingress("route", (s) => s.invoke(c));',
    right:
      'const c = p.control("limits", "ingress");\nconst r = c.register("rates", bit(32), 16);\nc.apply((s) => s.update(r, { index: value(bit(4), 1), next: (old) => old.add(1) }));\np.ingress("route", (s) => s.invoke(c));',
  },
  GP1507: {
    why: "The first value never reaches anyone: one of the two was meant for another place.",
    wrong: `${mark}const c = p.control("marker", "ingress");\nc.apply((s) => {\n  s.set(mark, 1);\n  s.set(mark, 2);\n});\np.ingress("route", (s) => s.invoke(c));`,
    right: `${mark}const c = p.control("marker", "ingress");\nc.apply((s) => s.set(mark, 2));\np.ingress("route", (s) => s.invoke(c));`,
  },
  GP1508: {
    why: "After exit the packet leaves the pipeline.",
    wrong: `${mark}p.ingress("route", (s) => s.if(mark.eq(1), (then) => {\n  then.drop();\n  then.exit();\n  then.set(mark, 2);\n}));`,
    right: `${mark}p.ingress("route", (s) => s.if(mark.eq(1), (then) => {\n  then.set(mark, 2);\n  then.drop();\n  then.exit();\n}));`,
  },
  GP1601: {
    why: "A register stands in one stage of a pipeline, which each packet passes once.",
    wrong:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 4);\nconst i = p.metadata("i", bit(2));\nc.apply((s) => {\n  s.update(r, { index: i, next: (old) => old.add(1) });\n  s.update(r, { index: i, next: (old) => old.add(2) });\n});\np.ingress("route", (s) => s.invoke(c));',
    right:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 4);\nconst i = p.metadata("i", bit(2));\nc.apply((s) => s.update(r, { index: i, next: (old) => old.add(3) }));\np.ingress("route", (s) => s.invoke(c));',
  },
  GP1607: {
    why: "It reads the cell, writes back what it read, and tells nobody.",
    wrong:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 4);\nc.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old }));\np.ingress("route", (s) => s.invoke(c));',
    right:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 4);\nc.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old.add(1) }));\np.ingress("route", (s) => s.invoke(c));',
  },
  GP1703: {
    why: "The packet would be lost without a trace.",
    wrong: 'p.ingress("route", (s) => s.set(intrinsic.egress_port, 99));',
    right: 'p.ingress("route", (s) => s.set(intrinsic.egress_port, 3));',
  },
  GP1861: {
    why: "A sum goes over two containers of 32 bits at most; one that saturates stays in one.",
    wrong: 'const t = p.metadata("t", bit(48));\np.ingress("route", (s) => s.set(t, t.addSat(1)));',
    right: 'const t = p.metadata("t", bit(48));\np.ingress("route", (s) => s.set(t, t.add(1)));',
  },
};
