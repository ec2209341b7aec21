import { describe, expect, it } from "vitest";
import { colours, Meter, Switch, SwitchRuntimeError } from "../../src/switch/index.ts";
import {
  assign,
  bytes,
  call,
  extract,
  type FieldSpec,
  field,
  hex,
  type Json,
  named,
  op,
  program,
  sm,
  text,
} from "./fixtures/builder.ts";

function machine(
  fields: readonly FieldSpec[],
  body: readonly Json[],
  extra: Readonly<Record<string, Json>>,
): Switch {
  return new Switch(
    program({
      types: { h_t: fields },
      headers: { h: "h_t" },
      parser: { start: { ops: [extract("h")] } },
      ingressBody: [assign(sm("egress_spec"), hex(0)), ...body],
      extra,
    }),
  );
}

const run = (sw: Switch, input: string) => text(sw.inject(1, bytes(input))[0]?.data);
const codeOf = (action: () => void): string => {
  try {
    action();
  } catch (error) {
    if (error instanceof SwitchRuntimeError) return error.code;
    throw error;
  }
  return "OK";
};

describe("registers", () => {
  const register = (width: number) => ({ register_arrays: [{ name: "r", id: 0, size: 4, bitwidth: width }] });
  const array = named("register_array", "r");
  const fields: readonly FieldSpec[] = [
    ["index", 32],
    ["value", 32],
  ];

  it("out of range: a read leaves its target, a write is ignored, the packet goes on", () => {
    const read = machine(
      fields,
      [call("register_read", field("h.value"), array, field("h.index"))],
      register(32),
    );
    read.register("r").write(3, 0x33n);
    expect(run(read, "00000003000000aa")).toBe("0000000300000033");
    expect(run(read, "00000004000000aa")).toBe("00000004000000aa");
    expect(read.faults.registerIndex).toBe(1);
    const write = machine(
      fields,
      [call("register_write", array, field("h.index"), field("h.value"))],
      register(32),
    );
    expect(run(write, "ffffffff00000001")).toBe("ffffffff00000001");
    expect([0, 1, 2, 3].map((index) => write.register("r").read(index))).toEqual([0n, 0n, 0n, 0n]);
    expect(run(write, "00000001ffffffff")).toBe("00000001ffffffff");
    expect(write.register("r").read(1)).toBe(0xffffffffn);
  });

  it("out of range for the control plane are OUT_OF_RANGE, negative INVALID_ARGUMENT", () => {
    const sw = machine(fields, [], register(32));
    expect(codeOf(() => sw.register("r").read(4))).toBe("OUT_OF_RANGE");
    expect(codeOf(() => sw.register("r").read(-1))).toBe("INVALID_ARGUMENT");
    expect(codeOf(() => sw.register("r").write(0, 1n << 32n))).toBe("INVALID_ARGUMENT");
    expect(codeOf(() => sw.register("none"))).toBe("NOT_FOUND");
  });

  it("keep their width: 8, 48 and 128 bits", () => {
    for (const width of [8, 48, 128]) {
      const sw = machine(
        [
          ["v", width],
          ["index", 8],
        ],
        [
          call("register_write", array, field("h.index"), op("+", field("h.v"), hex(1))),
          call("register_read", field("h.v"), array, field("h.index")),
        ],
        register(width),
      );
      const ones = "f".repeat(width / 4);
      expect(run(sw, `${ones}02`)).toBe(`${"0".repeat(width / 4)}02`);
      expect(run(sw, `${"0".repeat(width / 4)}03`)).toBe(`${"0".repeat(width / 4 - 1)}103`);
      expect(sw.register("r").read(3)).toBe(1n);
      sw.register("r").write(0, (1n << BigInt(width)) - 1n);
      expect(sw.register("r").read(0)).toBe((1n << BigInt(width)) - 1n);
    }
  });
});

describe("counters", () => {
  it("count packets and bytes, and wrap at 2^64", () => {
    const sw = machine([["i", 8]], [call("count", named("counter_array", "c"), field("h.i"))], {
      counter_arrays: [{ name: "c", id: 0, size: 2, is_direct: false }],
    });
    run(sw, "01aabb");
    run(sw, "01");
    run(sw, "02");
    expect(sw.counter("c").read(1)).toEqual({ packets: 2n, bytes: 4n });
    expect(sw.faults.counterIndex).toBe(1);
    sw.counter("c").write(1, { packets: (1n << 64n) - 1n, bytes: (1n << 53n) + 1n });
    run(sw, "01");
    expect(sw.counter("c").read(1)).toEqual({ packets: 0n, bytes: (1n << 53n) + 2n });
    expect(codeOf(() => sw.counter("c").read(2))).toBe("OUT_OF_RANGE");
  });
});

describe("meters", () => {
  it("colour by two rates: green, yellow when the committed tokens are gone, red when the peak's are", () => {
    const meter = new Meter("packets");
    expect(meter.execute(100, 0)).toBe(colours.green);
    meter.configure({ committedRate: 1n, committedBurst: 1n, peakRate: 2n, peakBurst: 2n }, 0);
    expect([0, 0, 0].map((now) => meter.execute(100, now))).toEqual([
      colours.green,
      colours.yellow,
      colours.red,
    ]);
    expect(meter.execute(100, 500_000)).toBe(colours.yellow);
    expect(meter.execute(100, 1_000_000)).toBe(colours.green);
    meter.configure(undefined, 1_000_000);
    expect(meter.execute(100, 1_000_000)).toBe(colours.green);
  });

  it("act on packets by index", () => {
    const sw = machine(
      [["i", 8]],
      [call("execute_meter", named("meter_array", "m"), field("h.i"), field("h.i"))],
      { meter_arrays: [{ name: "m", id: 0, type: "bytes", size: 2, is_direct: false, rate_count: 2 }] },
    );
    sw.meter("m").write(1, { committedRate: 0n, committedBurst: 0n, peakRate: 0n, peakBurst: 1n }, 0);
    expect(run(sw, "01")).toBe("01");
    expect(run(sw, "01")).toBe("02");
    expect(run(sw, "00")).toBe("00");
    expect(run(sw, "02")).toBe("02");
    expect(sw.faults.meterIndex).toBe(1);
  });
});

describe("hash", () => {
  const hashed = (
    algo: string,
    fields: readonly FieldSpec[],
    input: readonly Json[],
    base: number,
    max: bigint,
  ) =>
    machine(
      [...fields, ["out", 64]],
      [
        call(
          "modify_field_with_hash_based_offset",
          field("h.out"),
          hex(base),
          named("calculation", "calc"),
          hex(max),
        ),
      ],
      { calculations: [{ name: "calc", id: 0, algo, input }] },
    );
  const digits: readonly FieldSpec[] = [["d", 72]];
  const ascii = Buffer.from("123456789").toString("hex");
  const hashOf = (algo: string) =>
    run(hashed(algo, digits, [field("h.d")], 0, 1n << 63n), `${ascii}${"0".repeat(16)}`)?.slice(18);

  it("gives the known values of the algorithms", () => {
    expect(hashOf("crc32")).toBe("00000000cbf43926");
    expect(hashOf("crc16")).toBe("000000000000bb3d");
    expect(hashOf("crcCCITT")).toBe("00000000000029b1");
    expect(hashOf("xxh64")).toBe((0x8cb841db40e6ae83n % (1n << 63n)).toString(16).padStart(16, "0"));
    expect(hashOf("identity")).toBe("3132333435363738");
  });

  it("joins fields as one bit string", () => {
    const split: readonly FieldSpec[] = [
      ["a", 4],
      ["b", 4],
      ["c", 8],
    ];
    const parts = run(
      hashed(
        "crc32",
        split,
        ["a", "b", "c"].map((name) => field(`h.${name}`)),
        0,
        1n << 32n,
      ),
      `abcd${"0".repeat(16)}`,
    );
    const whole = run(hashed("crc32", [["a", 16]], [field("h.a")], 0, 1n << 32n), `abcd${"0".repeat(16)}`);
    expect(parts).toBe(whole);
  });

  it("is base + H mod max, and base for max 0", () => {
    for (let i = 0; i < 16; i++) {
      const out = run(
        hashed("crc16", [["a", 8]], [field("h.a")], 10, 4n),
        `0${i.toString(16)}${"0".repeat(16)}`,
      );
      const value = Number.parseInt(out?.slice(2) ?? "", 16);
      expect(value).toBeGreaterThanOrEqual(10);
      expect(value).toBeLessThanOrEqual(13);
    }
    expect(run(hashed("crc16", [["a", 8]], [field("h.a")], 10, 0n), `01${"0".repeat(16)}`)).toBe(
      "01000000000000000a",
    );
  });
});

describe("random", () => {
  it("stays within its bounds, both included, and repeats from the same seed", () => {
    const make = () =>
      machine([["v", 8]], [call("modify_field_rng_uniform", field("h.v"), hex(3), hex(6))], {});
    const sample = (sw: Switch) => Array.from({ length: 200 }, () => run(sw, "00"));
    const first = sample(make());
    expect([...new Set(first)].sort()).toEqual(["03", "04", "05", "06"]);
    expect(sample(make())).toEqual(first);
  });

  it("leaves its target if low is above high", () => {
    expect(
      run(machine([["v", 8]], [call("modify_field_rng_uniform", field("h.v"), hex(6), hex(3))], {}), "aa"),
    ).toBe("aa");
  });
});

describe("log_msg", () => {
  it("fills in values and costs nothing without a listener", () => {
    const messages: string[] = [];
    const json = program({
      types: { h_t: [["v", 8]] },
      headers: { h: "h_t" },
      parser: { start: { ops: [extract("h")] } },
      ingressBody: [
        call(
          "log_msg",
          { type: "string", value: "v={} \\{ok\\}" },
          { type: "parameters_vector", value: [field("h.v")] },
        ),
      ],
    });
    new Switch(json, { log: (message) => messages.push(message) }).inject(1, bytes("2a"));
    new Switch(json).inject(1, bytes("2a"));
    expect(messages).toEqual(["v=42 {ok}"]);
  });
});
