import { describe, expect, it } from "vitest";
import { create } from "../../src/p4info/index.ts";
import { Code } from "../../src/p4runtime/code.ts";
import { insert, modify, remove } from "../../src/p4runtime/entities.ts";
import { DigestEntry, type DigestList } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { Schema } from "../../src/p4runtime/schema.ts";
import { DigestStore } from "../../src/switch/p4runtime/digest-store.ts";
import { bytes, rawEntity, startPrimary } from "./bench.ts";
import { ID, PROGRAM } from "./program.ts";

function store(config: { maxTimeoutNs?: bigint; maxListSize?: number; ackTimeoutNs?: bigint }): DigestStore {
  const digests = new DigestStore(new Schema(PROGRAM));
  digests.write("INSERT", create(DigestEntry, { digestId: ID.digest, config }));
  return digests;
}

const sample = (...values: bigint[]) => ({ digest: "learn_t", values });

describe("digests", () => {
  it("are sent at once without a timeout, and repeated without acknowledgements", () => {
    const digests = store({});
    expect(digests.sample(sample(1n, 256n), 5)).toEqual([
      {
        digestId: ID.digest,
        listId: 1n,
        timestamp: 5n,
        data: [
          {
            data: {
              case: "struct",
              value: {
                members: [
                  { data: { case: "bitstring", value: bytes("01") } },
                  { data: { case: "bitstring", value: bytes("0100") } },
                ],
              },
            },
          },
        ],
      },
    ]);
    expect(digests.sample(sample(1n, 256n), 6)).toHaveLength(1);
  });

  it("wait for a full list or for their time", () => {
    const digests = store({ maxTimeoutNs: 100n, maxListSize: 3 });
    expect(digests.sample(sample(1n), 0)).toEqual([]);
    expect(digests.sample(sample(2n), 50)).toEqual([]);
    expect(digests.nextWakeup()).toBe(100);
    expect(digests.sample(sample(3n), 60)[0]?.data).toHaveLength(3);
    expect(digests.nextWakeup()).toBeUndefined();
    expect(digests.sample(sample(4n), 200)).toEqual([]);
    expect(digests.tick(299)).toEqual([]);
    expect(digests.tick(300)[0]?.data).toHaveLength(1);
  });

  it("are not repeated until they are acknowledged or the time for that is over", () => {
    const digests = store({ ackTimeoutNs: 100n });
    expect(digests.sample(sample(1n), 0)).toHaveLength(1);
    expect(digests.sample(sample(1n), 1)).toEqual([]);
    expect(digests.sample(sample(2n), 2)).toHaveLength(1);
    digests.acknowledge(ID.digest, 1n);
    expect(digests.sample(sample(1n), 3)).toHaveLength(1);
    expect(digests.sample(sample(2n), 101)).toEqual([]);
    expect(digests.sample(sample(2n), 102)).toHaveLength(1);
    expect(() => digests.acknowledge(99, 1n)).toThrow(/no digest/);
  });

  it("that nobody asked for are counted", () => {
    const digests = new DigestStore(new Schema(PROGRAM));
    expect(digests.sample(sample(1n), 0)).toEqual([]);
    expect(digests.sample({ digest: "other", values: [] }, 0)).toEqual([]);
    expect(digests.dropped).toBe(2);
  });

  it("are configured, read, and come over the stream", async () => {
    const lists: DigestList[] = [];
    const { client, target } = await startPrimary({
      onMessage: ({ update }) => {
        if (update?.case === "digest") lists.push(update.value);
      },
    });
    const entity = rawEntity({
      case: "digestEntry",
      value: { digestId: ID.digest, config: { maxTimeoutNs: 1000n } },
    });
    await expect(client.write([modify(entity)])).rejects.toThrow(/not configured/);
    await client.write([insert(entity)]);
    await expect(client.write([insert(entity)])).rejects.toMatchObject({
      failed: [{ code: Code.ALREADY_EXISTS }],
    });
    expect(await client.readAll([rawEntity({ case: "digestEntry", value: {} })])).toEqual([entity]);
    target.digest(sample(7n));
    target.digest(sample(8n));
    await expect.poll(() => lists.flatMap((list) => list.data).length).toBe(2);
    await client.write([remove(entity)]);
    expect(await client.readAll([rawEntity({ case: "digestEntry", value: {} })])).toEqual([]);
  });
});
