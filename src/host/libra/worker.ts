import { type RowCodec, rowCodec } from "../../numeric/mode.ts";
import { AGGREGATION_PORT, type AggregationHeader, Kind } from "../../wire/aggregation.ts";
import { type AggregationRefusal, decodeAggregation } from "../../wire/aggregationpacket.ts";
import { type Addressing, type FrameRefusal, parseFrame } from "../../wire/datagram.ts";
import {
  decodeNumber,
  decodeNumbered,
  encodeNumbered,
  encodePull,
  encodePush,
} from "../../wire/messagebody.ts";
import {
  decodeParameterServer,
  MessageKind,
  PARAMETER_SERVER_PORT,
  PARAMETER_SERVER_VERSION,
  type ParameterServerPacket,
  type ParameterServerRefusal,
  parameterServerFrame,
} from "../../wire/parameterserver.ts";
import { Counters } from "../counters.ts";
import { addressingBetween, type NetworkAddress, resolveEndpoint } from "../endpoint.ts";
import type { FrameEvent, HostMachine, SendAction, TickEvent } from "../machine.ts";
import { type DeliveredMessage, MAX_BODY_BYTES, ReliableChannel } from "../ps/channel.ts";
import { SilenceMeter } from "../silence.ts";
import { type Acknowledgement, ContributionSender, type HotGradients } from "./contributions.ts";
import { LibraError } from "./errors.ts";
import { ExponentForecast } from "./forecast.ts";
import {
  checkLayout,
  isNewerGeneration,
  isSamePlacement,
  type JobLayout,
  keyPositions,
  type WorkerEndpoint,
} from "./layout.ts";
import { DEFAULT_OPTIONS, type LibraOptions } from "./options.ts";

export type WorkerEvent =
  /** The gradients of the next round: one value per key, a key given twice counts with the sum. */
  | { readonly type: "push"; readonly keys: Uint32Array; readonly values: Float32Array }
  /** Asks the server for values; `request` is any number (32 bits) that comes back with them. */
  | { readonly type: "pull"; readonly request: number; readonly keys: Uint32Array }
  /** The job has moved. */
  | { readonly type: "layout"; readonly layout: JobLayout }
  /** The worker is done with the job. */
  | { readonly type: "leave" };

export type WorkerAction =
  /** The server has updated its values with this round. Rounds finish in order. */
  | { readonly type: "finished"; readonly round: number }
  /** A worker that has started again has heard from its server which round is the first of its new life; its pushes waited for that. */
  | { readonly type: "resumed"; readonly round: number }
  | { readonly type: "pulled"; readonly request: number; readonly values: Float32Array }
  /** The server knows that the worker is done. */
  | { readonly type: "left" }
  | { readonly type: "error"; readonly error: LibraError };

export type WorkerCounter =
  | Acknowledgement
  | FrameRefusal["refused"]
  | AggregationRefusal["refused"]
  | ParameterServerRefusal["refused"]
  | "other_address"
  | "other_port"
  | "other_job"
  | "other_member"
  | "unexpected_kind"
  | "bad_body"
  | "old_layout";

/** Rounds that may be open at once: the aggregator has two banks. */
const OPEN_ROUNDS = 2;

/**
 * A worker of a Libra job. Hot gradients go to the aggregator row by row, cold ones to the parameter server, both
 * reliably. Round r + 2 is not started before r is finished, so the aggregator's two banks are enough; pushes
 * beyond that wait.
 *
 * Malformed and foreign packets are counted and dropped. An error is reported once for each cause; the worker goes
 * on when the job moves or its peer is heard again.
 */
export class LibraWorker implements HostMachine<WorkerEvent, WorkerAction> {
  readonly counters = new Counters<WorkerCounter>();
  readonly member: number;
  readonly #options: LibraOptions;
  readonly #channel: ReliableChannel;
  readonly #contributions: ContributionSender;
  readonly #silence: SilenceMeter;
  readonly #waiting: { readonly keys: Uint32Array; readonly values: Float32Array }[] = [];
  readonly #open: HotGradients[] = [];
  readonly #reported = new Set<string>();
  readonly #life: number;
  /** The server has said where a later life begins. */
  #isResumed: boolean;
  #layout: JobLayout;
  #codec: RowCodec;
  #positions: ReadonlyMap<number, number>;
  #me: NetworkAddress;
  #toServer: Addressing;
  #nextRound: number;
  /** Mode block only, for the present rows. */
  #forecast: ExponentForecast | undefined;
  #heartbeatAt = Number.NEGATIVE_INFINITY;
  #pulls = 0;
  #leave: "no" | "asked" | "done" = "no";
  #actions: (WorkerAction | SendAction)[] = [];

  /** @throws LibraError `layout_invalid`, also when the layout does not know the worker. */
  constructor(layout: JobLayout, member: number, options: Partial<LibraOptions> = {}) {
    this.#options = { ...DEFAULT_OPTIONS, ...options };
    this.member = member;
    this.#layout = checkLayout(layout);
    this.#codec = rowCodec(layout.mode);
    this.#positions = keyPositions(layout);
    this.#nextRound = layout.firstRound;
    const { life = 0, ...endpoint } = endpointOf(layout, member);
    this.#life = life;
    this.#isResumed = life === 0;
    this.#me = resolveEndpoint(endpoint);
    this.#toServer = addressingBetween(this.#me, resolveEndpoint(layout.server), PARAMETER_SERVER_PORT);
    this.#channel = new ReliableChannel(layout.job, member, this.#options, life);
    const aggregator = resolveEndpoint(layout.aggregator);
    this.#contributions = new ContributionSender(
      member,
      layout,
      this.#codec,
      this.#me,
      aggregator,
      this.#options,
    );
    this.#silence = new SilenceMeter(this.#options.heartbeat);
  }

  /** The round that the next push will get. */
  get nextRound(): number {
    return (this.#nextRound + this.#waiting.length) >>> 0;
  }

  get layout(): JobLayout {
    return this.#layout;
  }

  /** Packets sent to the aggregator and to the server's port, and how many of them again. */
  get traffic(): { contributions: number; nulls: number; resent: number; messagesResent: number } {
    const { sent, resent } = this.#contributions;
    return { ...sent, resent, messagesResent: this.#channel.counters.resent };
  }

  get wakeAt(): number {
    if (this.#leave === "done") return this.#channel.wakeAt;
    return Math.min(this.#contributions.wakeAt, this.#channel.wakeAt, this.#heartbeatAt);
  }

  /** @throws RangeError when a push has not one value per key, or a push or pull is too long. */
  handle(event: WorkerEvent | FrameEvent | TickEvent, now: number): readonly (WorkerAction | SendAction)[] {
    this.#actions = [];
    switch (event.type) {
      case "frame":
        this.#count(this.#receive(event.frame, now));
        break;
      case "push":
        if (event.keys.length !== event.values.length)
          throw new RangeError(`push of ${event.keys.length} keys with ${event.values.length} values`);
        if (event.keys.length * 8 > MAX_BODY_BYTES)
          throw new RangeError(`push of ${event.keys.length} keys: at most ${MAX_BODY_BYTES / 8} at once`);
        this.#waiting.push({ keys: event.keys.slice(), values: event.values.slice() });
        break;
      case "pull":
        this.#channel.send(MessageKind.PULL, 0, encodePull(event.request, event.keys));
        this.#pulls++;
        break;
      case "layout":
        this.#count(this.#move(event.layout, now));
        break;
      case "leave":
        if (this.#leave === "no") this.#channel.send(MessageKind.LEAVE, 0, new Uint8Array(0));
        if (this.#leave === "no") this.#leave = "asked";
        break;
      case "tick":
        break;
    }
    this.#advance(now);
    return this.#actions;
  }

  #count(name: WorkerCounter | undefined): void {
    if (name !== undefined) this.counters.add(name);
  }

  /** Takes a frame. Gives the counter to raise, if any; so do the methods that it hands on to. */
  #receive(frame: Uint8Array, now: number): WorkerCounter | undefined {
    const datagram = parseFrame(frame);
    if ("refused" in datagram) return datagram.refused;
    if (datagram.dstIp !== this.#me.ip) return "other_address";
    if (datagram.dstPort === AGGREGATION_PORT) {
      const message = decodeAggregation(datagram.payload);
      if ("refused" in message) return message.refused;
      return this.#acknowledged(message.header, now);
    }
    if (datagram.dstPort === PARAMETER_SERVER_PORT) {
      const packet = decodeParameterServer(datagram.payload);
      if ("refused" in packet) return packet.refused;
      return this.#fromServer(packet, now);
    }
    return "other_port";
  }

  #acknowledged(header: AggregationHeader, now: number): WorkerCounter {
    if (header.kind !== Kind.ACK) return "unexpected_kind";
    if (header.member !== this.member) return "other_member";
    return this.#contributions.acknowledge(header, now);
  }

  #fromServer(packet: ParameterServerPacket, now: number): WorkerCounter | undefined {
    if (packet.header.job !== this.#layout.job) return "other_job";
    if (packet.header.member !== this.member) return "other_member";
    this.#silence.heard();
    if (this.#reported.delete("server_unreachable")) this.#channel.retry(now);
    if (packet.header.kind === MessageKind.HEARTBEAT) return undefined;
    for (const message of this.#channel.receive(packet, now)) this.#count(this.#message(message));
    return undefined;
  }

  #message({ kind, round, body }: DeliveredMessage): WorkerCounter | undefined {
    switch (kind) {
      case MessageKind.VALUES: {
        const values = decodeNumbered(body);
        if (values === undefined) return "bad_body";
        this.#pulls--;
        this.#actions.push({ type: "pulled", request: values.number, values: values.values });
        return undefined;
      }
      case MessageKind.FETCH: {
        const row = decodeNumber(body);
        if (row === undefined || row >= this.#layout.rows.length) return "bad_body";
        this.#channel.send(MessageKind.ROW, round, encodeNumbered(row, this.#rowOf(round, row)));
        return undefined;
      }
      case MessageKind.CONFIRM: {
        if (!this.#isResumed) {
          this.#isResumed = true;
          this.#nextRound = (round + 1) >>> 0;
          this.#actions.push({ type: "resumed", round: this.#nextRound });
          return undefined;
        }
        const index = this.#open.findIndex((gradients) => gradients.round === round);
        if (index >= 0) this.#open.splice(index, 1);
        this.#contributions.end(round);
        this.#actions.push({ type: "finished", round });
        return undefined;
      }
      case MessageKind.FAILURE: {
        const worker = decodeNumber(body);
        if (worker === undefined) return "bad_body";
        const { job } = this.#layout;
        this.#report(
          new LibraError("worker_lost", `job ${job}, round ${round}: worker ${worker} is lost`, {
            job,
            round,
            worker,
          }),
          `worker_lost ${worker} ${round}`,
        );
        return undefined;
      }
      default:
        return "unexpected_kind";
    }
  }

  /** The float32 gradients of a marked row; empty when there are none. */
  #rowOf(round: number, row: number): Float32Array {
    const gradients = this.#open.find((open) => open.round === round);
    if (gradients === undefined || gradients.touched[row] === 0) return new Float32Array(0);
    return gradients.values.subarray(row * this.#layout.lanes, (row + 1) * this.#layout.lanes);
  }

  #move(layout: JobLayout, now: number): WorkerCounter | undefined {
    const previous = this.#layout;
    if (layout.job === previous.job && !isNewerGeneration(layout.generation, previous.generation))
      return "old_layout";
    try {
      checkLayout(layout);
      if (layout.job !== previous.job)
        throw new LibraError("layout_invalid", "layout: a job keeps its number");
      if (this.#open.length > 0 && !isSamePlacement(previous, layout))
        throw new LibraError("layout_invalid", "layout: rows may change only while no round is open");
      const endpoint = endpointOf(layout, this.member);
      if ((endpoint.life ?? 0) !== this.#life)
        throw new LibraError("replaced", `job ${layout.job}: worker ${this.member} has been started again`, {
          job: layout.job,
          worker: this.member,
        });
      this.#me = resolveEndpoint(endpoint);
    } catch (error) {
      if (!(error instanceof LibraError)) throw error;
      this.#actions.push({ type: "error", error });
      return undefined;
    }
    if (!isSamePlacement(previous, layout)) this.#forecast = undefined;
    this.#layout = layout;
    this.#codec = rowCodec(layout.mode);
    this.#positions = keyPositions(layout);
    this.#toServer = addressingBetween(this.#me, resolveEndpoint(layout.server), PARAMETER_SERVER_PORT);
    this.#contributions.move(layout, this.#codec, this.#me, resolveEndpoint(layout.aggregator));
    this.#channel.retry(now);
    this.#silence.heard();
    this.#reported.clear();
    return undefined;
  }

  /** Starts what may start, sends what is due, notices what is overdue. */
  #advance(now: number): void {
    while (this.#isResumed && this.#open.length < OPEN_ROUNDS) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#begin(next.keys, next.values);
    }
    for (const frame of this.#contributions.poll(now)) this.#actions.push({ type: "send", frame });
    for (const packet of this.#channel.poll(now)) this.#sendPacket(packet);
    if (this.#leave === "asked" && this.#channel.isIdle) {
      this.#leave = "done";
      this.#actions.push({ type: "left" });
    }
    if (now >= this.#heartbeatAt && this.#leave !== "done") {
      this.#heartbeatAt = now + this.#options.heartbeat;
      this.#sendPacket({ header: this.#heartbeat(), body: new Uint8Array(0) });
    }
    this.#checkPeers(now);
  }

  #checkPeers(now: number): void {
    const { job, aggregator, server, slotBase } = this.#layout;
    const row = this.#contributions.unreachableRow;
    if (row !== undefined)
      this.#report(
        new LibraError(
          "aggregator_unreachable",
          `job ${job}: aggregator ${aggregator.ip} does not acknowledge row ${row} (slot ${slotBase + row}) of worker ${this.member}`,
          { job, row, worker: this.member, peer: aggregator.ip },
        ),
      );
    const isWaiting = this.#open.length > 0 || this.#pulls > 0 || this.#leave === "asked";
    const isSilent = this.#silence.look(now) > this.#options.silence;
    if ((isWaiting && isSilent) || this.#channel.hasFailed)
      this.#report(
        new LibraError(
          "server_unreachable",
          `job ${job}: server ${server.ip} does not answer worker ${this.member}`,
          {
            job,
            worker: this.member,
            peer: server.ip,
          },
        ),
      );
  }

  #begin(keys: Uint32Array, values: Float32Array): void {
    const round = this.#nextRound;
    this.#nextRound = (round + 1) >>> 0;
    const { lanes, rows } = this.#layout;
    const hot: HotGradients = {
      round,
      values: new Float32Array(rows.length * lanes),
      touched: new Uint8Array(rows.length),
      exponents: new Uint8Array(rows.length),
      expected: new Uint8Array(rows.length),
    };
    const coldKeys: number[] = [];
    const coldValues: number[] = [];
    keys.forEach((key, i) => {
      const value = values[i] ?? 0;
      const position = this.#positions.get(key);
      if (position === undefined) {
        coldKeys.push(key);
        coldValues.push(value);
      } else {
        hot.values[position] = (hot.values[position] ?? 0) + value;
        hot.touched[Math.floor(position / lanes)] = 1;
      }
    });
    this.#measure(hot);
    this.#open.push(hot);
    this.#contributions.begin(hot);
    const body = encodePush({ keys: Uint32Array.from(coldKeys), values: Float32Array.from(coldValues) });
    this.#channel.send(MessageKind.PUSH, round, body);
  }

  /** Mode block: the exponents of the rows. They are found once, so that what is sent again is the same. */
  #measure({ values, touched, exponents, expected }: HotGradients): void {
    if (this.#layout.mode.name !== "block") return;
    const { lanes, mode } = this.#layout;
    this.#forecast ??= new ExponentForecast(touched.length, mode.exponent);
    for (let row = 0; row < touched.length; row++) {
      if (touched[row] === 1) {
        exponents[row] = this.#codec.exponent(values.subarray(row * lanes, (row + 1) * lanes));
        this.#forecast.observe(row, exponents[row] ?? 0);
      }
      expected[row] = this.#forecast.expect(row);
    }
  }

  #heartbeat(): ParameterServerPacket["header"] {
    return {
      version: PARAMETER_SERVER_VERSION,
      kind: MessageKind.HEARTBEAT,
      member: this.member,
      job: this.#layout.job,
      round: 0,
      message: 0,
      chunk: 0,
      chunks: 0,
    };
  }

  #sendPacket(packet: ParameterServerPacket): void {
    this.#actions.push({ type: "send", frame: parameterServerFrame(this.#toServer, packet) });
  }

  #report(error: LibraError, cause: string = error.code): void {
    if (this.#reported.has(cause)) return;
    this.#reported.add(cause);
    this.#actions.push({ type: "error", error });
  }
}

function endpointOf(layout: JobLayout, member: number): WorkerEndpoint {
  const endpoint = layout.workers.find((worker) => worker.member === member);
  if (endpoint === undefined)
    throw new LibraError("layout_invalid", `layout: job ${layout.job} has no worker ${member}`, {
      worker: member,
    });
  return endpoint;
}
