import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { ecmp, hotAggregation, int32, ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { decode, encode, type Init, p4infoFromBinary } from "../../src/p4info/index.ts";
import type { MessageType } from "../../src/p4info/message/descriptor.ts";
import { EntityBuilder } from "../../src/p4runtime/index.ts";
import {
  CapabilitiesRequest,
  CapabilitiesResponse,
  type Entity,
  GetForwardingPipelineConfigRequest,
  GetForwardingPipelineConfigResponse,
  Error as P4Error,
  ReadRequest,
  ReadResponse,
  SetForwardingPipelineConfigRequest,
  SetForwardingPipelineConfigResponse,
  StreamMessageRequest,
  StreamMessageResponse,
  type TableEntry,
  type Update,
  WriteRequest,
  WriteResponse,
} from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { Status } from "../../src/p4runtime/proto/generated/status.ts";
import { Schema } from "../../src/p4runtime/schema.ts";
import { P4RuntimeService } from "../../src/p4runtime/service.ts";
import { stopAfterTest } from "./bench.ts";
import { SERVERS } from "./servers.ts";

const { ir } = program("ways", {
  ports: 8,
  cpuPort: 100,
  features: [
    ipv4Forwarding({ routes: 4 }),
    ecmp({ groups: 4, members: 4, spray: "none" }),
    hotAggregation({ workers: 4, lanes: 1, rows: 8, chunk: 4, mode: int32, result: "ps" }),
  ],
});
const files = generate(ir);
const file = (name: string): Buffer => Buffer.from(files.get(name) ?? "");
const p4info = p4infoFromBinary(file("p4info.bin"));
const schema = new Schema(p4info);
const build = new EntityBuilder(schema);

/** A client without any opinion. */
class Plain {
  readonly #client: Client;

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure(), {
      "grpc.max_receive_message_length": -1,
    });
    stopAfterTest(() => this.#client.close());
  }

  /** The code of a call, or what `show` makes of its answer; codes and space of the errors of a batch. */
  call<Q extends object, A extends object>(
    path: string,
    [type, request]: readonly [MessageType<Q>, Init<NoInfer<Q>>],
    answerType: MessageType<A>,
    show: (answer: A) => unknown = () => 0,
  ): Promise<unknown> {
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        path,
        (message: Uint8Array) => Buffer.from(message),
        (bytes) => bytes,
        encode(type, request),
        new Metadata(),
        { deadline: Date.now() + 30_000 },
        (error, answer) =>
          resolve(error === null ? show(decode(answerType, answer ?? Buffer.alloc(0))) : outcome(error)),
      );
    });
  }

  read(entities: readonly Init<Entity>[], deviceId = 1n): Promise<unknown> {
    const call = this.#client.makeServerStreamRequest(
      P4RuntimeService.Read.path,
      (message: Uint8Array) => Buffer.from(message),
      (bytes) => bytes,
      encode(ReadRequest, { deviceId, entities }),
      new Metadata(),
      { deadline: Date.now() + 30_000 },
    );
    let count = 0;
    call.on("data", (bytes: Buffer) => {
      count += decode(ReadResponse, bytes).entities.length;
    });
    return new Promise((resolve) => {
      call.on("error", (error: ServiceError) => resolve([count, outcome(error)]));
      call.on("end", () => resolve(count));
    });
  }

  stream() {
    const call = this.#client.makeBidiStreamRequest(
      P4RuntimeService.StreamChannel.path,
      (message: Uint8Array) => Buffer.from(message),
      (bytes: Buffer) => bytes,
    );
    const heard: string[] = [];
    call.on("data", (bytes: Buffer) => {
      const { update } = decode(StreamMessageResponse, bytes);
      if (update?.case !== "arbitration") heard.push(update?.case ?? "nothing");
      else
        heard.push(`${update.value.deviceId} ${update.value.electionId?.low} ${update.value.status?.code}`);
    });
    call.on("error", (error: ServiceError) => heard.push(`ended ${error.code}`));
    return {
      heard,
      elect: (low: bigint | undefined, deviceId = 1n, role?: string) => {
        const value = {
          deviceId,
          ...(low === undefined ? {} : { electionId: { high: 0n, low } }),
          ...(role === undefined ? {} : { role: { name: role } }),
        };
        call.write(encode(StreamMessageRequest, { update: { case: "arbitration", value } }));
      },
      packet: () =>
        call.write(
          encode(StreamMessageRequest, { update: { case: "packet", value: { payload: Buffer.alloc(60) } } }),
        ),
      close: () => call.cancel(),
    };
  }
}

function entryOf({ entity }: Entity): Init<TableEntry> {
  return entity?.case === "tableEntry" ? entity.value : {};
}

function outcome(error: ServiceError): unknown {
  const [details] = error.metadata.get("grpc-status-details-bin");
  if (!(details instanceof Buffer)) return error.code;
  const errors = decode(Status, details).details.map(({ value }) => decode(P4Error, value));
  if (errors.length === 0) return error.code;
  const spaces = new Set(errors.filter(({ canonicalCode }) => canonicalCode !== 0).map(({ space }) => space));
  return [error.code, errors.map(({ canonicalCode }) => canonicalCode), ...spaces];
}

/** Everything that is asked of a server, one after the other, by what it is called, and what came of it. */
async function ask(address: string, isPi: boolean): Promise<Record<string, unknown>> {
  const results: Record<string, unknown> = {};
  const plain = new Plain(address);
  const { Write, SetForwardingPipelineConfig, GetForwardingPipelineConfig, Capabilities } = P4RuntimeService;
  const write = (
    updates: readonly Init<Update>[],
    low: bigint | undefined = 5n,
    more: Init<WriteRequest> = {},
  ) => {
    const electionId = low === undefined ? {} : { electionId: { high: 0n, low } };
    return plain.call(
      Write.path,
      [WriteRequest, { deviceId: 1n, ...electionId, ...more, updates }],
      WriteResponse,
    );
  };
  const push = (
    low: bigint,
    config: { json?: Buffer; action?: "VERIFY_AND_COMMIT" | "COMMIT"; deviceId?: bigint } = {},
  ) => {
    const { json = file("ways.json"), action = "VERIFY_AND_COMMIT", deviceId = 1n } = config;
    const request = { deviceId, electionId: { high: 0n, low }, action };
    const whole = action === "COMMIT" ? request : { ...request, config: { p4info, p4DeviceConfig: json } };
    return plain.call(
      SetForwardingPipelineConfig.path,
      [SetForwardingPipelineConfigRequest, whole],
      SetForwardingPipelineConfigResponse,
    );
  };
  const getCookie = () =>
    plain.call(
      GetForwardingPipelineConfig.path,
      [GetForwardingPipelineConfigRequest, { deviceId: 1n }],
      GetForwardingPipelineConfigResponse,
    );
  const insert = (entity: Init<Entity>) => write([{ type: "INSERT", entity }]);
  const modify = (entity: Init<Entity>) => write([{ type: "MODIFY", entity }]);
  const remove = (entity: Init<Entity>) => write([{ type: "DELETE", entity }]);
  const raw = (entity: Init<Entity>["entity"]): Init<Entity> => ({ entity });
  const settled = async (heard: readonly string[], count: number): Promise<string> => {
    await expect.poll(() => heard.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(count);
    return heard.join(", ");
  };

  results.version = await plain.call(
    Capabilities.path,
    [CapabilitiesRequest, {}],
    CapabilitiesResponse,
    (answer) => answer.p4runtimeApiVersion,
  );
  results["read without a program"] = await plain.read([build.allEntries()]);
  results["get without a program"] = await getCookie();
  results["write without a stream, with an id"] = await write([], 5n);
  results["write without a stream, without an id"] = await write([], undefined);
  results["write to another device"] = await write([], undefined, { deviceId: 9n });

  // Who is the primary.
  const first = plain.stream();
  first.elect(undefined);
  results["no id"] = await settled(first.heard, 1);
  first.elect(5n, 1n, "some role");
  results["another id, another role"] = await settled(first.heard, 2);
  const second = plain.stream();
  second.elect(3n, 1n, "other role");
  results["a lower id"] = await settled(second.heard, 1);
  results["write by a backup"] = await write([], 3n);
  const elsewhere = plain.stream();
  elsewhere.elect(7n, 77n);
  results["another device"] = await settled(elsewhere.heard, 1);
  first.close();
  results.promoted = await settled(second.heard, isPi ? 2 : 1);
  // An id that is sent again gets no answer, and then one that is not the same.
  second.elect(3n);
  second.elect(5n);
  second.packet();
  results["again, and then higher"] = await settled(second.heard, isPi ? 3 : 2);
  // Elsewhere that was another role, which is the end of the stream.
  const third = plain.stream();
  if (!isPi) {
    third.elect(5n);
    await settled(third.heard, 1);
  }

  results.push = await push(5n);
  results["push by a backup"] = await push(4n);
  results["get with a program"] = await getCookie();

  // Entries.
  const route = (host: number) =>
    build.tableEntry("forwarding.route", { dst_addr: host }, "to_port", { port: 1, dst_mac: host });
  results.insert = await insert(route(1));
  results["insert again"] = await insert(route(1));
  results["modify what is not there"] = await modify(route(2));
  results["delete what is not there"] = await remove(route(2));
  results.batch = await write([
    { type: "INSERT", entity: route(1) },
    { type: "INSERT", entity: route(2) },
  ]);
  await insert(route(3));
  await insert(route(4));
  results["insert into a full table"] = await insert(route(5));
  results["no type"] = await write([{ type: "UNSPECIFIED", entity: route(9) }]);
  results["no entity"] = await write([{ type: "INSERT" }]);
  results.atomic = await write([], 5n, { atomicity: "ROLLBACK_ON_ERROR" });
  results["unknown table"] = await insert(raw({ case: "tableEntry", value: { tableId: 0x02_123_456 } }));
  const unknownTable = raw({ case: "tableEntry", value: { tableId: 0x02_123_456 } });
  results["read of an unknown table"] = await plain.read([unknownTable]);
  results["unknown counter"] = await modify(
    raw({ case: "counterEntry", value: { counterId: 7, index: { index: 0n } } }),
  );
  const member = { actionProfileId: 7, memberId: 1 };
  results["unknown profile"] = await insert(raw({ case: "actionProfileMember", value: member }));
  results["route to no action"] = await insert(
    raw({ case: "tableEntry", value: { ...entryOf(route(8)), action: undefined } }),
  );
  const routeId = schema.tables.get("forwarding.route").id;
  results["too wide"] = await insert(
    raw({
      case: "tableEntry",
      value: {
        tableId: routeId,
        match: [
          {
            fieldId: 1,
            fieldMatchType: { case: "lpm", value: { value: Buffer.alloc(5, 1), prefixLen: 32 } },
          },
        ],
      },
    }),
  );
  results["read all"] = await plain.read([build.allEntries("forwarding.route")]);
  const filtered = raw({ case: "tableEntry", value: { tableId: routeId, metadata: Buffer.of(7) } });
  results["read with a filter"] = await plain.read([filtered]);

  // Other entities.
  const [register] = schema.registers.all;
  const registerEntity = build.register(register?.name ?? "", 0);
  results["register read"] = await plain.read([registerEntity]);
  results["register write"] = await modify(registerEntity);
  results["read before a register"] = await plain.read([
    build.allEntries("forwarding.route"),
    registerEntity,
  ]);
  results["value set read"] = await plain.read([raw({ case: "valueSetEntry", value: {} })]);
  results["value set write"] = await modify(raw({ case: "valueSetEntry", value: {} }));
  results["extern read"] = await plain.read([raw({ case: "externEntry", value: {} })]);
  results["nothing to read"] = await plain.read([{}]);
  results["read of no entity"] = await plain.read([]);
  results["all direct counters"] = await plain.read([
    raw({ case: "directCounterEntry", value: { tableEntry: {} } }),
  ]);
  results["all digests"] = await plain.read([raw({ case: "digestEntry", value: {} })]);
  const counterId = schema.counters.get("forwarding.events").id;
  const counter = (value: object) => raw({ case: "counterEntry", value: { counterId, ...value } });
  results["counter reset"] = await remove(counter({ index: { index: 0n } }));
  results["all counters written"] = await modify(counter({ data: { packetCount: 1n } }));
  results["counter inserted"] = await insert(counter({ index: { index: 0n } }));

  results["clone session"] = await insert(build.cloneSession(3, [{ port: 2, instance: 1 }]));
  results["clone session again"] = await insert(build.cloneSession(3, [{ port: 2, instance: 1 }]));
  results["clone session with a class"] = await insert(
    raw({
      case: "packetReplicationEngineEntry",
      value: { type: { case: "cloneSessionEntry", value: { sessionId: 4, classOfService: 2 } } },
    }),
  );
  results["multicast group"] = await insert(build.multicastGroup(1, [{ port: 1 }, { port: 2, instance: 1 }]));
  results["multicast group that is not there"] = await remove(build.multicastGroup(9, []));
  results["commit of nothing"] = await push(5n, { action: "COMMIT" });
  results["bad JSON"] = await push(5n, { json: Buffer.from("no JSON") });
  results["push to another device"] = await push(5n, { deviceId: 9n });
  second.close();
  third.close();
  return results;
}

/** The codes of the updates of a request that failed. */
const refused = (...codes: readonly number[]) => [2, codes, "ALL-sswitch-p4org"];

/** As simple_switch_grpc answers; streams hear the device, the election id and the code of each message. */
const EXPECTED = {
  "a lower id": "1 5 6",
  "again, and then higher": "1 5 6, 1 3 0, 1 5 0",
  "all counters written": refused(12),
  "all digests": [0, 12],
  "all direct counters": [0, 12],
  "another device": "77 7 0",
  "another id, another role": "1 0 0, 1 5 0",
  atomic: 12,
  "bad JSON": 2,
  batch: refused(6, 0),
  "clone session": 0,
  "clone session again": refused(6),
  "clone session with a class": refused(12),
  "commit of nothing": 2,
  "counter inserted": refused(3),
  "counter reset": 0,
  "delete what is not there": refused(5),
  "extern read": [0, 2],
  "get with a program": 0,
  "get without a program": 9,
  insert: 0,
  "insert again": refused(6),
  "insert into a full table": refused(2),
  "modify what is not there": refused(5),
  "multicast group": 0,
  "multicast group that is not there": refused(5),
  "no entity": refused(2),
  "no id": "1 0 0",
  "no type": refused(3),
  "nothing to read": [0, 2],
  promoted: "1 5 6, 1 3 0",
  push: 0,
  "push by a backup": 7,
  "push to another device": 7,
  "read all": 4,
  "read before a register": [4, 12],
  "read of an unknown table": [0, 3],
  "read of no entity": 0,
  "read with a filter": 4,
  "read without a program": [0, 9],
  "register read": [0, 12],
  "register write": refused(12),
  "route to no action": refused(3),
  "too wide": refused(3),
  "unknown counter": refused(3),
  "unknown profile": refused(3),
  "unknown table": refused(3),
  "value set read": [0, 12],
  "value set write": refused(12),
  version: "1.3.0",
  "write by a backup": 7,
  "write to another device": 7,
  "write without a stream, with an id": 7,
  "write without a stream, without an id": 7,
};

const refusedThere = (...codes: readonly number[]) => [2, codes, "gradplane"];

/** What is otherwise where the specification is followed to the letter. */
const EXPECTED_OF_THE_SPECIFICATION = {
  "a lower id": "1 3 0",
  "again, and then higher": "1 3 0, ended 9",
  "all counters written": 0,
  "all digests": 0,
  "all direct counters": 4,
  "another device": "ended 5",
  "another id, another role": "1 undefined 5, ended 9",
  atomic: 0,
  "bad JSON": 3,
  batch: refusedThere(6, 0),
  "clone session again": refusedThere(6),
  "clone session with a class": 0,
  "commit of nothing": 5,
  "counter inserted": refusedThere(3),
  "counter reset": refusedThere(3),
  "delete what is not there": refusedThere(5),
  "extern read": [0, refusedThere(12)],
  "get without a program": 0,
  "insert again": refusedThere(6),
  "insert into a full table": refusedThere(8),
  "modify what is not there": refusedThere(5),
  "multicast group that is not there": refusedThere(5),
  "no entity": refusedThere(3),
  "no id": "1 undefined 5",
  "no type": refusedThere(3),
  "nothing to read": [0, refusedThere(3)],
  promoted: "1 3 0",
  "push to another device": 5,
  "read before a register": 5,
  "read of an unknown table": [0, refusedThere(5)],
  "read with a filter": 0,
  "register read": 1,
  "register write": refusedThere(3),
  "route to no action": refusedThere(3),
  "too wide": refusedThere(11),
  "unknown counter": refusedThere(5),
  "unknown profile": refusedThere(5),
  "unknown table": refusedThere(5),
  "value set read": 0,
  "value set write": refusedThere(3),
  version: "1.4.1",
  "write to another device": 5,
};

describe("each of these questions", () => {
  it.for(SERVERS.map((server) => [server.title, server] as const))(
    "is answered by %s as it should",
    { timeout: 120_000 },
    async ([, { isHere, isPi, start }], { skip }) => {
      if (!isHere) skip();
      const expected = isPi ? EXPECTED : { ...EXPECTED, ...EXPECTED_OF_THE_SPECIFICATION };
      expect(await ask(await start(), isPi)).toEqual(expected);
    },
  );
});
