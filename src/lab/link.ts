import { deliveries, type LinkFaults } from "../host/faults.ts";
import type { Random } from "../host/random.ts";

/** A cable. Both directions are alike and independent; times are in milliseconds. */
export interface LinkOptions extends LinkFaults {
  /** Bits per second. Frames take their length over it, one after the other; without it they take no time. */
  readonly rate?: number;
  /** Probability that a copy arrives with a wrong bit. */
  readonly corrupt?: number;
  /** What becomes of such a copy. Ethernet's own checksum finds it (the default), or it passes as memory errors in a switch do. */
  readonly damaged?: "refused" | "delivered";
}

/** What became of the frames that were sent in one direction. */
export interface LinkCounters {
  frames: number;
  bytes: number;
  lost: number;
  damaged: number;
  /** Sent while the cable was cut. */
  cut: number;
}

/** What a wire needs of the world around it. */
export interface WireHost {
  readonly now: number;
  readonly random: Random;
  at(time: number, what: () => void): void;
}

/** One direction of a cable. Frames wait for the wire at the sender, without a limit. */
export class Wire {
  readonly name: string;
  readonly counters: LinkCounters = { frames: 0, bytes: 0, lost: 0, damaged: 0, cut: 0 };
  isCut = false;
  readonly #host: WireHost;
  #options: LinkOptions;
  readonly #arrive: (frame: Uint8Array) => void;
  #isPerfect: boolean;
  readonly #perByte: number;
  #freeAt = 0;
  #cuts = 0;

  constructor(name: string, host: WireHost, options: LinkOptions, arrive: (frame: Uint8Array) => void) {
    const { rate, loss = 0, duplicate = 0, reorder = 0, corrupt = 0 } = options;
    if (rate !== undefined && !(rate > 0)) throw new RangeError(`${name}: a rate must be above 0`);
    this.name = name;
    this.#host = host;
    this.#options = options;
    this.#arrive = arrive;
    this.#isPerfect = loss + duplicate + reorder + corrupt === 0;
    this.#perByte = rate === undefined ? 0 : 8000 / rate;
  }

  /** Sends a frame, which becomes the wire's own. */
  send(frame: Uint8Array): void {
    const { now } = this.#host;
    this.counters.frames++;
    this.counters.bytes += frame.length;
    const sent = Math.max(now, this.#freeAt) + frame.length * this.#perByte;
    this.#freeAt = sent;
    if (this.isCut) {
      this.counters.cut++;
      return;
    }
    const { delay = 0, corrupt = 0 } = this.#options;
    if (this.#isPerfect) {
      this.#deliver(sent + delay, frame);
      return;
    }
    const times = deliveries(this.#host.random, this.#options);
    if (times.length === 0) this.counters.lost++;
    for (const [i, time] of times.entries()) {
      const copy = i === 0 ? frame : frame.slice();
      const isDamaged = this.#host.random() < corrupt && this.#damage(copy);
      if (!isDamaged || this.#options.damaged === "delivered") this.#deliver(sent + time, copy);
    }
  }

  /** From now on this share of frames is lost. */
  setLoss(loss: number): void {
    this.#options = { ...this.#options, loss };
    const { duplicate = 0, reorder = 0, corrupt = 0 } = this.#options;
    this.#isPerfect = loss + duplicate + reorder + corrupt === 0;
  }

  /** What is on the wire now is lost, and what is sent from now on. */
  cut(): void {
    this.isCut = true;
    this.#cuts++;
  }

  mend(): void {
    this.isCut = false;
  }

  #deliver(at: number, frame: Uint8Array): void {
    const cuts = this.#cuts;
    this.#host.at(at, () => {
      if (cuts === this.#cuts) this.#arrive(frame);
      else this.counters.cut++;
    });
  }

  #damage(frame: Uint8Array): true {
    this.counters.damaged++;
    const at = Math.floor(this.#host.random() * frame.length);
    frame[at] = (frame[at] ?? 0) ^ (1 << Math.floor(this.#host.random() * 8));
    return true;
  }
}
