import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { generate } from "../../src/backends/index.ts";
import type { Program } from "../../src/ir/index.ts";
import { bit, int, widthOf } from "../../src/ir/index.ts";
import { Switch } from "../../src/switch/switch.ts";
import { anyExpression, operands } from "./arbitrary.ts";
import { answer, calculator, pack, question } from "./calculator.ts";
import { Dice } from "./dice.ts";
import { externs } from "./externsprogram.ts";
import {
  binary,
  constant,
  control,
  extract,
  field,
  memory,
  mux,
  program,
  register,
  update,
} from "./nodes.ts";
import { forwarding, zoo } from "./programs.ts";
import { fill, packetsFor, transcript } from "./traffic.ts";

function load(p: Program, cpuPort?: number): Switch {
  const json = generate(p).get(`${p.name}.json`);
  if (typeof json !== "string") throw new Error("no JSON was generated");
  return new Switch(json, cpuPort === undefined ? {} : { cpuPort });
}

const hex = (b: Uint8Array | undefined): string => Buffer.from(b ?? []).toString("hex");

/** A frame of Ethernet and IPv4; the checksum (RFC 1071) is right unless one is given. */
function ipv4Frame(to: string, ttl: number, checksum?: number): Uint8Array {
  const header = Buffer.from("450000140001000000110000c0a80101" + "00000000", "hex");
  header[8] = ttl;
  Buffer.from(to.split(".").map(Number)).copy(header, 16);
  header.writeUInt16BE(checksum ?? internetChecksum(header), 10);
  return Uint8Array.from([...Buffer.from("0200000000010200000000020800", "hex"), ...header]);
}

function internetChecksum(bytes: Buffer): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += bytes.readUInt16BE(i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

describe("the JSON of IPv4 forwarding on the embedded switch", () => {
  const routed = (): Switch => {
    const s = load(forwarding());
    s.table("forwarding.routes").insert([{ kind: "lpm", value: 0x0a000000n, prefixLength: 8 }], {
      kind: "action",
      action: "forwarding.route",
      parameters: [3n, 0x020000000099n],
    });
    s.table("forwarding.routes").insert([{ kind: "lpm", value: 0x0a010000n, prefixLength: 16 }], {
      kind: "action",
      action: "forwarding.route",
      parameters: [0n, 0x020000000077n],
    });
    return s;
  };

  it("sends a packet to the longest prefix, with TTL, checksum and addresses rewritten", () => {
    const [out] = routed().inject(1, ipv4Frame("10.1.2.3", 64));
    expect(out?.port).toBe(0);
    const expected = ipv4Frame("10.1.2.3", 63);
    expect(hex(out?.data.subarray(14))).toBe(hex(expected.subarray(14)));
    expect(hex(out?.data.subarray(0, 12))).toBe("020000000077" + "020000000001");
  });

  it("takes the shorter prefix where the longer does not match, and drops what no route takes", () => {
    const s = routed();
    expect(s.inject(1, ipv4Frame("10.2.2.3", 64))[0]?.port).toBe(3);
    expect(s.inject(1, ipv4Frame("11.2.2.3", 64))).toEqual([]);
  });

  it("drops expired packets, wrong checksums and what is not IPv4", () => {
    const s = routed();
    expect(s.inject(1, ipv4Frame("10.1.2.3", 1))).toEqual([]);
    expect(s.inject(1, ipv4Frame("10.1.2.3", 64, 0x1234))).toEqual([]);
    expect(
      s.inject(
        1,
        ipv4Frame("10.1.2.3", 64).map((b, i) => (i === 12 ? 0x86 : b)),
      ),
    ).toEqual([]);
  });
});

describe("the JSON of registers on the embedded switch", () => {
  const op = (kind: number, slot: number, flag: number, signed: number, a: bigint, b: bigint): Uint8Array =>
    pack([
      [BigInt(kind), 8],
      [BigInt(slot), 8],
      [BigInt(flag), 1],
      [0n, 7],
      [BigInt(signed), 16],
      [a, 32],
      [b, 32],
      [0n, 96 - 32],
      [0n, 128],
    ]);

  it("adds up in a cell, and hands out the value after the update", () => {
    const s = load(zoo(), 255);
    for (let i = 0; i < 3; i++) s.inject(1, op(0x20, 0, 0, 5, 7n, 1n));
    expect(s.register("memory.total").read(0)).toBe(21n);
  });

  it("keeps the greatest signed value, which an unsigned comparison would miss", () => {
    const x = field("h", "x", int(16));
    const old = memory("old", int(16));
    const s = load(
      program("greatest", {
        headerTypes: [{ name: "h", fields: [{ name: "x", type: int(16) }] }],
        headers: [{ name: "h", headerType: "h" }],
        parser: [{ name: "start", steps: [extract("h")], transition: { kind: "goto", next: "accept" } }],
        controls: [
          control("c", {
            registers: [register("c.level", int(16), 1)],
            apply: [
              update(
                "c.level",
                constant(0, bit(32)),
                mux(binary(old, "<", x), x, old),
                memory("next", int(16)),
                x,
              ),
            ],
          }),
        ],
        ingress: [{ kind: "applyControl", control: "c" }],
        deparser: ["h"],
      }),
    );
    const send = (v: bigint): string => hex(s.inject(1, pack([[v, 16]]))[0]?.data);
    s.register("c.level").write(0, BigInt.asUintN(16, -9n));
    expect(send(-20n)).toBe("fff7");
    expect(send(-5n)).toBe("fffb");
    expect(send(3n)).toBe("0003");
    expect(send(-1n)).toBe("0003");
    expect(s.register("c.level").read(0)).toBe(3n);
  });
});

describe("the JSON of any expression on the embedded switch", () => {
  it("computes what P4 says", () => {
    const inputs = fc.tuple(
      ...operands.map((o) => {
        const max = (1n << BigInt(widthOf(o.type))) - 1n;
        return fc.oneof(fc.bigInt({ min: 0n, max }), fc.constantFrom(0n, 1n, max, (max + 1n) >> 1n));
      }),
    );
    fc.assert(
      fc.property(
        fc.array(anyExpression(4), { minLength: 1, maxLength: 4 }),
        fc.array(inputs, { minLength: 1, maxLength: 8 }),
        (expressions, questions) => {
          const s = load(calculator("random", expressions));
          for (const values of questions)
            expect(hex(s.inject(1, question(values, expressions))[0]?.data)).toBe(
              hex(answer(values, expressions)),
            );
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("a JSON with copies of actions, as p4c gives one to each table", () => {
  interface Document {
    readonly actions: { readonly name: string; readonly id: number }[];
    readonly pipelines: readonly {
      readonly tables: readonly { readonly name: string; action_ids: number[] }[];
    }[];
  }

  it("runs the member that two tables share, whichever table's copy it holds", () => {
    const p = externs();
    const json = generate(p).get("externs.json");
    if (typeof json !== "string") throw new Error("no JSON was generated");
    const copied: Document = JSON.parse(json);
    const table = copied.pipelines[0]?.tables.find((t) => t.name === "balance.fallback");
    if (table === undefined) throw new Error("no table");
    table.action_ids = table.action_ids.map((id) => {
      const original = copied.actions.find((a) => a.id === id);
      if (original === undefined) throw new Error("no action");
      return copied.actions.push({ ...original, id: copied.actions.length }) - 1;
    });
    const arrivals = packetsFor(p, 300, new Dice(3));
    const seen = [json, JSON.stringify(copied)].map((text) => {
      const s = new Switch(text);
      fill(s, p, arrivals, 5);
      return transcript(s, arrivals);
    });
    expect(seen[1]).toEqual(seen[0]);
  });
});
