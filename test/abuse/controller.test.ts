import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { Controller, type ControllerOptions, type Notice } from "../../src/controller/controller.ts";
import type { Placement } from "../../src/controller/jobs.ts";
import { StateMemory, type StateStore } from "../../src/controller/statefile.ts";
import type { Topology } from "../../src/controller/topology.ts";
import { P4RuntimeClient, p4infoFromBinary } from "../../src/p4runtime/index.ts";
import { aggregation, CHUNK, generated, SCALE } from "./network.ts";
import { Cable, type SteeredSwitch, startSwitch, startTwo } from "./switches.ts";

const program = {
  p4info: p4infoFromBinary(generated("p4info.bin")),
  deviceConfig: generated("attacked.json"),
};
const ROWS = 20;
const JOB = { job: 1, workers: ["w0", "w1"], server: "ps", rows: ROWS, scale: SCALE, firstRound: 1 };
/** Entries that admit the job: two workers and the server, per chunk of slots. */
const ADMISSIONS = 3 * Math.ceil(ROWS / CHUNK);

/** What a controller told. */
interface Told {
  readonly placements: Placement[];
  readonly notices: Notice[];
}

const nothing = (): Told => ({ placements: [], notices: [] });

async function start(
  topology: Topology,
  told: Told = nothing(),
  changes: Partial<ControllerOptions> = {},
): Promise<Controller> {
  const controller = await Controller.start({
    topology,
    program,
    aggregation,
    everywhere: [],
    onPlacement: (p) => told.placements.push(p),
    onNotice: (n) => told.notices.push(n),
    heartbeat: 50,
    silence: 5000,
    ...changes,
  });
  onTestFinished(() => controller.close());
  return controller;
}

/** Waits until the job is said to be on a switch, or on the server alone. */
async function placedOn(told: Told, on: string): Promise<Placement> {
  await expect.poll(() => told.placements.at(-1)?.on ?? "server", { timeout: 30_000 }).toBe(on);
  return told.placements.at(-1) ?? expect.fail("not placed");
}

function admissions(of: SteeredSwitch): number {
  return [...of.engine.table("admission.member").entries()].length;
}

/** Nothing of a controller is left at a switch. */
async function isAlone(s: SteeredSwitch): Promise<void> {
  await expect.poll(() => s.cable.connections, { timeout: 10_000 }).toBe(0);
  await sleep(100);
  expect(s.cable.connections).toBe(0);
}

describe("a controller that cannot start says why and leaves nothing behind", { timeout: 60_000 }, () => {
  test("when nobody listens at a switch's address", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const at = topology.switches[0]?.target;
    s1.kill();
    await expect(start(topology)).rejects.toThrow(`Capabilities on ${at}: UNAVAILABLE`);
    await isAlone(s2);
  });

  test("when a switch accepts the connection and never answers", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    s1.cable.silence();
    await expect(start(topology)).rejects.toThrow(
      `Capabilities on ${topology.switches[0]?.target}: DEADLINE_EXCEEDED`,
    );
    // gRPC gives up the silent connection in its own time; it does not keep the process.
    await isAlone(s2);
  });

  test("when a switch has another device id", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const switches = topology.switches.map((s) => ({ ...s, deviceId: s.deviceId + 2n }));
    await expect(start({ ...topology, switches })).rejects.toThrow(/NOT_FOUND: there is no device [34]/);
    await Promise.all([isAlone(s1), isAlone(s2)]);
  });

  test("when a controller with a higher election id is there", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const other = await P4RuntimeClient.connect({ address: s1.server.address });
    onTestFinished(() => other.close());
    await other.arbitrate(2n ** 100n);
    await expect(start(topology)).rejects.toThrow(
      `s1 (${topology.switches[0]?.target}): another controller with a higher election id (${2n ** 100n}) is primary`,
    );
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
    await expect(start(topology, nothing(), { program: { ...program, p4info } })).rejects.toThrow(
      /SetForwardingPipelineConfig on .*INVALID_ARGUMENT.*no_such_table/,
    );
    await Promise.all([isAlone(s1), isAlone(s2)]);
  });

  test("when the JSON is garbage", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const deviceConfig = Uint8Array.from({ length: 1000 }, (_, i) => (i * 37) & 255);
    await expect(start(topology, nothing(), { program: { ...program, deviceConfig } })).rejects.toThrow(
      /SetForwardingPipelineConfig on .*INVALID_ARGUMENT/,
    );
    await Promise.all([isAlone(s1), isAlone(s2)]);
  });
});

describe("a switch that dies while it is prepared", { timeout: 120_000 }, () => {
  test("at any byte of what it is sent: the controller says so and ends, or goes on without it", async () => {
    // How much a whole preparation and placement is.
    const whole = await startTwo(2);
    const controller = await start(whole.topology, nothing(), { heartbeat: 60_000 });
    await controller.startJob(JOB);
    const bytes = whole.s1.cable.bytes;
    await controller.close();
    expect(bytes).toBeGreaterThan(10_000);

    const steps = 24;
    for (let i = 0; i <= steps; i++) {
      const { topology, s1, s2 } = await startTwo(2);
      const target = topology.switches[0]?.target ?? "";
      s1.cable.after(1 + Math.floor((bytes * i) / steps), () => s1.kill());
      const told = nothing();
      let started: Controller | undefined;
      try {
        started = await start(topology, told, { heartbeat: 60_000 });
      } catch (error) {
        expect(String(error)).toContain(target);
        expect(String(error)).toMatch(/UNAVAILABLE|stream|connection/i);
        await isAlone(s2);
        continue;
      }
      await started.startJob(JOB);
      const placement = told.placements.at(-1);
      expect(placement).toBeDefined();
      if (s1.cable.bytes > 1 + (bytes * i) / steps) {
        await placedOn(told, "s2");
        expect(admissions(s2)).toBe(ADMISSIONS);
      }
      await started.close();
    }
  });
});

describe("a switch that is lost while a job runs", { timeout: 60_000 }, () => {
  test.each(["dies", "falls silent"])(
    "%s: the job moves to the other with the next generation",
    async (how) => {
      const { topology, s1, s2 } = await startTwo(2);
      const told = nothing();
      const controller = await start(topology, told, { silence: 500 });
      await controller.startJob(JOB);
      expect(told.placements).toMatchObject([{ on: "s1", generation: 1, firstRound: 1 }]);
      controller.roundOpen(1, 17);
      if (how === "dies") s1.kill();
      else s1.cable.silence();
      const placement = await placedOn(told, "s2");
      expect(placement).toMatchObject({ generation: 2, firstRound: 17 });
      expect(admissions(s2)).toBe(ADMISSIONS);
      expect(controller.session("s1")).toBeUndefined();
    },
  );

  test("right after the announcement", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const told = nothing();
    const controller = await start(topology, told, {
      onPlacement: (p) => {
        told.placements.push(p);
        if (p.on === "s1") s1.kill();
      },
    });
    await controller.startJob(JOB);
    expect(await placedOn(told, "s2")).toMatchObject({ generation: 2 });
    expect(admissions(s2)).toBe(ADMISSIONS);
  });

  test("both at once: the server aggregates alone", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const told = nothing();
    const controller = await start(topology, told);
    await controller.startJob(JOB);
    s1.kill();
    s2.kill();
    const { generation } = await placedOn(told, "server");
    expect(generation).toBeGreaterThanOrEqual(2);
  });

  test("the spare first and then the job's: the server aggregates alone, at once", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const told = nothing();
    const controller = await start(topology, told);
    await controller.startJob(JOB);
    s2.kill();
    await expect.poll(() => controller.session("s2"), { timeout: 10_000 }).toBeUndefined();
    expect(told.placements).toHaveLength(1);
    s1.kill();
    expect(await placedOn(told, "server")).toMatchObject({ generation: 2 });
  });

  test("the new one as well, while it takes the job over", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const told = nothing();
    const controller = await start(topology, told, { heartbeat: 60_000 });
    await controller.startJob(JOB);
    s2.cable.after(s2.cable.bytes + 500, () => s2.kill());
    s1.kill();
    expect((await placedOn(told, "server")).generation).toBeGreaterThanOrEqual(3);
  });

  test("and comes back empty at the same address: it is prepared, its job stays where it went, and moves back when it must", async () => {
    const [s1, s2] = await Promise.all([startSwitch(1), startSwitch(2)]);
    const { topology } = await startTwo(2);
    const switches = topology.switches.map((s, i) => ({
      ...s,
      target: (i === 0 ? s1 : s2).server.address,
    }));
    const told = nothing();
    const controller = await start({ ...topology, switches }, told, { retry: 20 });
    await controller.startJob(JOB);
    const { address } = s1.server;
    s1.kill();
    const again = await startSwitch(1, address);
    await placedOn(told, "s2");
    const ready = () => told.notices.filter((n) => n.kind === "switchReady" && n.name === "s1").length;
    await expect.poll(ready, { timeout: 30_000 }).toBe(2);
    expect(again.engine.hasPipeline).toBe(true);
    expect(told.placements.map((p) => p.on)).toEqual(["s1", "s2"]);
    s2.kill();
    expect(await placedOn(told, "s1")).toMatchObject({ generation: 3 });
    expect(admissions(again)).toBe(ADMISSIONS);
  });
});

describe("a controller that starts again", { timeout: 60_000 }, () => {
  test("goes on with the generations of the one before, so that live hosts hear it", async () => {
    const { topology } = await startTwo(2);
    const state = new StateMemory();
    const first = nothing();
    const before = await start(topology, first, { state });
    await before.startJob(JOB);
    await before.stopJob(1);
    await before.startJob(JOB);
    expect(first.placements.map((p) => p.generation)).toEqual([1, 2]);
    await before.close();
    await sleep(2);
    const second = nothing();
    const after = await start(topology, second, { state });
    await after.startJob({ ...JOB, firstRound: 9 });
    expect(second.placements).toMatchObject([{ on: "s1", generation: 3, firstRound: 9 }]);
    expect(await state.load()).toMatchObject({ generations: { 1: 3 }, placements: [{ generation: 3 }] });
  });

  test("has saved a generation before anybody hears of it, and says when it could not", async () => {
    const { topology } = await startTwo(2);
    const memory = new StateMemory();
    let isBroken = false;
    const state: StateStore = {
      load: () => memory.load(),
      save: (what) => (isBroken ? Promise.reject(new Error("disk full")) : memory.save(what)),
    };
    const heard: [number, number | undefined][] = [];
    const told = nothing();
    const saved = new Map<number, number | undefined>();
    const controller = await start(topology, told, {
      state: {
        load: () => state.load(),
        save: async (what) => {
          await state.save(what);
          saved.set(1, what.generations[1]);
        },
      },
      onPlacement: (p) => heard.push([p.generation, saved.get(1)]),
    });
    await controller.startJob(JOB);
    expect(heard).toEqual([[1, 1]]);
    isBroken = true;
    await controller.stopJob(1);
    expect(told.notices).toContainEqual(expect.objectContaining({ kind: "saveFailed", reason: "disk full" }));
  });

  test("does not overtake one that came later and has taken its switches", async () => {
    const { topology, s1 } = await startTwo(2);
    const first = nothing();
    await start(topology, first, { retry: 10 });
    await sleep(2);
    const second = await start(topology);
    await sleep(300);
    expect(first.notices.filter((n) => n.kind === "switchLost")).toHaveLength(2);
    expect(second.session("s1")).toBeDefined();
    expect(s1.server.openStreams).toBe(1);
  });
});

describe("two controllers", { timeout: 60_000 }, () => {
  test("the later one takes over; the earlier one notices, says by whom, and moves its job away", async () => {
    const { topology, s1, s2 } = await startTwo(2);
    const told = nothing();
    const controller = await start(topology, told);
    await controller.startJob(JOB);
    const other = await P4RuntimeClient.connect({ address: s1.server.address });
    onTestFinished(() => other.close());
    await other.arbitrate(2n ** 70n);
    await placedOn(told, "s2");
    const lost = told.notices.filter((n) => n.kind === "switchLost");
    expect(lost).toMatchObject([
      { name: "s1", reason: `another controller has taken over (election id ${2n ** 70n})` },
    ]);
    expect(other.isPrimary).toBe(true);
    expect(admissions(s2)).toBe(ADMISSIONS);
  });

  test("the whole of the second one over both switches: its job runs, the first's is with the server alone", async () => {
    const { topology, s1 } = await startTwo(2);
    const first = nothing();
    await (await start(topology, first)).startJob(JOB);
    // Election ids are milliseconds.
    await sleep(2);
    const second = nothing();
    await (await start(topology, second)).startJob({ ...JOB, job: 2 });
    await placedOn(first, "server");
    expect(second.placements).toMatchObject([{ job: 2, on: "s1", generation: 1 }]);
    expect(admissions(s1)).toBe(ADMISSIONS);
  });

  test("one that takes over while the other prepares the switch: the other fails and says so", async () => {
    const { topology, s1 } = await startTwo(2);
    const other = await P4RuntimeClient.connect({ address: s1.server.address });
    onTestFinished(() => other.close());
    const starting = start(topology, nothing(), {
      onNotice: (n) => {
        // The base entries are in; the rest is on its way.
        if (n.kind === "switchReady") void other.arbitrate(2n ** 70n);
      },
    });
    const told = nothing();
    const controller = await starting.catch((error: unknown) => {
      expect(String(error)).toMatch(/another controller|PERMISSION_DENIED/);
      return undefined;
    });
    if (controller === undefined) return;
    await expect.poll(() => controller.session("s1"), { timeout: 10_000 }).toBeUndefined();
    expect(told.placements).toEqual([]);
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
    const controller = await start(topology, told);
    await expect(controller.startJob({ ...JOB, workers: ["w0", "w7"] })).rejects.toThrow(
      "there is no host w7",
    );
    await controller.startJob(JOB);
    expect(told.placements).toMatchObject([{ on: "s1", generation: 1 }]);
    expect(admissions(s1)).toBe(ADMISSIONS);
    await expect(controller.startJob(JOB)).rejects.toThrow("job 1 exists already");
  });

  test("a job goes only to switches that reach all of its hosts", async () => {
    const { topology, s2 } = await startTwo(2);
    const hosts = topology.hosts.map((h) =>
      h.name === "w1" ? { ...h, attachments: h.attachments.filter((a) => a.switch === "s2") } : h,
    );
    const told = nothing();
    const controller = await start({ ...topology, hosts }, told);
    await controller.startJob(JOB);
    expect(told.placements).toMatchObject([{ on: "s2", generation: 1 }]);
    s2.kill();
    expect(await placedOn(told, "server")).toMatchObject({ generation: 2 });
    await controller.startJob({ ...JOB, job: 2, workers: ["w0"] });
    expect(told.placements.at(-1)).toMatchObject({ job: 2, on: "s1" });
  });

  test("jobs that do not fit the switch's slots go by the server", async () => {
    const { topology } = await startTwo(2);
    const told = nothing();
    const controller = await start(topology, told);
    await controller.startJob({ ...JOB, rows: 65 });
    expect(told.placements).toMatchObject([{ on: undefined, generation: 1 }]);
  });

  test("hosts that cannot be told are no reason to stop: startJob says why, and later moves are carried out", async () => {
    const { topology, s1 } = await startTwo(2);
    const told = nothing();
    const controller = await start(topology, told, {
      onPlacement: (p) => {
        told.placements.push(p);
        if (p.generation === 1) throw new Error("no way to the hosts");
      },
    });
    await expect(controller.startJob(JOB)).rejects.toThrow("no way to the hosts");
    expect(told.notices.map((n) => n.kind)).toContain("announceFailed");
    s1.kill();
    expect(await placedOn(told, "s2")).toMatchObject({ generation: 2 });
  });
});

describe("a controller that is closed", { timeout: 60_000 }, () => {
  test("in the middle of a placement tells the hosts nothing more", async () => {
    const { topology, s1 } = await startTwo(2);
    const told = nothing();
    const controller = await start(topology, told);
    s1.cable.silence();
    const starting = controller.startJob(JOB).catch(() => {});
    await sleep(50);
    await controller.close();
    await starting;
    await sleep(50);
    expect(told.placements).toEqual([]);
  });

  test("stops a job and removes its entries before another takes its slots", async () => {
    const { topology, s1 } = await startTwo(2);
    const told = nothing();
    const controller = await start(topology, told);
    await controller.startJob({ ...JOB, rows: 64 });
    const stopping = controller.stopJob(1);
    await controller.startJob({ ...JOB, job: 2 });
    await stopping;
    expect(told.placements.at(-1)).toMatchObject({ job: 2, on: "s1", slotBase: 0 });
    expect(admissions(s1)).toBe(ADMISSIONS);
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
