/**
 * Random and mutated packets through the embedded switch, over the examples and random programs with random entries: no exception, no loop
 * without end, memory flat. Run: npx tsx bench/fuzz/packets.ts [--count 10000000 | --seconds 60] [--seed 1]; 20 seconds unless given
 */
import { parseArgs } from "node:util";
import { describeMemory, memoryNow } from "../../test/switch/fuzz/memory.ts";
import { PacketFuzzer } from "../../test/switch/fuzz/packets.ts";
import { fuzzedPrograms } from "../../test/switch/fuzz/programs.ts";

const { values } = parseArgs({
  options: { count: { type: "string" }, seconds: { type: "string" }, seed: { type: "string", default: "1" } },
});
const most = Number(values.count ?? Number.POSITIVE_INFINITY);
const seconds = Number(values.seconds ?? (values.count === undefined ? 20 : Number.POSITIVE_INFINITY));
const seed = Number(values.seed);
/** Packets of a program before the next has its turn. */
const TURN = 10_000;

const fuzzers = fuzzedPrograms(6).map((p, i) => ({
  name: p.name,
  fuzzer: new PacketFuzzer(p, seed * 1009 + i),
  packets: 0,
  sent: 0,
  dropped: 0,
}));
// What is compiled, and buffers that grow to what the longest queue needs, belong to the start.
for (const { fuzzer } of fuzzers) fuzzer.run(2000);
const start = memoryNow();
console.log(`${fuzzers.length} programs, seed ${seed}; at the start ${describeMemory(start)}`);
const began = Date.now();
const over = (): boolean => total() >= most || (Date.now() - began) / 1000 >= seconds;
const total = (): number => fuzzers.reduce((sum, f) => sum + f.packets, 0);
let longest = 0;
let said = began;
while (!over())
  for (const f of fuzzers) {
    if (over()) break;
    try {
      const got = f.fuzzer.run(Math.min(TURN, most - total()));
      f.packets += got.packets;
      f.sent += got.sent;
      f.dropped += got.dropped;
      longest = Math.max(longest, got.longest);
    } catch (error) {
      console.error(`${f.name}, seed ${seed}, after ${f.packets} packets`);
      throw error;
    }
    if (Date.now() - said > 30_000) {
      said = Date.now();
      console.log(`  ${total()} packets; ${describeMemory(memoryNow())}`);
    }
  }
const end = memoryNow();
for (const { name, packets, sent, dropped } of fuzzers)
  console.log(`  ${name.padEnd(16)} ${packets} packets, ${sent} sent, ${dropped} dropped`);
console.log(
  `${total()} packets in ${((Date.now() - began) / 1000).toFixed(0)} s, the longest ${longest.toFixed(1)} ms; at the end ${describeMemory(end)}`,
);
console.log(`heap per million packets: ${((end.heap - start.heap) / total()).toFixed(3)} MB`);
