import type { HostMachine, SendAction } from "../host/machine.ts";
import { PriorityQueue } from "../host/priorityqueue.ts";
import type { Random } from "../host/random.ts";
import type { PortRate, SwitchSink } from "../switch/index.ts";
import { parseIpv4 } from "../wire/address.ts";
import { parseFrame } from "../wire/datagram.ts";
import { type LinkOptions, Wire } from "./link.ts";

/** Ticks in a row that a host may ask for at a time that has passed. */
const MAX_TICKS = 10_000;

/** What the lab needs of a switch: the engine that is deployed has it, and so has the fast path. Times are in microseconds. */
export interface LabSwitch {
  readonly cpuPort: number | undefined;
  readonly trafficManager: { setRate(port: number, rate: PortRate): void };
  receive(port: number, data: Uint8Array, now: number, sink: SwitchSink): void;
  tick(now: number, sink: SwitchSink): unknown;
  nextWakeup(): number | undefined;
}

interface Host {
  readonly name: string;
  /** Unsigned number; needed on plain networks. */
  readonly ipv4: number | undefined;
  receive(frame: Uint8Array): void;
  tick(): void;
  wakeAt(): number;
  uplink: Uplink | undefined;
  /** The tick that is already in the queue. */
  armedAt: number;
  readonly uplinks: Uplink[];
  /** Ticks at the present time. */
  ticks: number;
  sent: number;
  received: number;
}

/** A host's way to a switch. */
interface Uplink {
  readonly to: string;
  readonly wire: Wire;
}

/** A switch, or without an engine a plain network that delivers by IPv4 address. */
interface Node {
  readonly engine: LabSwitch | undefined;
  /** Cables by port, and on plain networks the host at the other end. */
  readonly ports: Map<number, { readonly wire: Wire; readonly host?: Host }>;
  readonly toCpu: (data: Uint8Array) => void;
  readonly sink: SwitchSink;
  /** Its clock, in microseconds: it never goes back, however the lab's is rounded. */
  clock: number;
  armedAt: number;
}

/** How the application talks to a host of the lab. */
export interface LabHost<Event> {
  dispatch(event: Event): void;
  /** Sends by the link to this switch from now on. */
  use(switchName: string): void;
  /** Frames that the host has sent and received. */
  readonly traffic: { readonly sent: number; readonly received: number };
}

/** A place where a cable ends. */
export interface SwitchPort {
  readonly switch: string;
  readonly port: number;
}

/** A frame at the moment in which it sets out on a wire. */
export interface LabFrame {
  readonly at: number;
  /** From where to where: `h0>s1:3`, `s1:3>h0` or `s1:3>s2:0`. */
  readonly wire: string;
  readonly frame: Uint8Array;
}

export interface LabOptions {
  /** Sees every frame that a switch or host sends. The frame is not to be kept: a switch may change it. */
  readonly onFrame?: (frame: LabFrame) => void;
}

/**
 * Hosts and switches on one network under a virtual clock. The hosts are the state machines and the switches the engines that are
 * deployed; cables have a rate and a delay, and lose, double, damage and hold back frames at random. The same random numbers give the
 * same run, bit for bit. Times are milliseconds.
 */
export class Lab {
  readonly random: Random;
  readonly #options: LabOptions;
  readonly #events = new PriorityQueue<() => void>();
  readonly #switches = new Map<string, Node>();
  readonly #hosts = new Map<string, Host>();
  readonly #wires = new Map<string, Wire>();
  #now = 0;
  /** An application has heard something since the last look. */
  #told = false;
  /** Frames that have arrived somewhere. */
  hops = 0;

  constructor(random: Random, options: LabOptions = {}) {
    this.random = random;
    this.#options = options;
  }

  get now(): number {
    return this.#now;
  }

  addSwitch(name: string, engine: LabSwitch, toCpu: (data: Uint8Array) => void = () => {}): void {
    const node: Node = {
      engine,
      ports: new Map(),
      toCpu,
      sink: (action) => {
        if (action.kind === "transmit") this.#onWire(node.ports.get(action.port)?.wire, action.data);
        else if (action.kind === "toCpu") toCpu(action.data);
      },
      clock: 0,
      armedAt: Number.POSITIVE_INFINITY,
    };
    this.#switches.set(name, node);
  }

  /** A network without a program: each frame goes to the host with its IPv4 destination. */
  addNetwork(name: string): void {
    const none = { clock: 0, armedAt: Number.POSITIVE_INFINITY, toCpu: () => {}, sink: () => {} };
    this.#switches.set(name, { engine: undefined, ports: new Map(), ...none });
  }

  /** Cuts the power of a switch: frames to it are lost, and those inside with it. */
  removeSwitch(name: string): void {
    const node = this.#switches.get(name);
    if (node !== undefined) node.armedAt = Number.NEGATIVE_INFINITY;
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
      uplinks: [],
      ticks: 0,
      sent: 0,
      received: 0,
    };
    this.#hosts.set(name, host);
    this.#arm(host);
    return {
      dispatch: (event) => perform(machine.handle(event, this.#now)),
      use: (switchName) => {
        host.uplink = host.uplinks.find((l) => l.to === switchName) ?? host.uplink;
      },
      get traffic() {
        return { sent: host.sent, received: host.received };
      },
    };
  }

  /** Plugs a host into a switch. Its first cable is the one that it uses. The switch's port gets the cable's rate. */
  connect(hostName: string, switchName: string, port: number, options: LinkOptions = {}): void {
    const host = this.#hosts.get(hostName);
    if (host === undefined) throw new RangeError(`no ${hostName} in the lab`);
    const place = `${switchName}:${port}`;
    const node = this.#free({ switch: switchName, port }, options);
    const down = this.#wire(`${place}>${hostName}`, options, (frame) => {
      host.received++;
      host.receive(frame);
    });
    node.ports.set(port, { wire: down, host });
    const wire = this.#wire(`${hostName}>${place}`, options, (frame) =>
      this.#atSwitch(switchName, port, frame),
    );
    const uplink = { to: switchName, wire };
    host.uplinks.push(uplink);
    host.uplink ??= uplink;
  }

  /** Joins two switches. Both ports get the cable's rate. */
  link(a: SwitchPort, b: SwitchPort, options: LinkOptions = {}): void {
    const ends = [
      [a, b],
      [b, a],
    ] as const;
    for (const [from, to] of ends) {
      const name = `${from.switch}:${from.port}>${to.switch}:${to.port}`;
      const wire = this.#wire(name, options, (frame) => this.#atSwitch(to.switch, to.port, frame));
      this.#free(from, options).ports.set(from.port, { wire });
    }
  }

  /** One direction of a cable, by its ends: `h0>s1:3`, `s1:3>h0`, `s1:3>s2:0`. */
  wire(name: string): Wire {
    const found = this.#wires.get(name);
    if (found === undefined) throw new RangeError(`no wire ${name} in the lab`);
    return found;
  }

  get wires(): ReadonlyMap<string, Wire> {
    return this.#wires;
  }

  /** Does something at a time, or now if it has passed. */
  at(time: number, what: () => void): void {
    this.#events.add(Math.max(time, this.#now), what);
  }

  /** Runs until `isDone`, until nothing is left to happen, or until the time; says whether `isDone`. */
  run(isDone: () => boolean, until: number): boolean {
    while (!isDone()) {
      const at = this.#events.firstPriority;
      if (at > until) return false;
      const event = this.#events.take();
      if (event === undefined) return false;
      this.#now = Math.max(this.#now, at);
      event();
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

  /** An application has heard something: what waits for it by promises goes on before the next event happens. */
  tell(): void {
    this.#told = true;
  }

  #wire(name: string, options: LinkOptions, arrive: (frame: Uint8Array) => void): Wire {
    const wire = new Wire(name, this, options, (frame) => {
      this.hops++;
      arrive(frame);
    });
    this.#wires.set(name, wire);
    return wire;
  }

  /** The switch of a port that nothing is plugged into. */
  #free({ switch: name, port }: SwitchPort, { rate }: LinkOptions): Node {
    const node = this.#switches.get(name);
    if (node === undefined) throw new RangeError(`no ${name} in the lab`);
    if (node.ports.has(port)) throw new RangeError(`port ${port} of ${name} is taken`);
    if (rate !== undefined) node.engine?.trafficManager.setRate(port, { kind: "bitsPerSecond", rate });
    return node;
  }

  #arm(host: Host): void {
    const at = host.wakeAt();
    if (at >= host.armedAt || at === Number.POSITIVE_INFINITY) return;
    host.armedAt = at;
    this.at(at, () => {
      if (host.armedAt !== at) return;
      host.armedAt = Number.POSITIVE_INFINITY;
      if (host.wakeAt() <= this.#now) this.#tick(host, at);
      else this.#arm(host);
    });
  }

  /** A machine that wants to be called again and again at the same time would keep the clock from going on. */
  #tick(host: Host, at: number): void {
    host.ticks = at < this.#now ? host.ticks + 1 : 0;
    if (host.ticks > MAX_TICKS)
      throw new Error(`${host.name} asks for one tick after the other at ${this.#now} ms`);
    host.tick();
  }

  #fromHost(host: Host, frame: Uint8Array): void {
    host.sent++;
    // Machines may keep what they have sent, and switches change what they get.
    this.#onWire(host.uplink?.wire, frame.slice());
  }

  #onWire(wire: Wire | undefined, frame: Uint8Array): void {
    if (wire === undefined) return;
    this.#options.onFrame?.({ at: this.#now, wire: wire.name, frame });
    wire.send(frame);
  }

  #atSwitch(name: string, port: number, frame: Uint8Array): void {
    const node = this.#switches.get(name);
    if (node !== undefined) this.#into(node, port, frame);
  }

  #into(node: Node, port: number, data: Uint8Array): void {
    const { engine } = node;
    if (engine === undefined) {
      this.#throughNetwork(node, data);
      return;
    }
    node.clock = Math.max(node.clock, this.#now * 1000);
    engine.receive(port, data, node.clock, node.sink);
    this.#armSwitch(node, engine);
  }

  #throughNetwork(node: Node, data: Uint8Array): void {
    const datagram = parseFrame(data);
    if ("refused" in datagram) return;
    const to = [...node.ports.values()].filter(({ host }) => host?.ipv4 === datagram.dstIp);
    for (const [i, { wire }] of to.entries()) this.#onWire(wire, i === 0 ? data : data.slice());
  }

  /** Sees to it that a switch whose queues are not empty is called in time. */
  #armSwitch(node: Node, engine: LabSwitch): void {
    const wakeup = engine.nextWakeup();
    if (wakeup === undefined || wakeup >= node.armedAt) return;
    node.armedAt = wakeup;
    this.at(wakeup / 1000, () => {
      if (node.armedAt !== wakeup) return;
      node.armedAt = Number.POSITIVE_INFINITY;
      node.clock = Math.max(node.clock, wakeup, this.#now * 1000);
      engine.tick(node.clock, node.sink);
      this.#armSwitch(node, engine);
    });
  }
}

function isSend(action: { readonly type: string }): action is SendAction {
  return action.type === "send";
}
