import { deliveries, type LinkFaults } from "../../src/host/faults.ts";
import type { HostMachine } from "../../src/host/machine.ts";
import type { Random } from "../../src/host/random.ts";
import { parseIpv4 } from "../../src/wire/address.ts";
import { parseFrame } from "../../src/wire/datagram.ts";

interface Station {
  /** Takes a frame; gives frames to send. */
  receive(frame: Uint8Array, now: number): readonly Uint8Array[];
  tick(now: number): readonly Uint8Array[];
  wakeAt(): number;
}

interface Arrival {
  readonly at: number;
  readonly order: number;
  readonly to: number;
  readonly frame: Uint8Array;
}

/**
 * Hosts and aggregators on one bad network under a virtual clock: every frame goes by its IPv4 destination, and is
 * lost, doubled and held back at random on the way. The same random numbers give the same run.
 */
export class VirtualNetwork {
  now = 0;
  faults: LinkFaults;
  /** Looks at every frame that is sent; false loses it. */
  filter: (frame: Uint8Array, to: number) => boolean = () => true;
  readonly #random: Random;
  readonly #stations = new Map<number, Station>();
  #arrivals: Arrival[] = [];
  #order = 0;
  frames = 0;

  constructor(random: Random, faults: LinkFaults) {
    this.#random = random;
    this.faults = faults;
  }

  /** Puts a host on the network. Returns how to pass it its application's events. */
  addHost<Event, Action extends { readonly type: string }>(
    ip: string,
    machine: HostMachine<Event, Action>,
    onAction: (action: Action) => void,
  ): (event: Event) => void {
    const perform = (actions: readonly (Action | { type: "send"; frame: Uint8Array })[]): Uint8Array[] => {
      const frames: Uint8Array[] = [];
      for (const action of actions)
        if (isSend(action)) frames.push(action.frame);
        else onAction(action as Action); // what is no send is an Action
      return frames;
    };
    this.#stations.set(parseIpv4(ip), {
      receive: (frame, now) => perform(machine.handle({ type: "frame", frame }, now)),
      tick: (now) => perform(machine.handle({ type: "tick" }, now)),
      wakeAt: () => machine.wakeAt,
    });
    return (event) => {
      for (const frame of perform(machine.handle(event, this.now))) this.send(frame);
    };
  }

  /** Puts something on the network that only answers. */
  addNode(ip: string, receive: (frame: Uint8Array) => readonly Uint8Array[]): void {
    this.#stations.set(parseIpv4(ip), { receive, tick: () => [], wakeAt: () => Number.POSITIVE_INFINITY });
  }

  /** Takes something off the network: it neither hears nor speaks any more. */
  remove(ip: string): void {
    this.#stations.delete(parseIpv4(ip));
  }

  send(frame: Uint8Array): void {
    this.frames++;
    const datagram = parseFrame(frame);
    if ("refused" in datagram) throw new Error(`a station sent a bad frame: ${datagram.refused}`);
    if (this.filter(frame, datagram.dstIp)) this.deliver(frame, datagram.dstIp);
  }

  /** Sends any bytes to a station. */
  deliver(frame: Uint8Array, to: number): void {
    for (const delay of deliveries(this.#random, this.faults))
      this.#arrivals.push({ at: this.now + delay, order: this.#order++, to, frame });
  }

  /** Runs until `isDone`, or until the time is over; says which. */
  run(isDone: () => boolean, until: number): boolean {
    let steps = 0;
    let since = this.now;
    while (!isDone()) {
      const next = this.#nextArrival();
      const [ip, wakeAt] = this.#nextWake();
      const at = Math.max(this.now, Math.min(next?.at ?? Number.POSITIVE_INFINITY, wakeAt));
      if (at > until) return false;
      steps = at === since ? steps + 1 : 0;
      since = at;
      if (steps > 100_000) throw new Error(`the network does not get beyond ${at} ms`);
      this.now = at;
      if (next !== undefined && next.at <= at) {
        this.#arrivals.splice(this.#arrivals.indexOf(next), 1);
        const station = this.#stations.get(next.to);
        // Each station gets its own copy, and the buffer is used again afterwards.
        const copy = next.frame.slice();
        for (const frame of station?.receive(copy, at) ?? []) this.send(frame);
        copy.fill(0xee);
      } else for (const frame of this.#stations.get(ip)?.tick(at) ?? []) this.send(frame);
    }
    return true;
  }

  #nextArrival(): Arrival | undefined {
    let next: Arrival | undefined;
    for (const arrival of this.#arrivals)
      if (
        next === undefined ||
        arrival.at < next.at ||
        (arrival.at === next.at && arrival.order < next.order)
      )
        next = arrival;
    return next;
  }

  #nextWake(): [ip: number, at: number] {
    let next: [number, number] = [0, Number.POSITIVE_INFINITY];
    for (const [ip, station] of this.#stations) {
      const at = station.wakeAt();
      if (at < next[1]) next = [ip, at];
    }
    return next;
  }
}

function isSend(action: { readonly type: string }): action is { type: "send"; frame: Uint8Array } {
  return action.type === "send";
}
