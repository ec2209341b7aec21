import { type DropReason, dropReasons, type PortCounters } from "./switch-events.ts";

interface MutablePortCounters {
  rxPackets: number;
  rxBytes: number;
  txPackets: number;
  txBytes: number;
}

/** What a switch counts beside the program's own counters: packets per port, drops per reason. */
export class SwitchCounters {
  readonly drops: Record<DropReason, number>;
  /** By port number; sparse for large numbers. */
  private readonly ports: (MutablePortCounters | undefined)[] = [];

  constructor() {
    this.drops = Object.fromEntries(dropReasons.map((reason) => [reason, 0])) as Record<DropReason, number>;
  }

  private of(port: number): MutablePortCounters {
    let counters = this.ports[port];
    if (counters === undefined) {
      counters = { rxPackets: 0, rxBytes: 0, txPackets: 0, txBytes: 0 };
      this.ports[port] = counters;
    }
    return counters;
  }

  received(port: number, bytes: number): void {
    const counters = this.of(port);
    counters.rxPackets++;
    counters.rxBytes += bytes;
  }

  sent(port: number, bytes: number): void {
    const counters = this.of(port);
    counters.txPackets++;
    counters.txBytes += bytes;
  }

  port(number: number): PortCounters {
    return this.ports[number] ?? { rxPackets: 0, rxBytes: 0, txPackets: 0, txBytes: 0 };
  }

  /** Ports with any traffic, in numeric order. */
  usedPorts(): readonly number[] {
    return this.ports.flatMap((counters, port) => (counters === undefined ? [] : [port]));
  }
}
