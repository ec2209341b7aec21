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
  private readonly attached = new Map<number, FramePort>();
  private readonly clock: () => number;
  private listener: RunnerListener = {};
  private others: ((port: number, frame: Uint8Array, origin: number) => void) | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  /** The time for which the timer is set. */
  private wakeup = Number.POSITIVE_INFINITY;
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
    this.attached.set(number, port);
    port.onFrame((frame) => this.receive(number, frame));
  }

  /** Takes the frames of all ports that nothing is attached to, with the origin of each; with undefined they are lost again. */
  attachOthers(others: ((port: number, frame: Uint8Array, origin: number) => void) | undefined): void {
    this.others = others;
  }

  /** Lets a frame in. `origin` is a name for it, which comes with the frames that leave because of it. */
  receive(port: number, frame: Uint8Array, origin = 0): void {
    this.core.receive(port, frame, this.clock(), this.perform, origin);
    this.schedule();
  }

  port(number: number): FramePort | undefined {
    return this.attached.get(number);
  }

  get ports(): ReadonlyMap<number, FramePort> {
    return this.attached;
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
        const port = this.attached.get(action.port);
        if (port !== undefined) port.send(action.data);
        else if (this.others !== undefined) this.others(action.port, action.data, this.core.origin);
        else this.unconnected++;
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

  /** Sends what may leave now; to be called when rates have changed. */
  catchUp(): void {
    this.core.tick(this.clock(), this.perform);
    this.schedule();
  }

  private schedule(): void {
    const wakeup = this.core.nextWakeup() ?? Number.POSITIVE_INFINITY;
    // A timer that is too early only looks and sets the next.
    if (wakeup >= this.wakeup) return;
    clearTimeout(this.timer);
    this.wakeup = wakeup;
    this.timer = setTimeout(
      () => {
        this.timer = undefined;
        this.wakeup = Number.POSITIVE_INFINITY;
        this.catchUp();
      },
      Math.max(0, (wakeup - this.clock()) / 1000),
    );
  }

  /** Stops the timer and closes all ports. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await Promise.all([...this.attached.values()].map((port) => port.close()));
    this.attached.clear();
  }
}
