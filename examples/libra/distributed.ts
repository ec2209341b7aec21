/**
 * The training of `scenario.ts` with every host a process of its own, on this machine or on others:
 *
 *     gradplane controller --topology network.yaml --jobs 10.0.0.9:9561
 *     gradplane server distributed.ts --controller 10.0.0.9:9561 --host ps --workers w0,w1,w2,w3 --cable s1=...
 *     gradplane worker distributed.ts --controller 10.0.0.9:9561 --host w0 --cable s1=...
 */
import { training } from "gradplane/cli/run";
import {
  countKeys,
  hottestKeys,
  KVServer,
  placeByAffinity,
  sampleExamples,
  seededRandom,
} from "gradplane/host/libra";
import { loadBrown } from "./brown.ts";
import { fingerprint } from "./exactness.ts";
import { modeFor } from "./job.ts";
import { gradient } from "./logistic.ts";
import { store, type TrainingPlan, train, weightsOf } from "./training.ts";

const DIMENSIONS = 2 ** 16;
const LANES = 32;
const ROWS = 16;
const SHARDS = 4;
const ROUNDS = Number(process.env.ROUNDS ?? 60);

const samples = loadBrown(DIMENSIONS);
const plan: TrainingPlan = {
  dimensions: DIMENSIONS,
  rounds: ROUNDS,
  batch: 32,
  workers: SHARDS,
  rate: 100,
  shards: Array.from({ length: SHARDS }, (_, w) => samples.filter((_, i) => i % SHARDS === w)),
};

export default training({
  name: "brown",
  spec() {
    const sample = sampleExamples(
      samples.map((s) => s.keys),
      0.05,
      seededRandom(2),
    );
    const hot = hottestKeys(countKeys(sample), ROWS * LANES);
    const first = gradient(new Float32Array(DIMENSIONS), samples.slice(0, plan.batch), plan.batch * SHARDS);
    return {
      lanes: LANES,
      rows: placeByAffinity(hot, sample, { lanes: LANES, rows: ROWS }),
      mode: modeFor("int32", Math.max(...first.values.map(Math.abs)), []),
    };
  },
  store: () => store(plan, () => {}),
  work: ({ kv, member, firstRound }) => train(plan, member.joined.member % SHARDS, kv, () => {}, firstRound),
  summary: (kept) => (kept instanceof KVServer ? { model: fingerprint(weightsOf(kept, DIMENSIONS)) } : {}),
});
