/**
 * Table entries per second over P4Runtime, the same client to both servers in one run: the embedded switch in a process of its own, and
 * simple_switch_grpc when it is here (SIMPLE_SWITCH_GRPC or PATH). Exact entries of the Libra program's admission table.
 * Run: npx tsx bench/p4runtime/writes.ts
 */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { generate } from "../../src/backends/index.ts";
import { freePort } from "../../src/cli/freeport.ts";
import { startSwitchProcess } from "../../src/cli/run/switchprocess.ts";
import { hotAggregation, int32, ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { insert, P4RuntimeClient, p4infoFromBinary, type Update } from "../../src/p4runtime/index.ts";
import { realTool } from "../realtools.ts";

const ENTRIES = 40_000;
const SINGLE = 2_000;
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
  readonly batches: number;
  readonly single: number;
  readonly read: number;
}

async function measure(address: string): Promise<Rates> {
  const client = await P4RuntimeClient.connect({ address });
  try {
    await client.arbitrate(1n);
    await client.pushPipeline(p4infoFromBinary(bytes("p4info.bin")), bytes("writes.json"));
    const entry = (n: number): Update =>
      insert(
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
        ),
      );
    const many = Array.from({ length: ENTRIES }, (_, n) => entry(n));
    const batches = await rate(ENTRIES, () => client.write(many));
    const few = Array.from({ length: SINGLE }, (_, n) => entry(ENTRIES + n));
    const single = await rate(SINGLE, async () => {
      for (const update of few) await client.write([update]);
    });
    const read = await rate(ENTRIES + SINGLE, async () => {
      const found = await client.readAll([client.entities.allEntries("admission.member")]);
      if (found.length !== ENTRIES + SINGLE) throw new Error(`read ${found.length} entries`);
    });
    return { batches, single, read };
  } finally {
    await client.close();
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
    return await measure(running.grpc);
  } finally {
    await running.stop();
  }
}

async function onBmv2(binary: string): Promise<Rates> {
  const [grpc, thrift] = [await freePort(), await freePort()];
  const child: ChildProcess = spawn(
    binary,
    [
      "--no-p4",
      "--device-id",
      "1",
      "--thrift-port",
      `${thrift}`,
      "--",
      "--grpc-server-addr",
      `127.0.0.1:${grpc}`,
      "--cpu-port",
      "510",
    ],
    { stdio: "ignore" },
  );
  try {
    for (let tries = 0; tries < 50; tries++) {
      const found = await P4RuntimeClient.connect({ address: `127.0.0.1:${grpc}` }).catch(() => undefined);
      await found?.close();
      if (found !== undefined) return await measure(`127.0.0.1:${grpc}`);
      await sleep(200);
    }
    throw new Error("simple_switch_grpc does not answer");
  } finally {
    child.kill();
  }
}

function show(name: string, r: Rates): void {
  const n = (x: number): string => Math.round(x).toLocaleString("en").padStart(9);
  console.log(
    `${name.padEnd(20)} ${n(r.batches)} in batches ${n(r.single)} one by one ${n(r.read)} read   (entries/s)`,
  );
}

const ours = await onEmbedded();
show("embedded switch", ours);
const bmv2 = realTool("SIMPLE_SWITCH_GRPC", "simple_switch_grpc");
if (bmv2 === undefined) console.log("simple_switch_grpc is not here (SIMPLE_SWITCH_GRPC): no comparison");
else {
  const theirs = await onBmv2(bmv2);
  show("simple_switch_grpc", theirs);
  const ratio = (of: (r: Rates) => number): string => (of(ours) / of(theirs)).toFixed(2);
  console.log(
    `ratio                batches ${ratio((r) => r.batches)}, one by one ${ratio((r) => r.single)}, read ${ratio((r) => r.read)} (above 1: the embedded switch is faster)`,
  );
}
