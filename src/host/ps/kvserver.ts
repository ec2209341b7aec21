import type { ParameterStore } from "../libra/server.ts";

/**
 * What an application does with a finished round: `sums` are the summed gradients of `keys`, over `workers` workers
 * (divide by it for the mean). Rounds come in order, each once.
 */
export type UpdateHandler = (round: number, keys: Uint32Array, sums: Float32Array, workers: number) => void;

/**
 * The server's side of the parameter-server interface, in the manner of ps-lite: values by key, changed by an
 * update handler. A key that was never set reads as 0.
 */
export class KVServer implements ParameterStore {
  readonly values = new Map<number, number>();
  readonly #handler: UpdateHandler;

  /** @param handler changes `values`, e.g. `sgd(server.values, rate)`. */
  constructor(handler: (values: Map<number, number>) => UpdateHandler) {
    this.#handler = handler(this.values);
  }

  update(round: number, keys: Uint32Array, sums: Float32Array, workers: number): void {
    this.#handler(round, keys, sums, workers);
  }

  read(keys: Uint32Array): Float32Array {
    return Float32Array.from(keys, (key) => this.values.get(key) ?? 0);
  }
}

/** Plain gradient descent on the mean gradient, in float32: value -= rate * sum / workers. */
export function sgd(rate: number): (values: Map<number, number>) => UpdateHandler {
  return (values) => (_round, keys, sums, workers) => {
    keys.forEach((key, i) => {
      values.set(key, Math.fround((values.get(key) ?? 0) - (rate * (sums[i] ?? 0)) / workers));
    });
  };
}
