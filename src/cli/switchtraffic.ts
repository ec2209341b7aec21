/** What `gradplane switch` is told about its queues: `--traffic FILE`, `--port-rate` and `--queue-depth`. */
import { readFileSync } from "node:fs";
import { parse as parseYaml } from "yaml";
import {
  applyPort,
  type PortChange,
  parsePort,
  parsePorts,
  type Switch,
  TrafficDocumentError,
} from "../switch/index.ts";
import { UserError } from "./exit.ts";

export interface TrafficSetup {
  readonly pacing: "port" | "queue";
  readonly droppableDscp: readonly number[] | undefined;
  readonly ports: readonly PortChange[];
}

export interface TrafficOptions {
  /** YAML or JSON: `pacing`, `droppable-dscp`, `ports`. */
  readonly file: string | undefined;
  /** `3=100 Mbit/s` or `all=5000 packets/s`; they count after the file. */
  readonly rates: readonly string[];
  readonly depth: string | undefined;
  readonly pacing: string | undefined;
  readonly queues: number;
}

const known = ["pacing", "droppable-dscp", "ports"];

/** @throws UserError that names the option or the place in the file */
export function trafficSetup({ file, rates, depth, pacing, queues }: TrafficOptions): TrafficSetup {
  const document = file === undefined ? {} : readDocument(file);
  const named = (option: string, work: () => PortChange): PortChange => {
    try {
      return work();
    } catch (error) {
      if (error instanceof TrafficDocumentError) throw new UserError(`--${option}: ${error.message}`);
      throw error;
    }
  };
  const fromFile = ((): readonly PortChange[] => {
    if (document.ports === undefined) return [];
    try {
      return parsePorts(document.ports, queues);
    } catch (error) {
      if (error instanceof TrafficDocumentError) throw new UserError(`${file}: ${error.message}`);
      throw error;
    }
  })();
  const fromRates = rates.map((text) => {
    const [, port = "", rate = ""] = /^(all|\d+)=(.+)$/.exec(text) ?? [];
    if (rate === "")
      throw new UserError(`--port-rate is "${text}"; write PORT=RATE, for example 3="100 Mbit/s"`);
    return named("port-rate", () => parsePort(port, { rate }, queues));
  });
  const fromDepth =
    depth === undefined
      ? []
      : [
          named("queue-depth", () =>
            parsePort(
              "all",
              { queues: { all: { depth: /^\d+$/.test(depth) ? Number(depth) : depth } } },
              queues,
            ),
          ),
        ];
  return {
    pacing: pacingOf(pacing ?? document.pacing ?? "port"),
    droppableDscp: dscpOf(file, document["droppable-dscp"]),
    ports: [...fromDepth, ...fromFile, ...fromRates],
  };
}

/** Sets up a switch's queues. @throws UserError where its pacing has no such rate */
export function applyTraffic(engine: Switch, { ports }: TrafficSetup): void {
  try {
    for (const port of ports) applyPort(engine.trafficManager, port);
  } catch (error) {
    if (error instanceof RangeError) throw new UserError(error.message);
    throw error;
  }
}

function readDocument(file: string): Readonly<Record<string, unknown>> {
  let document: unknown;
  try {
    document = parseYaml(readFileSync(file, "utf8"));
  } catch (error) {
    throw new UserError(`cannot read ${file}: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof document !== "object" || document === null || Array.isArray(document))
    throw new UserError(`${file}: it has fields: ${known.join(", ")}`);
  for (const name of Object.keys(document))
    if (!known.includes(name))
      throw new UserError(`${file}: there is no "${name}"; there is ${known.join(", ")}`);
  return Object.fromEntries(Object.entries(document));
}

function pacingOf(value: unknown): "port" | "queue" {
  if (value === "port" || value === "queue") return value;
  throw new UserError(`pacing is ${JSON.stringify(value)}; it is port, or queue as in BMv2`);
}

function dscpOf(file: string | undefined, value: unknown): readonly number[] | undefined {
  if (value === undefined) return undefined;
  const isDscp = (one: unknown): one is number =>
    typeof one === "number" && Number.isInteger(one) && one >= 0 && one <= 63;
  if (Array.isArray(value) && value.every(isDscp)) return value;
  throw new UserError(`${file}: droppable-dscp is a list of code points, 0 to 63`);
}
