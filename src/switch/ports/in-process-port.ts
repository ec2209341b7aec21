import { type FrameListener, type FramePort, type PortStatistics, PortTally } from "./port.ts";

/** One end of a link inside the process: what one end sends, the other receives at once. */
export class InProcessPort implements FramePort {
  readonly name: string;
  private peer: InProcessPort | undefined = undefined;
  private listener: FrameListener | undefined = undefined;
  private readonly tally = new PortTally();

  constructor(name: string) {
    this.name = name;
  }

  /** Makes two ends that face each other. */
  static link(a: string, b: string): readonly [InProcessPort, InProcessPort] {
    const left = new InProcessPort(a);
    const right = new InProcessPort(b);
    left.peer = right;
    right.peer = left;
    return [left, right];
  }

  send(frame: Uint8Array): void {
    const { peer } = this;
    if (peer?.listener === undefined) {
      this.tally.countError("NO_PEER");
      return;
    }
    this.tally.countSent();
    peer.tally.countReceived();
    peer.listener(frame);
  }

  onFrame(listener: FrameListener): void {
    this.listener = listener;
  }

  statistics(): PortStatistics {
    return this.tally.snapshot();
  }

  close(): Promise<void> {
    if (this.peer !== undefined) this.peer.peer = undefined;
    this.peer = undefined;
    this.listener = undefined;
    return Promise.resolve();
  }
}
