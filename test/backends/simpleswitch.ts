import { type ChildProcess, spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { Client, credentials } from "@grpc/grpc-js";
import { freePort } from "../../src/cli/freeport.ts";
import { decode, encode, MessageType, p4infoFromText } from "../../src/p4info/index.ts";
import { insert, type MatchInput, P4RuntimeClient } from "../../src/p4runtime/index.ts";
import type { Switch } from "../../src/switch/switch.ts";
import type { ActionCall } from "../../src/switch/tables/table-entry.ts";
import type { MatchField } from "../../src/switch/tables/table-key.ts";

interface DataplanePacket {
  readonly id: bigint;
  readonly deviceId: bigint;
  readonly port: number;
  readonly packet: Uint8Array;
}

/** Request and response of p4.bm.DataplaneInterface.PacketStream (behavioral-model, services/p4/bm). */
const DataplanePacket: MessageType<DataplanePacket> = new MessageType("p4.bm.PacketStreamRequest", () => [
  [1, "id", "uint64"],
  [2, "device_id", "uint64"],
  [3, "port", "uint32"],
  [4, "packet", "bytes"],
]);

const serialize = (p: DataplanePacket): Buffer => Buffer.from(encode(DataplanePacket, p));
const deserialize = (b: Buffer): DataplanePacket => decode(DataplanePacket, b);

const DEVICE = 1n;
/** Fewer than a queue of simple_switch holds, so that a burst loses nothing. */
const BURST = 40;

/**
 * simple_switch_grpc with its ports on gRPC: no interfaces, no privileges. For one program each: the replicas of multicast groups
 * stay in BMv2 when another program comes, even after their groups were deleted.
 */
export class SimpleSwitch {
  readonly #process: ChildProcess;
  readonly #client: P4RuntimeClient;
  readonly #dataplane: Client;
  readonly #output: () => string;
  /** `host:port` of the side channel for queues and registers. */
  readonly thriftAddress: string;

  private constructor(
    process: ChildProcess,
    client: P4RuntimeClient,
    dataplane: Client,
    thriftAddress: string,
    output: () => string,
  ) {
    this.#process = process;
    this.#client = client;
    this.#dataplane = dataplane;
    this.thriftAddress = thriftAddress;
    this.#output = output;
  }

  /** `host:port` of the P4Runtime server, for another controller. */
  get address(): string {
    return this.#client.address;
  }

  static async start(binary: string, options: { readonly cpuPort?: number } = {}): Promise<SimpleSwitch> {
    const [control, data, thrift] = [await freePort(), await freePort(), await freePort()];
    const child = spawn(
      binary,
      [
        ...["--no-p4", "--device-id", String(DEVICE), "--thrift-port", String(thrift)],
        "--",
        ...["--grpc-server-addr", `127.0.0.1:${control}`, "--dp-grpc-server-addr", `127.0.0.1:${data}`],
        ...["--priority-queues", "8"],
        ...(options.cpuPort === undefined ? [] : ["--cpu-port", String(options.cpuPort)]),
      ],
      { cwd: tmpdir(), stdio: ["ignore", "pipe", "pipe"] },
    );
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-4000);
      });
    for (;;) {
      if (child.exitCode !== null)
        throw new Error(`simple_switch_grpc ended with ${child.exitCode}: ${output}`);
      try {
        const client = await P4RuntimeClient.connect({
          address: `127.0.0.1:${control}`,
          deviceId: DEVICE,
          timeout: 5000,
        });
        await client.arbitrate(1n);
        const dataplane = new Client(`127.0.0.1:${data}`, credentials.createInsecure());
        return new SimpleSwitch(child, client, dataplane, `127.0.0.1:${thrift}`, () => output);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
  }

  /** Loads a program, and gives it the entries, groups and clone sessions that another switch has. */
  async load(p4info: string, json: string, like: Switch): Promise<void> {
    await this.#client.pushPipeline(p4infoFromText(p4info), Buffer.from(json));
    const { entities } = this.#client;
    const parameters = (call: ActionCall) =>
      Object.fromEntries(
        entities.schema.actions.get(call.action).params.all.map((p, i) => [p.name, call.parameters[i] ?? 0n]),
      );
    const updates = [...like.tables.values()].flatMap((t) => {
      const schema = entities.schema.tables.find(t.name);
      if (schema === undefined || t.description.isConst) return [];
      return [...t.entries()].flatMap((e) => {
        if (e.isConst) return [];
        const match = Object.fromEntries(t.description.key.map((k, i) => [k.name, matchInput(e.match[i])]));
        const { priority } = e;
        if (e.action.kind !== "action")
          return [insert(entities.tableEntry(t.name, match, e.action, {}, { priority }))];
        const params = parameters(e.action);
        return [insert(entities.tableEntry(t.name, match, e.action.action, params, { priority }))];
      });
    });
    // p4c leaves out what no packet reaches.
    const known = [...like.profiles.values()].filter(
      (p) => entities.schema.actionProfiles.find(p.name) !== undefined,
    );
    const profiles = known.flatMap((p) => [
      ...p.members.map((m) => insert(entities.member(p.name, m.id, m.call.action, parameters(m.call)))),
      ...p.groups.map((g) =>
        insert(entities.group(p.name, g.id, Object.fromEntries(g.members.map((m) => [m.member, m.weight])))),
      ),
    ]);
    const groups = like.replication.allGroups().map((g) => insert(entities.multicastGroup(g.id, g.replicas)));
    const sessions = like.replication
      .allSessions()
      .map((s) => insert(entities.cloneSession(s.id, s.replicas)));
    await this.#client.write([...profiles, ...updates, ...groups, ...sessions]);
  }

  /**
   * Sends packets; answers for each what came out because of it, `port:bytes`, sorted.
   *
   * @param burst as many at a time; of 1 none meets what another has left on its way
   */
  async send(
    packets: readonly { readonly port: number; readonly data: Uint8Array }[],
    burst: number = BURST,
  ): Promise<readonly (readonly string[])[]> {
    const out: string[][] = packets.map(() => []);
    for (let at = 0; at < packets.length; at += burst) {
      await new Promise<void>((resolve, reject) => {
        const stream = this.#dataplane.makeBidiStreamRequest(
          "/p4.bm.DataplaneInterface/PacketStream",
          serialize,
          deserialize,
        );
        stream.on("data", (p: DataplanePacket) =>
          out[Number(p.id) - 1]?.push(`${p.port}:${Buffer.from(p.packet).toString("hex")}`),
        );
        stream.on("error", reject);
        stream.on("end", resolve);
        packets.slice(at, at + burst).forEach((p, i) => {
          stream.write({ id: BigInt(at + i + 1), deviceId: DEVICE, port: p.port, packet: p.data });
        });
        // The server ends its side when all packets have gone through.
        stream.end();
      });
    }
    return out.map((list) => list.sort());
  }

  /** Packets counted in each cell of a counter. */
  async counter(name: string): Promise<readonly bigint[]> {
    const found = await this.#client.readAll([this.#client.entities.counter(name)]);
    return found.map(({ entity }) =>
      entity?.case === "counterEntry" ? (entity.value.data?.packetCount ?? 0n) : 0n,
    );
  }

  /** The last of what the process wrote. */
  get output(): string {
    return this.#output();
  }

  async stop(): Promise<void> {
    this.#dataplane.close();
    await this.#client.close();
    this.#process.kill();
    if (this.#process.exitCode === null && this.#process.signalCode === null)
      await new Promise((resolve) => this.#process.once("exit", resolve));
  }
}

function matchInput(field: MatchField | undefined): MatchInput {
  if (field === undefined) return undefined;
  switch (field.kind) {
    case "exact":
    case "optional":
      return field.value;
    case "lpm":
      return { value: field.value, prefixLength: field.prefixLength };
    case "ternary":
      return { value: field.value, mask: field.mask };
    case "range":
      return { low: field.low, high: field.high };
  }
}
