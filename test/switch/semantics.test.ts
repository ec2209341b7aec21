import { describe, expect, it } from "vitest";
import { Switch, type SwitchOptions } from "../../src/switch/index.ts";
import {
  assign,
  bytes,
  call,
  counting,
  drop,
  extract,
  field,
  hex,
  type Json,
  op,
  otherwise,
  program,
  sm,
  text,
  when,
  wrap,
} from "./fixtures/builder.ts";

const one = [["a", 8]] as const;

function build(
  ingressBody: readonly Json[],
  egressBody: readonly Json[] = [],
  extra: Readonly<Record<string, Json>> = {},
  options: SwitchOptions = {},
): Switch {
  return new Switch(
    program({
      types: { h_t: one, tag_t: [["t", 32]] },
      headers: { tag: "tag_t", h: "h_t" },
      metadata: [
        ["x", 8],
        ["y", 8],
        ["kept", 8],
      ],
      parser: { start: { ops: [extract("h")] } },
      ingressBody,
      egressBody,
      extra,
    }),
    options,
  );
}

const frames = (sw: Switch, input: Uint8Array, port = 1): readonly string[] =>
  sw.inject(port, input).map((frame) => `${frame.port}:${text(frame.data)}`);

const addTag: Json = call("add_header", { type: "header", value: "tag" });
const keep = { field_lists: [{ id: 1, name: "fl", elements: [field("scalars.kept")] }] };
const ifZero = (value: string, body: readonly Json[]): readonly Json[] => [
  call("_jump_if_zero", wrap(op("b2d", null, op("==", field(value), hex(0)))), hex(body.length + 1)),
  ...body,
];

describe("the output port", () => {
  it("is 0 if nobody sets egress_spec", () => {
    expect(frames(build([]), bytes("aa"), 3)).toEqual(["0:aa"]);
  });

  it("can't be changed in egress, where only equality with the drop port counts", () => {
    expect(
      frames(build([assign(sm("egress_spec"), hex(5))], [assign(sm("egress_spec"), hex(2))]), bytes("aa")),
    ).toEqual(["5:aa"]);
    const sw = build([assign(sm("egress_spec"), hex(5))], [drop]);
    expect(frames(sw, bytes("aa"))).toEqual([]);
    expect(sw.drops.egressDrop).toBe(1);
  });

  it("may be one that does not exist: the packet is dropped and counted", () => {
    const sw = build([assign(sm("egress_spec"), hex(300))], [], {}, { ports: [1, 2] });
    expect(frames(sw, bytes("aa"))).toEqual([]);
    expect(sw.drops.noSuchPort).toBe(1);
  });

  it("may be the CPU port", () => {
    const sw = build([assign(sm("egress_spec"), hex(255))], [], {}, { cpuPort: 255 });
    expect(sw.handle({ kind: "packet", port: 1, data: bytes("aa") }, 0)).toEqual([
      { kind: "toCpu", data: bytes("aa") },
    ]);
    const back = build([assign(sm("egress_spec"), field("h.a"))], [], {}, { cpuPort: 255 });
    expect(back.handle({ kind: "packetOut", data: bytes("07bb") }, 0)).toEqual([
      { kind: "transmit", port: 7, data: bytes("07bb") },
    ]);
  });
});

describe("dropping in ingress", () => {
  it("is undone by a later write of egress_spec, and clears the multicast group", () => {
    expect(frames(build([drop, assign(sm("egress_spec"), hex(4))]), bytes("aa"))).toEqual(["4:aa"]);
    const sw = build([assign(sm("mcast_grp"), hex(1)), drop]);
    sw.replication.insertGroup(1, [{ port: 2, instance: 0 }]);
    expect(frames(sw, bytes("aa"))).toEqual([]);
    expect(sw.drops.ingressDrop).toBe(1);
  });
});

describe("mark_to_drop", () => {
  it("acts on the copy of standard_metadata that it is given", () => {
    const copied = (body: readonly Json[]) =>
      new Switch(
        program({
          types: {
            copy_t: [
              ["egress_spec", 9],
              ["mcast_grp", 16],
              ["pad", 7],
            ],
          },
          headers: { copy: "copy_t" },
          deparser: [],
          ingressBody: body,
        }),
      );
    const mark = call("mark_to_drop", { type: "header", value: "copy" });
    expect(frames(copied([mark]), bytes("aa"))).toEqual(["0:aa"]);
    expect(frames(copied([mark, assign(sm("egress_spec"), field("copy.egress_spec"))]), bytes("aa"))).toEqual(
      [],
    );
  });
});

describe("clones", () => {
  const clone = (name: string, session: number, list = 0) => call(name, hex(session), hex(list));
  const i2e = (session: number, list = 0) => clone("clone_ingress_pkt_to_egress", session, list);
  const e2e = (session: number, list = 0) => clone("clone_egress_pkt_to_egress", session, list);

  it("from ingress have the bytes of arrival, and like simple_switch's no port", () => {
    const sw = build(
      [assign("h.a", hex(9)), i2e(7), assign(sm("egress_spec"), hex(1))],
      [
        addTag,
        assign("tag.t", op("|", op("<<", field(sm("instance_type")), hex(16)), field(sm("ingress_port")))),
      ],
    );
    sw.replication.insertSession(7, [{ port: 6, instance: 3 }]);
    expect(frames(sw, bytes("aabb"), 5)).toEqual(["6:00010000aabb", "1:0000000509bb"]);
  });

  it("are made by the last call only, and without a session not at all", () => {
    const sw = build([i2e(5), i2e(6)]);
    sw.replication.insertSession(5, [{ port: 5, instance: 0 }]);
    sw.replication.insertSession(6, [{ port: 6, instance: 0 }]);
    expect(frames(sw, bytes("aa"))).toEqual(["6:aa", "0:aa"]);
    const without = build([i2e(99)]);
    expect(frames(without, bytes("aa"))).toEqual(["0:aa"]);
    expect(without.drops.noCloneSession).toBe(1);
  });

  it("are made though the original is dropped", () => {
    const sw = build([i2e(7), drop]);
    sw.replication.insertSession(7, [{ port: 6, instance: 0 }]);
    expect(frames(sw, bytes("aa"))).toEqual(["6:aa"]);
  });

  it("are cut to the session's packet length", () => {
    const sw = build([i2e(7), drop]);
    sw.replication.insertSession(7, [{ port: 6, instance: 0 }], 20);
    expect(sw.inject(1, counting(60))[0]?.data).toEqual(counting(20));
  });

  it("keep the metadata of their field list and nothing else", () => {
    const sw = build(
      [assign("scalars.kept", hex(0x11)), assign("scalars.x", hex(0x22)), i2e(7, 1), drop],
      [addTag, assign("tag.t", op("|", op("<<", field("scalars.kept"), hex(8)), field("scalars.x")))],
      keep,
    );
    sw.replication.insertSession(7, [{ port: 6, instance: 0 }]);
    expect(frames(sw, bytes("aa"))).toEqual(["6:00001100aa"]);
  });

  it("from egress have the headers as egress left them, and run egress again", () => {
    const sw = build(
      [assign(sm("egress_spec"), hex(1))],
      ifZero(sm("instance_type"), [addTag, assign("tag.t", hex(0x01020304)), e2e(7)]),
    );
    sw.replication.insertSession(7, [{ port: 6, instance: 0 }]);
    expect(frames(sw, bytes("aa"))).toEqual(["1:01020304aa", "6:01020304aa"]);
  });
});

describe("packet_length", () => {
  const show = [assign("h.a", op("&", field(sm("packet_length")), hex(0xff)))];

  it("is the frame's length in ingress, and follows setValid in egress", () => {
    const sw = build([addTag], show);
    expect(sw.inject(1, counting(64))[0]?.data[4]).toBe(68);
  });

  it("after resubmit is the length of arrival", () => {
    const sw = build([...ifZero(sm("instance_type"), [addTag, call("resubmit", hex(1))]), ...show], [], keep);
    expect(sw.inject(1, counting(64))[0]?.data[0]).toBe(64);
  });

  it("after recirculate is the length of what left", () => {
    const sw = build(
      [assign("scalars.x", op("&", field(sm("packet_length")), hex(0xff)))],
      [...ifZero("scalars.kept", [addTag, assign("scalars.kept", hex(1)), call("recirculate", hex(1))])],
      keep,
    );
    const trace = sw.explain(1, counting(64));
    expect(
      trace.events
        .filter((event) => event.kind === "ingress")
        .map((event) => [event.length, event.instanceType]),
    ).toEqual([
      [64, 0],
      [68, 4],
    ]);
    expect(trace.actions).toHaveLength(1);
  });

  it("of an egress clone is the length of the frame that is cloned", () => {
    const sw = build(
      [],
      [...ifZero(sm("instance_type"), [addTag, call("clone_egress_pkt_to_egress", hex(7), hex(0))]), ...show],
    );
    sw.replication.insertSession(7, [{ port: 6, instance: 0 }]);
    expect(sw.inject(1, counting(64)).map((frame) => [frame.port, frame.data[4]])).toEqual([
      [0, 64],
      [6, 68],
    ]);
  });
});

describe("resubmit and recirculate", () => {
  it("keep the metadata of their list; the frame is the one that arrived", () => {
    const sw = build(
      [
        ...ifZero("scalars.kept", [
          assign("scalars.kept", hex(7)),
          assign("scalars.x", hex(9)),
          assign("h.a", hex(1)),
          call("resubmit", hex(1)),
        ]),
        assign("scalars.y", field("scalars.kept")),
      ],
      [addTag, assign("tag.t", op("|", op("<<", field("scalars.y"), hex(8)), field("scalars.x")))],
      keep,
    );
    expect(frames(sw, bytes("aabb"))).toEqual(["0:00000700aabb"]);
  });

  it("that never end are stopped and counted", () => {
    const resubmitting = build([call("resubmit", hex(1))], [], keep, { maxPasses: 10 });
    expect(frames(resubmitting, bytes("aa"))).toEqual([]);
    expect(resubmitting.drops.tooManyPasses).toBe(1);
    const recirculating = build([], [call("recirculate", hex(1))], keep, { maxPasses: 10 });
    expect(frames(recirculating, bytes("aa"))).toEqual([]);
    expect(recirculating.drops.tooManyPasses).toBe(1);
  });

  it("give way to a drop in egress", () => {
    const sw = build([], [call("recirculate", hex(1)), drop], keep);
    expect(frames(sw, bytes("aa"))).toEqual([]);
    expect(sw.drops.egressDrop).toBe(1);
  });
});

describe("multicast", () => {
  it("makes a copy for each replica, the port of arrival included", () => {
    const sw = build([assign(sm("mcast_grp"), hex(1))], [addTag, assign("tag.t", field(sm("egress_rid")))]);
    sw.replication.insertGroup(
      1,
      [1, 2, 3].map((port) => ({ port, instance: port * 16 })),
    );
    expect(frames(sw, bytes("aa"), 1)).toEqual(["1:00000010aa", "2:00000020aa", "3:00000030aa"]);
  });

  it("keeps copies apart: metadata that one writes is not seen by the next", () => {
    const sw = build(
      [assign(sm("mcast_grp"), hex(1)), assign("scalars.x", hex(5))],
      [
        addTag,
        assign("tag.t", op("|", op("<<", field("scalars.x"), hex(8)), field("scalars.y"))),
        assign("scalars.y", hex(1)),
        assign("scalars.x", hex(6)),
      ],
    );
    sw.replication.insertGroup(
      1,
      [1, 2].map((port) => ({ port, instance: 0 })),
    );
    expect(frames(sw, bytes("aa"))).toEqual(["1:00000500aa", "2:00000500aa"]);
  });

  it("to a group without replicas is a counted drop", () => {
    const sw = build([assign(sm("mcast_grp"), hex(4))]);
    expect(frames(sw, bytes("aa"))).toEqual([]);
    expect(sw.drops.emptyMulticastGroup).toBe(1);
  });

  it("of a flood that egress prunes leaves out the port of arrival", () => {
    const sw = build(
      [assign(sm("mcast_grp"), hex(1))],
      [
        call(
          "_jump_if_zero",
          wrap(op("b2d", null, op("==", field(sm("ingress_port")), field(sm("egress_port"))))),
          hex(2),
        ),
        drop,
      ],
    );
    sw.replication.insertGroup(
      1,
      [1, 2, 3].map((port) => ({ port, instance: 0 })),
    );
    expect(frames(sw, bytes("aa"), 1)).toEqual(["2:aa", "3:aa"]);
  });
});

describe("truncate", () => {
  const cut = (length: number, egress: readonly Json[] = []) =>
    build([call("truncate", hex(length))], egress);

  it("counts bytes from the start of the outgoing frame", () => {
    expect(cut(34).inject(1, counting(100))[0]?.data).toEqual(counting(34));
    expect(cut(200).inject(1, counting(100))[0]?.data).toEqual(counting(100));
  });

  it("cuts after what egress pushed in front", () => {
    expect(
      text(cut(6, [addTag, assign("tag.t", hex(0x01020304))]).inject(1, bytes("aabbccdd"))[0]?.data),
    ).toBe("01020304aabb");
  });

  it("to nothing is a counted drop", () => {
    const sw = cut(0);
    expect(frames(sw, bytes("aabb"))).toEqual([]);
    expect(sw.drops.emptyFrame).toBe(1);
  });
});

describe("metadata", () => {
  it("starts at zero for each packet", () => {
    const sw = build([...ifZero("h.a", [assign("scalars.x", hex(9))]), assign("h.a", field("scalars.x"))]);
    expect(frames(sw, bytes("00"))).toEqual(["0:09"]);
    expect(frames(sw, bytes("01"))).toEqual(["0:00"]);
  });

  it("of a header that is not valid reads as zero, whatever packets came before", () => {
    const sw = new Switch(
      program({
        types: { h_t: one, opt_t: [["o", 48]], out_t: [["o", 48]] },
        headers: { h: "h_t", opt: "opt_t", out: "out_t" },
        parser: {
          start: {
            ops: [extract("h")],
            key: [field("h.a")],
            transitions: [when("0x01", "more"), otherwise(null)],
          },
          more: { ops: [extract("opt")] },
        },
        deparser: ["h", "out"],
        ingressBody: [call("add_header", { type: "header", value: "out" }), assign("out.o", field("opt.o"))],
      }),
    );
    expect(frames(sw, bytes("01 112233445566"))).toEqual(["0:01112233445566"]);
    expect(frames(sw, bytes("00"))).toEqual(["0:00000000000000"]);
  });
});

describe("a new pipeline", () => {
  it("starts from nothing: no entries, groups, sessions or register values", () => {
    const json = program({
      types: { h_t: one },
      headers: { h: "h_t" },
      parser: { start: { ops: [extract("h")] } },
      actions: { go: { parameters: [["port", 9]], primitives: [] } },
      ingress: {
        init: "t",
        tables: {
          t: {
            key: [{ field: "h.a", kind: "exact" }],
            actions: ["go", "NoAction"],
            default: { action: "NoAction" },
          },
        },
      },
      extra: {
        register_arrays: [{ name: "r", id: 0, size: 4, bitwidth: 32 }],
        counter_arrays: [{ name: "c", id: 0, size: 4, is_direct: false }],
      },
    });
    const sw = new Switch(json);
    const fill = () => {
      sw.table("t").insert([{ kind: "exact", value: 1n }], {
        kind: "action",
        action: "go",
        parameters: [1n],
      });
      sw.replication.insertGroup(1, [{ port: 1, instance: 0 }]);
      sw.replication.insertSession(1, [{ port: 1, instance: 0 }]);
      sw.register("r").write(0, 5n);
      sw.counter("c").write(0, { packets: 1n, bytes: 2n });
    };
    fill();
    sw.setPipeline(json);
    expect(sw.table("t").size).toBe(0);
    expect(sw.register("r").read(0)).toBe(0n);
    expect(sw.counter("c").read(0)).toEqual({ packets: 0n, bytes: 0n });
    fill();
  });

  it("that is wrong leaves the old one running", () => {
    const sw = build([assign(sm("egress_spec"), hex(4))]);
    expect(() => sw.setPipeline("{}")).toThrow(/actions/);
    expect(frames(sw, bytes("aa"))).toEqual(["4:aa"]);
  });

  it("is needed: without one every packet is a counted drop", () => {
    const sw = new Switch();
    expect(sw.inject(1, bytes("aa"))).toEqual([]);
    expect(sw.drops.noPipeline).toBe(1);
  });
});

describe("exit", () => {
  it("ends ingress but not egress", () => {
    const sw = new Switch(
      program({
        types: { h_t: one },
        headers: { h: "h_t" },
        parser: { start: { ops: [extract("h")] } },
        actions: {
          leave: { primitives: [assign(sm("egress_spec"), hex(2)), call("exit")] },
          never: { primitives: [assign(sm("egress_spec"), hex(3))] },
        },
        ingress: {
          init: "t1",
          tables: {
            t1: { actions: ["leave"], default: { action: "leave", isConst: true }, next: "t2" },
            t2: { actions: ["never"], default: { action: "never", isConst: true } },
          },
        },
        egressBody: [assign("h.a", hex(0xee))],
      }),
    );
    expect(frames(sw, bytes("00"))).toEqual(["2:ee"]);
  });
});

describe("digests", () => {
  it("carry the values of their list at the end of ingress", () => {
    const sw = build([call("generate_digest", hex(1), hex(1)), assign("scalars.x", hex(0x5a))], [], {
      learn_lists: [
        { id: 1, name: "seen", elements: [field("scalars.x"), field(sm("ingress_port")), field("h.a")] },
      ],
    });
    expect(sw.handle({ kind: "packet", port: 7, data: bytes("aa") }, 0)[0]).toEqual({
      kind: "digest",
      list: "seen",
      listId: 1,
      values: [0x5an, 7n, 0xaan],
    });
  });
});

describe("explain", () => {
  it("tells the states, tables and what became of the packet", () => {
    const sw = build([drop]);
    const { events } = sw.explain(1, bytes("aa"));
    expect(events.map((event) => event.kind)).toEqual(["ingress", "parserState", "table", "drop"]);
    expect(events.at(-1)).toEqual({ kind: "drop", reason: "ingressDrop" });
    expect(sw.explain(1, bytes("aa")).events).toHaveLength(4);
  });
});
