import { connect, createServer, type Server, type Socket } from "node:net";
import {
  COLLECTIVE_VERSION,
  type CollectiveHeader,
  CollectiveKind,
  collectiveCodec,
  decodeCollective,
  isData,
} from "../../wire/collective.ts";
import { CollectiveError } from "./errors.ts";
import { CollectiveGroup } from "./group.ts";
import {
  type CollectiveAction,
  type CollectiveEvent,
  type CollectiveMessage,
  CollectiveNode,
  type CollectiveOptions,
  DEFAULT_COLLECTIVE_OPTIONS,
} from "./node.ts";
import { Pacer } from "./pacer.ts";
import { Channel, TcpLink } from "./tcplink.ts";

export interface TcpAddress {
  readonly host: string;
  readonly port: number;
}

export interface TcpGroupOptions extends CollectiveOptions {
  /** Milliseconds in which a node has to be reached. */
  readonly openTimeout: number;
  /** Bytes per second that this node sends at most: for trials of slow networks. Unlimited when absent. */
  readonly rate?: number;
}

const DEFAULTS = { ...DEFAULT_COLLECTIVE_OPTIONS, openTimeout: 10_000 };
const RETRY_MS = 50;
/** Connections that may be without a greeting at once; more are closed. */
const MAX_STRANGERS = 64;

export interface JoinOptions {
  /** This node's number. */
  readonly node: number;
  /** Where the nodes listen, this one's own included. */
  readonly addresses: readonly TcpAddress[];
  /** The same number (32 bits) on all nodes, another one for each group that is formed. */
  readonly session: number;
  readonly options?: Partial<TcpGroupOptions>;
}

/** A place in a group to be: the port on which the other nodes find this one. */
export class TcpSeat {
  readonly #server: Server;
  /** Connections that have not joined a group, oldest first. */
  readonly #strangers = new Set<Socket>();
  /** Greetings that are not for this group, or are none. */
  refused = 0;
  #greet: ((hello: CollectiveHeader, socket: Socket, rest: Uint8Array) => boolean) | undefined;
  readonly #early: { hello: CollectiveHeader; socket: Socket; rest: Uint8Array }[] = [];

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket) => this.#accept(socket));
  }

  /** Listens; any free port when it is 0. Rejects when the port can't be had. */
  static listen(address: TcpAddress): Promise<TcpSeat> {
    const server = createServer({ noDelay: true });
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(address.port, address.host, () => {
        server.off("error", reject);
        resolve(new TcpSeat(server));
      });
    });
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /**
   * Forms the group: resolves when this node has its neighbours in the chain, the other connections are made when an operation needs
   * them. Rejects with a CollectiveError that names the node that could not be reached in time.
   */
  async join({ node, addresses, session, options = {} }: JoinOptions): Promise<TcpGroup> {
    const machine = new CollectiveNode(
      { node, nodes: addresses.length, session },
      { ...DEFAULTS, ...options },
    );
    const group = new TcpGroup(machine, addresses, { ...DEFAULTS, ...options }, () => this.close());
    this.#greet = (hello, socket, rest) => group.accept(hello, socket, rest);
    for (const { hello, socket, rest } of this.#early.splice(0)) this.#hand(hello, socket, rest);
    await group.ready;
    return group;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#strangers) socket.destroy();
    for (const { socket } of this.#early) socket.destroy();
  }

  #accept(socket: Socket): void {
    socket.on("error", () => {}); // it is closed then, which is enough for a stranger
    const [oldest] = this.#strangers;
    if (this.#strangers.size >= MAX_STRANGERS) oldest?.destroy();
    this.#strangers.add(socket);
    socket.once("close", () => this.#strangers.delete(socket));
    readGreeting(socket, (hello, rest) => {
      this.#strangers.delete(socket);
      if (hello === undefined) this.#refuse(socket);
      else if (this.#greet !== undefined) this.#hand(hello, socket, rest);
      else if (this.#early.length < MAX_STRANGERS) this.#early.push({ hello, socket, rest });
      else this.#refuse(socket);
    });
  }

  #hand(hello: CollectiveHeader, socket: Socket, rest: Uint8Array): void {
    if (this.#greet?.(hello, socket, rest) !== true) this.#refuse(socket);
  }

  #refuse(socket: Socket): void {
    this.refused++;
    socket.destroy();
  }
}

/** Reads one header from a new connection and leaves the socket paused. Gives undefined for anything but a greeting. */
function readGreeting(
  socket: Socket,
  then: (hello: CollectiveHeader | undefined, rest: Uint8Array) => void,
): void {
  let bytes: Uint8Array = new Uint8Array(0);
  const onData = (more: Uint8Array): void => {
    bytes = Buffer.concat([bytes, more]);
    if (bytes.length < collectiveCodec.bytes) return;
    socket.off("data", onData);
    socket.pause();
    const header = decodeCollective(bytes);
    const isHello = !("refused" in header) && header.kind === CollectiveKind.HELLO;
    then(isHello ? header : undefined, bytes.subarray(collectiveCodec.bytes));
  };
  socket.on("data", onData);
}

/** The connections to one other node. */
interface Peer {
  readonly number: number;
  readonly links: (TcpLink | undefined)[];
  isConnected: boolean;
  /** Messages that wait for the connection. */
  readonly waiting: CollectiveMessage[];
  hasLeft: boolean;
  dataEnded: boolean;
}

/**
 * A group over TCP, and this process's node in it. For each pair of nodes there are two connections: values wait in theirs until
 * they are wanted, while signs of life and failures pass in the other. The node with the greater number makes them.
 */
export class TcpGroup extends CollectiveGroup {
  readonly ready: Promise<void>;
  readonly #machine: CollectiveNode;
  readonly #addresses: readonly TcpAddress[];
  readonly #options: TcpGroupOptions;
  readonly #closeSeat: () => void;
  readonly #peers = new Map<number, Peer>();
  readonly #pacer: Pacer | undefined;
  readonly #timers = new Set<NodeJS.Timeout>();
  #settle: { resolve(): void; reject(error: Error): void } = { resolve: () => {}, reject: () => {} };
  #wake: NodeJS.Timeout | undefined;
  #openSockets = 0;
  #isClosing = false;
  #closed: () => void = () => {};
  #events: CollectiveEvent[] = [];
  #isBusy = false;

  constructor(
    machine: CollectiveNode,
    addresses: readonly TcpAddress[],
    options: TcpGroupOptions,
    closeSeat: () => void,
  ) {
    super({ dispatch: (event) => this.#dispatch(event) });
    this.#machine = machine;
    this.#addresses = addresses;
    this.#options = options;
    this.#closeSeat = closeSeat;
    this.#pacer = options.rate === undefined ? undefined : new Pacer(options.rate);
    this.ready = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    for (const neighbour of [machine.node - 1, machine.node + 1])
      if (neighbour >= 0 && neighbour < machine.nodes) this.#reach(neighbour);
    this.#checkReady();
  }

  get node(): number {
    return this.#machine.node;
  }

  get nodes(): number {
    return this.#machine.nodes;
  }

  /** A greeting from a node with a greater number. False when it does not belong here. */
  accept(hello: CollectiveHeader, socket: Socket, rest: Uint8Array): boolean {
    const { sender, session, collective: nodes, offset: channel } = hello;
    if (session !== this.#machine.session || nodes !== this.nodes || this.#isClosing) return false;
    if (sender <= this.node || sender >= this.nodes || channel > 1) return false;
    const peer = this.#peer(sender);
    if (peer.links[channel] !== undefined) return false;
    socket.write(this.#hello(channel));
    this.#attach(peer, channel, socket, rest);
    return true;
  }

  /** Leaves the group and closes everything. Resolves when the sockets are closed. */
  async close(): Promise<void> {
    if (!this.#isClosing) {
      this.fail(new CollectiveError("closed", "the group was closed"));
      this.#dispatch({ type: "leave" });
      this.#end();
    }
    if (this.#openSockets === 0) return;
    await new Promise<void>((resolve) => {
      const limit = setTimeout(() => {
        for (const { links } of this.#peers.values()) for (const link of links) link?.destroy();
        resolve();
      }, this.#options.silence);
      this.#closed = () => {
        clearTimeout(limit);
        resolve();
      };
    });
  }

  #end(): void {
    this.#isClosing = true;
    this.#closeSeat();
    clearTimeout(this.#wake);
    for (const timer of this.#timers) clearTimeout(timer);
    for (const { links } of this.#peers.values()) for (const link of links) link?.end();
  }

  #hello(channel: number): Uint8Array {
    const header = {
      ...{
        version: COLLECTIVE_VERSION,
        kind: CollectiveKind.HELLO,
        operation: 0,
        sender: this.node,
        root: 0,
      },
      ...{ reserved: 0, session: this.#machine.session, collective: this.nodes, elements: 0 },
      ...{ offset: channel, count: 0 },
    };
    return TcpLink.encode({ header, values: new Float32Array(0) });
  }

  #peer(number: number): Peer {
    const known = this.#peers.get(number);
    if (known !== undefined) return known;
    const peer: Peer = {
      ...{ number, links: [undefined, undefined], isConnected: false, waiting: [] },
      ...{ hasLeft: false, dataEnded: false },
    };
    this.#peers.set(number, peer);
    return peer;
  }

  /** Sees to it that there will be connections to this node. */
  #reach(number: number): void {
    if (this.#peers.has(number)) return;
    const peer = this.#peer(number);
    if (number < this.node)
      for (const channel of [Channel.CONTROL, Channel.DATA]) this.#connect(peer, channel);
    // A node that is late is no failure: one that has been seen before the operation is watched by its neighbours.
    const isNeighbour = Math.abs(number - this.node) === 1;
    if (!isNeighbour) return;
    this.#after(this.#options.openTimeout, () => {
      if (peer.isConnected) return;
      const reason = `nothing heard within ${this.#options.openTimeout} ms`;
      this.#dispatch({ type: "unreachable", peer: number, reason });
    });
  }

  #connect(peer: Peer, channel: number): void {
    const address = this.#addresses[peer.number];
    if (this.#isClosing || address === undefined) return;
    const socket = connect({ ...address, noDelay: true });
    let isGreeted = false;
    const again = (): void => {
      if (!isGreeted) this.#after(RETRY_MS, () => this.#connect(peer, channel));
    };
    socket.on("error", () => {});
    socket.once("close", again);
    socket.once("connect", () => socket.write(this.#hello(channel)));
    readGreeting(socket, (hello, rest) => {
      if (hello?.sender !== peer.number || hello.session !== this.#machine.session || this.#isClosing) {
        socket.destroy();
        return;
      }
      isGreeted = true;
      this.#attach(peer, channel, socket, rest);
    });
  }

  #attach(peer: Peer, channel: number, socket: Socket, rest: Uint8Array): void {
    this.#openSockets++;
    socket.once("close", () => {
      this.#openSockets--;
      if (this.#openSockets === 0) this.#closed();
    });
    const { number } = peer;
    const link = new TcpLink(socket, rest, {
      admit: (header) =>
        channel === Channel.DATA
          ? this.#machine.admit(number, header)
          : new CollectiveError("node_disagrees", "values on the control connection", number),
      message: (message) => this.#message(peer, channel, message),
      garbage: (reason) => this.#dispatch({ type: "garbage", peer: number, reason }),
      ended: (reason) => this.#ended(peer, channel, reason),
    });
    peer.links[channel] = link;
    if (peer.links.includes(undefined)) return;
    peer.isConnected = true;
    this.#dispatch({ type: "connected", peer: number });
    for (const message of peer.waiting.splice(0)) this.#send(peer, message);
    for (const each of peer.links) each?.proceed();
    this.#checkReady();
  }

  #message(peer: Peer, channel: number, message: CollectiveMessage): void {
    if (isData(message.header.kind) !== (channel === Channel.DATA)) {
      this.#dispatch({ type: "garbage", peer: peer.number, reason: "a message on the wrong connection" });
      return;
    }
    this.#dispatch({ type: "message", from: peer.number, message });
    if (message.header.kind !== CollectiveKind.LEAVE) return;
    peer.hasLeft = true;
    if (peer.dataEnded) this.#lost(peer, "it has left");
  }

  /** Two connections end one after the other, in any order: only together they tell what happened. */
  #ended(peer: Peer, channel: number, reason: string): void {
    if (channel === Channel.DATA) {
      peer.dataEnded = true;
      if (peer.hasLeft) this.#lost(peer, reason);
      else this.#after(1000, () => !peer.hasLeft && this.#lost(peer, reason));
    } else if (!peer.hasLeft) this.#lost(peer, reason);
  }

  #lost(peer: Peer, reason: string): void {
    this.#dispatch({ type: "lost", peer: peer.number, reason });
  }

  #checkReady(): void {
    const neighbours = [this.node - 1, this.node + 1].filter((n) => n >= 0 && n < this.nodes);
    if (neighbours.every((n) => this.#peers.get(n)?.isConnected === true)) this.#settle.resolve();
  }

  /** Events may come while one is handled, since sockets are told to go on: they are taken in turn. */
  #dispatch(event: CollectiveEvent): void {
    // What the application asks for is checked at once, so that it gets the error itself.
    if (event.type === "start") this.#perform(this.#machine.handle(event, performance.now()));
    else this.#events.push(event);
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift())
        this.#perform(this.#machine.handle(next, performance.now()));
    } finally {
      this.#isBusy = false;
    }
    this.#arm();
    for (const { links } of [...this.#peers.values()]) links[Channel.DATA]?.proceed();
  }

  #perform(actions: readonly CollectiveAction[]): void {
    for (const action of actions) {
      if (action.type === "message") {
        this.#reach(action.to);
        const peer = this.#peer(action.to);
        if (peer.isConnected) this.#send(peer, action.message);
        else peer.waiting.push(action.message);
      } else if (action.type === "error") this.#failed(action.error);
      else this.notice(action);
    }
    for (const needed of this.#machine.neededPeers()) this.#reach(needed);
  }

  #send(peer: Peer, message: CollectiveMessage): void {
    const bytes = TcpLink.encode(message);
    if (!isData(message.header.kind)) {
      peer.links[Channel.CONTROL]?.write(bytes);
      return;
    }
    const write = (part: Uint8Array, isLast: boolean): void =>
      peer.links[Channel.DATA]?.write(
        part,
        () => isLast && this.#dispatch({ type: "sent", to: peer.number }),
      );
    if (this.#pacer === undefined) write(bytes, true);
    else this.#pacer.send(bytes, write);
  }

  #failed(error: CollectiveError): void {
    this.#settle.reject(error);
    this.ready.catch(() => {}); // told above, or nobody waits any more
    this.fail(error);
    // The others have to hear of it first.
    this.#after(0, () => this.#end());
  }

  #arm(): void {
    clearTimeout(this.#wake);
    const { wakeAt } = this.#machine;
    if (this.#isClosing || wakeAt === Number.POSITIVE_INFINITY) return;
    this.#wake = setTimeout(() => this.#dispatch({ type: "tick" }), Math.max(1, wakeAt - performance.now()));
  }

  #after(delay: number, what: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      what();
    }, delay);
    this.#timers.add(timer);
  }
}
