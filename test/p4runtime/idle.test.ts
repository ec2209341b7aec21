import { describe, expect, it } from "vitest";
import { Code } from "../../src/p4runtime/code.ts";
import { EntityBuilder } from "../../src/p4runtime/index.ts";
import type { TableEntry } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { Schema } from "../../src/p4runtime/schema.ts";
import { ProgramState } from "../../src/switch/p4runtime/program-state.ts";
import { statusOf } from "../../src/switch/p4runtime/status.ts";
import { bytes, rawEntity, rawEntry, rawUpdate } from "./bench.ts";
import { MemoryProgram } from "./memory-target.ts";
import { ID, PROGRAM } from "./program.ts";

const SET = 0x03000001;
const schema = new Schema({
  ...PROGRAM,
  tables: PROGRAM.tables.map((table) =>
    table.preamble?.alias === "ipv4_lpm" ? { ...table, idleTimeoutBehavior: "NOTIFY_CONTROL" } : table,
  ),
  valueSets: [
    {
      preamble: {
        id: SET,
        name: "parser.types",
        alias: "types",
        annotations: [],
        annotationLocations: [],
        structuredAnnotations: [],
        doc: undefined,
      },
      match: (PROGRAM.tables[2]?.matchFields ?? []).slice(0, 2),
      size: 2,
    },
  ],
});
const builder = new EntityBuilder(schema);

function start(): { readonly program: MemoryProgram; readonly state: ProgramState } {
  const program = new MemoryProgram("idle");
  return { program, state: new ProgramState(schema, program, () => true) };
}

function codeOf(work: () => void): number {
  try {
    work();
    return Code.OK;
  } catch (error) {
    return statusOf(error).code;
  }
}

const drop = { type: { case: "action", value: { actionId: ID.drop } } } as const;
const prefix = {
  fieldId: 1,
  fieldMatchType: { case: "lpm", value: { value: bytes("0a000000"), prefixLen: 8 } },
} as const;
const entry = (rest: Partial<TableEntry>, type: "INSERT" | "MODIFY" = "INSERT") =>
  rawEntry(type, { tableId: ID.ipv4Lpm, match: [prefix], action: drop, ...rest });

describe("idle timeouts", () => {
  it("report an entry once per timeout without a hit, with its key and what is attached to it", () => {
    const { program, state } = start();
    expect(state.hasIdleTimeouts).toBe(true);
    state.write(entry({ idleTimeoutNs: 5_000_000n, metadata: bytes("07") }));
    program.time = 4_999;
    expect(state.idleEntries()).toEqual([]);
    program.time = 5_000;
    expect(state.idleEntries()).toEqual([
      [
        {
          tableId: ID.ipv4Lpm,
          match: [prefix],
          priority: 0,
          metadata: bytes("07"),
          controllerMetadata: 0n,
          idleTimeoutNs: 5_000_000n,
        },
      ],
    ]);
    program.time = 9_999;
    expect(state.idleEntries()).toEqual([]);
    program.time = 10_000;
    expect(state.idleEntries()).toHaveLength(1);
  });

  it("and the time since the last hit are read back when they are asked for", () => {
    const { program, state } = start();
    state.write(entry({ idleTimeoutNs: 1_234_567n }));
    program.time = 3;
    const read = (wanted: Partial<TableEntry>) =>
      state.read(rawEntity({ case: "tableEntry", value: { tableId: ID.ipv4Lpm, ...wanted } }));
    const [plain] = read({});
    expect(plain?.entity?.value).toMatchObject({ idleTimeoutNs: 1_234_567n, timeSinceLastHit: undefined });
    const [timed] = read({ timeSinceLastHit: { elapsedNs: 0n } });
    expect(timed?.entity?.value).toMatchObject({ timeSinceLastHit: { elapsedNs: 3000n } });
    state.write(entry({}, "MODIFY"));
    program.time = 1e9;
    expect(state.idleEntries()).toEqual([]);
  });

  it("are refused where the table has none, for default entries, and when they are negative", () => {
    const { state } = start();
    const refused = [
      entry({ idleTimeoutNs: -1n }),
      entry({ timeSinceLastHit: { elapsedNs: 0n } }),
      rawEntry("INSERT", { tableId: ID.acl, priority: 1, action: drop, idleTimeoutNs: 1n }),
      rawEntry("MODIFY", { tableId: ID.ipv4Lpm, isDefaultAction: true, action: drop, idleTimeoutNs: 1n }),
    ];
    for (const update of refused) expect(codeOf(() => state.write(update))).toBe(Code.INVALID_ARGUMENT);
  });
});

describe("parse value sets", () => {
  const member = (dst: string, vlan: string) => ({
    match: [
      { fieldId: 1, fieldMatchType: { case: "exact", value: { value: bytes(dst) } } as const },
      { fieldId: 7, fieldMatchType: { case: "exact", value: { value: bytes(vlan) } } as const },
    ],
  });
  const set = (members: ReturnType<typeof member>[], type: "INSERT" | "MODIFY" | "DELETE" = "MODIFY") =>
    rawUpdate(type, { case: "valueSetEntry", value: { valueSetId: SET, members } });

  it("are replaced as a whole, and read back", () => {
    const { program, state } = start();
    state.write(set([member("01", "02")]));
    state.write(set([member("03", "04"), member("05", "06")]));
    expect(program.valueSets.get("parser.types")).toEqual([(3n << 12n) | 4n, (5n << 12n) | 6n]);
    const all = [...state.read(rawEntity({ case: "valueSetEntry", value: {} }))];
    expect(all.map(({ entity }) => entity?.value)).toEqual([
      { valueSetId: SET, members: [member("03", "04"), member("05", "06")] },
    ]);
    state.write(set([]));
    expect(program.valueSets.get("parser.types")).toEqual([]);
  });

  it("refuse what does not fit", () => {
    const { state } = start();
    const cases: readonly (readonly [number, ReturnType<typeof set>])[] = [
      [Code.INVALID_ARGUMENT, set([], "INSERT")],
      [Code.INVALID_ARGUMENT, set([], "DELETE")],
      [Code.RESOURCE_EXHAUSTED, set([member("01", "01"), member("02", "02"), member("03", "03")])],
      [Code.ALREADY_EXISTS, set([member("01", "01"), member("01", "01")])],
      [Code.INVALID_ARGUMENT, set([{ match: member("01", "01").match.slice(1) }])],
      [Code.OUT_OF_RANGE, set([member("01", "1000")])],
      [
        Code.NOT_FOUND,
        rawUpdate("MODIFY", { case: "valueSetEntry", value: { valueSetId: 0x03ffffff, members: [] } }),
      ],
    ];
    for (const [code, update] of cases) expect(codeOf(() => state.write(update))).toBe(code);
    expect(builder.schema.valueSets.all).toHaveLength(1);
  });
});
