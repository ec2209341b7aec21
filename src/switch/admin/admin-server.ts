import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { hostAndPort, withPort } from "../../p4runtime/address.ts";
import type { AdminService } from "./admin-service.ts";

/** Bytes of a request's body. */
const mostBody = 8 << 20;

/** An `AdminService` on HTTP. */
export class AdminServer {
  readonly #service: AdminService;
  readonly #server: Server;
  #address: string;

  private constructor(service: AdminService, address: string) {
    this.#service = service;
    this.#address = address;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /**
   * @param address `host:port`, port 0 for any free one
   * @throws the operating system's error when the address cannot be had
   */
  static async start(service: AdminService, address: string): Promise<AdminServer> {
    const server = new AdminServer(service, address);
    await new Promise<void>((resolve, reject) => {
      server.#server.once("error", reject);
      server.#server.listen(hostAndPort(address), resolve);
    });
    const bound = server.#server.address();
    if (typeof bound === "object" && bound !== null) server.#address = withPort(address, bound.port);
    return server;
  }

  /** Where it listens, with the port that it got. */
  get address(): string {
    return this.#address;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, type: string, body: string): void => {
      response.writeHead(status, {
        "content-type": type,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      });
      response.end(body);
    };
    // A page that a browser shows has no business here.
    const { method = "GET", headers } = request;
    if (headers.origin !== undefined) {
      send(403, "application/json", '{"error":"requests of web pages are refused"}\n');
      return;
    }
    const body = await read(request).catch(() => undefined);
    if (body === undefined) {
      send(413, "application/json", `{"error":"a body has at most ${mostBody} bytes"}\n`);
      request.destroy();
      return;
    }
    const [path = "/", query = ""] = (request.url ?? "/").split("?");
    const answer = this.#service.handle({ method, path, query: new URLSearchParams(query), body });
    send(answer.status, answer.type, answer.body);
  }
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    length += chunk.length;
    if (length > mostBody) throw new RangeError("the body is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
