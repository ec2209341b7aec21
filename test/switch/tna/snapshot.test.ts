import { describe, expect, it } from "vitest";
import { SnapshotError, Switch } from "../../../src/switch/index.ts";
import { adds, call, document, withRegister } from "./documents.ts";

const json = document({ controls: [withRegister([adds()], [call("add")])] });
const options = { personality: "tna" } as const;
const frame = Uint8Array.from([0, 0, 0, 7, 0, 0, 0, 9]);
/** A port of the second pipe. */
const second = 128;
const sums = (s: Switch) => s.tofino?.pipes.map(({ ingress }) => ingress.registers.get("c.r")?.read(0));

describe("a snapshot of a Tofino", () => {
  it("has the registers of each pipe, exclusion ids and the packet generator", () => {
    const s = new Switch(json, options);
    s.register("c.r").write(3, 5n);
    s.tofino?.pipes[1]?.ingress.registers.get("c.r")?.write(3, 0n);
    for (const port of [0, 0, second]) s.inject(port, frame);
    s.tofino?.exclusions.setNode(4, 1, 9);
    s.tofino?.exclusions.setPorts(7, [1, 2]);
    s.tofino?.packetGenerator.start(2, { timer: "periodic", period: 100, packet: frame, pipes: [1] }, 0);
    const snapshot = s.snapshot();
    const other = Switch.restore(json, snapshot, options, 1000);
    expect(other.snapshot()).toBe(snapshot);
    expect(sums(other)).toEqual([14n, 7n]);
    expect(other.tofino?.pipes.map(({ ingress }) => ingress.registers.get("c.r")?.read(3))).toEqual([5n, 0n]);
    expect(other.tofino?.exclusions.nodes()).toEqual([[4, 1, 9]]);
    expect(other.nextWakeup()).toBe(1100);
    other.inject(second, frame);
    expect(sums(other)).toEqual([14n, 14n]);
  });

  it("is refused by a switch with another personality, or other pipes", () => {
    const snapshot = new Switch(json, options).snapshot();
    expect(() => Switch.restore(json, snapshot, { ...options, pipes: 4 })).toThrow("there are 4, not 2");
    const without = snapshot.replace(/,"tofino":.*/, "}");
    expect(() => Switch.restore(json, without, options)).toThrow(SnapshotError);
    const damaged = snapshot.replace('"pipes":[{"c.r"', '"pipes":[{"c.other"');
    expect(() => Switch.restore(json, damaged, options)).toThrow("no such register");
  });
});
