import type { HostMachine } from "../../host/machine.ts";
import { FixedWindow } from "../../host/message/congestion.ts";
import type { P3Costs, P3Job } from "../../host/p3/job.ts";
import { meanDescent, P3Server, type P3ServerAction, type P3ServerEvent } from "../../host/p3/server.ts";
import { cutModel, type Discipline } from "../../host/p3/slicing.ts";
import { P3Worker, type P3WorkerAction, type P3WorkerEvent } from "../../host/p3/worker.ts";
import { seededRandom } from "../../host/random.ts";
import { type Of, SharedHost } from "../../host/sharedhost.ts";
import { formatIpv4, formatMac } from "../../wire/address.ts";
import { Lab, type LabHost } from "../lab.ts";
import { hostEndpoint } from "../topology.ts";
import { IoThread } from "./iothread.ts";
import { type Model, scaledDown } from "./models.ts";

/** One training job of P3's paper (section 5): workers and servers on the same machines. Times in milliseconds. */
export interface P3Training {
  readonly model: Model;
  readonly discipline: Discipline;
  readonly machines: number;
  /** Bits per second of each machine's link. */
  readonly rate: number;
  /** Computing of one iteration: a third of it forward, the rest backward, over the layers by their work. */
  readonly compute: number;
  /** Sizes and rate are divided by this, so that fewer packets are needed for the same times. */
  readonly scale: number;
  readonly costs: HostCosts;
  readonly iterations: number;
  readonly seed: number;
}

/** What a machine's own work takes: times in milliseconds, for each message or value of the model as it is, not scaled down. */
export interface HostCosts extends P3Costs {
  /** Between graphics and main memory, each way. */
  readonly perValueOnBus: number;
  /** From a message to where it belongs. */
  readonly perValueCopied: number;
  /** From a socket to memory. */
  readonly perValueReceived: number;
  /** The same for messages of more than `longMessage` values, whose memory is new each time. */
  readonly perValueOfLongMessage: number;
  readonly longMessage: number;
}

export interface P3Outcome {
  /** Mean time of an iteration, without the first. */
  readonly iteration: number;
  /** Of all parameters at the end, a checksum of their bits. */
  readonly fingerprint: number;
}

type WorkerHost = LabHost<Of<P3WorkerEvent | P3ServerEvent>>;

/** Bytes of a packet, before scaling: a slice of 50,000 parameters, so that few packets are needed. */
const SEGMENT = 210_000;
/** Packets under way to one peer, at least: enough to fill the network. */
const P3_WINDOW = 4;
/** Slices: one under way and one behind it, as in the authors' sockets (ps-lite, ZMQ_SNDHWM = 1). */
const P3_SLICES = 2;
const UNLIMITED = 1 << 30;

/** Share by which the time of a layer differs from one machine and iteration to the next, at most. */
const JITTER = 0.05;

/** Trains through the lab, with the workers and servers that are deployed. */
export function trainP3(training: P3Training): P3Outcome {
  const { machines, scale, discipline, seed, costs } = training;
  const model = scaledDown(training.model, scale);
  const layers = model.arrays.map((a) => a.size);
  const endpoints = Array.from({ length: machines }, (_, i) => {
    const { mac, ip } = hostEndpoint(i);
    return { mac: formatMac(mac), ip: formatIpv4(ip) };
  });
  const job: P3Job = {
    ...{ job: 1, workers: endpoints, servers: endpoints, layers },
    discipline: { ...discipline, limit: Math.max(1, Math.round(discipline.limit / scale)) },
  };
  const window = Math.max(P3_WINDOW, P3_SLICES * Math.ceil((discipline.limit * 4) / SEGMENT));
  const options = {
    ...{ heartbeat: Number.POSITIVE_INFINITY, segment: Math.ceil(SEGMENT / scale), checksum: false },
    // Nothing is lost here, so nobody has to wait for a time-out.
    ...{ minTimeout: 1e6, maxTimeout: 1e6 },
    // P3 sends with blocking calls, so that a slice waits for one other at most; without it all that is ready goes to the network.
    control: () => new FixedWindow(discipline.order === "priority" ? window : UNLIMITED),
    costs: {
      ...{ perMessage: costs.perMessage, perValue: costs.perValue * scale },
      ...{ perUpdate: costs.perUpdate * scale, perAnswer: costs.perAnswer * scale },
    },
  };
  const receiving = (bytes: number, message: number): number => {
    const isLong = message * scale > costs.longMessage * 4;
    return ((bytes * scale) / 4) * (isLong ? costs.perValueOfLongMessage : costs.perValueReceived);
  };
  const lab = new Lab(seededRandom(seed));
  lab.addNetwork("net");
  const initial = layers.map((n) => new Float32Array(n));
  const servers = endpoints.map((_, s) => new P3Server(job, s, initial, meanDescent(0.1), options));
  const computers = endpoints.map((endpoint, w) => {
    const worker = new P3Worker(job, w, options);
    const both: readonly HostMachine<P3WorkerEvent | P3ServerEvent, P3WorkerAction | P3ServerAction>[] = [
      new IoThread(worker, receiving),
      ...servers.slice(w, w + 1).map((server) => new IoThread(server, receiving)),
    ];
    const computer = new Computer(lab, training, layers, w, () => host);
    const host: WorkerHost = lab.addHost(
      `h${w}`,
      new SharedHost(hostEndpoint(w).ip, both),
      ({ what }) => {
        if (what.type === "error") throw what.error;
        if (what.type === "updated" && "layer" in what) computer.updated(what.layer);
      },
      endpoint.ip,
    );
    lab.connect(`h${w}`, "net", w, { rate: training.rate / scale, delay: 0.02 });
    return computer;
  });
  for (const computer of computers) computer.start();
  const isDone = () => computers.every((c) => c.finished.length === training.iterations);
  if (!lab.run(isDone, 1e7)) throw new Error("the job did not come to its end");
  const [first = 0, last = 0] = [0, training.iterations - 1].map((i) =>
    Math.max(...computers.map((c) => c.finished[i] ?? 0)),
  );
  return {
    iteration: (last - first) / (training.iterations - 1),
    fingerprint: fingerprintOf(
      // In the order of the model, however it was cut.
      cutModel(layers, machines, job.discipline ?? discipline).flatMap(
        ({ server, number }) => servers[server]?.parametersOf(number) ?? [],
      ),
    ),
  };
}

function fingerprintOf(parts: readonly Float32Array[]): number {
  let hash = 0;
  for (const values of parts)
    for (const bits of new Uint32Array(values.buffer, values.byteOffset, values.length))
      hash = (Math.imul(hash ^ bits, 0x85ebca6b) + 0x9e3779b9) | 0;
  return hash >>> 0;
}

/** What one machine computes: forward layer by layer as parameters come, then backward, giving each layer's gradient. */
class Computer {
  /** When each iteration's parameters were all there. */
  readonly finished: number[] = [];
  readonly #lab: Lab;
  readonly #host: () => WorkerHost;
  readonly #times: readonly number[];
  readonly #gradients: readonly Float32Array[];
  readonly #random: () => number;
  readonly #iterations: number;
  /** Milliseconds that the bus takes for each layer, and what is copied when the last of a layer has come. */
  readonly #onBus: readonly number[];
  readonly #copied: readonly number[];
  #toMemoryFreeAt = 0;
  #toGraphicsFreeAt = 0;
  /** Updates of each layer so far. */
  readonly #versions: number[];
  #iteration = 0;
  /** The layer that is waited for in the forward pass; none while computing. */
  #waitsFor: number | undefined;

  constructor(
    lab: Lab,
    training: P3Training,
    layers: readonly number[],
    worker: number,
    host: () => WorkerHost,
  ) {
    this.#lab = lab;
    this.#host = host;
    this.#iterations = training.iterations;
    const work = training.model.arrays.reduce((sum, a) => sum + a.work, 0);
    this.#times = training.model.arrays.map((a) => (training.compute * a.work) / work);
    const { costs, scale, discipline } = training;
    this.#onBus = layers.map((n) => n * scale * costs.perValueOnBus);
    this.#copied = layers.map((n) => {
      // Slices are copied as they come; a pulled layer when all of it is there.
      const last = discipline.reply === "pull" ? n * scale : Math.min(n * scale, discipline.limit);
      return last * costs.perValueCopied;
    });
    this.#random = seededRandom(training.seed * 1009 + worker);
    this.#versions = layers.map(() => 0);
    // The values are the same in every discipline, whatever the seed: so are the parameters at the end.
    const random = seededRandom(worker + 1);
    this.#gradients = layers.map((n) => Float32Array.from({ length: n }, () => random() - 0.5));
  }

  start(): void {
    this.#forward(0);
  }

  /** The network has brought the layer: it goes to the graphics memory. */
  updated(layer: number): void {
    const start = Math.max(this.#lab.now + (this.#copied[layer] ?? 0), this.#toGraphicsFreeAt);
    this.#toGraphicsFreeAt = start + (this.#onBus[layer] ?? 0);
    this.#lab.at(this.#toGraphicsFreeAt, () => this.#isThere(layer));
  }

  #isThere(layer: number): void {
    this.#versions[layer] = (this.#versions[layer] ?? 0) + 1;
    const done = Math.min(...this.#versions);
    if (done > this.finished.length) this.finished.push(this.#lab.now);
    if (this.#waitsFor === layer) this.#forward(layer);
  }

  #forward(layer: number): void {
    if (layer === this.#times.length) {
      this.#backward(layer - 1);
      return;
    }
    if ((this.#versions[layer] ?? 0) < this.#iteration) {
      this.#waitsFor = layer;
      return;
    }
    this.#waitsFor = undefined;
    this.#after((this.#times[layer] ?? 0) / 3, () => this.#forward(layer + 1));
  }

  #backward(layer: number): void {
    if (layer < 0) {
      this.#iteration++;
      if (this.#iteration < this.#iterations) this.#forward(0);
      return;
    }
    this.#after(((this.#times[layer] ?? 0) * 2) / 3, () => {
      const values = this.#gradients[layer] ?? new Float32Array(0);
      this.#toMemoryFreeAt = Math.max(this.#lab.now, this.#toMemoryFreeAt) + (this.#onBus[layer] ?? 0);
      this.#lab.at(this.#toMemoryFreeAt, () =>
        this.#host().dispatch({ type: "of", machine: 0, what: { type: "gradient", layer, values } }),
      );
      this.#backward(layer - 1);
    });
  }

  #after(time: number, what: () => void): void {
    const factor = 1 + (this.#random() * 2 - 1) * JITTER;
    this.#lab.at(this.#lab.now + time * factor, what);
  }
}
