import { createSocket, type Socket } from "node:dgram";
import { errorCode, type FrameListener, type FramePort, type PortStatistics, PortTally } from "./port.ts";

/** A UDP port of this machine. */
export interface UdpPeer {
  readonly port: number;
}

export interface UdpPortOptions {
  /** UDP port of 127.0.0.1 to listen on; any free one if absent or 0. */
  readonly port?: number;
  /** Where frames go; to whoever sent last if absent. */
  readonly peer?: UdpPeer;
}

const host = "127.0.0.1";
/** Bursts of small frames should find room; the kernel cuts the size to what it allows. */
const bufferSize = 1 << 22;

/** A switch port on 127.0.0.1: each datagram is one whole Ethernet frame. Nothing that arrives or fails is thrown; it is counted. */
export class UdpPort implements FramePort {
  readonly name: string;
  readonly localPort: number;
  private readonly socket: Socket;
  private readonly learns: boolean;
  private peer: UdpPeer | undefined;
  private listener: FrameListener | undefined = undefined;
  private closing: Promise<void> | undefined = undefined;
  private readonly tally = new PortTally();

  private constructor(name: string, socket: Socket, options: UdpPortOptions) {
    this.name = name;
    this.socket = socket;
    this.localPort = socket.address().port;
    this.peer = options.peer;
    this.learns = options.peer === undefined;
    socket.on("message", (frame, from) => {
      this.tally.countReceived();
      if (this.learns) this.peer = from;
      this.listener?.(frame);
    });
    // Some systems report here that nobody listens at the other end; the frame is lost, as on a cable.
    socket.on("error", (error) => this.tally.countError(errorCode(error)));
  }

  /** Rejects with the operating system's error (`code` such as EADDRINUSE) when the UDP port can't be had. */
  static open(name: string, options: UdpPortOptions = {}): Promise<UdpPort> {
    const socket = createSocket({ type: "udp4", recvBufferSize: bufferSize, sendBufferSize: bufferSize });
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        socket.close();
        reject(error);
      };
      socket.once("error", fail);
      socket.bind(options.port ?? 0, host, () => {
        socket.off("error", fail);
        resolve(new UdpPort(name, socket, options));
      });
    });
  }

  send(frame: Uint8Array): void {
    if (this.closing !== undefined) {
      this.tally.countError("CLOSED");
      return;
    }
    if (this.peer === undefined) {
      this.tally.countError("NO_PEER");
      return;
    }
    this.tally.countSent();
    this.socket.send(frame, this.peer.port, host, (error) => {
      if (error !== null) this.tally.countError(errorCode(error));
    });
  }

  onFrame(listener: FrameListener): void {
    this.listener = listener;
  }

  statistics(): PortStatistics {
    return this.tally.snapshot();
  }

  close(): Promise<void> {
    this.closing ??= new Promise((resolve) => this.socket.close(() => resolve()));
    return this.closing;
  }
}
