import { describe, expect, test } from "vitest";
import { dissector, dissectorOf, PARAMETER_SERVER, protocolsOf } from "../../src/backends/dissector/index.ts";
import { hotAggregation, int32, internet, ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { exponentWord } from "../../src/numeric/block.ts";
import {
  AGGREGATION_PORT,
  AGGREGATION_VERSION,
  type AggregationHeader,
  aggregation,
  COLLECTOR,
  Flag,
  Kind,
  ModeId,
} from "../../src/wire/aggregation.ts";
import { aggregationFrame } from "../../src/wire/aggregationpacket.ts";
import { newFrame, PAYLOAD_AT } from "../../src/wire/datagram.ts";
import { wireHeader } from "../../src/wire/header.ts";
import { encodeNumbered, encodePull, encodePush } from "../../src/wire/messagebody.ts";
import {
  CHUNK_BYTES,
  MessageKind,
  PARAMETER_SERVER_PORT,
  PARAMETER_SERVER_VERSION,
  parameterServer,
  parameterServerFrame,
} from "../../src/wire/parameterserver.ts";
import { details, dissect, hasTshark, packetList } from "./tshark.ts";

const to = {
  srcMac: 0x020000000001,
  dstMac: 0x020000000002,
  srcIp: 0x0a000001,
  dstIp: 0x0a000002,
  srcPort: 40000,
};

function contribution(header: Partial<AggregationHeader>, lanes: readonly number[] = []): Uint8Array {
  const full = {
    version: AGGREGATION_VERSION,
    kind: Kind.CONTRIBUTION,
    flags: 0,
    job: 7,
    generation: 3,
    member: 2,
    scale: 20,
    slot: 500,
    lanes: lanes.length,
    mode: ModeId.int32,
    round: 0xfffffffe,
    ...header,
  };
  return aggregationFrame(
    { ...to, dstPort: AGGREGATION_PORT },
    { header: full, lanes: Int32Array.from(lanes) },
  );
}

function message(kind: number, body: Uint8Array, chunk = 0, chunks = 1): Uint8Array {
  const header = {
    version: PARAMETER_SERVER_VERSION,
    kind,
    member: 4,
    job: 7,
    round: 9,
    message: 11,
    chunk,
    chunks,
  };
  return parameterServerFrame({ ...to, dstPort: PARAMETER_SERVER_PORT }, { header, body });
}

const lua = dissectorOf();

describe("the text of the dissector", () => {
  test("the same declarations give the same bytes", () => {
    expect(dissectorOf()).toBe(lua);
  });

  test("every field of every declared header is there", () => {
    for (const header of [aggregation, parameterServer])
      for (const { name } of header.fields) expect(lua).toContain(`"gradplane.${header.name}.${name}"`);
  });

  test("a program that does not aggregate has no dissector for aggregation", () => {
    const router = program("router", { ports: 4, features: [ipv4Forwarding()] });
    expect(protocolsOf(router.ir)).toEqual([]);
    expect(dissector(router.ir)).not.toContain("DissectorTable");
  });

  test("a program that aggregates has both protocols", () => {
    const libra = program("libra", {
      ports: 4,
      cpuPort: 510,
      features: [
        ipv4Forwarding(),
        hotAggregation({ workers: 2, lanes: 4, rows: 16, mode: int32, result: "ps" }),
      ],
    });
    expect(protocolsOf(libra.ir).map(({ udpPort }) => udpPort)).toEqual([
      AGGREGATION_PORT,
      PARAMETER_SERVER_PORT,
    ]);
  });
});

/** Widths that lie in any way over byte borders, and names that Lua or Wireshark reserve. */
const odd = wireHeader(
  "Odd",
  {
    end: 3,
    middle: 11,
    function: 2,
    split: [40, 'says "hello"\n\\ there'],
    low: 33,
    wide: 128,
    tail: 7,
    last: 64,
  },
  "a header\nof odd widths",
);

describe.skipIf(!hasTshark)("tshark with the dissector", { timeout: 60_000 }, () => {
  test("shows the fields, names and lanes of a contribution", () => {
    const lanes = [1, -1, 2147483647, -2147483648];
    const [packet] = dissect(lua, [contribution({}, lanes)]);
    const field = (name: string) => packet?.get(`gradplane.aggregation.${name}`);
    expect(field("version")).toEqual(["1"]);
    expect(field("kind")).toEqual([String(Kind.CONTRIBUTION)]);
    expect(field("job")).toEqual(["7"]);
    expect(field("generation")).toEqual(["3"]);
    expect(field("member")).toEqual(["2"]);
    expect(field("scale")).toEqual(["20"]);
    expect(field("slot")).toEqual(["500"]);
    expect(field("lanes")).toEqual(["4"]);
    expect(field("mode")).toEqual(["1"]);
    expect(field("round")).toEqual(["4294967294"]);
    expect(field("lane")).toEqual(lanes.map(String));
    expect([...(packet?.keys() ?? [])].filter((name) => name.includes("expert"))).toEqual([]);
  });

  test("names every kind in the packet list and in display filters", () => {
    const frames = Object.values(Kind).map((kind) =>
      contribution({ kind, lanes: 1 }, kind === Kind.CONTRIBUTION || kind === Kind.RESULT ? [5] : []),
    );
    expect(packetList(lua, frames)).toEqual(
      Object.keys(Kind).map((kind) => `aggregation\t${kind} job 7 round 4294967294 slot 500 member 2`),
    );
    expect(dissect(lua, frames, { filter: 'gradplane.aggregation.kind == "PENDING"' })).toHaveLength(1);
  });

  test("marks, duplicates and stale packets have expert information, and only they", () => {
    const flags = [0, Flag.MARK, Flag.DUPLICATE, Flag.STALE, Flag.MARK | Flag.STALE];
    const frames = flags.map((each) => contribution({ kind: Kind.ACK, flags: each }));
    const experts = dissect(lua, frames).map((packet) =>
      Object.keys(Flag).filter((flag) => packet.has(`gradplane.aggregation.expert.${flag}`)),
    );
    expect(experts).toEqual([[], ["MARK"], ["DUPLICATE"], ["STALE"], ["MARK", "STALE"]]);
    expect(dissect(lua, frames, { filter: "gradplane.aggregation.flags.STALE == 1" })).toHaveLength(2);
  });

  test("contributions of mode fp32 are shown as floats, results as integers", () => {
    const header = { mode: ModeId.fp32, lanes: 2 };
    const [sent, result] = dissect(lua, [
      contribution(header, [0x3f800000, 0xc0200000]),
      contribution({ ...header, kind: Kind.RESULT }, [0x3f800000, 1]),
    ]);
    expect(sent?.get("gradplane.aggregation.lane_fp32")?.map(Number)).toEqual([1, -2.5]);
    expect(sent?.has("gradplane.aggregation.lane")).toBe(false);
    expect(result?.get("gradplane.aggregation.lane")).toEqual(["1065353216", "1"]);
  });

  test("contributions of the modes fp16 and bf16 are shown as the numbers that their codes are", () => {
    const sent = (mode: number, codes: readonly number[]) =>
      contribution({ mode, lanes: codes.length }, codes);
    const [half, brain, result] = dissect(lua, [
      sent(ModeId.fp16, [0x3c00, 0xc100, 0x0001, 0x8000, 0x7c00, 0x7bff]),
      sent(ModeId.bf16, [0x3f80, 0xc020, 0x0000, 0x4048]),
      contribution({ mode: ModeId.fp16, lanes: 1, kind: Kind.RESULT }, [-7]),
    ]);
    const shown = (packet: typeof half, name: string) =>
      packet?.get(`gradplane.aggregation.${name}`)?.map((text) => Number(text.replace("inf", "Infinity")));
    const wanted = [1, -2.5, 2 ** -24, -0, Number.POSITIVE_INFINITY, 65504];
    shown(half, "lane_fp16")?.forEach((value, i) => {
      if (Number.isFinite(wanted[i] ?? 0)) expect(value).toBeCloseTo(wanted[i] ?? 0, 12);
      else expect(value).toBe(wanted[i]);
    });
    expect(shown(half, "lane_fp16")).toHaveLength(6);
    expect(shown(brain, "lane_bf16")).toEqual([1, -2.5, 0, 3.125]);
    expect(shown(result, "lane")).toEqual([-7]);
    for (const packet of [half, brain, result])
      expect([...(packet?.keys() ?? [])].filter((name) => name.includes("expert"))).toEqual([]);
  });

  test("every packet of mode block shows its exponents and the rounds that they are meant for", () => {
    const exponents = { current: exponentWord(12, 130), next: exponentWord(14, 131) };
    const frames = Object.values(Kind).map((kind) => {
      const lanes = Int32Array.from(kind === Kind.CONTRIBUTION || kind === Kind.RESULT ? [1, -2] : []);
      const header = { ...headerOf(kind), mode: ModeId.block, lanes: 2, round: 12, member: 3, scale: 127 };
      return aggregationFrame({ ...to, dstPort: AGGREGATION_PORT }, { header, exponents, lanes });
    });
    for (const packet of dissect(lua, frames)) {
      const field = (name: string) => packet.get(`gradplane.aggregation.${name}`);
      expect([field("current_exponent"), field("next_exponent")]).toEqual([["130"], ["131"]]);
      expect([field("current_tag"), field("next_tag")]).toEqual([["3"], ["3"]]);
      expect([field("member"), field("scale")]).toEqual([["3"], ["127"]]);
      expect([...packet.keys()].filter((name) => name.includes("expert"))).toEqual([]);
    }
    const [sent] = dissect(lua, frames);
    expect(sent?.get("gradplane.aggregation.lane")).toEqual(["1", "-2"]);
    // Eight bytes too few: the lanes are taken for the exponents, and the length is wrong.
    const [bare] = dissect(lua, [contribution({ mode: ModeId.block }, [1, 2])]);
    expect(bare?.has("gradplane.aggregation.expert.length")).toBe(true);
  });

  test("the scale is told in the words of its mode", () => {
    const texts = [
      [ModeId.int32, 0xfd, "fraction bits: -3"],
      [ModeId.fp16, 4, "fraction bits: 4"],
      [ModeId.fp32, 200, "base of the window: 200"],
      [ModeId.bf16, 100, "base of the window: 100"],
      [ModeId.block, 130, "first exponent of the job: 130"],
    ] as const;
    for (const [mode, scale, text] of texts)
      expect(details(lua, contribution({ mode, scale }, [1]))).toContain(text);
  });

  test("a request of the parameter server shows its member number by name", () => {
    const frames = [contribution({ kind: Kind.COLLECT, member: COLLECTOR })];
    expect(dissect(lua, frames, { filter: 'gradplane.aggregation.member == "COLLECTOR"' })).toHaveLength(1);
  });

  test("an answer that comes from the port is dissected as well", () => {
    const frame = aggregationFrame(
      { ...to, srcPort: AGGREGATION_PORT, dstPort: 40001 },
      { header: { ...headerOf(Kind.ACK) }, lanes: new Int32Array(0) },
    );
    expect(packetList(lua, [frame])).toEqual(["aggregation\tACK job 1 round 1 slot 0 member 0"]);
  });

  test("truncated, overlong, unknown and foreign packets are malformed, not errors of the script", () => {
    const payload = (bytes: readonly number[]): Uint8Array => {
      const frame = newFrame({ ...to, dstPort: AGGREGATION_PORT }, bytes.length);
      frame.set(bytes, PAYLOAD_AT);
      return frame;
    };
    const whole = [...contribution({}, [1, 2]).subarray(PAYLOAD_AT)];
    const frames = [
      payload([]),
      payload(whole.slice(0, 15)),
      payload(whole.slice(0, 16)),
      payload(whole.slice(0, 23)),
      payload([...whole, 0]),
      payload([0x1f, ...whole.slice(1)]),
      payload([0x21, ...whole.slice(1)]),
      payload(whole),
    ];
    const experts = dissect(lua, frames).map((packet) =>
      ["too_short", "length", "kind", "version"].filter((key) =>
        packet.has(`gradplane.aggregation.expert.${key}`),
      ),
    );
    // Wireshark calls no dissector for an empty payload.
    expect(experts).toEqual([
      [],
      ["too_short"],
      ["length"],
      ["length"],
      ["length"],
      ["kind"],
      ["version"],
      [],
    ]);
  });

  test("a capture that was cut short is no fault of the packet", () => {
    const frames = [contribution({}, [1, 2, 3, 4])];
    for (const snapLength of [PAYLOAD_AT + 5, PAYLOAD_AT + 16, PAYLOAD_AT + 26]) {
      const [packet] = dissect(lua, frames, { snapLength });
      const experts = [...(packet?.keys() ?? [])].filter((name) =>
        name.startsWith("gradplane.aggregation.expert"),
      );
      expect(experts).toEqual([]);
    }
  });

  test("shows the bodies of the parameter server's messages", () => {
    const keys = Uint32Array.of(5, 4294967295);
    const values = Float32Array.of(0.5, -2);
    const [push, pull, answer, row] = dissect(lua, [
      message(MessageKind.PUSH, encodePush({ keys, values })),
      message(MessageKind.PULL, encodePull(77, keys)),
      message(MessageKind.VALUES, encodeNumbered(77, values)),
      message(MessageKind.ROW, encodeNumbered(3, values)),
    ]);
    const of = (packet: typeof push, name: string) =>
      packet?.get(`gradplane.parameter_server.${name}`)?.map(Number);
    expect([of(push, "key"), of(push, "value")]).toEqual([[...keys], [...values]]);
    expect([of(pull, "request"), of(pull, "key")]).toEqual([[77], [...keys]]);
    expect([of(answer, "request"), of(answer, "value")]).toEqual([[77], [...values]]);
    expect([of(row, "row"), of(row, "lane")]).toEqual([[3], [...values]]);
    expect([of(push, "job"), of(push, "round"), of(push, "message"), of(push, "chunks")]).toEqual([
      [7],
      [9],
      [11],
      [1],
    ]);
  });

  test("names every message, and finds no fault with sound ones", () => {
    const bodies = new Map<number, number>([
      [MessageKind.PULL, 4],
      [MessageKind.VALUES, 4],
      [MessageKind.FETCH, 4],
      [MessageKind.ROW, 4],
      [MessageKind.FAILURE, 4],
    ]);
    const frames = Object.values(MessageKind).map((kind) =>
      message(kind, new Uint8Array(bodies.get(kind) ?? 0), 0, kind === MessageKind.HEARTBEAT ? 0 : 1),
    );
    expect(packetList(lua, frames)).toEqual(
      Object.keys(MessageKind).map(
        (kind) => `parameter_server\t${kind} job 7 round 9 member 4 message 11 chunk 0`,
      ),
    );
    for (const packet of dissect(lua, frames))
      expect([...packet.keys()].filter((name) => name.includes(".expert."))).toEqual([]);
  });

  test("a chunk of a longer message is shown as bytes", () => {
    const body = new Uint8Array(CHUNK_BYTES).fill(1);
    const [packet] = dissect(lua, [message(MessageKind.PUSH, body, 1, 3)]);
    expect(packet?.get("gradplane.parameter_server.piece")?.[0]).toHaveLength(CHUNK_BYTES * 3 - 1);
    expect(packet?.has("gradplane.parameter_server.key")).toBe(false);
  });

  test("any header declaration can be dissected, whatever its widths and names", () => {
    const values = [5n, 1234n, 2n, 0xabcdef0123n, 0x1_8765_4321n, (1n << 127n) + 5n, 99n, (1n << 64n) - 2n];
    let bits = 0n;
    odd.fields.forEach((field, index) => {
      bits = (bits << BigInt(field.bits)) | (values[index] ?? 0n);
    });
    const frame = newFrame({ ...to, dstPort: 9000 }, 36);
    frame.set(Buffer.from(bits.toString(16).padStart(72, "0"), "hex"), PAYLOAD_AT);
    const script = dissectorOf([PARAMETER_SERVER, { header: odd, udpPort: 9000 }], "odd");
    const [packet] = dissect(script, [frame]);
    const shown = odd.fields.map(({ name }) => packet?.get(`gradplane.odd.${name}`)?.[0] ?? "");
    expect(shown.map((text) => (text.includes(":") ? "bytes" : BigInt(text)))).toEqual(
      values.map((value, index) => (index === 5 ? "bytes" : value)),
    );
  });

  test("a header of the user that the program's parser takes by UDP port is dissected with his names", () => {
    const probe = wireHeader("link_probe", { sequence: [32, "number of the probe"], hops: 5, spare: 3 });
    const prober = program("prober", {
      ports: 4,
      features: [
        ipv4Forwarding(),
        {
          name: "probe",
          build: (p) => {
            const state = p.parser.state("parse_probe");
            state.extract(p.header(probe)).otherwise("accept");
            p.once(internet).parseUdp.on(9001, state);
          },
        },
      ],
    });
    const frame = newFrame({ ...to, dstPort: 9001 }, 5);
    frame.set([0, 0, 1, 2, 0xf8], PAYLOAD_AT);
    const [packet] = dissect(dissector(prober.ir), [frame]);
    expect(packet?.get("gradplane.link_probe.sequence")).toEqual(["258"]);
    expect(packet?.get("gradplane.link_probe.hops")).toEqual(["31"]);
  });
});

function headerOf(kind: number): AggregationHeader {
  return {
    version: AGGREGATION_VERSION,
    kind,
    flags: 0,
    job: 1,
    generation: 1,
    member: 0,
    scale: 0,
    slot: 0,
    lanes: 0,
    mode: ModeId.int32,
    round: 1,
  };
}
