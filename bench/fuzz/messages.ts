/**
 * Random and mutated P4Runtime messages over gRPC to the embedded switch, over the examples and random programs: each is answered, no fault of the
 * switch, memory flat. Run: npx tsx bench/fuzz/messages.ts [--count 100000] [--seed 1]
 */
import { parseArgs } from "node:util";
import { P4RuntimeServer } from "../../src/switch/p4runtime/server.ts";
import { EmbeddedSwitchTarget, ioOf } from "../../src/switch/p4runtime/switch-target.ts";
import { SwitchRunner } from "../../src/switch/ports/switch-runner.ts";
import { Switch } from "../../src/switch/switch.ts";
import { describeMemory, memoryNow } from "../../test/switch/fuzz/memory.ts";
import { MessageFuzzer } from "../../test/switch/fuzz/messages.ts";
import { fuzzedPrograms } from "../../test/switch/fuzz/programs.ts";

const { values } = parseArgs({
  options: { count: { type: "string", default: "100000" }, seed: { type: "string", default: "1" } },
});
const count = Number(values.count);
const seed = Number(values.seed);
/** Messages between two looks at the memory. */
const TURN = 10_000;

const cpuPort = 510;
const sw = new Switch(undefined, { cpuPort, ports: [0, 1, 2, 3, 4, 5, 6, 7, cpuPort] });
const runner = new SwitchRunner(sw);
const target = new EmbeddedSwitchTarget(sw, ioOf(runner));
const server = await P4RuntimeServer.start({ target, address: "127.0.0.1:0" });
const fuzzer = new MessageFuzzer(server.address, fuzzedPrograms(3), seed);
const began = Date.now();
let said = 0;
for (let sent = 0; sent < count; ) {
  const { messages, faults } = await fuzzer.run(Math.min(TURN, count - sent));
  sent = messages;
  for (const fault of faults.slice(said)) console.log(`  FAULT ${fault}`);
  said = faults.length;
  console.log(`  ${sent} messages, ${faults.length} faults; ${describeMemory(memoryNow())}`);
}
const { messages, outcomes, faults } = await fuzzer.run(0);
for (const [outcome, times] of [...outcomes].sort()) console.log(`  ${outcome.padEnd(60)} ${times}`);
console.log(
  `${messages} messages in ${((Date.now() - began) / 1000).toFixed(0)} s, seed ${seed}, ${faults.length} faults`,
);
await server.close();
await runner.close();
if (faults.length > 0) process.exitCode = 1;
