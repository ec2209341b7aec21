import { connect } from "node:http2";

/** A client that sends requests that are bytes already, one after the other, so that what is measured is the server. */
export class BareGrpc {
  readonly #session;

  constructor(address: string) {
    this.#session = connect(`http://${address}`);
  }

  /** One unary call; the answer is not looked at. @throws Error with the status when it is not OK */
  call(path: string, message: Uint8Array): Promise<void> {
    const frame = Buffer.allocUnsafe(5 + message.length);
    frame[0] = 0;
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, 5);
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ":method": "POST",
        ":path": path,
        "content-type": "application/grpc",
        te: "trailers",
      });
      let status: unknown;
      stream.on("response", (headers) => {
        status = headers["grpc-status"];
      });
      stream.on("trailers", (headers) => {
        status = headers["grpc-status"];
      });
      stream.on("error", reject);
      stream.on("end", () =>
        status === "0" ? resolve() : reject(new Error(`${path} ended with status ${status}`)),
      );
      stream.resume();
      stream.end(frame);
    });
  }

  close(): void {
    this.#session.close();
  }
}
