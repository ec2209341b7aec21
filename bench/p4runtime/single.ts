/**
 * Where the time of one write goes, one after the other to the embedded switch in a process of its own: by this client; the same bytes by
 * grpc-js alone; and by Node's HTTP/2 alone, with gRPC's framing made by hand.
 * Run: npx tsx bench/p4runtime/single.ts [WRITES], 3000 unless given
 */
import { connect, constants } from "node:http2";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { generate, loadableOf } from "../../src/backends/index.ts";
import { startSwitchProcess } from "../../src/cli/run/switchprocess.ts";
import { ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { encode } from "../../src/p4info/index.ts";
import { type Entity, insert, P4RuntimeClient } from "../../src/p4runtime/index.ts";
import { WriteRequest } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { P4RuntimeService } from "../../src/p4runtime/service.ts";

const WRITES = Number(process.argv[2] ?? 3000);
const ROUNDS = 5;
const { ir } = program("single", {
  ports: 8,
  cpuPort: 510,
  features: [ipv4Forwarding({ routes: 10 * WRITES * ROUNDS })],
});
const { p4info, deviceConfig } = loadableOf(generate(ir), ir.name);
const running = await startSwitchProcess({ name: "s1", deviceId: 1n, cpuPort: 510, ports: new Map() });
const client = await P4RuntimeClient.connect({ address: running.grpc });
const bare = new Client(running.grpc, credentials.createInsecure());
const session = connect(`http://${running.grpc}`);

let number = 0;
function entry(): Entity {
  const n = number++;
  const dst_addr = `${10 + (n >> 24)}.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}/32`;
  const params = { port: 1, dst_mac: "02:00:00:00:00:01" };
  return client.entities.tableEntry("forwarding.route", { dst_addr }, "forwarding.to_port", params);
}

const bytesOf = (entity: Entity): Buffer =>
  Buffer.from(
    encode(WriteRequest, { deviceId: 1n, electionId: { high: 0n, low: 1n }, updates: [insert(entity)] }),
  );

function byGrpc(bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    bare.makeUnaryRequest(
      P4RuntimeService.Write.path,
      (message: Buffer) => message,
      (answer) => answer,
      bytes,
      new Metadata(),
      { deadline: Date.now() + 10_000 },
      (error) => (error === null ? resolve() : reject(error)),
    );
  });
}

const headers = {
  [constants.HTTP2_HEADER_METHOD]: "POST",
  [constants.HTTP2_HEADER_PATH]: P4RuntimeService.Write.path,
  [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc",
  [constants.HTTP2_HEADER_TE]: "trailers",
};

function byHttp2(bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const framed = Buffer.alloc(5 + bytes.length);
    framed.writeUInt32BE(bytes.length, 1);
    framed.set(bytes, 5);
    const stream = session.request(headers);
    let status: string | undefined;
    stream.on("trailers", (trailers) => {
      status = String(trailers["grpc-status"]);
    });
    stream.on("error", reject);
    stream.on("close", () => (status === "0" ? resolve() : reject(new Error(`status ${status}`))));
    stream.resume();
    stream.end(framed);
  });
}

const ways: readonly (readonly [string, (entity: Entity) => Promise<void>])[] = [
  ["this client", (entity) => client.write([insert(entity)])],
  ["grpc-js alone", (entity) => byGrpc(bytesOf(entity))],
  ["HTTP/2 alone", (entity) => byHttp2(bytesOf(entity))],
];

try {
  await client.arbitrate(1n);
  await client.pushPipeline(p4info, deviceConfig);
  const rates = new Map<string, number[]>();
  // In turn, so that what else the machine does meets all of them.
  for (let round = 0; round <= ROUNDS; round++)
    for (const [name, write] of ways) {
      const begin = performance.now();
      for (let i = 0; i < WRITES; i++) await write(entry());
      // The first round is for the compiler.
      if (round > 0)
        rates.set(name, [...(rates.get(name) ?? []), (1000 * (performance.now() - begin)) / WRITES]);
    }
  for (const [name, times] of rates) {
    const middle = [...times].sort((a, b) => a - b)[ROUNDS >> 1] ?? Number.NaN;
    console.log(
      `  ${name.padEnd(16)} ${middle.toFixed(0).padStart(6)} us a write, the middle one of ${ROUNDS} rounds`,
    );
  }
  const begin = performance.now();
  for (let i = 0; i < WRITES; i++) bytesOf(entry());
  console.log(
    `  of it names and bytes of the entry: ${((1000 * (performance.now() - begin)) / WRITES).toFixed(0)} us`,
  );
} finally {
  await client.close();
  bare.close();
  session.close();
  await running.stop();
}
