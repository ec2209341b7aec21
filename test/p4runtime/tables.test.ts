import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { P4RuntimeWriteError } from "../../src/p4runtime/call-error.ts";
import type { P4RuntimeClient } from "../../src/p4runtime/client.ts";
import { Code, codeName } from "../../src/p4runtime/code.ts";
import { nameTableEntry } from "../../src/p4runtime/describe.ts";
import { EntityBuilder } from "../../src/p4runtime/entities.ts";
import type { Entity, TableEntry, Update } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { Schema } from "../../src/p4runtime/schema.ts";
import { ProgramState } from "../../src/switch/p4runtime/program-state.ts";
import { statusOf } from "../../src/switch/p4runtime/status.ts";
import { bytes, insert, modify, rawEntity, rawEntry, remove, startPrimary } from "./bench.ts";
import { MemoryProgram } from "./memory-target.ts";
import { ID, PROGRAM } from "./program.ts";

/** The codes of a write's updates, OK for all when it went well. */
async function codes(client: P4RuntimeClient, updates: readonly Update[]): Promise<string[]> {
  try {
    await client.write(updates);
    return updates.map(() => "OK");
  } catch (error) {
    if (error instanceof P4RuntimeWriteError && error.updates !== undefined)
      return error.updates.map((update) => codeName(update.code));
    throw error;
  }
}

function tableEntries(entities: readonly Entity[]): TableEntry[] {
  return entities.flatMap(({ entity }) => (entity?.case === "tableEntry" ? [entity.value] : []));
}

const forward = {
  actionId: ID.forward,
  params: [
    { paramId: 5, value: bytes("01") },
    { paramId: 2, value: bytes("00") },
  ],
};
const action = { type: { case: "action", value: forward } } as const;
const lpm = (value: string, prefixLen: number) => ({
  fieldId: 1,
  fieldMatchType: { case: "lpm", value: { value: bytes(value), prefixLen } } as const,
});

describe("table entries", () => {
  it("are written by name and read back as they were written", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    await client.write([
      insert(
        entities.tableEntry("ipv4_lpm", { dst: "10.0.0.5/24" }, "forward", {
          port: 1,
          dst: "00:11:22:33:44:55",
        }),
      ),
    ]);
    const [installed] = target.running?.entries("ingress.ipv4_lpm") ?? [];
    expect(installed).toMatchObject({
      match: [{ kind: "lpm", value: 0x0a000000n, prefixLength: 24 }],
      priority: 0,
      action: { kind: "action", action: "ingress.forward", parameters: [1n, 0x001122334455n] },
    });
    const [entry] = tableEntries(await client.readAll([entities.allEntries("ipv4_lpm")]));
    expect(entry).toBeDefined();
    if (entry === undefined) return;
    expect(nameTableEntry(client.schema, entry)).toMatchObject({
      table: "ingress.ipv4_lpm",
      match: { "hdr.ipv4.dst": { kind: "LPM", value: 0x0a000000n, prefixLength: 24 } },
      action: "ingress.forward",
      params: { port: 1n, dst: 0x001122334455n },
    });
    // What was read can be written as it is.
    await client.write([remove(rawEntity({ case: "tableEntry", value: entry }))]);
    await client.write([insert(rawEntity({ case: "tableEntry", value: entry }))]);
  });

  it("with the prefix 0.0.0.0/0 or ::/0 have no match field (pitfall 4)", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    await client.write([
      insert(entities.tableEntry("ipv4_lpm", { dst: "0.0.0.0/0" }, "drop")),
      insert(entities.tableEntry("wide", { dst: "::/0" }, "set_wide", { value: 1n << 511n })),
    ]);
    const [first, second] = tableEntries(await client.readAll([entities.allEntries()])).filter(
      (entry) => entry.tableId !== ID.fixed,
    );
    expect(first?.match).toEqual([]);
    expect(second?.match).toEqual([]);
    const param = second?.action?.type?.case === "action" ? second.action.type.value.params[0] : undefined;
    expect(param?.value).toEqual(bytes(`80${"00".repeat(63)}`));
  });

  it("have values in their shortest form when they are read, however they were written", async () => {
    const { client } = await startPrimary();
    await client.write([
      rawEntry("INSERT", {
        tableId: ID.mac,
        match: [
          { fieldId: 7, fieldMatchType: { case: "exact", value: { value: bytes("0000000a") } } },
          { fieldId: 1, fieldMatchType: { case: "exact", value: { value: bytes("000000000007") } } },
        ],
        action,
      }),
    ]);
    const [entry] = tableEntries(await client.readAll([client.entities.allEntries("mac")]));
    expect(entry?.match.map((match) => match.fieldMatchType?.value)).toEqual([
      { value: bytes("07") },
      { value: bytes("0a") },
    ]);
  });

  it("exist once for each match and priority (pitfall 8)", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    const to = (port: number) =>
      entities.tableEntry("ipv4_lpm", { dst: "10.0.0.0/8" }, "forward", { port, dst: 0 });
    expect(await codes(client, [insert(to(1))])).toEqual(["OK"]);
    expect(await codes(client, [insert(to(2))])).toEqual(["ALREADY_EXISTS"]);
    const [installed] = target.running?.entries("ingress.ipv4_lpm") ?? [];
    expect(installed?.action).toMatchObject({ parameters: [1n, 0n] });
    const acl = (priority: number) =>
      entities.tableEntry("acl", { ether_type: 0x800 }, "drop", {}, { priority });
    expect(await codes(client, [insert(acl(1)), insert(acl(2)), remove(acl(3))])).toEqual([
      "OK",
      "OK",
      "NOT_FOUND",
    ]);
    expect(await codes(client, [remove(to(1))])).toEqual(["OK"]);
    expect(await codes(client, [remove(to(1))])).toEqual(["NOT_FOUND"]);
    expect(await codes(client, [modify(to(1))])).toEqual(["NOT_FOUND"]);
  });

  it("need a priority exactly where a field is ternary, range or optional (pitfall 6)", async () => {
    const { client } = await startPrimary();
    const drop = { type: { case: "action", value: { actionId: ID.drop } } } as const;
    const ternary = (priority: number) => rawEntry("INSERT", { tableId: ID.acl, priority, action: drop });
    const prefix = (priority: number) =>
      rawEntry("INSERT", { tableId: ID.ipv4Lpm, match: [lpm("0a000000", 8)], priority, action });
    expect(await codes(client, [ternary(0), ternary(1), prefix(5), prefix(0), ternary(-1)])).toEqual([
      "INVALID_ARGUMENT",
      "OK",
      "INVALID_ARGUMENT",
      "OK",
      "INVALID_ARGUMENT",
    ]);
    expect(() => client.entities.tableEntry("acl", {}, "drop")).toThrow(/priority above 0/);
    expect(() => client.entities.tableEntry("ipv4_lpm", {}, "drop", {}, { priority: 1 })).toThrow(
      /no priority/,
    );
  });

  it("fill a table up to its size, and no further (pitfall 14)", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    const entry = (index: number) => entities.tableEntry("ipv4_lpm", { dst: index }, "drop");
    const all = Array.from({ length: 1025 }, (_, index) => insert(entry(index)));
    const results = await codes(client, all);
    expect(results.slice(0, 1024).every((code) => code === "OK")).toBe(true);
    expect(results[1024]).toBe("RESOURCE_EXHAUSTED");
    expect(await codes(client, [modify(entry(7))])).toEqual(["OK"]);
    expect(await codes(client, [remove(entry(7))])).toEqual(["OK"]);
    expect(await codes(client, [insert(entry(1024))])).toEqual(["OK"]);
  });

  it("that are malformed are refused alone, and in the middle of a batch (pitfall 16)", async () => {
    const { client } = await startPrimary();
    const exact = (fieldId: number) => ({
      fieldId,
      fieldMatchType: { case: "exact", value: { value: bytes("01") } } as const,
    });
    const withAction = (value: TableEntry["action"]) =>
      rawEntry("INSERT", { tableId: ID.ipv4Lpm, match: [lpm("0a000000", 8)], action: value });
    const bad: readonly (readonly [update: Update, code: string])[] = [
      [rawEntry("INSERT", { tableId: ID.keyless, action }), "INVALID_ARGUMENT"],
      [rawEntry("INSERT", { tableId: ID.mac, match: [exact(1)], action }), "INVALID_ARGUMENT"],
      [
        rawEntry("INSERT", { tableId: ID.mac, match: [exact(1), exact(1), exact(7)], action }),
        "INVALID_ARGUMENT",
      ],
      [rawEntry("INSERT", { tableId: ID.mac, match: [exact(1), exact(9)], action }), "INVALID_ARGUMENT"],
      [rawEntry("INSERT", { tableId: 0x02ffffff, action }), "NOT_FOUND"],
      [rawEntry("INSERT", { action }), "INVALID_ARGUMENT"],
      [withAction(undefined), "INVALID_ARGUMENT"],
      [withAction({}), "INVALID_ARGUMENT"],
      [withAction({ type: { case: "action", value: { actionId: 0, params: [] } } }), "INVALID_ARGUMENT"],
      [
        withAction({ type: { case: "action", value: { actionId: 0x01ffffff, params: [] } } }),
        "INVALID_ARGUMENT",
      ],
      [
        withAction({ type: { case: "action", value: { actionId: ID.setWide, params: [] } } }),
        "INVALID_ARGUMENT",
      ],
      [
        withAction({ type: { case: "action", value: { actionId: ID.noAction, params: [] } } }),
        "PERMISSION_DENIED",
      ],
      [
        withAction({ type: { case: "action", value: { ...forward, params: forward.params.slice(1) } } }),
        "INVALID_ARGUMENT",
      ],
      [
        withAction({
          type: {
            case: "action",
            value: { ...forward, params: [...forward.params, { paramId: 9, value: bytes("01") }] },
          },
        }),
        "INVALID_ARGUMENT",
      ],
      [
        withAction({
          type: {
            case: "action",
            value: { ...forward, params: [{ paramId: 5, value: bytes("0200") }, ...forward.params.slice(1)] },
          },
        }),
        "OUT_OF_RANGE",
      ],
      // A member id of 0 is seen as one, not as "no action" (pitfall 104).
      [withAction({ type: { case: "actionProfileMemberId", value: 0 } }), "INVALID_ARGUMENT"],
      [rawEntry("INSERT", { tableId: ID.ipv4Lpm, match: [lpm("0a000005", 24)], action }), "INVALID_ARGUMENT"],
      [rawEntry("INSERT", { tableId: ID.ipv4Lpm, match: [lpm("00", 0)], action }), "INVALID_ARGUMENT"],
      [rawEntry("INSERT", { tableId: ID.ipv4Lpm, match: [lpm("010a000000", 8)], action }), "OUT_OF_RANGE"],
      [
        rawEntry("INSERT", { tableId: ID.ipv4Lpm, match: [lpm("0a000000", 8)], action, isConst: true }),
        "INVALID_ARGUMENT",
      ],
      [
        rawEntry("INSERT", { tableId: ID.ipv4Lpm, match: [lpm("0a000000", 8)], action, idleTimeoutNs: 5n }),
        "INVALID_ARGUMENT",
      ],
      [
        rawEntry("INSERT", { tableId: ID.ipv4Lpm, match: [lpm("0a000000", 8)], action, counterData: {} }),
        "INVALID_ARGUMENT",
      ],
      [
        rawEntry("UNSPECIFIED", { tableId: ID.ipv4Lpm, match: [lpm("0a000000", 8)], action }),
        "INVALID_ARGUMENT",
      ],
      [{ type: "INSERT", entity: undefined }, "INVALID_ARGUMENT"],
    ];
    for (const [update, code] of bad)
      expect(await codes(client, [update]), JSON.stringify(update, shown)).toEqual([code]);
    for (const [index, [update, code]] of bad.entries()) {
      const good = (side: number) =>
        insert(client.entities.tableEntry("ipv4_lpm", { dst: index * 2 + side + 1 }, "drop"));
      expect(await codes(client, [good(0), update, good(1)])).toEqual(["OK", code, "OK"]);
    }
    const entries = tableEntries(await client.readAll([client.entities.allEntries("ipv4_lpm")]));
    expect(entries).toHaveLength(2 * bad.length);
  });

  it("of all kinds of match are kept apart", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    const acl = (match: Parameters<typeof entities.tableEntry>[1]) =>
      insert(entities.tableEntry("acl", match, "drop", {}, { priority: 7 }));
    const updates = [
      acl({}),
      acl({ ether_type: "0x800 &&& 0xff00" }),
      acl({ ingress_port: "1..5", protocol: 6 }),
      acl({ ingress_port: "1..5" }),
      acl({ ether_type: "*", ingress_port: "0..511" }),
    ];
    expect(await codes(client, updates)).toEqual(["OK", "OK", "OK", "OK", "ALREADY_EXISTS"]);
  });

  it("keep their metadata, and MODIFY replaces it", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    const entry = (metadata: string) =>
      entities.tableEntry("ipv4_lpm", { dst: "10.0.0.0/8" }, "drop", {}, { metadata: bytes(metadata) });
    await client.write([insert(entry("0102"))]);
    await client.write([modify(entry("03"))]);
    const [read] = tableEntries(await client.readAll([entities.allEntries("ipv4_lpm")]));
    expect(read?.metadata).toEqual(bytes("03"));
  });
});

describe("default entries", () => {
  it("can be modified and reset, but neither inserted nor deleted", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    const drop = entities.defaultEntry("ipv4_lpm", "drop");
    expect(await codes(client, [insert(drop), remove(drop)])).toEqual([
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
    ]);
    const read = async () => {
      const [entry] = tableEntries(await client.readAll([entities.defaultEntry("ipv4_lpm")]));
      return entry?.action?.type?.case === "action" ? entry.action.type.value.actionId : undefined;
    };
    expect(await read()).toBe(ID.noAction);
    expect(await codes(client, [modify(drop)])).toEqual(["OK"]);
    expect(await read()).toBe(ID.drop);
    expect(target.running?.defaultAction("ingress.ipv4_lpm")).toBe("ingress.drop");
    expect(await codes(client, [modify(entities.defaultEntry("ipv4_lpm"))])).toEqual(["OK"]);
    expect(await read()).toBe(ID.noAction);
    expect(target.running?.defaultAction("ingress.ipv4_lpm")).toBe("NoAction");
  });

  it("respect scopes, constants, and take no match or priority", async () => {
    const { client } = await startPrimary();
    const value = { type: { case: "action", value: { actionId: ID.drop } } } as const;
    expect(
      await codes(client, [
        rawEntry("MODIFY", { tableId: ID.acl, isDefaultAction: true, action }),
        rawEntry("MODIFY", { tableId: ID.fixed, isDefaultAction: true, action: value }),
        rawEntry("MODIFY", { tableId: ID.ipv4Lpm, isDefaultAction: true, action: value, priority: 1 }),
        rawEntry("MODIFY", {
          tableId: ID.ipv4Lpm,
          isDefaultAction: true,
          action: value,
          match: [lpm("0a000000", 8)],
        }),
        rawEntry("MODIFY", { tableId: ID.keyless, isDefaultAction: true, action }),
      ]),
    ).toEqual(["PERMISSION_DENIED", "PERMISSION_DENIED", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "OK"]);
  });
});

describe("constant tables", () => {
  it("show their entries and cannot be written", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    const entries = tableEntries(await client.readAll([entities.allEntries("fixed")]));
    expect(entries.map((entry) => entry.isConst)).toEqual([true, true]);
    const entry = (value: number) => entities.tableEntry("fixed", { class: value }, "drop");
    expect(await codes(client, [insert(entry(1)), modify(entry(3)), remove(entry(3))])).toEqual([
      "PERMISSION_DENIED",
      "PERMISSION_DENIED",
      "PERMISSION_DENIED",
    ]);
  });
});

describe("any sequence of writes", () => {
  it("leaves what a plain map of matches would have, or an error that says why", () => {
    const schema = new Schema(PROGRAM);
    const builder = new EntityBuilder(schema);
    const step = fc.record({
      type: fc.constantFrom("INSERT" as const, "MODIFY" as const, "DELETE" as const),
      etherType: fc.constantFrom("*", "0x800", "0x800 &&& 0xff00"),
      port: fc.constantFrom("*", "1..5", "1..6", 3),
      protocol: fc.constantFrom(undefined, 6),
      priority: fc.integer({ min: 1, max: 2 }),
      action: fc.constantFrom("drop", "forward"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const program = new MemoryProgram("model");
        const state = new ProgramState(schema, program, () => true);
        const model = new Map<string, string>();
        for (const { type, etherType, port, protocol, priority, action } of steps) {
          const params = action === "forward" ? { port: 1, dst: 2 } : {};
          const match = { ether_type: etherType, ingress_port: port, protocol };
          const entity = builder.tableEntry("acl", match, action, params, { priority });
          const key = JSON.stringify([etherType, port, protocol, priority]);
          const wanted =
            type === "INSERT"
              ? model.has(key)
                ? Code.ALREADY_EXISTS
                : model.size >= 4
                  ? Code.RESOURCE_EXHAUSTED
                  : Code.OK
              : model.has(key)
                ? Code.OK
                : Code.NOT_FOUND;
          if (wanted === Code.OK && type === "DELETE") model.delete(key);
          else if (wanted === Code.OK) model.set(key, `ingress.${action}`);
          let code: number = Code.OK;
          try {
            state.write({ type, entity });
          } catch (error) {
            code = statusOf(error).code;
          }
          expect(code).toBe(wanted);
          const installed = program
            .entries("ingress.acl")
            .map((entry) => (entry.action.kind === "action" ? entry.action.action : ""));
          expect(installed.sort()).toEqual([...model.values()].sort());
          expect([...state.read(builder.allEntries("acl"))]).toHaveLength(model.size);
        }
      }),
    );
  });
});

describe("reads of tables", () => {
  it("with an empty match give all entries but not the default; deleting with it takes one (pitfall 10)", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    await client.write([
      insert(entities.tableEntry("ipv4_lpm", { dst: "0.0.0.0/0" }, "drop")),
      insert(entities.tableEntry("ipv4_lpm", { dst: "10.0.0.0/8" }, "drop")),
      insert(entities.tableEntry("ipv4_lpm", { dst: "10.1.0.0/16" }, "drop")),
      modify(entities.defaultEntry("ipv4_lpm", "drop")),
    ]);
    expect(await client.readAll([entities.allEntries("ipv4_lpm")])).toHaveLength(3);
    expect(await client.readAll([entities.defaultEntry("ipv4_lpm")])).toHaveLength(1);
    expect(await client.readAll([entities.allEntries()])).toHaveLength(5);
    await client.write([remove(entities.tableEntry("ipv4_lpm", {}))]);
    expect(await client.readAll([entities.allEntries("ipv4_lpm")])).toHaveLength(2);
  });

  it("are narrowed by match, priority, action and metadata", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    await client.write([
      insert(entities.tableEntry("acl", {}, "drop", {}, { priority: 1 })),
      insert(entities.tableEntry("acl", { protocol: 6 }, "drop", {}, { priority: 2, metadata: bytes("aa") })),
      insert(entities.tableEntry("acl", { protocol: 6 }, "forward", { port: 1, dst: 2 }, { priority: 3 })),
    ]);
    const priorities = async (filter: Partial<TableEntry>) =>
      tableEntries(
        await client.readAll([rawEntity({ case: "tableEntry", value: { tableId: ID.acl, ...filter } })]),
      ).map((entry) => entry.priority);
    const tcp = { fieldId: 3, fieldMatchType: { case: "optional", value: { value: bytes("06") } } } as const;
    expect(await priorities({})).toEqual([1, 2, 3]);
    expect(await priorities({ match: [tcp] })).toEqual([2, 3]);
    expect(await priorities({ match: [tcp], priority: 3 })).toEqual([3]);
    expect(await priorities({ priority: 1 })).toEqual([1]);
    expect(await priorities({ priority: 9 })).toEqual([]);
    expect(await priorities({ metadata: bytes("aa") })).toEqual([2]);
    expect(
      await priorities({ action: { type: { case: "action", value: { actionId: ID.forward, params: [] } } } }),
    ).toEqual([3]);
  });

  it("of an unknown table or with a bad match say which of the requests failed", async () => {
    const { client } = await startPrimary();
    const good = client.entities.allEntries("fixed");
    const bad = rawEntity({ case: "tableEntry", value: { tableId: 0x02ffffff } });
    const found: Entity[] = [];
    const read = async () => {
      for await (const entity of client.read([good, bad, good])) found.push(entity);
    };
    await expect(read()).rejects.toMatchObject({ code: Code.NOT_FOUND });
    expect(found).toHaveLength(4);
    await expect(client.readAll([rawEntity(undefined)])).rejects.toMatchObject({
      code: Code.INVALID_ARGUMENT,
    });
  });
});

function shown(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
