import {
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { onTestFinished } from "vitest";
import { BfRuntimeService } from "../../src/controller/sidechannel/bfruntime/client.ts";
import type {
  DataField,
  GetForwardingPipelineConfigRequest,
  GetForwardingPipelineConfigResponse,
  ReadRequest,
  ReadResponse,
  SetForwardingPipelineConfigRequest,
  SetForwardingPipelineConfigResponse,
  StreamMessageRequest,
  StreamMessageResponse,
  TableEntry,
  WriteRequest,
  WriteResponse,
} from "../../src/controller/sidechannel/bfruntime/generated/bfruntime.ts";
import type { Init } from "../../src/p4info/message/descriptor.ts";

interface Handlers {
  readonly Write: handleUnaryCall<WriteRequest, Init<WriteResponse>>;
  readonly Read: handleServerStreamingCall<ReadRequest, Init<ReadResponse>>;
  readonly SetForwardingPipelineConfig: handleUnaryCall<
    SetForwardingPipelineConfigRequest,
    Init<SetForwardingPipelineConfigResponse>
  >;
  readonly GetForwardingPipelineConfig: handleUnaryCall<
    GetForwardingPipelineConfigRequest,
    Init<GetForwardingPipelineConfigResponse>
  >;
  readonly StreamChannel: handleBidiStreamingCall<StreamMessageRequest, Init<StreamMessageResponse>>;
}

const field = (id: number, name: string, type: object, repeated = false) => ({
  singleton: { id, name, repeated, type },
});
const uint = (bits: number) => ({ type: `uint${bits}` });
const key = (id: number, name: string, bits: number) => ({ id, name, match_type: "Exact", type: uint(bits) });

/** The tables that the tests use, in the form of bf-rt.json: those of a program, and those that are fixed. */
const PROGRAM = JSON.stringify({
  tables: [
    {
      name: "pipe.Ingress.slots",
      id: 10,
      key: [key(1, "$REGISTER_INDEX", 32)],
      data: [field(2, "Ingress.slots.f1", { type: "bytes", width: 36 })],
    },
  ],
});
const FIXED = JSON.stringify({
  tables: [
    {
      name: "tf1.tm.port.cfg",
      id: 20,
      key: [key(1, "dev_port", 32)],
      data: [field(2, "pg_id", uint(32)), field(3, "egress_qid_queues", uint(32), true)],
    },
    ...["port", "queue"].flatMap((what, i) => [
      {
        name: `tf1.tm.${what}.sched_shaping`,
        id: 30 + i,
        key: what === "port" ? [key(1, "dev_port", 32)] : [key(1, "pg_id", 32), key(2, "pg_queue", 32)],
        data: [
          field(11, "unit", { type: "string" }),
          field(12, "provisioning", { type: "string" }),
          field(13, "max_rate", uint(64)),
          field(14, "max_burst_size", uint(32)),
        ],
      },
      {
        name: `tf1.tm.${what}.sched_cfg`,
        id: 40 + i,
        key: what === "port" ? [key(1, "dev_port", 32)] : [key(1, "pg_id", 32), key(2, "pg_queue", 32)],
        data: [field(11, "max_rate_enable", { type: "bool" })],
      },
    ]),
    {
      name: "tf1.tm.queue.buffer",
      id: 50,
      key: [key(1, "pg_id", 32), key(2, "pg_queue", 32)],
      action_specs: [
        {
          id: 51,
          name: "shared_pool",
          data: [
            field(11, "pool_id", { type: "string" }),
            field(12, "pool_max_cells", uint(32)),
            field(13, "tail_drop_enable", { type: "bool" }),
          ],
        },
      ],
    },
  ],
});

/** Bytes of each key field, by table: the protocol takes neither more nor fewer. */
const KEY_BYTES = 4;
const PIPES = 4;
export const QUEUES = [24, 25, 26, 27];

export interface FakeBfRuntime {
  readonly address: string;
  /** What was written, as text: `table key-values: field=value`. */
  readonly written: string[];
}

/** A server of BFRuntime, as the protocol has it: a subscription before a bind, one client for a program, all parts of the target named. */
export async function startBfRuntime(): Promise<FakeBfRuntime> {
  const server = new Server();
  const written: string[] = [];
  const registers = new Map<string, Uint8Array>();
  const subscribed = new Set<number>();
  let bound: number | undefined;
  const refusal = (code: status, details: string): Partial<ServiceError> => ({ code, details });
  const check = (request: {
    readonly target?:
      | { readonly pipeId: number; readonly direction: number; readonly prsrId: number }
      | undefined;
    readonly clientId: number;
    readonly p4Name: string;
  }): Partial<ServiceError> | undefined => {
    const { target, clientId, p4Name } = request;
    if (target?.pipeId !== 0xffff || target.direction !== 0xff || target.prsrId !== 0xff)
      return refusal(status.INVALID_ARGUMENT, "the target is one pipe");
    if (p4Name !== "$SHARED" && bound !== clientId) return refusal(status.PERMISSION_DENIED, "not bound");
    return undefined;
  };
  const keyOf = (entry: TableEntry): string =>
    entry.value?.case === "key"
      ? entry.value.value.fields
          .map((f) => Buffer.from(f.matchType?.value.value ?? []).toString("hex"))
          .join(" ")
      : "";
  const isKey = (entry: TableEntry): boolean =>
    entry.value?.case === "key" &&
    entry.value.value.fields.every((f) => f.matchType?.value.value.length === KEY_BYTES);
  const text = ({ fieldId, value }: DataField): string =>
    `${fieldId}=${value?.case === "stream" ? Buffer.from(value.value).toString("hex") : String(value?.value)}`;
  const handlers: Handlers = {
    StreamChannel: (call) => {
      call.on("data", ({ clientId, update }) => {
        const isTwice = subscribed.has(clientId);
        subscribed.add(clientId);
        const answer = isTwice
          ? { code: status.ALREADY_EXISTS, message: "the client id is taken" }
          : { code: 0 };
        call.write({ update: { case: "subscribe", value: { ...update?.value, status: answer } } });
      });
      call.on("end", () => call.end());
      call.on("cancelled", () => {});
    },
    SetForwardingPipelineConfig: (call, answer) => {
      const { clientId, config } = call.request;
      if (!subscribed.has(clientId)) answer(refusal(status.FAILED_PRECONDITION, "not subscribed"));
      else if (config.length !== 1 || config[0]?.p4Name !== "libra")
        answer(refusal(status.INVALID_ARGUMENT, `there is no program ${config[0]?.p4Name}`));
      else if (bound !== undefined && bound !== clientId)
        answer(refusal(status.ALREADY_EXISTS, "another client is bound to libra"));
      else {
        bound = clientId;
        answer(null, {});
      }
    },
    GetForwardingPipelineConfig: (_, answer) =>
      answer(null, {
        config: [{ p4Name: "libra", bfruntimeInfo: Buffer.from(PROGRAM) }],
        nonP4Config: { bfruntimeInfo: Buffer.from(FIXED) },
      }),
    Write: (call, answer) => {
      const wrong = check(call.request);
      if (wrong !== undefined) {
        answer(wrong);
        return;
      }
      for (const { type, entity } of call.request.updates) {
        const entry = entity?.entity?.value;
        if (entry === undefined || !isKey(entry) || type !== "MODIFY") {
          answer(refusal(status.INVALID_ARGUMENT, "not as many bytes as the key has"));
          return;
        }
        const [value] = entry.data?.fields ?? [];
        if (entry.tableId === 10 && value?.value?.case === "stream")
          registers.set(keyOf(entry), value.value.value);
        const action = entry.data?.actionId ?? 0;
        const data = (entry.data?.fields ?? []).map(text).join(" ");
        written.push(`${entry.tableId} ${keyOf(entry)}${action === 0 ? "" : ` ${action}`}: ${data}`);
      }
      answer(null, {});
    },
    Read: (call) => {
      const wrong = check(call.request);
      if (wrong !== undefined) {
        call.emit("error", wrong);
        return;
      }
      for (const { entity } of call.request.entities) {
        const entry = entity?.case === "tableEntry" ? entity.value : undefined;
        if (entry === undefined) continue;
        const fields =
          entry.tableId === 20
            ? keyOf(entry) === "00000080"
              ? [
                  { fieldId: 2, value: { case: "stream" as const, value: Buffer.from([0, 0, 0, 3]) } },
                  { fieldId: 3, value: { case: "intArrVal" as const, value: { val: QUEUES } } },
                ]
              : []
            : // Each pipe has its own register; this one was written in all.
              Array.from({ length: PIPES }, () => ({
                fieldId: 2,
                value: { case: "stream" as const, value: registers.get(keyOf(entry)) ?? new Uint8Array(5) },
              }));
        call.write({ entities: [{ entity: { case: "tableEntry", value: { ...entry, data: { fields } } } }] });
      }
      call.end();
    },
  };
  server.addService(BfRuntimeService, { ...handlers });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  onTestFinished(() => server.forceShutdown());
  return { address: `127.0.0.1:${port}`, written };
}
