import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LinkFaults } from "../../../src/host/faults.ts";
import { type CongestionControl, Dctcp, FixedWindow } from "../../../src/host/message/congestion.ts";
import type { ConversationOptions } from "../../../src/host/message/conversation.ts";
import type { PeerFailure } from "../../../src/host/message/hub.ts";
import { seededRandom } from "../../../src/host/random.ts";
import { Lab } from "../../../src/lab/index.ts";
import { formatIpv4 } from "../../../src/wire/address.ts";
import { newFrame, parseFrame, writeUdpChecksum } from "../../../src/wire/datagram.ts";
import { decodeMessage, MESSAGE_PORT } from "../../../src/wire/message.ts";
import { addressOf, Talker, type TalkerAction } from "./talker.ts";

interface Heard {
  readonly from: number;
  readonly tag: number;
  readonly body: Uint8Array;
}

function setUp(
  faults: LinkFaults,
  seed: number,
  control: () => CongestionControl,
  options: Partial<ConversationOptions> & { heartbeat?: number } = {},
) {
  const lab = new Lab(seededRandom(seed));
  lab.addNetwork("net");
  const heard: Heard[][] = [[], []];
  const lost: PeerFailure[][] = [[], []];
  const machines = [0, 1].map((self) => new Talker({ self, peers: [1 - self] }, control, options));
  const hosts = machines.map((machine, self) => {
    const onAction = (action: TalkerAction): void => {
      if (action.type === "heard") heard[self]?.push(action.message);
      else lost[self]?.push(action.failure);
    };
    const host = lab.addHost(`h${self}`, machine, onAction, formatIpv4(addressOf(self).ip));
    lab.connect(`h${self}`, "net", self, faults);
    return host;
  });
  return { lab, heard, lost, machines, hosts };
}

const bodies = fc.array(
  fc.record({
    from: fc.nat(1),
    at: fc.nat(40),
    tag: fc.nat(0xffff),
    body: fc.oneof(fc.uint8Array({ maxLength: 5 }), fc.uint8Array({ minLength: 0, maxLength: 3000 })),
  }),
  { minLength: 1, maxLength: 12 },
);

describe("messages between two hosts", () => {
  test.each([
    ["a fixed window", () => new FixedWindow(8)],
    ["DCTCP", () => new Dctcp({ initialWindow: 4, maxWindow: 64 })],
  ])("all arrive once, in order and unchanged, whatever the network does: %s", (_, control) => {
    fc.assert(
      fc.property(
        bodies,
        fc.record({
          loss: fc.double({ min: 0, max: 0.3, noNaN: true }),
          duplicate: fc.double({ min: 0, max: 0.3, noNaN: true }),
          reorder: fc.double({ min: 0, max: 0.5, noNaN: true }),
          delay: fc.constant(1),
        }),
        fc.integer(),
        (messages, faults, seed) => {
          const { lab, heard, lost, machines, hosts } = setUp(faults, seed, control, {
            segment: 256,
            retries: 40,
          });
          for (const { from, at, tag, body } of messages)
            lab.at(at, () => hosts[from]?.dispatch({ type: "say", to: 1 - from, tag, body }));
          lab.at(41, () => {});
          const isDone = () =>
            lab.now > 40 && [0, 1].every((i) => machines[i]?.hub.conversation(1 - i).isIdle === true);
          expect(lab.run(isDone, 1e6)).toBe(true);
          const inTime = [...messages].sort((a, b) => a.at - b.at);
          for (const self of [0, 1]) {
            const said = inTime.filter(({ from }) => from !== self);
            expect(heard[self]).toEqual(said.map(({ from, tag, body }) => ({ from, tag, body })));
          }
          expect(lost).toEqual([[], []]);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("survive garbage, damaged copies and packets of strangers", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 500, maxLength: 900 }), { minLength: 1, maxLength: 4 }),
        fc.integer(),
        (messages, seed) => {
          const random = seededRandom(seed);
          const { lab, heard, machines, hosts } = setUp({ loss: 0.1 }, seed, () => new FixedWindow(4), {
            segment: 128,
          });
          // Every frame is followed by a copy with a wrong byte, and by noise.
          for (const [self, machine] of machines.entries()) {
            const handle = machine.handle.bind(machine);
            machine.handle = (event, now) => {
              const actions = [...handle(event, now)];
              if (event.type !== "frame") return actions;
              const damaged = event.frame.slice();
              const at = Math.floor(random() * (damaged.length - 14)) + 14; // a wrong MAC is none of a host's business
              damaged[at] = (damaged[at] ?? 0) ^ (1 << Math.floor(random() * 8));
              actions.push(...handle({ type: "frame", frame: damaged }, now));
              const noise = newFrame(
                { ...parsedAddressing(event.frame), dstPort: MESSAGE_PORT },
                Math.floor(random() * 60),
              );
              for (let i = 42; i < noise.length; i++) noise[i] = random() * 256;
              if (noise.length > 42) noise[42] = 0x10 | Math.floor(random() * 6);
              writeUdpChecksum(noise);
              actions.push(...handle({ type: "frame", frame: noise }, now));
              expect(self).toBeLessThan(2);
              return actions;
            };
          }
          for (const body of messages) hosts[0]?.dispatch({ type: "say", to: 1, tag: 9, body });
          expect(lab.run(() => machines[0]?.hub.conversation(1).isIdle === true, 1e6)).toBe(true);
          expect(heard[1]?.map(({ body }) => body)).toEqual(messages);
        },
      ),
      { numRuns: 15 },
    );
  });

  test("a peer that never answers is reported once, in bounded time", () => {
    const { lab, lost, hosts } = setUp({ loss: 1 }, 1, () => new FixedWindow(4), { retries: 5 });
    hosts[0]?.dispatch({ type: "say", to: 1, tag: 0, body: new Uint8Array(10) });
    lab.run(() => false, 1e5);
    expect(lost[0]).toEqual([{ peer: 1, reason: "unreachable" }]);
  });

  test("a peer that falls silent is noticed though nothing is under way", () => {
    const { lab, lost, hosts } = setUp({}, 1, () => new FixedWindow(4), { heartbeat: 100 });
    hosts[0]?.dispatch({ type: "say", to: 1, tag: 0, body: new Uint8Array(10) });
    lab.run(() => false, 5000);
    expect(lost[0]).toEqual([]);
    for (const wire of ["h1>net:1", "net:1>h1"]) lab.wire(wire).cut();
    lab.run(() => lost[0]?.length === 1, 5000 + 1300);
    expect(lost[0]).toEqual([{ peer: 1, reason: "silent" }]);
  });

  test("a host that has been started again is noticed, and packets of its former life count for nothing", () => {
    const { lab, lost, heard, hosts, machines } = setUp({}, 1, () => new FixedWindow(4));
    hosts[0]?.dispatch({ type: "say", to: 1, tag: 1, body: Uint8Array.of(1) });
    lab.run(() => heard[1]?.length === 1, 100);
    const again = new Talker({ self: 0, peers: [1], incarnation: 2 }, () => new FixedWindow(4));
    const frames = again
      .handle({ type: "say", to: 1, tag: 2, body: Uint8Array.of(2) }, lab.now)
      .flatMap((a) => (a.type === "send" ? [a.frame] : []));
    const actions = frames.flatMap((frame) => machines[1]?.handle({ type: "frame", frame }, lab.now) ?? []);
    expect(actions).toEqual([{ type: "lost", failure: { peer: 0, reason: "restarted" } }]);
    expect([heard[1]?.length, lost[0]]).toEqual([1, []]);
  });

  test("a message that is longer than the receiver takes, or beyond its room, costs no memory", () => {
    const { lab, machines, hosts, heard } = setUp({}, 1, () => new FixedWindow(4), {
      retries: 3,
      maxBytes: 5000,
    });
    const big = new Talker({ self: 0, peers: [1] }, () => new FixedWindow(4), { maxBytes: 1e9 });
    const [frame] = big
      .handle({ type: "say", to: 1, tag: 1, body: new Uint8Array(6000) }, 0)
      .flatMap((a) => (a.type === "send" ? [a.frame] : []));
    expect(machines[1]?.handle({ type: "frame", frame: frame ?? new Uint8Array(0) }, 0)).toEqual([]);
    expect(machines[1]?.hub.conversation(0).counters.beyondWindow).toBe(1);
    expect(() => hosts[0]?.dispatch({ type: "say", to: 1, tag: 1, body: new Uint8Array(5001) })).toThrow(
      "too long",
    );
    lab.run(() => false, 100);
    expect(heard[1]).toEqual([]);
  });
});

test("a lost packet is sent again after three later ones have arrived, without a time-out", () => {
  const { lab, machines, hosts, heard } = setUp({ delay: 1 }, 1, () => new FixedWindow(20), { segment: 100 });
  const [sender] = machines;
  if (sender === undefined) throw new Error("no sender");
  const handle = sender.handle.bind(sender);
  let dropped = 0;
  sender.handle = (event, now) =>
    handle(event, now).filter((action) => {
      if (action.type !== "send" || dropped > 0) return true;
      const open = parseFrame(action.frame);
      const packet = "refused" in open ? undefined : decodeMessage(open.payload);
      if (packet === undefined || "refused" in packet || packet.kind === "ack" || packet.header.number !== 5)
        return true;
      dropped++;
      return false;
    });
  hosts[0]?.dispatch({ type: "say", to: 1, tag: 1, body: new Uint8Array(3000) });
  lab.run(() => heard[1]?.length === 1, 1000);
  const { timeouts, resent } = sender.hub.conversation(1).counters;
  expect({ timeouts, resent, dropped }).toEqual({ timeouts: 0, resent: 1, dropped: 1 });
  expect(lab.now).toBeLessThan(10);
});

describe("DCTCP", () => {
  test("grows without marks, and shrinks by the share of marks", () => {
    const control = new Dctcp({ initialWindow: 10, maxWindow: 1000 });
    for (let i = 0; i < 10; i++) control.acknowledged(1, 0, true);
    expect(control.window).toBe(20);
    // All packets marked for long: half of the window each time; few marked: a little.
    const some = new Dctcp({ initialWindow: 100, maxWindow: 1000 });
    for (let i = 0; i < 40; i++) some.acknowledged(some.window, 0, false);
    const before = some.window;
    some.acknowledged(before, Math.floor(before / 10), false);
    expect(some.window).toBeLessThan(before);
    expect(some.window).toBeGreaterThan(before * 0.9);
  });

  test("halves the window once for the losses of one window, and starts with one packet after a time-out", () => {
    const control = new Dctcp({ initialWindow: 64, maxWindow: 1000 });
    for (const number of [3, 4, 9]) control.lost(number, 60);
    expect(control.window).toBe(32);
    control.lost(61, 80);
    expect(control.window).toBe(16);
    control.timedOut();
    expect(control.window).toBe(1);
    for (let i = 0; i < 3; i++) control.acknowledged(control.window, 0, true);
    expect(control.window).toBe(8);
  });
});

function parsedAddressing(frame: Uint8Array) {
  const open = parseFrame(frame);
  if ("refused" in open) throw new Error("not a frame");
  const { srcMac, dstMac, srcIp, dstIp, srcPort, dstPort } = open;
  return { srcMac, dstMac, srcIp, dstIp, srcPort, dstPort };
}
