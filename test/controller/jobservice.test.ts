import { describe, expect, test } from "vitest";
import { JobMember, listJobs, moveJob } from "../../src/controller/jobservice/client.ts";
import { JobRefusal } from "../../src/controller/jobservice/refusal.ts";
import { StateMemory } from "../../src/controller/statefile.ts";
import { P4RuntimeError } from "../../src/p4runtime/index.ts";
import { CHUNK, ROWS } from "../abuse/network.ts";
import { jobNetwork, KEYS, serving, shareOf, specOf, steer, WAIT, working } from "./jobnetwork.ts";

const WORKERS = ["w0", "w1", "w2"];

/** The sum of the members' gradients of a round, for each key. */
const sumOf = (round: number, members: readonly number[]): readonly number[] =>
  [...KEYS].map(() => members.reduce((sum, member) => sum + shareOf(member, round), 0));

const admissions = (network: Awaited<ReturnType<typeof jobNetwork>>, on: string): number => {
  const engine = network.switches.get(on)?.engine;
  return engine?.hasPipeline === true ? [...engine.table("admission.member").entries()].length : 0;
};

describe("the job service", { timeout: 120_000 }, () => {
  test("brings hosts together that know nothing but its address, and takes the job away when they are done", async () => {
    const network = await jobNetwork(3);
    const { address, notices } = await steer(network);
    const waiting = WORKERS.map((host) => working(network, [address], host, 20));
    const server = await serving(network, [address], specOf(WORKERS, { needsSwitch: false }));
    await Promise.all(waiting);
    expect((await server.end).message).toContain("all workers are done");
    for (let round = 1; round <= 20; round++)
      expect(server.updates.get(round)).toEqual(sumOf(round, [0, 1, 2]));
    await expect.poll(() => admissions(network, "s1") + admissions(network, "s2"), WAIT).toBe(0);
    expect(await listJobs([address])).toEqual([]);
    expect(notices.filter((n) => n.kind === "installFailed" || n.kind === "failed")).toEqual([]);
  });

  test("moves a job off a switch that dies, to its server, and back when asked; the sums stay exact", async () => {
    const network = await jobNetwork(3);
    const { address, notices } = await steer(network);
    await expect
      .poll(() => notices.filter((n) => n.kind === "switch" && n.state === "ready").length, WAIT)
      .toBe(2);
    const server = await serving(network, [address], specOf(WORKERS));
    const rounds = 60;
    const go: (() => void)[] = [];
    let open = 0;
    const gate = (round: number): Promise<void> =>
      new Promise((resolve) => {
        if (round <= open) resolve();
        else go.push(resolve);
      });
    const upTo = async (round: number): Promise<void> => {
      open = round;
      for (const resolve of go.splice(0)) resolve();
      await expect.poll(() => server.updates.size, WAIT).toBeGreaterThanOrEqual(round);
    };
    const workers = WORKERS.map((host) => working(network, [address], host, rounds, { gate }));
    const on = async () => (await listJobs([address]))[0]?.switch;
    await upTo(10);
    expect(await on()).toBe("s1");
    open = 30;
    for (const resolve of go.splice(0)) resolve();
    network.switches.get("s1")?.kill();
    await expect.poll(() => server.updates.size, WAIT).toBeGreaterThanOrEqual(30);
    expect(await on()).toBe("s2");
    await moveJob([address], "training", { kind: "server" });
    await expect.poll(on, WAIT).toBe("");
    await upTo(40);
    await moveJob([address], "training", undefined);
    await expect.poll(on, WAIT).toBe("s2");
    await upTo(rounds);
    await Promise.all(workers);
    for (let round = 1; round <= rounds; round++)
      expect(server.updates.get(round)).toEqual(sumOf(round, [0, 1, 2]));
  });

  test("goes on without a worker that falls silent, and takes it back by its number when it starts again", async () => {
    const network = await jobNetwork(3);
    const { address, notices } = await steer(network);
    const server = await serving(network, [address], specOf(WORKERS, { needsSwitch: false }));
    const rounds = 400;
    let crash = (): void => {};
    const lasting = ["w0", "w2"].map((host) =>
      working(network, [address], host, rounds, {
        gate: () => new Promise((resolve) => setTimeout(resolve, 20)),
      }),
    );
    const first = working(network, [address], "w1", rounds, {
      onStart: (_, how) => {
        crash = how;
      },
    });
    first.catch(() => {});
    await expect.poll(() => server.updates.size, WAIT).toBeGreaterThan(20);
    crash();
    await expect
      .poll(() => notices.some((n) => n.kind === "member" && n.member.state === "dead"), WAIT)
      .toBe(true);
    const at = server.updates.size;
    await expect.poll(() => server.updates.size, WAIT).toBeGreaterThan(at + 10);
    let resumedAt = 0;
    await working(network, [address], "w1", rounds, {
      onStart: (round) => {
        resumedAt = round;
      },
    });
    await Promise.all(lasting);
    expect(resumedAt).toBeGreaterThan(at);
    expect(server.updates.size).toBe(rounds);
    const [with1, without1] = [
      [0, 1, 2],
      [0, 2],
    ];
    for (let round = 1; round <= rounds; round++) {
      const found = server.updates.get(round);
      // A round that both knew, on the border, has the worker or has it not: as a whole.
      expect([sumOf(round, with1), sumOf(round, without1)]).toContainEqual(found);
      if (round <= 20 || round >= resumedAt) expect(found).toEqual(sumOf(round, with1));
    }
  });

  test("serves many jobs at once that do not touch each other, and takes one away without the others noticing", async () => {
    const network = await jobNetwork(6);
    const { address, notices } = await steer(network);
    await expect
      .poll(() => notices.filter((n) => n.kind === "switch" && n.state === "ready").length, WAIT)
      .toBe(2);
    const jobs = [
      { job: "a", host: "w4", workers: ["w0", "w1"], rounds: 60 },
      { job: "b", host: "w5", workers: ["w2", "w1", "w0"], rounds: 30 },
      { job: "c", host: "ps", workers: ["w3", "w0"], rounds: 45 },
    ];
    const servers = await Promise.all(
      jobs.map(({ job, host, workers }) =>
        serving(network, [address], specOf(workers), { job, host, ...network.plugsOf(host) }),
      ),
    );
    const status = await listJobs([address]);
    expect(new Set(status.map((s) => `${s.switch} ${s.slotBase}`)).size).toBe(3);
    // A host may serve many jobs only by as many ports: here each has a cable of its own, so one job at a time.
    for (const [i, { job, workers, rounds }] of jobs.entries()) {
      await Promise.all(workers.map((host) => working(network, [address], host, rounds, { job })));
      const members = workers.map((_, member) => member);
      for (let round = 1; round <= rounds; round++)
        expect(servers[i]?.updates.get(round)).toEqual(sumOf(round, members));
      expect((await listJobs([address])).map((s) => s.name)).toEqual(jobs.slice(i + 1).map((j) => j.job));
    }
  });

  test("tells hosts why they are refused, in types", async () => {
    const network = await jobNetwork(3);
    const { address, notices } = await steer(network);
    await expect
      .poll(() => notices.filter((n) => n.kind === "switch" && n.state === "ready").length, WAIT)
      .toBe(2);
    const join = (host: string, spec = specOf(WORKERS)) =>
      JobMember.join({
        controllers: [address],
        job: "x",
        host,
        spec,
        onLayout: () => {},
        onEnd: () => {},
        patience: 0,
      });
    await expect(join("nobody")).rejects.toMatchObject({ name: "JobRefusal", code: "UNKNOWN_HOST" });
    await expect(join("ps", specOf(WORKERS, { lanes: 3 }))).rejects.toMatchObject({ code: "DOES_NOT_FIT" });
    const big = Array.from({ length: ROWS + CHUNK }, (_, i) => [i]);
    await expect(join("ps", specOf(WORKERS, { rows: big }))).rejects.toMatchObject({ code: "NO_SLOTS" });
    await expect(moveJob([address], "x", undefined)).rejects.toBeInstanceOf(JobRefusal);
    const early = { controllers: [address], job: "x", host: "w0", onLayout: () => {}, onEnd: () => {} };
    await expect(JobMember.join({ ...early, patience: 0 })).rejects.toMatchObject({ code: "UNKNOWN_JOB" });
    await expect(
      JobMember.join({ ...early, controllers: ["127.0.0.1:1"], patience: 0 }),
    ).rejects.toBeInstanceOf(P4RuntimeError);
  });

  test("is found again by its hosts when the controller starts again in the middle, and no generation is spent on that", async () => {
    const network = await jobNetwork(3);
    const state = new StateMemory();
    const first = await steer(network, { state });
    await expect
      .poll(() => first.notices.filter((n) => n.kind === "switch" && n.state === "ready").length, WAIT)
      .toBe(2);
    const server = await serving(network, [first.address], specOf(WORKERS));
    const rounds = 150;
    const slow = { gate: () => new Promise<void>((resolve) => setTimeout(resolve, 20)) };
    const workers = WORKERS.map((host) => working(network, [first.address], host, rounds, slow));
    await expect.poll(() => server.updates.size, WAIT).toBeGreaterThan(10);
    const generation = first.fleet.jobs?.desk.placementOf("training")?.generation;
    first.server.close();
    await first.fleet.close();
    const second = await steer(network, { state, address: first.address });
    await expect
      .poll(() => second.notices.filter((n) => n.kind === "switch" && n.state === "ready").length, WAIT)
      .toBe(2);
    expect(second.fleet.jobs?.desk.placementOf("training")?.generation).toBe(generation);
    expect(second.notices.filter((n) => n.kind === "written")).toEqual([]);
    // It is a controller in full: what happens now is its business.
    network.switches.get("s1")?.kill();
    await Promise.all(workers);
    expect((await server.end).message).toContain("all workers are done");
    for (let round = 1; round <= rounds; round++)
      expect(server.updates.get(round)).toEqual(sumOf(round, [0, 1, 2]));
  });
});
