import { fileURLToPath } from "node:url";
import {
  accept,
  type Bool,
  bit,
  exactly,
  intrinsic,
  optional,
  range,
  reject,
  value,
  wireHeader,
} from "gradplane";
import { inControl, parsed, small, type Wrong } from "./findings.ts";

const sample = wireHeader("sample", { a: 16, b: 16, wide: 32, small: 8, more: 8 });

export const wrongEffectsFile = fileURLToPath(import.meta.url);

/** Programs that P4 would take, and that do not do what they say. */
export const wrongEffects: readonly Wrong[] = [
  {
    code: "GP1111",
    what: "an unsigned value below zero",
    run: () =>
      small((p) => {
        const h = parsed(p, sample);
        p.ingress("route", (s) => s.if(h.a.lt(0), (then) => then.drop())); //! lt
      }),
  },
  {
    code: "GP1111",
    what: "a value compared with itself",
    run: () =>
      small((p) => {
        const h = parsed(p, sample);
        p.ingress("route", (s) => s.if(h.a.add(1).eq(h.a.add(1)), (then) => then.drop())); //! eq
      }),
  },
  {
    code: "GP1111",
    what: "a value compared with itself behind a cast that changes nothing",
    run: () =>
      small((p) => {
        const h = parsed(p, sample);
        p.ingress("route", (s) => s.if(h.a.lt(h.a.cast(bit(16)).add(0)), (then) => then.drop())); //! lt
      }),
  },
  {
    code: "GP1111",
    what: "a value compared with its own bits, cut from a wider one",
    run: () =>
      small((p) => {
        const h = parsed(p, sample);
        p.ingress("route", (s) => s.if(h.a.eq(h.a.cast(bit(32)).slice(15, 0)), (then) => then.drop())); //! eq
      }),
  },
  {
    code: "GP1308",
    what: "a select of which all ways are one",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const next = p.parser.state("next");
        p.parser.state("start").extract(h).select(h.a).on(1, next).otherwise(next); //! on
      }),
  },
  {
    code: "GP1302",
    what: "a parser without an end",
    run: () =>
      small((p) => {
        const s = p.parser.state("on"); //! state
        p.parser.state("start").otherwise(s);
        s.advance(8).otherwise(s);
      }),
  },
  {
    code: "GP1406",
    what: "a way behind a case that takes everything",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const s = p.parser.state("start").extract(h).select(h.a).on(1, reject);
        s.on(range(0, 0xffff), accept).otherwise(p.parser.state("never")); //! on
      }),
  },
  {
    code: "GP1309",
    what: "a header that nobody extracts",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        p.ingress("route", (s) => s.set(h.a, 1)); //! set
      }),
  },
  {
    code: "GP1309",
    what: "a header in the branch where it is invalid",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const s = p.parser.state("start").select(intrinsic.ingress_port);
        s.on(1, p.parser.state("more").extract(h));
        p.ingress("route", (t) =>
          t.if(
            p.valid(h),
            (then) => then.set(h.a, 1),
            (none) => none.set(h.a, 2), //! set
          ),
        );
      }),
  },
  {
    code: "GP1309",
    what: "a header read after it was taken away",
    run: () =>
      small((p) => {
        const h = parsed(p, sample);
        const m = p.metadata("m", bit(16));
        p.ingress("route", (s) => {
          s.setInvalid(h);
          s.set(m, h.a); //! set
        });
      }),
  },
  {
    code: "GP1309",
    what: "a select on a header that comes later",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const next = p.parser.state("next").extract(h);
        p.parser.state("start").select(h.a).on(1, reject).otherwise(next); //! on
      }),
  },
  {
    code: "GP1312",
    what: "a header that some packets have, without asking",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const s = p.parser.state("start").select(intrinsic.ingress_port);
        s.on(1, p.parser.state("more").extract(h));
        p.ingress("route", (t) => t.set(h.a, 1)); //! set
      }),
  },
  {
    code: "GP1312",
    what: "a key of a header that some packets have",
    run: () =>
      inControl((c, p) => {
        const h = p.header(sample);
        const s = p.parser.state("start").select(intrinsic.ingress_port);
        s.on(1, p.parser.state("more").extract(h));
        const no = c.action("no", {}, (a) => a.drop());
        const t = c.table("t", { key: { a: exactly(h.a) }, actions: [no], size: 4 }); //! table
        c.apply((a) => a.apply(t));
      }),
  },
  {
    code: "GP1315",
    what: "a range that makes hundreds of masks",
    target: "v1model",
    run: () =>
      small((p) => {
        const h = p.header(sample);
        const s = p.parser.state("start").extract(h).select(h.a, h.b);
        s.on([range(1, 0xfffe), range(1, 0xfffe)], reject).otherwise(accept); //! on
      }),
  },
  {
    code: "GP1405",
    what: "an optional truth",
    target: "v1model",
    run: () =>
      inControl((c, p) => {
        const h = parsed(p, sample);
        const no = c.action("no", {}, (a) => a.drop());
        const entries = [{ key: { v: true }, run: no.with({}) }];
        const t = c.table("t", { key: { v: optional(p.valid(h)) }, actions: [no], size: 4, entries }); //! table
        c.apply((a) => a.apply(t));
      }),
  },
  {
    code: "GP1411",
    what: "a key that is the same for all packets",
    run: () =>
      inControl((c) => {
        const no = c.action("no", {}, (a) => a.drop());
        const t = c.table("t", { key: { k: exactly(value(bit(8), 3).add(1)) }, actions: [no], size: 4 }); //! table
        c.apply((a) => a.apply(t));
      }),
  },
  {
    code: "GP1506",
    what: "a parameter that the action does not use",
    run: () =>
      inControl((c) => {
        const no = c.action("no", { port: bit(9) }, (a) => a.drop()); //! action
        const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [no], size: 4 });
        c.apply((a) => a.apply(t));
      }),
  },
  {
    code: "GP1506",
    what: "a parameter that does not matter",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(9));
        const no = c.action("no", { port: bit(9) }, (a, d) => a.set(m, d.port.mul(0))); //! action
        const t = c.table("t", { key: { port: exactly(intrinsic.ingress_port) }, actions: [no], size: 4 });
        c.apply((a) => a.apply(t));
      }),
  },
  {
    code: "GP1507",
    what: "a value that is written over",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        c.apply((s) => {
          s.set(m, 1); //! set
          s.if(
            intrinsic.ingress_port.eq(1),
            (then) => then.set(m, 2),
            (then) => then.set(m, 3),
          );
        });
      }),
  },
  {
    code: "GP1508",
    what: "a statement behind an exit",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const stop: Bool = intrinsic.ingress_port.eq(1);
        c.apply((s) =>
          s.if(stop, (then) => {
            then.drop();
            then.exit();
            then.set(m, 1); //! set
          }),
        );
      }),
  },
  {
    code: "GP1607",
    what: "an update that leaves the cell as it is",
    run: () =>
      inControl((c, p) => {
        const m = p.metadata("m", bit(8));
        const r = c.register("r", bit(8), 4);
        const index = value(bit(2), 1);
        c.apply((s) => s.update(r, { index, next: (old) => old, output: () => m, into: m })); //! update
      }),
  },
];
