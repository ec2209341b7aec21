import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Leadership, type Reign } from "../../src/controller/leadership.ts";
import { EMPTY_STATE, StateError } from "../../src/controller/statefile.ts";
import { seededRandom } from "../../src/host/random.ts";
import {
  Code,
  insert,
  P4RuntimeClient,
  P4RuntimeError,
  P4RuntimeWriteError,
  remove,
} from "../../src/p4runtime/index.ts";
import { Cable, startSwitch } from "../abuse/switches.ts";
import { etcd, type RunningEtcd, startEtcd } from "./etcd.ts";
import { jobNetwork, program, serving, specOf, steer, WAIT, working } from "./jobnetwork.ts";

let running: RunningEtcd;
let prefixes = 0;
const never = new AbortController().signal;

/** Schedules by which a leader is cut off; 100 with GRADPLANE_LONG_TESTS. */
const SCHEDULES = process.env.GRADPLANE_LONG_TESTS === undefined ? 25 : 100;

/** Candidates for the lead of a network of their own. */
function candidates(): { readonly prefix: string; candidate(port?: number): Promise<Leadership> } {
  const prefix = `network${++prefixes}`;
  return {
    prefix,
    async candidate(port = running.port) {
      const leadership = await Leadership.open({ hosts: [`http://127.0.0.1:${port}`], prefix, ttl: 2 });
      onTestFinished(() => leadership.close());
      return leadership;
    },
  };
}

async function lead(leadership: Leadership): Promise<Reign> {
  const reign = await leadership.campaign(never);
  onTestFinished(() => reign?.resign());
  return reign ?? expect.fail("it was not aborted");
}

describe.skipIf(etcd === undefined)("several controllers", { timeout: 180_000 }, () => {
  beforeAll(async () => {
    running = await startEtcd();
  }, 60_000);
  afterAll(async () => {
    await running?.stop();
  });

  test("one leads at a time, and each leader's election id is above those before", async () => {
    const { candidate } = candidates();
    const first = await lead(await candidate());
    let second: Reign | undefined;
    const waiting = lead(await candidate()).then((reign) => {
      second = reign;
      return reign;
    });
    await sleep(300);
    expect(second).toBeUndefined();
    await first.resign();
    expect((await waiting).electionId).toBeGreaterThan(first.electionId);
    // A switch that was led by a controller without etcd takes a leader, too.
    expect(first.electionId).toBeGreaterThan(BigInt(Date.now()) * 1000n);
    expect(await first.over).toBe("it resigned");
  });

  test("who stands for the lead can give up, and leaves nothing behind", async () => {
    const { candidate, prefix } = candidates();
    await lead(await candidate());
    const stop = new AbortController();
    const waiting = (await candidate()).campaign(stop.signal);
    await sleep(200);
    stop.abort();
    expect(await waiting).toBeUndefined();
    expect(await running.client.getAll().prefix(`${prefix}/candidates/`).count()).toBe(1);
  });

  test("the state goes from leader to leader, and is taken only from who leads", async () => {
    const { candidate } = candidates();
    const first = await lead(await candidate());
    expect(await first.state.load()).toEqual({ ...EMPTY_STATE, jobs: [] });
    const state = { generations: { 3: 7 }, placements: [], drained: ["s1"], jobs: [] };
    await first.state.save(state);
    await first.resign();
    const second = await lead(await candidate());
    expect(await second.state.load()).toEqual(state);
    await expect(first.state.save(EMPTY_STATE)).rejects.toThrow(StateError);
    await expect(first.state.save(EMPTY_STATE)).rejects.toThrow("another controller leads");
    expect(await second.state.load()).toEqual(state);
  });

  test("a leader that etcd does not hear any more knows it by itself", async () => {
    const { candidate } = candidates();
    const cable = await Cable.open(`127.0.0.1:${running.port}`);
    const reign = await lead(await candidate(Number(cable.address.split(":")[1])));
    cable.silence();
    const cutAt = Date.now();
    expect(await reign.over).toMatch(/etcd has not answered for 2 s/);
    expect(Date.now() - cutAt).toBeGreaterThan(500);
    await expect(reign.state.save({ ...EMPTY_STATE, drained: ["s2"] })).rejects.toThrow(StateError);
  });

  test("an address where no etcd is says so", async () => {
    await expect(candidates().candidate(1)).rejects.toThrow(/^etcd: /);
  });

  test("a leader that is cut off from etcd but not from the switches cannot write after the takeover, by random schedules", async () => {
    const seed = Date.now() % 2 ** 31;
    const random = seededRandom(seed);
    const switches = await Promise.all([1, 2].map((id) => startSwitch(id)));
    const connect = (i: number) =>
      P4RuntimeClient.connect({ address: switches[i]?.server.address ?? "", deviceId: BigInt(i + 1) });
    for (const [i] of switches.entries()) {
      const client = await connect(i);
      await client.arbitrate(1n);
      await client.pushPipeline(program.p4info, program.deviceConfig);
      await client.close();
    }
    let denied = 0;
    let taken = 0;
    for (let schedule = 0; schedule < SCHEDULES; schedule++) {
      const hint = `seed ${seed}, schedule ${schedule}`;
      const { candidate, prefix } = candidates();
      const cable = await Cable.open(`127.0.0.1:${running.port}`);
      const [old, next] = await Promise.all([candidate(Number(cable.address.split(":")[1])), candidate()]);
      const before = (await old.campaign(never)) ?? expect.fail(hint);
      const waiting = next.campaign(never);
      const clients = await Promise.all(switches.map((_, i) => connect(i)));
      for (const client of clients) {
        await client.useProgram(program.p4info);
        expect((await client.arbitrate(before.electionId)).isPrimary, hint).toBe(true);
      }
      // The switches that the new leader has by now.
      const fenced = new Set<number>();
      let isOver = false;
      let refusals = 0;
      const writing = clients.map(async (client, i) => {
        for (let n = 0; !isOver; n++) {
          const wasFenced = fenced.has(i);
          const entry = client.entities.tableEntry(
            "forwarding.route",
            { dst_addr: `99.0.${i}.${n & 255}/32` },
            "forwarding.to_local",
          );
          try {
            await client.write([insert(entry)]);
            await client.write([remove(entry)]);
            expect(wasFenced, `${hint}: a write of the former leader was taken`).toBe(false);
            taken++;
          } catch (error) {
            if (!(error instanceof P4RuntimeError || error instanceof P4RuntimeWriteError)) throw error;
            if (error.code === Code.PERMISSION_DENIED) refusals++;
            else if (wasFenced) throw error;
          }
          await sleep(random() * 2);
        }
      });
      await sleep(random() * 15);
      // Cut, or only silent; and the lease runs out sooner or later.
      if (random() < 0.5) cable.cut();
      else cable.silence();
      await sleep(random() * 15);
      const [oldest] = (
        await running.client.getAll().prefix(`${prefix}/candidates/`).sort("Create", "Ascend").exec()
      ).kvs;
      await running.client.leaseClient.leaseRevoke({ ID: oldest?.lease ?? "0" });
      const after = (await waiting) ?? expect.fail(hint);
      expect(after.electionId > before.electionId, hint).toBe(true);
      const leaders = await Promise.all(switches.map((_, i) => connect(i)));
      for (const [i, client] of leaders.entries()) {
        await sleep(random() * 5);
        expect((await client.arbitrate(after.electionId)).isPrimary, hint).toBe(true);
        fenced.add(i);
      }
      await expect.poll(() => refusals, { interval: 2, timeout: 20_000 }).toBeGreaterThan(3);
      isOver = true;
      await Promise.all(writing);
      denied += refusals;
      cable.cut();
      await Promise.all([...clients, ...leaders].map((client) => client.close()));
      void before.resign();
      await after.resign();
      old.close();
      next.close();
    }
    expect(denied).toBeGreaterThan(3 * SCHEDULES);
    expect(taken).toBeGreaterThan(0);
  });

  test("a job goes on under the next leader when the first is gone without a word", async () => {
    const network = await jobNetwork(2);
    const { candidate } = candidates();
    const ports = await Cable.open(`127.0.0.1:${running.port}`);
    const first = await lead(await candidate(Number(ports.address.split(":")[1])));
    const steering = await steer(network, { state: first.state, electionId: first.electionId });
    await expect
      .poll(() => steering.notices.filter((n) => n.kind === "switch" && n.state === "ready").length, WAIT)
      .toBe(2);
    const standby = await candidate();
    const waiting = lead(standby);
    const nextAddress = `127.0.0.1:${await (await import("../../src/cli/freeport.ts")).freePort()}`;
    const controllers = [steering.address, nextAddress];
    const server = await serving(network, controllers, specOf(["w0", "w1"]));
    const rounds = 60;
    let isKilled = false;
    // Most of them are left for the time after the switch that both controllers began with.
    const gate = async (round: number): Promise<void> => {
      await sleep(10);
      while (round > 40 && !isKilled) await sleep(10);
    };
    const workers = ["w0", "w1"].map((host) => working(network, controllers, host, rounds, { gate }));
    await expect.poll(() => server.updates.size, WAIT).toBeGreaterThan(5);
    // As a loss of power: etcd, switches and hosts hear nothing of it any more.
    ports.cut();
    steering.server.close();
    await steering.fleet.close();
    const second = await waiting;
    const next = await steer(network, {
      state: second.state,
      electionId: second.electionId,
      address: nextAddress,
    });
    await expect
      .poll(() => next.notices.filter((n) => n.kind === "switch" && n.state === "ready").length, WAIT)
      .toBe(2);
    network.switches.get("s1")?.kill();
    isKilled = true;
    await Promise.all(workers);
    expect((await server.end).message).toContain("all workers are done");
    expect(server.updates.size).toBe(rounds);
    expect(next.notices.some((n) => n.kind === "placed" && n.placement.on === "s2")).toBe(true);
  });
});
