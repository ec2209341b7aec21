import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { hostAndPort } from "../p4runtime/address.ts";
import type { Fleet, FleetNotice } from "./fleet.ts";
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
    const event = `id: ${this.#notices}\ndata: ${plainText(notice)}\n\n`;
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
    return {
      switches: fleet.status(),
      hosts: topology.hosts.map(({ name, attachments }) => ({ name, attachments })),
      links: (topology.links ?? []).map(({ ends, weight = 1 }) => ({ name: linkName(ends), ends, weight })),
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

/** Figures for Prometheus, in its text format. */
export function metricsOf(fleet: Pick<Fleet, "status">): string {
  const switches = fleet.status();
  const family = (
    name: string,
    type: "gauge" | "counter",
    help: string,
    value: (s: (typeof switches)[number]) => number,
  ): string => {
    const lines = switches.map((s) => `gradplane_${name}{switch="${label(s.name)}"} ${value(s)}`);
    return [`# HELP gradplane_${name} ${help}`, `# TYPE gradplane_${name} ${type}`, ...lines].join("\n");
  };
  return `${[
    family("switch_ready", "gauge", "1: connected, primary, as wanted", (s) =>
      s.state.kind === "ready" ? 1 : 0,
    ),
    family("switch_drained", "gauge", "1: kept empty", (s) => (s.isDrained ? 1 : 0)),
    family("switch_entries", "gauge", "entities that are wanted", (s) =>
      s.state.kind === "ready" ? s.state.entries : 0,
    ),
    family("switch_connects_total", "counter", "connections that came about", (s) => s.connects),
    family("updates_written_total", "counter", "updates that the switch took", (s) => s.updates),
    family("repairs_failed_total", "counter", "repairs that failed", (s) => s.failures),
    family("drift_entities", "gauge", "entities of somebody else", (s) => s.drift),
  ].join("\n")}\n`;
}

function label(name: string): string {
  return name.replace(/[\\"\n]/g, (c) => (c === "\n" ? "\\n" : `\\${c}`));
}

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>gradplane controller</title>
<style>
  body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem; }
  table { border-collapse: collapse; }
  td, th { padding: 0.2rem 0.8rem; text-align: left; border-bottom: 1px solid #ddd; }
  .ready { color: #176f2c; } .lost, .deposed { color: #b3261e; } .connecting { color: #8a6100; }
  #log { font-family: monospace; white-space: pre-wrap; max-height: 20rem; overflow: auto; background: #f6f6f6; padding: 0.5rem; }
</style>
<h1>Switches</h1>
<table><thead><tr><th>switch<th>address<th>state<th>entries<th>written<th>drift<th></tr></thead><tbody id="switches"></tbody></table>
<p><label>Token for changes: <input id="token" type="password" autocomplete="off"></label> <span id="answer" role="status"></span></p>
<h2>Events</h2>
<div id="log" role="log"></div>
<script>
  const byId = (id) => document.getElementById(id);
  const cell = (row, text, kind) => { const td = row.insertCell(); td.textContent = text; if (kind) td.className = kind; return td; };
  async function change(what, name) {
    const response = await fetch("/" + what + "/" + encodeURIComponent(name), { method: "POST", headers: { authorization: "Bearer " + byId("token").value } });
    byId("answer").textContent = (await response.text()).trim();
    show();
  }
  async function show() {
    const { switches } = await (await fetch("/status")).json();
    const rows = document.createDocumentFragment();
    for (const s of switches) {
      const row = document.createElement("tr");
      cell(row, s.name); cell(row, s.target);
      cell(row, s.state.kind + (s.isDrained ? ", drained" : "") + (s.state.reason ? ": " + s.state.reason : ""), s.state.kind);
      cell(row, s.state.entries ?? ""); cell(row, s.updates); cell(row, s.drift);
      const button = document.createElement("button");
      button.textContent = s.isDrained ? "restore" : "drain";
      button.onclick = () => change(button.textContent, s.name);
      cell(row, "").append(button);
      rows.append(row);
    }
    byId("switches").replaceChildren(rows);
  }
  new EventSource("/events").onmessage = ({ data }) => {
    const line = document.createElement("div");
    line.textContent = data;
    byId("log").prepend(line);
    show();
  };
  show();
</script>
</html>
`;
