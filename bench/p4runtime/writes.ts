/**
 * Table entries per second over P4Runtime to the embedded switch, in a process of its own, and to simple_switch_grpc when it is here
 * (SIMPLE_SWITCH_GRPC or PATH), in one run: by a client whose requests are bytes beforehand, which measures the servers, and by gradplane's
 * client library, which measures both sides. Exact entries of the Libra program's admission table, in requests of 256 and one by one; a first
 * round that is not counted warms both sides. Of requests made beforehand the middle one of several rounds counts: one takes the embedded
 * switch so little time that a single pause of the machine would decide. Then how much memory each server takes per entry.
 * Run: npx tsx bench/p4runtime/writes.ts [ENTRIES], 40,000 unless given
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { generate } from "../../src/backends/index.ts";
import { startSwitchProcess } from "../../src/cli/run/switchprocess.ts";
import { hotAggregation, int32, ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { encode } from "../../src/p4info/message/binary.ts";
import { insert, P4RuntimeClient, p4infoFromBinary, remove, type Update } from "../../src/p4runtime/index.ts";
import { ReadRequest, WriteRequest } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { P4RuntimeService } from "../../src/p4runtime/service.ts";
import { BareGrpc } from "../baregrpc.ts";
import { realTool } from "../realtools.ts";
import { withSimpleSwitch } from "../simpleswitch.ts";

const ENTRIES = Number(process.argv[2] ?? 40_000);
const SINGLE = Math.min(2_000, ENTRIES / 4);
/** Entries that the client library writes and reads: it takes longer than the servers. */
const CLIENT = Math.min(ENTRIES, 25_000);
/** Rounds of requests made beforehand. */
const ROUNDS = 5;
/** Updates in one request, as p4runtime-shell and others send them at most. */
const BATCH = 256;
const built = program("writes", {
  ports: 8,
  cpuPort: 510,
  features: [
    ipv4Forwarding(),
    hotAggregation({
      workers: 32,
      lanes: 8,
      rows: 1024,
      mode: int32,
      result: "ps",
      admissions: ENTRIES + SINGLE,
    }),
  ],
});
const files = generate(built.ir);
const bytes = (name: string): Uint8Array => Buffer.from(files.get(name) ?? "");

interface Rates {
  /** Requests made beforehand. */
  readonly batches: number;
  readonly single: number;
  /** By the client library. */
  readonly clientBatches: number;
  readonly clientSingle: number;
  /** Answers that are not looked into. */
  readonly read: number;
  readonly clientRead: number;
  /** Bytes of resident memory that an entry took. */
  readonly memory: number;
}

/** Requests for the updates of entries `from` to `to`, `size` in each, as they go to the socket. */
async function requests(
  bare: BareGrpc,
  updateOf: (n: number) => Update,
  [from, to]: readonly [from: number, to: number],
  size: number,
): Promise<Buffer[]> {
  const all: Buffer[] = [];
  for (let at = from; at < to; at += size) {
    // A million take minutes, and a client that answers no pings for so long is taken for dead.
    if (all.length % 100 === 0) await sleep(0);
    const updates = Array.from({ length: Math.min(size, to - at) }, (_, i) => updateOf(at + i));
    const request = { deviceId: 1n, electionId: { high: 0n, low: 1n }, updates };
    all.push(bare.request(encode(WriteRequest, request)));
  }
  return all;
}

async function measure(address: string, pid: number): Promise<Rates> {
  const client = await P4RuntimeClient.connect({ address });
  const bare = new BareGrpc(address, P4RuntimeService.Write.path);
  const reader = new BareGrpc(address, P4RuntimeService.Read.path);
  const send = async (requests: readonly Buffer[]): Promise<void> => {
    for (const request of requests) await bare.call(request);
  };
  try {
    await client.arbitrate(1n);
    await client.pushPipeline(p4infoFromBinary(bytes("p4info.bin")), bytes("writes.json"));
    const entry = (n: number) =>
      client.entities.tableEntry(
        "admission.member",
        { job: n >> 8, member: n & 0xff, chunk: 0 },
        "admission.admit",
        {
          worker_bit: 1,
          full_mask: 3,
          generation: 1,
          scale: 0,
          result_port: 1,
          server_mac: "02:00:00:00:00:01",
          server_addr: "10.0.0.1",
          ack_session: 1,
        },
      );
    const insertion = (n: number) => insert(entry(n));
    const all = ENTRIES + SINGLE;
    const many = await requests(bare, insertion, [0, ENTRIES], BATCH);
    const few = await requests(bare, insertion, [ENTRIES, all], 1);
    const removals = await requests(bare, (n) => remove(entry(n)), [0, all], BATCH);
    const entities = [client.entities.allEntries("admission.member")];
    const readAll = reader.request(encode(ReadRequest, { deviceId: 1n, entities }));
    const checkedRead = async (): Promise<void> => {
      const received = await reader.call(readAll);
      if (received < 50 * ENTRIES) throw new Error(`read ${received} bytes`);
    };
    const before = residentBytes(pid);
    await send(many);
    const memory = (residentBytes(pid) - before) / ENTRIES;
    await send(few);
    await checkedRead();
    await send(removals);
    const rounds = { batches: [] as number[], single: [] as number[], read: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      rounds.batches.push(await rate(ENTRIES, () => send(many)));
      rounds.single.push(await rate(SINGLE, () => send(few)));
      rounds.read.push(await rate(all, checkedRead));
      await send(removals);
    }
    const inserts = Array.from({ length: CLIENT }, (_, n) => insertion(n));
    const clientBatches = await rate(CLIENT - SINGLE, () => client.write(inserts.slice(SINGLE)));
    const clientSingle = await rate(SINGLE, async () => {
      for (const update of inserts.slice(0, SINGLE)) await client.write([update]);
    });
    const clientRead = await rate(CLIENT, async () => {
      const found = await client.readAll(entities);
      if (found.length !== CLIENT) throw new Error(`read ${found.length} entries`);
    });
    return {
      batches: middle(rounds.batches),
      single: middle(rounds.single),
      clientBatches,
      clientSingle,
      read: middle(rounds.read),
      clientRead,
      memory,
    };
  } finally {
    await bare.close();
    await reader.close();
    await client.close();
  }
}

function middle(rates: readonly number[]): number {
  return rates.toSorted((a, b) => a - b)[rates.length >> 1] ?? Number.NaN;
}

/** Resident memory of a process, as Linux tells it; NaN elsewhere. */
function residentBytes(pid: number): number {
  try {
    const pages = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Number(pages) * 1024;
  } catch {
    return Number.NaN;
  }
}

async function rate(count: number, work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return count / ((performance.now() - start) / 1000);
}

async function onEmbedded(): Promise<Rates> {
  const running = await startSwitchProcess({
    name: "embedded",
    deviceId: 1n,
    cpuPort: 510,
    ports: new Map([[0, 9]]),
  });
  try {
    return await measure(running.grpc, running.pid);
  } finally {
    await running.stop();
  }
}

const figures: readonly [name: string, of: (r: Rates) => number, unit: string][] = [
  ["requests of 256, made beforehand", (r) => r.batches, "entries/s"],
  ["one by one, made beforehand", (r) => r.single, "entries/s"],
  ["requests of 256, client library", (r) => r.clientBatches, "entries/s"],
  ["one by one, client library", (r) => r.clientSingle, "entries/s"],
  ["read, not decoded", (r) => r.read, "entries/s"],
  ["read, client library", (r) => r.clientRead, "entries/s"],
];

function show(name: string, r: Rates): void {
  console.log(
    `${name}: ${ENTRIES.toLocaleString("en")} entries, ${Math.round(r.memory)} bytes of memory each`,
  );
  for (const [what, of, unit] of figures)
    console.log(`  ${what.padEnd(34)} ${Math.round(of(r)).toLocaleString("en").padStart(9)} ${unit}`);
}

const ours = await onEmbedded();
show("embedded switch", ours);
const bmv2 = realTool("SIMPLE_SWITCH_GRPC", "simple_switch_grpc");
if (bmv2 === undefined) console.log("simple_switch_grpc is not here (SIMPLE_SWITCH_GRPC): no comparison");
else {
  const theirs = await withSimpleSwitch(bmv2, measure);
  show("simple_switch_grpc", theirs);
  console.log("ratio (above 1: the embedded switch is faster)");
  for (const [what, of] of figures) console.log(`  ${what.padEnd(34)} ${(of(ours) / of(theirs)).toFixed(2)}`);
}
