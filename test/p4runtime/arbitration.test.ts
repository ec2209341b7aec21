import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { create } from "../../src/p4info/index.ts";
import { Code } from "../../src/p4runtime/code.ts";
import { electionIdMessage } from "../../src/p4runtime/election-id.ts";
import { MasterArbitrationUpdate } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { Arbitration, type ArbitrationAction } from "../../src/switch/p4runtime/arbitration.ts";

const DEVICE = 1n;

/** What a test wants to see of an action: `2:OK(5)` = stream 2 is told OK and that the highest id is 5. */
function short(action: ArbitrationAction): string {
  if (action.kind === "terminate") return `${action.stream}:end(${action.code})`;
  const code = action.update.status?.code;
  const name = code === Code.OK ? "OK" : code === Code.NOT_FOUND ? "NOT_FOUND" : "ALREADY_EXISTS";
  const id = action.update.electionId;
  return `${action.stream}:${name}(${id === undefined ? "unset" : id.low})`;
}

class Bench {
  readonly arbitration: Arbitration;

  constructor(limits = {}) {
    this.arbitration = new Arbitration(DEVICE, limits);
  }

  arbitrate(stream: number, id: bigint | undefined, role = "", deviceId = DEVICE): string[] {
    const update = create(MasterArbitrationUpdate, {
      deviceId,
      role: role === "" ? undefined : { name: role },
      electionId: id === undefined ? undefined : electionIdMessage(id),
    });
    return this.arbitration.handle({ kind: "arbitrate", stream, update }).map(short);
  }

  close(stream: number): string[] {
    return this.arbitration.handle({ kind: "closed", stream }).map(short);
  }

  isPrimary(id: bigint | undefined, role = ""): boolean {
    return this.arbitration.isPrimary(role, id === undefined ? undefined : electionIdMessage(id));
  }
}

describe("arbitration", () => {
  it("makes the client with the highest id the primary, and tells it last", () => {
    const bench = new Bench();
    expect(bench.arbitrate(1, 3n)).toEqual(["1:OK(3)"]);
    expect(bench.arbitrate(2, 4n)).toEqual(["1:ALREADY_EXISTS(4)", "2:OK(4)"]);
    expect(bench.arbitrate(3, 2n)).toEqual(["3:ALREADY_EXISTS(4)"]);
    expect(bench.isPrimary(4n)).toBe(true);
    expect(bench.isPrimary(3n)).toBe(false);
    expect(bench.arbitration.isPrimaryStream(2)).toBe(true);
  });

  it("leaves no primary when the primary goes, whatever lower ids are there", () => {
    const bench = new Bench();
    bench.arbitrate(1, 5n);
    bench.arbitrate(2, 4n);
    expect(bench.close(1)).toEqual(["2:NOT_FOUND(5)"]);
    expect(bench.isPrimary(5n)).toBe(false);
    expect(bench.isPrimary(4n)).toBe(false);
    expect(bench.arbitrate(2, 4n)).toEqual(["2:NOT_FOUND(5)"]);
    expect(bench.arbitrate(2, 5n)).toEqual(["2:OK(5)"]);
  });

  it("lets an id come back once its stream is closed, many times over (pitfall 18)", () => {
    const bench = new Bench();
    for (let round = 0; round < 50; round++) {
      expect(bench.arbitrate(round, 5n)).toEqual([`${round}:OK(5)`]);
      expect(bench.close(round)).toEqual([]);
    }
  });

  it("tells an absent id from {0, 0} (pitfall 20)", () => {
    const bench = new Bench();
    expect(bench.arbitrate(1, undefined)).toEqual(["1:NOT_FOUND(unset)"]);
    expect(bench.arbitrate(2, undefined)).toEqual(["2:NOT_FOUND(unset)"]);
    expect(bench.isPrimary(undefined)).toBe(false);
    expect(bench.arbitrate(3, 0n)).toEqual(["1:ALREADY_EXISTS(0)", "2:ALREADY_EXISTS(0)", "3:OK(0)"]);
    expect(bench.isPrimary(0n)).toBe(true);
    expect(bench.isPrimary(undefined)).toBe(false);
  });

  it("lets the primary step down, and tells everybody", () => {
    const bench = new Bench();
    bench.arbitrate(1, 5n);
    bench.arbitrate(2, 4n);
    expect(bench.arbitrate(1, 3n)).toEqual(["1:NOT_FOUND(5)", "2:NOT_FOUND(5)"]);
    expect(bench.arbitrate(1, undefined)).toEqual(["1:NOT_FOUND(5)"]);
    expect(bench.arbitrate(2, 6n)).toEqual(["1:ALREADY_EXISTS(6)", "2:OK(6)"]);
  });

  it("answers a primary that sends its id again", () => {
    const bench = new Bench();
    bench.arbitrate(1, 5n);
    expect(bench.arbitrate(1, 5n)).toEqual(["1:OK(5)"]);
  });

  it("ends the stream of a second client with the same id, and leaves the first alone", () => {
    const bench = new Bench();
    bench.arbitrate(1, 5n);
    expect(bench.arbitrate(2, 5n)).toEqual([`2:end(${Code.INVALID_ARGUMENT})`]);
    expect(bench.isPrimary(5n)).toBe(true);
    expect(bench.close(2)).toEqual([]);
  });

  it("ends a primary's stream that asks for an id in use, and tells the others", () => {
    const bench = new Bench();
    bench.arbitrate(1, 5n);
    bench.arbitrate(2, 4n);
    expect(bench.arbitrate(1, 4n)).toEqual([`1:end(${Code.INVALID_ARGUMENT})`, "2:NOT_FOUND(5)"]);
  });

  it("refuses unknown devices, and changes of device or role (pitfall 22)", () => {
    const bench = new Bench();
    expect(bench.arbitrate(1, 5n, "", 99n)).toEqual([`1:end(${Code.NOT_FOUND})`]);
    expect(bench.arbitrate(2, 5n, "", 0n)).toEqual([`2:end(${Code.NOT_FOUND})`]);
    bench.arbitrate(3, 5n);
    expect(bench.arbitrate(3, 5n, "", 99n)).toEqual([`3:end(${Code.FAILED_PRECONDITION})`]);
    bench.arbitrate(4, 6n, "monitor");
    expect(bench.arbitrate(4, 6n)).toEqual([`4:end(${Code.FAILED_PRECONDITION})`]);
  });

  it("has one primary for each role, with ids of their own", () => {
    const bench = new Bench();
    expect(bench.arbitrate(1, 5n)).toEqual(["1:OK(5)"]);
    expect(bench.arbitrate(2, 5n, "monitor")).toEqual(["2:OK(5)"]);
    expect(bench.arbitrate(3, 3n, "monitor")).toEqual(["3:ALREADY_EXISTS(5)"]);
    expect(bench.isPrimary(5n, "monitor")).toBe(true);
    expect(bench.isPrimary(5n, "other")).toBe(false);
    expect(bench.arbitration.knowsRole("other")).toBe(false);
    expect(bench.arbitration.primaries()).toEqual([1, 2]);
    expect(bench.close(2)).toEqual(["3:NOT_FOUND(5)"]);
  });

  it("gives each client the role and the config of the last primary", () => {
    const arbitration = new Arbitration(DEVICE);
    const config = { typeUrl: "example.com/config", value: Uint8Array.of(1) };
    const update = create(MasterArbitrationUpdate, {
      deviceId: DEVICE,
      role: { name: "monitor", config },
      electionId: electionIdMessage(1n),
    });
    arbitration.handle({ kind: "arbitrate", stream: 1, update });
    const [notice] = arbitration.handle({
      kind: "arbitrate",
      stream: 2,
      update: create(MasterArbitrationUpdate, { deviceId: DEVICE, role: { name: "monitor" } }),
    });
    expect(notice).toMatchObject({
      kind: "notify",
      stream: 2,
      update: { role: { name: "monitor", config } },
    });
  });

  it("keeps the streams and the roles within limits", () => {
    const bench = new Bench({ streamsPerRole: 2, roles: 2 });
    bench.arbitrate(1, undefined);
    bench.arbitrate(2, undefined);
    expect(bench.arbitrate(3, undefined)).toEqual([`3:end(${Code.RESOURCE_EXHAUSTED})`]);
    bench.arbitrate(4, undefined, "a");
    expect(bench.arbitrate(5, undefined, "b")).toEqual([`5:end(${Code.RESOURCE_EXHAUSTED})`]);
    bench.close(1);
    expect(bench.arbitrate(6, undefined)).toEqual(["6:NOT_FOUND(unset)"]);
  });

  it("keeps its invariants for any sequence of events", () => {
    const event = fc.oneof(
      fc.record({
        stream: fc.nat(4),
        id: fc.option(fc.bigInt(0n, 5n), { nil: undefined }),
        role: fc.constantFrom("", "monitor"),
      }),
      fc.record({ close: fc.nat(4) }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const bench = new Bench();
        const live = new Map<number, { id: bigint | undefined; role: string }>();
        const highest = new Map<string, bigint>();
        for (const step of events) {
          if ("close" in step) {
            bench.close(step.close);
            live.delete(step.close);
          } else {
            const actions = bench.arbitrate(step.stream, step.id, step.role);
            if (actions.some((action) => action.startsWith(`${step.stream}:end`))) live.delete(step.stream);
            else {
              live.set(step.stream, step);
              const seen = highest.get(step.role);
              if (step.id !== undefined && (seen === undefined || step.id >= seen))
                highest.set(step.role, step.id);
            }
          }
          for (const [stream, { id, role }] of live)
            expect(bench.arbitration.isPrimaryStream(stream)).toBe(
              id !== undefined && id === highest.get(role),
            );
          const ids = [...live.values()]
            .filter(({ id }) => id !== undefined)
            .map(({ id, role }) => `${role}${id}`);
          expect(new Set(ids).size).toBe(ids.length);
        }
      }),
    );
  });
});
