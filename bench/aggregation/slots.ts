/**
 * Aggregation packets per second in one process: the generated Libra program (32 lanes, int32) on the embedded switch, beside the
 * golden model, which does the same work on decoded messages. Four workers, every row complete, acknowledgements and RESULTs included.
 * Run: npx tsx bench/aggregation/slots.ts
 */
import libra from "../../examples/libra/program.ts";
import { bmv2Json } from "../../src/backends/v1model/json/document.ts";
import { lower } from "../../src/backends/v1model/lower.ts";
import { admissionsOf, GoldenAggregator } from "../../src/numeric/index.ts";
import { Switch } from "../../src/switch/index.ts";
import {
  AGGREGATION_PORT,
  type AggregationMessage,
  aggregationFrame,
  Kind,
  ModeId,
  parseIpv4,
} from "../../src/wire/index.ts";

const [LANES, ROWS, WORKERS, ROUNDS] = [32, 64, 4, 200];
const ADDRESS = parseIpv4("10.0.1.1");

const sw = new Switch(bmv2Json(lower(libra.ir)), { cpuPort: 510 });
sw.table("forwarding.route").insert([{ kind: "lpm", value: BigInt(ADDRESS), prefixLength: 32 }], {
  kind: "action",
  action: "forwarding.to_local",
  parameters: [],
});
const golden = new GoldenAggregator({ lanes: LANES, slots: 512, chunk: 16, mode: ModeId.int32 });
const job = { job: 1, generation: 1, workers: [0, 1, 2, 3], slotBase: 0, rows: ROWS, scale: 0 };
for (const a of admissionsOf(job, 16)) {
  golden.admit(a);
  sw.table("admission.member").insert(
    [a.job, a.member, a.chunk].map((v) => ({ kind: "exact", value: BigInt(v) })),
    {
      kind: "action",
      action: "admission.admit",
      // bit, mask, generation, scale, RESULT's port, MAC and address of the server, session
      parameters: [a.bit, a.full, a.generation, a.scale, 5, 1, 2, 1].map(BigInt),
    },
  );
}
sw.replication.insertSession(1, [{ port: 0, instance: 1 }]);

const messages: AggregationMessage[] = [];
for (let round = 1; round <= ROUNDS; round++) {
  for (let slot = 0; slot < ROWS; slot++) {
    for (let member = 0; member < WORKERS; member++) {
      const header = {
        version: 1,
        kind: Kind.CONTRIBUTION,
        flags: 0,
        job: 1,
        generation: 1,
        member,
        scale: 0,
        slot,
        lanes: LANES,
        mode: ModeId.int32,
        round,
      };
      messages.push({ header, lanes: new Int32Array(LANES).fill(member + round) });
    }
  }
}
const to = {
  srcMac: 1,
  dstMac: 2,
  srcIp: parseIpv4("10.0.0.1"),
  dstIp: ADDRESS,
  srcPort: AGGREGATION_PORT,
  dstPort: AGGREGATION_PORT,
};
const frames = messages.map((m) => aggregationFrame(to, m));

function rate(name: string, work: () => number): number {
  const start = performance.now();
  const answers = work();
  const perSecond = messages.length / ((performance.now() - start) / 1000);
  // Each contribution is acknowledged, and each row of each round gives one RESULT.
  if (answers !== messages.length + ROWS * ROUNDS) throw new Error(`${name}: ${answers} answers`);
  console.log(
    `${name.padEnd(32)} ${Math.round(perSecond).toLocaleString("en").padStart(10)} contributions/s`,
  );
  return perSecond;
}

let sent = 0;
const ours = rate("generated program, embedded", () => {
  for (const frame of frames)
    sw.receive(0, frame, 0, (action) => {
      if (action.kind === "transmit") sent++;
    });
  return sent;
});
const model = rate("golden model, decoded messages", () =>
  messages.reduce((n, m) => n + golden.handle(m).answers.length, 0),
);
console.log(
  `ratio                            ${(ours / model).toFixed(2)} (frames through the switch for one call of the model)`,
);
