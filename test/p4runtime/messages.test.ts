import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  create,
  decode,
  encode,
  MessageError,
  type MessageType,
  P4Info,
  p4infoFromBinary,
  p4infoFromFile,
  p4infoFromText,
  p4infoToBinary,
  p4infoToText,
  parseText,
  printText,
  toJson,
} from "../../src/p4info/index.ts";
import {
  ForwardingPipelineConfig_Cookie,
  MasterArbitrationUpdate,
  ReadRequest,
  TableAction,
  TableEntry,
  Uint128,
  Update,
  WriteRequest,
} from "../../src/p4runtime/proto/generated/p4runtime.ts";

const PROTO_DIR = join(import.meta.dirname, "../../src/p4runtime/proto");
const hasProtoc = spawnSync("protoc", ["--version"]).status === 0;
if (!hasProtoc)
  console.log("skipped: protoc is not on PATH, so the comparison with its text form does not run");

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** Any message of the type, to a small depth; every field may be set. */
function anyMessage(type: MessageType<object>, depth: number): fc.Arbitrary<object> {
  const oneofs = new Map<string, fc.Arbitrary<unknown>[]>();
  const plain: Record<string, fc.Arbitrary<unknown>> = {};
  for (const field of type.fields) {
    const single = (): fc.Arbitrary<unknown> | undefined => {
      const kind = field.type;
      if (kind.kind === "message") return depth > 0 ? anyMessage(kind.message, depth - 1) : undefined;
      if (kind.kind === "enum") return fc.constantFrom(...kind.enum.names());
      switch (kind.scalar) {
        case "int32":
          return fc.integer();
        case "uint32":
          return fc.nat(0xffff_ffff);
        case "int64":
          return fc.bigInt(-(1n << 63n), (1n << 63n) - 1n);
        case "uint64":
          return fc.bigInt(0n, (1n << 64n) - 1n);
        case "bool":
          return fc.boolean();
        case "string":
          return fc.string({ unit: "binary" });
        case "bytes":
          return fc.uint8Array({ maxLength: 6 });
      }
    };
    const value = single();
    if (value === undefined) continue;
    if (field.cardinality === "repeated") plain[field.name] = fc.array(value, { maxLength: 2 });
    else if (field.cardinality === "map")
      plain[field.name] = fc.dictionary(fc.string({ minLength: 1, maxLength: 4 }), value, { maxKeys: 2 });
    else if (field.oneof === undefined) plain[field.name] = value;
    else {
      const members = oneofs.get(field.oneof) ?? [];
      members.push(fc.record({ case: fc.constant(field.name), value }));
      oneofs.set(field.oneof, members);
    }
  }
  for (const [name, members] of oneofs) plain[name] = fc.oneof(...members);
  return fc.record(plain, { requiredKeys: [] });
}

describe("messages", () => {
  it("keep 64-bit integers exact (pitfall 101)", () => {
    for (const value of [0n, 1n, 2n ** 53n + 1n, 2n ** 63n, 9223372036854775809n, 2n ** 64n - 1n]) {
      expect(decode(Uint128, encode(Uint128, { high: value, low: value }))).toEqual({
        high: value,
        low: value,
      });
      expect(
        decode(ForwardingPipelineConfig_Cookie, encode(ForwardingPipelineConfig_Cookie, { cookie: value }))
          .cookie,
      ).toBe(value);
      expect(decode(WriteRequest, encode(WriteRequest, { deviceId: value })).deviceId).toBe(value);
    }
    for (const value of [-1n, -(2n ** 63n), 2n ** 63n - 1n]) {
      expect(decode(TableEntry, encode(TableEntry, { idleTimeoutNs: value })).idleTimeoutNs).toBe(value);
    }
  });

  it("keep an election id of {0, 0} on the wire, as tag and length 0 (pitfall 20)", () => {
    const set = encode(MasterArbitrationUpdate, { deviceId: 1n, electionId: {} });
    expect(hex(set)).toBe("08011a00");
    expect(decode(MasterArbitrationUpdate, set).electionId).toEqual({ high: 0n, low: 0n });
    const unset = encode(MasterArbitrationUpdate, { deviceId: 1n });
    expect(hex(unset)).toBe("0801");
    expect(decode(MasterArbitrationUpdate, unset).electionId).toBeUndefined();
  });

  it("keep a oneof member that is zero and a sub-message that is empty (pitfall 104)", () => {
    const member = encode(TableAction, { type: { case: "actionProfileMemberId", value: 0 } });
    expect(hex(member)).toBe("1000");
    expect(decode(TableAction, member).type).toEqual({ case: "actionProfileMemberId", value: 0 });
    const entry = decode(TableEntry, encode(TableEntry, { counterData: {}, action: {} }));
    expect(entry.counterData).toEqual({ byteCount: 0n, packetCount: 0n });
    expect(entry.action).toEqual({});
    expect(entry.meterConfig).toBeUndefined();
    const one = encode(ReadRequest, {
      entities: [{ entity: { case: "registerEntry", value: { registerId: 1, index: {} } } }],
    });
    const all = encode(ReadRequest, {
      entities: [{ entity: { case: "registerEntry", value: { registerId: 1 } } }],
    });
    expect(decode(ReadRequest, one).entities[0]?.entity?.value).toMatchObject({ index: { index: 0n } });
    expect(decode(ReadRequest, all).entities[0]?.entity?.value).not.toHaveProperty("index");
  });

  it("give an enum value that is not known as its number, and take it back", () => {
    const bytes = Uint8Array.from([0x08, 0x2a]);
    const update = decode(Update, bytes);
    expect(update.type).toBe(42);
    expect(encode(Update, update)).toEqual(bytes);
    expect(decode(Update, encode(Update, { type: "DELETE" })).type).toBe("DELETE");
  });

  it("copy what they read, whatever the buffer's offset (pitfall 103)", () => {
    const encoded = encode(TableEntry, { metadata: Uint8Array.of(1, 2, 3) });
    const shared = Buffer.concat([Buffer.from([9, 9, 9]), encoded]);
    const fromSlice = decode(TableEntry, shared.subarray(3));
    shared.fill(0);
    expect(fromSlice.metadata).toEqual(Uint8Array.of(1, 2, 3));
  });

  it("refuse a value that does not fit, with the name of the field", () => {
    expect(() => encode(TableEntry, { tableId: -1 })).toThrow(
      /p4.v1.TableEntry.table_id: expected an integer from 0/,
    );
    expect(() => encode(TableEntry, { tableId: 2 ** 32 })).toThrow(MessageError);
    expect(() => encode(TableEntry, { priority: 1.5 })).toThrow(/priority/);
    expect(() => encode(Uint128, { high: 2n ** 64n })).toThrow(/p4.v1.Uint128.high/);
    expect(() => encode(Uint128, { low: -1n })).toThrow(/p4.v1.Uint128.low/);
    // @ts-expect-error a number is no bigint
    expect(() => encode(Uint128, { low: 1 })).toThrow(/bigint/);
    // @ts-expect-error a text is no byte string
    expect(() => encode(TableEntry, { metadata: "abc" })).toThrow(/Uint8Array/);
  });

  it("refuse bytes that are no message, and never crash on random ones", () => {
    expect(() => decode(WriteRequest, Uint8Array.from([0x0a]))).toThrow(MessageError);
    expect(() => decode(WriteRequest, Uint8Array.from([0x22, 0x7f, 0x01]))).toThrow(/p4.v1.WriteRequest/);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          decode(WriteRequest, bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(MessageError);
        }
      }),
    );
  });

  it("pass over unknown fields, and known numbers with another wire type", () => {
    // Field 999 as a varint, then table_id as bytes, then priority.
    const bytes = Uint8Array.from([0xb8, 0x3e, 0x05, 0x0a, 0x01, 0x41, 0x20, 0x07]);
    expect(decode(TableEntry, bytes)).toEqual(create(TableEntry, { priority: 7 }));
  });

  it("come back unchanged from the binary form, whatever is set", () => {
    for (const type of [WriteRequest, P4Info]) {
      fc.assert(
        fc.property(anyMessage(type, 4), (message) => {
          const complete = create<object>(type, message);
          expect(decode<object>(type, encode<object>(type, message))).toEqual(complete);
          expect(encode<object>(type, complete)).toEqual(encode<object>(type, message));
        }),
        { numRuns: 60 },
      );
    }
  });

  it("come back unchanged from the text form, whatever is set", () => {
    for (const type of [WriteRequest, P4Info]) {
      fc.assert(
        fc.property(anyMessage(type, 4), (message) => {
          const text = printText<object>(type, message);
          expect(parseText<object>(type, text)).toEqual(create<object>(type, message));
        }),
        { numRuns: 60 },
      );
    }
  });

  it("have a JSON form, in spite of bigints (pitfall 101)", () => {
    const write = create(WriteRequest, {
      deviceId: 2n ** 64n - 1n,
      electionId: {},
      updates: [
        {
          type: "INSERT",
          entity: {
            entity: { case: "actionProfileGroup", value: { groupId: 1, members: [{ memberId: 0 }] } },
          },
        },
        {
          type: 42,
          entity: { entity: { case: "tableEntry", value: { metadata: Uint8Array.of(255), isConst: true } } },
        },
      ],
    });
    expect(JSON.parse(JSON.stringify(toJson(WriteRequest, write)))).toEqual({
      deviceId: "18446744073709551615",
      electionId: {},
      updates: [
        { type: "INSERT", entity: { actionProfileGroup: { groupId: 1, members: [{}] } } },
        { type: 42, entity: { tableEntry: { metadata: "/w==", isConst: true } } },
      ],
    });
    for (const type of [WriteRequest, P4Info])
      fc.assert(
        fc.property(anyMessage(type, 3), (message) =>
          JSON.stringify(toJson<object>(type, message)).startsWith("{"),
        ),
        { numRuns: 30 },
      );
  });

  it.skipIf(!hasProtoc)("are described as the .proto files say", () => {
    const root = mkdtempSync(join(tmpdir(), "p4runtime-proto-"));
    execFileSync("sh", [join(PROTO_DIR, "generate.sh"), root]);
    const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".ts"),
    );
    expect(files).toHaveLength(8);
    for (const file of files)
      expect(readFileSync(join(root, file), "utf8")).toBe(
        readFileSync(join(import.meta.dirname, "../../src", file), "utf8"),
      );
    rmSync(root, { recursive: true });
  });

  it.skipIf(!hasProtoc)("have the text form that protoc prints, and are read by it", () => {
    const protoc = (mode: "--decode" | "--encode", type: string, input: Uint8Array | string): Buffer =>
      execFileSync(
        "protoc",
        ["-I", PROTO_DIR, `${mode}=${type}`, "p4/v1/p4runtime.proto", "p4/config/v1/p4info.proto"],
        { input, stdio: ["pipe", "pipe", "ignore"] },
      );
    for (const type of [WriteRequest, P4Info]) {
      for (const message of fc.sample(anyMessage(type, 4), { numRuns: 8, seed: 20260101 })) {
        const bytes = encode<object>(type, message);
        const text = printText<object>(type, message);
        expect(text).toBe(protoc("--decode", type.typeName, bytes).toString("utf8"));
        const back = protoc("--encode", type.typeName, text);
        expect(decode<object>(type, back)).toEqual(create<object>(type, message));
      }
    }
  });
});

describe("P4Info files", () => {
  const info = create(P4Info, {
    pkgInfo: { name: "forward", arch: "v1model" },
    tables: [
      {
        preamble: { id: 0x02000001, name: "ingress.ipv4_lpm", alias: "ipv4_lpm" },
        matchFields: [
          { id: 1, name: "hdr.ipv4.dst", bitwidth: 32, match: { case: "matchType", value: "LPM" } },
        ],
        actionRefs: [{ id: 0x01000001 }, { id: 0x01000002, scope: "DEFAULT_ONLY" }],
        directResourceIds: [7, 8],
        size: 1024n,
      },
    ],
    typeInfo: { headers: { ethernet_t: {}, cpu_t: { annotations: ['@x("ä\n")'] } } },
  });

  it("are read in either form", () => {
    expect(p4infoFromFile(p4infoToBinary(info), "a.bin")).toEqual(info);
    expect(p4infoFromFile(new TextEncoder().encode(p4infoToText(info)), "a.txtpb")).toEqual(info);
    expect(p4infoFromBinary(p4infoToBinary(info))).toEqual(info);
  });

  it("are written as text the same way each time", () => {
    expect(p4infoToText(info)).toMatchInlineSnapshot(`
      "# proto-file: p4/config/v1/p4info.proto
      # proto-message: p4.config.v1.P4Info

      pkg_info {
        name: "forward"
        arch: "v1model"
      }
      tables {
        preamble {
          id: 33554433
          name: "ingress.ipv4_lpm"
          alias: "ipv4_lpm"
        }
        match_fields {
          id: 1
          name: "hdr.ipv4.dst"
          bitwidth: 32
          match_type: LPM
        }
        action_refs {
          id: 16777217
        }
        action_refs {
          id: 16777218
          scope: DEFAULT_ONLY
        }
        direct_resource_ids: 7
        direct_resource_ids: 8
        size: 1024
      }
      type_info {
        headers {
          key: "cpu_t"
          value {
            annotations: "@x(\\"\\303\\244\\n\\")"
          }
        }
        headers {
          key: "ethernet_t"
          value {
          }
        }
      }
      "
    `);
  });

  it("may use every form of the text format", () => {
    const text = `
      tables: < preamble: { id: 0x2000001, name: "a" '.b' }; direct_resource_ids: [1, 0x2], direct_resource_ids: 03
        match_fields { id: 1 match_type: 2 } # exact
        size: -5 is_const_table: t > `;
    const [table] = p4infoFromText(text).tables;
    expect(table).toMatchObject({
      preamble: { id: 0x2000001, name: "a.b" },
      directResourceIds: [1, 2, 3],
      size: -5n,
      isConstTable: true,
    });
    expect(table?.matchFields[0]?.match).toEqual({ case: "matchType", value: "EXACT" });
  });

  it("say file, line and column of a fault, and what may have been meant", () => {
    const cases: readonly [text: string, message: string][] = [
      [
        "tables {\n  premble { }\n}",
        'x.txtpb:2:3: p4.config.v1.Table has no field premble (did you mean "preamble"?)',
      ],
      ["tables {", 'x.txtpb:1:9: the text ends inside p4.config.v1.Table: "}" is missing'],
      ["tables { size: abc }", 'x.txtpb:1:16: expected an integer for size, found "abc"'],
      ["actions { preamble { id: 4294967296 } }", "x.txtpb:1:26: 4294967296 is too large for id"],
      ['pkg_info { name: "abc }', "x.txtpb:1:18: a string has no closing quote"],
      ["tables { match_fields { match_type: LMP } }", 'did you mean "LPM"?'],
      [
        "tables { match_fields { match_type: LPM other_match_type: 'a' } }",
        "its oneof match has a value already",
      ],
      ["?", "unexpected character"],
      ["tables: 5", 'expected "{" after tables, found "5"'],
    ];
    for (const [text, message] of cases) expect(() => p4infoFromText(text, "x.txtpb"), text).toThrow(message);
  });
});
