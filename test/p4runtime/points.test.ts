import { describe, expect, it } from "vitest";
import type { Init } from "../../src/p4info/index.ts";
import { P4RuntimeError, P4RuntimeWriteError } from "../../src/p4runtime/call-error.ts";
import type { ClientOptions, P4RuntimeClient } from "../../src/p4runtime/client.ts";
import { Code } from "../../src/p4runtime/code.ts";
import { nameTableEntry } from "../../src/p4runtime/describe.ts";
import type {
  Entity,
  FieldMatch,
  TableEntry,
  Update,
  Update_Type,
} from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { connect, insert, modify, rawUpdate, remove, stopAfterTest } from "./bench.ts";
import { pointsProgram } from "./pointsprogram.ts";
import { CPU_PORT, SERVERS } from "./servers.ts";

const { p4info, json } = pointsProgram();
const FRAME = Buffer.from(`02000000000102000000000288b5${"00".repeat(50)}`, "hex");
const RULE = { src: "02:00:00:00:00:02&&&ff:ff:ff:ff:ff:ff" };

/** Codes of updates that are sent as they are: one for each, or one for all when the request was refused as a whole. */
async function codes(
  client: P4RuntimeClient,
  ...updates: readonly Update[]
): Promise<readonly number[] | number> {
  try {
    await client.write(updates);
    return updates.map(() => 0);
  } catch (error) {
    if (error instanceof P4RuntimeWriteError && error.updates !== undefined)
      return error.updates.map(({ code }) => code);
    if (error instanceof P4RuntimeError) return error.code;
    throw error;
  }
}

/** What a promise came to: 0, or the code of its error. */
const codeOf = (promise: Promise<unknown>): Promise<number> =>
  promise.then(
    () => 0,
    (error: unknown) => {
      if (error instanceof P4RuntimeError) return error.code;
      throw error;
    },
  );

const entryOf = (entity: Entity): TableEntry =>
  entity.entity?.case === "tableEntry" ? entity.entity.value : expect.fail("no entry");

/** An entry of which one thing is otherwise than the client makes it. */
const changed = (type: Update_Type, entity: Entity, change: Init<TableEntry>): Update =>
  rawUpdate(type, { case: "tableEntry", value: { ...entryOf(entity), ...change } });

/** The same with another match. */
const matching = (entity: Entity, fieldMatchType: Init<FieldMatch>["fieldMatchType"], fieldId = 1): Update =>
  changed("INSERT", entity, {
    match: [...entryOf(entity).match.filter((m) => m.fieldId !== fieldId), { fieldId, fieldMatchType }],
  });

const hex = (text: string): Buffer => Buffer.from(text, "hex");

describe.each(SERVERS.filter(({ isHere }) => isHere))(
  "$title",
  { timeout: 120_000 },
  ({ isPi, isReal, start }) => {
    /** What the specification says, or what PI does instead. */
    const either = <T>(specified: T, ofPi: T): T => (isPi ? ofPi : specified);

    /** A client that refuses nothing by itself. */
    const join = async (address: string, options: Partial<ClientOptions> = {}): Promise<P4RuntimeClient> =>
      connect(address, { server: "standard", ...options });

    async function primary(options: Partial<ClientOptions> = {}) {
      const address = await start();
      const client = await join(address, options);
      await client.arbitrate(5n);
      await client.pushPipeline(p4info, json, { cookie: 2n ** 64n - 3n });
      const { entities: make } = client;
      const rule = (port: number, priority: number, match: object = RULE): Entity =>
        make.tableEntry("kinds.rules", { ...match }, "kinds.to_port", { port }, { priority });
      const prefix = (dst: string, port = 1): Entity =>
        make.tableEntry("kinds.prefixes", dst === "" ? {} : { dst }, "kinds.to_port", { port });
      const read = (entity: Entity) => client.readAll([entity]);
      const rows = (table: string) => read(make.allEntries(table));
      /** As if it had come in on the controller's port. */
      const submit = (): void => client.sendPacket(FRAME, { egress_port: 0, submit: 1 });
      return { address, client, make, rule, prefix, read, rows, submit };
    }

    it("has one primary, who alone may write; anybody may read (points 1, 3, 32; pitfall 22)", async () => {
      const { address, client, make, prefix } = await primary();
      const other = await join(address);
      expect(await other.arbitrate(7n)).toMatchObject({ isPrimary: true });
      await expect.poll(() => client.isPrimary).toBe(false);
      await other.useProgram();
      expect(await codes(client, insert(prefix("02:00:00:00:00:00/40")))).toBe(Code.PERMISSION_DENIED);
      expect(await client.readAll([make.allEntries("kinds.prefixes")])).toEqual([]);
      expect(await codes(other, insert(prefix("02:00:00:00:00:00/40")))).toEqual([0]);
      expect(await client.readAll([make.allEntries("kinds.prefixes")])).toHaveLength(1);
      expect(await codeOf(client.pushPipeline(p4info, json))).toBe(Code.PERMISSION_DENIED);
    });

    it("knows an election id again when its stream has ended (pitfall 18)", async () => {
      const address = await start();
      for (let time = 0; time < 5; time++) {
        const client = await join(address);
        await expect
          .poll(() => client.arbitrate(5n).then(({ isPrimary }) => isPrimary), { timeout: 10_000 })
          .toBe(true);
        await client.close();
      }
    });

    it("tells an absent election id from {0, 0} (point 4; pitfall 20)", async () => {
      const address = await start();
      const [nobody, zero] = [await join(address), await join(address)];
      expect(await nobody.arbitrate(undefined)).toMatchObject({ isPrimary: either(false, true) });
      if (isPi) return; // there the two are one id, and a second stream with it is refused
      expect(await zero.arbitrate(0n)).toMatchObject({ isPrimary: true });
      expect(await nobody.arbitrate(undefined)).toMatchObject({ isPrimary: false });
      await zero.pushPipeline(p4info, json);
      await nobody.useProgram();
      expect(await codes(nobody)).toEqual([]);
      const { entities } = nobody;
      const reset = modify(entities.counter("kinds.cells", 0, { packetCount: 0n }));
      expect(await codes(nobody, reset)).toBe(Code.PERMISSION_DENIED);
      expect(await codes(zero, reset)).toEqual([0]);
    });

    it("takes packets with their metadata, gives packets, and lives on after bad ones (point 6; pitfall 23)", async () => {
      const refused: number[] = [];
      const { client, rule } = await primary({
        onStreamError: ({ canonicalCode }) => refused.push(canonicalCode),
      });
      const toController = { ...RULE };
      await client.write([insert(rule(CPU_PORT, 1, toController))]);
      const packets = client.packets();
      stopAfterTest(() => void packets.return(undefined));
      client.sendPacket(FRAME, { egress_port: 0, submit: 1 });
      expect((await packets.next()).value).toMatchObject({ metadata: { ingress_port: BigInt(CPU_PORT) } });
      // Out by the controller's own port is in again; the highest port has all nine bits.
      client.sendPacket(FRAME, { egress_port: CPU_PORT, submit: 0 });
      expect(Buffer.from((await packets.next()).value?.payload ?? "")).toEqual(FRAME);
      const { length } = client.entities.packetOut({ egress_port: 511, submit: 1 });
      expect(length).toBe(3);
      client.sendPacket(Buffer.alloc(9000, FRAME), { egress_port: 0, submit: 1 });
      const { value: large } = await packets.next();
      expect(large?.payload).toHaveLength(9000);
      if (isPi) return; // refusals are not told there unless asked for by another service
      const raw = await join(client.address);
      await raw.arbitrate(9n);
      expect(raw.isPrimary).toBe(true);
    });

    it("verifies, saves and commits a program (point 7; pitfall 26)", async () => {
      const { client, prefix, rows } = await primary();
      expect(await codeOf(client.commitPipeline())).toBe(either<number>(Code.NOT_FOUND, Code.UNKNOWN));
      await client.write([insert(prefix("02:00:00:00:00:00/40"))]);
      await client.pushPipeline(p4info, json, { action: "VERIFY" });
      expect(await rows("kinds.prefixes")).toHaveLength(1);
      const other = pointsProgram(32);
      await client.pushPipeline(other.p4info, other.json, { action: "VERIFY_AND_SAVE", cookie: 77n });
      expect(await codeOf(client.commitPipeline())).toBe(0);
      expect(await client.getCookie()).toBe(77n);
      expect(await rows("kinds.prefixes")).toEqual([]);
    });

    it("says what program it has, and that it has none (points 8, 34; pitfall 27)", async () => {
      const address = await start();
      const client = await join(address);
      expect(client.apiVersion).toBe(either("1.4.1", "1.3.0"));
      expect(await client.getPipeline()).toBeUndefined();
      await client.arbitrate(5n);
      const nothing = { entity: { case: "tableEntry", value: {} } } as const;
      expect(
        await codeOf(client.readAll([rawUpdate("INSERT", nothing.entity).entity ?? expect.fail()])),
      ).toBe(Code.FAILED_PRECONDITION);
      await client.pushPipeline(p4info, json, { cookie: 9_223_372_036_854_775_809n });
      expect(await client.getCookie()).toBe(9_223_372_036_854_775_809n);
      const info = await client.getPipeline("P4INFO_AND_COOKIE");
      expect(info).toMatchObject({ p4DeviceConfig: new Uint8Array(), p4info: { pkgInfo: p4info.pkgInfo } });
      const config = await client.getPipeline("DEVICE_CONFIG_AND_COOKIE");
      expect(config?.p4info).toBeUndefined();
      expect(Buffer.from(config?.p4DeviceConfig ?? "")).toEqual(json);
    });

    it("starts from nothing with a new program (pitfall 25)", async () => {
      const { client, make, prefix, rows, read } = await primary();
      await client.write([
        insert(prefix("02:00:00:00:00:00/40")),
        insert(make.member("kinds.choice", 1, "kinds.away", { port: 2 })),
        insert(make.cloneSession(3, [{ port: 2, instance: 1 }])),
        insert(make.multicastGroup(1, [{ port: 1, instance: 1 }])),
        modify(make.counter("kinds.cells", 0, { packetCount: 5n })),
      ]);
      await client.pushPipeline(p4info, json);
      expect(await rows("kinds.prefixes")).toEqual([]);
      expect(await read(make.member("kinds.choice", 0))).toEqual([]);
      const [cell] = await read(make.counter("kinds.cells", 0));
      expect(cell?.entity?.value).toMatchObject({ data: { packetCount: 0n } });
      expect(await client.readAll([make.cloneSession(0), make.multicastGroup(0)])).toEqual([]);
      expect(await codes(client, insert(make.cloneSession(3, [{ port: 1, instance: 1 }])))).toEqual([0]);
    });

    it("keeps its entries when it is asked to reconcile, or says that it cannot (pitfall 28)", async () => {
      const { address, client, prefix, rows } = await primary();
      await client.write([insert(prefix("02:00:00:00:00:00/40"))]);
      const knowing = await connect(address, isPi ? { server: "bmv2" } : {});
      await knowing.arbitrate(9n);
      const outcome = await codeOf(knowing.pushPipeline(p4info, json, { action: "RECONCILE_AND_COMMIT" }));
      expect(outcome).toBe(either(0, Code.UNIMPLEMENTED));
      expect(await rows("kinds.prefixes")).toHaveLength(1);
    });

    it("takes values in any form, and gives them in the shortest (points 10, 13; pitfall 12)", async () => {
      const { client, make, rows } = await primary();
      const values = [0n, 1n, 2n ** 64n, 2n ** 127n, 2n ** 128n - 1n];
      const big = (value: bigint): Entity => make.tableEntry("kinds.big", { value }, "kinds.mark", { value });
      await client.write(values.map((value) => insert(big(value))));
      const found = (await rows("kinds.big")).map((e) => nameTableEntry(client.schema, entryOf(e)));
      const both = found.map(({ match, params }) => [match.value, params.value]);
      expect(new Set(both.map(([, value]) => value))).toEqual(new Set(values));
      for (const [match, value] of both) expect(match).toMatchObject({ value });
      // Padded, and too wide.
      const padded = Buffer.concat([Buffer.alloc(15), Buffer.of(7)]);
      const exact = (value: Uint8Array) => ({ case: "exact", value: { value } }) as const;
      expect(await codes(client, matching(big(7n), exact(padded)))).toEqual([0]);
      const seven = (await rows("kinds.big")).map(entryOf).find(({ match: [m] }) => {
        const kind = m?.fieldMatchType;
        return kind?.case === "exact" && kind.value.value.length === 1 && kind.value.value[0] === 7;
      });
      expect(seven).toBeDefined();
      const wide = Buffer.concat([Buffer.of(1), Buffer.alloc(16)]);
      expect(await codes(client, matching(big(9n), exact(wide)))).toEqual([
        either<number>(Code.OUT_OF_RANGE, Code.INVALID_ARGUMENT),
      ]);
      expect(() => big(2n ** 128n)).toThrow(/value/);
    });

    it("refuses stray bits, empty masks, full and turned ranges, on the wire (point 15; pitfalls 3, 4, 5)", async () => {
      const { client, rule, prefix, rows } = await primary();
      const refused = [
        matching(prefix("02:00:00:00:00:00/40"), {
          case: "lpm",
          value: { value: hex("020000000001"), prefixLen: 40 },
        }),
        matching(prefix(""), { case: "lpm", value: { value: hex("00"), prefixLen: 0 } }),
        matching(rule(1, 1), { case: "ternary", value: { value: hex("1111"), mask: hex("000f") } }),
        matching(rule(1, 1), { case: "ternary", value: { value: hex("00"), mask: hex("00") } }),
        matching(rule(1, 1), { case: "range", value: { low: hex("00"), high: hex("01ff") } }, 2),
        matching(rule(1, 1), { case: "range", value: { low: hex("05"), high: hex("03") } }, 2),
      ];
      // BMv2 knows a full range by its bytes only, and this field has nine bits.
      const isFull = (i: number): boolean => isReal && i === 4;
      for (const [i, update] of refused.entries())
        expect([i, await codes(client, update)]).toEqual([i, [isFull(i) ? 0 : Code.INVALID_ARGUMENT]]);
      await client.write(refused.filter((_, i) => isFull(i)).map((u) => remove(u.entity ?? expect.fail())));
      expect(await rows("kinds.rules")).toEqual([]);
      expect(await rows("kinds.prefixes")).toEqual([]);
      // The client says the same by leaving it out.
      await client.write([
        insert(prefix("00:00:00:00:00:00/0")),
        insert(rule(1, 1, { ...RULE, port: "0..511" })),
        insert(rule(1, 2, { port: "0..5" })),
        insert(rule(1, 3, { port: "7..7", src: "00:00:00:00:00:00&&&00:00:00:00:00:00" })),
      ]);
      const names = (await rows("kinds.rules")).map(({ entity }) =>
        entity?.case === "tableEntry" ? entity.value.match.map((m) => m.fieldId).join() : "",
      );
      expect(names.sort()).toEqual([isReal ? "1,2" : "1", "2", "2"]);
      expect((await rows("kinds.prefixes")).map((e) => entryOf(e).match)).toEqual([[]]);
    });

    it("wants a priority exactly where entries can overlap, and the highest wins (point 16; pitfall 6)", async () => {
      const { client, rule, prefix, make, read, submit } = await primary();
      const [wide, wider] = [{ port: "0..200" }, { port: "0..300" }];
      const negative = changed("INSERT", rule(1, 1), { priority: -1 });
      expect(await codes(client, changed("INSERT", rule(1, 1), { priority: 0 }))).toEqual([3]);
      expect(await codes(client, negative)).toEqual([isReal ? Code.UNKNOWN : Code.INVALID_ARGUMENT]);
      expect(await codes(client, changed("INSERT", prefix("02:00:00:00:00:00/40"), { priority: 5 }))).toEqual(
        [3],
      );
      await client.write([insert(rule(1, 10)), insert(rule(2, 20, wide)), insert(rule(3, 5, wider))]);
      submit();
      const hits = async (match: object, priority: number): Promise<unknown> => {
        const [counter] = await read(make.directCounter("kinds.rules", { ...match }, priority));
        const entity = counter?.entity;
        return entity?.case === "directCounterEntry" ? entity.value.data?.packetCount : undefined;
      };
      await expect.poll(() => hits(wide, 20), { timeout: 20_000 }).toBe(1n);
      expect(await hits(RULE, 10)).toBe(0n);
      expect(await hits(wider, 5)).toBe(0n);
    });

    it("has an entry once for each match and priority (point 14; pitfall 8)", async () => {
      const { client, rule, rows } = await primary();
      await client.write([insert(rule(1, 1))]);
      expect(await codes(client, insert(rule(2, 1)))).toEqual([Code.ALREADY_EXISTS]);
      expect(await codes(client, insert(rule(2, 2)))).toEqual([0]);
      expect(await codes(client, modify(rule(2, 3)))).toEqual([Code.NOT_FOUND]);
      expect(await codes(client, remove(rule(2, 2)))).toEqual([0]);
      expect(await codes(client, remove(rule(2, 2)))).toEqual([Code.NOT_FOUND]);
      const [left, ...more] = (await rows("kinds.rules")).map((e) =>
        nameTableEntry(client.schema, entryOf(e)),
      );
      expect(left).toMatchObject({ params: { port: 1n } });
      expect(more).toEqual([]);
    });

    it("reads a table without its default entry, and deletes by an empty match only one (point 20; pitfalls 4, 10)", async () => {
      const { client, prefix, rows, make, read } = await primary();
      const three = ["02:00:00:00:00:00/40", "02:00:00:00:00:00/48", ""].map((dst) => prefix(dst));
      await client.write(three.map(insert));
      expect(await rows("kinds.prefixes")).toHaveLength(3);
      expect(await read(make.allEntries())).toHaveLength(either(4, 4)); // the constant one, too
      expect(await read(make.defaultEntry("kinds.prefixes"))).toHaveLength(1);
      expect(await codes(client, remove(prefix("")))).toEqual([0]);
      expect(await rows("kinds.prefixes")).toHaveLength(2);
    });

    it("is full at its size, and takes one more for each that goes (pitfall 14)", async () => {
      const { client, rule, rows } = await primary();
      await client.write([1, 2, 3, 4].map((priority) => insert(rule(1, priority))));
      expect(await codes(client, insert(rule(1, 5)))).toEqual([
        either<number>(Code.RESOURCE_EXHAUSTED, Code.UNKNOWN),
      ]);
      expect(await codes(client, modify(rule(2, 4)))).toEqual([0]);
      expect(await codes(client, remove(rule(1, 1)))).toEqual([0]);
      expect(await codes(client, insert(rule(1, 5)))).toEqual([0]);
      expect(await rows("kinds.rules")).toHaveLength(4);
    });

    it("refuses what is malformed alone, and in the middle of a batch (points 9, 11, 17, 29; pitfalls 16, 98, 104)", async () => {
      const { client, make, rows } = await primary();
      const big = (value: number): Entity => make.tableEntry("kinds.big", { value }, "kinds.mark", { value });
      const { match, tableId } = entryOf(big(1));
      const action = entryOf(big(1)).action?.type;
      const value = action?.case === "action" ? action.value : expect.fail("no action");
      const withAction = (change: object): Init<TableEntry> => ({
        match: entryOf(big(50)).match,
        action: { type: { case: "action", value: { ...value, ...change } } },
      });
      const toPort = client.schema.actions.get("kinds.to_port").id;
      const bad: readonly Init<TableEntry>[] = [
        { match: [] },
        { match: [...match, ...match] },
        { match: match.map((m) => ({ ...m, fieldId: 9 })) },
        { tableId: 0 },
        { tableId: tableId + 77 },
        { ...withAction({}), action: undefined },
        withAction({ params: [] }),
        withAction({ params: [...value.params, ...value.params] }),
        withAction({ params: value.params.map((p) => ({ ...p, paramId: 7 })) }),
        withAction({ actionId: toPort }),
        withAction({ actionId: 0x0100_7777 }),
        { action: { type: { case: "actionProfileMemberId", value: 0 } } },
      ];
      const known: readonly number[] = [Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.UNKNOWN];
      for (const [i, change] of bad.entries()) {
        const update = changed("INSERT", big(50), change);
        const alone = await codes(client, update);
        expect({
          change,
          alone,
          isKnown: Array.isArray(alone) && known.includes(alone[0] ?? -1),
        }).toMatchObject({ isKnown: true });
        const good = [insert(big(100)), insert(big(101))] as const;
        const [first, middle, last] = [await codes(client, good[0], update, good[1])].flat();
        expect({ i, first, last }).toEqual({ i, first: 0, last: 0 });
        expect(middle).not.toBe(0);
        await client.write(good.map(({ entity }) => remove(entity ?? expect.fail())));
      }
      expect(await rows("kinds.big")).toEqual([]);
    });

    it("has default entries that can be changed and put back, and constant ones (points 18, 19)", async () => {
      const { client, make, read, rows } = await primary();
      const own = make.defaultEntry("forwarding.route", "forwarding.to_local");
      const actionNow = async (): Promise<unknown> => {
        const [entry] = await read(make.defaultEntry("forwarding.route"));
        return entry === undefined ? undefined : nameTableEntry(client.schema, entryOf(entry)).action;
      };
      const before = await actionNow();
      for (const change of [insert, remove])
        expect(await codes(client, change(own))).toEqual([Code.INVALID_ARGUMENT]);
      expect(await codes(client, modify(own))).toEqual([0]);
      expect(await actionNow()).toBe("forwarding.to_local");
      expect(await codes(client, modify(make.defaultEntry("forwarding.route")))).toEqual([0]);
      expect(await actionNow()).toBe(before);
      // Constant entries, and a constant default.
      expect(await rows("kinds.fixed")).toHaveLength(1);
      const more = make.tableEntry("kinds.fixed", { type: 0x1234 }, "kinds.to_port", { port: 1 });
      expect(await codes(client, insert(more))).toEqual([
        either<number>(Code.PERMISSION_DENIED, Code.UNKNOWN),
      ]);
      expect(await rows("kinds.fixed")).toHaveLength(1);
    });

    it("keeps what is attached to an entry, and its counter and meter over MODIFY as it says (points 13, 21)", async () => {
      const { client, make, read } = await primary();
      const rate = { cir: 1000n, cburst: 2000n, pir: 3000n, pburst: 4000n };
      const metered = make.tableEntry(
        "kinds.metered",
        { src: 7 },
        "kinds.meter_hit",
        {},
        { metadata: hex("cafe") },
      );
      await client.write([insert(metered)]);
      await client.write([modify(make.directMeter("kinds.metered", { src: 7 }, 0, rate))]);
      const config = async (): Promise<unknown> => {
        const [meter] = await read(make.directMeter("kinds.metered", { src: 7 }));
        return meter?.entity?.case === "directMeterEntry" ? meter.entity.value.config : undefined;
      };
      expect(await config()).toMatchObject({ cir: 1000n, pir: 3000n });
      const [entry] = await read(make.allEntries("kinds.metered"));
      expect(entry === undefined ? undefined : Buffer.from(entryOf(entry).metadata).toString("hex")).toBe(
        "cafe",
      );
      await client.write([modify(metered)]);
      expect((await config()) ?? {}).not.toMatchObject(either({ cir: 1000n }, { cir: 1n }));
    });

    it("has members before groups before entries, and refuses to lose one in use (point 23)", async () => {
      const { client, make, read } = await primary();
      const member = (id: number): Entity => make.member("kinds.choice", id, "kinds.away", { port: id });
      const group = make.group("kinds.choice", 1, { 1: 2, 2: 1 });
      const entry = make.tableEntry("kinds.spread", { type: 0x800 }, { group: 1 });
      // What is refused there leaves a group behind, which must not be this one.
      const early = await codes(client, insert(make.group("kinds.choice", 7, { 1: 1 })));
      expect(early).not.toEqual([0]);
      await client.write([member(1), member(2), group, entry].map(insert));
      expect(await read(make.group("kinds.choice", 1))).toHaveLength(1);
      expect(await codes(client, insert(member(1)))).toEqual([Code.ALREADY_EXISTS]);
      expect(await codes(client, remove(member(1)))).not.toEqual([0]);
      await client.write([entry, group, member(2), member(1)].map(remove));
      expect(await read(make.member("kinds.choice", 0))).toEqual([]);
    });

    it("has counters, meters and registers that are there from the start and can only be modified (points 25, 27; pitfalls 12, 101)", async () => {
      const { client, make, read } = await primary();
      const count = 2n ** 53n + 1n;
      const cell = make.counter("kinds.cells", 2, { packetCount: count });
      expect(await codes(client, modify(cell))).toEqual([0]);
      expect(await codes(client, insert(cell))).toEqual([Code.INVALID_ARGUMENT]);
      const cells = await read(make.counter("kinds.cells"));
      expect(cells).toHaveLength(4);
      const packets = cells.map(({ entity }) =>
        entity?.case === "counterEntry" ? entity.value.data?.packetCount : undefined,
      );
      expect(packets).toEqual([0n, 0n, count, 0n]);
      const rate = { cir: 10n, cburst: 20n, pir: 30n, pburst: 40n };
      expect(await codes(client, modify(make.meter("kinds.rates", 1, rate)))).toEqual([0]);
      const [meter] = await read(make.meter("kinds.rates", 1));
      expect(meter?.entity?.value).toMatchObject({ config: rate });
      const wide = make.register("kinds.sums", 1, 2n ** 127n + 1n);
      expect(await codes(client, modify(wide))).toEqual([either<number>(0, Code.UNIMPLEMENTED)]);
      if (isPi) expect(await codeOf(read(make.register("kinds.sums", 1)))).toBe(Code.UNIMPLEMENTED);
      else expect(await read(make.register("kinds.sums", 1))).toMatchObject([wide]);
    });

    it("has multicast groups and clone sessions with an id and replicas once each (point 26)", async () => {
      const { client, make, read } = await primary();
      const group = make.multicastGroup(1, [
        { port: 1, instance: 1 },
        { port: 1, instance: 2 },
      ]);
      expect(
        await codes(client, insert(group), insert(make.cloneSession(9, [{ port: 2, instance: 1 }]))),
      ).toEqual([0, 0]);
      expect(await codes(client, insert(group))).toEqual([Code.ALREADY_EXISTS]);
      for (const none of [make.multicastGroup(0), make.cloneSession(0)])
        expect(await codes(client, insert(none))).not.toEqual([0]);
      expect(await read(make.multicastGroup(1))).toHaveLength(1);
      expect(await codes(client, remove(make.multicastGroup(1)))).toEqual([0]);
      expect(await codes(client, remove(make.multicastGroup(1)))).toEqual([Code.NOT_FOUND]);
    });

    it("sends digests that it is asked for, and the same again when they are acknowledged (point 28)", async () => {
      const { client, make, submit } = await primary();
      const timeout = 3_600_000_000_000n;
      const config = { maxListSize: 1, maxTimeoutNs: 0n, ackTimeoutNs: timeout };
      await client.write([
        insert(make.digest("kinds.learned", config)),
        insert(make.tableEntry("kinds.rules", { ...RULE }, "kinds.learn", {}, { priority: 1 })),
      ]);
      const digests = client.digests();
      stopAfterTest(() => void digests.return(undefined));
      submit();
      const { value: list } = await digests.next();
      expect(list?.data).toHaveLength(1);
      if (list === undefined) return;
      client.ackDigest(list);
      // The acknowledgement may be overtaken by the next packet: until then it is not sent again.
      let again: unknown;
      void digests.next().then(({ value }) => {
        again = value;
      });
      await expect
        .poll(
          () => {
            submit();
            return again;
          },
          { timeout: 20_000, interval: 200 },
        )
        .toBeDefined();
    });

    it("gives the status of each update in order, and refuses what is atomic or takes it (points 29, 31)", async () => {
      const { client, rule, prefix } = await primary();
      const batch = [
        insert(rule(1, 1)),
        insert(rule(1, 1, { port: "1..2" })),
        remove(prefix("06:00:00:00:00:00/8")),
      ];
      expect(await codes(client, ...batch)).toEqual([0, 0, Code.NOT_FOUND]);
      const atomic = client.write([insert(rule(1, 3)), insert(rule(1, 1))], {
        atomicity: "ROLLBACK_ON_ERROR",
      });
      const outcome = await codeOf(atomic);
      expect(outcome).toBe(either<number>(outcome, Code.UNIMPLEMENTED));
      expect(outcome).not.toBe(0);
      expect(await codes(client, modify(rule(2, 3)))).toEqual([Code.NOT_FOUND]);
    });

    it("gives more entries than fit into 4 MB (points 32, 35; pitfall 92)", async () => {
      const address = await start();
      const client = await join(address);
      await client.arbitrate(5n);
      const count = 18_000;
      const large = pointsProgram(count);
      await client.pushPipeline(large.p4info, large.json);
      const { entities: make } = client;
      const metadata = Buffer.alloc(250, 1);
      const routes = Array.from({ length: count }, (_, host) =>
        insert(
          make.tableEntry(
            "forwarding.route",
            { dst_addr: host + 1 },
            "forwarding.to_port",
            { port: 1, dst_mac: host },
            { metadata },
          ),
        ),
      );
      await client.write(routes);
      let read = 0;
      for await (const _ of client.read([make.allEntries("forwarding.route")])) read++;
      expect(read).toBe(count);
    });

    it("keeps a connection whose client asks for life often, or ends it once and is found again (pitfall 91)", async () => {
      const address = await start();
      let ends = 0;
      const client = await join(address, { keepalive: 1000, onDisconnect: () => ends++ });
      await client.arbitrate(5n);
      await new Promise((resolve) => setTimeout(resolve, 2500));
      expect(ends).toBeLessThanOrEqual(1);
      expect((await join(address)).apiVersion).not.toBe("");
    });
  },
);
