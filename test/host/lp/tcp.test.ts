import { type ChildProcess, spawn } from "node:child_process";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import type { Algorithm } from "../../../src/host/lp/schedule.ts";
import { type TcpGroup, type TcpGroupOptions, TcpSeat } from "../../../src/host/lp/tcp.ts";
import { seededRandom } from "../../../src/host/random.ts";
import { expectedSum } from "./serialsum.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((thing) => thing.close()));
});

const host = "127.0.0.1";
const patient = { silence: 60_000, openTimeout: 60_000 };

async function seats(nodes: number): Promise<readonly TcpSeat[]> {
  const made = await Promise.all(Array.from({ length: nodes }, () => TcpSeat.listen({ host, port: 0 })));
  open.push(...made);
  return made;
}

async function form(nodes: number, options: Partial<TcpGroupOptions> = {}): Promise<readonly TcpGroup[]> {
  const places = await seats(nodes);
  const addresses = places.map(({ port }) => ({ host, port }));
  const groups = await Promise.all(
    places.map((seat, node) =>
      seat.join({ node, addresses, session: 5, options: { ...patient, ...options } }),
    ),
  );
  open.push(...groups);
  return groups;
}

const bits = (values: Float32Array | undefined) =>
  values === undefined ? undefined : [...new Uint32Array(values.slice().buffer)];

describe("a group over TCP", () => {
  test.each(["chain", "tree", "exchange", "ring"] as const)(
    "does all operations by %s, bit for bit as its order of summation says",
    async (algorithm: Algorithm) => {
      const nodes = 5;
      const groups = await form(nodes, { block: 100 });
      const random = seededRandom(3);
      for (const length of [0, 1, 3, 1234]) {
        const x = groups.map(() =>
          Float32Array.from({ length }, () => (random() - 0.5) * 2 ** (random() * 30)),
        );
        const all = (what: (group: TcpGroup, values: Float32Array) => Promise<Float32Array | undefined>) =>
          Promise.all(groups.map((group, node) => what(group, x[node] ?? new Float32Array(0))));
        const [sums, reduced, copies] = await Promise.all([
          all((g, v) => g.allreduce(v, { algorithm })),
          all((g, v) => g.reduce(v, 3, { algorithm })),
          all((g, v) => g.broadcast(v, 2, { algorithm })),
        ]);
        const sum = bits(expectedSum(algorithm, "allreduce", 0, x));
        const toRoot = bits(expectedSum(algorithm, "reduce", 3, x));
        expect(sums.map(bits)).toEqual(groups.map(() => sum));
        expect(reduced.map(bits)).toEqual(groups.map((_, node) => (node === 3 ? toRoot : undefined)));
        expect(copies.map(bits)).toEqual(groups.map(() => bits(x[2])));
      }
    },
  );

  test("of one node needs nobody", async () => {
    const [alone] = await form(1);
    expect(await alone?.allreduce(Float32Array.of(1, 2))).toEqual(Float32Array.of(1, 2));
  });

  test("passes messages that are longer than any buffer of the system", async () => {
    const groups = await form(3, { block: 1_000_000 });
    const sums = await Promise.all(
      groups.map((g, i) => g.allreduce(new Float32Array(3_000_000).fill(i + 1))),
    );
    for (const sum of sums) expect([sum.length, sum.every((v) => v === 6)]).toEqual([3_000_000, true]);
  });

  test("lets a node be late for as long as it likes", async () => {
    const groups = await form(3, { silence: 300, heartbeat: 50 });
    const values = Float32Array.of(1);
    const early = [groups[0], groups[2]].map((g) => g?.allreduce(values, { algorithm: "exchange" }));
    await new Promise((resolve) => setTimeout(resolve, 700));
    const late = groups[1]?.allreduce(values, { algorithm: "exchange" });
    for (const sum of await Promise.all([...early, late])) expect(sum).toEqual(Float32Array.of(3));
  });

  test("may be left one by one when all is done", async () => {
    const groups = await form(4);
    const values = new Float32Array(100_000).fill(1);
    const done = groups.map(async (g) => {
      const sum = await g.reduce(values, 0);
      await g.close();
      return sum;
    });
    expect((await Promise.all(done))[0]?.every((v) => v === 4)).toBe(true);
  });

  test("names the node that never came", async () => {
    const [a, b] = await seats(2);
    const nobody = await TcpSeat.listen({ host, port: 0 });
    nobody.close();
    const addresses = [a, b, nobody].map((seat) => ({ host, port: seat?.port ?? 0 }));
    addresses[2] = { host, port: 1 };
    const joins = [a, b].map((seat, node) =>
      seat?.join({ node, addresses, session: 5, options: { ...patient, openTimeout: 500 } }),
    );
    const groups = await Promise.allSettled(joins);
    // Node 0 has its only neighbour: it is told later.
    expect(groups[1]).toMatchObject({ status: "rejected", reason: { code: "node_unreachable", node: 2 } });
    if (groups[0]?.status !== "fulfilled" || groups[0].value === undefined) throw new Error("no group");
    open.push(groups[0].value);
    await expect(groups[0].value.allreduce(new Float32Array(3))).rejects.toMatchObject({
      code: "node_unreachable",
      node: 2,
    });
  });

  test("is not disturbed by strangers, garbage, and nodes of another session", async () => {
    const places = await seats(2);
    const addresses = places.map(({ port }) => ({ host, port }));
    const say = (bytes: Uint8Array) =>
      new Promise<void>((resolve) => {
        const socket = connect({ host, port: places[0]?.port ?? 0 }, () => socket.write(bytes));
        socket.on("error", () => {});
        socket.on("close", () => resolve());
        socket.resume();
      });
    const random = seededRandom(1);
    const silent = connect({ host, port: places[0]?.port ?? 0 });
    open.push({ close: () => silent.destroy() });
    silent.on("error", () => {});
    const noise = Array.from({ length: 20 }, () => Uint8Array.from({ length: 200 }, () => random() * 256));
    const heard = Promise.all(noise.map(say));
    const foreign = await TcpSeat.listen({ host, port: 0 });
    open.push(foreign);
    const stranger = foreign.join({
      ...{ node: 1, addresses, session: 6 },
      options: { ...patient, openTimeout: 300 },
    });
    const groups = await Promise.all(
      places.map((seat, node) => seat.join({ node, addresses, session: 5, options: patient })),
    );
    open.push(...groups);
    await expect(stranger).rejects.toMatchObject({ code: "node_unreachable", node: 0 });
    const sums = await Promise.all(groups.map((g) => g.allreduce(Float32Array.of(2))));
    expect(sums).toEqual([Float32Array.of(4), Float32Array.of(4)]);
    await heard;
    expect(places[0]?.refused).toBeGreaterThanOrEqual(20);
  });

  test("fails by name when the lengths differ, before a single value is used", async () => {
    const groups = await form(3);
    const sums = await Promise.allSettled(
      groups.map((g, i) => g.allreduce(new Float32Array(i === 1 ? 9 : 10))),
    );
    for (const sum of sums)
      expect(sum).toMatchObject({ status: "rejected", reason: { code: "node_disagrees" } });
    await expect(groups[0]?.allreduce(new Float32Array(10))).rejects.toMatchObject({
      code: "node_disagrees",
    });
  });
});

describe("processes of a group", () => {
  interface Member {
    readonly child: ChildProcess;
    /** The next line that it prints. */
    line(): Promise<string>;
  }

  function start(node: number, length: number): Member {
    const script = fileURLToPath(new URL("member.ts", import.meta.url));
    const child = spawn(process.execPath, ["--import", "tsx", script, `${node}`, `${length}`], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    open.push({ close: () => child.kill("SIGKILL") });
    const lines: string[] = [];
    const waiting: ((line: string) => void)[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => {
      const next = waiting.shift();
      if (next === undefined) lines.push(line);
      else next(line);
    });
    const line = () =>
      new Promise<string>((resolve) => {
        const next = lines.shift();
        if (next === undefined) waiting.push(resolve);
        else resolve(next);
      });
    return { child, line };
  }

  test.each(["SIGKILL", "SIGSTOP"] as const)(
    "all hear which one it was when one gets %s",
    async (signal) => {
      const members = [0, 1, 2].map((node) => start(node, 50_000));
      const ports = await Promise.all(members.map(async (m) => Number((await m.line()).split(" ")[1])));
      for (const { child } of members) child.stdin?.write(`${JSON.stringify(ports)}\n`);
      expect(await Promise.all(members.map((m) => m.line()))).toEqual(["sum 6", "sum 6", "sum 6"]);
      members[1]?.child.kill(signal);
      const heard = await Promise.all([members[0]?.line(), members[2]?.line()]);
      expect(heard).toEqual(["error node_lost 1", "error node_lost 1"]);
    },
    60_000,
  );
});
