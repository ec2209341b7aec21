import { byPort, cellOf, inIngress, key, mark, note, optionalNote, use } from "./examplesnippets.ts";
import type { RuleExample } from "./ruleexamples.ts";
import type { TnaCode } from "./tnarules.ts";

/** A program that reads a header. */
const reads = `${note}p.parser.state("start").extract(note);\n`;

/** A table that matches a range of the field `size`. */
function rangeOver(field: string): string {
  return `const note = p.header(wireHeader("note", { ${field} }));
p.parser.state("start").extract(note);
const c = p.control("sorter", "ingress");
const away = c.action("away", {}, (a) => a.drop());
const t = c.table("t", { key: { size: inRange(note.size) }, actions: [away], size: 4 });${use}`;
}

/** Tables of which each chooses by the field that the one before has written. */
function chained(length: number): string {
  return `${note}p.parser.state("start").extract(note);
const c = p.control("chain", "ingress");
const field = Array.from({ length: ${length} }, (_, i) => p.metadata("field_" + i, bit(16)));
const tables = field.slice(1).map((next, i) => {
  const hop = c.action("hop_" + i, { to: bit(16) }, (a, { to }) => a.set(next, to));
  return c.table("table_" + i, { key: { was: exactly(field[i]) }, actions: [hop], size: 64 });
});
c.apply((s) => {
  for (const t of tables) s.apply(t);
  s.if(field[${length - 1}].eq(7), (then) => then.set(note.kind, 1));
});${inIngress}`;
}

/** Examples for docs/errors.md of what Tofino lacks, by code. */
export const tnaRuleExamples: Readonly<Record<Exclude<TnaCode, "GP1899">, RuleExample>> = {
  GP1801: {
    why: "The cell is updated by one operation on it and one value of the packet.",
    wrong:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 4);\nconst m = p.metadata("m", bit(32));\nc.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old.mul(3).add(m) }));\np.ingress("route", (s) => s.invoke(c));',
    right:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 4);\nconst m = p.metadata("m", bit(32));\nc.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old.add(m) }));\np.ingress("route", (s) => s.invoke(c));',
  },
  GP1802: {
    why: "A stateful ALU has four programs, of which each packet runs one.",
    wrong: `${cellOf("bit(32)")}const kind = p.metadata("kind", bit(8));\nc.apply((s) => {\n  const add = (n) => (then) => then.update(r, { index: value(bit(2), 1), next: (old) => old.add(n) });\n  s.if(kind.eq(1), add(1), (a) => a.if(kind.eq(2), add(2), (b) => b.if(kind.eq(3), add(3), (d) => d.if(kind.eq(4), add(4), add(5)))));\n});${inIngress}`,
    right: `${cellOf("bit(32)")}const kind = p.metadata("kind", bit(8));\nc.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old.add(1) }));${inIngress}`,
  },
  GP1803: {
    why: "What stands before a stage's tables compares numbers with a sign up to 32 bits.",
    wrong: `const balance = p.metadata("balance", int(48));\np.ingress("route", (s) => s.if(balance.lt(-5), (then) => then.drop()));`,
    right: `const balance = p.metadata("balance", int(32));\np.ingress("route", (s) => s.if(balance.lt(-5), (then) => then.drop()));`,
  },
  GP1804: {
    why: "Tofino begins with a packet before all of it has come, and does not know how long it is.",
    wrong:
      'const length = p.metadata("length", bit(32));\np.ingress("route", (s) => s.set(length, intrinsic.packet_length));',
    right:
      'const length = p.metadata("length", bit(16));\nconst ip = p.header(wireHeader("ip", { total_len: 16 }));\np.parser.state("start").extract(ip);\np.ingress("route", (s) => s.set(length, ip.total_len));',
  },
  GP1805: {
    why: "Tofino's ports have numbers by pipe, and the controller's own is 192, or 64 by Ethernet.",
    wrong: 'export default program("edge", { ports: 16, cpuPort: 510, features: [ipv4Forwarding()] });',
    right: 'export default program("edge", { ports: 16, cpuPort: 192, features: [ipv4Forwarding()] });',
  },
  GP1806: {
    why: "The second step waits for the first, so the action takes two stages, and a table is in one.",
    wrong: `${note}p.parser.state("start").extract(note);\nconst c = p.control("sorter", "ingress");\nconst step = c.action("step", { by: bit(8) }, (a, d) => {\n  a.set(note.kind, note.size.add(d.by));\n  a.set(note.size, note.kind.add(1));\n});\nconst t = c.table("t", { ${byPort}, actions: [step], size: 4 });\nconst u = c.table("u", { ${byPort}, actions: [step], size: 4 });\nc.apply((s) => s.apply(t, { miss: (m) => m.apply(u) }));${inIngress}`,
    right: `${note}p.parser.state("start").extract(note);\nconst c = p.control("sorter", "ingress");\nconst step = c.action("step", { by: bit(8) }, (a, d) => a.set(note.kind, note.size.add(d.by)));\nconst t = c.table("t", { ${byPort}, actions: [step], size: 4 });\nconst u = c.table("u", { ${byPort}, actions: [step], size: 4 });\nc.apply((s) => s.apply(t, { miss: (m) => m.apply(u) }));${inIngress}`,
  },
  GP1807: {
    why: "Egress begins with the bytes of the packet, and no parser leads to a header that ingress has put in.",
    wrong: `${optionalNote}p.ingress("route", (s) => s.setValid(note));\np.egress("route", (s) => s.if(p.valid(note), (then) => then.set(note.kind, 1)));`,
    right: `${optionalNote}p.ingress("route", (s) => {\n  s.setValid(note);\n  s.set(note.kind, 1);\n  s.set(note.size, 0);\n});`,
  },
  GP1808: {
    why: "A state compares 32 bits at once.",
    wrong:
      'const note = p.header(wireHeader("note", { kind: 32, size: 32 }));\np.parser.state("start").extract(note).select(note.kind, note.size).on([1, 2], reject).otherwise(accept);',
    right:
      'const note = p.header(wireHeader("note", { kind: 32, size: 32 }));\nconst sized = p.parser.state("sized").select(note.size).on(2, reject).otherwise(accept);\np.parser.state("start").extract(note).select(note.kind).on(1, sized).otherwise(accept);',
  },
  GP1809: {
    why: "Tofino does not multiply.",
    wrong: `${mark}p.ingress("route", (s) => s.set(mark, mark.mul(mark)));`,
    right: `${mark}p.ingress("route", (s) => s.set(mark, mark.shiftLeft(1)));`,
  },
  GP1810: {
    why: "The counter of a table is counted in its actions.",
    wrong: `${note}p.parser.state("start").extract(note);\nconst c = p.control("sorter", "ingress");\nconst step = c.action("step", {}, (a) => a.set(note.kind, 1));\nconst t = c.table("t", { ${byPort}, actions: [step], size: 4, counter: "hits", defaultAction: step.with({}) });\nconst u = c.table("u", { ${byPort}, actions: [step], size: 4 });\nc.apply((s) => s.apply(t, { miss: (m) => m.apply(u) }));${inIngress}`,
    right: `${note}p.parser.state("start").extract(note);\nconst c = p.control("sorter", "ingress");\nconst step = c.action("step", {}, (a) => a.set(note.kind, 1));\nconst other = c.action("other", {}, (a) => a.set(note.kind, 2));\nconst t = c.table("t", { ${byPort}, actions: [step], size: 4, counter: "hits", defaultAction: step.with({}) });\nconst u = c.table("u", { ${byPort}, actions: [other], size: 4 });\nc.apply((s) => s.apply(t, { miss: (m) => m.apply(u) }));${inIngress}`,
  },
  GP1811: {
    why: "A cell is one, two or four bytes.",
    wrong:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(24), 4);\nc.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old.add(1) }));\np.ingress("route", (s) => s.invoke(c));',
    right:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 4);\nc.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old.add(1) }));\np.ingress("route", (s) => s.invoke(c));',
  },
  GP1812: {
    why: "A register lies in one stage.",
    wrong:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 200_000);\nc.apply((s) => s.update(r, { index: value(bit(18), 1), next: (old) => old.add(1) }));\np.ingress("route", (s) => s.invoke(c));',
    right:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 65_536);\nc.apply((s) => s.update(r, { index: value(bit(16), 1), next: (old) => old.add(1) }));\np.ingress("route", (s) => s.invoke(c));',
  },
  GP1813: {
    why: "Tofino sends to the port and to the group.",
    wrong:
      'const group = p.metadata("group", bit(16));\np.ingress("route", (s) => {\n  s.set(intrinsic.multicast_group, group);\n  s.set(intrinsic.egress_port, 2);\n});',
    right: 'p.ingress("route", (s) => s.set(intrinsic.egress_port, 2));',
  },
  GP1814: {
    why: "Tofino drops the packet in its parser, where nothing counts it; v1model goes on to ingress.",
    wrong: `${note}p.parser.state("start").extract(note).select(note.kind).on(1, accept).otherwise(reject);`,
    right: `${note}p.parser.state("start").extract(note);\np.ingress("route", (s) => s.if(note.kind.ne(1), (then) => then.drop()));`,
  },
  GP1815: {
    why: "Tofino's checksum unit takes the header as it stands in the packet.",
    wrong:
      'const note = p.header(wireHeader("note", { kind: 16, size: 16, sum: 16 }));\np.parser.state("start").extract(note);\np.checksum(note, "sum", { fields: [note.kind] });',
    right:
      'const note = p.header(wireHeader("note", { kind: 16, size: 16, sum: 16 }));\np.parser.state("start").extract(note);\np.checksum(note, "sum");',
  },
  GP1816: {
    why: "The egress parser sees the first 160 bytes.",
    wrong: `const long = p.header(wireHeader("long", { text: 1600 }));\n${note}p.parser.state("start").extract(long).extract(note);\np.egress("route", (s) => s.set(note.kind, 1));`,
    right: `const long = p.header(wireHeader("long", { text: 1600 }));\n${note}p.parser.state("start").extract(long).extract(note);\np.ingress("route", (s) => s.set(note.kind, 1));`,
  },
  GP1830: {
    why: "The parser moves bits, and has no adder.",
    wrong: `${note}${mark}p.parser.state("start").extract(note).set(mark, note.kind.add(1));\np.ingress("route", (s) => s.set(note.size, mark));`,
    right: `${note}${mark}p.parser.state("start").extract(note).set(mark, note.kind);\np.ingress("route", (s) => s.set(note.size, mark.add(1)));`,
  },
  GP1831: {
    why: "On v1model the packet goes on to ingress with the error; Tofino would go on without.",
    wrong: `${note}p.parser.state("start").extract(note).verify(note.kind.ne(0), "NoKind");`,
    right: `${note}p.parser.state("start").extract(note);\np.ingress("route", (s) => s.if(note.kind.eq(0), (then) => then.drop()));`,
  },
  GP1832: {
    why: "The egress parser would need a value that only ingress has.",
    wrong: `${note}${mark}p.parser.state("start").extract(note).set(mark, note.kind);\np.egress("route", (s) => s.set(note.kind, mark));`,
    right: `${note}${mark}p.parser.state("start").extract(note);\np.ingress("route", (s) => s.set(mark, note.kind));\np.egress("route", (s) => s.set(note.kind, mark));`,
  },
  GP1833: {
    why: "Tofino's containers hold the headers side by side anyway.",
    wrong:
      'const either = p.union("either", { a: wireHeader("a", { x: 8 }), b: wireHeader("b", { y: 8 }) });\np.parser.state("start").extract(either.a);',
    right: 'const a = p.header(wireHeader("a", { x: 8 }));\np.parser.state("start").extract(a);',
  },
  GP1834: {
    why: "Tofino moves a stack and makes its new first header valid in one step.",
    wrong:
      'const labels = p.stack("labels", wireHeader("label", { value: 16 }), 2);\np.parser.state("start").extract(labels.next);\np.ingress("route", (s) => s.popFront(labels));',
    right:
      'const label = p.header(wireHeader("label", { value: 16 }));\np.parser.state("start").extract(label);\np.ingress("route", (s) => s.setInvalid(label));',
  },
  GP1835: {
    why: "Egress parses again, without the stack.",
    wrong:
      'const labels = p.stack("labels", wireHeader("label", { value: 16 }), 2);\np.parser.state("start").extract(labels.next);\np.egress("route", (s) => s.set(labels.at(0).value, 1));',
    right:
      'const labels = p.stack("labels", wireHeader("label", { value: 16 }), 2);\np.parser.state("start").extract(labels.next);\np.ingress("route", (s) => s.set(labels.at(0).value, 1));',
  },
  GP1836: {
    why: "Tofino's compiler writes the state out for each element of the stack, and here is none.",
    wrong:
      'const skip = p.parser.state("skip").advance(8);\nskip.select(lookahead(bit(8))).on(0, skip).otherwise(accept);\np.parser.state("start").otherwise(skip);',
    right:
      'const skip = p.parser.state("skip").advance(8);\np.parser.state("start").select(lookahead(bit(8))).on(0, skip).otherwise(accept);',
  },
  GP1837: {
    why: "Tofino's parser knows beforehand where each header ends.",
    wrong:
      'const head = p.header(wireHeader("head", { size: 8 }));\nconst text = p.header(withVarbit(wireHeader("text", { kind: 8 }), "rest", 256));\np.parser.state("start").extract(head).extract(text, head.size.cast(bit(32)).shiftLeft(3));',
    right:
      'const text = p.header(wireHeader("text", { size: 8, rest: 256 }));\np.parser.state("start").extract(text);',
  },
  GP1838: {
    why: "A checksum that is verified over the payload would need all of the packet.",
    wrong:
      'const note = p.header(wireHeader("note", { kind: 16, sum: 16 }));\np.parser.state("start").extract(note);\np.checksum(note, "sum", { payload: true });',
    right:
      'const note = p.header(wireHeader("note", { kind: 16, sum: 16 }));\np.parser.state("start").extract(note);\np.checksum(note, "sum", { payload: true, verify: false });',
  },
  GP1841: {
    why: "There is no division: a hash is as many bits as are taken of it.",
    wrong: `${mark}p.ingress("route", (s) => s.hash(mark, { algorithm: "crc16", fields: [intrinsic.ingress_port], buckets: 12 }));`,
    right: `${mark}p.ingress("route", (s) => s.hash(mark, { algorithm: "crc16", fields: [intrinsic.ingress_port], buckets: 16 }));`,
  },
  GP1842: {
    why: "Tofino draws so many random bits.",
    wrong: `${mark}p.ingress("route", (s) => s.random(mark, 0, 99));`,
    right: `${mark}p.ingress("route", (s) => s.random(mark, 0, 127));`,
  },
  GP1843: {
    why: "So much fits into the deparser.",
    wrong:
      'const c = p.control("teacher", "ingress");\nconst large = p.metadata("large", bit(512));\nconst seen = c.digest("seen", { large: bit(512) });\nc.apply((s) => s.digest(seen, { large }));\np.ingress("route", (s) => s.invoke(c));',
    right:
      'const c = p.control("teacher", "ingress");\nconst small = p.metadata("small_value", bit(32));\nconst seen = c.digest("seen", { small: bit(32) });\nc.apply((s) => s.digest(seen, { small }));\np.ingress("route", (s) => s.invoke(c));',
  },
  GP1844: {
    why: "Eight bytes go along with a packet that is resubmitted.",
    wrong:
      'const large = p.metadata("large", bit(128));\np.ingress("route", (s) => s.if(large.eq(0), (then) => {\n  then.set(large, 1);\n  then.resubmit([large]);\n  then.exit();\n}));',
    right:
      'const once = p.metadata("once", bit(8));\np.ingress("route", (s) => s.if(once.eq(0), (then) => {\n  then.set(once, 1);\n  then.resubmit([once]);\n  then.exit();\n}));',
  },
  GP1845: {
    why: "What comes back is a packet like any other.",
    wrong: `${mark}p.ingress("route", (s) => s.if(mark.eq(0), (then) => {\n  then.set(mark, 1);\n  then.recirculate([mark]);\n  then.exit();\n}));`,
    right: `${note}p.parser.state("start").extract(note);\np.ingress("route", (s) => s.if(note.kind.eq(0), (then) => {\n  then.set(note.kind, 1);\n  then.recirculate();\n  then.exit();\n}));`,
  },
  GP1850: {
    why: "Each table reads what the one before wrote, so each needs a stage behind it, and Tofino 1 has 12.",
    wrong: chained(14),
    right: chained(8),
  },
  GP1860: {
    why: "A table's counter is counted by its actions, and NoAction does nothing.",
    wrong: `${note}p.parser.state("start").extract(note);\nconst c = p.control("sorter", "ingress");\nconst step = c.action("step", {}, (a) => a.set(note.kind, 1));\nconst nothing = { kind: "action", name: NO_ACTION };\nconst t = c.table("t", { ${byPort}, actions: [step, nothing], size: 4, counter: "hits" });${use}`,
    right: `${note}p.parser.state("start").extract(note);\nconst c = p.control("sorter", "ingress");\nconst step = c.action("step", {}, (a) => a.set(note.kind, 1));\nconst nothing = c.action("nothing", {}, () => {});\nconst t = c.table("t", { ${byPort}, actions: [step, nothing], size: 4, counter: "hits" });${use}`,
  },
  GP1861: {
    why: "A sum goes over two containers of 32 bits at most; one that saturates stays in one.",
    wrong: 'const t = p.metadata("t", bit(48));\np.ingress("route", (s) => s.set(t, t.addSat(1)));',
    right: 'const t = p.metadata("t", bit(48));\np.ingress("route", (s) => s.set(t, t.add(1)));',
  },
  GP1862: {
    why: "The parser writes a field by adding bits to it: the second value would be mixed with the first.",
    wrong: `${note}${mark}p.parser.state("start").extract(note).set(mark, note.kind).set(mark, note.size);\np.ingress("route", (s) => s.set(note.kind, mark));`,
    right: `${note}${mark}p.parser.state("start").extract(note).set(mark, note.size);\np.ingress("route", (s) => s.set(note.kind, mark));`,
  },
  GP1863: {
    why: "A profile keeps data, and there are none.",
    wrong: `const c = p.control("sorter", "ingress");\nconst away = c.action("away", {}, (a) => a.drop());\nconst hops = c.actionProfile("hops", { size: 16 });\nconst t = c.table("t", { ${byPort}, actions: [away], size: 4, implementation: hops });${use}`,
    right: `${key}const hops = c.actionProfile("hops", { size: 16 });\nconst t = c.table("t", { ${byPort}, actions: [go], size: 4, implementation: hops });${use}`,
  },
  GP1864: {
    why: "Ranges are compared in groups of four bits, of which a key has four.",
    wrong: rangeOver("size: 32"),
    right: rangeOver("size: 16"),
  },
  GP1866: {
    why: "Tofino's parser drops them, uncounted; v1model goes on to ingress without the header. Only who asks has the same on both.",
    wrong: `${reads}p.ingress("route", (s) => s.if(note.kind.eq(0), (then) => then.drop()));`,
    right: `${reads}p.ingress("receive", (s) => s.if(intrinsic.parser_failed, (then) => then.drop()));\np.ingress("route", (s) => s.if(note.kind.eq(0), (then) => then.drop()));`,
  },
};
