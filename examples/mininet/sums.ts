/**
 * A job whose sums everybody can check: each worker adds the same whole number to all keys, another one in each round, so that the server
 * knows what must come out. For networks like those of bmv2/network.py:
 *
 *     gradplane server sums.ts --controller 10.0.0.9:9561 --host h4 --workers h1,h2,h3 --cable leaf2=127.0.0.1:50001 ...
 *     gradplane worker sums.ts --controller 10.0.0.9:9561 --host h1 --cable leaf1=127.0.0.1:50001 ...
 */
import { training } from "gradplane/cli/run";
import type { ParameterStore } from "gradplane/host/libra";

const LANES = 16;
const ROWS = 8;
const ROUNDS = Number(process.env.ROUNDS ?? 30);
/** Hot keys, on the switch, and a few that go by the server as ever. */
const HOT = Array.from({ length: ROWS * LANES }, (_, key) => key);
const KEYS = Uint32Array.from([...HOT, 1000, 1001, 1002]);

/** What a worker adds in a round. */
const share = (member: number, round: number): number => (round % 13) + 1 + 20 * member;

class CheckedSums implements ParameterStore {
  right = 0;
  wrong = 0;

  update(round: number, keys: Uint32Array, sums: Float32Array, workers: number): void {
    const members = Array.from({ length: workers }, (_, member) => member);
    const wanted = members.reduce((sum, member) => sum + share(member, round), 0);
    for (let i = 0; i < keys.length; i++)
      if (sums[i] === wanted) this.right++;
      else this.wrong++;
  }

  read(keys: Uint32Array): Float32Array {
    return new Float32Array(keys.length);
  }
}

export default training({
  name: "sums",
  spec: () => ({
    lanes: LANES,
    rows: Array.from({ length: ROWS }, (_, row) => HOT.slice(row * LANES, (row + 1) * LANES)),
    mode: { name: "int32", workers: 16, fractionBits: 10 },
  }),
  store: () => new CheckedSums(),
  work: async ({ kv, member, firstRound }) => {
    for (let round = firstRound; round <= ROUNDS; round++)
      await kv.wait(kv.push(KEYS, new Float32Array(KEYS.length).fill(share(member.joined.member, round))));
  },
  summary: (store) => (store instanceof CheckedSums ? { right: store.right, wrong: store.wrong } : {}),
});
