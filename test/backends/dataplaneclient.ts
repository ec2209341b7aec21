import { Client, type ClientDuplexStream, credentials } from "@grpc/grpc-js";
import { decode, encode } from "../../src/p4info/index.ts";
import { DataplanePacket, SetPortOperStatusRequest } from "../../src/switch/dataplane/dataplane-messages.ts";

const serialize = (p: DataplanePacket): Buffer => Buffer.from(encode(DataplanePacket, p));
const deserialize = (b: Buffer): DataplanePacket => decode(DataplanePacket, b);

/** Fewer than a queue of simple_switch holds, so that a burst loses nothing. */
const BURST = 40;

/** Packets into a switch and out of it by p4.bm.DataplaneInterface. */
export class DataplaneClient {
  readonly #client: Client;
  readonly #device: bigint;

  constructor(address: string, device: bigint) {
    this.#client = new Client(address, credentials.createInsecure());
    this.#device = device;
  }

  stream(): ClientDuplexStream<DataplanePacket, DataplanePacket> {
    return this.#client.makeBidiStreamRequest(
      "/p4.bm.DataplaneInterface/PacketStream",
      serialize,
      deserialize,
    );
  }

  /** Sends packets, `burst` at a time; answers for each what came out because of it, `port:bytes`, sorted. */
  async send(
    packets: readonly { readonly port: number; readonly data: Uint8Array }[],
    burst: number = BURST,
  ): Promise<readonly (readonly string[])[]> {
    const out: string[][] = packets.map(() => []);
    for (let at = 0; at < packets.length; at += burst)
      await this.#exchange(packets.slice(at, at + burst), at + 1, (p) =>
        out[Number(p.id) - 1]?.push(`${p.port}:${Buffer.from(p.packet).toString("hex")}`),
      );
    return out.map((list) => list.sort());
  }

  /** Sends packets in one go; answers what came out, in its order. */
  async burst(
    packets: readonly { readonly port: number; readonly data: Uint8Array }[],
  ): Promise<readonly DataplanePacket[]> {
    const out: DataplanePacket[] = [];
    await this.#exchange(packets, 1, (packet) => out.push(packet));
    return out;
  }

  #exchange(
    packets: readonly { readonly port: number; readonly data: Uint8Array }[],
    firstId: number,
    onPacket: (packet: DataplanePacket) => void,
  ): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const stream = this.stream();
      stream.on("data", onPacket);
      stream.on("error", reject);
      stream.on("end", resolve);
      packets.forEach((p, i) => {
        stream.write({ id: BigInt(firstId + i), deviceId: this.#device, port: p.port, packet: p.data });
      });
      // The server ends its side when all packets have gone through.
      stream.end();
    });
  }

  /** @throws the server's error */
  setPortStatus(request: SetPortOperStatusRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        "/p4.bm.DataplaneInterface/SetPortOperStatus",
        (message: SetPortOperStatusRequest) => Buffer.from(encode(SetPortOperStatusRequest, message)),
        (bytes: Buffer) => bytes,
        request,
        (error) => (error === null ? resolve() : reject(error)),
      );
    });
  }

  close(): void {
    this.#client.close();
  }
}
