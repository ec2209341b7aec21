import { createSocket, type Socket } from "node:dgram";
import { type AggregatorNode, frameOf } from "../../src/host/libra/aggregatornode.ts";
import type { UdpAddress } from "../../src/host/udp.ts";
import { parseIpv4 } from "../../src/wire/address.ts";
import { parseFrame } from "../../src/wire/datagram.ts";

/** A switch with UDP ports, one per host: forwards by IPv4 address, and aggregates as the golden model does. */
export class UdpFabric {
  readonly #ports = new Map<number, { readonly socket: Socket; peer?: UdpAddress }>();
  readonly #aggregator: AggregatorNode | undefined;

  constructor(aggregator?: AggregatorNode) {
    this.#aggregator = aggregator;
  }

  /** Opens the port of a host; gives where the host has to send. */
  async openPort(ip: string): Promise<UdpAddress> {
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => {
      socket.bind(0, "127.0.0.1", resolve);
    });
    this.#ports.set(parseIpv4(ip), { socket });
    socket.on("message", (frame) => this.#receive(frame));
    return socket.address();
  }

  /** Says where the host's own end is. */
  attach(ip: string, peer: UdpAddress): void {
    const port = this.#ports.get(parseIpv4(ip));
    if (port !== undefined) port.peer = peer;
  }

  close(): void {
    for (const { socket } of this.#ports.values()) socket.close();
  }

  #receive(frame: Uint8Array): void {
    const outcome = this.#aggregator?.receive(frame);
    for (const packet of outcome?.packets ?? []) this.#forward(frameOf(packet), packet.to.dstIp);
    const datagram = parseFrame(frame);
    if (outcome === undefined && !("refused" in datagram)) this.#forward(frame, datagram.dstIp);
  }

  #forward(frame: Uint8Array, ip: number): void {
    const port = this.#ports.get(ip);
    if (port?.peer !== undefined) port.socket.send(frame, port.peer.port, port.peer.address);
  }
}
