import { resetMessage } from "../numeric/aggregator.ts";
import { parseIpv4, parseMac } from "../wire/address.ts";
import { AGGREGATION_PORT, Kind } from "../wire/aggregation.ts";
import { aggregationFrame, decodeAggregation } from "../wire/aggregationpacket.ts";
import { parseFrame } from "../wire/datagram.ts";
import { type Placement, slotResets } from "./jobs.ts";
import type { SwitchNode } from "./topology.ts";

export interface SlotResetOptions {
  /** Milliseconds after which an unanswered packet is sent again. */
  readonly timeout: number;
  /** Times that one packet is sent before the reset has failed. */
  readonly attempts: number;
  /** Packets that may be unanswered at once. */
  readonly window: number;
}

const DEFAULTS: SlotResetOptions = { timeout: 250, attempts: 20, window: 128 };

interface Pending {
  readonly frame: Uint8Array;
  sentAt: number;
  attempts: number;
}

/**
 * Resets the slots of a placement by control packets, since BMv2's P4Runtime server cannot write registers: one RESET per slot and
 * bank goes through the switch's program and comes back to the controller. It precedes the job's admission entries: from then on the
 * switch refuses copies that come late. A pure state machine; times in milliseconds.
 */
export class SlotReset {
  readonly #options: SlotResetOptions;
  readonly #placement: Placement;
  readonly #waiting: { readonly key: string; readonly frame: Uint8Array }[];
  readonly #pending = new Map<string, Pending>();
  #failed = false;

  constructor(
    placement: Placement,
    on: SwitchNode,
    format: { readonly lanes: number; readonly mode: number },
    options: Partial<SlotResetOptions> = {},
  ) {
    this.#options = { ...DEFAULTS, ...options };
    this.#placement = placement;
    const [mac, ip] = [parseMac(on.mac), parseIpv4(on.ipv4)];
    const to = {
      srcMac: mac,
      dstMac: mac,
      srcIp: ip,
      dstIp: ip,
      srcPort: AGGREGATION_PORT,
      dstPort: AGGREGATION_PORT,
    };
    this.#waiting = slotResets(placement).map(({ slot, round }) => {
      const message = resetMessage({ ...placement, ...format }, slot, round);
      return { key: keyOf(slot, round), frame: aggregationFrame(to, message) };
    });
  }

  get isDone(): boolean {
    return this.#waiting.length + this.#pending.size === 0;
  }

  /** A packet got no answer although it was sent as often as allowed. */
  get hasFailed(): boolean {
    return this.#failed;
  }

  /** Takes a packet that came to the controller; others than the wanted echoes change nothing. Says whether it was one. */
  echo(frame: Uint8Array): boolean {
    const datagram = parseFrame(frame);
    if ("refused" in datagram) return false;
    const message = decodeAggregation(datagram.payload);
    if ("refused" in message) return false;
    const { kind, job, generation, slot, round } = message.header;
    if (kind !== Kind.RESET || job !== this.#placement.job || generation !== this.#placement.generation)
      return false;
    this.#pending.delete(keyOf(slot, round));
    return true;
  }

  /** Frames to send now, through the program. */
  poll(now: number): readonly Uint8Array[] {
    const frames: Uint8Array[] = [];
    for (const pending of this.#pending.values()) {
      if (now - pending.sentAt < this.#options.timeout) continue;
      if (pending.attempts >= this.#options.attempts) {
        this.#failed = true;
        continue;
      }
      pending.sentAt = now;
      pending.attempts++;
      frames.push(pending.frame);
    }
    while (this.#pending.size < this.#options.window) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#pending.set(next.key, { frame: next.frame, sentAt: now, attempts: 1 });
      frames.push(next.frame);
    }
    return frames;
  }
}

function keyOf(slot: number, round: number): string {
  return `${slot}/${round}`;
}
