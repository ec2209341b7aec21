/**
 * Runs v1model programs on the embedded switch and on simple_switch_grpc, with the same JSON of p4c, random entries and random packets,
 * and tells where they differ:
 *
 *   P4C=p4c-bm2-ss SIMPLE_SWITCH_GRPC=simple_switch_grpc \
 *     npx tsx test/switch/differential/run.ts --packets 2000 --seed 1 p4c/testdata/p4_16_samples/*-bmv2.p4
 *
 * Packets of an STF script beside a program are what random ones are made of. Ends with 1 when there was a difference.
 */
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { findTools } from "../../backends/tools.ts";
import { compare } from "./compare.ts";

const { values, positionals } = parseArgs({
  options: { packets: { type: "string", default: "1000" }, seed: { type: "string", default: "1" } },
  allowPositionals: true,
});
const { p4c, bmv2 } = findTools({
  p4c: ["P4C", "p4c-bm2-ss"],
  bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"],
});
if (p4c === undefined || bmv2 === undefined || positionals.length === 0) {
  console.error("wanted: both tools, and programs (see the head of this file)");
  process.exit(2);
}
const tally = { same: 0, "left out": 0, different: 0, packets: 0, sent: 0 };
for (const file of positionals) {
  const result = await compare(file, {
    p4c,
    bmv2,
    packets: Number(values.packets),
    seed: Number(values.seed),
  });
  tally[result.kind]++;
  const name = basename(file);
  if (result.kind === "left out") console.log(`${name}: left out: ${result.reason}`);
  else tally.packets += result.packets;
  if (result.kind === "same") {
    tally.sent += result.sent;
    console.log(`${name}: same, ${result.packets} packets, ${result.sent} sent, ${result.entries} entries`);
  }
  if (result.kind === "different")
    console.log(`${name}: DIFFERENT, ${result.count} of ${result.packets} packets; ${result.first}`);
}
console.log(
  `${tally.same} programs the same, ${tally.different} different, ${tally["left out"]} left out; ${tally.packets} packets in, ${tally.sent} out where the same`,
);
process.exit(tally.different === 0 ? 0 : 1);
