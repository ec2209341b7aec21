import { type JobLayout, KVServer, KVWorker, type WorkerDriver } from "gradplane/host/libra";
import type { Sample } from "./brown.ts";
import { gradient } from "./logistic.ts";

export interface TrainingPlan {
  readonly dimensions: number;
  readonly rounds: number;
  /** Samples that one worker sees in a round. */
  readonly batch: number;
  readonly workers: number;
  readonly rate: number;
  /** Each worker's own samples. */
  readonly shards: readonly (readonly Sample[])[];
}

export type Gradients = (round: number, member: number, keys: Uint32Array, values: Float32Array) => void;

/**
 * One worker's training: pull the weights that its batch needs, push the gradient, wait until the server has everyone's.
 * `watch` sees each gradient before it is sent. Rounds count from 1; a worker that starts again goes on at `firstRound`.
 */
export async function train(
  plan: TrainingPlan,
  member: number,
  kv: KVWorker,
  watch: Gradients,
  firstRound = 1,
): Promise<void> {
  const weights = new Float32Array(plan.dimensions);
  const shard = plan.shards[member] ?? [];
  for (let round = firstRound; round <= plan.rounds; round++) {
    const batch = Array.from(
      { length: plan.batch },
      (_, i) => shard[((round - 1) * plan.batch + i) % shard.length],
    ).filter((s) => s !== undefined);
    const needed = Uint32Array.from(new Set(batch.flatMap((s) => [...s.keys])));
    const values = await kv.wait(kv.pull(needed));
    needed.forEach((key, i) => {
      weights[key] = values[i] ?? 0;
    });
    const g = gradient(weights, batch, plan.batch * plan.workers);
    watch(round, member, g.keys, g.values);
    await kv.wait(kv.push(g.keys, g.values));
  }
}

/** The server's values under plain gradient descent: weight -= rate * sum, in float32. */
export function store(plan: TrainingPlan, onRound: (round: number) => void): KVServer {
  return new KVServer((values) => (round, keys, sums) => {
    keys.forEach((key, i) => {
      values.set(key, Math.fround((values.get(key) ?? 0) - plan.rate * (sums[i] ?? 0)));
    });
    onRound(round);
  });
}

/** All weights of a server. */
export function weightsOf(kv: KVServer, dimensions: number): Float32Array {
  const weights = new Float32Array(dimensions);
  for (const [key, value] of kv.values) weights[key] = value;
  return weights;
}

export { type JobLayout, KVWorker, type WorkerDriver };
