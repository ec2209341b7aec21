import { describe, expect, it } from "vitest";
import { Code } from "../../src/p4runtime/code.ts";
import { insert, remove } from "../../src/p4runtime/entities.ts";
import { AccessQueue, type Steps, type Turns } from "../../src/switch/p4runtime/access-queue.ts";
import { connect, PROGRAM_JSON, startServer } from "./bench.ts";
import { PROGRAM } from "./program.ts";

/** Turns whose time is over after each step; `next` is the event loop's other work. */
class ShortTurns implements Turns {
  #now = 0;
  #later: (() => void)[] = [];

  now(): number {
    this.#now += 10;
    return this.#now;
  }

  later(work: () => void): void {
    this.#later.push(work);
  }

  /** One turn; false when nothing is left to do. */
  next(): boolean {
    const work = this.#later.shift();
    work?.();
    return work !== undefined;
  }

  all(): void {
    while (this.next());
  }
}

const wanted = { isEnded: false };

/** Work of some steps that tells of each. */
function* steps(name: string, count: number, log: string[]): Steps<string> {
  for (let step = 1; step <= count; step++) {
    log.push(`${name}${step}`);
    if (step < count) yield;
  }
  return name;
}

describe("reads and writes of one device", () => {
  it("are answered at once when they are quick and nothing is in front", () => {
    const queue = new AccessQueue(new ShortTurns());
    expect(queue.run("write", wanted, steps("w", 1, []))).toBe("w");
    expect(queue.run("read", wanted, steps("r", 1, []))).toBe("r");
  });

  it("give way to others when they take long, reads beside each other and writes alone, in their order", async () => {
    const turns = new ShortTurns();
    const queue = new AccessQueue(turns);
    const log: string[] = [];
    const done = [
      queue.run("read", wanted, steps("a", 3, log)),
      queue.run("read", wanted, steps("b", 2, log)),
      queue.run("write", wanted, steps("w", 2, log)),
      queue.run("read", wanted, steps("c", 1, log)),
      queue.run("write", wanted, steps("x", 2, log)),
    ];
    expect(log).toEqual(["a1"]);
    turns.next();
    expect(log.length).toBeLessThan(4);
    turns.all();
    expect(log.slice(0, 5).sort()).toEqual(["a1", "a2", "a3", "b1", "b2"]);
    expect(log.slice(5)).toEqual(["w1", "w2", "c1", "x1", "x2"]);
    expect(await Promise.all(done)).toEqual(["a", "b", "w", "c", "x"]);
  });

  it("are carried out at once where there are no turns", () => {
    const log: string[] = [];
    expect(new AccessQueue(undefined).run("read", wanted, steps("a", 5, log))).toBe("a");
    expect(log.length).toBe(5);
  });

  it("end with what they throw, and the next goes on", async () => {
    const turns = new ShortTurns();
    const queue = new AccessQueue(turns);
    function* failing(): Steps<void> {
      yield;
      throw new RangeError("full");
    }
    const failed = queue.run("write", wanted, failing());
    const next = queue.run("write", wanted, steps("w", 2, []));
    const caught = Promise.resolve(failed).catch((error: unknown) => error);
    turns.all();
    expect(await caught).toEqual(new RangeError("full"));
    expect(await next).toBe("w");
  });

  it("whose client is gone: a write that was begun is finished, everything else is left", () => {
    const turns = new ShortTurns();
    const queue = new AccessQueue(turns);
    const log: string[] = [];
    const gone = { isEnded: false };
    void queue.run("write", gone, steps("w", 3, log));
    void queue.run("write", gone, steps("x", 1, log));
    void queue.run("read", gone, steps("a", 3, log));
    void queue.run("write", wanted, steps("y", 1, log));
    gone.isEnded = true;
    turns.all();
    expect(log).toEqual(["w1", "w2", "w3", "y1"]);
    const reader = { isEnded: false };
    void queue.run("read", reader, steps("b", 3, log));
    reader.isEnded = true;
    turns.all();
    expect(log.at(-1)).toBe("b1");
  });

  it("are forgotten when the switch loses its power", () => {
    const turns = new ShortTurns();
    const queue = new AccessQueue(turns);
    const log: string[] = [];
    void queue.run("write", wanted, steps("w", 3, log));
    queue.stop();
    turns.all();
    expect(log).toEqual(["w1"]);
  });
});

describe("a server whose reads and writes take many turns", () => {
  const BATCH = 100;

  it("lets a read see each write wholly or not at all, and answers others meanwhile", async () => {
    let now = 0;
    const turns = { now: () => (now += 10), later: (work: () => void) => void setImmediate(work) };
    const { server } = await startServer({ turns });
    const client = await connect(server.address);
    await client.arbitrate(1n);
    await client.pushPipeline(PROGRAM, PROGRAM_JSON);
    const other = await connect(server.address);
    const entries = (batch: number) =>
      Array.from({ length: BATCH }, (_, n) =>
        client.entities.tableEntry("ipv4_lpm", { "hdr.ipv4.dst": `10.${batch}.${n}.0/24` }, "drop"),
      );
    const counts: number[] = [];
    const read = async (): Promise<void> => {
      const found = await other.readAll([client.entities.allEntries("ipv4_lpm")]);
      counts.push(found.length);
    };
    const order: string[] = [];
    const under = [];
    for (let batch = 0; batch < 10; batch++) {
      under.push(client.write(entries(batch).map(insert)), read(), read());
      if (batch % 3 === 2) under.push(client.write(entries(batch - 1).map(remove)), read());
    }
    const all = Promise.all(under).then(() => order.push("all"));
    await other.getCookie();
    order.push("cookie");
    await all;
    expect(order).toEqual(["cookie", "all"]);
    expect(counts.filter((count) => count % BATCH !== 0)).toEqual([]);
    await read();
    expect(counts.at(-1)).toBe(7 * BATCH);
  });

  it("refuses what would be very many objects, before it makes them", async () => {
    const { server } = await startServer();
    const { Client, credentials } = await import("@grpc/grpc-js");
    const client = new Client(server.address, credentials.createInsecure());
    const call = (method: string, request: Buffer): Promise<number | undefined> =>
      new Promise((resolve) => {
        const same = (bytes: Buffer): Buffer => bytes;
        const stream = client.makeServerStreamRequest(`/p4.v1.P4Runtime/${method}`, same, same, request);
        stream.on("data", () => {});
        stream.on("error", (error: Error & { code?: number }) => resolve(error.code));
        stream.on("end", () => resolve(Code.OK));
      });
    const delimited = (tag: number, content: Uint8Array): Buffer => {
      const length: number[] = [];
      for (let rest = content.length; ; rest >>>= 7) {
        length.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80);
        if (rest < 0x80) break;
      }
      return Buffer.concat([Buffer.of(tag, ...length), content]);
    };
    const device = Buffer.of(0x08, 0x01);
    const empty = (tag: number): Buffer => Buffer.alloc(6_000_000, Uint8Array.of(tag, 0));
    try {
      // Two bytes for each object: entities, updates, fields of one key, tables of a P4Info.
      const inEntity = delimited(0x12, delimited(0x12, empty(0x12)));
      const inUpdate = delimited(0x22, delimited(0x12, delimited(0x12, empty(0x12))));
      expect(await call("Read", Buffer.concat([device, empty(0x12)]))).toBe(Code.RESOURCE_EXHAUSTED);
      expect(await call("Write", Buffer.concat([device, empty(0x22)]))).toBe(Code.RESOURCE_EXHAUSTED);
      expect(await call("Read", Buffer.concat([device, inEntity]))).toBe(Code.RESOURCE_EXHAUSTED);
      // Before any update is read, the sender is found not to be the primary.
      expect(await call("Write", Buffer.concat([device, inUpdate]))).toBe(Code.PERMISSION_DENIED);
      const tables = delimited(0x2a, delimited(0x0a, empty(0x12)));
      expect(await call("SetForwardingPipelineConfig", Buffer.concat([device, tables]))).toBe(
        Code.RESOURCE_EXHAUSTED,
      );
    } finally {
      client.close();
    }
  });
});
