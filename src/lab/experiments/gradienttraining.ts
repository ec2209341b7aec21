import { PriorityQueue } from "../../host/priorityqueue.ts";
import { seededRandom } from "../../host/random.ts";
import { addSwitches, plugHosts } from "../build.ts";
import { ForwardingSwitch } from "../forwardingswitch.ts";
import { Lab } from "../lab.ts";
import { chunksOf, type GradientPush, transferHosts } from "./gradientflows.ts";

/** Synchronous training with parameter servers: forward, backward, push of gradients, pull of parameters. */
export interface GradientTraining extends Omit<GradientPush, "gray"> {
  /** Milliseconds of the forward pass, before scaling. */
  readonly forward: number;
  readonly iterations: number;
  /**
   * Chunks of a worker under way at once, each way, the front of the model first, as ByteScheduler (SOSP 2019) sends; without it all go when they
   * are ready.
   */
  readonly credit?: number;
}

/** @returns mean milliseconds of an iteration without the first. @throws Error when it does not come to its end. */
export function trainOverNetwork(training: GradientTraining): number {
  const { topology, scheme, seed, lineRate, model, iterations, scale, serverEvery } = training;
  const lab = new Lab(seededRandom(seed));
  addSwitches(lab, topology, (place) => {
    const salt = (seed * 7919 + place.ip) | 0;
    return new ForwardingSwitch(
      { ...scheme.switches.rules, routes: place.routes, salt },
      scheme.switches.options,
    );
  });
  const numbers = [...topology.hosts.keys()];
  const servers = numbers.filter((i) => i % serverEvery === 0);
  const workers = numbers.filter((i) => i % serverEvery !== 0);
  const chunks = chunksOf(training, servers);
  const transfers = [
    ...chunks.map(({ size, layer, server }) => ({ size, layer, senders: workers, receivers: [server] })),
    ...chunks.map(({ size, layer, server }) => ({ size, layer, senders: [server], receivers: workers })),
  ];
  /** Gradients of each chunk that its server has. */
  const pushed = chunks.map(() => 0);
  const arrived = (transfer: number, from: number, to: number): void => {
    const chunk = transfer % chunks.length;
    if (transfer >= chunks.length) {
      gates.get(`pull ${to}`)?.isThere();
      computers.get(to)?.pulled(chunks[chunk]?.layer ?? 0);
      return;
    }
    gates.get(`push ${from}`)?.isThere();
    pushed[chunk] = (pushed[chunk] ?? 0) + 1;
    if (pushed[chunk] !== workers.length) return;
    pushed[chunk] = 0;
    for (const worker of workers)
      gates
        .get(`pull ${worker}`)
        ?.add(chunks[chunk]?.layer ?? 0, () => send(chunk + chunks.length, to, worker));
  };
  const send = transferHosts(lab, {
    ...{ topology, layers: model.arrays.length, scheme, lineRate, seed, transfers, arrived },
  });
  plugHosts(lab, topology);
  const gates = new Map(
    workers.flatMap((w) => ["push", "pull"].map((way) => [`${way} ${w}`, new CreditGate(training.credit)])),
  );
  const parts = model.arrays.map((_, layer) => chunks.filter((c) => c.layer === layer).length);
  const work = model.arrays.reduce((sum, a) => sum + a.work, 0);
  const computers = new Map(
    workers.map((w) => {
      const random = seededRandom(seed * 104_729 + w);
      const times = model.arrays.map((a) => a.work / work / scale);
      const computer = new Computer(lab, {
        ...{ parts, iterations, random },
        forward: times.map((t) => t * training.forward),
        backward: times.map((t) => t * training.backward),
        push: (layer) => {
          for (const [i, chunk] of chunks.entries())
            if (chunk.layer === layer) gates.get(`push ${w}`)?.add(layer, () => send(i, w, chunk.server));
        },
      });
      return [w, computer];
    }),
  );
  for (const computer of computers.values()) computer.start();
  const all = [...computers.values()];
  if (!lab.run(() => all.every((c) => c.finished.length === iterations), 60_000))
    throw new Error("the training has not come to its end");
  const [first = 0, last = 0] = [0, iterations - 1].map((i) =>
    Math.max(...all.map((c) => c.finished[i] ?? 0)),
  );
  return ((last - first) / (iterations - 1)) * scale;
}

/** What may go at once: all, or so many, the front of the model first. */
class CreditGate {
  readonly #waiting = new PriorityQueue<() => void>();
  #credit: number;

  constructor(credit = Number.POSITIVE_INFINITY) {
    this.#credit = credit;
  }

  add(layer: number, send: () => void): void {
    this.#waiting.add(layer, send);
    this.#open();
  }

  /** One has arrived. */
  isThere(): void {
    this.#credit++;
    this.#open();
  }

  #open(): void {
    while (this.#credit > 0 && this.#waiting.size > 0) {
      this.#credit--;
      this.#waiting.take()?.();
    }
  }
}

interface ComputerPlan {
  /** Chunks of each layer. */
  readonly parts: readonly number[];
  /** Milliseconds of each layer. */
  readonly forward: readonly number[];
  readonly backward: readonly number[];
  readonly iterations: number;
  readonly random: () => number;
  readonly push: (layer: number) => void;
}

/** One worker: forward layer by layer as parameters come, then backward. */
class Computer {
  /** When each iteration's parameters were all there. */
  readonly finished: number[] = [];
  readonly #lab: Lab;
  readonly #plan: ComputerPlan;
  /** Chunks of each layer that have come so far. */
  readonly #come: number[];
  #all = 0;
  #iteration = 0;
  #waitsFor: number | undefined;

  constructor(lab: Lab, plan: ComputerPlan) {
    this.#lab = lab;
    this.#plan = plan;
    this.#come = plan.parts.map(() => 0);
  }

  start(): void {
    this.#forward(0);
  }

  pulled(layer: number): void {
    this.#come[layer] = (this.#come[layer] ?? 0) + 1;
    this.#all++;
    const perIteration = this.#plan.parts.reduce((sum, n) => sum + n, 0);
    if (this.#all % perIteration === 0) this.finished.push(this.#lab.now);
    if (this.#waitsFor === layer) this.#forward(layer);
  }

  #forward(layer: number): void {
    if (layer === this.#plan.parts.length) {
      this.#backward(layer - 1);
      return;
    }
    if ((this.#come[layer] ?? 0) < this.#iteration * (this.#plan.parts[layer] ?? 0)) {
      this.#waitsFor = layer;
      return;
    }
    this.#waitsFor = undefined;
    this.#after(this.#plan.forward[layer] ?? 0, () => this.#forward(layer + 1));
  }

  #backward(layer: number): void {
    if (layer < 0) {
      this.#iteration++;
      if (this.#iteration < this.#plan.iterations) this.#forward(0);
      return;
    }
    this.#after(this.#plan.backward[layer] ?? 0, () => {
      this.#plan.push(layer);
      this.#backward(layer - 1);
    });
  }

  /** No two computers are alike. */
  #after(time: number, what: () => void): void {
    this.#lab.at(this.#lab.now + time * (1 + (this.#plan.random() * 2 - 1) * 0.05), what);
  }
}
