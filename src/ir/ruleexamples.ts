import type { RuleCode } from "./diagnostics.ts";
import { byPort, cellOf, inIngress, key, mark, note, optionalNote, use } from "./examplesnippets.ts";
import { tnaRuleExamples } from "./tnaruleexamples.ts";
import type { TnaCode } from "./tnarules.ts";

/** A mistake and its cure: the body of a feature's `build(p)`, or the default export of a program. A test runs both. */
export interface RuleExample {
  /** Why it is refused. */
  readonly why: string;
  readonly wrong: string;
  readonly right: string;
}

/** Examples for docs/errors.md, by code; each has one but what only a compiler finds. */
export const ruleExamples: Readonly<Record<RuleCode | Exclude<TnaCode, "GP1899">, RuleExample>> = {
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
  GP1103: {
    why: "P4 compilers take widths up to 2048.",
    wrong: 'p.metadata("wide", bit(0));',
    right: 'p.metadata("wide", bit(1));',
  },
  GP1104: {
    why: "P4 has no implicit casts between widths.",
    wrong: `${mark}const wide = p.metadata("wide", bit(16));\np.ingress("route", (s) => s.set(wide, mark));`,
    right: `${mark}const wide = p.metadata("wide", bit(16));\np.ingress("route", (s) => s.set(wide, mark.cast(bit(16))));`,
  },
  GP1105: {
    why: "Logical operators are for truths, arithmetic for numbers. The type checker says so, too.",
    wrong: `${note}p.parser.state("start").extract(note);\np.ingress("route", (s) => s.if(p.valid(note).and(note.kind), (then) => then.drop()));`,
    right: `${note}p.parser.state("start").extract(note);\np.ingress("route", (s) => s.if(p.valid(note).and(note.kind.ne(0)), (then) => then.drop()));`,
  },
  GP1106: {
    why: "A cast between signs and widths at once has two readings in P4.",
    wrong: `${mark}const s = p.metadata("s", int(16));\np.ingress("route", (q) => q.set(s, mark.cast(int(16))));`,
    right: `${mark}const s = p.metadata("s", int(16));\np.ingress("route", (q) => q.set(s, mark.cast(bit(16)).cast(int(16))));`,
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
  GP1109: {
    why: "The identity is the fields themselves, side by side in a number of 8 bytes.",
    wrong: `${mark}const wide = p.metadata("wide", bit(128));\np.ingress("route", (s) => s.hash(mark, { algorithm: "identity", fields: [wide], buckets: 16 }));`,
    right: `${mark}const wide = p.metadata("wide", bit(128));\np.ingress("route", (s) => s.hash(mark, { algorithm: "crc16", fields: [wide], buckets: 16 }));`,
  },
  GP1110: {
    why: "There is nothing between the two.",
    wrong: `${mark}p.ingress("route", (s) => s.random(mark, 5, 3));`,
    right: `${mark}p.ingress("route", (s) => s.random(mark, 0, 7));`,
  },
  GP1111: {
    why: "Compilers take the test out and what stands behind it; p4c then warns of the rest.",
    wrong: `${mark}p.ingress("route", (s) => s.if(mark.lt(0), (then) => then.drop()));`,
    right: `${mark}p.ingress("route", (s) => s.if(mark.eq(0), (then) => then.drop()));`,
  },
  GP1112: {
    why: "BMv2 has no such fields: simple_switch ends when it loads a program with one.",
    wrong: 'p.metadata("sign", int(1));',
    right: 'p.metadata("sign", bit(1));',
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
  GP1203: {
    why: "It becomes a name of the generated P4.",
    wrong: 'p.metadata("layer-mark", bit(8));',
    right: 'p.metadata("layer_mark", bit(8));',
  },
  GP1204: {
    why: "A name that nobody has declared is most often one that is misspelt.",
    wrong: 'p.ingress("rout", (s) => s.drop());',
    right: 'p.ingress("route", (s) => s.drop());',
  },
  GP1205: {
    why: "A parenthesis without its other one would swallow the program behind it, and what the generator writes itself would stand there twice.",
    wrong: `${key}const t = c.table("t", { ${byPort}, actions: [go], size: 4, annotations: { tna: ["@stage(3"] } });${use}`,
    right: `${key}const t = c.table("t", { ${byPort}, actions: [go], size: 4, annotations: { tna: ["@stage(3)"] } });${use}`,
  },
  GP1206: {
    why: "The control plane names objects by their ids alone; those of another kind have another prefix.",
    wrong: `${key}const t = c.table("t", { ${byPort}, actions: [go], size: 4, id: 0x1000000 });${use}`,
    right: `${key}const t = c.table("t", { ${byPort}, actions: [go], size: 4, id: 17 });${use}`,
  },
  GP1301: {
    why: "Switches read and write whole bytes.",
    wrong: 'p.parser.state("start").extract(p.header(wireHeader("note", { kind: 4 })));',
    right: 'p.parser.state("start").extract(p.header(wireHeader("note", { kind: 4, padding: 4 })));',
  },
  GP1302: {
    why: "The parser would not end.",
    wrong: `${note}const more = p.parser.state("more").otherwise(p.parser.state("start"));\np.parser.state("start").extract(note).otherwise(more);`,
    right: `${note}const more = p.parser.state("more").otherwise(accept);\np.parser.state("start").extract(note).otherwise(more);`,
  },
  GP1303: {
    why: "A state that nobody goes to reads nothing; most often a transition was forgotten.",
    wrong: 'p.parser.state("parse_note");',
    right: 'const note = p.parser.state("parse_note");\np.parser.state("start").otherwise(note);',
  },
  GP1304: {
    why: "The case would never be taken.",
    wrong: `${note}p.parser.state("start").extract(note).select(note.kind).on(256, reject).otherwise(accept);`,
    right: `${note}p.parser.state("start").extract(note).select(note.kind).on(255, reject).otherwise(accept);`,
  },
  GP1305: {
    why: "The second reading would overwrite the first.",
    wrong: `${note}p.parser.state("start").extract(note).extract(note);`,
    right: `${note}const inner = p.header(wireHeader("note", { kind: 8, size: 8 }), "inner");\np.parser.state("start").extract(note).extract(inner);`,
  },
  GP1306: {
    why: "Switches read whole bytes.",
    wrong: 'p.parser.state("start").advance(4);',
    right: 'p.parser.state("start").advance(8);',
  },
  GP1307: {
    why: "Looking ahead takes bits from the packet, and a packet that has no more is in error, whatever comes of the value.",
    wrong: `${mark}p.parser.state("start").set(mark, mux(intrinsic.ingress_port.eq(1), lookahead(bit(8)), value(bit(8), 0)));`,
    right: `${mark}p.parser.state("start").set(mark, lookahead(bit(8)));`,
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
  GP1310: {
    why: "Elements count from 0.",
    wrong:
      'const labels = p.stack("labels", wireHeader("label", { value: 16 }), 2);\np.parser.state("start").extract(labels.next);\np.ingress("route", (s) => s.setInvalid(labels.at(2)));',
    right:
      'const labels = p.stack("labels", wireHeader("label", { value: 16 }), 2);\np.parser.state("start").extract(labels.next);\np.ingress("route", (s) => s.setInvalid(labels.at(1)));',
  },
  GP1311: {
    why: "A packet says itself how long the field is, in a header that comes before.",
    wrong:
      'const head = p.header(wireHeader("head", { size: 8 }));\nconst text = p.header(withVarbit(wireHeader("text", { kind: 8 }), "rest", 256));\np.parser.state("start").extract(head).extract(text);',
    right:
      'const head = p.header(wireHeader("head", { size: 8 }));\nconst text = p.header(withVarbit(wireHeader("text", { kind: 8 }), "rest", 256));\np.parser.state("start").extract(head).extract(text, head.size.cast(bit(32)).shiftLeft(3));',
  },
  GP1312: {
    why: "Not all packets have the header; in the others its fields hold anything.",
    wrong: `${optionalNote}p.ingress("route", (s) => s.set(note.kind, 1));`,
    right: `${optionalNote}p.ingress("route", (s) => s.if(p.valid(note), (then) => then.set(note.kind, 1)));`,
  },
  GP1313: {
    why: "A union holds one of its members.",
    wrong: 'p.union("either", {});',
    right:
      'const either = p.union("either", { a: wireHeader("a", { x: 8 }), b: wireHeader("b", { y: 8 }) });\np.parser.state("start").extract(either.a);',
  },
  GP1314: {
    why: "An Internet checksum has 16 bits.",
    wrong:
      'const note = p.header(wireHeader("note", { kind: 8, sum: 8 }));\np.parser.state("start").extract(note);\np.checksum(note, "sum");',
    right:
      'const note = p.header(wireHeader("note", { kind: 16, sum: 16 }));\np.parser.state("start").extract(note);\np.checksum(note, "sum");',
  },
  GP1315: {
    why: "p4c writes a range as cases with masks, and BMv2 would get thousands of them.",
    wrong:
      'const note = p.header(wireHeader("note", { kind: 16, size: 16 }));\np.parser.state("start").extract(note).select(note.kind, note.size).on([range(1, 65_534), range(1, 65_534)], reject).otherwise(accept);',
    right:
      'const note = p.header(wireHeader("note", { kind: 16, size: 16 }));\np.parser.state("start").extract(note).select(note.kind, note.size).on([range(0, 32_767), range(1, 65_534)], reject).otherwise(accept);',
  },
  GP1320: {
    why: "A member of the set has a value for each key of the select.",
    wrong: `${note}const kinds = p.parser.valueSet("kinds", { kind: bit(16) }, { size: 4 });\np.parser.state("start").extract(note).select(note.kind).onMember(kinds, reject).otherwise(accept);`,
    right: `${note}const kinds = p.parser.valueSet("kinds", { kind: bit(8) }, { size: 4 });\np.parser.state("start").extract(note).select(note.kind).onMember(kinds, reject).otherwise(accept);`,
  },
  GP1401: {
    why: "A table without room holds nothing.",
    wrong: `${key}const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 0 });${use}`,
    right: `${key}const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 1 });${use}`,
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
  GP1405: {
    why: "The entry would never match.",
    wrong: `${key}const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 4, entries: [{ key: { port: 512 }, run: go.with({ port: 1 }) }] });${use}`,
    right: `${key}const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 4, entries: [{ key: { port: 3 }, run: go.with({ port: 1 }) }] });${use}`,
  },
  GP1406: {
    why: "The first of two entries that match wins.",
    wrong: `${key}const kind = p.metadata("kind", bit(8));\nconst t = c.table("t", { key: { kind: ternary(kind) }, actions: [go], size: 4, entries: [{ key: { kind: any }, run: go.with({ port: 1 }) }, { key: { kind: 3 }, run: go.with({ port: 2 }) }] });${use}`,
    right: `${key}const kind = p.metadata("kind", bit(8));\nconst t = c.table("t", { key: { kind: ternary(kind) }, actions: [go], size: 4, entries: [{ key: { kind: 3 }, run: go.with({ port: 2 }) }, { key: { kind: any }, run: go.with({ port: 1 }) }] });${use}`,
  },
  GP1407: {
    why: "Tofino holds prefixes and masks in different memories.",
    wrong: `${key}const [x, y] = [p.metadata("x", bit(8)), p.metadata("y", bit(8))];\nconst t = c.table("t", { key: { x: lpm(x), y: ternary(y) }, actions: [go], size: 4 });${use}`,
    right: `${key}const [x, y] = [p.metadata("x", bit(8)), p.metadata("y", bit(8))];\nconst t = c.table("t", { key: { x: ternary(x), y: ternary(y) }, actions: [go], size: 4 });${use}`,
  },
  GP1408: {
    why: "Without a key there is nothing that an entry could match: the default action runs for all packets.",
    wrong: `${key}const t = c.table("t", { key: {}, actions: [go], size: 1, entries: [{ key: {}, run: go.with({ port: 1 }) }] });${use}`,
    right: `${key}const t = c.table("t", { key: {}, actions: [go], size: 1, defaultAction: go.with({ port: 1 }) });${use}`,
  },
  GP1409: {
    why: "A profile holds the actions that entries name.",
    wrong: `${key}const hops = c.actionProfile("hops", { size: 0 });\nconst t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 4, implementation: hops });${use}`,
    right: `${key}const hops = c.actionProfile("hops", { size: 16 });\nconst t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 4, implementation: hops });${use}`,
  },
  GP1410: {
    why: "The data of the actions stand in the profile, under numbers that entries name; a default action would have none.",
    wrong: `${key}const hops = c.actionProfile("hops", { size: 16 });\nconst t = c.table("t", { ${byPort}, actions: [go], size: 4, implementation: hops, defaultAction: go.with({ port: 1 }) });${use}`,
    right: `${key}const hops = c.actionProfile("hops", { size: 16 });\nconst t = c.table("t", { ${byPort}, actions: [go], size: 4, implementation: hops });${use}`,
  },
  GP1411: {
    why: "The field has the same value in all packets, so it chooses nothing.",
    wrong: `${key}const t = c.table("t", { key: { zero: exactly(value(bit(8), 0)) }, actions: [go], size: 4 });${use}`,
    right: `${key}const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 4 });${use}`,
  },
  GP1412: {
    why: "BMv2 refuses every write to a table that has entries of the program.",
    wrong: `${key}const t = c.table("t", { ${byPort}, actions: [go], size: 4, initialEntries: [{ key: { port: 3 }, run: go.with({ port: 1 }) }] });${use}`,
    right: `${key}const t = c.table("t", { ${byPort}, actions: [go], size: 4, entries: [{ key: { port: 3 }, run: go.with({ port: 1 }) }] });${use}`,
  },
  GP1501: {
    why: "A table stands in one place of a pipeline.",
    wrong: `${key}const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 4 });\nc.apply((s) => {\n  s.apply(t);\n  s.apply(t);\n});\np.ingress("route", (s) => s.invoke(c));`,
    right: `${key}const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [go], size: 4 });\nc.apply((s) => s.apply(t));\np.ingress("route", (s) => s.invoke(c));`,
  },
  GP1502: {
    why: "The queue is known behind it only, in egress.",
    wrong: 'p.ingress("route", (s) => s.if(intrinsic.dequeue_depth.gt(5), (then) => then.drop()));',
    right: 'p.egress("route", (s) => s.if(intrinsic.dequeue_depth.gt(5), (then) => then.drop()));',
  },
  GP1503: {
    why: "No switch has a pipeline without an end.",
    wrong: `const c = p.control("marker", "ingress");\nc.apply((s) => s.invoke(c));${inIngress}`,
    right: `const c = p.control("marker", "ingress");\nc.apply((s) => s.drop());${inIngress}`,
  },
  GP1504: {
    why: "A packet for which nothing has chosen a port goes out of port 0 on v1model, and nowhere on Tofino.",
    wrong: `${mark}p.ingress("route", (s) => s.if(mark.eq(0), (then) => then.exit()));`,
    right: `${mark}p.ingress("route", (s) => s.if(mark.eq(0), (then) => {\n  then.drop();\n  then.exit();\n}));`,
  },
  GP1505: {
    why: "A control belongs to ingress or to egress.",
    wrong:
      'const c = p.control("marker", "egress");\nc.apply((s) => s.drop());\np.ingress("route", (s) => s.invoke(c));',
    right:
      'const c = p.control("marker", "ingress");\nc.apply((s) => s.drop());\np.ingress("route", (s) => s.invoke(c));',
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
  GP1602: {
    why: "The cell is there while its update runs, and nowhere else: take what you need of it out through the update's output.",
    wrong: `${cellOf("bit(8)")}${mark}let leaked = mark;\nc.apply((s) => {\n  s.update(r, { index: value(bit(2), 1), next: (old) => (leaked = old).add(1) });\n  s.set(mark, leaked);\n});${inIngress}`,
    right: `${cellOf("bit(8)")}${mark}c.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old.add(1), output: ({ old }) => old, into: mark }));${inIngress}`,
  },
  GP1603: {
    why: "Switches keep numbers.",
    wrong: `${cellOf("bool")}c.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old }));${inIngress}`,
    right: `${cellOf("bit(8)")}c.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old.add(1) }));${inIngress}`,
  },
  GP1604: {
    why: "Memory without cells.",
    wrong:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 0);\nc.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old.add(1) }));\np.ingress("route", (s) => s.invoke(c));',
    right:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 4);\nc.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old.add(1) }));\np.ingress("route", (s) => s.invoke(c));',
  },
  GP1605: {
    why: "A meter without cells measures nothing.",
    wrong: `const c = p.control("police", "ingress");\nconst m = c.meter("m", { size: 0, unit: "bytes" });\nconst colour = p.metadata("met", bit(2));\nc.apply((s) => {\n  s.meter(m, value(bit(32), 0), colour);\n  s.if(colour.eq(2), (then) => then.drop());\n});${inIngress}`,
    right: `const c = p.control("police", "ingress");\nconst m = c.meter("m", { size: 4, unit: "bytes" });\nconst colour = p.metadata("met", bit(2));\nc.apply((s) => {\n  s.meter(m, value(bit(32), 0), colour);\n  s.if(colour.eq(2), (then) => then.drop());\n});${inIngress}`,
  },
  GP1606: {
    why: "Compilers make a message of its own at each place, and the control plane knows one.",
    wrong: `const c = p.control("teacher", "ingress");\n${mark}const seen = c.digest("seen", { mark: bit(8) });\nc.apply((s) => s.if(mark.eq(1), (then) => then.digest(seen, { mark }), (other) => other.digest(seen, { mark: 0 })));${inIngress}`,
    right: `const c = p.control("teacher", "ingress");\n${mark}const told = p.metadata("told", bit(8));\nconst seen = c.digest("seen", { mark: bit(8) });\nc.apply((s) => {\n  s.if(mark.eq(1), (then) => then.set(told, mark), (other) => other.set(told, 0));\n  s.digest(seen, { mark: told });\n});${inIngress}`,
  },
  GP1607: {
    why: "It reads the cell, writes back what it read, and tells nobody.",
    wrong:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 4);\nc.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old }));\np.ingress("route", (s) => s.invoke(c));',
    right:
      'const c = p.control("memory", "ingress");\nconst r = c.register("r", bit(32), 4);\nc.apply((s) => s.update(r, { index: value(bit(2), 1), next: (old) => old.add(1) }));\np.ingress("route", (s) => s.invoke(c));',
  },
  GP1701: {
    why: "A table's entries are the program's for ever, or the control plane's.",
    wrong: `${key}const entries = [{ key: { port: 3 }, run: go.with({ port: 1 }) }];\nconst t = c.table("t", { ${byPort}, actions: [go], size: 4, entries, initialEntries: entries });${use}`,
    right: `${key}const entries = [{ key: { port: 3 }, run: go.with({ port: 1 }) }];\nconst t = c.table("t", { ${byPort}, actions: [go], size: 4, entries });${use}`,
  },
  GP1702: {
    why: "Routes lead to the groups of next hops, so something has to route.",
    wrong:
      'export default program("spread", { ports: 4, features: [ecmp({ groups: 4, members: 4, spray: "all" })] });',
    right:
      'export default program("spread", { ports: 4, features: [ipv4Forwarding(), ecmp({ groups: 4, members: 4, spray: "all" })] });',
  },
  GP1703: {
    why: "The packet would be lost without a trace.",
    wrong: 'p.ingress("route", (s) => s.set(intrinsic.egress_port, 99));',
    right: 'p.ingress("route", (s) => s.set(intrinsic.egress_port, 3));',
  },
  ...tnaRuleExamples,
};
