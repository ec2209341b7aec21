import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { Fleet, type FleetNotice, type FleetOptions } from "../../src/controller/fleet.ts";
import type { Placement } from "../../src/controller/jobs.ts";
import { OwnJob } from "../../src/controller/ownjob.ts";
import { StateMemory, type StateStore } from "../../src/controller/statefile.ts";
import type { Topology } from "../../src/controller/topology.ts";
import { P4RuntimeClient, p4infoFromBinary } from "../../src/p4runtime/index.ts";
import { aggregation, CHUNK, generated, LANES, SCALE } from "./network.ts";
import { Cable, type SteeredSwitch, startSwitch, startTwo } from "./switches.ts";

const program = {
  p4info: p4infoFromBinary(generated("p4info.bin")),
  deviceConfig: generated("attacked.json"),
};
const ROWS = 20;
const WORKERS = ["w0", "w1"];
/** Entries that admit the job: two workers and the server, per chunk of slots. */
const ADMISSIONS = 3 * Math.ceil(ROWS / CHUNK);

/** What a controller told. */
interface Told {
  readonly placements: Placement[];
  readonly notices: FleetNotice[];
}

const nothing = (): Told => ({ placements: [], notices: [] });

/** A controller, whether its switches can be had or not. */
async function begin(
  topology: Topology,
  told: Told = nothing(),
  changes: Partial<FleetOptions> = {},
): Promise<Fleet> {
  const fleet = await Fleet.start({
    topology,
    program,
    aggregation,
    everywhere: [],
    onNotice: (notice) => {
      told.notices.push(notice);
      if (notice.kind === "placed") told.placements.push(notice.placement);
    },
    heartbeat: 50,
    silence: 5000,
    backoff: { first: 20, most: 100 },
    ...changes,
  });
  onTestFinished(() => fleet.close());
  return fleet;
}

/** One whose switches are ready. */
async function start(...args: Parameters<typeof begin>): Promise<Fleet> {
  const fleet = await begin(...args);
  await fleet.ready();
  return fleet;
}

/** One that has no switch to steer: why. It is closed, and whatever it opened is to be closed with it. */
async function refusal(topology: Topology, changes: Partial<FleetOptions> = {}): Promise<string> {
  const fleet = await begin(topology, nothing(), changes);
  const reason = await fleet.ready(3000).then(
    () => expect.fail("it is ready"),
    (error: unknown) => String(error),
  );
  await fleet.close();
  return reason;
}

/** A job with some rows, by name. */
async function startJob(
  fleet: Fleet,
  { name = "job", rows = ROWS, workers = WORKERS, onLayout = (): void => {} } = {},
): Promise<OwnJob> {
  const job = await OwnJob.start(fleet, {
    name,
    server: "ps",
    spec: {
      workers,
      lanes: LANES,
      mode: { name: "int32", workers: 32, fractionBits: SCALE },
      rows: Array.from({ length: rows }, (_, r) => Array.from({ length: LANES }, (_, l) => r * LANES + l)),
      needsSwitch: false,
    },
    onLayout,
  });
  onTestFinished(() => job.close());
  return job;
}

/** Waits until the job is said to be on a switch, or on the server alone. */
async function placedOn(told: Told, on: string): Promise<Placement> {
  await expect.poll(() => placeOf(told), { timeout: 30_000 }).toBe(on);
  return told.placements.at(-1) ?? expect.fail("not placed");
}

/** Where the job was said to be last. */
function placeOf(told: Told): string | undefined {
  const last = told.placements.at(-1);
  return last === undefined ? undefined : (last.on ?? "server");
}

function admissions(of: SteeredSwitch): number {
  return [...of.engine.table("admission.member").entries()].length;
}

/** Nothing of a controller is left at a switch. */
async function isAlone(s: SteeredSwitch): Promise<void> {
  await expect.poll(() => s.cable.connections, { timeout: 10_000 }).toBe(0);
  await sleep(100);
  // A connection that was just being made may come about once more, and ends at once.
  await expect.poll(() => s.cable.connections, { timeout: 10_000 }).toBe(0);
}

describe("a switch that cannot be had is told with the reason, and nothing is left behind", {
  timeout: 60_000,
}, () => {
  test("when nobody listens at its address", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    s1.kill();
    const at = topology.switches[0]?.target ?? "";
    expect(await refusal(topology)).toMatch(new RegExp(`s1 .${at}.: .*UNAVAILABLE`));
    await isAlone(s2);
  });

  test("when it accepts the connection and never answers", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    s1.cable.silence();
    expect(await refusal(topology)).toMatch(/s1 .*DEADLINE_EXCEEDED/);
    await isAlone(s2);
  });

  test("when it has another device id", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const switches = topology.switches.map((s) => ({ ...s, deviceId: s.deviceId + 2n }));
    expect(await refusal({ ...topology, switches })).toMatch(/NOT_FOUND: there is no device [34]/);
    await Promise.all([isAlone(s1), isAlone(s2)]);
  });

  test("when a controller with a higher election id is there", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const other = await P4RuntimeClient.connect({ address: s1.server.address });
    onTestFinished(() => other.close());
    await other.arbitrate(2n ** 100n);
    expect(await refusal(topology)).toContain("another controller with a higher election id is primary");
    await Promise.all([isAlone(s1), isAlone(s2)]);
    expect(other.isPrimary).toBe(true);
  });

  test("when the P4Info does not belong to the JSON (pitfall 24)", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const p4info = {
      ...program.p4info,
      tables: program.p4info.tables.map((t) => ({ ...t, preamble: t.preamble && { ...t.preamble } })),
    };
    const [table] = p4info.tables;
    if (table?.preamble === undefined) throw new Error("the program has no table");
    table.preamble.name = "ingress.no_such_table";
    expect(await refusal(topology, { program: { ...program, p4info } })).toMatch(
      /SetForwardingPipelineConfig on .*INVALID_ARGUMENT.*no_such_table/,
    );
    await Promise.all([isAlone(s1), isAlone(s2)]);
  });

  test("when the JSON is garbage", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const deviceConfig = Uint8Array.from({ length: 1000 }, (_, i) => (i * 37) & 255);
    expect(await refusal(topology, { program: { ...program, deviceConfig } })).toMatch(
      /SetForwardingPipelineConfig on .*INVALID_ARGUMENT/,
    );
    await Promise.all([isAlone(s1), isAlone(s2)]);
  });
});

describe("a switch that dies while it is prepared", { timeout: 120_000 }, () => {
  test("at any byte of what it is sent: its job runs on the other", async () => {
    // How much a whole preparation and placement is.
    const whole = await startTwo(2);
    const quiet = { heartbeat: 60_000 };
    const told = nothing();
    const first = await start(whole.topology, told, quiet);
    await startJob(first);
    await placedOn(told, "s1");
    const bytes = whole.s1.cable.bytes;
    await first.close();
    expect(bytes).toBeGreaterThan(10_000);

    const steps = 24;
    for (let i = 0; i <= steps; i++) {
      const { topology, s1, s2 } = await startTwo(2);
      s1.cable.after(1 + Math.floor((bytes * i) / (steps + 1)), () => s1.kill());
      const heard = nothing();
      const fleet = await begin(topology, heard, quiet);
      await expect.poll(() => fleet.clientOf("s2"), { timeout: 30_000 }).toBeDefined();
      await startJob(fleet);
      await placedOn(heard, "s2");
      expect(admissions(s2)).toBe(ADMISSIONS);
      await fleet.close();
    }
  });
});

describe("a switch that is lost while a job runs", { timeout: 60_000 }, () => {
  test.each(["dies", "falls silent"])(
    "%s: the job moves to the other with the next generation",
    async (how) => {
      const { topology, s1, s2 } = await startTwo(2);
      const told = nothing();
      const fleet = await start(topology, told, { silence: 500 });
      const job = await startJob(fleet);
      const { generation } = await placedOn(told, "s1");
      job.roundOpen(17);
      if (how === "dies") s1.kill();
      else s1.cable.silence();
      expect(await placedOn(told, "s2")).toMatchObject({ generation: generation + 1, firstRound: 17 });
      expect(admissions(s2)).toBe(ADMISSIONS);
      expect(fleet.clientOf("s1")).toBeUndefined();
    },
  );

  test("right after the announcement", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const told = nothing();
    const fleet = await start(topology, told);
    await startJob(fleet, {
      onLayout: () => {
        if (placeOf(told) === "s1") s1.kill();
      },
    });
    await placedOn(told, "s2");
    expect(admissions(s2)).toBe(ADMISSIONS);
  });

  test("both at once: the server aggregates alone", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const told = nothing();
    await startJob(await start(topology, told));
    await placedOn(told, "s1");
    s1.kill();
    s2.kill();
    expect((await placedOn(told, "server")).generation).toBeGreaterThanOrEqual(2);
  });

  test("the spare first and then the job's: the server aggregates alone, at once", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const told = nothing();
    const fleet = await start(topology, told);
    await startJob(fleet);
    await placedOn(told, "s1");
    const { length } = told.placements;
    s2.kill();
    await expect.poll(() => fleet.clientOf("s2"), { timeout: 10_000 }).toBeUndefined();
    expect(told.placements).toHaveLength(length);
    s1.kill();
    await placedOn(told, "server");
  });

  test("and comes back: it is made ready again, its job stays where it went, and the next move may lead there", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const switches = topology.switches.map((s, i) => ({
      ...s,
      target: (i === 0 ? s1 : s2).server.address,
    }));
    const told = nothing();
    const fleet = await start({ ...topology, switches }, told);
    await startJob(fleet);
    await placedOn(told, "s1");
    const { address } = s1.server;
    s1.kill();
    const again = await startSwitch(1, address);
    await placedOn(told, "s2");
    await expect.poll(() => fleet.clientOf("s1"), { timeout: 30_000 }).toBeDefined();
    expect(again.engine.hasPipeline).toBe(true);
    expect(placeOf(told)).toBe("s2");
    s2.kill();
    await placedOn(told, "s1");
    expect(admissions(again)).toBe(ADMISSIONS);
  });
});

describe("a controller that starts again", { timeout: 60_000 }, () => {
  test("goes on with the generations of the one before, so that live hosts hear it", async () => {
    const { topology } = await startTwo(2);
    const state = new StateMemory();
    const first = nothing();
    const before = await start(topology, first, { state });
    const job = await startJob(before);
    const { generation } = await placedOn(first, "s1");
    job.end();
    await expect.poll(() => before.jobStates(), { timeout: 10_000 }).toEqual([]);
    await before.close();
    const second = nothing();
    const after = await start(topology, second, { state });
    await startJob(after);
    expect((await placedOn(second, "s1")).generation).toBeGreaterThan(generation);
  });

  test("has saved a generation before anybody hears of it, and waits when it cannot", async () => {
    const { topology } = await startTwo(2);
    const memory = new StateMemory();
    let isBroken = false;
    let saved = 0;
    const state: StateStore = {
      load: () => memory.load(),
      save: async (what) => {
        if (isBroken) throw new Error("disk full");
        await memory.save(what);
        saved = Math.max(saved, ...Object.values(what.generations));
      },
    };
    const told = nothing();
    const fleet = await start(topology, told, {
      state,
      onNotice: (notice) => {
        told.notices.push(notice);
        if (notice.kind !== "placed") return;
        expect(saved).toBeGreaterThanOrEqual(notice.placement.generation);
        told.placements.push(notice.placement);
      },
    });
    const job = await startJob(fleet);
    await placedOn(told, "s1");
    isBroken = true;
    job.end();
    await expect.poll(() => told.notices).toContainEqual({ kind: "saveFailed", reason: "disk full" });
  });

  test("does not overtake one that came later and has taken its switches", async () => {
    const { topology, s1 } = await startTwo(2);
    const first = nothing();
    await start(topology, first);
    await sleep(2);
    const second = await start(topology);
    const deposed = (): number =>
      first.notices.filter((n) => n.kind === "switch" && n.state === "deposed").length;
    await expect.poll(deposed, { timeout: 10_000 }).toBe(2);
    await sleep(300);
    expect(second.clientOf("s1")).toBeDefined();
    expect(second.clientOf("s1")?.isPrimary).toBe(true);
    expect(s1.server.openStreams).toBeLessThanOrEqual(2);
  });
});

describe("a controller that is given nonsense", { timeout: 60_000 }, () => {
  test("a topology in which one device or address stands twice is refused before any switch is touched", async () => {
    const { topology, s1 } = await startTwo(2);
    const [first, second] = topology.switches;
    if (first === undefined || second === undefined) throw new Error("no switches");
    const twice = { ...second, target: first.target, deviceId: first.deviceId };
    await expect(start({ ...topology, switches: [first, twice] })).rejects.toThrow(
      `s1 and s2 are both device 1 at ${first.target}`,
    );
    await expect(start({ ...topology, switches: [first, { ...second, ipv4: "10.0.0.1" }] })).rejects.toThrow(
      "s2 and w0 have the same address 10.0.0.1",
    );
    expect(s1.cable.bytes).toBe(0);
  });

  test("a job with a host that does not exist is refused, and other jobs keep their switches", async () => {
    const { topology, s1 } = await startTwo(2);
    const told = nothing();
    const fleet = await start(topology, told);
    await expect(startJob(fleet, { name: "other", workers: ["w0", "w7"] })).rejects.toThrow("w7");
    await startJob(fleet);
    await placedOn(told, "s1");
    expect(admissions(s1)).toBe(ADMISSIONS);
  });

  test("a job goes only to switches that reach all of its hosts", async () => {
    const { topology } = await startTwo(2);
    const hosts = topology.hosts.map((h) =>
      h.name === "w1" ? { ...h, attachments: h.attachments.filter((a) => a.switch === "s2") } : h,
    );
    const told = nothing();
    await startJob(await start({ ...topology, hosts }, told));
    await placedOn(told, "s2");
  });

  test("jobs that do not fit the switch's slots go by the server", async () => {
    const { topology } = await startTwo(2);
    const told = nothing();
    await startJob(await start(topology, told), { rows: 65 });
    expect(placeOf(told)).toBe("server");
  });
});

describe("a controller that is closed", { timeout: 60_000 }, () => {
  test("in the middle of a placement tells the hosts nothing more", async () => {
    const { topology, s1 } = await startTwo(2);
    const told = nothing();
    const fleet = await start(topology, told);
    s1.cable.silence();
    const starting = startJob(fleet).catch(() => {});
    await sleep(50);
    await fleet.close();
    const { length } = told.placements;
    await Promise.race([starting, sleep(50)]);
    expect(told.placements).toHaveLength(length);
    expect(placeOf(told)).not.toBe("s1");
  });

  test("stops a job and removes its entries before another takes its slots", async () => {
    const { topology, s1 } = await startTwo(2);
    const told = nothing();
    const fleet = await start(topology, told);
    const large = await startJob(fleet, { name: "large", rows: 64 });
    await placedOn(told, "s1");
    large.end();
    await startJob(fleet);
    expect(await placedOn(told, "s1")).toMatchObject({ slotBase: 0 });
    await expect.poll(() => admissions(s1)).toBe(ADMISSIONS);
  });
});

test("a cable is a cable: nothing is lost on one that is left alone", async () => {
  const s = await startSwitch(1);
  const cable = await Cable.open(s.server.address);
  const client = await P4RuntimeClient.connect({ address: cable.address });
  await client.arbitrate(1n);
  await client.pushPipeline(program.p4info, program.deviceConfig);
  await client.close();
  expect(s.engine.hasPipeline).toBe(true);
});
