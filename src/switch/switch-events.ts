import type { RandomSource } from "./engine/random.ts";
import type { TraceEvent } from "./engine/trace.ts";
import { queueDropReasons } from "./trafficmanager/queue.ts";

/** v1model's drop port in simple_switch. */
export const defaultDropPort = 511;

/** The hardware that a switch behaves as. */
export type Personality = "v1model" | "tna";

export interface SwitchOptions {
  /**
   * `v1model` (the default): simple_switch, whose programs are BMv2 JSON. `tna`: Tofino 1, whose programs are what
   * `gradplane build --target tna` writes as tna/NAME.json. It is gradplane's own model of the chip and not the vendor's.
   */
  readonly personality?: Personality;
  /** Pipes of a Tofino, 2 or 4; 2 if absent. Their ports are device ports: the pipe in bits 8 and 7, 0 to 63 within it. */
  readonly pipes?: 2 | 4;
  /** Packets for this port are handed out as `toCpu`, and `packetOut` comes in on it. */
  readonly cpuPort?: number;
  /** `mark_to_drop` sets egress_spec to this; 511 if absent. */
  readonly dropPort?: number;
  /** Strict-priority queues per port, 1 to 8; 8 if absent. A packet with a higher `priority` is dropped. */
  readonly priorityQueues?: number;
  /** Packets that a queue holds; 64 if absent, as in simple_switch. */
  readonly queueDepth?: number;
  /** Whether a port's rate is shared by its queues (`port`, the default) or each queue's own (`queue`, as in BMv2). */
  readonly pacing?: "port" | "queue";
  /**
   * Code points (DSCP) of packets that a queue with a `drop` threshold may drop. Without them it is what is not ECN-capable, as the drop
   * feature has it.
   */
  readonly droppableDscp?: readonly number[];
  /** Passes through ingress (resubmit, recirculate) after which a packet is dropped; 1000 if absent. */
  readonly maxPasses?: number;
  /** Ports that exist; packets for others are dropped with reason `noSuchPort`. All ports exist if absent. */
  readonly ports?: readonly number[];
  /** Source of random numbers; seeded with 1 if absent, so that runs repeat. */
  readonly random?: RandomSource;
  /** Takes the messages of log_msg. */
  readonly log?: (message: string) => void;
}

/**
 * Why a packet, or a copy of one, ended inside the switch. Only on a Tofino: ingress gave no port (`noDestination`), the parser came
 * to an end that the program does not ask for (`parserError`), or the packet met a register a second time (`registerTwice`).
 */
export const dropReasons = [
  "noPipeline",
  "ingressDrop",
  "egressDrop",
  "emptyMulticastGroup",
  "noCloneSession",
  "noSuchPort",
  ...queueDropReasons,
  "noDestination",
  "parserError",
  "registerTwice",
  "tooManyPasses",
  "emptyFrame",
  "pipelineReplaced",
] as const;

export type DropReason = (typeof dropReasons)[number];

/** What goes into the switch. */
export type SwitchEvent =
  | { readonly kind: "packet"; readonly port: number; readonly data: Uint8Array }
  /** From the control plane: arrives on the CPU port, with the packet_out header in front. */
  | { readonly kind: "packetOut"; readonly data: Uint8Array };

/** A digest sample: the values of the list's fields, in order, as unsigned bits. */
export interface Digest {
  readonly list: string;
  readonly listId: number;
  readonly values: readonly bigint[];
}

/** What comes out of the switch. Frames are memory of their own: they may be kept and changed. */
export type SwitchAction =
  | { readonly kind: "transmit"; readonly port: number; readonly data: Uint8Array }
  /** For the control plane, with the packet_in header in front. */
  | { readonly kind: "toCpu"; readonly data: Uint8Array }
  | ({ readonly kind: "digest" } & Digest)
  | { readonly kind: "drop"; readonly reason: DropReason; readonly port: number };

/** Receives actions one by one; the way without an array per packet. */
export type SwitchSink = (action: SwitchAction) => void;

export interface PortCounters {
  readonly rxPackets: number;
  readonly rxBytes: number;
  readonly txPackets: number;
  readonly txBytes: number;
}

/** One packet's way through the switch. */
export interface TracedPacket {
  readonly actions: readonly SwitchAction[];
  readonly events: readonly TraceEvent[];
}
