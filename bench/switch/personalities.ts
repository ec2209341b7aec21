/**
 * Packets per second of one program in its two forms, in one process: its v1model form as simple_switch would run it, and its Tofino form
 * on the tna personality, which parses and writes each packet twice. Forwarding by the P3 example (routes, TTL, checksum, traffic class),
 * and contributions of the Libra example (32 lanes, acknowledgements and RESULTs included). Run: npx tsx bench/switch/personalities.ts
 */
import libra from "../../examples/libra/program.ts";
import p3 from "../../examples/p3/program.ts";
import { tnaDocument } from "../../src/backends/tna/document.ts";
import { lowerTna } from "../../src/backends/tna/lower.ts";
import { bmv2Json } from "../../src/backends/v1model/json/document.ts";
import { lower } from "../../src/backends/v1model/lower.ts";
import type { Program } from "../../src/ir/index.ts";
import { admissionsOf } from "../../src/numeric/index.ts";
import { Switch } from "../../src/switch/index.ts";
import {
  AGGREGATION_PORT,
  aggregationFrame,
  Kind,
  ModeId,
  newFrame,
  parseIpv4,
} from "../../src/wire/index.ts";

type Fill = (sw: Switch) => void;

/** The best of several parts: the machine's other work only ever slows one down. */
function rate(sw: Switch, parts: readonly (readonly Uint8Array[])[], answers: number): number {
  let best = 0;
  for (const frames of parts) {
    let sent = 0;
    const sink = ({ kind }: { readonly kind: string }): void => {
      if (kind === "transmit") sent++;
    };
    const start = performance.now();
    for (const frame of frames) sw.receive(0, frame, 0, sink);
    best = Math.max(best, frames.length / ((performance.now() - start) / 1000));
    if (sent !== answers) throw new Error(`${sent} packets left, not ${answers}`);
  }
  return best;
}

function compare(
  name: string,
  ir: Program,
  fill: Fill,
  parts: readonly (readonly Uint8Array[])[],
  answers: number,
): void {
  const forms = {
    v1model: new Switch(bmv2Json(lower(ir))),
    tna: new Switch(tnaDocument(lowerTna(ir)), { personality: "tna" }),
  };
  const rates = Object.entries(forms).map(([form, sw]) => {
    fill(sw);
    const perSecond = rate(sw, parts, answers);
    const thousands = Math.round(perSecond / 1000).toLocaleString("en");
    console.log(`${name.padEnd(28)} ${form.padEnd(8)} ${thousands.padStart(7)} k packets/s`);
    return perSecond;
  });
  console.log(
    `${name.padEnd(28)} ${"ratio".padEnd(8)} ${((rates[1] ?? 0) / (rates[0] ?? 1)).toFixed(2).padStart(7)}`,
  );
}

const to = (dstIp: string, dstPort: number) => ({
  srcMac: 1,
  dstMac: 2,
  srcIp: parseIpv4("10.0.0.1"),
  dstIp: parseIpv4(dstIp),
  srcPort: dstPort,
  dstPort,
});

const routed = Array.from({ length: 50_000 }, (_, i) => newFrame(to(`10.0.${i % 200}.1`, 1000), 470));
compare(
  "forwarding, 512 bytes",
  p3.ir,
  (sw) => {
    for (let i = 0; i < 200; i++)
      sw.table("forwarding.route").insert(
        [{ kind: "lpm", value: BigInt(parseIpv4(`10.0.${i}.0`)), prefixLength: 24 }],
        { kind: "action", action: "forwarding.to_port", parameters: [BigInt(1 + (i % 30)), 1n] },
      );
  },
  [routed, routed, routed, routed, routed],
  routed.length,
);

const [LANES, ROWS, WORKERS, ROUNDS, PARTS] = [32, 64, 4, 40, 5];
const contributions = Array.from({ length: PARTS }, (): Uint8Array[] => []);
for (let round = 1; round <= PARTS * ROUNDS; round++)
  for (let slot = 0; slot < ROWS; slot++)
    for (let member = 0; member < WORKERS; member++) {
      const header = {
        version: 1,
        kind: Kind.CONTRIBUTION,
        flags: 0,
        job: 1,
        generation: 1,
        scale: 0,
        lanes: LANES,
      };
      const message = { ...header, mode: ModeId.int32, member, slot, round };
      const lanes = new Int32Array(LANES).fill(member + round);
      contributions[Math.floor((round - 1) / ROUNDS)]?.push(
        aggregationFrame(to("10.0.1.1", AGGREGATION_PORT), { header: message, lanes }),
      );
    }
compare(
  "aggregation, 32 lanes",
  libra.ir,
  (sw) => {
    sw.table("forwarding.route").insert(
      [{ kind: "lpm", value: BigInt(parseIpv4("10.0.1.1")), prefixLength: 32 }],
      { kind: "action", action: "forwarding.to_local", parameters: [] },
    );
    const job = { job: 1, generation: 1, workers: [0, 1, 2, 3], slotBase: 0, rows: ROWS, scale: 0 };
    for (const a of admissionsOf(job, 16))
      sw.table("admission.member").insert(
        [a.job, a.member, a.chunk].map((v) => ({ kind: "exact", value: BigInt(v) })),
        {
          kind: "action",
          action: "admission.admit",
          // bit, mask, generation, scale, RESULT's port, MAC and address of the server, session
          parameters: [a.bit, a.full, a.generation, a.scale, 5, 1, 2, 1].map(BigInt),
        },
      );
    sw.replication.insertSession(1, [{ port: 0, instance: 1 }]);
  },
  contributions,
  ROUNDS * ROWS * (WORKERS + 1),
);
