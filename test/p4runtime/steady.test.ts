import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Backoff } from "../../src/p4runtime/backoff.ts";
import { Code } from "../../src/p4runtime/code.ts";
import { identifyServer, serverProfile } from "../../src/p4runtime/server-profile.ts";
import { SteadyClient, type SteadyState } from "../../src/p4runtime/steady-client.ts";
import { P4RuntimeServer } from "../../src/switch/p4runtime/server.ts";
import { connect, PROGRAM_JSON, startPrimary, startServer, stopAfterTest } from "./bench.ts";
import { MemoryTarget } from "./memory-target.ts";
import { ID, PROGRAM } from "./program.ts";

describe("waits between attempts", () => {
  it("grow up to a limit, with jitter, and begin anew after a time that went well", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1 }), (chances) => {
        const backoff = new Backoff(
          { first: 100, most: 1000, steady: 50 },
          () => chances[backoff.failures % chances.length] ?? 0,
        );
        for (let i = 0; i < 10; i++) {
          const whole = Math.min(1000, 100 * 2 ** i);
          const wait = backoff.next(i === 0 ? 0 : 49);
          expect(wait).toBeLessThanOrEqual(whole);
          expect(wait).toBeGreaterThanOrEqual(whole / 2);
        }
        expect(backoff.next(50)).toBeLessThanOrEqual(100);
      }),
    );
  });
});

describe("a steady client", { timeout: 120_000 }, () => {
  it("comes back after the switch was gone, prepares each connection, and ends when it is closed", async () => {
    const { server } = await startServer();
    const { address } = server;
    const states: SteadyState[] = [];
    const prepared: (bigint | undefined)[] = [];
    const steady = SteadyClient.open({
      address,
      electionId: () => 7n,
      backoff: { first: 20, most: 50 },
      prepare: async (client) => {
        prepared.push(await client.getCookie());
        await client.pushPipeline(PROGRAM, PROGRAM_JSON, { cookie: 5n });
      },
      onState: (state) => states.push(state),
    });
    stopAfterTest(() => steady.close());
    const first = await steady.ready();
    expect(first.isPrimary).toBe(true);
    await server.close();
    await expect.poll(() => steady.state.kind, { timeout: 30_000 }).not.toBe("ready");
    expect(steady.client).toBeUndefined();
    const again = await P4RuntimeServer.start({ target: new MemoryTarget(), address });
    stopAfterTest(() => again.close());
    const second = await steady.ready();
    expect(second).not.toBe(first);
    expect(await second.getCookie()).toBe(5n);
    expect(prepared).toEqual([undefined, undefined]);
    expect(steady.connects).toBe(2);
    expect(states.find((s) => s.kind === "waiting")?.reason).toMatchObject({ code: Code.UNAVAILABLE });
    await steady.close();
    await expect(steady.ready()).rejects.toThrow(/closed/);
    expect(states.at(-1)).toEqual({ kind: "closed" });
  });

  it("closes at once while nobody listens", async () => {
    const steady = SteadyClient.open({ address: "127.0.0.1:1", electionId: () => 1n });
    const waiting = steady.ready();
    await Promise.all([expect(waiting).rejects.toThrow(/closed/), steady.close()]);
  });
});

describe("servers", { timeout: 60_000 }, () => {
  const evidence = {
    apiVersion: "1.3.0",
    errorSpaces: new Set<string>(),
    emptyPipelineText: undefined,
    architecture: "v1model",
  };

  it("are known by what they say", () => {
    expect(identifyServer(evidence)).toBe("standard");
    const pi = { ...evidence, errorSpaces: new Set(["ALL-sswitch-p4org"]) };
    expect(identifyServer(pi)).toBe("bmv2");
    expect(identifyServer({ ...pi, architecture: "tna" })).toBe("pi-tofino");
    expect(
      identifyServer({ ...evidence, emptyPipelineText: "No forwarding pipeline config set for this device" }),
    ).toBe("bmv2");
    expect(
      identifyServer({
        ...evidence,
        emptyPipelineText: "No valid forwarding pipeline config has been pushed for any node so far.",
      }),
    ).toBe("stratum");
    expect(serverProfile("standard", "1.3.0").comparison.watchPorts).toBe(false);
  });

  it("are asked once, and the embedded switch is found", async () => {
    const { client, target } = await startPrimary();
    expect(client.server.kind).toBe("standard");
    expect((await client.identify()).kind).toBe("gradplane");
    expect(target).toBeDefined();
  });

  it("of which it is known what they lack are not asked for it", async () => {
    const { client, server } = await startPrimary({ server: "bmv2" });
    const before = server.counters.updatesRefused;
    const { entities } = client;
    await expect(client.readAll([entities.register("sums", 0)])).rejects.toMatchObject({
      code: Code.UNIMPLEMENTED,
      message: expect.stringMatching(/register ingress\.sums\[0\]: simple_switch_grpc.*side channel/),
    });
    expect(server.counters.updatesRefused).toBe(before);
  });
});

describe("what comes over the stream", { timeout: 60_000 }, () => {
  it("can be read in loops; what nobody reads in time is counted (point 28)", async () => {
    const { client, target } = await startPrimary({ packetQueue: 2 });
    const { entities } = client;
    await client.write([{ type: "INSERT", entity: entities.digest("learn_t", { maxListSize: 1 }) }]);
    for (const value of [1, 2, 3, 4]) target.digest({ digest: "learn_t", values: [BigInt(value), 1n] });
    await expect.poll(() => client.dropped.digests).toBe(2);
    for await (const list of client.digests()) {
      expect(list.digestId).toBe(ID.digest);
      client.ackDigest(list);
      if (list.listId >= 2n) break;
    }
    client.ackDigest({ digestId: 99, listId: 1n });
    for await (const refusal of client.streamRefusals()) {
      expect(refusal).toMatchObject({ details: { case: "digestListAck" } });
      break;
    }
    expect(client.streamErrors).toBe(1);
  });

  it("a role's configuration goes with the role, and the default role has no name (points 1, 5)", async () => {
    const { server } = await startServer();
    const client = await connect(server.address, { role: "sdn", roleConfig: { typeUrl: "x/y" } });
    expect(await client.arbitrate(1n)).toMatchObject({ isPrimary: true });
  });
});
