import { describe, expect, test } from "vitest";
import {
  FORWARDING_EVENTS,
  ipv4Forwarding,
  ProgramError,
  priority,
  probe,
  program,
  telemetry,
} from "../../src/dsl/index.ts";
import type { Switch } from "../../src/switch/index.ts";
import { headerCodec } from "../../src/wire/codec.ts";
import { packetIn, packetOut } from "../../src/wire/controllerport.ts";
import { decodeProbe, ETHERTYPE_PROBE, probeFrame } from "../../src/wire/probe.ts";
import { CPU } from "./aggregationrequests.ts";
import { localSwitch } from "./localswitch.ts";
import { counts, plan } from "./trafficprograms.ts";

const LINK = 2;
const HOST = 3;
const out = headerCodec(packetOut);
const sent = { device: 2n ** 40n + 7n, port: 5, session: 0xdeadbeef, sequence: 41 };

function probing(): Switch {
  const { ir } = program("probing", {
    ports: 8,
    cpuPort: CPU,
    priorityQueues: 8,
    features: [ipv4Forwarding(), priority(), telemetry(), probe()],
  });
  const sw = localSwitch(ir);
  sw.table("probe.link").insert([{ kind: "exact", value: BigInt(LINK) }], {
    kind: "action",
    action: "probe.to_controller",
    parameters: [],
  });
  return sw;
}

describe("a link probe", () => {
  test("says on the wire who sent it, and is a whole frame that bridges keep", () => {
    const frame = probeFrame(sent, 0x020000000101);
    expect(frame.length).toBe(60);
    expect(Buffer.from(frame.subarray(0, 14)).toString("hex")).toBe("0180c200000e02000000010188b5");
    expect(decodeProbe(frame)).toEqual(sent);
    expect(decodeProbe(frame.subarray(0, 30))).toEqual({ refused: "probe_too_short" });
    expect(decodeProbe(frame.map((b, i) => (i === 14 ? 2 : b)))).toEqual({ refused: "probe_version" });
    expect(decodeProbe(frame.map((b, i) => (i === 12 ? 8 : b)))).toEqual({ refused: "not_a_probe" });
    expect(ETHERTYPE_PROBE).toBe(0x88b5);
  });

  test("leaves by the port that the controller names, as it is, by the queue of control", () => {
    const sw = probing();
    const frame = probeFrame(sent, 1);
    const packet = new Uint8Array(out.bytes + frame.length);
    out.encode({ egress_port: 6, submit: 0, padding: 0 }, packet, 0);
    packet.set(frame, out.bytes);
    sw.trafficManager.setRate(6, { kind: "packetsPerSecond", rate: 1 });
    const seen: { port: number; data: Uint8Array }[] = [];
    const sink: Parameters<Switch["handle"]>[2] = (a) => {
      if (a.kind === "transmit") seen.push({ port: a.port, data: a.data.slice() });
    };
    for (let i = 0; i < 3; i++) sw.handle({ kind: "packetOut", data: packet }, 0, sink);
    expect(sw.trafficManager.counters(6, plan.control.class).enqueued).toBe(3);
    for (let at = sw.nextWakeup(); at !== undefined; at = sw.nextWakeup()) sw.tick(at, sink);
    expect(seen.map((s) => s.port)).toEqual([6, 6, 6]);
    expect(Buffer.from(seen[0]?.data ?? [])).toEqual(Buffer.from(frame));
  });

  test("that comes in from a link goes up to the controller, with the port in front", () => {
    const sw = probing();
    const [up, ...more] = sw.inject(LINK, probeFrame(sent, 1));
    expect(more).toEqual([]);
    expect(up?.port).toBe(CPU);
    const header = headerCodec(packetIn);
    expect(header.decode(up?.data ?? new Uint8Array(2), 0).ingress_port).toBe(LINK);
    expect(decodeProbe((up?.data ?? new Uint8Array()).subarray(header.bytes))).toEqual(sent);
  });

  test("from a host is not believed: it is dropped and counted", () => {
    const sw = probing();
    expect(sw.inject(HOST, probeFrame(sent, 1))).toEqual([]);
    expect(counts(sw, "forwarding.events", FORWARDING_EVENTS)).toMatchObject({ drop_not_ipv4: 1 });
  });

  test("needs a controller's port", () => {
    expect(() => program("none", { ports: 8, features: [ipv4Forwarding(), probe()] })).toThrow(ProgramError);
  });
});
