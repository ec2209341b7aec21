import { parseMac } from "../wire/address.ts";
import { decodeProbe, probeFrame } from "../wire/probe.ts";
import { type LinkAction, type LinkEvent, LinkWatch, type LinkWatchOptions } from "./linkwatch.ts";
import type { Topology } from "./topology.ts";

/** A probe to be sent: a packet-out of a switch. */
export interface ProbeOut {
  readonly switch: string;
  readonly port: number;
  readonly frame: Uint8Array;
}

/** What has become of links. */
export type LinkNews = Exclude<LinkAction, { readonly kind: "probe" }>;

export interface ProbesOutcome {
  readonly send: readonly ProbeOut[];
  readonly news: readonly LinkNews[];
}

const NOTHING: ProbesOutcome = { send: [], news: [] };

/**
 * `LinkWatch` in the language of switches: its probes as frames that leave by packet-out, and what came up by packet-in as its arrivals. A
 * pure state machine, too.
 */
export class LinkProbes {
  readonly #watch: LinkWatch;
  readonly #session: number;
  readonly #macs = new Map<string, number>();
  readonly #devices = new Map<string, bigint>();
  readonly #names = new Map<bigint, string>();
  /** Packets that were no probe of this controller. */
  foreign = 0;

  /** @param session a random number of 32 bits: probes of another controller, or of the one before, are not taken for own ones. */
  constructor(topology: Topology, session: number, now: number, options: LinkWatchOptions = {}) {
    this.#watch = new LinkWatch(topology.links ?? [], now, options);
    this.#session = session >>> 0;
    for (const { name, mac, deviceId } of topology.switches) {
      this.#macs.set(name, parseMac(mac));
      this.#devices.set(name, deviceId);
      this.#names.set(deviceId, name);
    }
  }

  get wakeAt(): number {
    return this.#watch.wakeAt;
  }

  get down(): ReadonlySet<string> {
    return this.#watch.down;
  }

  tick(now: number): ProbesOutcome {
    return this.#outcome(this.#watch.handle({ kind: "tick" }, now));
  }

  /** A switch can be asked to send probes, or cannot any more. */
  switched(name: string, isReady: boolean, now: number): ProbesOutcome {
    return this.#outcome(this.#watch.handle({ kind: isReady ? "switchReady" : "switchLost", name }, now));
  }

  /** A switch has answered what it was asked at some time: it is not too slow for its probes. */
  answered(name: string, askedAt: number, now: number): void {
    this.#watch.handle({ kind: "answered", name, askedAt }, now);
  }

  /** A packet that a switch brought up. */
  packetIn(name: string, port: number, frame: Uint8Array, now: number): ProbesOutcome {
    const probe = decodeProbe(frame);
    const from = "refused" in probe ? undefined : this.#names.get(probe.device);
    if ("refused" in probe || probe.session !== this.#session || from === undefined) {
      this.foreign++;
      return NOTHING;
    }
    const event: LinkEvent = {
      kind: "arrived",
      from: { switch: from, port: probe.port },
      at: { switch: name, port },
      sequence: probe.sequence,
    };
    return this.#outcome(this.#watch.handle(event, now));
  }

  #outcome(actions: readonly LinkAction[]): ProbesOutcome {
    if (actions.length === 0) return NOTHING;
    const send: ProbeOut[] = [];
    const news: LinkNews[] = [];
    for (const action of actions) {
      if (action.kind !== "probe") {
        news.push(action);
        continue;
      }
      const { switch: name, port } = action.from;
      const { sequence } = action;
      const device = this.#devices.get(name) ?? 0n;
      const frame = probeFrame({ device, port, session: this.#session, sequence }, this.#macs.get(name) ?? 0);
      send.push({ switch: name, port, frame });
    }
    return { send, news };
  }
}
