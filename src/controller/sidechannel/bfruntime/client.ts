import type { Init } from "../../../p4info/message/descriptor.ts";
import { Connection, isServiceError } from "../../../p4runtime/connection.ts";
import { method } from "../../../p4runtime/method.ts";
import {
  type Entity,
  GetForwardingPipelineConfigRequest,
  GetForwardingPipelineConfigResponse,
  ReadRequest,
  ReadResponse,
  SetForwardingPipelineConfigRequest,
  SetForwardingPipelineConfigResponse,
  StreamMessageRequest,
  StreamMessageResponse,
  type TargetDevice,
  type Update_Type,
  WriteRequest,
  WriteResponse,
} from "./generated/bfruntime.ts";
import { BfTables, dataOf, entryOf, type Fields } from "./tables.ts";

const SERVICE = "/bfrt_proto.BfRuntime";

/** The gRPC service `bfrt_proto.BfRuntime`. */
export const BfRuntimeService = {
  Write: method(`${SERVICE}/Write`, WriteRequest, WriteResponse),
  Read: method(`${SERVICE}/Read`, ReadRequest, ReadResponse, { response: true }),
  SetForwardingPipelineConfig: method(
    `${SERVICE}/SetForwardingPipelineConfig`,
    SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse,
  ),
  GetForwardingPipelineConfig: method(
    `${SERVICE}/GetForwardingPipelineConfig`,
    GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse,
  ),
  StreamChannel: method(`${SERVICE}/StreamChannel`, StreamMessageRequest, StreamMessageResponse, {
    request: true,
    response: true,
  }),
} as const;

export interface BfRuntimeOptions {
  /** `host:port`; bf_switchd has 50052. */
  readonly address: string;
  readonly deviceId?: number;
  /** One number for each client of a switch: at random when absent. */
  readonly clientId?: number;
  /** The P4 program to bind, which one client may have at a time; without it there are only the tables that are fixed in the switch. */
  readonly program?: string;
}

/** What the protocol calls all pipes, both directions, all parsers: its zeros would mean the first of each. */
const EVERYWHERE = { pipeId: 0xffff, direction: 0xff, prsrId: 0xff };
/** The name of the tables that are fixed in the switch. */
const SHARED = "$SHARED";
/** Milliseconds for one call. */
const TIMEOUT = 5000;

/**
 * A client of BFRuntime, the native interface of a Tofino's driver: what P4Runtime does not reach there, such as queues. It subscribes, binds
 * to a program, and reads and writes tables by the names that the switch itself tells.
 *
 * It was written from the protocol and is tested against a server that was, too; it has never spoken to a real switch.
 */
export class BfRuntimeClient {
  readonly address: string;
  readonly tables: BfTables;
  readonly #connection: Connection;
  readonly #options: BfRuntimeOptions;
  readonly #clientId: number;

  private constructor(options: BfRuntimeOptions, connection: Connection, clientId: number, tables: BfTables) {
    this.address = options.address;
    this.#options = options;
    this.#connection = connection;
    this.#clientId = clientId;
    this.tables = tables;
  }

  /** @throws P4RuntimeError with the address; BfTableError when what the switch tells of its tables cannot be read */
  static async open(options: BfRuntimeOptions): Promise<BfRuntimeClient> {
    const { address, program, deviceId = 0 } = options;
    const clientId = options.clientId ?? 1 + Math.floor(Math.random() * 0x7fff_fffe);
    const connection = new Connection({ address });
    const call = { timeout: TIMEOUT };
    try {
      if (program !== undefined) {
        await subscribe(connection, clientId, deviceId);
        const request = { deviceId, clientId, action: "BIND" as const, config: [{ p4Name: program }] };
        const bind = BfRuntimeService.SetForwardingPipelineConfig;
        await connection.unary("SetForwardingPipelineConfig", bind, request, call);
      }
      const get = BfRuntimeService.GetForwardingPipelineConfig;
      const found = await connection.unary("GetForwardingPipelineConfig", get, { deviceId, clientId }, call);
      const own = found.config.find((config) => config.p4Name === program)?.bfruntimeInfo;
      const texts = [own, found.nonP4Config?.bfruntimeInfo].filter((bytes) => bytes !== undefined);
      const tables = new BfTables(
        texts.filter((bytes) => bytes.length > 0).map((bytes) => new TextDecoder().decode(bytes)),
      );
      return new BfRuntimeClient(options, connection, clientId, tables);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /**
   * Writes one entry.
   *
   * @throws BfTableError when a name or value is none of this switch; P4RuntimeError when the switch refuses it
   */
  async write(
    type: Exclude<Update_Type, number>,
    name: string,
    key: Fields,
    data?: Fields,
    action?: string,
  ): Promise<void> {
    const value = entryOf(this.tables.table(name), key, data, action);
    const updates = [{ type, entity: { entity: { case: "tableEntry" as const, value } } }];
    const request = { ...this.#who(), updates, atomicity: "ROLLBACK_ON_ERROR" as const };
    await this.#connection.unary("Write", BfRuntimeService.Write, request, { timeout: TIMEOUT });
  }

  /**
   * Reads one entry.
   *
   * @param fromHardware not what the driver remembers: needed for what packets change, such as registers
   * @throws BfTableError, P4RuntimeError
   */
  async read(name: string, key: Fields, fromHardware = false): Promise<Fields> {
    const [found] = await this.readMany(name, [key], fromHardware);
    return found ?? {};
  }

  /** Reads several entries of a table at once; their data in the order of the keys. @throws BfTableError, P4RuntimeError */
  async readMany(name: string, keys: readonly Fields[], fromHardware = false): Promise<readonly Fields[]> {
    const table = this.tables.table(name);
    const entities = keys.map((key): Init<Entity> => {
      const { data: _, ...entry } = entryOf(table, key);
      return { entity: { case: "tableEntry", value: { ...entry, tableFlags: { fromHw: fromHardware } } } };
    });
    const found: Fields[] = [];
    const request = { ...this.#who(), entities };
    const call = { timeout: TIMEOUT };
    for await (const { entities: some } of this.#connection.serverStream(
      "Read",
      BfRuntimeService.Read,
      request,
      call,
    ))
      for (const { entity } of some)
        if (entity?.case === "tableEntry") found.push(dataOf(table, entity.value));
    return found;
  }

  close(): void {
    this.#connection.close();
  }

  #who(): { readonly target: TargetDevice; readonly clientId: number; readonly p4Name: string } {
    const { deviceId = 0, program = SHARED } = this.#options;
    return { target: { deviceId, ...EVERYWHERE }, clientId: this.#clientId, p4Name: program };
  }
}

/** The stream stays open as long as the connection: by it the switch knows that the client lives. */
function subscribe(connection: Connection, clientId: number, deviceId: number): Promise<void> {
  const stream = connection.duplex(BfRuntimeService.StreamChannel);
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => stream.cancel(), TIMEOUT);
    stream.on("error", (error) => {
      clearTimeout(late);
      reject(isServiceError(error) ? connection.streamError(error) : error);
    });
    stream.on("data", ({ update }: StreamMessageResponse) => {
      if (update?.case !== "subscribe") return;
      clearTimeout(late);
      const { code = 0, message = "" } = update.value.status ?? {};
      if (code === 0) resolve();
      else reject(new Error(`${connection.address}: the subscription was refused: ${message}`));
    });
    stream.write({ clientId, update: { case: "subscribe", value: { deviceId, notifications: {} } } });
  });
}
