import { deliveries, type LinkFaults } from "../host/faults.ts";
import type { HostMachine, SendAction } from "../host/machine.ts";
import type { Random } from "../host/random.ts";
import type { Switch } from "../switch/index.ts";
import { parseIpv4 } from "../wire/address.ts";
import { parseFrame } from "../wire/datagram.ts";
import { EventQueue } from "./eventqueue.ts";

/** One end of a link. */
interface Attachment {
  readonly host: Host;
  readonly faults: LinkFaults;
}

interface Host {
  readonly name: string;
  /** Unsigned number; needed on plain networks. */
  readonly ipv4: number | undefined;
  receive(frame: Uint8Array): void;
  tick(): void;
  wakeAt(): number;
  /** The switch and port that frames go to. */
  uplink: { readonly on: string; readonly port: number; readonly faults: LinkFaults } | undefined;
  /** The tick that is already in the queue. */
  armedAt: number;
  readonly links: { readonly on: string; readonly port: number; readonly faults: LinkFaults }[];
  sent: number;
  received: number;
}

/** A switch, or without an engine a plain network that delivers by IPv4 address. */
interface Node {
  readonly engine: Switch | undefined;
  readonly ports: Map<number, Attachment>;
  readonly toCpu: (data: Uint8Array) => void;
}

/** How the application talks to a host of the lab. */
export interface LabHost<Event> {
  dispatch(event: Event): void;
  /** Sends by the link to this switch from now on. */
  use(switchName: string): void;
  /** Frames that the host has sent and received. */
  readonly traffic: { readonly sent: number; readonly received: number };
}

/**
 * Hosts and switches on one network under a virtual clock. The hosts are the state machines and the switches the engines that are
 * deployed; links lose, double, delay and hold back frames at random. The same random numbers give the same run, bit for bit.
 * Times are milliseconds.
 */
export class Lab {
  readonly #random: Random;
  readonly #events = new EventQueue<() => void>();
  readonly #switches = new Map<string, Node>();
  readonly #hosts = new Map<string, Host>();
  #now = 0;
  /** An application has heard something since the last look. */
  #told = false;

  constructor(random: Random) {
    this.#random = random;
  }

  get now(): number {
    return this.#now;
  }

  addSwitch(name: string, engine: Switch, toCpu: (data: Uint8Array) => void = () => {}): void {
    this.#switches.set(name, { engine, ports: new Map(), toCpu });
  }

  /** A network without a program: each frame goes to the host with its IPv4 destination. */
  addNetwork(name: string): void {
    this.#switches.set(name, { engine: undefined, ports: new Map(), toCpu: () => {} });
  }

  /** Cuts the power of a switch: frames to it are lost, and those inside with it. */
  removeSwitch(name: string): void {
    this.#switches.delete(name);
  }

  /** Puts a frame from the controller into a switch, the packet_out header in front. */
  packetOut(name: string, data: Uint8Array): void {
    const node = this.#switches.get(name);
    if (node?.engine?.cpuPort !== undefined) this.#into(node, node.engine.cpuPort, data);
  }

  addHost<Event, Action extends { readonly type: string }>(
    name: string,
    machine: HostMachine<Event, Action>,
    onAction: (action: Action) => void,
    ipv4?: string,
  ): LabHost<Event> {
    const perform = (actions: readonly (Action | SendAction)[]): void => {
      for (const action of actions) {
        if (isSend(action)) this.#fromHost(host, action.frame);
        else {
          this.#told = true;
          onAction(action);
        }
      }
      this.#arm(host);
    };
    const host: Host = {
      name,
      ipv4: ipv4 === undefined ? undefined : parseIpv4(ipv4),
      receive: (frame) => perform(machine.handle({ type: "frame", frame }, this.#now)),
      tick: () => perform(machine.handle({ type: "tick" }, this.#now)),
      wakeAt: () => machine.wakeAt,
      uplink: undefined,
      armedAt: Number.POSITIVE_INFINITY,
      links: [],
      sent: 0,
      received: 0,
    };
    this.#hosts.set(name, host);
    this.#arm(host);
    return {
      dispatch: (event) => perform(machine.handle(event, this.#now)),
      use: (switchName) => {
        host.uplink = host.links.find((l) => l.on === switchName) ?? host.uplink;
      },
      get traffic() {
        return { sent: host.sent, received: host.received };
      },
    };
  }

  /** Plugs a host into a switch. Its first link is the one that it uses. */
  connect(hostName: string, switchName: string, port: number, faults: LinkFaults = {}): void {
    const host = this.#hosts.get(hostName);
    const node = this.#switches.get(switchName);
    if (host === undefined || node === undefined)
      throw new RangeError(`no ${hostName} or no ${switchName} in the lab`);
    if (node.ports.has(port)) throw new RangeError(`port ${port} of ${switchName} is taken`);
    node.ports.set(port, { host, faults });
    const link = { on: switchName, port, faults };
    host.links.push(link);
    host.uplink ??= link;
  }

  /** Does something at a time, or now if it has passed. */
  at(time: number, what: () => void): void {
    this.#events.add(Math.max(time, this.#now), what);
  }

  /** Runs until `isDone`, until nothing is left to happen, or until the time; says whether `isDone`. */
  run(isDone: () => boolean, until: number): boolean {
    while (!isDone()) {
      const at = this.#events.nextAt;
      if (at > until) return false;
      this.#now = Math.max(this.#now, at);
      this.#events.take()?.();
    }
    return true;
  }

  /** The same for applications that wait for promises: they go on before the next event happens. */
  async runAsync(isDone: () => boolean, until: number): Promise<boolean> {
    while (!isDone()) {
      this.#told = false;
      if (!this.run(() => this.#told || isDone(), until) && !this.#told) return isDone();
      await new Promise(setImmediate);
    }
    return true;
  }

  #arm(host: Host): void {
    const at = host.wakeAt();
    if (at >= host.armedAt || at === Number.POSITIVE_INFINITY) return;
    host.armedAt = at;
    this.at(at, () => {
      if (host.armedAt !== at) return;
      host.armedAt = Number.POSITIVE_INFINITY;
      if (host.wakeAt() <= this.#now) host.tick();
      else this.#arm(host);
    });
  }

  #fromHost(host: Host, frame: Uint8Array): void {
    host.sent++;
    const { uplink } = host;
    if (uplink === undefined) return;
    this.#onLink(uplink.faults, frame, (copy) => {
      const node = this.#switches.get(uplink.on);
      if (node !== undefined) this.#into(node, uplink.port, copy);
    });
  }

  #into(node: Node, port: number, data: Uint8Array): void {
    if (node.engine === undefined) {
      const datagram = parseFrame(data);
      if ("refused" in datagram) return;
      for (const attachment of node.ports.values()) {
        if (attachment.host.ipv4 === datagram.dstIp) this.#toHost(attachment, data);
      }
      return;
    }
    // The switch's clock counts microseconds.
    node.engine.receive(port, data, this.#now * 1000, (action) => {
      if (action.kind === "toCpu") node.toCpu(action.data);
      if (action.kind !== "transmit") return;
      const attachment = node.ports.get(action.port);
      if (attachment !== undefined) this.#toHost(attachment, action.data);
    });
  }

  #toHost({ host, faults }: Attachment, frame: Uint8Array): void {
    this.#onLink(faults, frame, (copy) => {
      host.received++;
      host.receive(copy);
    });
  }

  #onLink(faults: LinkFaults, frame: Uint8Array, arrive: (copy: Uint8Array) => void): void {
    for (const delay of deliveries(this.#random, faults))
      this.at(this.#now + delay, () => arrive(frame.slice()));
  }
}

function isSend(action: { readonly type: string }): action is SendAction {
  return action.type === "send";
}
