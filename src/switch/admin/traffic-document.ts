/**
 * Settings of ports and queues as people write them, in a file or a request:
 *
 *     rate: 100 Mbit/s            # or 5000 packets/s, unlimited
 *     buffer: 512 KiB
 *     reserved: 16 KiB            # of it, for the strongest queue
 *     queues:
 *       all: { depth: 64 }        # packets; or 96 KiB, or { packets: 64, bytes: 98304 }
 *       6: { drop: 4, mark: 4, rate: 10 Mbit/s }
 */
import type { PortRate, PortSettings, QueueLength, QueueSettings } from "../trafficmanager/settings.ts";
import type { TrafficManager } from "../trafficmanager/traffic-manager.ts";

/** A document that says something else than it may; `message` names the place. */
export class TrafficDocumentError extends Error {
  readonly place: string;

  constructor(place: string, reason: string) {
    super(`${place}: ${reason}`);
    this.name = "TrafficDocumentError";
    this.place = place;
  }
}

/** What a document says of one port, or of all. */
export interface PortChange {
  /** All ports, those to come included, when undefined. */
  readonly port: number | undefined;
  readonly settings: PortSettings;
  readonly queues: readonly { readonly queue: number | undefined; readonly settings: QueueSettings }[];
}

const largestPort = 511;
const bitUnits: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };
const byteUnits: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
};

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(place: string, value: unknown, allowed: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TrafficDocumentError(place, `it has fields: ${allowed.join(", ")}`);
  const fields = Object.fromEntries(Object.entries(value));
  for (const name of Object.keys(fields))
    if (!allowed.includes(name))
      throw new TrafficDocumentError(place, `there is no "${name}"; there is ${allowed.join(", ")}`);
  return fields;
}

/** `100 Mbit/s`, `2.5Gbit/s`, `5000 packets/s`, `5000 pps`, `unlimited`. */
export function parseRate(place: string, value: unknown): PortRate {
  const text = String(value).trim().toLowerCase();
  if (text === "unlimited") return { kind: "unlimited" };
  const [, number = "", unit = "", kind = ""] =
    /^(\d+(?:\.\d+)?) ?([kmgt]?)(bit\/s|bps|packets\/s|pps)$/.exec(text) ?? [];
  const rate = Number(number) * (bitUnits[unit] ?? 1);
  if (typeof value !== "string" || !(rate > 0))
    throw new TrafficDocumentError(
      place,
      `${JSON.stringify(value)} is no rate; write "100 Mbit/s", "5000 packets/s" or "unlimited"`,
    );
  return { kind: kind.startsWith("b") ? "bitsPerSecond" : "packetsPerSecond", rate };
}

/** As `parseBytes`; `none` is no limit. */
function parseBuffer(place: string, value: unknown): number {
  return value === "none" ? Number.POSITIVE_INFINITY : parseBytes(place, value);
}

/** `512 KiB`, `1500 B`, or a plain number of bytes. */
function parseBytes(place: string, value: unknown): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?) ?([kmg]?i?b)$/i.exec(String(value).trim()) ?? [];
  const factor = byteUnits[unit.toLowerCase()];
  if (typeof value !== "string" || factor === undefined)
    throw new TrafficDocumentError(
      place,
      `${JSON.stringify(value)} is no number of bytes; write 524288 or "512 KiB"`,
    );
  return Math.round(Number(number) * factor);
}

/** A plain number is packets; with a unit it is bytes; `none` is no limit. */
function parseLength(place: string, value: unknown): QueueLength {
  if (value === "none") return {};
  if (typeof value === "string") return { bytes: parseBytes(place, value) };
  if (typeof value === "number") {
    if (Number.isInteger(value) && value >= 0) return { packets: value };
    throw new TrafficDocumentError(place, `${value} is no number of packets`);
  }
  const { packets, bytes } = fieldsOf(place, value, ["packets", "bytes"]);
  if (packets !== undefined && !(typeof packets === "number" && Number.isInteger(packets) && packets >= 0))
    throw new TrafficDocumentError(`${place}.packets`, `${JSON.stringify(packets)} is no number of packets`);
  return {
    ...(packets === undefined ? {} : { packets }),
    ...(bytes === undefined ? {} : { bytes: parseBytes(`${place}.bytes`, bytes) }),
  };
}

function parseQueue(place: string, value: unknown): QueueSettings {
  const { rate, depth, drop, mark } = fieldsOf(place, value, ["rate", "depth", "drop", "mark"]);
  const length = (name: string, given: unknown) => parseLength(`${place}.${name}`, given);
  return {
    ...(rate === undefined ? {} : { rate: parseRate(`${place}.rate`, rate) }),
    ...(depth === undefined ? {} : { depth: length("depth", depth) }),
    ...(drop === undefined ? {} : { drop: length("drop", drop) }),
    ...(mark === undefined ? {} : { mark: length("mark", mark) }),
  };
}

/** `all`, or a number from 0 to `largest`. */
export function parsePlace(place: string, text: string, what: string, largest: number): number | undefined {
  if (text === "all") return undefined;
  const number = Number(text);
  if (!/^\d{1,3}$/.test(text) || number > largest)
    throw new TrafficDocumentError(place, `there is no ${what} "${text}"; write all, or 0 to ${largest}`);
  return number;
}

/** All queues first, then single ones, whatever stands first. */
function inOrder(entries: Fields): readonly (readonly [string, unknown])[] {
  return Object.entries(entries).sort(([a], [b]) => Number(b === "all") - Number(a === "all"));
}

/** Settings of one port (or `all`). @throws TrafficDocumentError */
export function parsePort(name: string, value: unknown, queueCount: number): PortChange {
  const place = `ports.${name}`;
  const port = parsePlace("ports", name, "port", largestPort);
  const { rate, buffer, reserved, queues } = fieldsOf(place, value, ["rate", "buffer", "reserved", "queues"]);
  const named =
    queues === undefined
      ? {}
      : fieldsOf(`${place}.queues`, queues, [
          "all",
          ...Array.from({ length: queueCount }, (_, queue) => String(queue)),
        ]);
  return {
    port,
    settings: {
      ...(rate === undefined ? {} : { rate: parseRate(`${place}.rate`, rate) }),
      ...(buffer === undefined ? {} : { buffer: parseBuffer(`${place}.buffer`, buffer) }),
      ...(reserved === undefined ? {} : { reserved: parseBytes(`${place}.reserved`, reserved) }),
    },
    queues: inOrder(named).map(([queue, settings]) => ({
      queue: parsePlace(`${place}.queues`, queue, "queue", queueCount - 1),
      settings: parseQueue(`${place}.queues.${queue}`, settings),
    })),
  };
}

/** `ports:` of a whole document: by number, or `all`, which comes first. @throws TrafficDocumentError */
export function parsePorts(value: unknown, queueCount: number): readonly PortChange[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TrafficDocumentError("ports", "it has fields: all, or port numbers");
  return inOrder(Object.fromEntries(Object.entries(value))).map(([name, settings]) =>
    parsePort(name, settings, queueCount),
  );
}

/** @throws RangeError where the traffic manager can't do it (bits per second with BMv2's pacing) */
export function applyPort<T>(manager: TrafficManager<T>, { port, settings, queues }: PortChange): void {
  manager.configurePort(port, settings);
  for (const { queue, settings: given } of queues)
    manager.configureQueues(
      { ...(port === undefined ? {} : { port }), ...(queue === undefined ? {} : { queue }) },
      given,
    );
}

/** A rate as `parseRate` reads it. */
export function rateText(rate: PortRate): string {
  switch (rate.kind) {
    case "unlimited":
      return "unlimited";
    case "packetsPerSecond":
      return `${rate.rate} packets/s`;
    case "bitsPerSecond":
      return `${rate.rate} bit/s`;
  }
}

/** The settings of all ports, as `parsePorts` reads them; of single ports only where they differ. */
export function trafficDocument<T>(manager: TrafficManager<T>): Readonly<Record<string, unknown>> {
  const length = ({ packets, bytes }: QueueLength): unknown =>
    packets === undefined && bytes === undefined ? "none" : { packets, bytes };
  const portDocument = (port: number | undefined): unknown => {
    const { rate, buffer, reserved } = manager.portSettings(port);
    const queues = Array.from({ length: manager.options.queues }, (_, queue) => {
      const settings = manager.queueSettings(port, queue);
      return settings === undefined
        ? []
        : [
            [
              String(queue),
              {
                rate: rateText(settings.rate),
                depth: length(settings.depth),
                drop: length(settings.drop),
                mark: length(settings.mark),
              },
            ] as const,
          ];
    }).flat();
    return {
      // With BMv2's pacing it is the queues' own.
      ...(manager.options.pacing === "queue" ? {} : { rate: rateText(rate) }),
      buffer: buffer === Number.POSITIVE_INFINITY ? "none" : buffer,
      reserved,
      queues: Object.fromEntries(queues),
    };
  };
  const all = portDocument(undefined);
  const usual = JSON.stringify(all);
  const own = manager.portNumbers().map((port) => [String(port), portDocument(port)] as const);
  return Object.fromEntries([
    ["all", all],
    ...own.filter(([, document]) => JSON.stringify(document) !== usual),
  ]);
}
