/**
 * For how long the embedded switch hears nothing else, packets least of all, while one client writes and reads very much: the longest time
 * between two turns of its event loop. A table of many exact entries is filled in requests of 256 and of 1,024, read as a whole, and read by a
 * filter that no entry passes, and emptied; beside it another client asks for something small all the time. The clients are in another process.
 * Run: npx tsx bench/p4runtime/stalls.ts [ENTRIES], 1,000,000 unless given
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { generate } from "../../src/backends/index.ts";
import { hotAggregation, int32, ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { encode } from "../../src/p4info/message/binary.ts";
import { create } from "../../src/p4info/message/create.ts";
import { insert, P4RuntimeClient, p4infoFromBinary, remove } from "../../src/p4runtime/index.ts";
import { Entity, ReadRequest, WriteRequest } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { P4RuntimeService } from "../../src/p4runtime/service.ts";
import { EmbeddedSwitchTarget, P4RuntimeServer } from "../../src/switch/p4runtime/index.ts";
import { Switch } from "../../src/switch/switch.ts";
import { BareGrpc } from "../baregrpc.ts";

const [, , first = "1000000", address] = process.argv;
const ENTRIES = Number(first);
/** Milliseconds from turn to turn when nothing else happens. */
const BEAT = 1;

function build(): ReadonlyMap<string, string | Uint8Array> {
  const aggregation = hotAggregation({
    workers: 32,
    lanes: 8,
    rows: 1024,
    mode: int32,
    result: "ps",
    admissions: ENTRIES,
  });
  return generate(
    program("stalls", { ports: 8, cpuPort: 510, features: [ipv4Forwarding(), aggregation] }).ir,
  );
}

// ---------------------------------------------------------------- the clients, in a process of their own

/** Asks for something small until it is stopped; gives the longest wait and how many there were. */
function askBeside(
  client: P4RuntimeClient,
): () => Promise<{ readonly longest: number; readonly count: number }> {
  let isOver = false;
  const asking = (async () => {
    let longest = 0;
    let count = 0;
    while (!isOver) {
      const start = performance.now();
      await client.readAll([client.entities.counter("forwarding.events", 0)]);
      longest = Math.max(longest, performance.now() - start);
      count++;
    }
    return { longest, count };
  })();
  return () => {
    isOver = true;
    return asking;
  };
}

async function clients(server: string): Promise<void> {
  const files = build();
  const client = await P4RuntimeClient.connect({ address: server, timeout: 600_000 });
  const other = await P4RuntimeClient.connect({ address: server, timeout: 600_000 });
  await client.arbitrate(1n);
  const p4info = p4infoFromBinary(Buffer.from(files.get("p4info.bin") ?? ""));
  await client.pushPipeline(p4info, Buffer.from(files.get("stalls.json") ?? ""));
  await other.useProgram(p4info);
  const params = { worker_bit: 1, full_mask: 3, generation: 1, scale: 0, result_port: 1, ack_session: 1 };
  const addresses = { server_mac: "02:00:00:00:00:01", server_addr: "10.0.0.1" };
  const entry = (n: number) =>
    client.entities.tableEntry(
      "admission.member",
      { job: n >> 8, member: n & 0xff, chunk: 0 },
      "admission.admit",
      { ...params, ...addresses },
    );
  const writer = new BareGrpc(server, P4RuntimeService.Write.path);
  const reader = new BareGrpc(server, P4RuntimeService.Read.path);
  const phase = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    process.send?.({ begin: name });
    const stop = askBeside(other);
    const start = performance.now();
    await work();
    const seconds = (performance.now() - start) / 1000;
    process.send?.({ end: name, seconds, beside: await stop() });
    await once(process, "message");
  };
  const write = async (update: typeof insert, from: number, to: number, size: number): Promise<void> => {
    for (let at = from; at < to; at += size) {
      const updates = Array.from({ length: Math.min(size, to - at) }, (_, i) => update(entry(at + i)));
      await writer.call(
        writer.request(encode(WriteRequest, { deviceId: 1n, electionId: { high: 0n, low: 1n }, updates })),
      );
    }
  };
  const half = ENTRIES >> 1;
  await phase("nothing", () => new Promise((resolve) => setTimeout(resolve, 2000)));
  await phase("writes of 256", () => write(insert, 0, half, 256));
  await phase("writes of 1,024", () => write(insert, half, ENTRIES, 1024));
  const all = client.entities.allEntries("admission.member");
  await phase("a read of all", () =>
    reader.call(reader.request(encode(ReadRequest, { deviceId: 1n, entities: [all] }))),
  );
  const metadata = Uint8Array.of(7);
  const none = create(Entity, {
    entity: {
      case: "tableEntry",
      value: { tableId: client.schema.tables.get("admission.member").id, metadata },
    },
  });
  const fruitless = new BareGrpc(server, P4RuntimeService.Read.path);
  await phase("a read of none by a filter", () =>
    fruitless.call(fruitless.request(encode(ReadRequest, { deviceId: 1n, entities: [none] }))),
  );
  await fruitless.close();
  await phase("removals in requests of 256", () => write(remove, 0, ENTRIES, 256));
  await writer.close();
  await reader.close();
  await client.close();
  await other.close();
  process.disconnect?.();
}

// ---------------------------------------------------------------- the switch

interface Told {
  readonly begin?: string;
  readonly end?: string;
  readonly seconds?: number;
  readonly beside?: { readonly longest: number; readonly count: number };
}

async function server(): Promise<void> {
  const start = performance.now();
  const io = { now: () => (performance.now() - start) * 1000, packetOut: () => {}, onPacketIn: () => {} };
  const target = new EmbeddedSwitchTarget(new Switch(undefined, { cpuPort: 510 }), io);
  const running = await P4RuntimeServer.start({ target, address: "127.0.0.1:0" });
  const own = fileURLToPath(import.meta.url);
  const child = fork(own, [String(ENTRIES), running.address], { execArgv: process.execArgv });
  let gaps: number[] = [];
  let last = performance.now();
  const beat = setInterval(() => {
    const now = performance.now();
    gaps.push(now - last);
    last = now;
  }, BEAT);
  child.on("message", ({ end, seconds = 0, beside }: Told) => {
    if (end !== undefined) {
      const sorted = gaps.toSorted((a, b) => a - b);
      const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
      const longest = (sorted.at(-1) ?? 0).toFixed(1);
      console.log(
        `${end.padEnd(28)} ${seconds.toFixed(2).padStart(7)} s; between turns at most ${longest} ms, 99% within ${at(0.99)} ms; ` +
          `small reads beside it: ${beside?.count}, at most ${beside?.longest.toFixed(1)} ms`,
      );
      child.send("next");
    }
    gaps = [];
  });
  await once(child, "exit");
  clearInterval(beat);
  await running.close();
}

if (address === undefined) await server();
else await clients(address);
