import type {
  CollectiveAction,
  CollectiveEvent,
  CollectiveMessage,
  CollectiveNode,
} from "../host/lp/node.ts";
import { PriorityQueue } from "../host/priorityqueue.ts";
import { CollectiveKind, isData } from "../wire/collective.ts";

/** Hockney's model of a network: a message of n bytes keeps its sender and its receiver busy for latency + n * perByte. */
export interface PipeModel {
  /** Per message, in milliseconds. */
  readonly latency: number;
  /** Milliseconds per byte on the way. */
  readonly perByte: number;
  /** Milliseconds per byte that is added to the receiver's own; 0 when absent. */
  readonly addPerByte?: number;
  /** `one`: a node sends one message at a time and receives one. `perPeer`: one for each neighbour, as with a cable to each. */
  readonly ports: "one" | "perPeer";
}

interface Pending {
  readonly from: number;
  readonly to: number;
  readonly message: CollectiveMessage;
}

/**
 * Nodes of one group that are joined by pipes, under a virtual clock: the machine for which cost formulas of collective operations
 * are written. A message sets out when both ends are free and the receiver admits it. Messages without values take no time.
 */
export class PipeNetwork {
  now = 0;
  /** Data messages that have arrived. */
  messages = 0;
  readonly #model: PipeModel;
  readonly #nodes: readonly CollectiveNode[];
  readonly #onAction: (node: number, action: CollectiveAction) => void;
  readonly #events = new PriorityQueue<() => void>();
  /** Messages that have not set out, by each of their ends. */
  readonly #pending: readonly Set<Pending>[];
  readonly #busy = new Set<number>();
  readonly #dead = new Set<number>();

  constructor(
    model: PipeModel,
    nodes: readonly CollectiveNode[],
    onAction: (node: number, action: CollectiveAction) => void,
  ) {
    this.#model = model;
    this.#nodes = nodes;
    this.#pending = nodes.map(() => new Set());
    this.#onAction = onAction;
  }

  dispatch(node: number, event: CollectiveEvent): void {
    const machine = this.#nodes[node];
    if (machine === undefined || this.#dead.has(node)) return;
    for (const action of machine.handle(event, this.now)) {
      if (action.type === "message") this.#post({ from: node, to: action.to, message: action.message });
      else this.#onAction(node, action);
    }
    this.#startWhatCan(node);
  }

  /** Ends a node without a word. Its neighbours, if given, notice after that time. */
  kill(node: number, noticedAfter: number): void {
    this.#dead.add(node);
    this.at(this.now + noticedAfter, () => {
      for (const peer of this.#nodes.keys())
        this.dispatch(peer, { type: "lost", peer: node, reason: "it was ended" });
    });
  }

  at(time: number, what: () => void): void {
    this.#events.add(time, what);
  }

  /** Runs until nothing is left to happen. */
  run(): void {
    for (;;) {
      const at = this.#events.firstPriority;
      const event = this.#events.take();
      if (event === undefined) return;
      this.now = at;
      event();
    }
  }

  #post(pending: Pending): void {
    if (isData(pending.message.header.kind)) for (const set of this.#endsOf(pending)) set.add(pending);
    else this.at(this.now, () => this.dispatch(pending.to, { type: "message", ...pending }));
  }

  #endsOf({ from, to }: Pending): readonly Set<Pending>[] {
    return [from, to].flatMap((end) => this.#pending[end] ?? []);
  }

  #startWhatCan(node: number): void {
    for (const pending of this.#pending[node] ?? [])
      if (this.#start(pending)) for (const set of this.#endsOf(pending)) set.delete(pending);
  }

  #start({ from, to, message }: Pending): boolean {
    const receiver = this.#nodes[to];
    const [out, into] = this.#portsOf(from, to);
    if (receiver === undefined || this.#dead.has(to) || this.#dead.has(from)) return false;
    if (this.#busy.has(out) || this.#busy.has(into) || receiver.admit(from, message.header) === "later")
      return false;
    const bytes = message.header.count * 4;
    const { latency, perByte, addPerByte = 0 } = this.#model;
    const adding = message.header.kind === CollectiveKind.PARTIAL ? addPerByte * bytes : 0;
    this.#busy.add(out).add(into);
    const sent = this.now + latency + bytes * perByte;
    const values = message.values.slice();
    this.at(sent, () => {
      this.#busy.delete(out);
      // Adding keeps the receiver busy: a buffer is free only when its values have been used.
      if (adding === 0) this.#arrived(from, to, { ...message, values }, into);
      this.dispatch(from, { type: "sent", to });
    });
    if (adding > 0) this.at(sent + adding, () => this.#arrived(from, to, { ...message, values }, into));
    return true;
  }

  #arrived(from: number, to: number, message: CollectiveMessage, port: number): void {
    this.#busy.delete(port);
    this.messages++;
    this.dispatch(to, { type: "message", from, message });
  }

  /** Numbers of the sender's and the receiver's port. */
  #portsOf(from: number, to: number): readonly [number, number] {
    const n = this.#nodes.length;
    return this.#model.ports === "one"
      ? [2 * from, 2 * to + 1]
      : [2 * (from * n + to), 2 * (from * n + to) + 1];
  }
}
