import {
  type Dequeued,
  type PortRate,
  type QueueDropReason,
  type SwitchSink,
  TrafficManager,
} from "../switch/index.ts";
import { ipv4HeaderChecksum, PAYLOAD_AT } from "../wire/datagram.ts";
import { ETHERTYPE_IPV4, PROTOCOL_UDP } from "../wire/internet.ts";
import { BEST_EFFORT, Ecn, type TrafficPlan, trafficPlan } from "../wire/trafficclass.ts";
import type { LabSwitch } from "./lab.ts";
import { ShortestFirstBuffer } from "./shortestfirst.ts";

export interface NextHop {
  readonly port: number;
  /** 48 bits. */
  readonly mac: number;
}

export interface ForwardingRoute {
  /** Unsigned 32 bits, no bits beyond the prefix. */
  readonly prefix: number;
  /** Bits of the prefix, 0 to 32. */
  readonly length: number;
  /** One next hop, or several that take turns. */
  readonly hops: readonly NextHop[];
}

export interface ForwardingRules {
  readonly routes: readonly ForwardingRoute[];
  /** A queue for each class (feature `priority`), or one for all. */
  readonly priority: boolean;
  /** Classes and code points; the default plan when absent. */
  readonly plan?: TrafficPlan;
  /** Longest queue that a droppable packet of a class may meet (feature `drop`). Where more than this wait, important packets are marked. */
  readonly keep?: { readonly [trafficClass: number]: number };
  /**
   * Where unimportant packets are dropped: behind the queue, as v1model has to, or before it, as Tofino's traffic manager can by a
   * packet's colour. Marking happens in the same place.
   */
  readonly dropAt?: "egress" | "enqueue";
  /** How several next hops share: packet by packet in turn (feature `ecmp` with `spray`), or each flow on one by its hash. */
  readonly balance?: "spray" | "flow";
  /** Changes which next hop a flow's hash means, so that switches in a row don't all choose alike. */
  readonly salt?: number;
}

export interface ForwardingOptions {
  /** Packets that a queue holds; 64 when absent. */
  readonly queueDepth?: number;
  readonly queues?: number;
  /** Bytes that all queues of a port hold together; without a limit when absent. */
  readonly portBuffer?: number;
  /** Bytes of it that only the strongest queue may use; none when absent. */
  readonly portReserve?: number;
  /** `priority`: strict, by traffic class. `shortestFirst`: by what a message has left to send, as pFabric does; needs `portBuffer`. */
  readonly order?: "priority" | "shortestFirst";
}

/** What stands between arrival and departure. */
interface PacketBuffer<T> {
  setRate(port: number, rate: PortRate): void;
  depth(port: number, queue: number): number;
  enqueue(port: number, queue: number, packet: T, now: number): QueueDropReason | undefined;
  dequeue(now: number, into: Dequeued<T>): boolean;
  nextWakeup(): number | undefined;
}

interface Waiting {
  frame: Uint8Array;
  trafficClass: number;
  /** Packets that waited before it. */
  depth: number;
  nextMac: number;
}

interface Group {
  readonly hops: readonly NextHop[];
  turn: number;
}

/**
 * Pure forwarding without the engine: what a program of `ipv4Forwarding`, `priority`, `drop` and `ecmp` does to each frame, bit for bit
 * and at the same time (test/lab shows it), some ten times faster. For experiments with many switches. Takes over the frames that
 * it is given, and changes them in place.
 */
export class ForwardingSwitch implements LabSwitch {
  readonly cpuPort = undefined;
  readonly drops = {
    ingressDrop: 0,
    egressDrop: 0,
    queueFull: 0,
    bufferFull: 0,
    selectiveDrop: 0,
    priorityOutOfRange: 0,
  };
  /** Packets that were marked with congestion experienced. */
  marked = 0;
  readonly trafficManager: PacketBuffer<Waiting>;
  readonly #rules: Required<Omit<ForwardingRules, "routes" | "plan" | "keep">>;
  /** By prefix length, longest first: groups by prefix. */
  readonly #tables: readonly { readonly mask: number; readonly groups: ReadonlyMap<number, Group> }[];
  readonly #classes: Uint8Array;
  readonly #control: number;
  readonly #keep: Float64Array;
  readonly #dequeued: { packet: Waiting; port: number; queue: number; depth: number };

  constructor(rules: ForwardingRules, options: ForwardingOptions = {}) {
    const {
      priority,
      plan = trafficPlan(),
      keep = {},
      dropAt = "egress",
      balance = "spray",
      salt = 0,
    } = rules;
    this.#rules = { priority, dropAt, balance, salt };
    this.trafficManager = bufferOf(rules, options);
    const lengths = [...new Set(rules.routes.map((r) => r.length))].sort((a, b) => b - a);
    // Routes to the same next hops share one group, and so its turn, as in the switch's tables.
    const shared = new Map<string, Group>();
    const groupOf = (hops: readonly NextHop[]): Group => {
      const key = hops.map(({ port, mac }) => `${port} ${mac}`).join();
      const group = shared.get(key) ?? { hops, turn: 0 };
      shared.set(key, group);
      return group;
    };
    this.#tables = lengths.map((length) => ({
      mask: length === 0 ? 0 : (-1 << (32 - length)) >>> 0,
      groups: new Map(
        rules.routes.filter((r) => r.length === length).map(({ prefix, hops }) => [prefix, groupOf(hops)]),
      ),
    }));
    this.#classes = new Uint8Array(64).fill(BEST_EFFORT);
    for (const { dscp, class: number } of [plan.control, ...plan.gradients]) this.#classes[dscp] = number;
    this.#control = plan.control.class;
    this.#keep = new Float64Array(8).fill(Number.POSITIVE_INFINITY);
    for (const [name, packets] of Object.entries(keep)) this.#keep[Number(name)] = packets;
    this.#keep[this.#control] = Number.POSITIVE_INFINITY;
    const packet = { frame: new Uint8Array(0), trafficClass: 0, depth: 0, nextMac: 0 };
    this.#dequeued = { packet, port: 0, queue: 0, depth: 0 };
  }

  setRate(port: number, rate: PortRate): void {
    this.trafficManager.setRate(port, rate);
  }

  receive(_port: number, frame: Uint8Array, now: number, sink: SwitchSink): void {
    const hop = this.#route(frame);
    if (hop === undefined) this.drops.ingressDrop++;
    else this.#enqueue(hop, frame, now);
    this.tick(now, sink);
  }

  tick(now: number, sink: SwitchSink): void {
    const from = this.#dequeued;
    while (this.trafficManager.dequeue(now, from)) {
      const { packet, port } = from;
      if (this.#rules.dropAt === "egress" && !this.#mayPass(packet)) {
        this.drops.egressDrop++;
        continue;
      }
      rewrite(packet.frame, packet.nextMac);
      sink({ kind: "transmit", port, data: packet.frame });
    }
  }

  nextWakeup(): number | undefined {
    return this.trafficManager.nextWakeup();
  }

  #enqueue({ port, mac }: NextHop, frame: Uint8Array, now: number): void {
    const trafficClass = this.#classes[(frame[15] ?? 0) >> 2] ?? BEST_EFFORT;
    const queue = this.#rules.priority ? trafficClass : 0;
    const depth = this.trafficManager.depth(port, queue);
    const packet = { frame, trafficClass, depth, nextMac: mac };
    if (this.#rules.dropAt === "enqueue" && !this.#mayPass(packet)) {
      this.drops.egressDrop++;
      return;
    }
    const refused = this.trafficManager.enqueue(port, queue, packet, now);
    if (refused !== undefined) this.drops[refused]++;
  }

  /** Selective dropping: marks what is important, says no to what is not. */
  #mayPass({ frame, trafficClass, depth }: Waiting): boolean {
    if (depth <= (this.#keep[trafficClass] ?? 0)) return true;
    const field = frame[15] ?? 0;
    if ((field & 3) === Ecn.NON_ECT) return false;
    frame[15] = field | Ecn.CE;
    this.marked++;
    return true;
  }

  #route(frame: Uint8Array): NextHop | undefined {
    if (!isRoutable(frame)) return undefined;
    const address = word(frame, 30);
    for (const { mask, groups } of this.#tables) {
      const group = groups.get((address & mask) >>> 0);
      if (group === undefined) continue;
      // After the subtraction: 0 was 1, and 255 was 0.
      const ttl = frame[22] ?? 0;
      return ttl <= 1 ? undefined : this.#choose(group, frame);
    }
    return undefined;
  }

  #choose(group: Group, frame: Uint8Array): NextHop | undefined {
    const { hops } = group;
    if (hops.length === 1) return hops[0];
    if (this.#rules.balance === "flow") return hops[flowHash(frame, this.#rules.salt) % hops.length];
    group.turn = group.turn >= hops.length - 1 ? 0 : group.turn + 1;
    return hops[group.turn];
  }
}

function bufferOf(
  { routes }: ForwardingRules,
  { queues = 8, queueDepth = 64, portBuffer, portReserve, order = "priority" }: ForwardingOptions,
): PacketBuffer<Waiting> {
  if (order === "shortestFirst") {
    if (portBuffer === undefined) throw new RangeError("shortest first needs the size of a port's buffer");
    return new ShortestFirstBuffer(portBuffer, {
      bytes: (packet) => packet.frame.length,
      remaining: (packet) => remainingBytes(packet.frame),
      isOfSameFlow: (a, b) => [26, 30, 34].every((at) => word(a.frame, at) === word(b.frame, at)),
    });
  }
  const manager = new TrafficManager<Waiting>({ queues, depth: queueDepth }, ({ frame }) => frame.length);
  if (portBuffer !== undefined)
    for (const port of new Set(routes.flatMap(({ hops }) => hops.map((hop) => hop.port))))
      manager.setBuffer(port, portBuffer, portReserve);
  return manager;
}

/** What the message of a packet (src/wire/message.ts) has left, this packet included; 0 for all that is no part of a message. */
function remainingBytes(frame: Uint8Array): number {
  const isPart = frame.length > PAYLOAD_AT + 32 && frame[PAYLOAD_AT] === 0x11;
  return isPart ? word(frame, PAYLOAD_AT + 24) - word(frame, PAYLOAD_AT + 28) : 0;
}

/** What the parser, the header checks and the checksum let pass. */
function isRoutable(frame: Uint8Array): boolean {
  if (frame.length < 34 || (((frame[12] ?? 0) << 8) | (frame[13] ?? 0)) !== ETHERTYPE_IPV4) return false;
  if (frame[14] !== 0x45) return false;
  const isFragment = (((frame[20] ?? 0) & 0x1f) | (frame[21] ?? 0)) !== 0;
  if (!isFragment && frame[23] === PROTOCOL_UDP && frame.length < 42) return false;
  return ipv4HeaderChecksum(frame, 14) === 0;
}

function word(frame: Uint8Array, at: number): number {
  return (
    (((frame[at] ?? 0) << 24) |
      ((frame[at + 1] ?? 0) << 16) |
      ((frame[at + 2] ?? 0) << 8) |
      (frame[at + 3] ?? 0)) >>>
    0
  );
}

/** New MAC addresses, time to live, and checksum. */
function rewrite(frame: Uint8Array, nextMac: number): void {
  frame.copyWithin(6, 0, 6);
  const high = Math.floor(nextMac / 2 ** 32);
  frame[0] = high >> 8;
  frame[1] = high;
  frame[2] = nextMac >>> 24;
  frame[3] = nextMac >>> 16;
  frame[4] = nextMac >>> 8;
  frame[5] = nextMac;
  frame[22] = (frame[22] ?? 0) - 1;
  frame[24] = 0;
  frame[25] = 0;
  const checksum = ipv4HeaderChecksum(frame, 14);
  frame[24] = checksum >> 8;
  frame[25] = checksum;
}

/** Addresses, protocol and ports, mixed (the public-domain finaliser of MurmurHash3). */
function flowHash(frame: Uint8Array, salt: number): number {
  let h = salt ^ (frame[23] ?? 0);
  for (const at of [26, 30, 34]) {
    h = Math.imul(h ^ word(frame, at), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    h ^= h >>> 16;
  }
  return h >>> 0;
}
