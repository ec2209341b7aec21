import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DeliveredMessage, ReliableChannel } from "../../src/host/ps/channel.ts";
import { seededRandom } from "../../src/host/random.ts";
import { CHUNK_BYTES, MessageKind, type ParameterServerPacket } from "../../src/wire/parameterserver.ts";

const OPTIONS = { window: 4, timeout: 10, maxTimeout: 80, retries: 50 };

function pair(options = OPTIONS): [ReliableChannel, ReliableChannel] {
  return [new ReliableChannel(1, 0, options), new ReliableChannel(1, 0, options)];
}

const anyBody = fc
  .tuple(
    fc.constantFrom(0, 1, 8, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 5),
    fc.nat(255),
  )
  .map(([bytes, first]) => Uint8Array.from({ length: bytes }, (_, i) => first + i));

/** Passes packets between two ends through a bad network until both are idle, or until `limit`. */
function converse(
  ends: readonly [ReliableChannel, ReliableChannel],
  seed: number,
  loss: number,
  limit = 100_000,
) {
  const random = seededRandom(seed);
  const delivered: [DeliveredMessage[], DeliveredMessage[]] = [[], []];
  const underWay: { packet: ParameterServerPacket; to: 0 | 1 }[] = [];
  let most = 0;
  for (let now = 0; now < limit && !(ends[0].isIdle && ends[1].isIdle); now += 5) {
    for (const from of [0, 1] as const)
      for (const packet of ends[from].poll(now))
        for (let copies = random() < 0.2 ? 2 : 1; copies > 0; copies--)
          if (random() >= loss) underWay.push({ packet, to: from === 0 ? 1 : 0 });
    most = Math.max(most, underWay.length);
    for (let arrivals = Math.ceil(underWay.length / 2); arrivals > 0; arrivals--) {
      const [arrival] = underWay.splice(Math.floor(random() * underWay.length), 1);
      if (arrival === undefined) break;
      const body = arrival.packet.body.slice();
      delivered[arrival.to].push(...ends[arrival.to].receive({ header: arrival.packet.header, body }, now));
      body.fill(0xee);
    }
  }
  return { delivered, most };
}

describe("a reliable channel", () => {
  it("delivers every message once and in order, both ways, whatever the network does", () => {
    const anyMessages = fc.array(
      fc.tuple(fc.constantFrom(MessageKind.PUSH, MessageKind.PULL), fc.nat(9), anyBody),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(
        anyMessages,
        anyMessages,
        fc.integer(),
        fc.double({ min: 0, max: 0.5, noNaN: true }),
        (there, back, seed, loss) => {
          const ends = pair();
          for (const [kind, round, body] of there) ends[0].send(kind, round, body);
          for (const [kind, round, body] of back) ends[1].send(kind, round, body);
          const { delivered } = converse(ends, seed, loss);
          expect(delivered[1]).toEqual(there.map(([kind, round, body]) => ({ kind, round, body })));
          expect(delivered[0]).toEqual(back.map(([kind, round, body]) => ({ kind, round, body })));
        },
      ),
      { numRuns: 30 },
    );
  });

  it("has no more chunks under way than its window", () => {
    const [sender] = pair();
    sender.send(MessageKind.PUSH, 1, new Uint8Array(20 * CHUNK_BYTES));
    expect(sender.poll(0)).toHaveLength(4);
    expect(sender.poll(1)).toHaveLength(0);
    expect(sender.wakeAt).toBe(10);
  });

  it("waits twice as long after each try, up to a bound, and then says that the peer has failed", () => {
    const [sender] = pair({ ...OPTIONS, retries: 5 });
    sender.send(MessageKind.PUSH, 1, new Uint8Array(0));
    const times: number[] = [];
    for (let now = 0; now < 1000; now++) if (sender.poll(now).length > 0) times.push(now);
    expect(times).toEqual([0, 10, 30, 70, 150, 230]);
    expect(sender.hasFailed).toBe(true);
    expect(sender.wakeAt).toBe(Number.POSITIVE_INFINITY);
    sender.retry(2000);
    expect(sender.hasFailed).toBe(false);
    expect(sender.poll(2000)).toHaveLength(1);
  });

  it("waits longer where the usual round trip is long, and does not learn from what was sent twice", () => {
    const [sender, receiver] = pair();
    const roundTrip = (from: number, to: number) => {
      sender.send(MessageKind.PUSH, 1, new Uint8Array(0));
      const packets = sender.poll(from);
      for (let now = from + 1; now < to; now++) packets.push(...sender.poll(now));
      for (const packet of packets) receiver.receive(packet, to);
      for (const ack of receiver.poll(to)) sender.receive(ack, to);
      return packets.length;
    };
    expect(roundTrip(0, 25)).toBe(2); // too slow for 10 ms, and sent twice
    expect(roundTrip(100, 115)).toBe(1); // the longer time stays
    expect(roundTrip(200, 225)).toBe(1); // 2 * 15 ms, as measured
    expect(roundTrip(300, 302)).toBe(1);
    expect(sender.counters.resent).toBe(1);
  });

  it("counts duplicates and acknowledges them again", () => {
    const [sender, receiver] = pair();
    sender.send(MessageKind.PUSH, 1, Uint8Array.of(1));
    const [packet] = sender.poll(0);
    if (packet === undefined) throw new Error("nothing was sent");
    expect(receiver.receive(packet, 0)).toHaveLength(1);
    expect(receiver.receive(packet, 0)).toHaveLength(0);
    expect(receiver.counters.duplicates).toBe(1);
    expect(receiver.poll(0).map(({ header }) => header.kind)).toEqual([MessageKind.ACK, MessageKind.ACK]);
  });

  it("refuses what it has no room for, and chunks that contradict each other", () => {
    const [, receiver] = pair();
    const header = {
      version: 1,
      kind: MessageKind.PUSH,
      member: 0,
      job: 1,
      round: 1,
      message: 1,
      chunk: 0,
      chunks: 2,
    };
    const body = new Uint8Array(CHUNK_BYTES);
    receiver.receive({ header: { ...header, message: 64 }, body }, 0);
    receiver.receive({ header: { ...header, chunks: 0xffff }, body }, 0);
    expect(receiver.counters.beyondWindow).toBe(2);
    receiver.receive({ header, body }, 0);
    receiver.receive({ header: { ...header, chunk: 1, chunks: 3 }, body }, 0);
    receiver.receive({ header: { ...header, chunk: 1, round: 2 }, body }, 0);
    expect(receiver.counters.inconsistent).toBe(2);
    expect(receiver.poll(0)).toHaveLength(1);
  });

  it("refuses to send what is too long", () => {
    const [sender] = pair();
    expect(() => sender.send(MessageKind.PUSH, 1, { length: 1e9 } as Uint8Array)).toThrow(RangeError); // only the length is looked at
  });
});
