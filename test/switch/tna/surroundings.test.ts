import { describe, expect, it } from "vitest";
import { Switch, type SwitchOptions } from "../../../src/switch/index.ts";
import {
  adds,
  architecture,
  assign,
  binary,
  call,
  compare,
  constant,
  document,
  field,
  meta,
  send,
  steps,
  when,
  withRegister,
} from "./documents.ts";

const load = (json: object, options: SwitchOptions = {}): Switch =>
  new Switch(json, { personality: "tna", ...options });
const frame = Uint8Array.from([0, 0, 0, 7, 0, 0, 0, 9]);
const ask = (name: string, width: number, value: number) =>
  steps(assign(architecture(name, width), constant(value, `bit<${width}>`)));
const hex = (frames: readonly { readonly port: number; readonly data: Uint8Array }[]) =>
  frames.map((f) => `${f.port}:${Buffer.from(f.data).toString("hex")}`);

/** A header type for what deparsers put in front: a byte that says why, and 16 bits. */
const tagType = {
  name: "tag_t",
  fields: [
    { name: "why", type: "bit<8>" },
    { name: "what", type: "bit<16>" },
  ],
};
const more = (given: object) => ({
  headerTypes: [
    tagType,
    {
      name: "h_t",
      fields: [
        { name: "x", type: "bit<32>" },
        { name: "y", type: "bit<32>" },
      ],
    },
  ],
  headers: [
    { name: "h", headerType: "h_t" },
    { name: "tag", headerType: "tag_t" },
  ],
  metadata: [{ name: "m", type: "bit<16>" }],
  ...given,
});

describe("what surrounds a program on the tna personality", () => {
  it("drops a packet that ingress gives no port, and one for a port that there is not", () => {
    const s = load(
      document({
        ingress: [{ kind: "steps", steps: [{ kind: "invalidate", field: "ig_tm_md.ucast_egress_port" }] }],
      }),
    );
    expect([s.inject(0, frame), s.drops.noDestination]).toEqual([[], 1]);
    const other = load(document({ ingress: [send(100)] }));
    expect([other.inject(0, frame), other.inject(300, frame), other.drops.noSuchPort]).toEqual([[], [], 2]);
  });

  it("drops what ends within a header, unless the program asks for the parser's error", () => {
    const short = frame.subarray(0, 5);
    const s = load(document());
    expect([s.inject(0, short), s.drops.parserError]).toEqual([[], 1]);
    const isWrong = compare(architecture("ig_prsr_md.parser_err", 16), "!=", constant(0, "bit<16>"));
    expect(hex(load(document({ ingress: [when(isWrong, [send(3)])] })).inject(0, short))).toEqual([
      `3:${Buffer.from(short).toString("hex")}`,
    ]);
  });

  it("mirrors the packet as it came, with a header of the deparser's in front, cut to the session's length", () => {
    const mirror = {
      gress: "ingress",
      number: 2,
      session: constant(5, "bit<10>"),
      headerType: "tag_t",
      values: [constant(0xab, "bit<8>"), meta("m", "bit<16>")],
    };
    const json = (given: object = {}) =>
      document({
        more: more({ mirrors: [{ ...mirror, ...given }] }),
        ingress: [
          steps(assign(meta("m", "bit<16>"), constant(0x1234, "bit<16>")), assign(field("x"), constant(1))),
          ask("ig_dprsr_md.mirror_type", 3, 2),
        ],
      });
    const s = load(json());
    expect([hex(s.inject(0, frame)), s.drops.noCloneSession]).toEqual([["1:0000000100000009"], 1]);
    s.replication.insertSession(5, [{ port: 9, instance: 0 }]);
    expect(hex(s.inject(0, frame))).toEqual(["9:ab12340000000700000009", "1:0000000100000009"]);
    s.replication.modifySession(5, [{ port: 9, instance: 0 }], 4);
    expect(hex(s.inject(0, frame))[0]).toBe("9:ab123400000007");
    const limited = load(json({ maxLength: 8 }));
    limited.replication.insertSession(5, [{ port: 9, instance: 0 }]);
    expect(hex(limited.inject(0, frame))[0]).toBe("9:ab12340000000700");
  });

  it("mirrors a dropped packet too, and from egress the packet as it leaves", () => {
    const mirrors = ["ingress", "egress"].map((gress, i) => ({
      gress,
      number: 1,
      session: constant(5 + i, "bit<10>"),
      headerType: "tag_t",
      values: [constant(i, "bit<8>"), constant(0, "bit<16>")],
    }));
    const dropped = load(
      document({
        more: more({ mirrors }),
        ingress: [ask("ig_dprsr_md.mirror_type", 3, 1), ask("ig_dprsr_md.drop_ctl", 3, 1)],
      }),
    );
    dropped.replication.insertSession(5, [{ port: 9, instance: 0 }]);
    expect(hex(dropped.inject(0, frame))).toEqual(["9:0000000000000700000009"]);
    const isFirst = compare(architecture("eg_intr_md.egress_port", 9), "==", constant(1, "bit<9>"));
    const s = load(
      document({
        more: more({ mirrors }),
        egressSteps: [{ kind: "extract", header: "h" }],
        egressEmits: ["h"],
        egress: [
          when(isFirst, [steps(assign(field("y"), constant(2))), ask("eg_dprsr_md.mirror_type", 3, 1)]),
        ],
      }),
    );
    s.replication.insertSession(6, [{ port: 9, instance: 0 }]);
    expect(hex(s.inject(0, frame))).toEqual(["1:0000000700000002", "9:0100000000000700000002"]);
  });

  it("copies a packet to the CPU port when ingress asks, dropped ones too, unless the deparser forbids that", () => {
    const asking = [steps(assign(field("x"), constant(1))), ask("ig_tm_md.copy_to_cpu", 1, 1)];
    const s = load(document({ ingress: asking }), { cpuPort: 64 });
    expect(hex(s.inject(0, frame)).sort()).toEqual(["1:0000000100000009", "64:0000000100000009"]);
    const dropped = load(document({ ingress: [...asking, ask("ig_dprsr_md.drop_ctl", 3, 1)] }), {
      cpuPort: 64,
    });
    expect([hex(dropped.inject(0, frame)), dropped.drops.ingressDrop]).toEqual([["64:0000000100000009"], 1]);
    const forbidden = load(document({ ingress: [...asking, ask("ig_dprsr_md.drop_ctl", 3, 2)] }), {
      cpuPort: 64,
    });
    expect(hex(forbidden.inject(0, frame))).toEqual(["1:0000000100000009"]);
    const none: object = {
      kind: "steps",
      steps: [{ kind: "invalidate", field: "ig_tm_md.ucast_egress_port" }],
    };
    const alone = load(document({ ingress: [none, ...asking] }), { cpuPort: 64 });
    expect(hex(alone.inject(0, frame))).toEqual(["64:0000000100000009"]);
    const noCpu = load(document({ ingress: asking }));
    expect([hex(noCpu.inject(0, frame)), noCpu.drops.noSuchPort]).toEqual([["1:0000000100000009"], 1]);
  });

  it("lets a packet bypass egress, which then does nothing to it", () => {
    const egress = {
      egressSteps: [{ kind: "extract", header: "h" }],
      egressEmits: ["h"],
      egress: [steps(assign(field("y"), constant(2)))],
    };
    const through = load(document(egress));
    expect(hex(through.inject(0, frame))).toEqual(["1:0000000700000002"]);
    const past = load(document({ ...egress, ingress: [ask("ig_tm_md.bypass_egress", 1, 1)] }));
    expect(hex(past.inject(0, frame))).toEqual(["1:0000000700000009"]);
  });

  it("resubmits a packet once, with what it keeps in front, and shows the flag", () => {
    const resubmits = [
      { number: 1, headerType: "tag_t", values: [constant(3, "bit<8>"), meta("m", "bit<16>")] },
    ];
    const flag = { kind: "architecture", type: "bit<1>", field: "ig_intr_md.resubmit_flag" };
    const json: { ingress?: object } & object = document({
      more: more({ resubmits }),
      ingress: [
        steps(
          assign(meta("m", "bit<16>"), binary(meta("m", "bit<16>"), "+", constant(1, "bit<16>"), "bit<16>")),
        ),
        steps(
          assign(
            { kind: "slice", type: "bit<16>", operand: field("x"), high: 15, low: 0 },
            meta("m", "bit<16>"),
          ),
        ),
        ask("ig_dprsr_md.resubmit_type", 3, 1),
      ],
    });
    const parser = [
      {
        name: "start",
        steps: [{ kind: "intrinsicMetadata" }],
        transition: {
          keys: [flag],
          cases: [{ values: [{ kind: "value", value: "0x1" }], next: "again" }],
          next: "packet",
        },
      },
      {
        name: "again",
        steps: [
          { kind: "extract", header: "tag" },
          { kind: "set", target: meta("m", "bit<16>"), value: field("what", "bit<16>", "tag") },
        ],
        transition: { next: "packet" },
      },
      { name: "packet", steps: [{ kind: "extract", header: "h" }], transition: { next: "accept" } },
    ];
    const s = load({ ...json, ingress: { ...json.ingress, parser } });
    // Once only: the second time it goes on.
    expect(hex(s.inject(0, frame))).toEqual(["1:0000000200000009"]);
  });

  it("recirculates by the ports 68 to 71 of each pipe, as egress left the packet", () => {
    const isBack = compare(architecture("ig_intr_md.ingress_port", 9), "==", constant(128 + 68, "bit<9>"));
    const s = load(
      document({
        ingress: [
          when(isBack, [send(2)], [send(128 + 68)]),
          steps(assign(field("x"), binary(field("x"), "+", constant(1)))),
        ],
      }),
    );
    expect(hex(s.inject(0, frame))).toEqual(["2:0000000900000009"]);
    const forever = load(document({ ingress: [send(68)] }), { maxPasses: 5 });
    expect([forever.inject(0, frame), forever.drops.tooManyPasses]).toEqual([[], 1]);
  });

  it("copies to both multicast groups with replication ids, and leaves out what exclusion ids say", () => {
    const s = load(
      document({
        egressSteps: [{ kind: "extract", header: "h" }],
        egressEmits: ["h"],
        egress: [
          steps(
            assign(field("y"), {
              kind: "cast",
              type: "bit<32>",
              operand: architecture("eg_intr_md.egress_rid", 16),
            }),
          ),
        ],
        ingress: [
          { kind: "steps", steps: [{ kind: "invalidate", field: "ig_tm_md.ucast_egress_port" }] },
          ask("ig_tm_md.mcast_grp_a", 16, 1),
          ask("ig_tm_md.mcast_grp_b", 16, 2),
          ask("ig_tm_md.level1_exclusion_id", 16, 77),
          ask("ig_tm_md.level2_exclusion_id", 9, 3),
          ask("ig_tm_md.rid", 16, 20),
        ],
      }),
    );
    s.replication.insertGroup(1, [
      { port: 1, instance: 10 },
      { port: 2, instance: 20 },
      { port: 3, instance: 20 },
    ]);
    s.replication.insertGroup(2, [{ port: 4, instance: 30 }]);
    const copies = () => hex(s.inject(0, frame));
    const all = ["1:000000070000000a", "2:0000000700000014", "3:0000000700000014", "4:000000070000001e"];
    expect(copies()).toEqual(all);
    s.tofino?.exclusions.setPorts(3, [2, 1]);
    // Of the packet's own replication id only.
    expect(copies()).toEqual(all.filter((c) => !c.startsWith("2:")));
    s.tofino?.exclusions.setNode(2, 30, 77);
    expect(copies()).toEqual(all.filter((c) => /^[13]:/.test(c)));
  });

  it("keeps registers apart by pipe, and writes those of all pipes for the control plane", () => {
    const s = load(document({ controls: [withRegister([adds()], [call("add")])] }), { pipes: 4 });
    for (const port of [0, 63, 128, 384]) s.inject(port, frame);
    const cells = () => s.tofino?.pipes.map((p) => p.ingress.registers.get("c.r")?.read(0));
    expect(cells()).toEqual([14n, 7n, 0n, 7n]);
    expect(s.register("c.r").read(0)).toBe(14n);
    s.register("c.r").write(0, 5n);
    expect(cells()).toEqual([5n, 5n, 5n, 5n]);
  });

  it("drops red packets first where a queue has a threshold", () => {
    const colours = { x: 1, red: 3 };
    const s = load(
      document({
        more: { queues: [{ number: 2, priority: 2, keepRed: 3 }] },
        ingress: [
          ask("ig_tm_md.qid", 5, 2),
          when(compare(field("x"), "==", constant(colours.x)), [
            ask("ig_tm_md.packet_color", 2, colours.red),
          ]),
        ],
      }),
    );
    s.trafficManager.setRate(1, { kind: "packetsPerSecond", rate: 1 });
    const red = Uint8Array.from([0, 0, 0, colours.x, 0, 0, 0, 0]);
    for (let i = 0; i < 8; i++) s.inject(0, red);
    for (let i = 0; i < 8; i++) s.inject(0, frame);
    // One is on its way, three wait in front of the last red one that is taken.
    expect(s.drops.selectiveDrop).toBe(3);
    expect(s.trafficManager.depth(1, 2)).toBe(8 - 3 - 1 + 8);
    expect(() =>
      load(
        document({
          more: {
            queues: [
              { number: 1, priority: 5 },
              { number: 2, priority: 0 },
            ],
          },
        }),
      ),
    ).toThrow("queue 2 is weaker than queue 1");
  });

  it("generates packets by timers, which come in at port 68 of their pipe", () => {
    const header = { kind: "advance", bits: constant(48, "bit<32>") };
    const s = load(document({ ingressSteps: [header, { kind: "extract", header: "h" }] }));
    const generator = s.tofino?.packetGenerator;
    generator?.start(3, { timer: "periodic", period: 100, packetsPerBatch: 2, packet: frame }, 0);
    generator?.start(4, { timer: "oneShot", period: 150, packet: frame, pipes: [1] }, 0);
    const out = (now: number) =>
      s
        .tick(now)
        .flatMap((a) => (a.kind === "transmit" ? [`${a.port}:${Buffer.from(a.data).toString("hex")}`] : []));
    expect(s.nextWakeup()).toBe(100);
    expect(out(99)).toEqual([]);
    const one = `1:${Buffer.from(frame).toString("hex")}`;
    expect([out(100), s.nextWakeup(), out(150), s.nextWakeup(), out(200)]).toEqual([
      [one, one],
      150,
      [one],
      200,
      [one, one],
    ]);
    generator?.stop(3);
    expect(s.nextWakeup()).toBeUndefined();
    const raw = load(document());
    const before: string[] = [];
    raw.trace((e) => e.kind === "ingress" && before.push(`${e.port} ${e.length}`));
    raw.tofino?.packetGenerator.start(5, { timer: "oneShot", period: 1, packet: frame, pipes: [1] }, 0);
    expect(raw.tick(1)[0]).toMatchObject({ data: Uint8Array.from([0b1101, 0, 0, 0, 0, 0, ...frame]) });
    expect(before).toEqual([`${128 + 68} 14`]);
  });

  it("counts in all pipes together", () => {
    const counted = {
      name: "c.count",
      local: "count",
      parameters: [],
      steps: [{ kind: "count", counter: "n", index: constant(1, "bit<4>") }],
    };
    const control = {
      name: "c",
      counters: [{ name: "c.n", local: "n", size: 2, unit: "both" }],
      actions: [counted],
      block: [call("count")],
    };
    const s = load(document({ controls: [control] }));
    for (const port of [0, 128]) s.inject(port, frame);
    expect(s.counter("c.n").read(1)).toEqual({ packets: 2n, bytes: 16n });
  });
});
