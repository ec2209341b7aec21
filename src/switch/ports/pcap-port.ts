import { PcapWriter, readPcap } from "./pcap-file.ts";
import { type FrameListener, type FramePort, type PortStatistics, PortTally } from "./port.ts";

/** Frames that are sent in one turn of the event loop. */
const framesPerTurn = 64;

/** A switch port that receives the frames of a capture and writes what it sends to another. */
export class PcapPort implements FramePort {
  readonly name: string;
  readonly #frames: ReturnType<typeof readPcap>;
  readonly #writer: PcapWriter | undefined;
  readonly #tally = new PortTally();
  #listener: FrameListener | undefined;
  #isClosed = false;

  private constructor(name: string, frames: ReturnType<typeof readPcap>, writer: PcapWriter | undefined) {
    this.name = name;
    this.#frames = frames;
    this.#writer = writer;
  }

  /**
   * @param input capture whose frames come in when `play` is called; none if absent
   * @param output file for the frames that go out; they are counted only if absent
   * @throws PcapError
   */
  static async open(name: string, input?: string, output?: string): Promise<PcapPort> {
    const frames = input === undefined ? [] : readPcap(input);
    return new PcapPort(name, frames, output === undefined ? undefined : await PcapWriter.open(output));
  }

  send(frame: Uint8Array): void {
    if (this.#isClosed) {
      this.#tally.countError("CLOSED");
      return;
    }
    this.#tally.countSent();
    this.#writer?.write(frame, Date.now() * 1000);
  }

  onFrame(listener: FrameListener): void {
    this.#listener = listener;
  }

  /** Lets all frames in, one behind the other without the pauses between them; the time of the capture does not matter. */
  async play(): Promise<void> {
    for (const [n, { data }] of this.#frames.entries()) {
      if (this.#isClosed) return;
      this.#tally.countReceived();
      this.#listener?.(data);
      if (n % framesPerTurn === framesPerTurn - 1) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  statistics(): PortStatistics {
    return this.#tally.snapshot();
  }

  /** @throws PcapError when the output could not be written */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writer?.close();
  }
}
