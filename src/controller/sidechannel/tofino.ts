import { P4RuntimeError } from "../../p4runtime/call-error.ts";
import { Code } from "../../p4runtime/code.ts";
import { BfRuntimeClient, type BfRuntimeOptions } from "./bfruntime/client.ts";
import { BfTableError, type Fields, type FieldValue } from "./bfruntime/tables.ts";
import { type Rate, type SideChannel, SideChannelError } from "./sidechannel.ts";

export interface TofinoOptions extends BfRuntimeOptions {
  /** Which generation's tables: `tf1`. */
  readonly generation?: "tf1" | "tf2" | "tf3";
  /** Whose cells of a register are read: each pipe has its own. */
  readonly pipe?: number;
}

/** Buffer cells of Tofino 1 are 80 bytes; a full packet of 1500 with its headers takes so many. */
const CELLS_PER_PACKET = 19;
/** Bytes that a port may send at once after a pause. */
const BURST = 16_384;

/**
 * The side channel of a Tofino: BFRuntime. Its queues are known by a port group and a number in it, which the table of ports tells. Written
 * from the protocol; it has never spoken to a real switch.
 */
export class TofinoSideChannel implements SideChannel {
  readonly kind = "tofino";
  readonly address: string;
  readonly #client: BfRuntimeClient;
  readonly #tm: string;
  readonly #pipe: number;

  private constructor(options: TofinoOptions, client: BfRuntimeClient) {
    this.address = options.address;
    this.#client = client;
    this.#tm = `${options.generation ?? "tf1"}.tm`;
    this.#pipe = options.pipe ?? 0;
  }

  /** @throws SideChannelError `unreachable`, or `refused` when another client is bound to the program */
  static async open(options: TofinoOptions): Promise<TofinoSideChannel> {
    try {
      return new TofinoSideChannel(options, await BfRuntimeClient.open(options));
    } catch (error) {
      throw sideChannelError(options.address, error);
    }
  }

  async setPortRate(port: number | undefined, rate: Rate): Promise<void> {
    if (port === undefined)
      throw new SideChannelError("unsupported", this.address, "a Tofino's ports are set one by one");
    await this.#shape("port", { dev_port: port }, rate);
  }

  async setQueueRate(port: number, queue: number, rate: Rate): Promise<void> {
    await this.#shape("queue", await this.#queue(port, queue), rate);
  }

  async setQueueDepth(
    { port, queue }: { readonly port?: number; readonly queue?: number },
    packets: number,
  ): Promise<void> {
    if (port === undefined || queue === undefined)
      throw new SideChannelError("unsupported", this.address, "a Tofino's queues are set one by one");
    const data = {
      pool_id: "EG_APP_POOL_0",
      pool_max_cells: packets * CELLS_PER_PACKET,
      tail_drop_enable: true,
    };
    await this.#write("queue.buffer", await this.#queue(port, queue), data, "shared_pool");
  }

  async readRegister(name: string, from: number, count: number): Promise<readonly bigint[]> {
    return this.#asked(async () => {
      const keys = Array.from({ length: count }, (_, i) => ({ $REGISTER_INDEX: from + i }));
      const cells = await this.#client.readMany(name, keys, true);
      return cells.map((cell) => {
        const [value] = Object.entries(cell).flatMap(([field, v]) => (field.startsWith("$") ? [] : [v]));
        return this.#ofPipe(name, value);
      });
    });
  }

  async writeRegister(name: string, index: number, value: bigint): Promise<void> {
    await this.#asked(async () => {
      const [field] = this.#client.tables.table(name).data;
      await this.#client.write("MODIFY", name, { $REGISTER_INDEX: index }, { [field?.name ?? ""]: value });
    });
  }

  close(): Promise<void> {
    this.#client.close();
    return Promise.resolve();
  }

  async #shape(what: "port" | "queue", key: Fields, rate: Rate): Promise<void> {
    if (rate.kind === "unlimited") {
      await this.#write(`${what}.sched_cfg`, key, { max_rate_enable: false });
      return;
    }
    // In kilobits per second, or in packets per second.
    const isBits = rate.kind === "bitsPerSecond";
    const data = {
      unit: isBits ? "BPS" : "PPS",
      provisioning: "UPPER",
      max_rate: Math.max(1, Math.round(isBits ? rate.rate / 1000 : rate.rate)),
      max_burst_size: isBits ? Math.ceil((BURST * 8) / 1000) : 16,
    };
    await this.#write(`${what}.sched_shaping`, key, data);
    await this.#write(`${what}.sched_cfg`, key, { max_rate_enable: true });
  }

  /** The key of a queue of a port. */
  async #queue(port: number, queue: number): Promise<Fields> {
    const { pg_id, egress_qid_queues } = await this.#asked(() =>
      this.#client.read(`${this.#tm}.port.cfg`, { dev_port: port }),
    );
    const pg_queue = Array.isArray(egress_qid_queues) ? egress_qid_queues[queue] : undefined;
    if (typeof pg_id !== "bigint" || pg_queue === undefined)
      throw new SideChannelError("refused", this.address, `port ${port} has no queue ${queue}`);
    return { pg_id, pg_queue };
  }

  async #write(table: string, key: Fields, data: Fields, action?: string): Promise<void> {
    await this.#asked(() => this.#client.write("MODIFY", `${this.#tm}.${table}`, key, data, action));
  }

  #ofPipe(name: string, value: FieldValue | undefined): bigint {
    const own = Array.isArray(value) ? value[this.#pipe] : value;
    if (typeof own === "bigint") return own;
    throw new SideChannelError("refused", this.address, `register ${name} has no pipe ${this.#pipe}`);
  }

  async #asked<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      throw sideChannelError(this.address, error);
    }
  }
}

function sideChannelError(address: string, error: unknown): SideChannelError {
  if (error instanceof SideChannelError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  if (error instanceof BfTableError) return new SideChannelError("unsupported", address, reason);
  const isSilent =
    error instanceof P4RuntimeError &&
    [Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED, Code.UNIMPLEMENTED].some(
      (code) => code === error.code,
    );
  return new SideChannelError(isSilent ? "unreachable" : "refused", address, reason);
}
