import { fileURLToPath } from "node:url";
import {
  accept,
  any,
  bit,
  exactly,
  hotAggregation,
  inRange,
  int,
  int32,
  intrinsic,
  ipv4Forwarding,
  lpm,
  masked,
  type Num,
  ProgramError,
  prefix,
  program,
  range,
  ternary,
  value,
  wireHeader,
} from "gradplane";
import { describe, expect, test } from "vitest";
import { check } from "../../src/ir/check/check.ts";
import { bool, type Control, type Program, type RuleCode, rules } from "../../src/ir/index.ts";
import {
  codes,
  describeWrong,
  dropAll,
  emptyProgram,
  findings,
  inControl,
  parsed,
  sendAll,
  small,
  type Wrong,
} from "./findings.ts";
import { wrongEffects, wrongEffectsFile } from "./wrongeffects.ts";
import { wrongExterns } from "./wrongexterns.ts";
import { wrongParsers } from "./wrongparsers.ts";

const here = fileURLToPath(import.meta.url);

const sample = wireHeader("sample", { a: 16, b: 16, wide: 32, small: 8, more: 8 });

/** Each has one fault. A comment marks where the finding must point: at the word before the bracket. */
const wrongPrograms: readonly Wrong[] = [
  {
    code: "GP1101",
    what: "a fraction",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        p.ingress("route", (s) => s.set(m, 1.5)); //! set
      }),
  },
  {
    code: "GP1102",
    what: "a constant beyond its field",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        p.ingress("route", (s) => s.set(m, 256)); //! set
      }),
  },
  {
    code: "GP1102",
    what: "an action argument beyond its parameter",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const put = c.action("put", { x: bit(8) }, (a, { x }) => a.set(m, x));
        const t = c.table("t", { key: {}, actions: [put], size: 1, defaultAction: put.with({ x: 256 }) }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1103",
    what: "a metadata field without bits",
    run: () => small((p) => void p.metadata("m", bit(0))), //! metadata
  },
  {
    code: "GP1103",
    what: "a value wider than compilers take",
    run: () => small((p) => void p.metadata("m", bit(2049))), //! metadata
  },
  {
    code: "GP1103",
    what: "a width that is no whole number",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(1.5)); //! metadata
        p.ingress("route", (s) => s.if(m.eq(1), (t) => t.drop()));
      }),
  },
  {
    code: "GP1103",
    what: "a header field without bits",
    run: () => small((p) => void p.header({ name: "h", fields: [{ name: "a", bits: 0 }] })), //! header
  },
  {
    code: "GP1103",
    what: "a register of cells without bits",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const r = c.register("r", bit(-1), 4); //! register
        c.apply((s) => s.update(r, { index: m, next: (old) => old }));
      }),
  },
  {
    code: "GP1103",
    what: "a parameter without bits",
    run: () =>
      inControl((c) => {
        const act = c.action("act", { x: int(0) }, (a) => a.drop()); //! action
        const t = c.table("t", { key: {}, actions: [act], size: 1 });
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1103",
    what: "a cast to nothing",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        p.ingress("route", (s) => s.if(m.cast(bit(0)).eq(0), (t) => t.drop())); //! cast
      }),
  },
  {
    code: "GP1112",
    what: "a metadata field of one signed bit",
    target: "v1model",
    run: () => small((p) => void p.metadata("m", int(1))), //! metadata
  },
  {
    code: "GP1112",
    what: "a cast to one signed bit",
    target: "v1model",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(1));
        p.ingress("route", (s) => s.if(m.cast(int(1)).eq(-1), (t) => t.drop())); //! cast
      }),
  },
  {
    code: "GP1104",
    what: "an assignment between widths",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.set(h.a, h.wide)); //! set
      }),
  },
  {
    code: "GP1104",
    what: "a sum of two widths",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.set(h.a, h.a.add(h.wide))); //! add
      }),
  },
  {
    code: "GP1104",
    what: "a register update of another width",
    run: () =>
      inControl((c, p) => {
        const h = p.header(sample);
        const r = c.register<ReturnType<typeof bit>>("r", bit(32), 4);
        c.apply((s) => s.update(r, { index: h.a, next: () => h.b })); //! update
      }),
  },
  {
    code: "GP1104",
    what: "a register index with a sign",
    run: () =>
      inControl((c, p) => {
        const h = p.header(sample);
        const r = c.register("r", bit(32), 4);
        const index = h.a.cast(int(16)) as unknown as Num<ReturnType<typeof bit>>;
        c.apply((s) => s.update(r, { index, next: (old) => old })); //! update
      }),
  },
  {
    code: "GP1106",
    what: "a cast of width and sign at once",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.if(h.a.cast(int(32)).lt(0), (t) => t.drop())); //! cast
      }),
  },
  {
    code: "GP1107",
    what: "a slice beyond the value",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.if(h.a.slice(16, 0).eq(0), (t) => t.drop())); //! slice
      }),
  },
  {
    code: "GP1107",
    what: "a slice with the low bit first",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.if(h.a.slice(0, 7).eq(0), (t) => t.drop())); //! slice
      }),
  },
  {
    code: "GP1107",
    what: "a slice at half a bit",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.if(h.a.slice(7.5, 0).eq(0), (t) => t.drop())); //! slice
      }),
  },
  {
    code: "GP1107",
    what: "writing a slice beyond the field",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.set(h.a.bits(19, 16), 1)); //! bits
      }),
  },
  {
    code: "GP1108",
    what: "a shift by the whole width",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.set(h.a, h.a.shiftLeft(16))); //! shiftLeft
      }),
  },
  {
    code: "GP1108",
    what: "two shifts by the whole width together",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const some = h.a.shiftLeft(9);
        p.ingress("route", (s) => s.set(h.a, some.shiftLeft(7))); //! shiftLeft
      }),
  },
  {
    code: "GP1108",
    what: "a product and a shift that leave nothing, with an addition of nothing between",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.set(h.a, h.a.mul(256).add(0).shiftLeft(8))); //! shiftLeft
      }),
  },
  {
    code: "GP1108",
    what: "a shift by a negative amount",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.set(h.a, h.a.shiftRight(-1))); //! shiftRight
      }),
  },
  {
    code: "GP1108",
    what: "a shift by a wide value",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.set(h.a, h.a.shiftRight(h.b))); //! shiftRight
      }),
  },
  {
    code: "GP1201",
    what: "a metadata field with a word of P4",
    run: () => small((p) => void p.metadata("in", bit(8))), //! metadata
  },
  {
    code: "GP1201",
    what: "a header field with a word of P4",
    run: () => small((p) => void p.header(wireHeader("h", { table: 8 }))), //! header
  },
  {
    code: "GP1201",
    what: "a parser state called accept",
    run: () =>
      small((p) => {
        const again = p.parser.state("accept"); //! state
        p.parser.state("start").otherwise(again);
      }),
  },
  {
    code: "GP1202",
    what: "a metadata field twice",
    run: () =>
      small((p) => {
        p.metadata("m", bit(8));
        p.metadata("m", bit(16)); //! metadata
      }),
  },
  {
    code: "GP1202",
    what: "an action twice in a table's list",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const go = c.action("go", {}, (a) => a.set(intrinsic.egress_port, 1));
        const t = c.table("t", { key: { m: exactly(m) }, actions: [go, go], size: 4 }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1401",
    what: "a table of five thousand million entries",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const go = c.action("go", {}, (a) => a.set(intrinsic.egress_port, 1));
        const t = c.table("t", { key: { m: exactly(m) }, actions: [go], size: 5_000_000_000 }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1604",
    what: "a register of as many cells",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const r = c.register("r", bit(8), 5_000_000_000); //! register
        c.apply((s) => s.update(r, { index: m, next: (old) => old.add(1) }));
      }),
  },
  {
    code: "GP1202",
    what: "two headers of one name",
    run: () =>
      small((p) => {
        p.header(wireHeader("h", { a: 8 }));
        p.header(wireHeader("h", { a: 16 })); //! header
      }),
  },
  {
    code: "GP1202",
    what: "a field twice in a header",
    run: () =>
      small((p) => {
        const a = { name: "a", bits: 8 };
        p.header({ name: "h", fields: [a, a] }); //! header
      }),
  },
  {
    code: "GP1202",
    what: "a table and an action of one name",
    run: () =>
      inControl((c) => {
        const act = c.action("x", {}, (a) => a.drop());
        const t = c.table("x", { key: {}, actions: [act], size: 1 }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1202",
    what: "two controls of one name",
    run: () =>
      small((p) => {
        for (const i of [1, 2]) {
          const c = p.control("twin", "ingress"); //! control
          if (i === 2) p.ingress("route", (s) => s.invoke(c));
        }
      }),
  },
  {
    code: "GP1202",
    what: "a counter cell twice",
    run: () =>
      inControl((c) => {
        const k = c.counter("k", ["seen", "seen"]); //! counter
        c.apply((s) => s.count(k, "seen"));
      }),
  },
  {
    code: "GP1202",
    what: "two features that select on different fields in one state",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.parser.state("start").extract(h).select(h.a).on(1, accept);
        p.parser.state("start").select(h.b).on(2, accept); //! select
      }),
  },
  {
    code: "GP1202",
    what: "two features that leave one state by different ways",
    run: () =>
      small((p) => {
        p.parser.state("start").otherwise(p.parser.state("one"));
        p.parser.state("start").otherwise(p.parser.state("two")); //! otherwise
      }),
  },
  {
    code: "GP1202",
    what: "two headers in front of packets to the controller",
    run: () =>
      small((p) => {
        p.packetIn(wireHeader("one", { port: 16 }));
        p.packetIn(wireHeader("two", { port: 16 })); //! packetIn
      }),
  },
  {
    code: "GP1203",
    what: "a name with a space",
    run: () => small((p) => void p.metadata("two words", bit(8))), //! metadata
  },
  {
    code: "GP1203",
    what: "a name with a dot",
    run: () => small((p) => void p.metadata("a.b", bit(8))), //! metadata
  },
  {
    code: "GP1203",
    what: "a table name with a dot",
    run: () =>
      inControl((c) => {
        const act = c.action("act", {}, (a) => a.drop());
        const t = c.table("x.t", { key: {}, actions: [act], size: 1 }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1203",
    what: "a name of a match field with a quote",
    run: () =>
      inControl((c, p) => {
        const h = p.header(sample);
        const act = c.action("act", {}, (a) => a.drop());
        const t = c.table("t", { key: { 'a"b': exactly(h.a) }, actions: [act], size: 1 }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1205",
    what: "an annotation with a parenthesis that is not closed",
    run: () =>
      inControl((c) => {
        const act = c.action("act", {}, (a) => a.drop());
        const t = c.table("t", { key: {}, actions: [act], size: 1, annotations: { tna: ["@stage(3"] } }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1206",
    what: "an id above 24 bits",
    run: () =>
      inControl((c) => {
        const act = c.action("act", {}, (a) => a.drop());
        const t = c.table("t", { key: {}, actions: [act], size: 1, id: 2 ** 24 }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1412",
    what: "initial entries, which BMv2 keeps",
    target: "v1model",
    run: () =>
      inControl((c) => {
        const act = c.action("act", {}, (a) => a.drop());
        const initialEntries = [{ key: { port: 1 }, run: act.with({}) }];
        const key = { port: exactly(intrinsic.ingress_port) };
        const t = c.table("t", { key, actions: [act], size: 4, initialEntries }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1204",
    what: "a header of nobody",
    run: () => small((p) => void p.valid({})), //! valid
  },
  {
    code: "GP1204",
    what: "a header of another program",
    run: () => {
      let foreign: object = {};
      small((p) => {
        foreign = p.header(sample);
      });
      return small((p) => p.ingress("route", (s) => s.setInvalid(foreign))); //! setInvalid
    },
  },
  {
    code: "GP1204",
    what: "a counter cell that does not exist",
    run: () =>
      inControl((c) => {
        const k = c.counter("k", ["good"]);
        c.apply((s) => s.count(k, value(bit(32), 1))); //! count
      }),
  },
  {
    code: "GP1204",
    what: "a counter cell without that name",
    run: () =>
      inControl((c) => {
        const k = c.counter("k", ["good"]);
        c.apply((s) => s.count(k, "bad" as "good")); //! count
      }),
  },
  {
    code: "GP1204",
    what: "a register cell that does not exist",
    run: () =>
      inControl((c) => {
        const r = c.register("r", bit(8), 4);
        c.apply((s) => s.update(r, { index: value(bit(32), 4), next: (old) => old })); //! update
      }),
  },
  {
    code: "GP1204",
    what: "a parameter outside its action",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        let leaked = m.add(0);
        const act = c.action("act", { x: bit(8) }, (a, { x }) => {
          leaked = x;
          a.set(m, x);
        });
        const t = c.table("t", { key: {}, actions: [act], size: 1 });
        c.apply((s) => {
          s.apply(t);
          s.set(m, leaked); //! set
        });
      }),
  },
  {
    code: "GP1301",
    what: "a header of 12 bits",
    run: () => small((p) => void p.header({ name: "h", fields: [{ name: "a", bits: 12 }] })), //! header
  },
  {
    code: "GP1301",
    what: "a header without fields",
    run: () => small((p) => void p.header({ name: "h", fields: [] })), //! header
  },
  {
    code: "GP1302",
    what: "a parser that runs in a circle",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const one = p.parser.state("one").extract(h).select(h.a);
        p.parser.state("start").otherwise(one);
        one.on(1, one); //! on
      }),
  },
  {
    code: "GP1303",
    what: "a parser state that nothing leads to",
    run: () => small((p) => void p.parser.state("lonely")), //! state
  },
  {
    code: "GP1304",
    what: "a select value beyond its key",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.parser.state("start").extract(h).select(h.a).on(0x1_0000, accept); //! on
      }),
  },
  {
    code: "GP1304",
    what: "two values for one key",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.parser.state("start").extract(h).select(h.a).on([1, 2], accept); //! on
      }),
  },
  {
    code: "GP1304",
    what: "a range with its end first",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.parser.state("start").extract(h).select(h.a).on(range(9, 3), accept); //! on
      }),
  },
  {
    code: "GP1305",
    what: "a header extracted in two states of one path",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const again = p.parser.state("again");
        p.parser.state("start").extract(h).otherwise(again);
        again.extract(h); //! extract
      }),
  },
  {
    code: "GP1401",
    what: "a table of size 0",
    run: () =>
      inControl((c) => {
        const act = c.action("act", {}, (a) => a.drop());
        const t = c.table("t", { key: {}, actions: [act], size: 0 }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1401",
    what: "more entries than the table has room for",
    run: () =>
      inControl((c, p) => {
        const h = p.header(sample);
        const act = c.action("act", {}, (a) => a.drop());
        const entries = [1, 2].map((a) => ({ key: { a }, run: act.with({}) }));
        const t = c.table("t", { key: { a: exactly(h.a) }, actions: [act], size: 1, entries }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1402",
    what: "two prefixes in one key",
    run: () =>
      inControl((c, p) => {
        const h = p.header(sample);
        const act = c.action("act", {}, (a) => a.drop());
        const t = c.table("t", { key: { a: lpm(h.a), b: lpm(h.b) }, actions: [act], size: 8 }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1403",
    what: "a default action outside the list",
    run: () =>
      inControl((c) => {
        const act = c.action("act", {}, (a) => a.drop());
        const t = c.table("t", { key: {}, actions: [], size: 1, defaultAction: act.with({}) }); //! table
        c.apply((s) => {
          s.apply(t);
          s.call(act);
        });
      }),
  },
  {
    code: "GP1404",
    what: "an argument that is missing",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const act = c.action("act", { x: bit(8) }, (a, { x }) => a.set(m, x));
        c.apply((s) => s.call(act, {} as { x: number })); //! call
      }),
  },
  {
    code: "GP1404",
    what: "an argument too many",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const act = c.action("act", { x: bit(8) }, (a, { x }) => a.set(m, x));
        const given = { x: 1, y: 2 };
        act.with(given); //! with
      }),
  },
  {
    code: "GP1405",
    what: "an entry beyond its key",
    run: () =>
      inControl((c, p) => {
        const h = p.header(sample);
        const act = c.action("act", {}, (a) => a.drop());
        const entries = [{ key: { a: 0x1_0000 }, run: act.with({}) }];
        const t = c.table("t", { key: { a: exactly(h.a) }, actions: [act], size: 1, entries }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1405",
    what: "a mask for an exact field",
    run: () =>
      inControl((c, p) => {
        const h = p.header(sample);
        const act = c.action("act", {}, (a) => a.drop());
        const entries = [{ key: { a: masked(1, 1) }, run: act.with({}) }];
        const t = c.table("t", { key: { a: exactly(h.a) }, actions: [act], size: 1, entries }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1405",
    what: "a prefix with bits behind its length",
    run: () =>
      inControl((c, p) => {
        const h = p.header(sample);
        const act = c.action("act", {}, (a) => a.drop());
        const entries = [{ key: { a: prefix(0x0a01, 8) }, run: act.with({}) }];
        const t = c.table("t", { key: { a: lpm(h.a) }, actions: [act], size: 1, entries }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1405",
    what: "a prefix in an entry of more than 64 bits",
    target: "v1model",
    run: () =>
      inControl((c, p) => {
        const wide = p.metadata("wide", bit(128));
        const act = c.action("act", {}, (a) => a.drop());
        const entries = [{ key: { a: prefix(0n, 9) }, run: act.with({}) }];
        const t = c.table("t", { key: { a: lpm(wide) }, actions: [act], size: 1, entries }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1406",
    what: "an entry that an earlier one covers",
    run: () =>
      inControl((c, p) => {
        const h = parsed(p, sample);
        const act = c.action("act", {}, (a) => a.drop());
        const entries = [masked(0, 0xff00), masked(0, 0xffff)].map((a) => ({
          key: { a },
          run: act.with({}),
        }));
        const t = c.table("t", { key: { a: ternary(h.a) }, actions: [act], size: 2, entries }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1406",
    what: "two features that take the same select value",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.parser.state("start").extract(h).select(h.a).on(7, p.parser.state("one"));
        p.parser.state("start").select(h.a).on(7, p.parser.state("two")); //! on
      }),
  },
  {
    code: "GP1407",
    what: "a prefix beside a range",
    target: "tna",
    run: () =>
      inControl((c, p) => {
        const h = parsed(p, sample);
        const act = c.action("act", {}, (a) => a.drop());
        const t = c.table("t", { key: { a: lpm(h.a), b: inRange(h.b) }, actions: [act], size: 8 }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1408",
    what: "an entry without a key",
    run: () =>
      inControl((c) => {
        const act = c.action("act", {}, (a) => a.drop());
        const entries = [{ key: {}, run: act.with({}) }];
        const t = c.table("t", { key: {}, actions: [act], size: 1, entries }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1501",
    what: "a table twice on one path",
    run: () =>
      inControl((c) => {
        const act = c.action("act", {}, (a) => a.drop());
        const t = c.table("t", { key: {}, actions: [act], size: 1 });
        c.apply((s) => {
          s.apply(t);
          s.apply(t); //! apply
        });
      }),
  },
  {
    code: "GP1501",
    what: "a table on two paths that go on differently",
    target: "v1model",
    run: () =>
      inControl((c, p) => {
        const h = parsed(p, sample);
        const act = c.action("act", {}, (a) => a.drop());
        const t = c.table("t", { key: {}, actions: [act], size: 1 });
        c.apply((s) =>
          s.if(
            h.a.eq(0),
            (then) => {
              then.apply(t);
              then.set(h.b, 1);
            },
            (then) => then.apply(t), //! apply
          ),
        );
      }),
  },
  {
    code: "GP1502",
    what: "reading a queue depth in ingress",
    run: () =>
      small((p) => {
        const m = p.metadata("m", bit(19));
        p.ingress("route", (s) => s.set(m, intrinsic.enqueue_depth)); //! set
      }),
  },
  {
    code: "GP1502",
    what: "choosing the port in egress",
    run: () => small((p) => p.egress("route", (s) => s.set(intrinsic.egress_port, 1))), //! set
  },
  {
    code: "GP1502",
    what: "a clone of a packet in egress",
    run: () => small((p) => p.egress("route", (s) => s.clone(1))), //! clone
  },
  {
    code: "GP1502",
    what: "a select on what the parser does not know",
    run: () =>
      small((p) => {
        const late = p.parser.state("late"); //! state
        p.parser.state("start").otherwise(late);
        late.select(intrinsic.egress_port).on(1, accept);
      }),
  },
  {
    code: "GP1502",
    what: "writing a part of the port",
    run: () => small((p) => p.ingress("route", (s) => s.set(intrinsic.egress_port.bits(3, 0), 1))), //! set
  },
  {
    code: "GP1503",
    what: "controls that apply each other",
    run: () =>
      small((p) => {
        const one = p.control("one", "ingress"); //! control
        const two = p.control("two", "ingress");
        one.apply((s) => s.invoke(two));
        two.apply((s) => s.invoke(one));
        p.ingress("route", (s) => s.invoke(one));
      }),
  },
  {
    code: "GP1504",
    what: "a program that never chooses a port",
    run: () => program("nowhere", { ports: 4, features: [] }), //! program
  },
  {
    code: "GP1504",
    what: "an exit before the port is chosen",
    run: () =>
      small((p) => {
        const h = parsed(p, sample);
        p.ingress("route", (s) => s.if(h.a.eq(0), (then) => then.exit())); //! exit
      }),
  },
  {
    code: "GP1505",
    what: "a control of ingress in egress",
    run: () =>
      small((p) => {
        const c = p.control("c", "ingress");
        p.ingress("route", (s) => s.invoke(c));
        p.egress("route", (s) => s.invoke(c)); //! invoke
      }),
  },
  {
    code: "GP1505",
    what: "a table outside its control",
    run: () =>
      inControl((c, p) => {
        const act = c.action("act", {}, (a) => a.drop());
        const t = c.table("t", { key: {}, actions: [act], size: 1 });
        p.ingress("route", (s) => s.apply(t)); //! apply
      }),
  },
  {
    code: "GP1505",
    what: "an action of another control in a table",
    run: () =>
      inControl((c, p) => {
        const other = p.control("other", "ingress");
        const act = other.action("act", {}, (a) => a.drop());
        other.apply((s) => s.call(act));
        p.ingress("route", (s) => s.invoke(other));
        const t = c.table("t", { key: {}, actions: [act], size: 1 }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1506",
    what: "a table that is never applied",
    run: () =>
      inControl((c) => {
        const act = c.action("act", {}, (a) => a.drop());
        c.table("t", { key: {}, actions: [act], size: 1 }); //! table
      }),
  },
  {
    code: "GP1506",
    what: "a control that is never invoked",
    run: () => small((p) => void p.control("c", "egress")), //! control
  },
  {
    code: "GP1601",
    what: "a register twice on one path",
    target: "tna",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const r = c.register("r", bit(8), 4);
        c.apply((s) => {
          s.update(r, { index: m, next: (old) => old.add(1) });
          s.update(r, { index: m, next: (old) => old.add(1) }); //! update
        });
      }),
  },
  {
    code: "GP1602",
    what: "a register's cell outside its update",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const r = c.register("r", bit(8), 4);
        let leaked = m.add(0);
        c.apply((s) => {
          s.update(r, {
            index: m,
            next: (old) => {
              leaked = old;
              return old;
            },
          });
          s.set(m, leaked); //! set
        });
      }),
  },
  {
    code: "GP1604",
    what: "a register without cells",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const r = c.register("r", bit(8), 0); //! register
        c.apply((s) => s.update(r, { index: m, next: (old) => old }));
      }),
  },
  {
    code: "GP1604",
    what: "a counter without cells",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const k = c.counter("k", []); //! counter
        c.apply((s) => s.count(k, m));
      }),
  },
  {
    code: "GP1701",
    what: "nine queues",
    run: () => program("queues", { ports: 4, priorityQueues: 9, features: [sendAll] }), //! program
  },
  {
    code: "GP1701",
    what: "a priority without a queue",
    run: () => small((p) => p.ingress("route", (s) => s.set(intrinsic.priority, 7))), //! set
  },
  {
    code: "GP1701",
    what: "33 workers",
    run: () =>
      program("many", {
        ports: 4,
        features: [
          ipv4Forwarding(),
          hotAggregation({ workers: 33, lanes: 4, rows: 16, mode: int32, result: "ps" }), //! hotAggregation
        ],
      }),
  },
  {
    code: "GP1702",
    what: "aggregation without forwarding",
    run: () =>
      program("alone", {
        ports: 4,
        cpuPort: 5,
        features: [
          hotAggregation({ workers: 2, lanes: 4, rows: 16, mode: int32, result: "ps" }), //! hotAggregation
        ],
      }),
  },
  {
    code: "GP1703",
    what: "a switch without ports",
    run: () => program("none", { ports: 0, features: [dropAll] }), //! program
  },
  {
    code: "GP1703",
    what: "a controller on a front port",
    run: () => program("clash", { ports: 4, cpuPort: 3, features: [sendAll] }), //! program
  },
  {
    code: "GP1703",
    what: "a constant port outside the switch",
    run: () => small((p) => p.ingress("route", (s) => s.set(intrinsic.egress_port, 4))), //! set
  },
  {
    code: "GP1703",
    what: "packets to a controller without a port",
    run: () => small((p) => void p.packetIn(wireHeader("to_controller", { port: 16 }))), //! packetIn
  },
];

describeWrong(here, wrongPrograms);
describeWrong(wrongEffectsFile, wrongEffects);

const control: Control = {
  name: "c",
  gress: "ingress",
  actions: [],
  tables: [],
  registers: [],
  counters: [],
  actionProfiles: [],
  meters: [],
  digests: [],
  apply: [],
};
const withControl = (c: Partial<Control>): Program => ({
  ...emptyProgram,
  controls: [{ ...control, ...c }],
  ingress: [{ kind: "applyControl", control: "c" }, ...emptyProgram.ingress],
});
const at = { file: "by/hand.json", line: 3, column: 4 };
const yes = { kind: "constant", value: 1n, type: bool } as const;
const byte = { kind: "constant", value: 1n, type: bit(8) } as const;

/** What the DSL's types already refuse, or its methods cannot say. */
const wrongData: readonly { readonly code: RuleCode; readonly what: string; readonly program: Program }[] = [
  {
    code: "GP1105",
    what: "a sum of truths",
    program: withControl({
      apply: [
        {
          kind: "if",
          at,
          condition: { kind: "binary", operator: "+", left: yes, right: yes, type: bool },
          whenTrue: [],
          whenFalse: [],
        },
      ],
    }),
  },
  {
    code: "GP1105",
    what: "the complement of a truth",
    program: withControl({
      apply: [
        {
          kind: "if",
          at,
          condition: { kind: "unary", operator: "~", operand: yes, type: bool },
          whenTrue: [],
          whenFalse: [],
        },
      ],
    }),
  },
  {
    code: "GP1104",
    what: "a number as a condition",
    program: withControl({ apply: [{ kind: "if", at, condition: byte, whenTrue: [], whenFalse: [] }] }),
  },
  {
    code: "GP1204",
    what: "a table of nobody",
    program: withControl({ apply: [{ kind: "applyTable", at, table: "c.t", hit: [], miss: [] }] }),
  },
  {
    code: "GP1204",
    what: "a control of nobody",
    program: withControl({ apply: [{ kind: "applyControl", at, control: "d" }] }),
  },
  {
    code: "GP1204",
    what: "an action of nobody",
    program: withControl({ apply: [{ kind: "callAction", at, action: "c.a", arguments: [] }] }),
  },
  {
    code: "GP1204",
    what: "a field of nobody",
    program: withControl({
      apply: [
        {
          kind: "assign",
          at,
          target: { kind: "field", header: "h", field: "f", type: bit(8) },
          value: byte,
        },
      ],
    }),
  },
  {
    code: "GP1204",
    what: "a parser state of nobody",
    program: {
      ...emptyProgram,
      parser: [{ name: "start", at, steps: [], transition: { kind: "goto", next: "nowhere" } }],
    },
  },
  {
    code: "GP1404",
    what: "a call with too few arguments",
    program: withControl({
      actions: [{ name: "c.a", parameters: [{ name: "x", type: bit(8) }], body: [] }],
      apply: [{ kind: "callAction", at, action: "c.a", arguments: [] }],
    }),
  },
  {
    code: "GP1603",
    what: "a register of truths",
    program: withControl({
      registers: [{ name: "c.r", type: bool, size: 4, at }],
      apply: [{ kind: "registerUpdate", register: "c.r", index: byte, next: yes }],
    }),
  },
];

describe("a wrong program that no DSL made gives one finding, at its place", () => {
  test.each(wrongData)("$code: $what", ({ code, program: p }) => {
    expect(check(p).map((d) => [d.code, d.at])).toEqual([[code, at]]);
  });
});

test("every rule has a program that breaks it", () => {
  const tested = new Set(
    [...wrongPrograms, ...wrongParsers, ...wrongData, ...wrongEffects, ...wrongExterns].map((w) => w.code),
  );
  expect([...tested].sort()).toEqual(Object.keys(rules).sort());
});

describe("an error that stops a program", () => {
  const build = () =>
    small((p) => {
      const m = p.metadata("m", bit(8));
      p.ingress("route", (s) => {
        s.set(m, 256);
        s.set(m, 257);
        s.exit();
      });
    });

  test("carries everything that was found, in the order of the source", () => {
    // The last one is of what comes behind the exit.
    expect(codes(build)).toEqual(["GP1102", "GP1102", "GP1504", "GP1508"]);
    const lines = findings(build).flatMap((d) => (d.at?.file === here ? [d.at.line] : []));
    expect(lines).toEqual(lines.toSorted((a, b) => a - b));
  });

  test("says each finding once, however often the wrong node is used", () => {
    const shared = () =>
      small((p) => {
        const m = p.metadata("m", bit(8));
        const big = value(bit(8), 256);
        p.ingress("route", (s) => {
          s.set(m, big);
          s.set(m, big.add(big));
        });
      });
    expect(codes(shared)).toEqual(["GP1102"]);
  });

  test("says place, code, reason and remedy, and has the code of the first error", () => {
    const error = thrown(build);
    expect(error).toBeInstanceOf(ProgramError);
    const [line = ""] = error.message.split("\n");
    expect(line).toContain(`${here}:`);
    expect(line).toContain("error GP1102: constant 256 does not fit bit<8> (0 to 255)");
    expect(line).toContain(rules.GP1102.remedy);
    expect(error.code).toBe("GP1102");
  });

  test("is not one target's alone", () => {
    const twice = () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const r = c.register("r", bit(8), 4);
        c.apply((s) => {
          s.update(r, { index: m, next: (old) => old.add(1) });
          s.update(r, { index: m, next: (old) => old.add(1) });
        });
      });
    expect(twice().warnings.map((d) => d.target)).toEqual(["tna"]);
  });
});

function thrown(run: () => unknown): ProgramError {
  try {
    run();
  } catch (error) {
    if (error instanceof ProgramError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("right programs give no findings", () => {
  test.each([1, 16, 32])("aggregation of %i workers beside forwarding", (workers) => {
    const built = program("libra", {
      ports: 32,
      cpuPort: 510,
      features: [
        ipv4Forwarding(),
        hotAggregation({ workers, lanes: 4, rows: 64, mode: int32, result: "ps" }),
      ],
    });
    expect(built.warnings).toEqual([]);
  });

  test("a table on two paths that go on alike", () => {
    const built = inControl((c, p) => {
      const h = parsed(p, sample);
      const act = c.action("act", {}, (a) => a.drop());
      const t = c.table("t", { key: {}, actions: [act], size: 1 });
      c.apply((s) => {
        s.if(
          h.a.eq(0),
          (then) => then.apply(t),
          (then) => {
            then.set(h.b, 1);
            then.apply(t);
          },
        );
        s.set(h.b, h.b.add(2));
      });
    });
    expect(built.warnings).toEqual([]);
  });

  test("prefixes of different length, in any order", () => {
    const built = inControl((c, p) => {
      const h = parsed(p, sample);
      const act = c.action("act", {}, (a) => a.drop());
      const entries = [prefix(0, 0), prefix(0x0a00, 8), 0x0a01].map((a) => ({
        key: { a },
        run: act.with({}),
      }));
      const t = c.table("t", { key: { a: lpm(h.a) }, actions: [act], size: 3, entries });
      c.apply((s) => s.apply(t));
    });
    expect(built.warnings).toEqual([]);
  });

  test("ranges and masks that overlap in part", () => {
    const built = inControl((c, p) => {
      const h = parsed(p, sample);
      const act = c.action("act", {}, (a) => a.drop());
      const entries = [
        { key: { a: range(0, 10), b: masked(1, 1) }, run: act.with({}) },
        { key: { a: range(5, 20), b: masked(2, 2) }, run: act.with({}) },
        { key: { a: any, b: any }, run: act.with({}) },
      ];
      const key = { a: inRange(h.a), b: ternary(h.b) };
      const t = c.table("t", { key, actions: [act], size: 3, entries });
      c.apply((s) => s.apply(t));
    });
    expect(built.warnings).toEqual([]);
  });

  test("the drop port and the controller's port as constants", () => {
    const ports = [0, 3, 9, 511];
    const built = program("ports", {
      ports: 4,
      cpuPort: 9,
      features: [
        {
          name: "f",
          build: (p) =>
            p.ingress("route", (s) => {
              for (const n of ports) s.set(intrinsic.egress_port, n);
            }),
        },
      ],
    });
    expect(built.warnings).toEqual([]);
  });

  test("two ways through the parser that extract the same header", () => {
    const built = small((p) => {
      const h = p.header(sample);
      const g = p.header(wireHeader("g", { x: 8 }));
      const [one, two, last] = ["one", "two", "last"].map((n) => p.parser.state(n));
      if (one === undefined || two === undefined || last === undefined) return;
      p.parser.state("start").extract(g).select(g.x).on(1, one).otherwise(two);
      one.extract(h).otherwise(last);
      two.extract(h).otherwise(last);
    });
    expect(built.warnings).toEqual([]);
  });
});
