import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { hostAndPort } from "../p4runtime/address.ts";
import type { Fleet, FleetNotice } from "./fleet.ts";
import { metricsOf } from "./metrics.ts";
import { PAGE } from "./page.ts";
import { plainText } from "./statefile.ts";
import { linkName, type Topology, TopologyError } from "./topology.ts";

export interface WebPageOptions {
  readonly fleet: Fleet;
  readonly topology: Topology;
  /** `host:port`, port 0 for any free one. */
  readonly address: string;
  /** Needed for what changes something; made up when it is not given. */
  readonly token?: string;
}

/** Notices that a page gets when it is opened. */
const REMEMBERED = 200;

/**
 * What a browser and Prometheus see of a controller: `/` a page, `/status` the same as JSON, `/events` notices as they come (server-sent
 * events), `/metrics`, and `POST /drain/NAME` and `/restore/NAME` for who has the token.
 */
export class WebPage {
  readonly token: string;
  readonly #options: WebPageOptions;
  readonly #server: Server;
  readonly #listeners = new Set<ServerResponse>();
  readonly #recent: string[] = [];
  #notices = 0;

  private constructor(options: WebPageOptions) {
    this.#options = options;
    this.token = options.token ?? randomBytes(16).toString("hex");
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** @throws Error of node:net when the address cannot be had */
  static async start(options: WebPageOptions): Promise<WebPage> {
    const page = new WebPage(options);
    await new Promise<void>((resolve, reject) => {
      page.#server.once("error", reject);
      page.#server.listen(hostAndPort(options.address), resolve);
    });
    return page;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Tells all pages that are open, and those that will be. */
  notice(notice: FleetNotice): void {
    this.#notices++;
    const told = { time: new Date().toISOString(), ...notice };
    const event = `id: ${this.#notices}\ndata: ${plainText(told)}\n\n`;
    this.#recent.push(event);
    if (this.#recent.length > REMEMBERED) this.#recent.shift();
    // One that does not read would make this process grow.
    for (const listener of this.#listeners)
      if (listener.writableLength > 1 << 20) listener.destroy();
      else listener.write(event);
  }

  close(): Promise<void> {
    for (const listener of this.#listeners) listener.destroy();
    this.#server.closeAllConnections();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    if (request.method === "POST") {
      await this.#change(pathname, request, response);
      return;
    }
    switch (pathname) {
      case "/":
        answer(response, 200, "text/html; charset=utf-8", PAGE);
        return;
      case "/status":
        answer(response, 200, "application/json", JSON.stringify(this.#status()));
        return;
      case "/metrics":
        answer(response, 200, "text/plain; version=0.0.4", metricsOf(this.#options.fleet));
        return;
      case "/events":
        response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
        response.write(this.#recent.join("") || ": nothing yet\n\n");
        this.#listeners.add(response);
        response.on("close", () => this.#listeners.delete(response));
        return;
      case "/favicon.ico":
        response.writeHead(204).end();
        return;
      default:
        answer(response, 404, "text/plain", "there is no such page\n");
    }
  }

  async #change(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isToken(request.headers.authorization, this.token)) {
      answer(response, 403, "text/plain", "the token is missing or wrong\n");
      return;
    }
    const [, what, name = ""] = path.split("/");
    try {
      const decoded = decodeURIComponent(name);
      if (what === "drain") await this.#options.fleet.drain(decoded);
      else if (what === "restore") await this.#options.fleet.restore(decoded);
      else {
        answer(response, 404, "text/plain", "drain or restore what?\n");
        return;
      }
      answer(response, 200, "text/plain", "done\n");
    } catch (error) {
      const isWrong = error instanceof TopologyError || error instanceof URIError;
      answer(
        response,
        isWrong ? 400 : 500,
        "text/plain",
        `${error instanceof Error ? error.message : String(error)}\n`,
      );
    }
  }

  #status(): object {
    const { fleet, topology } = this.#options;
    const states = fleet.linkStates();
    return {
      switches: fleet.status(),
      hosts: topology.hosts.map(({ name, attachments }) => ({ name, attachments })),
      links: (topology.links ?? []).map(({ ends, weight = 1 }, i) => {
        const isUp = states[i]?.isUp;
        return {
          name: linkName(ends),
          ends,
          weight,
          state: isUp === undefined ? "unknown" : isUp ? "up" : "down",
        };
      }),
      jobs: fleet.jobStates(),
      slots: fleet.slots,
    };
  }
}

function isToken(header: string | undefined, token: string): boolean {
  const given = Buffer.from(header ?? "");
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function answer(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    "content-type": type,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'self' 'unsafe-inline'",
  });
  response.end(text);
}
