/** How fast a port or queue may send. */
export type Rate =
  | { readonly kind: "unlimited" }
  | { readonly kind: "packetsPerSecond"; readonly rate: number }
  | { readonly kind: "bitsPerSecond"; readonly rate: number };

export type SideChannelErrorCode =
  /** Nobody answers at the address, or something else does. */
  | "unreachable"
  /** The switch said no. */
  | "refused"
  /** This kind of switch has no such thing. */
  | "unsupported";

/** A request beside P4Runtime that failed; `address` is the channel's. */
export class SideChannelError extends Error {
  readonly code: SideChannelErrorCode;
  readonly address: string;

  constructor(code: SideChannelErrorCode, address: string, reason: string) {
    super(`${address}: ${reason}`);
    this.name = "SideChannelError";
    this.code = code;
    this.address = address;
  }
}

/**
 * What P4Runtime cannot reach on a switch: rates and depths of its queues, and registers (BMv2's P4Runtime has none). Queue 0 is the weakest
 * on every kind of switch. Calls of one channel are carried out in their order.
 */
export interface SideChannel {
  readonly kind: "embedded" | "bmv2" | "tofino";
  readonly address: string;
  /** The rate of a port, or of all. On BMv2 it is the rate of each of its queues. */
  setPortRate(port: number | undefined, rate: Rate): Promise<void>;
  /** The rate of one queue. */
  setQueueRate(port: number, queue: number, rate: Rate): Promise<void>;
  /** Packets that a queue holds; of all queues of a port, or of all ports, where left out. */
  setQueueDepth(place: { readonly port?: number; readonly queue?: number }, packets: number): Promise<void>;
  /** Cells of a register, as unsigned values. */
  readRegister(name: string, from: number, count: number): Promise<readonly bigint[]>;
  writeRegister(name: string, index: number, value: bigint): Promise<void>;
  close(): Promise<void>;
}
