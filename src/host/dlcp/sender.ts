import { type TensorHeader, TensorKind, type TensorPacket } from "../../wire/tensor.ts";
import { dscpOfLayer, Ecn, trafficPlan } from "../../wire/trafficclass.ts";
import type { Desk } from "./desk.ts";
import { DlcpError } from "./errors.ts";
import { importanceThreshold, meanMagnitude } from "./importance.ts";
import { Outgoing } from "./outgoing.ts";
import type { Peer } from "./peer.ts";

/**
 * The sending half of a host: streams segments, the front of the model first, at the rate that each peer's round trips allow; asks with
 * PROBE what is missing, and sends it again until the receiver says STOP.
 */
export class Sender {
  /** When `pump` has something to do. */
  wakeAt = Number.POSITIVE_INFINITY;
  readonly #desk: Desk;
  readonly #plan = trafficPlan();
  /** Peers to which there may be something to send. */
  readonly #ready = new Set<Peer>();
  /** The time at which the own link is free again. */
  #freeAt = Number.NEGATIVE_INFINITY;
  #isIdle = true;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** @throws DlcpError `wrong_use`, or `peer_lost` when the peer has been given up. */
  send(to: number, tensor: number, values: Float32Array, now: number): void {
    const spec = this.#desk.specOf(tensor);
    if (!this.#desk.goes(tensor, this.#desk.self, to))
      throw new DlcpError(
        "wrong_use",
        `tensor ${tensor} does not go from host ${this.#desk.self} to host ${to}`,
      );
    if (values.length !== spec.elements)
      throw new DlcpError("wrong_use", `tensor ${tensor} has ${spec.elements} values, not ${values.length}`);
    const peer = this.#desk.peer(to);
    if (peer.hasFailed) throw new DlcpError("peer_lost", `host ${to} is lost`, { peer: to, tensor });
    if (!peer.outgoing.has(tensor)) this.#begin(peer, tensor, values, now);
    else if (peer.waiting.has(tensor))
      throw new DlcpError("wrong_use", `two iterations of tensor ${tensor} are on their way to host ${to}`);
    else peer.waiting.set(tensor, values);
  }

  #begin(peer: Peer, tensor: number, values: Float32Array, now: number): void {
    const { layer } = this.#desk.specOf(tensor);
    const { priority, importance } = this.#desk.options.marks;
    const { segment, job } = this.#desk.layout;
    const iteration = (peer.begun.get(tensor) ?? 0) + 1;
    peer.begun.set(tensor, iteration);
    const shipment = {
      ...{ to: peer.number, tensor, iteration, values, segment },
      dscp: priority ? dscpOfLayer(this.#plan, layer, job.layers) : 0,
      threshold:
        importance === "all"
          ? -1
          : importanceThreshold(values, segment, importance, tensor * 65_537 + iteration),
    };
    const transfer = new Outgoing(shipment, this.#desk.options.probeTimeout);
    peer.outgoing.set(tensor, transfer);
    this.#makeReady(peer, layer, transfer, now);
    this.#desk.watch(now);
  }

  /** Time in which there was nothing to send is no credit. */
  #makeReady(peer: Peer, layer: number, transfer: Outgoing, now: number): void {
    if (peer.ready.size === 0) peer.nextAt = Math.max(peer.nextAt, now);
    if (this.#isIdle) this.#freeAt = Math.max(this.#freeAt, now);
    this.#isIdle = false;
    peer.ready.add(layer, transfer);
    this.#ready.add(peer);
  }

  #transferOf(peer: Peer, { tensor, iteration, elements }: TensorHeader): Outgoing | undefined {
    const transfer = peer.outgoing.get(tensor);
    const { values, iteration: own } = transfer?.shipment ?? {};
    return own === iteration && values?.length === elements ? transfer : undefined;
  }

  echoed(peer: Peer, { sent_at }: TensorHeader, now: number): void {
    const tenths = (clock(now) - sent_at) >>> 0;
    // More than half the range: an echo of what was never sent.
    if (tenths < 0x7fffffff) peer.control.measured(tenths / 10_000);
  }

  bitmap(peer: Peer, { header, body }: TensorPacket, now: number): void {
    const transfer = this.#transferOf(peer, header);
    if (transfer === undefined) this.#desk.counters.add("stale");
    else if (transfer.answered(header.sequence, header.offset, header.count, body))
      this.#makeReady(peer, this.#desk.specOf(header.tensor).layer, transfer, now);
  }

  stopped(peer: Peer, header: TensorHeader, now: number): void {
    const transfer = this.#transferOf(peer, header);
    if (transfer === undefined) return;
    const { tensor, iteration } = header;
    transfer.isDone = true;
    peer.outgoing.delete(tensor);
    this.#desk.act({ type: "sent", to: peer.number, tensor, iteration, rounds: transfer.round });
    const next = peer.waiting.get(tensor);
    if (next === undefined) return;
    peer.waiting.delete(tensor);
    this.#begin(peer, tensor, next, now);
  }

  refused(peer: Peer, header: TensorHeader): void {
    const transfer = peer.outgoing.get(header.tensor);
    if (transfer === undefined || transfer.shipment.iteration !== header.iteration) return;
    transfer.isDone = true;
    peer.outgoing.delete(header.tensor);
    peer.waiting.delete(header.tensor);
    const { tensor } = header;
    this.#desk.report("peer_disagrees", `host ${peer.number} refuses tensor ${tensor}: its job has another`, {
      ...{ peer: peer.number, tensor },
    });
  }

  /** Sends what the own link and the peers' rates let go. */
  pump(now: number): void {
    const { lineRate, credit } = this.#desk.options;
    for (;;) {
      if (this.#ready.size > 0 && this.#freeAt > now) {
        this.wakeAt = this.#freeAt;
        return;
      }
      let best: Peer | undefined;
      let layer = Number.POSITIVE_INFINITY;
      let soonest = Number.POSITIVE_INFINITY;
      for (const peer of this.#ready) {
        const own = peer.ready.firstPriority;
        if (own === Number.POSITIVE_INFINITY) {
          this.#ready.delete(peer);
          continue;
        }
        soonest = Math.min(soonest, peer.nextAt);
        if (peer.nextAt > now) continue;
        if (own < layer || (own === layer && peer.nextAt < (best?.nextAt ?? 0))) {
          best = peer;
          layer = own;
        }
      }
      if (best === undefined) {
        this.#isIdle = soonest === Number.POSITIVE_INFINITY;
        this.wakeAt = soonest;
        return;
      }
      const bits = this.#sendNext(best, now) * 8000;
      if (bits === 0) continue;
      this.#freeAt = Math.max(this.#freeAt, now - credit) + bits / lineRate;
      best.nextAt = Math.max(best.nextAt, now - credit) + bits / best.control.rate;
    }
  }

  /** The next segment of a peer's front-most transfer; its bytes, 0 when that transfer has ended. */
  #sendNext(peer: Peer, now: number): number {
    const transfer = peer.ready.first;
    if (transfer?.hasMore !== true) {
      peer.ready.take();
      return 0;
    }
    const frame = this.#segmentFrame(peer, transfer, transfer.take(), now);
    this.#desk.act({ type: "send", frame });
    if (!transfer.hasMore) {
      peer.ready.take();
      transfer.startProbing(this.#desk.options.probeTimeout);
      this.#probe(peer, transfer, now);
    }
    return frame.length;
  }

  #segmentFrame(peer: Peer, { shipment, round }: Outgoing, index: number, now: number): Uint8Array {
    const { values, segment, threshold, dscp, tensor, iteration } = shipment;
    const offset = index * segment;
    const part = values.subarray(offset, offset + segment);
    const isImportant = threshold < 0 || meanMagnitude(values, offset, segment) > threshold;
    this.#desk.counters.add(round === 0 ? "segments" : "segments_again");
    if (!isImportant) this.#desk.counters.add("segments_droppable");
    const { sequence } = peer;
    peer.sequence = (sequence + 1) >>> 0;
    return this.#desk.packets.segment(
      peer,
      part,
      { dscp, ecn: isImportant ? Ecn.ECT_0 : Ecn.NON_ECT },
      {
        tensor,
        iteration,
        elements: values.length,
        offset,
        count: part.length,
        sequence,
        sent_at: clock(now),
      },
    );
  }

  #probe(peer: Peer, transfer: Outgoing, now: number): void {
    const { tensor, iteration, values } = transfer.shipment;
    this.#desk.counters.add(transfer.unanswered === 0 ? "probes" : "probes_again");
    this.#desk.control(peer, TensorKind.PROBE, {
      ...{ tensor, iteration, elements: values.length, sequence: transfer.round },
      offset: Math.round(this.#desk.options.patience * 1000),
    });
    const { round, unanswered } = transfer;
    this.#desk.timers.add(now + transfer.timeout, (at) =>
      this.#probeTimedOut(transfer, round, unanswered, at),
    );
  }

  #probeTimedOut(transfer: Outgoing, round: number, unanswered: number, now: number): void {
    if (transfer.isDone || !transfer.isProbing || transfer.round !== round) return;
    if (transfer.unanswered !== unanswered) return;
    const peer = this.#desk.peer(transfer.shipment.to);
    if (peer.hasFailed) return;
    const { probeTimeout, maxProbeTimeout, retries } = this.#desk.options;
    if (unanswered >= retries) {
      this.#desk.fail(peer, "peer_lost", `host ${peer.number} does not answer after ${retries} tries`);
      return;
    }
    transfer.probeAgain({ timeout: probeTimeout, maxTimeout: maxProbeTimeout, retries });
    this.#probe(peer, transfer, now);
  }
}

/** Milliseconds as the clock of packets: tenths of a microsecond, 32 bits. */
function clock(now: number): number {
  return Math.round(now * 10_000) >>> 0;
}
