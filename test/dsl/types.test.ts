import {
  type Action,
  any,
  type Bool,
  bit,
  bool,
  type ControlBuilder,
  colourType,
  exactly,
  type Header,
  int,
  intrinsic,
  lookahead,
  mux,
  type Num,
  type ProgramBuilder,
  program,
  type Steps,
  type Variable,
  value,
  wireHeader,
} from "gradplane";
import { describe, expectTypeOf, test } from "vitest";
import type { BitType, IntType } from "../../src/ir/index.ts";

// What is claimed here is claimed to the compiler: `npm run typecheck` reads this file, and an `@ts-expect-error` above a line
// that compiles is an error. The functions of wrong programs are never called.

declare const p: ProgramBuilder;
declare const c: ControlBuilder;
declare const s: Steps;
declare const x16: Variable<BitType<16>>;
declare const y16: Variable<BitType<16>>;
declare const x32: Variable<BitType<32>>;
declare const i16: Variable<IntType<16>>;
declare const flag: Bool;

function never(_wrong: () => unknown): void {}

describe("widths are part of types", () => {
  test("operators take both sides of one type, or a literal", () => {
    expectTypeOf<typeof x16.add>().returns.toEqualTypeOf<Num<BitType<16>>>();
    never(() => [x16.add(y16), x16.add(1), x16.add(1n), x16.eq(y16), x16.lt(3)]);
    never(() => [
      // @ts-expect-error bit<16> and bit<32>
      x16.add(x32),
      // @ts-expect-error bit<16> and bit<32>
      x16.eq(x32),
      // @ts-expect-error bit<16> and int<16>
      x16.bitAnd(i16),
      // @ts-expect-error a truth is no number
      x16.add(flag),
      // @ts-expect-error nor is a boolean of TypeScript
      x16.add(true),
      // @ts-expect-error nor a text
      x16.add("1"),
    ]);
  });

  test("shifts take a number or a bit value", () => {
    never(() => [x32.shiftLeft(3), x32.shiftRight(x16), i16.shiftRight(2)]);
    never(() => [
      // @ts-expect-error a shift by a value with a sign
      x32.shiftLeft(i16),
      // @ts-expect-error a bigint
      x32.shiftLeft(3n),
    ]);
  });

  test("casts have the type that is asked for", () => {
    never(() => {
      expectTypeOf(x16.cast(bit(32))).toEqualTypeOf<Num<BitType<32>>>();
      expectTypeOf(x16.cast(int(16))).toEqualTypeOf<Num<IntType<16>>>();
      expectTypeOf(flag.toBit()).toEqualTypeOf<Num<BitType<1>>>();
      expectTypeOf(value(bit(8), 1)).toEqualTypeOf<Num<BitType<8>>>();
      // @ts-expect-error a cast to bool
      x16.cast(bool);
    });
  });

  test("slices know their width", () => {
    never(() => {
      expectTypeOf(x32.slice(7, 0)).toEqualTypeOf<Num<BitType<8>>>();
      expectTypeOf(x32.slice(31, 31)).toEqualTypeOf<Num<BitType<1>>>();
      expectTypeOf(x32.slice(0, 0)).toEqualTypeOf<Num<BitType<1>>>();
      expectTypeOf(x32.slice(31, 0)).toEqualTypeOf<Num<BitType<32>>>();
      expectTypeOf(x32.bits(15, 8)).toEqualTypeOf<Variable<BitType<8>>>();
      const wide: number = 9;
      expectTypeOf(x32.slice(wide, 0)).toEqualTypeOf<Num<BitType<number>>>();
      x16.add(x32.slice(31, 16));
      // @ts-expect-error 8 bits and 16
      x16.add(x32.slice(7, 0));
    });
  });

  test("slices with the low bit first have no type", () => {
    never(() => expectTypeOf(x32.slice(0, 7)).toEqualTypeOf<Num<BitType<never>>>());
  });

  test("slices that the compiler can't count are of some width", () => {
    const wide = value(bit(2048), 0);
    never(() => {
      expectTypeOf(wide.slice(998, 0)).toEqualTypeOf<Num<BitType<999>>>();
      expectTypeOf(wide.slice(2047, 1024)).toEqualTypeOf<Num<BitType<number>>>();
      expectTypeOf(x32.slice(7.5, 0)).toEqualTypeOf<Num<BitType<number>>>();
      expectTypeOf(x32.slice(7, -1)).toEqualTypeOf<Num<BitType<number>>>();
    });
  });

  test("concatenation adds widths", () => {
    never(() => {
      expectTypeOf(x16.concat(x32)).toEqualTypeOf<Num<BitType<48>>>();
      expectTypeOf(x16.concat(x32.slice(7, 0)).concat(x16)).toEqualTypeOf<Num<BitType<40>>>();
      // @ts-expect-error the low part has a sign
      x16.concat(i16);
      // @ts-expect-error 48 bits and 32
      x32.add(x16.concat(x32));
    });
  });

  test("a choice has one type on both sides", () => {
    never(() => {
      expectTypeOf(mux(flag, x16.add(1), y16)).toEqualTypeOf<Num<BitType<16>>>();
      x16.add(mux(flag, x16, y16)).add(mux(flag, x16, 0));
      // @ts-expect-error 16 bits and 32
      mux(flag, x16, x32);
      // @ts-expect-error a number as the condition
      mux(x16, x16, 0);
      // @ts-expect-error a truth as a choice
      mux(flag, x16, flag);
    });
  });
});

describe("statements", () => {
  test("assign what fits the target", () => {
    never(() => {
      s.set(x16, y16);
      s.set(x16, 3);
      s.set(x16, x32.slice(15, 0));
      // @ts-expect-error 32 bits for 16
      s.set(x16, x32);
      // @ts-expect-error a truth
      s.set(x16, flag);
      // @ts-expect-error a boolean of TypeScript
      s.set(x16, true);
      // @ts-expect-error an expression cannot be written
      s.set(x16.add(1), 3);
      // @ts-expect-error a truth of the architecture cannot be written
      s.set(intrinsic.is_clone, 1);
    });
  });

  test("take truths as conditions", () => {
    never(() => {
      s.if(flag.and(x16.eq(0)), () => {});
      // @ts-expect-error a number
      s.if(x16, () => {});
      // @ts-expect-error a boolean of TypeScript
      s.if(true, () => {});
      // @ts-expect-error a truth has no sum
      flag.add(flag);
      // @ts-expect-error a number has no "and"
      x16.and(flag);
    });
  });

  test("of actions are straight", () => {
    never(() =>
      c.action("a", {}, (a) => {
        a.set(x16, 1);
        // @ts-expect-error an action has no branches
        a.if(flag, () => {});
        // @ts-expect-error an action applies no table
        a.apply({ kind: "table", name: "t" });
      }),
    );
  });
});

describe("headers", () => {
  const header = wireHeader("h", { left: 16, right: 8 });

  test("in stacks have the fields of their type", () => {
    never(() => {
      const labels = p.stack("labels", header, 4);
      expectTypeOf(labels.at(0)).toEqualTypeOf<Header<"left" | "right">>();
      expectTypeOf(labels.last).toEqualTypeOf<Header<"left" | "right">>();
      p.parser.state("start").extract(labels.next).select(labels.last.left);
      s.pushFront(labels);
      s.popFront(labels, 2);
      s.setValid(labels.at(1));
      // @ts-expect-error no such field
      void labels.at(0).middle;
      // @ts-expect-error the stack is no header
      void labels.left;
      // @ts-expect-error the next one has not been read
      void labels.next.left;
      // @ts-expect-error an index from the packet
      labels.at(x16);
      // @ts-expect-error a header is no stack
      s.pushFront(labels.at(0));
      // @ts-expect-error a number from the packet
      s.popFront(labels, x16);
    });
  });

  test("in unions have the fields of their members", () => {
    never(() => {
      const body = p.union("body", { one: header, other: wireHeader("x", { a: 8 }) });
      expectTypeOf(body.one).toEqualTypeOf<Header<"left" | "right">>();
      expectTypeOf(body.other).toEqualTypeOf<Header<"a">>();
      // @ts-expect-error a field of the other member
      void body.one.a;
      // @ts-expect-error no such member
      void body.third;
    });
  });

  test("have the fields that were declared", () => {
    never(() => {
      const h = p.header(header);
      expectTypeOf(h).toHaveProperty("left");
      // @ts-expect-error no such field
      void h.middle;
      p.checksum(h, "left");
      // @ts-expect-error no such field
      p.checksum(h, "middle");
    });
  });
});

describe("parser states", () => {
  test("keep what fits the metadata field", () => {
    never(() => {
      const start = p.parser.state("start");
      expectTypeOf(lookahead(bit(16))).toEqualTypeOf<Num<BitType<16>>>();
      start
        .set(x16, lookahead(bit(16)))
        .set(x16, 3)
        .set(i16, -1);
      start.verify(x16.eq(1), "NoMatch").advance(16).advance(x32.shiftLeft(3));
      // @ts-expect-error 32 bits for 16
      start.set(x16, lookahead(bit(32)));
      // @ts-expect-error a truth
      start.set(x16, flag);
      // @ts-expect-error an expression cannot be written
      start.set(x16.add(1), 3);
      // @ts-expect-error a number with a sign
      start.advance(i16);
      // @ts-expect-error a number is no condition
      start.verify(x16, "NoMatch");
      // @ts-expect-error lookahead gives bits
      lookahead(int(8));
    });
  });
});

describe("actions", () => {
  test("give their body the parameters with their types", () => {
    never(() =>
      c.action("a", { port: bit(9), delta: int(16) }, (a, d) => {
        expectTypeOf(d.port).toEqualTypeOf<Num<BitType<9>>>();
        expectTypeOf(d.delta).toEqualTypeOf<Num<IntType<16>>>();
        // @ts-expect-error no such parameter
        void d.prot;
        // @ts-expect-error a parameter cannot be written
        a.set(d.port, 1);
      }),
    );
  });

  test("take each parameter once, by name", () => {
    never(() => {
      const a = c.action("a", { port: bit(9), mac: bit(48) }, () => {});
      a.with({ port: 1, mac: 2n });
      // @ts-expect-error one is missing
      a.with({ port: 1 });
      // @ts-expect-error one is wrong
      a.with({ port: 1, mak: 2n });
      // @ts-expect-error one too many
      a.with({ port: 1, mac: 2n, vlan: 3 });
      // @ts-expect-error run-time data are literals
      a.with({ port: x16, mac: 2n });
      s.call(a, { port: 1, mac: 2n });
      // @ts-expect-error no arguments at all
      s.call(a);
      // @ts-expect-error one is missing
      s.call(a, { mac: 2n });
      // @ts-expect-error 16 bits for 9
      s.call(a, { port: x16, mac: 2n });
    });
  });

  test("without parameters are called without arguments", () => {
    never(() => {
      const a = c.action("a", {}, () => {});
      expectTypeOf(a).toExtend<Action<Record<never, never>>>();
      s.call(a);
      a.with({});
      // @ts-expect-error it has none
      s.call(a, { port: 1 });
    });
  });

  test("have parameters of numbers only", () => {
    // @ts-expect-error a truth as a parameter
    never(() => c.action("a", { yes: bool }, () => {}));
  });
});

describe("tables", () => {
  test("have entries with a value for each key field", () => {
    never(() => {
      const a = c.action("a", {}, () => {});
      const key = { port: exactly(x16), valid: exactly(flag) };
      const rest = { actions: [a], size: 4 };
      c.table("t", { key, ...rest, entries: [{ key: { port: 1, valid: true }, run: a.with({}) }] });
      c.table("t", { key, ...rest, entries: [{ key: { port: any, valid: any }, run: a.with({}) }] });
      // @ts-expect-error one is missing
      c.table("t", { key, ...rest, entries: [{ key: { port: 1 }, run: a.with({}) }] });
      // @ts-expect-error one is wrong
      c.table("t", { key, ...rest, entries: [{ key: { prot: 1, valid: true }, run: a.with({}) }] });
      // @ts-expect-error an action without its data
      c.table("t", { key, ...rest, entries: [{ key: { port: 1, valid: true }, run: a }] });
      // @ts-expect-error a key field without its match kind
      c.table("t", { key: { port: x16 }, ...rest });
    });
  });
});

describe("counters and registers", () => {
  test("count the cells that were named", () => {
    never(() => {
      const events = c.counter("events", ["good", "bad"]);
      s.count(events, "good");
      s.count(events, x32);
      // @ts-expect-error no such cell
      s.count(events, "ugly");
      // @ts-expect-error a plain number: name the cell
      s.count(events, 0);
    });
  });

  test("update cells with values of their type", () => {
    never(() => {
      const r = c.register("r", bit(32), 16);
      s.update(r, { index: x16, next: (old) => old.add(1) });
      s.update(r, { index: x16, next: () => x32, output: ({ old, next }) => next.sub(old), into: x32 });
      // @ts-expect-error 16 bits for 32
      s.update(r, { index: x16, next: () => x16 });
      // @ts-expect-error a plain number: say its type with value()
      s.update(r, { index: x16, next: () => 1 });
      // @ts-expect-error an index with a sign
      s.update(r, { index: i16, next: (old) => old });
      // @ts-expect-error output without a place to put it
      s.update(r, { index: x16, next: (old) => old, output: ({ old }) => old });
      // @ts-expect-error a place without output
      s.update(r, { index: x16, next: (old) => old, into: x32 });
      // @ts-expect-error a register of truths
      c.register("flags", bool, 16);
    });
  });
});

describe("hashes, random numbers, meters, digests and action profiles", () => {
  test("have results in bits", () => {
    never(() => {
      s.hash(x16, { algorithm: "crc16", fields: [x32, i16] });
      s.hash(x16, { algorithm: "crc32", fields: [x32], buckets: 12, base: 1n });
      s.random(x16);
      s.random(x16, 0, x32.slice(15, 0));
      // @ts-expect-error a result with a sign
      s.hash(i16, { algorithm: "crc16", fields: [x32] });
      // @ts-expect-error no such algorithm
      s.hash(x16, { algorithm: "md5", fields: [x32] });
      // @ts-expect-error a hash of a truth
      s.hash(x16, { algorithm: "crc16", fields: [flag] });
      // @ts-expect-error no fields
      s.hash(x16, { algorithm: "crc16" });
      // @ts-expect-error 32 bits for 16
      s.random(x16, 0, x32);
      // @ts-expect-error a result with a sign
      s.random(i16);
    });
  });

  test("meters give colours, and digests take each field by name", () => {
    never(() => {
      const colour = p.metadata("colour", colourType);
      const m = c.meter("rate", { size: 4, unit: "packets" });
      s.meter(m, x16, colour);
      s.meter(m, 0, x16.bits(1, 0));
      // @ts-expect-error a colour of 16 bits
      s.meter(m, 0, x16);
      // @ts-expect-error no such unit
      c.meter("rate", { size: 4, unit: "bits" });
      const seen = c.digest("seen", { from: bit(32), at: bit(16) });
      s.digest(seen, { from: x32, at: 7 });
      // @ts-expect-error a field with a sign
      c.digest("seen", { level: int(16) });
      // @ts-expect-error one is missing
      s.digest(seen, { from: x32 });
      // @ts-expect-error 16 bits for 32
      s.digest(seen, { from: x16, at: 7 });
    });
  });

  test("hold the actions of tables, which then have no entries of their own", () => {
    never(() => {
      const a = c.action("a", {}, () => {});
      const implementation = c.actionSelector("hops", { size: 8, algorithm: "crc16", keys: [x16, x32] });
      const table = { key: { port: exactly(x16) }, actions: [a], size: 4 };
      c.table("t", { ...table, implementation });
      c.table("t", { ...table, implementation: c.actionProfile("members", { size: 8 }) });
      // @ts-expect-error a default action
      c.table("t", { ...table, implementation, defaultAction: a.with({}) });
      // @ts-expect-error entries
      c.table("t", { ...table, implementation, entries: [{ key: { port: 1 }, run: a.with({}) }] });
      // @ts-expect-error something else than a profile
      c.table("t", { ...table, implementation: c.counter("events", ["one"]) });
      // @ts-expect-error a key that is computed
      c.actionSelector("hops", { size: 8, algorithm: "crc16", keys: [x16.add(1)] });
      // @ts-expect-error groups without a selector
      c.actionProfile("members", { size: 8, maxGroupSize: 4 });
    });
  });
});

describe("programs", () => {
  test("have the phases that there are", () => {
    never(() => {
      p.ingress("route", () => {});
      // @ts-expect-error no such phase
      p.ingress("rout", () => {});
      // @ts-expect-error no such direction
      p.control("c", "sideways");
      // @ts-expect-error no such value of the architecture
      void intrinsic.egress_prot;
      // @ts-expect-error no ports
      program("p", { features: [] });
    });
  });
});
