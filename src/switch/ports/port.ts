/** A frame that a port received; the array is only valid during the call unless it is copied. */
export type FrameListener = (frame: Uint8Array) => void;

export interface PortStatistics {
  readonly received: number;
  readonly sent: number;
  /** Frames that could not be sent, by the reason's code (`NO_PEER`, or the operating system's). */
  readonly errors: Readonly<Record<string, number>>;
}

/** A way for frames in and out of one switch port. Sending never throws: what fails is counted. */
export interface FramePort {
  readonly name: string;
  send(frame: Uint8Array): void;
  /** Sets the one listener for received frames. */
  onFrame(listener: FrameListener): void;
  statistics(): PortStatistics;
  close(): Promise<void>;
}

/** Counts a port's frames and errors. */
export class PortTally {
  private received = 0;
  private sent = 0;
  private readonly errors: Record<string, number> = {};

  countReceived(): void {
    this.received++;
  }

  countSent(): void {
    this.sent++;
  }

  countError(code: string): void {
    this.errors[code] = (this.errors[code] ?? 0) + 1;
  }

  snapshot(): PortStatistics {
    return { received: this.received, sent: this.sent, errors: { ...this.errors } };
  }
}

/** The code of an operating system's error, or its name. */
export function errorCode(error: unknown): string {
  if (error instanceof Error)
    return "code" in error && typeof error.code === "string" ? error.code : error.name;
  return "UNKNOWN";
}
