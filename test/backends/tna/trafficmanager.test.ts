import { describe, expect, it } from "vitest";
import { checkTna, generate } from "../../../src/backends/index.ts";
import { drop, ipv4Forwarding, priority, program } from "../../../src/dsl/index.ts";
import type { Feature } from "../../../src/dsl/program.ts";
import { check } from "../../../src/ir/check/check.ts";
import { bit, forTarget } from "../../../src/ir/index.ts";
import { assign, constant, control, intrinsic, meta, program as nodes } from "../nodes.ts";

const built = (...features: Feature[]) =>
  program("p", { ports: 8, priorityQueues: 8, features: [ipv4Forwarding(), ...features] }).ir;
const settings = (...features: Feature[]) => {
  const text = generate(built(...features), { targets: ["tna"] }).get("tna/bfrt.json");
  return text === undefined ? undefined : JSON.parse(String(text));
};
const entry = (found: ReturnType<typeof settings>, queue: number, table: string) =>
  found.queues
    .find((q: { queue: number }) => q.queue === queue)
    ?.entries.find((e: { table: string }) => e.table === table);

describe("settings of the traffic manager beside the program", () => {
  it("give the queue of a stronger class the stronger priority: Tofino's queues have none by their numbers", () => {
    const found = settings(priority());
    expect(entry(found, 0, "tf1.tm.queue.sched_cfg").data.max_priority).toBe("0");
    expect(entry(found, 7, "tf1.tm.queue.sched_cfg").data).toEqual({
      scheduling_enable: true,
      max_priority: "7",
    });
  });

  it("let a queue drop red packets at the threshold of its class", () => {
    const found = settings(priority(), drop({ keep: { 1: 16, 2: 32 } }));
    const cells = (queue: number) => entry(found, queue, "tf1.tm.queue.buffer").data.pool_max_cells;
    // An eighth, in cells of 80 bytes.
    expect([cells(1) / 8, cells(2) / 8]).toEqual([16 * 19, 32 * 19]);
    expect(entry(found, 1, "tf1.tm.queue.color").data).toMatchObject({
      drop_enable: true,
      drop_limit_red: "12.5%",
    });
    expect(entry(found, 3, "tf1.tm.queue.color")).toBeUndefined();
  });

  it("have one threshold where all classes share a queue", () => {
    const found = settings(drop({ keep: { 1: 16, 2: 32 } }));
    expect(found.queues.map((q: { queue: number }) => q.queue)).toEqual([0]);
    expect(entry(found, 0, "tf1.tm.queue.buffer").data.pool_max_cells).toBe(8 * 16 * 19);
  });

  it("are not there when there is nothing to set", () => {
    expect(settings()).toBeUndefined();
  });
});

describe("colours", () => {
  it("are set by a control that only tna has", () => {
    const p = built(drop({ keep: { 1: 16 } }));
    const v1model = [...generate(p, { targets: ["v1model"] }).keys()];
    expect(v1model.filter((f) => f.includes("drop_precedence"))).toEqual([]);
    const tna = generate(p, { targets: ["tna"] });
    // MeterColor_t: red is 3.
    expect(tna.get("tna/controls/drop_precedence.p4")).toContain("ig_tm_md.packet_color = 3;");
    expect(forTarget(p, "v1model").controls.map((c) => c.name)).not.toContain("drop_precedence");
  });

  it("elsewhere are an error of v1model, and of Tofino when they are computed", () => {
    const colour = (value: Parameters<typeof assign>[1], only?: "tna") =>
      nodes("p", {
        metadata: [{ name: "m", type: bit(2) }],
        controls: [
          control("c", {
            apply: [assign(intrinsic("colour"), value)],
            ...(only === undefined ? {} : { only }),
          }),
        ],
        ingress: [{ kind: "applyControl", control: "c" }],
      });
    const codes = (p: ReturnType<typeof colour>) =>
      check(p).flatMap((d) => (d.code === "GP1502" ? [`${d.code} ${d.target}`] : []));
    expect(codes(colour(constant(2, bit(2))))).toEqual(["GP1502 v1model"]);
    expect(codes(colour(constant(2, bit(2)), "tna"))).toEqual([]);
    expect(checkTna(colour(meta("m", bit(2)), "tna")).map((d) => d.code)).toEqual(["GP1804"]);
  });
});
