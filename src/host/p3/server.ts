import { decodeSlice, encodeSlice, SliceKind, type SliceRefusal } from "../../wire/slice.ts";
import { Counters } from "../counters.ts";
import type { FrameEvent, HostMachine, SendAction, TickEvent } from "../machine.ts";
import { type HubMessage, MessageHub, type PeerFailure } from "../message/hub.ts";
import { PriorityQueue } from "../priorityqueue.ts";
import { P3Error } from "./errors.ts";
import {
  DEFAULT_P3_OPTIONS,
  layoutOf,
  messageOptions,
  type P3Costs,
  type P3Job,
  type P3Layout,
  type P3Options,
  partiesOf,
  serverNumber,
} from "./job.ts";
import { Outbox } from "./outbox.ts";
import type { Slice } from "./slicing.ts";

export type P3ServerEvent =
  /** The job goes on without this worker: rounds no longer wait for it, and its gradients count no more. */
  { readonly type: "exclude"; readonly worker: number };

export type P3ServerAction =
  /** A slice has new parameters. */
  | { readonly type: "updated"; readonly slice: number; readonly iteration: number }
  | { readonly type: "error"; readonly error: P3Error };

export type P3ServerCounter =
  | SliceRefusal["refused"]
  | "unexpected_kind"
  | "unknown_slice"
  | "excluded_worker";

/**
 * Changes a slice's parameters by the sum of the workers' gradients, which was added up in the order of the workers. `workers` of them
 * are in it.
 */
export type SliceUpdate = (
  parameters: Float32Array,
  sum: Float32Array,
  info: { readonly slice: Slice; readonly iteration: number; readonly workers: number },
) => void;

/** Stochastic gradient descent with the mean of the workers' gradients, in binary32. */
export function meanDescent(rate: number): SliceUpdate {
  return (parameters, sum, { workers }) => {
    for (let i = 0; i < parameters.length; i++)
      parameters[i] = (parameters[i] ?? 0) - Math.fround(rate * Math.fround((sum[i] ?? 0) / workers));
  };
}

/** A message that waits for its turn at the server's one thread. */
type Taken =
  | {
      readonly kind: "push";
      readonly slice: Slice;
      readonly worker: number;
      readonly iteration: number;
      readonly values: Float32Array;
    }
  | { readonly kind: "pull"; readonly slice: Slice; readonly worker: number };

type Push = Extract<Taken, { kind: "push" }>;

interface SliceState {
  readonly slice: Slice;
  readonly parameters: Float32Array;
  /** Finished iterations. */
  iteration: number;
  /** Gradients of the next one, by worker. */
  readonly gradients: Map<number, Float32Array>;
}

/**
 * A server of P3: takes slices by priority, and sends a slice's new parameters to all workers as soon as the last gradient is there.
 * Gradients are added in the order of the workers, so the parameters have the same bits however the packets came.
 */
export class P3Server implements HostMachine<P3ServerEvent, P3ServerAction> {
  readonly server: number;
  readonly counters = new Counters<P3ServerCounter>();
  readonly hub: MessageHub;
  readonly outbox: Outbox;
  readonly #layout: P3Layout;
  readonly #costs: P3Costs;
  readonly #update: SliceUpdate;
  readonly #states = new Map<number, SliceState>();
  readonly #taken = new PriorityQueue<Taken>();
  readonly #members: Set<number>;
  readonly #disagreed = new Set<number>();
  #work: { readonly taken: Taken; readonly until: number } | undefined;
  #isWatching = false;
  #actions: (P3ServerAction | SendAction)[] = [];

  /**
   * @param parameters the model's first parameters, layer by layer; copied.
   * @throws P3Error `job_invalid`.
   */
  constructor(
    job: P3Job,
    server: number,
    parameters: readonly Float32Array[],
    update: SliceUpdate,
    options: Partial<P3Options> = {},
  ) {
    const all = { ...DEFAULT_P3_OPTIONS, ...options };
    this.server = server;
    this.#update = update;
    this.#costs = all.costs;
    this.#layout = layoutOf(job);
    const self = serverNumber(this.#layout, server);
    const parties = partiesOf(job, this.#layout, self, all.incarnation);
    this.hub = new MessageHub(parties, all.control, messageOptions(this.#layout, all));
    this.outbox = new Outbox(this.hub, {
      ...{ order: this.#layout.discipline.order, layers: this.#layout.layers.length },
      ...{ isMarked: all.switchPriority, perMessage: all.costs.perMessage },
    });
    this.#members = new Set(this.#layout.workers.keys());
    for (const slice of this.#layout.slices.filter((s) => s.server === server)) {
      const layer = parameters[slice.layer];
      if (layer === undefined || layer.length !== this.#layout.layers[slice.layer])
        throw new P3Error(
          "job_invalid",
          `layer ${slice.layer} has no parameters, or not as many as it should`,
        );
      const own = layer.slice(slice.offset, slice.offset + slice.count);
      this.#states.set(slice.number, { slice, parameters: own, iteration: 0, gradients: new Map() });
    }
  }

  get wakeAt(): number {
    return Math.min(this.hub.wakeAt, this.outbox.wakeAt, this.#work?.until ?? Number.POSITIVE_INFINITY);
  }

  /** Parameters of a slice that lives here. */
  parametersOf(slice: number): Float32Array | undefined {
    return this.#states.get(slice)?.parameters;
  }

  handle(
    event: P3ServerEvent | FrameEvent | TickEvent,
    now: number,
  ): readonly (P3ServerAction | SendAction)[] {
    const messages: HubMessage[] = [];
    if (event.type === "exclude") this.#exclude(event.worker);
    else if (event.type === "frame") this.hub.receive(event.frame, now, messages);
    for (const message of messages) this.#received(message, now);
    this.#process(now);
    const failures: PeerFailure[] = [];
    do this.hub.poll(now, this.#actions, failures);
    while (this.outbox.pump(now));
    for (const { peer, reason } of failures)
      this.#lost(peer, "worker_lost", `worker ${peer} is lost: ${reason}`);
    const actions = this.#actions;
    this.#actions = [];
    return actions;
  }

  #received({ from: worker, body }: HubMessage, now: number): void {
    if (!this.#members.has(worker)) {
      this.counters.add("excluded_worker");
      return;
    }
    // From the first word of anybody on: before, workers may still be starting.
    if (!this.#isWatching) for (const member of this.#members) this.hub.watch(member, now);
    this.#isWatching = true;
    const message = decodeSlice(body);
    if ("refused" in message) {
      this.counters.add(message.refused);
      return;
    }
    const { header, values } = message;
    if (header.kind === SliceKind.LEAVE) {
      this.#members.delete(worker);
      this.hub.forgive(worker);
      this.#finishAll(worker);
      return;
    }
    const state = this.#states.get(header.slice);
    if (state === undefined) {
      this.counters.add("unknown_slice");
      return;
    }
    const { slice } = state;
    if (header.kind === SliceKind.PULL) this.#take({ kind: "pull", slice, worker });
    else if (header.kind !== SliceKind.PUSH) this.counters.add("unexpected_kind");
    else if (values.length !== slice.count) {
      const text = `worker ${worker} sends ${values.length} values of slice ${header.slice}, which has ${slice.count}`;
      this.#disagree(worker, text);
    } else this.#take({ kind: "push", slice, worker, iteration: header.iteration, values });
  }

  #take(taken: Taken): void {
    this.#taken.add(this.#layout.discipline.order === "priority" ? taken.slice.layer : 0, taken);
  }

  /** Works through what has been taken, the most urgent first, as far as time allows. */
  #process(now: number): void {
    for (;;) {
      if (this.#work !== undefined) {
        if (now < this.#work.until) return;
        const { taken } = this.#work;
        this.#work = undefined;
        if (taken.kind === "push") this.#add(taken);
        else this.#answer(taken);
      }
      const taken = this.#taken.take();
      if (taken === undefined) return;
      this.#work = { taken, until: now + this.#costOf(taken) };
    }
  }

  #costOf({ kind, slice }: Taken): number {
    const { perMessage, perValue, perUpdate, perAnswer } = this.#costs;
    if (kind === "pull") return perMessage + perAnswer * slice.count;
    const isLast = this.#states.get(slice.number)?.gradients.size === this.#members.size - 1;
    return perMessage + (perValue + (isLast ? perUpdate : 0)) * slice.count;
  }

  #add({ slice, worker, iteration, values }: Push): void {
    const state = this.#states.get(slice.number);
    if (state === undefined || !this.#members.has(worker)) return;
    if (iteration !== (state.iteration + 1) >>> 0 || state.gradients.has(worker)) {
      const text = `worker ${worker} is in iteration ${iteration} of slice ${slice.number}, the others in ${state.iteration + 1}`;
      this.#disagree(worker, text);
      return;
    }
    state.gradients.set(worker, values);
    this.#finish(state);
  }

  /** The last gradient has come: new parameters for all. */
  #finish(state: SliceState): void {
    const { slice, parameters, gradients } = state;
    const parts = [...this.#members].sort((a, b) => a - b).map((worker) => gradients.get(worker));
    const [first, ...rest] = parts;
    if (first === undefined || parts.includes(undefined)) return;
    for (const part of rest)
      for (let i = 0; i < first.length; i++) first[i] = (first[i] ?? 0) + (part?.[i] ?? 0);
    state.iteration++;
    this.#update(parameters, first, { slice, iteration: state.iteration, workers: parts.length });
    gradients.clear();
    this.#actions.push({ type: "updated", slice: slice.number, iteration: state.iteration });
    const { reply } = this.#layout.discipline;
    const fields = { slice: slice.number, iteration: state.iteration };
    // The same for all, made once, when the first of them is sent: the parameters stay until all have got them.
    let body: Uint8Array | undefined;
    for (const worker of this.#members)
      this.outbox.add(worker, slice.layer, () => {
        body ??=
          reply === "broadcast"
            ? encodeSlice(SliceKind.VALUES, fields, parameters)
            : encodeSlice(SliceKind.READY, fields);
        return body;
      });
  }

  #answer({ slice, worker }: Extract<Taken, { kind: "pull" }>): void {
    const state = this.#states.get(slice.number);
    if (state === undefined || !this.#members.has(worker)) return;
    const { iteration, parameters } = state;
    this.outbox.add(worker, slice.layer, () =>
      encodeSlice(SliceKind.VALUES, { slice: slice.number, iteration }, parameters),
    );
  }

  #disagree(worker: number, text: string): void {
    if (this.#disagreed.has(worker)) return;
    this.#disagreed.add(worker);
    this.#lost(worker, "peer_disagrees", text);
  }

  /** Tells the application and the other workers. */
  #lost(worker: number, code: "worker_lost" | "peer_disagrees", text: string): void {
    this.#actions.push({ type: "error", error: new P3Error(code, text, { worker }) });
    for (const other of this.#members)
      if (other !== worker) this.outbox.add(other, 0, () => encodeSlice(SliceKind.FAILURE, { worker }));
  }

  #exclude(worker: number): void {
    if (!this.#members.delete(worker)) return;
    this.hub.forget(worker);
    this.#finishAll(worker);
  }

  /** Rounds that waited for this worker are complete. */
  #finishAll(worker: number): void {
    for (const state of this.#states.values()) {
      state.gradients.delete(worker);
      if (state.gradients.size > 0) this.#finish(state);
    }
  }
}
