import { hostAndPort } from "../../p4runtime/address.ts";
import { type Rate, type SideChannel, SideChannelError } from "./sidechannel.ts";
import { type ThriftAnswer, ThriftConnection, ThriftError, type ThriftValue } from "./thrift.ts";

/** Services on the run-time port of simple_switch. */
const queues = "simple_switch";
const runtime = "standard";
/** The only context that P4Runtime knows. */
const context = 0;

const i32 = (value: number): ThriftValue => ({ type: "i32", value });
const i64 = (value: number | bigint): ThriftValue => ({ type: "i64", value: BigInt(value) });
const text = (value: string): ThriftValue => ({ type: "string", value });

/**
 * The side channel of simple_switch and simple_switch_grpc: Thrift, on the port that `--thrift-port` names. BMv2 answers 0 whatever ports and
 * queues it is told; a register with more than 63 bits does not fit its protocol.
 */
export class Bmv2SideChannel implements SideChannel {
  readonly kind = "bmv2";
  readonly address: string;
  readonly #connection: ThriftConnection;

  private constructor(address: string, connection: ThriftConnection) {
    this.address = address;
    this.#connection = connection;
  }

  /**
   * @param address `host:port`
   * @throws SideChannelError `unreachable`
   */
  static async open(address: string): Promise<Bmv2SideChannel> {
    const { host, port } = hostAndPort(address);
    try {
      return new Bmv2SideChannel(address, await ThriftConnection.open(host, port));
    } catch (error) {
      throw sideChannelError(address, error);
    }
  }

  async setPortRate(port: number | undefined, rate: Rate): Promise<void> {
    const packets = this.#packetsPerSecond(rate);
    if (port === undefined) await this.#call(queues, "set_all_egress_queue_rates", packets);
    else await this.#call(queues, "set_egress_queue_rate", i32(port), packets);
  }

  async setQueueRate(port: number, queue: number, rate: Rate): Promise<void> {
    const packets = this.#packetsPerSecond(rate);
    await this.#call(queues, "set_egress_priority_queue_rate", i32(port), i32(queue), packets);
  }

  async setQueueDepth(
    { port, queue }: { readonly port?: number; readonly queue?: number },
    packets: number,
  ): Promise<void> {
    if (port === undefined && queue !== undefined)
      throw new SideChannelError("unsupported", this.address, "BMv2 sets one queue of one port, not of all");
    if (port === undefined) await this.#call(queues, "set_all_egress_queue_depths", i32(packets));
    else if (queue === undefined) await this.#call(queues, "set_egress_queue_depth", i32(port), i32(packets));
    else await this.#call(queues, "set_egress_priority_queue_depth", i32(port), i32(queue), i32(packets));
  }

  async readRegister(name: string, from: number, count: number): Promise<readonly bigint[]> {
    const values: bigint[] = [];
    for (let index = from; index < from + count; index++) {
      const value = await this.#call(runtime, "bm_register_read", i32(context), text(name), i32(index));
      if (typeof value !== "bigint")
        throw new SideChannelError("unreachable", this.address, "what answers is no BMv2");
      values.push(value);
    }
    return values;
  }

  async writeRegister(name: string, index: number, value: bigint): Promise<void> {
    if (value !== BigInt.asUintN(63, value))
      throw new SideChannelError("unsupported", this.address, `${value} has more than 63 bits`);
    await this.#call(runtime, "bm_register_write", i32(context), text(name), i32(index), i64(value));
  }

  close(): Promise<void> {
    this.#connection.close();
    return Promise.resolve();
  }

  /** As BMv2 has it: 0 is unlimited. */
  #packetsPerSecond(rate: Rate): ThriftValue {
    if (rate.kind === "bitsPerSecond")
      throw new SideChannelError("unsupported", this.address, "BMv2 paces packets per second only");
    return i64(rate.kind === "unlimited" ? 0 : Math.max(1, Math.round(rate.rate)));
  }

  async #call(
    service: string,
    method: string,
    ...args: readonly ThriftValue[]
  ): Promise<ThriftAnswer | undefined> {
    try {
      return await this.#connection.call(service, method, ...args);
    } catch (error) {
      throw sideChannelError(this.address, error);
    }
  }
}

function sideChannelError(address: string, error: unknown): SideChannelError {
  const isRefusal = error instanceof ThriftError && error.kind === "exception";
  const reason = error instanceof Error ? error.message : String(error);
  return new SideChannelError(isRefusal ? "refused" : "unreachable", address, reason);
}
