import type { Switch } from "../switch.ts";
import type { Digest, SwitchAction } from "../switch-events.ts";
import type { FramePort } from "./port.ts";

/** What a running switch tells beside the frames on its ports. */
export interface RunnerListener {
  readonly packetIn?: (data: Uint8Array) => void;
  readonly digest?: (digest: Digest) => void;
}

export interface RunnerOptions {
  /** Microseconds since the start; `performance.now` if absent. */
  readonly clock?: () => number;
}

/**
 * Runs a switch in real time: frames of its ports go in, its actions go out to the ports, and a timer calls `tick` when
 * queues are paced. The switch itself stays free of clocks and sockets.
 */
export class SwitchRunner {
  readonly core: Switch;
  private readonly ports = new Map<number, FramePort>();
  private readonly clock: () => number;
  private listener: RunnerListener = {};
  private timer: NodeJS.Timeout | undefined = undefined;
  private unconnected = 0;

  constructor(core: Switch, options: RunnerOptions = {}) {
    this.core = core;
    const start = performance.now();
    this.clock = options.clock ?? (() => (performance.now() - start) * 1000);
  }

  /** Microseconds since the runner was made: the time that the switch sees. */
  now(): number {
    return this.clock();
  }

  /** Frames for ports that nothing is attached to. */
  get unconnectedFrames(): number {
    return this.unconnected;
  }

  attach(number: number, port: FramePort): void {
    this.ports.set(number, port);
    port.onFrame((frame) => {
      this.core.receive(number, frame, this.clock(), this.perform);
      this.schedule();
    });
  }

  port(number: number): FramePort | undefined {
    return this.ports.get(number);
  }

  /** Sets who receives packet-ins and digests. */
  listen(listener: RunnerListener): void {
    this.listener = listener;
  }

  /** Sends a packet-out, with its header in front. */
  packetOut(data: Uint8Array): void {
    this.core.handle({ kind: "packetOut", data }, this.clock(), this.perform);
    this.schedule();
  }

  private readonly perform = (action: SwitchAction): void => {
    switch (action.kind) {
      case "transmit": {
        const port = this.ports.get(action.port);
        if (port === undefined) this.unconnected++;
        else port.send(action.data);
        break;
      }
      case "toCpu":
        this.listener.packetIn?.(action.data);
        break;
      case "digest":
        this.listener.digest?.(action);
        break;
      case "drop":
        break;
    }
  };

  private schedule(): void {
    if (this.timer !== undefined) return;
    const wakeup = this.core.nextWakeup();
    if (wakeup === undefined) return;
    const delay = Math.max(0, (wakeup - this.clock()) / 1000);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.core.tick(this.clock(), this.perform);
      this.schedule();
    }, delay);
  }

  /** Stops the timer and closes all ports. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await Promise.all([...this.ports.values()].map((port) => port.close()));
    this.ports.clear();
  }
}
