import {
  decodeSlice,
  encodeSlice,
  SliceKind,
  type SliceMessage,
  type SliceRefusal,
} from "../../wire/slice.ts";
import { Counters } from "../counters.ts";
import type { FrameEvent, HostMachine, SendAction, TickEvent } from "../machine.ts";
import { type HubMessage, MessageHub, type PeerFailure } from "../message/hub.ts";
import { P3Error } from "./errors.ts";
import {
  DEFAULT_P3_OPTIONS,
  layoutOf,
  messageOptions,
  type P3Job,
  type P3Layout,
  type P3Options,
  partiesOf,
  serverNumber,
} from "./job.ts";
import { Outbox } from "./outbox.ts";
import type { Slice } from "./slicing.ts";

/** This worker's gradient of a layer: of the layer's next iteration. Not to be changed until the layer is updated. */
export interface GradientEvent {
  readonly type: "gradient";
  readonly layer: number;
  readonly values: Float32Array;
}

export type P3WorkerEvent =
  | GradientEvent
  /** The worker is done with the job. */
  | { readonly type: "leave" };

export type P3WorkerAction =
  /** All servers know that the worker is done. */
  | { readonly type: "left" }
  /** The layer's parameters after this iteration: all workers' gradients are in them. */
  | {
      readonly type: "updated";
      readonly layer: number;
      readonly iteration: number;
      readonly values: Float32Array;
    }
  | { readonly type: "error"; readonly error: P3Error };

export type P3WorkerCounter = SliceRefusal["refused"] | "unexpected_kind" | "unknown_slice" | "old_iteration";

interface LayerState {
  readonly slices: readonly Slice[];
  /** Iterations whose gradient has been given. */
  given: number;
  gradient: Float32Array | undefined;
  parameters: Float32Array;
  missing: number;
  readonly has: Set<number>;
}

/**
 * A worker of Priority-based Parameter Propagation (arXiv 1905.03960): each layer's gradient is cut into slices as soon as it is there,
 * and the slices go to their servers by priority, the front of the model first.
 */
export class P3Worker implements HostMachine<P3WorkerEvent, P3WorkerAction> {
  readonly worker: number;
  readonly counters = new Counters<P3WorkerCounter>();
  readonly hub: MessageHub;
  readonly outbox: Outbox;
  readonly #layout: P3Layout;
  readonly #layers: readonly LayerState[];
  #isWatching = false;
  #isLeaving = false;
  #actions: (P3WorkerAction | SendAction)[] = [];

  /** @throws P3Error `job_invalid`. */
  constructor(job: P3Job, worker: number, options: Partial<P3Options> = {}) {
    const all = { ...DEFAULT_P3_OPTIONS, ...options };
    this.worker = worker;
    this.#layout = layoutOf(job);
    const parties = partiesOf(job, this.#layout, worker, all.incarnation);
    this.hub = new MessageHub(parties, all.control, messageOptions(this.#layout, all));
    this.outbox = new Outbox(this.hub, {
      ...{ order: this.#layout.discipline.order, layers: this.#layout.layers.length },
      ...{ isMarked: all.switchPriority, perMessage: all.costs.perMessage },
    });
    const byLayer = this.#layout.layers.map((): Slice[] => []);
    for (const slice of this.#layout.slices) byLayer[slice.layer]?.push(slice);
    this.#layers = byLayer.map((slices) => ({
      ...{
        slices,
        given: 0,
        gradient: undefined,
        parameters: new Float32Array(0),
        missing: 0,
        has: new Set(),
      },
    }));
  }

  get wakeAt(): number {
    return Math.min(this.hub.wakeAt, this.outbox.wakeAt);
  }

  /** @throws P3Error `wrong_use` for a gradient that does not fit. */
  handle(
    event: P3WorkerEvent | FrameEvent | TickEvent,
    now: number,
  ): readonly (P3WorkerAction | SendAction)[] {
    const messages: HubMessage[] = [];
    if (event.type === "gradient") this.#gradient(event, now);
    else if (event.type === "leave") this.#leave();
    else if (event.type === "frame") this.hub.receive(event.frame, now, messages);
    for (const message of messages) this.#received(message);
    const failures: PeerFailure[] = [];
    do this.hub.poll(now, this.#actions, failures);
    while (this.outbox.pump(now));
    for (const { peer, reason } of failures) {
      const server = peer - this.#layout.workers.length;
      this.#report(new P3Error("server_lost", `server ${server} is lost: ${reason}`, { server }));
    }
    if (this.#isLeaving && this.outbox.size === 0 && this.hub.isIdle) {
      this.#isLeaving = false;
      this.hub.forgetAll();
      this.#actions.push({ type: "left" });
    }
    const actions = this.#actions;
    this.#actions = [];
    return actions;
  }

  #leave(): void {
    this.#isLeaving = true;
    // Behind all layers.
    for (const server of this.#layout.servers.keys())
      this.outbox.add(serverNumber(this.#layout, server), this.#layout.layers.length - 1, () =>
        encodeSlice(SliceKind.LEAVE, { worker: this.worker }),
      );
  }

  #gradient({ layer, values }: GradientEvent, now: number): void {
    const state = this.#layers[layer];
    if (state === undefined) throw new P3Error("wrong_use", `the model has no layer ${layer}`);
    const size = this.#layout.layers[layer] ?? 0;
    if (values.length !== size)
      throw new P3Error("wrong_use", `layer ${layer} has ${size} parameters, its gradient ${values.length}`);
    if (state.gradient !== undefined)
      throw new P3Error("wrong_use", `layer ${layer} has not been updated since its last gradient`);
    if (!this.#isWatching)
      for (const server of this.#layout.servers.keys())
        this.hub.watch(serverNumber(this.#layout, server), now);
    this.#isWatching = true;
    state.given++;
    state.gradient = values;
    state.parameters = new Float32Array(size);
    state.missing = state.slices.length;
    state.has.clear();
    const iteration = state.given;
    for (const { number, offset, count, server } of state.slices)
      this.outbox.add(serverNumber(this.#layout, server), layer, () =>
        encodeSlice(
          SliceKind.PUSH,
          { slice: number, iteration, worker: this.worker },
          values.subarray(offset, offset + count),
        ),
      );
  }

  #received({ from, body }: HubMessage): void {
    const message = decodeSlice(body);
    if ("refused" in message) {
      this.counters.add(message.refused);
      return;
    }
    const { header } = message;
    if (header.kind === SliceKind.FAILURE) {
      const { worker } = header;
      const server = from - this.#layout.workers.length;
      const text = `worker ${worker} is lost (reported by server ${server})`;
      this.#report(new P3Error("worker_lost", text, { worker }));
      return;
    }
    const slice = this.#layout.slices[header.slice];
    if (slice === undefined || serverNumber(this.#layout, slice.server) !== from)
      this.counters.add("unknown_slice");
    else if (header.kind === SliceKind.READY) this.#pull(slice, header.iteration);
    else if (header.kind === SliceKind.VALUES) this.#values(slice, message);
    else this.counters.add("unexpected_kind");
  }

  #pull({ number, layer, server }: Slice, iteration: number): void {
    this.outbox.add(serverNumber(this.#layout, server), layer, () =>
      encodeSlice(SliceKind.PULL, { slice: number, iteration, worker: this.worker }),
    );
  }

  #values({ number, layer, offset, count, server }: Slice, { header, values }: SliceMessage): void {
    const state = this.#layers[layer];
    if (state === undefined || state.gradient === undefined || header.iteration !== state.given) {
      this.counters.add("old_iteration");
      return;
    }
    if (values.length !== count) {
      const text = `server ${server} sends ${values.length} values of slice ${number}, which has ${count}`;
      this.#report(new P3Error("peer_disagrees", text, { server }));
      return;
    }
    if (state.has.has(number)) return;
    state.has.add(number);
    state.missing--;
    state.parameters.set(values, offset);
    if (state.missing > 0) return;
    state.gradient = undefined;
    this.#actions.push({ type: "updated", layer, iteration: state.given, values: state.parameters });
  }

  #report(error: P3Error): void {
    this.#actions.push({ type: "error", error });
  }
}
