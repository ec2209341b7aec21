import { type TensorHeader, TensorKind, type TensorPacket } from "../../wire/tensor.ts";
import type { Desk } from "./desk.ts";
import { DlcpError } from "./errors.ts";
import { Incoming } from "./incoming.ts";
import type { TensorSpec } from "./job.ts";
import type { PacketFields } from "./packets.ts";
import type { Peer } from "./peer.ts";

/**
 * The receiving half of a host: writes segments to their place in whatever order they come, says STOP when enough is there, and answers
 * PROBE with what has arrived.
 */
export class Receiver {
  readonly #desk: Desk;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  expect(from: number, tensor: number, now: number): void {
    const spec = this.#desk.specOf(tensor);
    if (!this.#desk.goes(tensor, from, this.#desk.self))
      throw new DlcpError(
        "wrong_use",
        `tensor ${tensor} does not go from host ${from} to host ${this.#desk.self}`,
      );
    const peer = this.#desk.peer(from);
    const next = this.#incomingOf(peer, tensor, spec).done + 1;
    if (peer.hasFailed) this.#desk.report("peer_lost", `host ${from} is lost`, { peer: from, tensor });
    else {
      peer.expected.set(tensor, Math.max(next, peer.expected.get(tensor) ?? 0));
      this.#desk.watch(now);
    }
  }

  data(peer: Peer, { header, body }: TensorPacket, now: number): void {
    const spec = this.#agreed(peer, header);
    if (spec === undefined) return;
    peer.unechoed++;
    if (peer.unechoed >= this.#desk.options.echoEvery) this.#echo(peer, header);
    const incoming = this.#incomingOf(peer, header.tensor, spec);
    const wasOpen = incoming.isOpen;
    const fate = incoming.take(header, body, now);
    if (fate === "taken" || fate === "complete") this.#desk.counters.add("segments_received");
    else this.#desk.counters.add(fate);
    if (fate === "taken" && !wasOpen) this.#desk.watch(now);
    else if (fate === "complete") this.#complete(peer, header, incoming);
    else if (fate === "inconsistent") this.#lied(peer, header);
    else if (fate === "late") {
      // STOP was lost, or these were on their way already.
      incoming.late++;
      if (incoming.late % this.#desk.options.echoEvery === 0) this.#stop(peer, header, incoming);
    }
  }

  #complete(peer: Peer, header: TensorHeader, incoming: Incoming): void {
    const { tensor } = header;
    const arrived = incoming.arrived;
    const result = incoming.finish();
    if ((peer.expected.get(tensor) ?? 0) <= incoming.done) peer.expected.delete(tensor);
    this.#desk.counters.add("stops");
    this.#desk.control(peer, TensorKind.STOP, { ...about(header), offset: arrived });
    this.#desk.act({ type: "received", from: peer.number, tensor, ...result });
  }

  probed(peer: Peer, header: TensorHeader, now: number): void {
    const spec = this.#agreed(peer, header);
    if (spec === undefined) return;
    const incoming = this.#incomingOf(peer, header.tensor, spec);
    const ahead = (header.iteration - incoming.done) | 0;
    if (ahead <= 0) this.#stop(peer, header, incoming);
    else if (ahead > 1) this.#desk.counters.add("early");
    else if (incoming.probe?.round !== header.sequence) {
      // Whatever the sender wants, it has its answer before it asks for long.
      const wait = Math.min(this.#desk.options.maxProbeTimeout / 4, header.offset / 1000);
      incoming.probe = { round: header.sequence, patience: wait };
      // What the PROBE has overtaken may be behind it.
      incoming.lastNews = now;
      if (!incoming.isTimerSet) this.#setAnswer(peer, header.tensor, incoming, now + wait);
    }
  }

  #setAnswer(peer: Peer, tensor: number, incoming: Incoming, at: number): void {
    incoming.isTimerSet = true;
    this.#desk.timers.add(at, (now) => this.#answer(peer, tensor, incoming, now));
  }

  #answer(peer: Peer, tensor: number, incoming: Incoming, now: number): void {
    incoming.isTimerSet = false;
    if (incoming.probe === undefined || peer.hasFailed) return;
    const { round, patience } = incoming.probe;
    const at = incoming.lastNews + patience;
    if (at > now) {
      this.#setAnswer(peer, tensor, incoming, at);
      return;
    }
    incoming.probe = undefined;
    this.#desk.counters.add("bitmaps");
    const { elements } = this.#desk.specOf(tensor);
    for (const { first, count, bits } of incoming.bitmap())
      this.#desk.control(
        peer,
        TensorKind.BITMAP,
        { tensor, iteration: incoming.done + 1, elements, sequence: round, offset: first, count },
        bits,
      );
  }

  #stop(peer: Peer, header: TensorHeader, incoming: Incoming): void {
    // Of an older iteration than the last nobody asks any more.
    if (header.iteration !== incoming.done) return;
    this.#desk.counters.add("stops");
    this.#desk.control(peer, TensorKind.STOP, about(header));
  }

  #echo(peer: Peer, header: TensorHeader): void {
    const { sequence, sent_at } = header;
    this.#desk.control(peer, TensorKind.ECHO, {
      ...about(header),
      ...{ count: peer.unechoed, sequence, sent_at },
    });
    peer.unechoed = 0;
  }

  /** The tensor of a packet from its sender, if the job says the same about it. */
  #agreed(peer: Peer, header: TensorHeader): TensorSpec | undefined {
    const spec = this.#desk.layout.job.tensors[header.tensor];
    if (spec?.elements === header.elements && this.#desk.goes(header.tensor, peer.number, this.#desk.self))
      return spec;
    this.#desk.counters.add("not_of_this_tensor");
    this.#lied(peer, header);
    return undefined;
  }

  /** Says it once, to the application and to the peer, however often it happens. */
  #lied(peer: Peer, header: TensorHeader): void {
    if (peer.hasLied) return;
    peer.hasLied = true;
    const { tensor, elements, offset, count } = header;
    this.#desk.control(peer, TensorKind.REFUSE, about(header));
    this.#desk.report(
      "peer_disagrees",
      `host ${peer.number} sends values ${offset} to ${offset + count} of ${elements} of tensor ${tensor}, which the job does not have`,
      { peer: peer.number, tensor },
    );
  }

  #incomingOf(peer: Peer, tensor: number, spec: TensorSpec): Incoming {
    let incoming = peer.incoming.get(tensor);
    if (incoming === undefined) {
      incoming = new Incoming(spec, this.#desk.layout.segment, this.#desk.options.store);
      peer.incoming.set(tensor, incoming);
    }
    return incoming;
  }
}

/** Which transfer a packet is about. */
function about({ tensor, iteration, elements }: TensorHeader): PacketFields {
  return { tensor, iteration, elements };
}
