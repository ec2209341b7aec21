import type { SwitchRunner } from "../ports/switch-runner.ts";
import type { RegisterArray } from "../state/arrays.ts";
import type { Switch } from "../switch.ts";
import { SwitchRuntimeError } from "../tables/runtime-error.ts";
import { switchMetrics } from "./metrics.ts";
import { applyPort, parsePlace, parsePort, rateText, TrafficDocumentError } from "./traffic-document.ts";

export interface AdminRequest {
  readonly method: string;
  /** Path without the query, still encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

export interface AdminResponse {
  readonly status: number;
  readonly type: "application/json" | "text/plain; version=0.0.4";
  readonly body: string;
}

export interface AdminOptions {
  readonly runner: SwitchRunner;
  /** Writes a snapshot and says where; without it there is none to be had. */
  readonly snapshot?: () => string;
  /** Refuses everything that changes something. */
  readonly isReadOnly?: boolean;
  /** Hears of each change. */
  readonly onChange?: (what: string) => void;
}

/** Cells in one answer. */
const mostCells = 65_536;

class AdminError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * What a switch tells and takes beside P4Runtime, which has no queues: ports and queues with their rates, depths, thresholds and counters;
 * registers; drops; metrics. As pure functions of requests; `AdminServer` puts it on HTTP.
 *
 * | request | what it does |
 * |---|---|
 * | `GET /ports`, `GET /ports/3` | settings and counters |
 * | `PATCH /ports/3`, `/ports/all` | settings, as in traffic-document.ts |
 * | `POST /watermarks/reset` | the longest lengths of queues begin anew |
 * | `GET /registers`, `GET /registers/NAME?from=0&count=16` | registers, values as decimal texts |
 * | `PATCH /registers/NAME` | `{ "values": { "5": "17" } }` |
 * | `GET /drops` | packets that ended inside the switch, by reason |
 * | `GET /metrics` | all figures for Prometheus |
 * | `POST /snapshot` | writes a snapshot |
 */
export class AdminService {
  readonly #options: AdminOptions;

  constructor(options: AdminOptions) {
    this.#options = options;
  }

  get #core(): Switch {
    return this.#options.runner.core;
  }

  handle(request: AdminRequest): AdminResponse {
    try {
      const answer = this.#route(request);
      return typeof answer === "string"
        ? { status: 200, type: "text/plain; version=0.0.4", body: answer }
        : { status: 200, type: "application/json", body: `${JSON.stringify(answer)}\n` };
    } catch (error) {
      return {
        status: statusOf(error),
        type: "application/json",
        body: `${JSON.stringify({ error: error instanceof Error ? error.message : String(error) })}\n`,
      };
    }
  }

  #route({ method, path, query, body }: AdminRequest): object | string {
    const [, what = "", ...names] = path.split("/");
    if (names.length > 1 || (method === "GET" && what === "snapshot")) throw noPath(path);
    const name = names[0] === undefined ? undefined : decoded(names[0]);
    if (method === "GET") {
      if (what === "metrics") return switchMetrics(this.#core, this.#options.runner);
      if (what === "drops") return this.#core.drops;
      if (what === "ports") return name === undefined ? this.#ports() : this.#port(portNumber(name));
      if (what === "registers")
        return name === undefined ? this.#registers() : this.#cells(this.#core.register(name), query);
      throw noPath(path);
    }
    if (this.#options.isReadOnly === true) throw new AdminError(403, "this address only reads");
    const done = this.#change(method, what, name, body);
    this.#options.onChange?.(`${method} ${path} ${body}`.trimEnd());
    return done ?? { done: true };
  }

  #change(method: string, what: string, name: string | undefined, body: string): object | undefined {
    if (method === "PATCH" && what === "ports" && name !== undefined) {
      const { trafficManager } = this.#core;
      applyPort(trafficManager, parsePort(name, json(body), trafficManager.options.queues));
      this.#options.runner.catchUp();
      return undefined;
    }
    if (method === "PATCH" && what === "registers" && name !== undefined) {
      writeCells(this.#core.register(name), json(body));
      return undefined;
    }
    if (method === "POST" && what === "watermarks" && name === "reset") {
      this.#core.trafficManager.resetWatermarks();
      return undefined;
    }
    if (method === "POST" && what === "snapshot" && name === undefined) {
      if (this.#options.snapshot === undefined)
        throw new AdminError(409, "the switch has no place for snapshots; start it with --snapshot FILE");
      return { file: this.#options.snapshot() };
    }
    throw noPath(`${method} /${what}${name === undefined ? "" : `/${name}`}`);
  }

  #ports(): object {
    const used = [...this.#core.usedPorts(), ...this.#core.trafficManager.portNumbers()];
    return [...new Set([...used, ...this.#options.runner.ports.keys()])]
      .sort((a, b) => a - b)
      .map((port) => this.#port(port));
  }

  #port(port: number): object {
    const { trafficManager } = this.#core;
    const { rate, buffer, reserved } = trafficManager.portSettings(port);
    const attached = this.#options.runner.ports.get(port);
    return {
      port,
      ...(attached === undefined ? {} : { name: attached.name, errors: attached.statistics().errors }),
      ...this.#core.port(port),
      rate: rateText(rate),
      ...(buffer === Number.POSITIVE_INFINITY ? {} : { buffer }),
      reserved,
      queues: Array.from({ length: trafficManager.options.queues }, (_, queue) => {
        const settings = trafficManager.queueSettings(port, queue);
        return {
          queue,
          ...settings,
          rate: rateText(settings?.rate ?? { kind: "unlimited" }),
          packets: trafficManager.depth(port, queue),
          bytes: trafficManager.depthBytes(port, queue),
          ...trafficManager.counters(port, queue),
        };
      }),
    };
  }

  #registers(): object {
    return [...this.#core.registers.values()].map(({ name, size, width }) => ({ name, size, width }));
  }

  #cells(register: RegisterArray, query: URLSearchParams): object {
    const from = whole("from", query.get("from") ?? "0");
    const count = whole("count", query.get("count") ?? String(Math.min(register.size - from, mostCells)));
    if (count > mostCells) throw new AdminError(400, `at most ${mostCells} cells at once`);
    if (from + count > register.size)
      throw new AdminError(400, `register ${register.name} has ${register.size} cells`);
    const values = Array.from({ length: count }, (_, i) => String(register.read(from + i)));
    return { name: register.name, size: register.size, width: register.width, from, values };
  }
}

function portNumber(name: string): number {
  const port = parsePlace("ports", name, "port", 511);
  if (port === undefined) throw new AdminError(400, 'only PATCH takes "all"; GET /ports tells of all');
  return port;
}

/** All or nothing. */
function writeCells(register: RegisterArray, body: unknown): void {
  const values = typeof body === "object" && body !== null && "values" in body ? body.values : undefined;
  if (typeof values !== "object" || values === null)
    throw new AdminError(400, 'write { "values": { "0": "17" } }');
  const cells = Object.entries(values).map(([index, value]) => {
    if (!/^\d{1,15}$/.test(index) || !/^(\d{1,200}|0x[\da-f]{1,200})$/i.test(String(value)))
      throw new AdminError(400, `cell ${index}: ${JSON.stringify(value)} is no value; write "17" or "0x11"`);
    return { index: Number(index), value: BigInt(String(value)) };
  });
  // What is wrong is found before something is written.
  for (const { index, value } of cells) register.check(index, value);
  for (const { index, value } of cells) register.write(index, value);
}

function whole(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new AdminError(400, `${name} is "${text}"; it is a whole number`);
  return Number(text);
}

function json(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new AdminError(400, `the body is no JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    throw new AdminError(400, `"${name}" is not URI encoded`);
  }
}

function noPath(path: string): AdminError {
  return new AdminError(404, `there is no ${path}`);
}

function statusOf(error: unknown): number {
  if (error instanceof AdminError) return error.status;
  if (error instanceof TrafficDocumentError || error instanceof RangeError) return 400;
  if (!(error instanceof SwitchRuntimeError)) return 500;
  if (error.code === "NOT_FOUND") return 404;
  return error.code === "FAILED_PRECONDITION" ? 409 : 400;
}
