import { fileURLToPath } from "node:url";
import {
  type ActionProfile,
  bit,
  type ControlBuilder,
  colourType,
  exactly,
  type HashOptions,
  int,
  intrinsic,
  type ProgramBuilder,
  ternary,
  type Variable,
} from "gradplane";
import type { BitType } from "../../src/ir/index.ts";
import { inControl, small, type Wrong } from "./findings.ts";

export const wrongExternsFile = fileURLToPath(import.meta.url);

export interface Fields {
  readonly x: Variable<BitType<16>>;
  readonly y: Variable<BitType<8>>;
  readonly wide: Variable<BitType<128>>;
}

export function fields(p: ProgramBuilder): Fields {
  return { x: p.metadata("x", bit(16)), y: p.metadata("y", bit(8)), wide: p.metadata("wide", bit(128)) };
}

/** An action and a table that uses a profile; applied. */
export function withTable(c: ControlBuilder, f: Fields, implementation: ActionProfile, name = "t"): void {
  const put = c.action(`${name}_put`, { value: bit(8) }, (a, d) => a.set(f.y, d.value));
  const t = c.table(name, { key: { x: exactly(f.x) }, actions: [put], size: 4, implementation });
  c.apply((s) => s.apply(t));
}

/** Programs with one fault in what the architecture does for them. */
export const wrongExterns: readonly Wrong[] = [
  {
    code: "GP1109",
    what: "a hash of nothing",
    run: () =>
      inControl((c, p) => {
        const { x } = fields(p);
        c.apply((s) => s.hash(x, { algorithm: "crc16", fields: [] })); //! hash
      }),
  },
  {
    code: "GP1109",
    what: "the identity of more than 8 bytes",
    run: () =>
      inControl((c, p) => {
        const { x, wide } = fields(p);
        c.apply((s) => s.hash(x, { algorithm: "identity", fields: [wide] })); //! hash
      }),
  },
  {
    code: "GP1109",
    what: "the identity of part of a byte",
    run: () =>
      inControl((c, p) => {
        const { x, y } = fields(p);
        c.apply((s) => s.hash(x, { algorithm: "identity", fields: [y.slice(6, 0)] })); //! hash
      }),
  },
  {
    code: "GP1109",
    what: "a hash to no bucket",
    run: () =>
      inControl((c, p) => {
        const { x } = fields(p);
        c.apply((s) => s.hash(x, { algorithm: "crc16", fields: [x], buckets: 0 })); //! hash
      }),
  },
  {
    code: "GP1102",
    what: "more buckets than the target can number",
    run: () =>
      inControl((c, p) => {
        const { x, y } = fields(p);
        c.apply((s) => s.hash(y, { algorithm: "crc16", fields: [x], base: 200, buckets: 57 })); //! hash
      }),
  },
  {
    code: "GP1701",
    what: "an option that hashes do not have",
    run: () =>
      inControl((c, p) => {
        const { x } = fields(p);
        const o = { algorithm: "crc16", fields: [x], seed: 3 } as HashOptions;
        c.apply((s) => s.hash(x, o)); //! hash
      }),
  },
  {
    code: "GP1110",
    what: "a random number from high to low",
    run: () =>
      inControl((c, p) => {
        const { y } = fields(p);
        c.apply((s) => s.random(y, 7, 3)); //! random
      }),
  },
  {
    code: "GP1110",
    what: "a random number of 128 bits",
    run: () =>
      inControl((c, p) => {
        const { wide } = fields(p);
        c.apply((s) => s.random(wide)); //! random
      }),
  },
  {
    code: "GP1102",
    what: "a random number beyond its field",
    run: () =>
      inControl((c, p) => {
        const { y } = fields(p);
        c.apply((s) => s.random(y, 0, 256)); //! random
      }),
  },
  {
    code: "GP1502",
    what: "a hash to what cannot be written",
    run: () =>
      inControl((c, p) => {
        const { x } = fields(p);
        c.apply((s) => s.hash(intrinsic.ingress_port, { algorithm: "crc16", fields: [x] })); //! hash
      }),
  },
  {
    code: "GP1409",
    what: "an action profile without room",
    run: () =>
      inControl((c, p) => {
        const profile = c.actionProfile("members", { size: 0 }); //! actionProfile
        withTable(c, fields(p), profile);
      }),
  },
  {
    code: "GP1409",
    what: "a selector without keys",
    run: () =>
      inControl((c, p) => {
        const profile = c.actionSelector("members", { size: 8, algorithm: "crc16", keys: [] }); //! actionSelector
        withTable(c, fields(p), profile);
      }),
  },
  {
    code: "GP1409",
    what: "a selector by part of a field",
    run: () =>
      inControl((c, p) => {
        const f = fields(p);
        const keys = [f.x.bits(7, 0)];
        const profile = c.actionSelector("members", { size: 8, algorithm: "crc16", keys }); //! actionSelector
        withTable(c, f, profile);
      }),
  },
  {
    code: "GP1409",
    what: "groups that hold more than there is",
    run: () =>
      inControl((c, p) => {
        const f = fields(p);
        const o = { size: 8, algorithm: "crc16", keys: [f.x], maxGroupSize: 9 } as const;
        withTable(c, f, c.actionSelector("members", o)); //! actionSelector
      }),
  },
  {
    code: "GP1109",
    what: "a selector by the identity of too much",
    run: () =>
      inControl((c, p) => {
        const f = fields(p);
        const o = { size: 8, algorithm: "identity", keys: [f.wide] } as const;
        withTable(c, f, c.actionSelector("members", o)); //! actionSelector
      }),
  },
  {
    code: "GP1506",
    what: "an action profile of no table",
    run: () =>
      inControl((c) => {
        c.actionProfile("members", { size: 4 }); //! actionProfile
        c.apply((s) => s.drop());
      }),
  },
  {
    code: "GP1410",
    what: "a table with a profile and without key",
    run: () =>
      inControl((c, p) => {
        const { y } = fields(p);
        const put = c.action("put", { value: bit(8) }, (a, d) => a.set(y, d.value));
        const implementation = c.actionProfile("members", { size: 4 });
        const t = c.table("t", { key: {}, actions: [put], size: 1, implementation }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1410",
    what: "tables that share a profile but not its actions",
    run: () =>
      inControl((c, p) => {
        const f = fields(p);
        const put = c.action("put", { value: bit(8) }, (a, d) => a.set(f.y, d.value));
        const drop = c.action("drop_it", {}, (a) => a.drop());
        const implementation = c.actionProfile("members", { size: 4 });
        const key = { x: ternary(f.x) };
        const first = c.table("first", { key, actions: [put], size: 4, implementation });
        const second = c.table("second", { key, actions: [put, drop], size: 4, implementation }); //! table
        c.apply((s) => {
          s.apply(first);
          s.apply(second);
        });
      }),
  },
  {
    code: "GP1204",
    what: "a profile of another control",
    run: () =>
      inControl((c, p) => {
        const f = fields(p);
        const other = p.control("other", "ingress");
        const implementation = other.actionProfile("members", { size: 4 });
        withTable(other, f, implementation);
        const drop = c.action("drop_it", {}, (a) => a.drop());
        const t = c.table("stray", { key: { x: exactly(f.x) }, actions: [drop], size: 4, implementation }); //! table
        c.apply((s) => s.apply(t));
        p.ingress("route", (s) => s.invoke(other));
      }),
  },
  {
    code: "GP1605",
    what: "a meter without cells",
    run: () =>
      inControl((c, p) => {
        const colour = p.metadata("colour", colourType);
        const m = c.meter("rate", { size: 0, unit: "packets" }); //! meter
        c.apply((s) => s.meter(m, p.metadata("cell", bit(8)), colour));
      }),
  },
  {
    code: "GP1104",
    what: "a colour of eight bits",
    run: () =>
      inControl((c, p) => {
        const wide = p.metadata("colour", bit(8)) as unknown as Variable<BitType<2>>;
        const m = c.meter("rate", { size: 4, unit: "packets" });
        c.apply((s) => s.meter(m, 0, wide)); //! meter
      }),
  },
  {
    code: "GP1204",
    what: "a cell that a meter does not have",
    run: () =>
      inControl((c, p) => {
        const colour = p.metadata("colour", colourType);
        const m = c.meter("rate", { size: 4, unit: "packets" });
        c.apply((s) => s.meter(m, 4, colour)); //! meter
      }),
  },
  {
    code: "GP1605",
    what: "an action of a metered table that runs elsewhere too",
    run: () =>
      inControl((c, p) => {
        const { x } = fields(p);
        const into = p.metadata("colour", colourType);
        const pass = c.action("pass", {}, (a) => a.set(x, 1));
        const meter = { name: "rate", unit: "bytes", into } as const;
        const t = c.table("t", { key: { x: exactly(x) }, actions: [pass], size: 4, meter }); //! table
        c.apply((s) => {
          s.apply(t);
          s.call(pass);
        });
      }),
  },
  {
    code: "GP1605",
    what: "a metered table whose default action its entries have too",
    run: () =>
      inControl((c, p) => {
        const { x } = fields(p);
        const into = p.metadata("colour", colourType);
        const pass = c.action("pass", {}, (a) => a.set(x, 1));
        const rest = {
          size: 4,
          meter: { name: "rate", unit: "bytes", into },
          defaultAction: pass.with({}),
        } as const;
        const t = c.table("t", { key: { x: exactly(x) }, actions: [pass], ...rest }); //! table
        c.apply((s) => s.apply(t));
      }),
  },
  {
    code: "GP1606",
    what: "a digest of a value with a sign",
    run: () =>
      inControl((c) => {
        const fields = { level: int(16) } as unknown as { readonly level: BitType<16> };
        const seen = c.digest("seen", fields); //! digest
        c.apply((s) => s.digest(seen, { level: 1 }));
      }),
  },
  {
    code: "GP1606",
    what: "a digest that is sent in two places",
    run: () =>
      inControl((c, p) => {
        const { x } = fields(p);
        const seen = c.digest("seen", { x: bit(16) }); //! digest
        c.apply((s) => {
          s.digest(seen, { x });
          s.if(x.eq(1), (then) => then.digest(seen, { x: 1 }));
        });
      }),
  },
  {
    code: "GP1502",
    what: "a digest in egress",
    run: () =>
      small((p) => {
        const { x } = fields(p);
        const c = p.control("tested", "egress");
        const seen = c.digest("seen", { x: bit(16) });
        c.apply((s) => s.digest(seen, { x })); //! digest
        p.egress("route", (s) => s.invoke(c));
      }),
  },
  {
    code: "GP1404",
    what: "a digest with a field of nobody",
    run: () =>
      inControl((c, p) => {
        const { x } = fields(p);
        const seen = c.digest("seen", { x: bit(16) });
        const values = { y: x } as unknown as { readonly x: typeof x };
        c.apply((s) => s.digest(seen, values)); //! digest
      }),
  },
  {
    code: "GP1506",
    what: "a digest that nobody sends",
    run: () =>
      inControl((c) => {
        c.digest("seen", { x: bit(16) }); //! digest
        c.apply((s) => s.drop());
      }),
  },
];
