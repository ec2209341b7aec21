import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import type { P4Data } from "../../p4runtime/proto/generated/p4data.ts";
import type {
  DigestEntry,
  DigestEntry_Config,
  DigestList,
  Update_Type,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import type { DigestSchema, Schema } from "../../p4runtime/schema.ts";
import { bytesOf } from "../../p4runtime/values.ts";
import { invalidArgument, notFound, StatusError } from "./status.ts";
import type { DigestSample } from "./target.ts";

/** Samples in one list when the client sets no limit. */
const LARGEST_LIST = 1000;
/** Lists that may wait for their acknowledgement; then new samples are dropped. */
const MOST_LISTS = 1000;

interface Sample {
  readonly key: string;
  readonly data: Init<P4Data>;
}

interface Digest {
  readonly schema: DigestSchema;
  readonly config: DigestEntry_Config;
  /** Samples that are not sent yet, and when the oldest of them has to go. */
  waiting: Sample[];
  sendAt: number;
  /** Sent lists that are not acknowledged, with the time at which we stop to wait for that. */
  readonly unacknowledged: Map<bigint, { readonly keys: readonly string[]; readonly until: number }>;
  /** Samples that wait or are not acknowledged: they are not sent again. */
  readonly known: Set<string>;
}

/**
 * Digests: samples of packets that go to the controller in lists (P4Runtime specification 9.8, 16.3). A pure state machine over the time
 * in nanoseconds: a list goes out when it is full or its oldest sample has waited `max_timeout_ns`. With an `ack_timeout_ns` a sample is
 * not repeated until its list is acknowledged or that time is over; with 0, nothing is held back.
 */
export class DigestStore {
  readonly #schema: Schema;
  readonly #digests = new Map<number, Digest>();
  #nextList = 1n;
  #dropped = 0;

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  /** Samples for which nobody asked, or for which there was no room. */
  get dropped(): number {
    return this.#dropped;
  }

  write(type: Update_Type, message: DigestEntry): void {
    const schema = this.#schema.digests.find(message.digestId);
    if (schema === undefined) throw notFound(`there is no digest with id 0x${message.digestId.toString(16)}`);
    const before = this.#digests.get(schema.id);
    if (type === "INSERT" && before !== undefined)
      throw new StatusError(Code.ALREADY_EXISTS, `digest ${schema.name} is configured already`);
    if (type !== "INSERT" && before === undefined) throw notFound(`digest ${schema.name} is not configured`);
    if (type === "DELETE") {
      this.#digests.delete(schema.id);
      return;
    }
    const config = message.config ?? { maxTimeoutNs: 0n, maxListSize: 0, ackTimeoutNs: 0n };
    if (config.maxTimeoutNs < 0n || config.ackTimeoutNs < 0n || config.maxListSize < 0)
      throw invalidArgument(`digest ${schema.name}: times and sizes cannot be negative`);
    this.#digests.set(schema.id, {
      schema,
      waiting: [],
      sendAt: Number.POSITIVE_INFINITY,
      unacknowledged: new Map(),
      known: new Set(),
      ...before,
      config,
    });
  }

  read(message: DigestEntry): Init<DigestEntry>[] {
    if (message.digestId !== 0 && this.#schema.digests.find(message.digestId) === undefined)
      throw notFound(`there is no digest with id 0x${message.digestId.toString(16)}`);
    return [...this.#digests.values()]
      .filter(({ schema }) => message.digestId === 0 || schema.id === message.digestId)
      .map(({ schema, config }) => ({ digestId: schema.id, config }));
  }

  /** A packet's sample. Gives the list that is full now, if one is. */
  sample({ digest: name, values }: DigestSample, now: number): Init<DigestList>[] {
    const schema = this.#schema.digests.find(name);
    const digest = schema === undefined ? undefined : this.#digests.get(schema.id);
    if (digest !== undefined) expire(digest, now);
    if (digest === undefined || digest.unacknowledged.size >= MOST_LISTS) {
      this.#dropped++;
      return [];
    }
    const key = values.join();
    const keepsKeys = digest.config.ackTimeoutNs > 0n;
    if (keepsKeys && digest.known.has(key)) return [];
    if (keepsKeys) digest.known.add(key);
    if (digest.waiting.length === 0) digest.sendAt = now + Number(digest.config.maxTimeoutNs);
    digest.waiting.push({ key, data: dataOf(digest.schema, values) });
    const isFull = digest.waiting.length >= (digest.config.maxListSize || LARGEST_LIST);
    return isFull || digest.config.maxTimeoutNs === 0n ? [this.#list(digest, now)] : [];
  }

  /** Lists that have to go by now. */
  tick(now: number): Init<DigestList>[] {
    const lists: Init<DigestList>[] = [];
    for (const digest of this.#digests.values()) {
      expire(digest, now);
      if (digest.waiting.length > 0 && digest.sendAt <= now) lists.push(this.#list(digest, now));
    }
    return lists;
  }

  /** When `tick` has something to send; undefined when nothing waits. */
  nextWakeup(): number | undefined {
    const times = [...this.#digests.values()]
      .filter((digest) => digest.waiting.length > 0)
      .map(({ sendAt }) => sendAt);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** @throws StatusError INVALID_ARGUMENT for a digest that does not exist. An unknown list is no error: it may have timed out. */
  acknowledge(digestId: number, listId: bigint): void {
    if (this.#schema.digests.find(digestId) === undefined)
      throw invalidArgument(`there is no digest with id 0x${digestId.toString(16)}`);
    const digest = this.#digests.get(digestId);
    for (const key of digest?.unacknowledged.get(listId)?.keys ?? []) digest?.known.delete(key);
    digest?.unacknowledged.delete(listId);
  }

  #list(digest: Digest, now: number): Init<DigestList> {
    const samples = digest.waiting;
    digest.waiting = [];
    const listId = this.#nextList++;
    if (digest.config.ackTimeoutNs > 0n)
      digest.unacknowledged.set(listId, {
        keys: samples.map(({ key }) => key),
        until: now + Number(digest.config.ackTimeoutNs),
      });
    return {
      digestId: digest.schema.id,
      listId,
      data: samples.map(({ data }) => data),
      timestamp: BigInt(Math.round(now)),
    };
  }
}

/** Stop to wait for acknowledgements whose time is over. */
function expire(digest: Digest, now: number): void {
  for (const [id, { keys, until }] of digest.unacknowledged) {
    // Lists are in the order of their times.
    if (until > now) return;
    digest.unacknowledged.delete(id);
    for (const key of keys) digest.known.delete(key);
  }
}

/** A digest of one value is that value, of a struct or tuple a list of its members. */
function dataOf(schema: DigestSchema, values: readonly bigint[]): Init<P4Data> {
  const members = values.map((value) => ({ data: { case: "bitstring" as const, value: bytesOf(value) } }));
  const [only] = members;
  switch (schema.typeSpec?.typeSpec?.case) {
    case "bitstring":
      return only ?? {};
    case "tuple":
      return { data: { case: "tuple", value: { members } } };
    default:
      return { data: { case: "struct", value: { members } } };
  }
}
