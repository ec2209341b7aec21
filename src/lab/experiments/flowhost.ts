import type { FrameEvent, HostMachine, SendAction, TickEvent } from "../../host/machine.ts";
import type { CongestionControl } from "../../host/message/congestion.ts";
import { Conversation, type ConversationOptions, type Marks } from "../../host/message/conversation.ts";
import type { DeliveredMessage } from "../../host/message/reassembly.ts";
import { PriorityQueue } from "../../host/priorityqueue.ts";
import { type Addressing, answerTo, type Datagram, parseFrame } from "../../wire/datagram.ts";
import { decodeMessage, MESSAGE_PORT } from "../../wire/message.ts";
import type { LabEndpoint } from "../topology.ts";

/** Starts a flow of its own: a message with its own window, as over a connection of its own. */
export interface FlowEvent {
  readonly type: "flow";
  /** Unique on this host, 16 bits. */
  readonly flow: number;
  readonly to: LabEndpoint;
  readonly bytes: number;
}

export type FlowAction =
  | { readonly type: "arrived"; readonly fromIp: number; readonly flow: number }
  | { readonly type: "gaveUp"; readonly flow: number };

/** How a host of one kind sends its flows. */
export interface FlowRules {
  readonly control: () => CongestionControl;
  /** By the size of a flow and the place of a packet within it. */
  readonly marks: (bytes: number, offset: number) => Marks;
  /** Which flow's packets enter the link first: in turn, or those of the flow with the least left. */
  readonly order: "turns" | "shortestFirst";
  readonly conversation: Partial<ConversationOptions>;
}

interface Flow {
  readonly number: number;
  readonly conversation: Conversation;
  /** Bytes that were not sent yet; 0 on the receiving side, which only acknowledges. */
  left: number;
  readonly gated: Gated | undefined;
  isDirty: boolean;
  armedAt: number;
}

/** Packets that wait for the own link, at most: more would stand in each other's way. */
const LINK_QUEUE = 16;

const FIRST_PORT = 0x8000;

/**
 * A host of the baselines: every flow is a conversation of its own, with its own ports, so that switches may send each another way. The
 * host feeds its link as that becomes free.
 */
export class FlowHost implements HostMachine<FlowEvent, FlowAction> {
  readonly #self: LabEndpoint;
  readonly #rules: FlowRules;
  /** Milliseconds per byte on the own link. */
  readonly #perByte: number;
  readonly #body: Uint8Array;
  readonly #flows = new Map<string, Flow>();
  readonly #dirty = new PriorityQueue<Flow>();
  readonly #timers = new PriorityQueue<Flow>();
  #freeAt = 0;
  #resumeAt = Number.POSITIVE_INFINITY;

  /** @param body bytes of the longest flow. What is sent is no matter, so all hosts may share one. */
  constructor(self: LabEndpoint, rules: FlowRules, lineRate: number, body: Uint8Array) {
    this.#self = self;
    this.#rules = rules;
    this.#perByte = 8000 / lineRate;
    this.#body = body;
  }

  get wakeAt(): number {
    return Math.min(this.#resumeAt, this.#timers.firstPriority);
  }

  handle(event: FlowEvent | FrameEvent | TickEvent, now: number): readonly (FlowAction | SendAction)[] {
    const out: (FlowAction | SendAction)[] = [];
    if (event.type === "flow") this.#start(event);
    else if (event.type === "frame") this.#receive(event.frame, now, out);
    while (this.#timers.firstPriority <= now) {
      const flow = this.#timers.take();
      if (flow === undefined) break;
      flow.armedAt = Number.POSITIVE_INFINITY;
      if (flow.conversation.wakeAt <= now) this.#touch(flow);
      else this.#arm(flow);
    }
    this.#pump(now, out);
    return out;
  }

  #start({ flow: number, to, bytes }: FlowEvent): void {
    const port = FIRST_PORT + (number % FIRST_PORT);
    const addressing = {
      ...{ srcMac: this.#self.mac, dstMac: to.mac, srcIp: this.#self.ip, dstIp: to.ip },
      ...{ srcPort: port, dstPort: MESSAGE_PORT },
    };
    const gated = new Gated(this.#rules.control());
    const flow = this.#add(`${to.ip} ${number} out`, number, addressing, gated);
    flow.left = bytes;
    flow.conversation.send(0, this.#body.subarray(0, bytes), (offset) => this.#rules.marks(bytes, offset));
    this.#touch(flow);
  }

  #add(key: string, number: number, addressing: Addressing, gated?: Gated): Flow {
    const parties = { job: number, self: 0, peer: 0, incarnation: 1, addressing };
    const control = gated ?? new Gated(this.#rules.control());
    const conversation = new Conversation(parties, control, this.#rules.conversation);
    const flow = { number, conversation, left: 0, gated, isDirty: false, armedAt: Number.POSITIVE_INFINITY };
    this.#flows.set(key, flow);
    return flow;
  }

  #receive(frame: Uint8Array, now: number, out: FlowAction[] | (FlowAction | SendAction)[]): void {
    const datagram = parseFrame(frame);
    if ("refused" in datagram || datagram.dstIp !== this.#self.ip) return;
    const packet = decodeMessage(datagram.payload);
    if ("refused" in packet) return;
    const flow = this.#flowOf(datagram, packet.header.job, packet.kind === "ack");
    if (flow === undefined) return;
    const delivered: DeliveredMessage[] = [];
    flow.conversation.receive(packet, datagram.ecn, now, delivered);
    if (delivered.length > 0) out.push({ type: "arrived", fromIp: datagram.srcIp, flow: flow.number });
    this.#touch(flow);
  }

  #flowOf(datagram: Datagram, number: number, isAck: boolean): Flow | undefined {
    const key = `${datagram.srcIp} ${number} ${isAck ? "out" : "in"}`;
    return this.#flows.get(key) ?? (isAck ? undefined : this.#add(key, number, answerTo(datagram)));
  }

  /** The flow may have something to send. */
  #touch(flow: Flow): void {
    if (flow.isDirty) return;
    flow.isDirty = true;
    // Acknowledgements first: they are short, and others wait for them.
    const rank = this.#rules.order === "shortestFirst" ? flow.left : 0;
    this.#dirty.add(flow.gated === undefined ? -1 : rank, flow);
  }

  #pump(now: number, out: (FlowAction | SendAction)[]): void {
    this.#resumeAt = Number.POSITIVE_INFINITY;
    const segment = this.#rules.conversation.segment ?? 1400;
    const perPacket = segment * this.#perByte;
    while (this.#dirty.size > 0) {
      const room = Math.floor(LINK_QUEUE - Math.max(0, this.#freeAt - now) / perPacket);
      if (room <= 0) {
        this.#resumeAt = this.#freeAt - (LINK_QUEUE / 2) * perPacket;
        return;
      }
      const flow = this.#dirty.take();
      if (flow === undefined) return;
      flow.isDirty = false;
      if (flow.gated !== undefined) flow.gated.room = room;
      let sent = 0;
      flow.conversation.poll(now, {
        push: (action) => {
          sent++;
          this.#freeAt = Math.max(this.#freeAt, now) + action.frame.length * this.#perByte;
          flow.left = Math.max(0, flow.left - segment);
          if (flow.gated !== undefined) flow.gated.room--;
          return out.push(action);
        },
      });
      if (flow.gated !== undefined) flow.gated.room = Number.POSITIVE_INFINITY;
      if (flow.conversation.hasFailed) out.push({ type: "gaveUp", flow: flow.number });
      if (sent >= room) this.#touch(flow);
      this.#arm(flow);
    }
  }

  #arm(flow: Flow): void {
    const at = flow.conversation.wakeAt;
    if (at >= flow.armedAt || at === Number.POSITIVE_INFINITY) return;
    flow.armedAt = at;
    this.#timers.add(at, flow);
  }
}

/** A window that is shut while the own link has enough to do. */
class Gated implements CongestionControl {
  room = Number.POSITIVE_INFINITY;
  readonly #inner: CongestionControl;

  constructor(inner: CongestionControl) {
    this.#inner = inner;
  }

  get window(): number {
    return this.room > 0 ? this.#inner.window : 0;
  }

  acknowledged(packets: number, marked: number, isWindowUsed: boolean): void {
    this.#inner.acknowledged(packets, marked, isWindowUsed);
  }

  lost(number: number, last: number): void {
    this.#inner.lost(number, last);
  }

  timedOut(): void {
    this.#inner.timedOut();
  }
}
