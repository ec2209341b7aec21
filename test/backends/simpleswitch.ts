import { type ChildProcess, spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { freePort } from "../../src/cli/freeport.ts";
import { Bmv2SideChannel } from "../../src/controller/sidechannel/bmv2.ts";
import { p4infoFromText } from "../../src/p4info/index.ts";
import { insert, type MatchInput, P4RuntimeClient } from "../../src/p4runtime/index.ts";
import type { Switch } from "../../src/switch/switch.ts";
import type { ActionCall } from "../../src/switch/tables/table-entry.ts";
import type { MatchField } from "../../src/switch/tables/table-key.ts";
import { DataplaneClient } from "./dataplaneclient.ts";

const DEVICE = 1n;
/**
 * simple_switch_grpc with its ports on gRPC: no interfaces, no privileges. For one program each: the replicas of multicast groups
 * stay in BMv2 when another program comes, even after their groups were deleted.
 */
export class SimpleSwitch {
  readonly #process: ChildProcess;
  readonly #client: P4RuntimeClient;
  readonly #dataplane: DataplaneClient;
  readonly #output: () => string;
  /** `host:port` of the side channel for queues and registers. */
  readonly thriftAddress: string;
  /** `host:port` of its ports. */
  readonly dataplaneAddress: string;

  private constructor(
    process: ChildProcess,
    client: P4RuntimeClient,
    dataplane: DataplaneClient,
    addresses: { readonly thrift: string; readonly dataplane: string },
    output: () => string,
  ) {
    this.#process = process;
    this.#client = client;
    this.#dataplane = dataplane;
    this.thriftAddress = addresses.thrift;
    this.dataplaneAddress = addresses.dataplane;
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
          timeout: 30_000,
        });
        await client.arbitrate(1n);
        const addresses = { thrift: `127.0.0.1:${thrift}`, dataplane: `127.0.0.1:${data}` };
        const dataplane = new DataplaneClient(addresses.dataplane, DEVICE);
        return new SimpleSwitch(child, client, dataplane, addresses, () => output);
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
    burst?: number,
  ): Promise<readonly (readonly string[])[]> {
    return this.#dataplane.send(packets, burst);
  }

  /** Sends packets in one go; answers what came out, in its order, when nothing is left inside. */
  burst(
    packets: readonly { readonly port: number; readonly data: Uint8Array }[],
  ): Promise<readonly { readonly port: number; readonly packet: Uint8Array }[]> {
    return this.#dataplane.burst(packets);
  }

  /** Packets counted in each cell of a counter. */
  async counter(name: string): Promise<readonly bigint[]> {
    const found = await this.#client.readAll([this.#client.entities.counter(name)]);
    return found.map(({ entity }) =>
      entity?.case === "counterEntry" ? (entity.value.data?.packetCount ?? 0n) : 0n,
    );
  }

  /**
   * What counters and registers hold: of those of another switch that this one's program has too, and that Thrift can carry.
   *
   * @param json the program that was loaded
   */
  async remembered(json: string, like: Switch): Promise<readonly string[]> {
    const { counters, registers } = objectsIn(json, like);
    const lines: string[] = [];
    for (const name of counters) {
      const found = await this.#client.readAll([this.#client.entities.counter(name)]);
      const cells = found.map(({ entity }) => {
        const data = entity?.case === "counterEntry" ? entity.value.data : undefined;
        return `${data?.packetCount ?? 0n}/${data?.byteCount ?? 0n}`;
      });
      lines.push(`${name} ${cells.join(" ")}`);
    }
    const channel = await Bmv2SideChannel.open(this.thriftAddress);
    try {
      for (const { name, size } of registers)
        lines.push(`${name} ${(await channel.readRegister(name, 0, size)).join(" ")}`);
    } finally {
      await channel.close();
    }
    return lines;
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

/** The same of the embedded switch. */
export function rememberedBy(s: Switch, json: string): readonly string[] {
  const { counters, registers } = objectsIn(json, s);
  return [
    ...counters.map((name) => {
      const counter = s.counters.get(name);
      const cells = Array.from({ length: counter?.size ?? 0 }, (_, i) => counter?.read(i));
      return `${name} ${cells.map((v) => `${v?.packets}/${v?.bytes}`).join(" ")}`;
    }),
    ...registers.map((r) => `${r.name} ${Array.from({ length: r.size }, (_, i) => r.read(i)).join(" ")}`),
  ];
}

/** Counters and registers that the switch and the program have: p4c leaves out what it finds unused. */
function objectsIn(json: string, s: Switch) {
  const { counter_arrays, register_arrays } = JSON.parse(json) as {
    readonly counter_arrays?: readonly { readonly name: string; readonly is_direct: boolean }[];
    readonly register_arrays?: readonly { readonly name: string; readonly bitwidth: number }[];
  };
  const counters = (counter_arrays ?? []).filter((c) => !c.is_direct && s.counters.has(c.name));
  const registers = (register_arrays ?? []).filter((r) => r.bitwidth <= MOST_BITS);
  return {
    counters: counters.map((c) => c.name),
    registers: registers.flatMap((r) => s.registers.get(r.name) ?? []),
  };
}

/** A cell that is a positive i64. */
const MOST_BITS = 63;

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
