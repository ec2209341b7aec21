import { describe, expect, it } from "vitest";
import { create, P4Info } from "../../src/p4info/index.ts";
import { Code } from "../../src/p4runtime/code.ts";
import { cookieOf } from "../../src/p4runtime/cookie.ts";
import { insert, modify } from "../../src/p4runtime/entities.ts";
import { SetForwardingPipelineConfigRequest } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { Pipeline } from "../../src/switch/p4runtime/pipeline.ts";
import { bytes, connect, PROGRAM_JSON, startPrimary, startServer } from "./bench.ts";
import { MemoryTarget } from "./memory-target.ts";
import { PROGRAM } from "./program.ts";

const text = (value: string) => new TextEncoder().encode(value);

function config(program: string, cookie = 0n) {
  return create(SetForwardingPipelineConfigRequest, {
    config: { p4info: PROGRAM, p4DeviceConfig: text(program), cookie: { cookie } },
  }).config;
}

/** The canonical code of what is thrown, "OK" when nothing is. */
function codeOf(action: () => void): number | "OK" {
  try {
    action();
    return "OK";
  } catch (error) {
    return error instanceof Error && "code" in error && typeof error.code === "number" ? error.code : -1;
  }
}

describe("the pipeline", () => {
  it("goes through verify, save and commit as the specification says (pitfall 26)", () => {
    const target = new MemoryTarget();
    const pipeline = new Pipeline(target);
    const set = (...args: Parameters<Pipeline["set"]>) => codeOf(() => pipeline.set(...args));
    expect(set("COMMIT", undefined)).toBe(Code.NOT_FOUND);
    expect(set("VERIFY", config("good"))).toBe("OK");
    expect(pipeline.running).toBeUndefined();
    expect(set("VERIFY", config("bad"))).toBe(Code.INVALID_ARGUMENT);
    expect(set("VERIFY_AND_COMMIT", config("old"))).toBe("OK");
    expect(set("VERIFY_AND_SAVE", config("A"))).toBe("OK");
    expect(set("VERIFY_AND_SAVE", config("B"))).toBe("OK");
    expect(target.running?.name).toBe("old");
    expect(set("COMMIT", config("B"))).toBe(Code.INVALID_ARGUMENT);
    expect(set("COMMIT", undefined)).toBe("OK");
    expect(target.running?.name).toBe("B");
    expect(set("COMMIT", undefined)).toBe(Code.NOT_FOUND);
  });

  it("refuses configs and actions that are not there or not right, and changes nothing", () => {
    const target = new MemoryTarget();
    const pipeline = new Pipeline(target);
    pipeline.set("VERIFY_AND_COMMIT", config("old"));
    const set = (...args: Parameters<Pipeline["set"]>) => codeOf(() => pipeline.set(...args));
    for (const action of [
      "VERIFY",
      "VERIFY_AND_SAVE",
      "VERIFY_AND_COMMIT",
      "RECONCILE_AND_COMMIT",
    ] as const) {
      expect(set(action, undefined)).toBe(Code.INVALID_ARGUMENT);
      expect(set(action, config("bad"))).toBe(Code.INVALID_ARGUMENT);
      expect(set(action, config(""))).toBe(Code.INVALID_ARGUMENT);
      expect(set(action, { p4DeviceConfig: text("x"), p4info: undefined })).toBe(Code.INVALID_ARGUMENT);
    }
    expect(set("UNSPECIFIED", config("x"))).toBe(Code.INVALID_ARGUMENT);
    expect(set(99, config("x"))).toBe(Code.INVALID_ARGUMENT);
    expect(target.running?.name).toBe("old");
  });

  it("lets writes after a save go to the saved program, which runs with them from the commit on", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    const entry = (host: number) => insert(entities.tableEntry("ipv4_lpm", { dst: host }, "drop"));
    await client.write([entry(1)]);
    await client.pushPipeline(PROGRAM, text("next"), { action: "VERIFY_AND_SAVE" });
    await client.write([entry(1), entry(2)]);
    expect(target.running?.name).toBe("program");
    expect(target.running?.entries("ingress.ipv4_lpm").length).toBe(1);
    await client.commitPipeline();
    expect(target.running?.name).toBe("next");
    expect(target.running?.entries("ingress.ipv4_lpm").length).toBe(2);
  });

  it("is read in the parts that are asked for, and its cookie exactly (pitfall 27)", async () => {
    const { client } = await startPrimary();
    const cookie = 9223372036854775809n;
    await client.pushPipeline(PROGRAM, PROGRAM_JSON, { cookie });
    expect(await client.getCookie()).toBe(cookie);
    expect(await client.getPipeline("COOKIE_ONLY")).toEqual({
      p4DeviceConfig: bytes(""),
      cookie: { cookie },
    });
    const info = await client.getPipeline("P4INFO_AND_COOKIE");
    expect(info).toEqual({ p4info: PROGRAM, p4DeviceConfig: bytes(""), cookie: { cookie } });
    const json = await client.getPipeline("DEVICE_CONFIG_AND_COOKIE");
    expect(json).toEqual({ p4DeviceConfig: PROGRAM_JSON, cookie: { cookie } });
    expect(await client.getPipeline()).toEqual({
      p4info: PROGRAM,
      p4DeviceConfig: PROGRAM_JSON,
      cookie: { cookie },
    });
  });

  it("has a cookie that tells programs apart", async () => {
    const { client } = await startPrimary();
    expect(await client.getCookie()).toBe(cookieOf(PROGRAM, PROGRAM_JSON));
    expect(cookieOf(PROGRAM, text("a"))).not.toBe(cookieOf(PROGRAM, text("b")));
    expect(cookieOf(create(P4Info, {}), text("a"))).not.toBe(cookieOf(PROGRAM, text("a")));
  });

  it("is empty before the first push; then nothing can be read or written (pitfall 27)", async () => {
    const { server } = await startServer();
    const client = await connect(server.address);
    await client.arbitrate(1n);
    expect(await client.getPipeline()).toBeUndefined();
    expect(await client.getCookie()).toBeUndefined();
    await client.useProgram(PROGRAM);
    const { entities } = client;
    await expect(client.readAll([entities.allEntries()])).rejects.toMatchObject({
      code: Code.FAILED_PRECONDITION,
    });
    await expect(client.write([insert(entities.tableEntry("ipv4_lpm", {}, "drop"))])).rejects.toMatchObject({
      code: Code.FAILED_PRECONDITION,
    });
  });

  it("may be there from the start, without a cookie", async () => {
    const { server, target } = await startServer({
      program: { p4info: PROGRAM, deviceConfig: PROGRAM_JSON },
    });
    expect(target.running?.name).toBe("program");
    const client = await connect(server.address);
    expect(await client.getPipeline()).toEqual({ p4info: PROGRAM, p4DeviceConfig: PROGRAM_JSON });
    expect(await client.getCookie()).toBeUndefined();
    await client.useProgram();
    expect(await client.readAll([client.entities.allEntries("fixed")])).toHaveLength(2);
    await expect(startServer({ program: { p4info: PROGRAM, deviceConfig: text("bad") } })).rejects.toThrow(
      /is bad/,
    );
  });

  it("is refused without a device config before anything is sent", async () => {
    const { client } = await startPrimary();
    await expect(client.pushPipeline(PROGRAM, bytes(""))).rejects.toThrow(/device config is empty/);
  });
});

describe("reconciling", () => {
  it("keeps all that clients wrote when the tables are the same", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    const config = { cir: 1n, cburst: 2n, pir: 3n, pburst: 4n };
    await client.write([insert(entities.member("selector", 1, "drop"))]);
    await client.write([insert(entities.group("selector", 1, { 1: 1 }, 4))]);
    const oneShot = [{ action: "drop" }];
    await client.write([
      ...[1, 2, 3].map((host) =>
        insert(entities.tableEntry("ipv4_lpm", { dst: host }, "drop", {}, { metadata: bytes("0a") })),
      ),
      insert(
        entities.tableEntry(
          "acl",
          {},
          "drop",
          {},
          { priority: 3, counterData: { packetCount: 9n }, meterConfig: config },
        ),
      ),
      insert(entities.tableEntry("ecmp", { group: 1 }, { group: 1 })),
      insert(entities.tableEntry("ecmp", { group: 2 }, { oneShot })),
      modify(entities.defaultEntry("ipv4_lpm", "drop")),
      modify(entities.register("sums", 3, 77)),
      modify(entities.counter("packets", 1, { packetCount: 5n })),
      modify(entities.meter("meter", 0, config)),
      insert(entities.multicastGroup(1, [{ port: 1 }])),
      insert(entities.cloneSession(1, [{ port: 1 }])),
    ]);
    const everything = [
      entities.allEntries(),
      entities.defaultEntry("ipv4_lpm"),
      entities.member("selector", 0),
      entities.group("selector", 0),
      entities.directCounter("acl"),
      entities.directMeter("acl"),
      entities.register("sums"),
      entities.counter("packets"),
      entities.meter("meter"),
      entities.multicastGroup(0),
      entities.cloneSession(0),
    ];
    const before = await client.readAll(everything);
    await client.pushPipeline(PROGRAM, text("next"), { action: "RECONCILE_AND_COMMIT" });
    expect(target.running?.name).toBe("next");
    expect(await client.readAll(everything)).toEqual(before);
  });

  it("is refused when a table with entries has changed, and the old program goes on (pitfall 28)", async () => {
    const { client, target } = await startPrimary();
    const { entities } = client;
    await client.write(
      [1, 2, 3, 4, 5].map((host) => insert(entities.tableEntry("ipv4_lpm", { dst: host }, "drop"))),
    );
    const changed = create(P4Info, {
      ...PROGRAM,
      tables: PROGRAM.tables.map((table) =>
        table.preamble?.alias === "ipv4_lpm" ? { ...table, actionRefs: table.actionRefs.slice(1) } : table,
      ),
    });
    await expect(
      client.pushPipeline(changed, text("next"), { action: "RECONCILE_AND_COMMIT" }),
    ).rejects.toMatchObject({
      code: Code.INVALID_ARGUMENT,
      message: expect.stringContaining("ingress.ipv4_lpm"),
    });
    expect(target.running?.name).toBe("program");
    expect(await client.readAll([entities.allEntries("ipv4_lpm")])).toHaveLength(5);
    const smaller = create(P4Info, {
      ...PROGRAM,
      tables: PROGRAM.tables.map((table) =>
        table.preamble?.alias === "ipv4_lpm" ? { ...table, size: 4n } : table,
      ),
    });
    await expect(
      client.pushPipeline(smaller, text("next"), { action: "RECONCILE_AND_COMMIT" }),
    ).rejects.toThrow(/cannot be kept: .*full/);
  });

  it("takes a changed table that has no entries", async () => {
    const { client, target } = await startPrimary();
    await client.write([insert(client.entities.tableEntry("ipv4_lpm", { dst: 1 }, "drop"))]);
    const without = create(P4Info, {
      ...PROGRAM,
      tables: PROGRAM.tables.filter((table) => table.preamble?.alias !== "mac"),
    });
    await client.pushPipeline(without, text("next"), { action: "RECONCILE_AND_COMMIT" });
    expect(target.running?.name).toBe("next");
    expect(target.running?.entries("ingress.ipv4_lpm").length).toBe(1);
  });
});
