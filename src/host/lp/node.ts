import {
  COLLECTIVE_VERSION,
  type CollectiveHeader,
  CollectiveKind,
  isData,
  OperationId,
} from "../../wire/collective.ts";
import { SilenceMeter } from "../silence.ts";
import { chainSchedule } from "./chain.ts";
import { CollectiveError, type CollectiveErrorCode, causeNumber, reportedError } from "./errors.ts";
import { exchangeSchedule } from "./exchange.ts";
import { ringSchedule } from "./ring.ts";
import type { Algorithm, Operation, Plan, Receive, Send, Step } from "./schedule.ts";
import { type Storage, TwoBlocks, WholeStorage } from "./storage.ts";
import { treeSchedule } from "./tree.ts";

export interface CollectiveOptions {
  /** Values of a chain's block. */
  readonly block: number;
  /** Does a chain's allreduce hand finished blocks back while others still go forth? */
  readonly overlap: boolean;
  /** Milliseconds between two signs of life. */
  readonly heartbeat: number;
  /** Milliseconds of silence after which a node counts as lost. */
  readonly silence: number;
}

/** Blocks of 64 KB; `bestBlock` of `cost.ts` finds better ones for a known network. */
export const DEFAULT_COLLECTIVE_OPTIONS: CollectiveOptions = {
  block: 16384,
  overlap: true,
  heartbeat: 500,
  silence: 5000,
};

/** One message between two nodes. */
export interface CollectiveMessage {
  readonly header: CollectiveHeader;
  /** Empty unless the kind carries values. */
  readonly values: Float32Array;
}

export type CollectiveEvent =
  /** The next operation of the group. All nodes start the same ones in the same order. */
  | {
      readonly type: "start";
      readonly operation: Operation;
      readonly algorithm: Algorithm;
      readonly root: number;
      /** What this node gives; where it gives nothing only the length counts. Not changed, and not to be changed before the end. */
      readonly values: Float32Array;
      readonly options?: Partial<Pick<CollectiveOptions, "block" | "overlap">>;
    }
  /** There is a way to this node; it is watched from now on. */
  | { readonly type: "connected"; readonly peer: number }
  /** A message that `admit` has let in (data), or any other. The values are only read during the call. */
  | { readonly type: "message"; readonly from: number; readonly message: CollectiveMessage }
  /** All of the data message to this node has been sent. */
  | { readonly type: "sent"; readonly to: number }
  /** The way to this node is broken. */
  | { readonly type: "lost"; readonly peer: number; readonly reason: string }
  /** This node can't be reached at all. */
  | { readonly type: "unreachable"; readonly peer: number; readonly reason: string }
  /** What came from this node can't be a message. */
  | { readonly type: "garbage"; readonly peer: number; readonly reason: string }
  /** This node takes part no longer. */
  | { readonly type: "leave" }
  | { readonly type: "tick" };

export type CollectiveAction =
  /** The values are a view: they stay as they are until the `sent` event. */
  | { readonly type: "message"; readonly to: number; readonly message: CollectiveMessage }
  /** Operation `number`, from 0, is done here. */
  | { readonly type: "done"; readonly number: number; readonly values: Float32Array | undefined }
  /** The group has failed, all unfinished operations with it. Once at most. */
  | { readonly type: "error"; readonly error: CollectiveError };

/** May a data message come in? Otherwise it has to wait until the next event, or it is refused with the group. */
export type Admission = "now" | "later" | CollectiveError;

interface Running {
  readonly number: number;
  readonly plan: Plan;
  readonly steps: Iterator<Step>;
  readonly storage: Storage;
  sends: Send[];
  receives: Receive[];
}

const NO_VALUES = new Float32Array(0);

/**
 * One node of a group that does collective operations, as a state machine over reliable, ordered messages between nodes. It carries
 * out one operation after the other by its schedule, and keeps no more than the step at hand: what comes early is left waiting in the
 * network (`admit`).
 *
 * A node that is silent for too long, or whose connection breaks, ends the group: every other node gets an error that names it.
 */
export class CollectiveNode {
  readonly node: number;
  readonly nodes: number;
  readonly session: number;
  /** Most blocks that this node has held between receiving and passing on (chain reduce). */
  highestBlocks = 0;
  readonly #options: CollectiveOptions;
  readonly #peers = new Map<number, SilenceMeter>();
  readonly #left = new Set<number>();
  readonly #waiting: Extract<CollectiveEvent, { type: "start" }>[] = [];
  #running: Running | undefined;
  #failure: CollectiveError | undefined;
  #hasLeft = false;
  #nextNumber = 0;
  #heartbeatAt = Number.POSITIVE_INFINITY;
  #actions: CollectiveAction[] = [];

  constructor(
    group: { readonly node: number; readonly nodes: number; readonly session: number },
    options: Partial<CollectiveOptions> = {},
  ) {
    this.#options = { ...DEFAULT_COLLECTIVE_OPTIONS, ...options };
    this.node = group.node;
    this.nodes = group.nodes;
    this.session = group.session;
    if (!Number.isInteger(group.nodes) || group.nodes < 1 || group.nodes > 0xffff)
      throw new CollectiveError("wrong_use", `a group has 1 to 65535 nodes, not ${group.nodes}`);
    if (!Number.isInteger(group.node) || group.node < 0 || group.node >= group.nodes)
      throw new CollectiveError("wrong_use", `node ${group.node} is not in a group of ${group.nodes}`);
  }

  get wakeAt(): number {
    return this.#failure === undefined ? this.#heartbeatAt : Number.POSITIVE_INFINITY;
  }

  get failure(): CollectiveError | undefined {
    return this.#failure;
  }

  /** Nodes that the step at hand has messages for or from. */
  neededPeers(): ReadonlySet<number> {
    const running = this.#running;
    return new Set([...(running?.sends ?? []), ...(running?.receives ?? [])].map((t) => t.peer));
  }

  /** May this data message come in now? To be asked before its values are read, so that a wrong length costs nothing. */
  admit(from: number, header: CollectiveHeader): Admission {
    if (this.#failure !== undefined) return this.#failure;
    const expected = this.#running?.receives.find((r) => r.peer === from);
    if (this.#running === undefined || expected === undefined) return "later";
    const { number, plan } = this.#running;
    const kind = expected.adds ? CollectiveKind.PARTIAL : CollectiveKind.FINAL;
    const checks: readonly (readonly [string, number, number])[] = [
      ["session", header.session, this.session],
      ["operation number", header.collective, number >>> 0],
      ["operation", header.operation, OperationId[plan.operation]],
      ["root", header.root, plan.root],
      ["length", header.elements, plan.elements],
      ["kind", header.kind, kind],
      ["offset", header.offset, expected.offset],
      ["count", header.count, expected.count],
    ];
    const wrong = checks.find(([, theirs, ours]) => theirs !== ours);
    if (wrong === undefined) return "now";
    const [what, theirs, ours] = wrong;
    return new CollectiveError(
      "node_disagrees",
      `node ${from} has ${what} ${theirs}, node ${this.node} has ${ours}`,
      from,
    );
  }

  /** @throws CollectiveError `wrong_use` for an operation that makes no sense, or the group's failure when it has failed. */
  handle(event: CollectiveEvent, now: number): readonly CollectiveAction[] {
    switch (event.type) {
      case "start":
        this.#check(event);
        this.#waiting.push(event);
        break;
      case "connected": {
        const meter = new SilenceMeter(this.#options.silence / 2);
        meter.look(now);
        this.#peers.set(event.peer, meter);
        if (this.#heartbeatAt === Number.POSITIVE_INFINITY) this.#heartbeatAt = now + this.#options.heartbeat;
        break;
      }
      case "message":
        this.#peers.get(event.from)?.heard();
        this.#received(event.from, event.message);
        break;
      case "sent": {
        const sends = this.#running?.sends ?? [];
        const index = sends.findIndex((s) => s.peer === event.to);
        for (const { offset } of index < 0 ? [] : sends.splice(index, 1))
          this.#running?.storage.release(offset);
        break;
      }
      case "lost":
        this.#lost(event.peer, event.reason);
        break;
      case "unreachable":
        this.#fail("node_unreachable", event.peer, `node ${event.peer} can't be reached: ${event.reason}`);
        break;
      case "garbage":
        this.#fail("node_disagrees", event.peer, `node ${event.peer} disagrees: ${event.reason}`);
        break;
      case "leave":
        this.#leave();
        break;
      case "tick":
        this.#watch(now);
        break;
    }
    this.#advance();
    const actions = this.#actions;
    this.#actions = [];
    return actions;
  }

  #check({ root, options }: Extract<CollectiveEvent, { type: "start" }>): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#hasLeft) throw new CollectiveError("closed", "this node has left the group");
    if (!Number.isInteger(root) || root < 0 || root >= this.nodes)
      throw new CollectiveError("wrong_use", `root ${root} is not in a group of ${this.nodes}`);
    const block = options?.block ?? this.#options.block;
    if (!Number.isInteger(block) || block < 1)
      throw new CollectiveError("wrong_use", `a block has at least 1 value, not ${block}`);
  }

  /** Goes on as far as it can: from step to step, and from operation to operation. */
  #advance(): void {
    while (this.#failure === undefined) {
      const running = this.#running ?? this.#next();
      if (running === undefined || running.sends.length + running.receives.length > 0) return;
      const step = running.steps.next();
      if (step.done === true) this.#finish(running);
      else this.#begin(running, step.value);
    }
  }

  #next(): Running | undefined {
    const event = this.#waiting.shift();
    if (event === undefined) return undefined;
    const { operation, algorithm, root, values } = event;
    const options = { ...this.#options, ...event.options };
    const { block, overlap } = options;
    const plan = { operation, algorithm, nodes: this.nodes, root, elements: values.length, block, overlap };
    this.#running = {
      number: this.#nextNumber++,
      plan,
      steps: scheduleOf(plan, this.node)[Symbol.iterator](),
      storage: this.#storageFor(plan, values),
      sends: [],
      receives: [],
    };
    return this.#running;
  }

  #storageFor(plan: Plan, values: Float32Array): Storage {
    const { operation, algorithm, root, elements, block } = plan;
    if (operation === "broadcast" && root !== this.node)
      return new WholeStorage(new Float32Array(elements), true);
    const isResult = operation !== "reduce" || root === this.node;
    if (algorithm === "chain" && !isResult) return new TwoBlocks(values, block);
    return new WholeStorage(values.slice(), isResult);
  }

  #begin(running: Running, { sends, receives }: Step): void {
    running.sends = [...sends];
    running.receives = [...receives];
    const gone = running.sends.find((s) => this.#left.has(s.peer));
    if (gone !== undefined) {
      this.#fail("node_left", gone.peer, `node ${gone.peer} has left the group`);
      return;
    }
    for (const { offset } of receives) running.storage.expect(offset);
    const { plan, number } = running;
    for (const { peer, offset, count, adds } of sends) {
      const header = this.#header(adds ? CollectiveKind.PARTIAL : CollectiveKind.FINAL, {
        operation: OperationId[plan.operation],
        root: plan.root,
        collective: number >>> 0,
        elements: plan.elements,
        offset,
        count,
      });
      this.#actions.push({
        type: "message",
        to: peer,
        message: { header, values: running.storage.read(offset, count) },
      });
    }
  }

  #finish({ number, storage }: Running): void {
    if (storage instanceof TwoBlocks) this.highestBlocks = Math.max(this.highestBlocks, storage.highest);
    this.#running = undefined;
    this.#actions.push({ type: "done", number, values: storage.result() });
  }

  #received(from: number, { header, values }: CollectiveMessage): void {
    switch (header.kind) {
      case CollectiveKind.LEAVE:
        this.#left.add(from);
        this.#peers.delete(from);
        return;
      case CollectiveKind.FAILURE: {
        const error = reportedError(header.offset, header.root, from);
        this.#fail(error.code, header.root, error.message);
        return;
      }
    }
    if (!isData(header.kind)) return;
    const admission = this.admit(from, header);
    if (admission === "later") throw new Error(`a message of node ${from} was not admitted`);
    if (admission !== "now") {
      this.#fail(admission.code, from, admission.message);
      return;
    }
    const running = this.#running;
    const index = running?.receives.findIndex((r) => r.peer === from) ?? -1;
    for (const { offset, adds } of running?.receives.splice(index, 1) ?? []) {
      if (adds) running?.storage.add(offset, values);
      else running?.storage.put(offset, values);
    }
  }

  #lost(peer: number, reason: string): void {
    const isNeeded = this.neededPeers().has(peer);
    if (this.#left.has(peer)) {
      // It had nothing more to do; unless this node still waits for it.
      if (isNeeded) this.#fail("node_left", peer, `node ${peer} has left the group`);
      return;
    }
    this.#fail("node_lost", peer, `node ${peer} is lost: ${reason}`);
  }

  #leave(): void {
    this.#hasLeft = true;
    for (const peer of this.#peers.keys()) this.#tell(peer, CollectiveKind.LEAVE);
    this.#peers.clear();
    this.#heartbeatAt = Number.POSITIVE_INFINITY;
  }

  #watch(now: number): void {
    if (now < this.#heartbeatAt) return;
    this.#heartbeatAt = now + this.#options.heartbeat;
    for (const [peer, meter] of this.#peers) {
      const silent = meter.look(now);
      if (silent < this.#options.silence) this.#tell(peer, CollectiveKind.HEARTBEAT);
      else this.#fail("node_lost", peer, `node ${peer} is lost: silent for ${Math.round(silent)} ms`);
    }
  }

  #fail(code: CollectiveErrorCode, node: number, message: string): void {
    if (this.#failure !== undefined || this.#hasLeft) return;
    this.#failure = new CollectiveError(code, message, node);
    this.#running = undefined;
    this.#waiting.length = 0;
    for (const peer of this.#peers.keys())
      this.#tell(peer, CollectiveKind.FAILURE, { root: node, offset: causeNumber(code) });
    this.#actions.push({ type: "error", error: this.#failure });
  }

  #tell(to: number, kind: CollectiveKind, fields: Partial<CollectiveHeader> = {}): void {
    this.#actions.push({
      type: "message",
      to,
      message: { header: this.#header(kind, fields), values: NO_VALUES },
    });
  }

  #header(kind: CollectiveKind, fields: Partial<CollectiveHeader>): CollectiveHeader {
    return {
      version: COLLECTIVE_VERSION,
      kind,
      operation: 0,
      sender: this.node,
      root: 0,
      reserved: 0,
      session: this.session,
      collective: 0,
      elements: 0,
      offset: 0,
      count: 0,
      ...fields,
    };
  }
}

/** What a node does in an operation. */
export function scheduleOf(plan: Plan, node: number): Iterable<Step> {
  if (plan.nodes === 1) return [];
  switch (plan.algorithm) {
    case "chain":
      return chainSchedule(plan, node);
    case "tree":
      return treeSchedule(plan, node);
    case "exchange":
      return exchangeSchedule(plan, node);
    case "ring":
      return ringSchedule(plan, node);
  }
}
