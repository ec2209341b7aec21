import { Worker } from "node:worker_threads";
import { type FrameListener, type FramePort, type PortStatistics, PortTally } from "../port.ts";
import { FrameRing, mostSources, ringMemory } from "./frame-ring.ts";
import { interfaceOf, type Libc, libc, linux } from "./libc.ts";
import { MessageArray } from "./messages.ts";
import { tagBytes } from "./offloads.ts";
import type { ReceiverData, ReceiverMessage } from "./receiver.ts";

/** Ethernet header and two VLAN tags. */
const linkHeader = 14 + 8;
const slots = 1024;
const sendBatch = 64;
/** Frames that are taken in one turn of the event loop. */
const framesPerTurn = 512;
/** The kernel's buffers of each socket, in bytes; it cuts them to what it allows. */
const kernelBuffer = 8 << 20;
/** Milliseconds that a full interface may hold up the switch before its frames are lost. */
const patience = 10;
const again = 11;
const interrupted = 4;
const noBuffers = 105;

/** A Linux interface as a port of the switch, through a packet socket (packet(7)). Open them with `openLinuxPorts`. */
export class LinuxPort implements FramePort {
  readonly name: string;
  readonly socket: number;
  readonly #libc: Libc;
  readonly #mostBytes: number;
  readonly #frames: Uint8Array;
  readonly #messages: MessageArray;
  readonly #tally = new PortTally();
  readonly #tooLong: () => number;
  readonly #close: () => Promise<void>;
  #staged = 0;
  #isFlushScheduled = false;
  #isClosed = false;
  #kernelDrops = 0;
  listener: FrameListener | undefined;

  constructor(
    name: string,
    socket: number,
    slotBytes: number,
    tooLong: () => number,
    close: () => Promise<void>,
  ) {
    this.name = name;
    this.socket = socket;
    this.#libc = libc();
    this.#mostBytes = slotBytes;
    this.#frames = new Uint8Array(new ArrayBuffer(sendBatch * slotBytes));
    this.#messages = new MessageArray(this.#libc, sendBatch, this.#frames);
    for (let n = 0; n < sendBatch; n++) this.#messages.setBuffer(n, n * slotBytes, 0);
    this.#tooLong = tooLong;
    this.#close = close;
  }

  /** The frame goes out with the others of this turn of the event loop. It is copied. */
  send(frame: Uint8Array): void {
    if (this.#isClosed) {
      this.#tally.countError("CLOSED");
      return;
    }
    if (frame.length > this.#mostBytes) {
      this.#tally.countError("EMSGSIZE");
      return;
    }
    this.#frames.set(frame, this.#staged * this.#mostBytes);
    this.#messages.setLength(this.#staged, frame.length);
    this.#staged++;
    if (this.#staged === sendBatch) this.#flush();
    else if (!this.#isFlushScheduled) {
      this.#isFlushScheduled = true;
      queueMicrotask(this.#scheduledFlush);
    }
  }

  readonly #scheduledFlush = (): void => {
    this.#isFlushScheduled = false;
    this.#flush();
  };

  #flush(): void {
    const c = this.#libc;
    const count = this.#staged;
    this.#staged = 0;
    if (this.#isClosed) return;
    let hasWaited = false;
    for (let n = 0; n < count; ) {
      const sent = c.sendmmsg(this.socket, this.#messages.from(n), count - n, linux.messageDontWait);
      if (sent > 0) {
        for (let k = 0; k < sent; k++) this.#tally.countSent();
        n += sent;
        continue;
      }
      const errno = c.errno();
      if (errno === interrupted) continue;
      if ((errno === again || errno === noBuffers) && !hasWaited) {
        hasWaited = true;
        const polled = new DataView(new ArrayBuffer(8));
        polled.setInt32(0, this.socket, true);
        polled.setInt16(4, linux.pollOut, true);
        c.poll(new Uint8Array(polled.buffer), 1, patience);
        continue;
      }
      this.#tally.countError(c.errorName(errno));
      n++;
    }
  }

  onFrame(listener: FrameListener): void {
    this.listener = listener;
  }

  received(frame: Uint8Array): void {
    this.#tally.countReceived();
    this.listener?.(frame);
  }

  failed(code: string): void {
    this.#tally.countError(code);
  }

  /** `TOO_LONG`: longer than the interface's MTU (switch off gro, gso and tso). `KERNEL_FULL`: the switch was too slow. */
  statistics(): PortStatistics {
    const { received, sent, errors } = this.#tally.snapshot();
    this.#countKernelDrops();
    const tooLong = this.#tooLong();
    return {
      received,
      sent,
      errors: {
        ...errors,
        ...(tooLong > 0 ? { TOO_LONG: tooLong } : {}),
        ...(this.#kernelDrops > 0 ? { KERNEL_FULL: this.#kernelDrops } : {}),
      },
    };
  }

  /** struct tpacket_stats: packets and drops since it was read before. */
  #countKernelDrops(): void {
    if (this.#isClosed) return;
    const stats = new Uint8Array(8);
    const length = new Uint8Array([8, 0, 0, 0]);
    if (this.#libc.getsockopt(this.socket, linux.solPacket, linux.packetStatistics, stats, length) === 0)
      this.#kernelDrops += new DataView(stats.buffer).getUint32(4, true);
  }

  close(): Promise<void> {
    if (!this.#isClosed) {
      this.#flush();
      this.#countKernelDrops();
    }
    this.#isClosed = true;
    return this.#close();
  }
}

/**
 * Opens interfaces as ports of one switch, with one receiving thread for all; the thread ends when all are closed.
 *
 * Frames that the host itself sends through the interface are not received, only those from the other end.
 *
 * @throws Error when an interface is missing, or the process may not open packet sockets (it needs CAP_NET_RAW)
 */
export function openLinuxPorts(interfaces: readonly string[]): readonly LinuxPort[] {
  if (interfaces.length === 0) return [];
  if (interfaces.length > mostSources) throw new Error(`a switch takes at most ${mostSources} interfaces`);
  const c = libc();
  const found = interfaces.map(interfaceOf);
  const longest = Math.max(...found.map(({ mtu }) => mtu)) + linkHeader;
  const slotBytes = (tagBytes + longest + 63) & ~63;
  const sockets: number[] = [];
  try {
    for (const [n, { index }] of found.entries()) sockets.push(openSocket(c, interfaces[n] ?? "", index));
  } catch (error) {
    for (const socket of sockets) c.close(socket);
    throw error;
  }
  const memory = ringMemory(slots, slotBytes);
  const ring = new FrameRing(memory);
  const wakeUp = c.eventfd(0, 0);
  const workerData: ReceiverData = { ring: memory, sockets, wakeUp };
  const worker = new Worker(receiverModule(), { workerData });
  const hasEnded = new Promise<void>((resolve) => {
    worker.once("exit", () => {
      for (const file of [...sockets, wakeUp]) c.close(file);
      resolve();
    });
  });
  let open = interfaces.length;
  const closeOne = (): Promise<void> => {
    if (--open > 0) return Promise.resolve();
    ring.close();
    c.write(wakeUp, new Uint8Array([1, 0, 0, 0, 0, 0, 0, 0]), 8);
    return hasEnded;
  };
  const ports = interfaces.map((name, n) => {
    let closing: Promise<void> | undefined;
    const close = (): Promise<void> => {
      closing ??= closeOne();
      return closing;
    };
    return new LinuxPort(name, sockets[n] ?? -1, slotBytes, () => ring.tooLong(n), close);
  });
  const each = (source: number, frame: Uint8Array): void => ports[source]?.received(frame);
  const drain = (): void => {
    ring.take(framesPerTurn, each);
    if (ring.waiting > 0 || !ring.sleep()) setImmediate(drain);
  };
  worker.on("message", (message: ReceiverMessage) => {
    if (message.kind === "frames") drain();
    else ports[message.source]?.failed(message.code);
  });
  worker.on("error", () => {
    for (const port of ports) port.failed("RECEIVER");
  });
  drain();
  return ports;
}

/** The thread's module. From a clone it is TypeScript, which a thread has to learn first. */
function receiverModule(): URL {
  if (!import.meta.url.endsWith(".ts")) return new URL("./receiver.js", import.meta.url);
  const tsx = JSON.stringify(import.meta.resolve("tsx/esm/api"));
  const receiver = JSON.stringify(new URL("./receiver.ts", import.meta.url));
  const text = `import { register } from ${tsx}; register(); await import(${receiver});`;
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`);
}

function openSocket(c: Libc, name: string, index: number): number {
  // No protocol until it is bound: frames of other interfaces would come first.
  const socket = c.socket(linux.afPacket, linux.sockRaw, 0);
  if (socket < 0) {
    const code = c.errorName(c.errno());
    throw new Error(
      code === "EPERM"
        ? `opening ${name} needs root or CAP_NET_RAW (sudo setcap cap_net_raw+ep "$(which node)")`
        : `no packet socket for ${name}: ${code}`,
    );
  }
  const set = (level: number, option: number, value: Uint8Array): number =>
    c.setsockopt(socket, level, option, value, value.length);
  const check = (result: number, what: string): void => {
    if (result >= 0) return;
    const code = c.errorName(c.errno());
    c.close(socket);
    throw new Error(`${name}: ${what} failed: ${code}`);
  };
  if (set(linux.solSocket, linux.soReceiveBufferForce, int32(kernelBuffer)) < 0)
    set(linux.solSocket, linux.soReceiveBuffer, int32(kernelBuffer));
  set(linux.solSocket, linux.soSendBuffer, int32(kernelBuffer));
  check(set(linux.solPacket, linux.packetAuxdata, int32(1)), "asking for offloads");
  check(set(linux.solPacket, linux.packetIgnoreOutgoing, int32(1)), "ignoring frames of this host");
  const address = new DataView(new ArrayBuffer(20));
  address.setUint16(0, linux.afPacket, true);
  address.setUint16(2, linux.etherTypeAll, false);
  address.setInt32(4, index, true);
  check(c.bind(socket, new Uint8Array(address.buffer), 20), "binding");
  const membership = new DataView(new ArrayBuffer(16));
  membership.setInt32(0, index, true);
  membership.setUint16(4, linux.membershipPromiscuous, true);
  check(
    set(linux.solPacket, linux.packetAddMembership, new Uint8Array(membership.buffer)),
    "promiscuous mode",
  );
  return socket;
}

function int32(value: number): Uint8Array {
  return new Uint8Array(Int32Array.of(value).buffer);
}
