import { parseFrame } from "../../wire/datagram.ts";
import {
  decodeTensorPacket,
  TENSOR_PORT,
  type TensorHeader,
  TensorKind,
  type TensorPacket,
} from "../../wire/tensor.ts";
import type { Counters } from "../counters.ts";
import type { FrameEvent, HostMachine, SendAction, TickEvent } from "../machine.ts";
import { Desk } from "./desk.ts";
import type { DlcpAction, DlcpCounter, DlcpEvent } from "./events.ts";
import type { DlcpJob, DlcpOptions } from "./job.ts";
import { isAwaited, type Peer } from "./peer.ts";
import { Receiver } from "./receiver.ts";
import { Sender } from "./sender.ts";

/**
 * A host of DLCP (arXiv 2008.08445), with the rules of MLT (NSDI 2024): tensors go as single packets that need no order, marked by
 * layer and by magnitude of their gradients, and a transfer is over as soon as enough has arrived. A host may send and receive.
 */
export class DlcpHost implements HostMachine<DlcpEvent, DlcpAction> {
  readonly self: number;
  readonly #desk: Desk;
  readonly #sender: Sender;
  readonly #receiver: Receiver;
  #isWatching = false;

  /** @throws DlcpError `job_invalid`. */
  constructor(job: DlcpJob, self: number, options: Partial<DlcpOptions> = {}) {
    this.self = self;
    this.#desk = new Desk(job, self, options);
    this.#desk.onWatch((now) => this.#watch(now));
    this.#sender = new Sender(this.#desk);
    this.#receiver = new Receiver(this.#desk);
  }

  get counters(): Counters<DlcpCounter> {
    return this.#desk.counters;
  }

  get wakeAt(): number {
    return Math.min(this.#sender.wakeAt, this.#desk.timers.firstPriority);
  }

  /** Rate at which this host sends to another one, in bits per second. */
  rateTo(peer: number): number {
    return this.#desk.peer(peer).control.rate;
  }

  /** @throws DlcpError `wrong_use` for a call that does not fit the job. */
  handle(event: DlcpEvent | FrameEvent | TickEvent, now: number): readonly (DlcpAction | SendAction)[] {
    if (event.type === "frame") this.#receive(event.frame, now);
    else if (event.type === "send") this.#sender.send(event.to, event.tensor, event.values, now);
    else if (event.type === "expect") this.#receiver.expect(event.from, event.tensor, now);
    this.#desk.runTimers(now);
    this.#sender.pump(now);
    return this.#desk.takeActions();
  }

  #receive(frame: Uint8Array, now: number): void {
    const opened = this.#open(frame);
    if (opened === undefined) return;
    const { peer, packet } = opened;
    peer.silence.heard();
    this.#dispatch(peer, packet, now);
  }

  #open(frame: Uint8Array): { readonly peer: Peer; readonly packet: TensorPacket } | undefined {
    const datagram = parseFrame(frame);
    if ("refused" in datagram) return this.#refuse(datagram.refused);
    const { addresses, job } = this.#desk.layout;
    if (datagram.dstIp !== addresses[this.self]?.ip) return this.#refuse("other_address");
    if (datagram.dstPort !== TENSOR_PORT) return this.#refuse("other_port");
    const packet = decodeTensorPacket(datagram.payload);
    if ("refused" in packet) return this.#refuse(packet.refused);
    const { header } = packet;
    if (header.job !== job.job || header.receiver !== this.self) return this.#refuse("other_job");
    if (header.sender === this.self || addresses[header.sender]?.ip !== datagram.srcIp)
      return this.#refuse("unknown_peer");
    const peer = this.#desk.peer(header.sender);
    if (peer.hasFailed) return this.#refuse("failed_peer");
    return this.#isOfThisLife(peer, header) ? { peer, packet } : this.#refuse("stale");
  }

  #refuse(reason: DlcpCounter): undefined {
    this.counters.add(reason);
    return undefined;
  }

  #isOfThisLife(peer: Peer, { incarnation, peer_incarnation: known }: TensorHeader): boolean {
    if (known !== 0 && known !== this.#desk.options.incarnation) return false;
    if (peer.incarnation === 0) peer.incarnation = incarnation;
    if (incarnation === peer.incarnation) return true;
    if (((incarnation - peer.incarnation) | 0) > 0)
      this.#desk.fail(peer, "peer_restarted", `host ${peer.number} has begun anew`);
    return false;
  }

  #dispatch(peer: Peer, packet: TensorPacket, now: number): void {
    const { header } = packet;
    switch (header.kind) {
      case TensorKind.DATA:
        this.#receiver.data(peer, packet, now);
        break;
      case TensorKind.PROBE:
        this.#receiver.probed(peer, header, now);
        break;
      case TensorKind.ECHO:
        this.#sender.echoed(peer, header, now);
        break;
      case TensorKind.BITMAP:
        this.#sender.bitmap(peer, packet, now);
        break;
      case TensorKind.STOP:
        this.#sender.stopped(peer, header, now);
        break;
      case TensorKind.REFUSE:
        this.#sender.refused(peer, header);
        break;
      case TensorKind.PING:
        this.#desk.control(peer, TensorKind.PONG, {});
        break;
    }
  }

  #watch(now: number): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    for (const { silence } of this.#desk.peers.values()) {
      silence.look(now);
      silence.heard();
    }
    this.#desk.timers.add(now + this.#desk.options.silence / 4, (at) => this.#look(at));
  }

  #look(now: number): void {
    this.#isWatching = false;
    for (const peer of this.#desk.peers.values()) {
      const silentFor = peer.silence.look(now);
      if (peer.hasFailed) continue;
      if (!isAwaited(peer)) {
        peer.silence.heard();
        continue;
      }
      if (silentFor > this.#desk.options.silence) {
        this.#desk.fail(
          peer,
          "peer_lost",
          `host ${peer.number} has been silent for ${this.#desk.options.silence} ms`,
        );
        continue;
      }
      this.#isWatching = true;
      this.#desk.control(peer, TensorKind.PING, {});
    }
    if (this.#isWatching) this.#desk.timers.add(now + this.#desk.options.silence / 4, (at) => this.#look(at));
  }
}
