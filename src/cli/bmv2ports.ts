import { Client, type ClientDuplexStream, credentials } from "@grpc/grpc-js";
import { decode, encode } from "../p4info/index.ts";
import { DataplanePacket } from "../switch/index.ts";
import type { OpenPort } from "./switchports.ts";

/** Packets that may wait for simple_switch_grpc; further ones are lost, as in a full socket. */
const MOST_WAITING = 1024;
/** Milliseconds between two attempts: it refuses the stream until it has a program. */
const AGAIN = 50;

type Packets = ClientDuplexStream<DataplanePacket, DataplanePacket>;

/**
 * Gives simple_switch_grpc ports that it does not have, UDP sockets and capture files, through its p4.bm.DataplaneInterface. Frames are
 * lost as on a network when one side is slow, and while the switch has no program.
 */
export class Bmv2Ports {
  readonly #client: Client;
  readonly #deviceId: bigint;
  readonly #ports: ReadonlyMap<number, OpenPort["port"]>;
  #stream: Packets | undefined;
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param address `host:port` of its DataplaneInterface */
  constructor(address: string, deviceId: bigint, opened: readonly OpenPort[]) {
    this.#client = new Client(address, credentials.createInsecure());
    this.#deviceId = deviceId;
    this.#ports = new Map(opened.map(({ number, port }) => [number, port]));
    for (const [number, port] of this.#ports) port.onFrame((frame) => this.#send(number, frame));
    this.#open();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#stream?.cancel();
    this.#client.close();
  }

  #open(): void {
    const stream: Packets = this.#client.makeBidiStreamRequest(
      "/p4.bm.DataplaneInterface/PacketStream",
      (message: DataplanePacket) => Buffer.from(encode(DataplanePacket, message)),
      (bytes: Buffer) => decode(DataplanePacket, bytes),
    );
    const again = (): void => {
      if (this.#isClosed || this.#stream !== stream) return;
      this.#stream = undefined;
      this.#timer = setTimeout(() => this.#open(), AGAIN);
    };
    stream.on("error", again);
    stream.on("end", again);
    stream.on("data", ({ port, packet }: DataplanePacket) => this.#ports.get(port)?.send(packet));
    this.#stream = stream;
    this.#waiting = 0;
  }

  #send(port: number, frame: Uint8Array): void {
    const stream = this.#stream;
    if (stream === undefined || this.#waiting >= MOST_WAITING) return;
    this.#waiting++;
    // A copy: the port uses its buffer again.
    stream.write({ id: 0n, deviceId: this.#deviceId, port, packet: Uint8Array.from(frame) }, () => {
      if (stream === this.#stream) this.#waiting--;
    });
  }
}
