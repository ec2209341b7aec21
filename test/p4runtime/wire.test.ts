import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { create, decode, encode } from "../../src/p4info/index.ts";
import { EntityBuilder, type MatchInput } from "../../src/p4runtime/index.ts";
import { Entity, ReadResponse, Update, WriteRequest } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { Schema } from "../../src/p4runtime/schema.ts";
import { ProgramState } from "../../src/switch/p4runtime/program-state.ts";
import { ReadAnswer } from "../../src/switch/p4runtime/read-answer.ts";
import { readWriteRequest } from "../../src/switch/p4runtime/request-bytes.ts";
import { statusOf } from "../../src/switch/p4runtime/status.ts";
import { MemoryProgram } from "./memory-target.ts";
import { PROGRAM } from "./program.ts";

// Entries with a direct meter always go the long way.
const schema = new Schema({
  ...PROGRAM,
  tables: PROGRAM.tables.map((table) =>
    table.preamble?.alias === "acl" ? { ...table, directResourceIds: [], size: 64n } : table,
  ),
});
const builder = new EntityBuilder(schema);

/** The code of an update; with `isFast` straight from its bytes where that is possible. */
function write(state: ProgramState, bytes: Uint8Array, isFast: boolean): { code: number; wasFast: boolean } {
  if (isFast && state.wire.write(bytes, 0, bytes.length, 0)) return { code: 0, wasFast: true };
  try {
    state.write(decode(Update, bytes));
    return { code: 0, wasFast: false };
  } catch (error) {
    return { code: statusOf(error).code, wasFast: false };
  }
}

const value = (width: number) =>
  fc.oneof(
    fc.bigInt({ min: 0n, max: 3n }),
    fc.bigInt({ min: 0n, max: (1n << BigInt(width)) - 1n }),
    fc.constant((1n << BigInt(width)) - 1n),
  );
const prefix = (width: number): fc.Arbitrary<MatchInput> =>
  fc
    .tuple(value(width), fc.integer({ min: 0, max: width }))
    .map(([v, prefixLength]) => ({ value: v, prefixLength }));
const mask = (width: number): fc.Arbitrary<MatchInput> =>
  fc.tuple(value(width), value(width)).map(([v, m]) => ({ value: v, mask: m }));
const range = (width: number): fc.Arbitrary<MatchInput> =>
  fc.tuple(value(width), value(width)).map(([a, b]) => (a < b ? { low: a, high: b } : { low: b, high: a }));

const forward = fc.record({ port: value(9), dst: value(48) });
const entity = fc.oneof(
  fc
    .tuple(prefix(32), forward)
    .map(([dst, params]) => builder.tableEntry("ipv4_lpm", { dst }, "forward", params)),
  fc
    .tuple(prefix(128), value(512))
    .map(([dst, wide]) => builder.tableEntry("wide", { dst }, "set_wide", { value: wide })),
  fc
    .tuple(value(48), value(12), forward)
    .map(([dst, vlan, params]) => builder.tableEntry("mac", { dst, vlan }, "forward", params)),
  fc
    .tuple(mask(16), range(9), fc.option(value(8), { nil: undefined }), fc.integer({ min: 1, max: 3 }))
    .map(([ether_type, ingress_port, protocol, priority]) =>
      builder.tableEntry("acl", { ether_type, ingress_port, protocol }, "drop", {}, { priority }),
    ),
  value(32).map((dst) => builder.tableEntry("ipv4_lpm", { dst }, "drop", {}, { metadata: Uint8Array.of(1) })),
);
const update = fc
  .tuple(fc.constantFrom("INSERT" as const, "MODIFY" as const, "DELETE" as const), entity)
  .map(([type, e]) => encode(Update, { type, entity: e }));

/** Damage: bytes that are changed, cut out, or put in. */
const damage = fc.array(
  fc.record({
    kind: fc.constantFrom("change", "cut", "add"),
    at: fc.nat({ max: 100 }),
    byte: fc.integer({ min: 0, max: 255 }),
  }),
  { minLength: 1, maxLength: 3 },
);
function damaged(
  bytes: Uint8Array,
  wounds: readonly { kind: string; at: number; byte: number }[],
): Uint8Array {
  const result = [...bytes];
  for (const { kind, at, byte } of wounds) {
    const place = at % Math.max(1, result.length);
    if (kind === "change") result[place] = byte;
    else if (kind === "cut") result.splice(place, 1);
    else result.splice(place, 0, byte);
  }
  return Uint8Array.from(result);
}

function agrees(updates: fc.Arbitrary<Uint8Array[]>, numRuns: number): number {
  let fast = 0;
  fc.assert(
    fc.property(updates, (list) => {
      const [one, other] = [0, 1].map(() => new ProgramState(schema, new MemoryProgram("wire"), () => true));
      if (one === undefined || other === undefined) return;
      for (const bytes of list) {
        const quick = write(one, bytes, true);
        if (quick.wasFast) fast++;
        expect(quick.code).toBe(write(other, bytes, false).code);
      }
      const all = builder.allEntries();
      expect(one.read(all)).toEqual(other.read(all));
    }),
    { numRuns },
  );
  return fast;
}

describe("updates that are carried out straight from their bytes", () => {
  it("do what the messages say", () => {
    expect(agrees(fc.array(update, { maxLength: 30 }), 300)).toBeGreaterThan(200);
  });

  it("do what the messages say although the bytes are damaged", () => {
    const some = fc.oneof(
      update,
      fc.tuple(update, damage).map(([bytes, wounds]) => damaged(bytes, wounds)),
    );
    agrees(fc.array(some, { maxLength: 30 }), 300);
  });

  it("leave what follows them in memory alone, and are not read beyond their end", () => {
    const bytes = encode(Update, {
      type: "INSERT",
      entity: builder.tableEntry("ipv4_lpm", { dst: 7 }, "forward", { port: 1, dst: 2 }),
    });
    for (let length = 0; length < bytes.length; length++) {
      const state = new ProgramState(schema, new MemoryProgram("wire"), () => true);
      expect(state.wire.write(bytes, 0, length, 0)).toBe(false);
    }
  });
});

describe("entries that are read straight from their rows", () => {
  it("are the same bytes as their messages", () => {
    let entries = 0;
    fc.assert(
      fc.property(fc.array(entity, { maxLength: 30 }), (inserted) => {
        const state = new ProgramState(schema, new MemoryProgram("wire"), () => true);
        for (const one of inserted) write(state, encode(Update, { type: "INSERT", entity: one }), true);
        const wanted = [
          builder.allEntries(),
          builder.allEntries("acl"),
          builder.tableEntry("acl", {}, "drop", {}, { priority: 2 }),
        ];
        for (const one of wanted) {
          const request = create(Entity, one);
          const responses: Uint8Array[] = [];
          const answer = new ReadAnswer((response) => responses.push(response));
          for (const _ of state.readInto(request, answer));
          answer.finish();
          const entities = [...state.read(request)];
          entries += entities.length;
          expect(Buffer.concat(responses)).toEqual(Buffer.from(encode(ReadResponse, { entities })));
        }
      }),
    );
    expect(entries).toBeGreaterThan(500);
  });

  it("come in responses that clients take, however many there are", () => {
    const responses: Uint8Array[] = [];
    const answer = new ReadAnswer((response) => responses.push(response));
    const value = { tableId: 1, metadata: new Uint8Array(100_000) };
    for (let n = 0; n < 100; n++) answer.entity({ entity: { case: "tableEntry", value } });
    answer.finish();
    expect(responses.length).toBeGreaterThan(20);
    for (const response of responses) expect(response.length).toBeLessThan(1_000_000);
    const entities = responses.flatMap((response) => decode(ReadResponse, response).entities);
    expect(entities.length).toBe(100);
    const empty = new ReadAnswer((response) => responses.push(response));
    empty.finish();
    expect([responses.length, empty.responses]).toEqual([answer.responses, 0]);
  });
});

describe("a write request", () => {
  it("is taken apart without reading its updates", () => {
    fc.assert(
      fc.property(
        fc.array(update, { maxLength: 5 }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        fc.string(),
        (updates, deviceId, role) => {
          const request = {
            deviceId,
            role,
            electionId: { high: 1n, low: deviceId },
            atomicity: "ROLLBACK_ON_ERROR",
          } as const;
          const bytes = encode(WriteRequest, { ...request, updates: updates.map((u) => decode(Update, u)) });
          const raw = readWriteRequest(bytes);
          expect(raw.header).toMatchObject({ ...request, updates: [] });
          const parts = updates.map((_, i) => bytes.slice(raw.updates[2 * i], raw.updates[2 * i + 1]));
          expect(parts).toEqual(updates);
        },
      ),
    );
  });

  it("that is cut off or nonsense is refused", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          const { updates } = readWriteRequest(bytes);
          for (const at of updates) expect(at).toBeLessThanOrEqual(bytes.length);
        } catch (error) {
          expect(statusOf(error).code).toBe(13);
        }
      }),
      { numRuns: 500 },
    );
  });
});
