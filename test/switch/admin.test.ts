import { describe, expect, it } from "vitest";
import { AdminService, InProcessPort, Switch, SwitchRunner } from "../../src/switch/index.ts";
import { burst, frame, NEAR_PORT, plan, switchOf } from "../features/trafficprograms.ts";

function service(
  core: Switch,
  options: { readonly isReadOnly?: boolean; readonly snapshot?: () => string } = {},
) {
  const runner = new SwitchRunner(core, { clock: () => 0 });
  const changes: string[] = [];
  const admin = new AdminService({ runner, ...options, onChange: (what) => changes.push(what) });
  const ask = (method: string, path: string, body: unknown = "") => {
    const [plain = "", query = ""] = path.split("?");
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const answer = admin.handle({ method, path: plain, query: new URLSearchParams(query), body: text });
    return {
      status: answer.status,
      said: answer.type === "application/json" ? JSON.parse(answer.body) : answer.body,
    };
  };
  return { runner, ask, changes };
}

const aggregating = { priority: true, drop: false, ecmp: true, aggregation: true };

describe("a switch beside P4Runtime", () => {
  it("tells and changes speeds, depths and thresholds of ports and queues", () => {
    const core = new Switch(undefined, { priorityQueues: 2 });
    const { ask, changes } = service(core);
    expect(
      ask("PATCH", "/ports/all", {
        rate: "2.5 Gbit/s",
        buffer: "512 KiB",
        reserved: 1500,
        queues: {
          "1": { drop: 4, mark: "6 kB", rate: "100 packets/s" },
          all: { depth: { packets: 9, bytes: 9000 } },
        },
      }),
    ).toEqual({ status: 200, said: { done: true } });
    ask("PATCH", "/ports/3", { rate: "unlimited", queues: { "1": { drop: "none" } } });
    expect(ask("GET", "/ports/3").said).toMatchObject({
      port: 3,
      rate: "unlimited",
      buffer: 524_288,
      reserved: 1500,
      queues: [
        { queue: 0, rate: "unlimited", depth: { packets: 9, bytes: 9000 }, drop: {}, mark: {} },
        {
          queue: 1,
          rate: "100 packets/s",
          depth: { packets: 9, bytes: 9000 },
          drop: {},
          mark: { bytes: 6000 },
        },
      ],
    });
    expect(ask("GET", "/ports/4").said).toMatchObject({
      rate: "2500000000 bit/s",
      queues: [{}, { drop: { packets: 4 } }],
    });
    expect(changes).toHaveLength(2);
  });

  it.each([
    ["/ports/x", {}, 400, 'ports: there is no port "x"; write all, or 0 to 511'],
    ["/ports/1", { speed: 1 }, 400, 'ports.1: there is no "speed"; there is rate, buffer, reserved, queues'],
    ["/ports/1", { rate: 100 }, 400, "ports.1.rate: 100 is no rate"],
    ["/ports/1", { rate: "0 bit/s" }, 400, "is no rate"],
    ["/ports/1", { buffer: "1 furlong" }, 400, "ports.1.buffer"],
    ["/ports/1", { queues: { "8": {} } }, 400, 'ports.1.queues: there is no "8"'],
    [
      "/ports/1",
      { queues: { "7": { depth: -1 } } },
      400,
      "ports.1.queues.7.depth: -1 is no number of packets",
    ],
    ["/ports/1", { queues: { "7": { depth: { bytes: 1.5 } } } }, 400, "queues.7.depth.bytes"],
    ["/ports/1", "{", 400, "the body is no JSON"],
    ["/registers/none", { values: {} }, 404, "there is no such register"],
    ["/nothing/1", {}, 404, "there is no PATCH /nothing/1"],
    ["/registers/%ff", {}, 400, "not URI encoded"],
  ])("refuses %s %j and changes nothing", (path, body, status, reason) => {
    const { ask, changes } = service(switchOf(aggregating));
    const before = ask("GET", "/ports/1").said;
    const answer = ask("PATCH", path, body);
    expect(answer).toEqual({ status, said: { error: expect.stringContaining(reason) } });
    expect(ask("GET", "/ports/1").said).toEqual(before);
    expect(changes).toEqual([]);
  });

  it("reads and writes registers, all cells of a request or none", () => {
    const core = switchOf(aggregating);
    const { ask } = service(core);
    const [{ name, size }] = ask("GET", "/registers").said;
    const path = `/registers/${encodeURIComponent(name)}`;
    expect(ask("PATCH", path, { values: { "0": "17", "1": "0x20" } }).status).toBe(200);
    expect(ask("GET", `${path}?from=0&count=3`).said).toMatchObject({ from: 0, values: ["17", "32", "0"] });
    const wrong = { "0": "1", [size]: "1" };
    expect(ask("PATCH", path, { values: wrong }).said.error).toContain(`is not below the size ${size}`);
    expect(ask("PATCH", path, { values: { "0": "1", "1": String(2 ** 40) } }).status).toBe(400);
    expect(ask("GET", `${path}?from=0&count=1`).said.values).toEqual(["17"]);
    expect(ask("GET", `${path}?from=${size}&count=1`).status).toBe(400);
    expect(ask("GET", `${path}?count=x`).status).toBe(400);
  });

  it("sends at once what a higher speed lets go", async () => {
    const core = switchOf(aggregating);
    const { runner, ask } = service(core);
    const [mine, far] = InProcessPort.link("s1", "h1");
    runner.attach(NEAR_PORT, mine);
    const got: number[] = [];
    far.onFrame((frame) => got.push(frame.length));
    core.trafficManager.setRate(NEAR_PORT, { kind: "packetsPerSecond", rate: 1e-3 });
    burstInto(core);
    expect(got).toHaveLength(0);
    // The one on the wire keeps its time; those behind it have no wire to wait for any more.
    ask("PATCH", `/ports/${NEAR_PORT}`, { rate: "unlimited" });
    expect(got).toHaveLength(4);
    await runner.close();
  });

  it("refuses changes on an address that only reads, and has snapshots only where there is a place for them", () => {
    const core = new Switch();
    expect(service(core, { isReadOnly: true }).ask("PATCH", "/ports/1", {})).toMatchObject({ status: 403 });
    expect(service(core).ask("POST", "/snapshot")).toMatchObject({ status: 409 });
    expect(service(core, { snapshot: () => "s1.snapshot" }).ask("POST", "/snapshot").said).toEqual({
      file: "s1.snapshot",
    });
    expect(service(core).ask("GET", "/registers")).toMatchObject({ status: 409 });
  });

  it("gives Prometheus each figure once, drops by reason and queue among them", () => {
    const core = switchOf({ ...aggregating, aggregation: false });
    core.trafficManager.setRate(NEAR_PORT, { kind: "packetsPerSecond", rate: 1000 });
    core.trafficManager.configureQueues({ queue: 6 }, { drop: { packets: 1 }, mark: { packets: 1 } });
    const dscp = plan.gradients.find((g) => g.class === 6)?.dscp ?? 0;
    burst(core, [{}, ...[0, 0, 0, 0].map(() => ({ dscp })), { dscp, ecn: 2 }, { dscp, ecn: 2 }]);
    const text: string = service(core).ask("GET", "/metrics").said;
    const at = (line: string): string => `gradplane_switch_${line}`;
    const lines = text.trimEnd().split("\n");
    for (const wanted of [
      at("has_pipeline 1"),
      at('received_packets_total{port="0"} 7'),
      at(`sent_packets_total{port="${NEAR_PORT}"} 5`),
      at('dropped_packets_total{reason="selectiveDrop"} 2'),
      at(`queue_dropped_packets_total{port="${NEAR_PORT}",queue="6",reason="selectiveDrop"} 2`),
      at(`queue_marked_packets_total{port="${NEAR_PORT}",queue="6"} 2`),
      at(`queue_highest_packets{port="${NEAR_PORT}",queue="6"} 4`),
      at(`queue_packets{port="${NEAR_PORT}",queue="6"} 0`),
    ])
      expect(lines).toContain(wanted);
    for (const line of lines)
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [\d.e+-]+)$/);
    const series = lines.filter((line) => !line.startsWith("#")).map((line) => line.replace(/ \S+$/, ""));
    expect(new Set(series).size).toBe(series.length);
  });
});

/** One packet on the wire and four that wait. */
function burstInto(core: Switch): void {
  for (let id = 0; id < 5; id++) core.handle({ kind: "packet", port: 0, data: frame({ id }) }, 0);
}
