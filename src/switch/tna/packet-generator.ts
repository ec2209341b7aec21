import { GENERATOR_PORT } from "./architecture.ts";

/** What one application of the packet generator sends. */
export interface GeneratorApp {
  /** Once after `period`, or again and again. */
  readonly timer: "oneShot" | "periodic";
  /** Microseconds to the first batch, and between batches. */
  readonly period: number;
  /** Batches that each expiry sends, and packets in each; 1 where absent. */
  readonly batches?: number;
  readonly packetsPerBatch?: number;
  /** What comes behind the generator's header of 6 bytes. */
  readonly packet: Uint8Array;
  /** Pipes in which it runs; the first one where absent. */
  readonly pipes?: readonly number[];
}

interface Running {
  readonly app: GeneratorApp;
  readonly pipe: number;
  readonly id: number;
  due: number;
}

const MOST_APPS = 8;

/**
 * Tofino's packet generator by its timers: up to eight applications a pipe, whose packets come in at port 68 of their pipe with a header
 * of 6 bytes in front (three bits of padding, pipe, application, a byte of padding, batch, packet). A state machine: it has no clock.
 */
export class PacketGenerator {
  readonly #running: Running[] = [];
  readonly #waiting: { readonly port: number; readonly data: Uint8Array }[] = [];

  /** Starts an application at `now`, in place of what runs under its number. */
  start(id: number, app: GeneratorApp, now: number): void {
    if (!Number.isInteger(id) || id < 0 || id >= MOST_APPS)
      throw new RangeError(
        `there is no application ${id} of the packet generator; they are 0 to ${MOST_APPS - 1}`,
      );
    if (!(app.period > 0)) throw new RangeError("a period must be above 0");
    for (const [what, n] of [
      ["batches", app.batches ?? 1],
      ["packetsPerBatch", app.packetsPerBatch ?? 1],
    ] as const)
      if (!Number.isInteger(n) || n < 1 || n > 0x10000)
        throw new RangeError(`${what} must be from 1 to 65536`);
    this.stop(id);
    for (const pipe of app.pipes ?? [0]) this.#running.push({ app, pipe, id, due: now + app.period });
  }

  /** The applications that run, by number; those that were to run once and have are not among them. */
  apps(): readonly { readonly id: number; readonly app: GeneratorApp }[] {
    return [...new Map(this.#running.map(({ id, app }) => [id, app]))].map(([id, app]) => ({ id, app }));
  }

  stop(id: number): void {
    for (let i = this.#running.length - 1; i >= 0; i--)
      if (this.#running[i]?.id === id) this.#running.splice(i, 1);
  }

  /** The next packet that is due at `now`; undefined when there is none. */
  next(now: number): { readonly port: number; readonly data: Uint8Array } | undefined {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) return waiting;
    const running = this.#running.find((r) => r.due <= now);
    if (running === undefined) return undefined;
    const { app, pipe, id } = running;
    if (app.timer === "periodic") running.due += app.period;
    else this.#running.splice(this.#running.indexOf(running), 1);
    for (let batch = 0; batch < (app.batches ?? 1); batch++)
      for (let packet = 0; packet < (app.packetsPerBatch ?? 1); packet++)
        this.#waiting.push({
          port: (pipe << 7) | GENERATOR_PORT,
          data: withHeader(app.packet, pipe, id, batch, packet),
        });
    return this.#waiting.shift();
  }

  nextWakeup(): number | undefined {
    if (this.#waiting.length > 0) return 0;
    return this.#running.length === 0 ? undefined : Math.min(...this.#running.map((r) => r.due));
  }
}

function withHeader(packet: Uint8Array, pipe: number, app: number, batch: number, id: number): Uint8Array {
  const out = new Uint8Array(6 + packet.length);
  out[0] = ((pipe & 3) << 3) | (app & 7);
  out[2] = batch >> 8;
  out[3] = batch & 0xff;
  out[4] = id >> 8;
  out[5] = id & 0xff;
  out.set(packet, 6);
  return out;
}
