import { withExponents } from "../../numeric/block.ts";
import { type RowCodec, rowCodec } from "../../numeric/mode.ts";
import {
  AGGREGATION_PORT,
  AGGREGATION_VERSION,
  type AggregationHeader,
  COLLECTOR,
  Flag,
  Kind,
} from "../../wire/aggregation.ts";
import {
  type AggregationMessage,
  type AggregationRefusal,
  aggregationFrame,
  decodeAggregation,
  NO_LANES,
} from "../../wire/aggregationpacket.ts";
import { type Datagram, type FrameRefusal, parseFrame } from "../../wire/datagram.ts";
import {
  decodeNumbered,
  decodePull,
  decodePush,
  encodeNumber,
  encodeNumbered,
} from "../../wire/messagebody.ts";
import {
  decodeParameterServer,
  MessageKind,
  PARAMETER_SERVER_PORT,
  type ParameterServerPacket,
  type ParameterServerRefusal,
  parameterServerFrame,
} from "../../wire/parameterserver.ts";
import { Counters } from "../counters.ts";
import { addressingBetween, type NetworkAddress, resolveEndpoint } from "../endpoint.ts";
import type { FrameEvent, HostMachine, SendAction, TickEvent } from "../machine.ts";
import { type DeliveredMessage, ReliableChannel } from "../ps/channel.ts";
import { SilenceMeter } from "../silence.ts";
import { AggregatorNode, formatFor, frameOf } from "./aggregatornode.ts";
import { Collector } from "./collector.ts";
import { LibraError } from "./errors.ts";
import { checkLayout, isNewerGeneration, isSamePlacement, isServerOnly, type JobLayout } from "./layout.ts";
import { DEFAULT_OPTIONS, type LibraOptions } from "./options.ts";
import { type RoundOutcome, ServerRound } from "./serverround.ts";

/** The values that a parameter server keeps; the application's own. */
export interface ParameterStore {
  /**
   * Applies one finished round: sums of the gradients of `workers` workers. Rounds come in order, each once. The
   * arrays are the store's to keep.
   */
  update(round: number, keys: Uint32Array, sums: Float32Array, workers: number): void;
  /** Present values of the keys, in their order. */
  read(keys: Uint32Array): Float32Array;
}

export type ServerEvent = { readonly type: "layout"; readonly layout: JobLayout };

export type ServerAction =
  /** A round is finished; the store has been updated and the workers are being told. */
  | { readonly type: "finished"; readonly round: number }
  | { readonly type: "error"; readonly error: LibraError };

export type ServerCounter =
  | FrameRefusal["refused"]
  | AggregationRefusal["refused"]
  | ParameterServerRefusal["refused"]
  | "result_taken"
  | "result_marked"
  | "result_taken_before"
  | "result_other_round"
  | "result_foreign"
  | "pending"
  | "not_aggregator"
  | "push_taken"
  | "push_taken_before"
  | "push_other_round"
  | "row_taken"
  | "row_taken_before"
  | "other_address"
  | "other_port"
  | "other_job"
  | "not_a_member"
  | "unexpected_kind"
  | "bad_body"
  | "old_layout";

/** One worker as the server sees it. */
interface Peer {
  readonly member: number;
  readonly life: number;
  address: NetworkAddress;
  readonly channel: ReliableChannel;
  readonly silence: SilenceMeter;
  state: "present" | "lost" | "left";
}

/**
 * The parameter server of a Libra job. It takes one RESULT per row and round from the aggregator and the cold
 * gradients from the workers; when a round has all of them, it updates the store and confirms the round to all
 * workers. It asks for missing RESULTs, replaces marked rows by the workers' own float32 values, and adds the rows
 * itself when the job runs without a switch: the same code as the golden model, so the same bits.
 *
 * Malformed and foreign packets are counted and dropped.
 */
export class LibraServer implements HostMachine<ServerEvent, ServerAction> {
  readonly counters = new Counters<ServerCounter>();
  readonly #options: LibraOptions;
  readonly #store: ParameterStore;
  readonly #collector: Collector;
  readonly #peers = new Map<number, Peer>();
  readonly #reported = new Set<string>();
  #layout: JobLayout;
  #codec: RowCodec;
  #me: NetworkAddress;
  #aggregatorAddress: NetworkAddress;
  #aggregator: AggregatorNode | undefined;
  #members: readonly number[] = [];
  /** First slot by generation, of the placements whose RESULTs count: those with the present rows and workers. */
  readonly #slotBases = new Map<number, number>();
  /** The oldest unfinished round, and the one after it, which workers may have started. */
  #rounds: readonly [ServerRound, ServerRound];
  #wakeAt = Number.NEGATIVE_INFINITY;
  #actions: (ServerAction | SendAction)[] = [];

  /** @throws LibraError `layout_invalid` */
  constructor(layout: JobLayout, store: ParameterStore, options: Partial<LibraOptions> = {}) {
    this.#options = { ...DEFAULT_OPTIONS, ...options };
    this.#store = store;
    this.#collector = new Collector(this.#options);
    this.#layout = checkLayout(layout);
    this.#codec = rowCodec(layout.mode);
    this.#me = resolveEndpoint(layout.server);
    this.#aggregatorAddress = resolveEndpoint(layout.aggregator);
    this.#rounds = [this.#newRound(layout.firstRound), this.#newRound((layout.firstRound + 1) >>> 0)];
    this.#adopt(layout);
  }

  /** The oldest unfinished round: where a job that moves has to start again. */
  get openRound(): number {
    return this.#rounds[0].round;
  }

  get layout(): JobLayout {
    return this.#layout;
  }

  /** COLLECTs sent, messages resent, duplicates of messages refused. */
  get traffic(): { collects: number; messagesResent: number; messageDuplicates: number } {
    const channels = [...this.#peers.values()].map((peer) => peer.channel.counters);
    return {
      collects: this.#collector.sent,
      messagesResent: channels.reduce((sum, c) => sum + c.resent, 0),
      messageDuplicates: channels.reduce((sum, c) => sum + c.duplicates, 0),
    };
  }

  /** Who takes part, and in which life. */
  get #lives(): string {
    return this.#members.map((member) => `${member}/${this.#peers.get(member)?.life}`).join();
  }

  /** The golden aggregator's counters while the job runs without a switch. */
  get aggregatorCounters(): Readonly<Record<string, number>> | undefined {
    return this.#aggregator?.golden.counters;
  }

  get wakeAt(): number {
    return this.#wakeAt;
  }

  handle(event: ServerEvent | FrameEvent | TickEvent, now: number): readonly (ServerAction | SendAction)[] {
    this.#actions = [];
    if (event.type === "frame") this.#count(this.#receive(event.frame, now));
    else if (event.type === "layout") this.#count(this.#move(event.layout, now));
    this.#advance(now);
    return this.#actions;
  }

  #count(name: ServerCounter | undefined): void {
    if (name !== undefined) this.counters.add(name);
  }

  /** Takes a frame. Gives the counter to raise, if any; so do the methods that it hands on to. */
  #receive(frame: Uint8Array, now: number): ServerCounter | undefined {
    const datagram = parseFrame(frame);
    if ("refused" in datagram) return datagram.refused;
    if (datagram.dstIp !== this.#me.ip) return "other_address";
    if (datagram.dstPort === AGGREGATION_PORT) {
      const message = decodeAggregation(datagram.payload);
      if ("refused" in message) return message.refused;
      return this.#fromAggregation(datagram, message, now);
    }
    if (datagram.dstPort === PARAMETER_SERVER_PORT) {
      const packet = decodeParameterServer(datagram.payload);
      return "refused" in packet ? packet.refused : this.#fromWorker(packet, now);
    }
    return "other_port";
  }

  #fromAggregation(request: Datagram, message: AggregationMessage, now: number): ServerCounter | undefined {
    const { header } = message;
    if (header.job !== this.#layout.job) return "other_job";
    if (header.kind === Kind.RESULT) return this.#result(message, now);
    if (header.kind === Kind.PENDING) {
      this.#collector.pending(header.slot - this.#layout.slotBase);
      return "pending";
    }
    if (header.kind !== Kind.CONTRIBUTION && header.kind !== Kind.NULL) return "unexpected_kind";
    if (this.#aggregator === undefined) return "not_aggregator";
    for (const packet of this.#aggregator.handle(request, message).packets) {
      if (packet.message.header.kind === Kind.RESULT) this.#count(this.#result(packet.message, now));
      else this.#actions.push({ type: "send", frame: frameOf(packet) });
    }
    return undefined;
  }

  #result({ header, exponents, lanes }: AggregationMessage, now: number): ServerCounter {
    const row = this.#rowOf(header);
    if (row === undefined) return "result_foreign";
    const round = this.#rounds.find((open) => open.round === header.round);
    if (round === undefined) return "result_other_round";
    const isMarked = (header.flags & Flag.MARK) !== 0;
    const unit = this.#codec.unit(exponents?.current);
    const outcome = isMarked ? round.takeMark(row) : round.takeResult(row, lanes, unit);
    if (outcome === "taken_before") return "result_taken_before";
    if (round === this.#rounds[0]) this.#collector.taken(row, now);
    if (!isMarked) return "result_taken";
    for (const peer of this.#peers.values())
      peer.channel.send(MessageKind.FETCH, header.round, encodeNumber(row));
    return "result_marked";
  }

  /**
   * The row that a RESULT is of. One that was on its way when the job moved has the slots of its own placement, and one may
   * come from a placement that this server has yet to hear of: that one is asked for again.
   */
  #rowOf(header: AggregationHeader): number | undefined {
    const { lanes, rows } = this.#layout;
    const slotBase = this.#slotBases.get(header.generation);
    if (slotBase === undefined || header.lanes !== lanes) return undefined;
    if (header.mode !== this.#codec.id || header.scale !== this.#codec.scale) return undefined;
    const row = header.slot - slotBase;
    return row >= 0 && row < rows.length ? row : undefined;
  }

  #fromWorker(packet: ParameterServerPacket, now: number): ServerCounter | undefined {
    if (packet.header.job !== this.#layout.job) return "other_job";
    const peer = this.#peers.get(packet.header.member);
    if (peer === undefined) return "not_a_member";
    peer.silence.heard();
    if (peer.state === "lost") {
      peer.state = "present";
      peer.channel.retry(now);
    }
    if (packet.header.kind === MessageKind.HEARTBEAT) {
      this.#send(peer, packet);
      return undefined;
    }
    for (const message of peer.channel.receive(packet, now)) this.#count(this.#message(peer, message));
    return undefined;
  }

  #message(peer: Peer, { kind, round, body }: DeliveredMessage): ServerCounter | undefined {
    const open = this.#rounds.find((candidate) => candidate.round === round);
    switch (kind) {
      case MessageKind.PUSH: {
        const push = decodePush(body);
        if (push === undefined) return "bad_body";
        if (open === undefined) return "push_other_round";
        return outcomeOf("push", open.takePush(peer.member, push));
      }
      case MessageKind.ROW: {
        const values = decodeNumbered(body);
        if (values === undefined) return "bad_body";
        if (values.values.length > 0 && values.values.length !== this.#layout.lanes) return "bad_body";
        if (open === undefined) return "row_taken_before";
        return outcomeOf("row", open.takeValues(values.number, peer.member, values.values, this.#members));
      }
      case MessageKind.PULL: {
        const pull = decodePull(body);
        if (pull === undefined) return "bad_body";
        const values = this.#store.read(pull.keys);
        if (values.length !== pull.keys.length)
          throw new RangeError(`the store gave ${values.length} values for ${pull.keys.length} keys`);
        peer.channel.send(MessageKind.VALUES, 0, encodeNumbered(pull.request, values));
        return undefined;
      }
      case MessageKind.LEAVE:
        peer.state = "left";
        peer.channel.abandon();
        return undefined;
      default:
        return "unexpected_kind";
    }
  }

  #move(layout: JobLayout, now: number): ServerCounter | undefined {
    const previous = this.#layout;
    if (layout.job === previous.job && !isNewerGeneration(layout.generation, previous.generation))
      return "old_layout";
    const hasBegun = this.#rounds.some((round) => round.hasBegun);
    try {
      checkLayout(layout);
      if (layout.job !== previous.job)
        throw new LibraError("layout_invalid", "layout: a job keeps its number");
      if (hasBegun && !isSamePlacement(previous, layout))
        throw new LibraError("layout_invalid", "layout: rows may change only while no round has begun");
    } catch (error) {
      if (!(error instanceof LibraError)) throw error;
      this.#actions.push({ type: "error", error });
      return undefined;
    }
    const before = this.#lives;
    const lives = new Map([...this.#peers.values()].map((peer) => [peer.member, peer.life]));
    const hasSameRows = isSamePlacement(previous, layout);
    this.#adopt(layout);
    const hasSameMembers = before === this.#lives;
    if (!hasSameRows || !hasSameMembers) {
      this.#slotBases.clear();
      this.#slotBases.set(layout.generation, layout.slotBase);
    }
    if (!hasBegun) {
      this.#rounds = [this.#newRound(this.#rounds[0].round), this.#newRound(this.#rounds[1].round)];
    } else if (!hasSameMembers) {
      const stayed = [...this.#peers.values()].filter((peer) => peer.life === lives.get(peer.member));
      for (const round of this.#rounds) round.restart(stayed.map((peer) => peer.member));
    }
    for (const peer of this.#peers.values()) peer.channel.retry(now);
    this.#reported.clear();
    this.#collector.restart(undefined);
    return undefined;
  }

  /** Takes over addresses and workers of a layout. */
  #adopt(layout: JobLayout): void {
    this.#layout = layout;
    this.#slotBases.set(layout.generation, layout.slotBase);
    this.#codec = rowCodec(layout.mode);
    this.#me = resolveEndpoint(layout.server);
    this.#aggregatorAddress = resolveEndpoint(layout.aggregator);
    this.#members = layout.workers.map((worker) => worker.member).sort((a, b) => a - b);
    for (const member of [...this.#peers.keys()])
      if (!this.#members.includes(member)) this.#peers.delete(member);
    for (const worker of layout.workers) {
      const address = resolveEndpoint(worker);
      const { member, life = 0 } = worker;
      const known = this.#peers.get(member);
      if (known?.life === life) known.address = address;
      else {
        const channel = new ReliableChannel(layout.job, member, this.#options, life);
        // One that starts again knows no round. While it takes part none can finish without it, so this stays true until it is heard.
        if (life > 0) channel.send(MessageKind.CONFIRM, (this.#rounds[0].round - 1) >>> 0, new Uint8Array(0));
        const silence = new SilenceMeter(this.#options.heartbeat);
        this.#peers.set(member, { member, life, address, channel, silence, state: "present" });
      }
    }
    this.#aggregator = undefined;
    if (!isServerOnly(layout)) return;
    this.#aggregator = new AggregatorNode(this.#me, formatFor(layout));
    this.#aggregator.place(layout);
  }

  /** Finishes what is complete, asks for what is missing, sends what is due, notices who is silent. */
  #advance(now: number): void {
    while (this.#rounds[0].isComplete(this.#members)) this.#finish();
    this.#collect(now);
    this.#checkWorkers(now);
    for (const peer of this.#peers.values())
      for (const packet of peer.channel.poll(now)) this.#send(peer, packet);

    const channels = [...this.#peers.values()].map((peer) => peer.channel.wakeAt);
    const look = this.#rounds[0].hasBegun ? now + this.#options.heartbeat : Number.POSITIVE_INFINITY;
    this.#wakeAt = Math.min(look, this.#collector.wakeAt, ...channels);
  }

  #finish(): void {
    const [finished, next] = this.#rounds;
    const { keys, sums } = finished.gradients(this.#members);
    this.#store.update(finished.round, keys, sums, this.#members.length);
    for (const peer of this.#peers.values())
      if (peer.state !== "left") peer.channel.send(MessageKind.CONFIRM, finished.round, new Uint8Array(0));
    this.#rounds = [next, this.#newRound((next.round + 1) >>> 0)];
    this.#collector.restart(undefined);
    this.#actions.push({ type: "finished", round: finished.round });
  }

  #collect(now: number): void {
    const [round] = this.#rounds;
    if (this.#aggregator !== undefined || !this.#members.every((member) => round.hasPushed(member))) return;
    if (!round.isMissingRows) {
      this.#collector.restart(undefined);
      return;
    }
    if (this.#collector.wakeAt === Number.POSITIVE_INFINITY) this.#collector.restart(now);
    if (now < this.#collector.wakeAt) return;
    for (const row of this.#collector.poll(round.missingRows(), now)) this.#ask(round.round, row);
    const row = this.#collector.unreachableRow;
    if (row === undefined) return;
    const { job, aggregator } = this.#layout;
    this.#report(
      new LibraError(
        "aggregator_unreachable",
        `job ${job}, round ${round.round}: aggregator ${aggregator.ip} does not answer for row ${row}`,
        { job, round: round.round, row, peer: aggregator.ip },
      ),
    );
  }

  #ask(round: number, row: number): void {
    const { job, generation, slotBase, lanes } = this.#layout;
    const { id, scale } = this.#codec;
    const header = {
      version: AGGREGATION_VERSION,
      kind: Kind.COLLECT,
      flags: 0,
      job,
      generation,
      member: COLLECTOR,
      scale,
      slot: slotBase + row,
      lanes,
      mode: id,
      round,
    };
    const to = addressingBetween(this.#me, this.#aggregatorAddress, AGGREGATION_PORT);
    const message = withExponents({ header, lanes: NO_LANES }, 0, 0);
    this.#actions.push({ type: "send", frame: aggregationFrame(to, message) });
  }

  /**
   * While others wait for it, a worker that stays silent or does not acknowledge is lost; those who are heard are
   * told. When nobody is heard, the fault may be the server's own: the application is told, no worker is. To tell
   * the two apart, nothing is decided while some worker has been silent for more than half the bound.
   */
  #checkWorkers(now: number): void {
    const { silence } = this.#options;
    const [round] = this.#rounds;
    const looks = [...this.#peers.values()].map((peer) => ({ peer, silentFor: peer.silence.look(now) }));
    if (!round.hasBegun) for (const { peer } of looks) peer.silence.heard();
    const present = looks.filter(({ peer }) => peer.state === "present");
    const heard = present.filter(({ silentFor }) => silentFor <= silence / 2);
    const isDecided = present.every(({ silentFor }) => silentFor <= silence / 2 || silentFor > silence);
    const survivors = heard.map(({ peer }) => peer).filter((peer) => !peer.channel.hasFailed);
    for (const { peer, silentFor } of looks) {
      const isSilent = round.hasBegun && isDecided && silentFor > silence;
      if (peer.state === "present" && (isSilent || peer.channel.hasFailed)) {
        peer.state = "lost";
        this.#lost(peer.member, "does not answer", survivors);
      } else if (peer.state === "left" && round.hasBegun && !round.hasPushed(peer.member))
        this.#lost(peer.member, "has left", survivors);
    }
  }

  #lost(worker: number, why: string, survivors: readonly Peer[]): void {
    const { job } = this.#layout;
    const { round } = this.#rounds[0];
    const details = { job, round, worker };
    const error = new LibraError(
      "worker_lost",
      `job ${job}, round ${round}: worker ${worker} ${why}`,
      details,
    );
    if (!this.#report(error, `worker_lost ${worker} ${round}`)) return;
    for (const { channel } of survivors) channel.send(MessageKind.FAILURE, round, encodeNumber(worker));
  }

  #newRound(round: number): ServerRound {
    return new ServerRound(round, this.#layout);
  }

  #send(peer: Peer, packet: ParameterServerPacket): void {
    const to = addressingBetween(this.#me, peer.address, PARAMETER_SERVER_PORT);
    this.#actions.push({ type: "send", frame: parameterServerFrame(to, packet) });
  }

  /** Reports an error once for each cause. Returns false when it was known. */
  #report(error: LibraError, cause: string = error.code): boolean {
    if (this.#reported.has(cause)) return false;
    this.#reported.add(cause);
    this.#actions.push({ type: "error", error });
    return true;
  }
}

function outcomeOf(what: "push" | "row", outcome: RoundOutcome): ServerCounter {
  return `${what}_${outcome}`;
}
