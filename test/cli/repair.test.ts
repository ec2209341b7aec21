import { randomInt } from "node:crypto";
import { describe, expect, test } from "vitest";
import { repairProgram } from "../../src/cli/repairprogram.ts";
import { REPAIR_CASES } from "../../src/lab/repair/faults.ts";
import { type RepairOutcome, runRepair } from "../../src/lab/repair/run.ts";

/** Between two probes, in virtual milliseconds. */
const INTERVAL = 100;
/** A reset of slots and a write, each a way to the switch and back; and what the controller has to do first on the same switch. */
const WRITES = 12;

const program = repairProgram();

async function outcomeOf(name: string, seed: number = randomInt(2 ** 31)): Promise<RepairOutcome> {
  const found = REPAIR_CASES.find((c) => c.name === name);
  if (found === undefined) throw new RangeError(`no case ${name}`);
  const outcome = await runRepair(found, program, seed);
  expect({ name, seed, wrong: outcome.wrong }).toEqual({ name, seed, wrong: [] });
  return outcome;
}

/** Times are of the lab's clock, so they do not depend on the machine. */
describe("four leaves and four spines under gradient load", { timeout: 400_000 }, () => {
  test.each(["link", "job-link", "two-links"])(
    "%s: a dead link is known in under three probe intervals, repaired by one write, and no sum is lost",
    async (name) => {
      const { detected, repaired } = await outcomeOf(name);
      expect(detected).toBeLessThan(3 * INTERVAL);
      expect(repaired).toBeLessThan(3 * INTERVAL + WRITES);
      expect(repaired).toBeLessThan((detected ?? 0) + WRITES);
    },
  );

  test.each(["job-spine", "job-process", "link-and-spine"])(
    "%s: a switch that dies is repaired in under a second, and its job goes on elsewhere with the round that was open",
    async (name) => {
      const { repaired, moved, movedWithin, pause } = await outcomeOf(name);
      expect(moved).toBeLessThan(1000);
      expect(repaired).toBeDefined();
      expect(movedWithin).toBe(1);
      expect(pause).toBeLessThan(1000);
    },
  );

  test("while there is no controller the rounds go on, and the next one writes nothing that is there already", async () => {
    const { pause, pauseBefore, notices } = await outcomeOf("controller");
    expect(pause).toBeLessThan(2 * pauseBefore);
    expect(notices.filter(({ notice }) => notice.kind === "written")).toEqual([]);
    expect(notices.filter(({ notice }) => notice.kind === "switch" && notice.state === "ready")).toHaveLength(
      8,
    );
  });

  test("a worker that ends is left out after three seconds, and the others go on with the round that was open", async () => {
    const { detected, movedWithin } = await outcomeOf("worker");
    expect(detected).toBeLessThan(3100);
    expect(movedWithin).toBe(1);
  });

  test("a switch that dies with the controller is found by the next one", async () => {
    const { moved, movedWithin } = await outcomeOf("controller-and-spine");
    expect(moved).toBeLessThan(6000);
    expect(movedWithin).toBe(1);
  });

  test("a switch and a worker that end together cost two moves and no sum", async () => {
    expect((await outcomeOf("worker-and-spine")).movedWithin).toBe(1);
  });

  test("the same seed gives the same run", async () => {
    expect(await outcomeOf("job-process", 7)).toEqual(await outcomeOf("job-process", 7));
  });
});
