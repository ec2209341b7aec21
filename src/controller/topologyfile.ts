import { readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { dirname, resolve } from "node:path";
import { LineCounter, parseDocument } from "yaml";
import { didYouMean } from "../p4info/suggest.ts";
import type { TlsOptions } from "../p4runtime/index.ts";
import {
  checkTopology,
  type HostNode,
  type LinkEnd,
  type LinkNode,
  type SwitchNode,
  type Topology,
  TopologyError,
} from "./topology.ts";
import type { UserEntry } from "./userentry.ts";

/** A topology file, read. Paths in it are relative to it. */
export interface TopologyFile {
  readonly path: string;
  readonly topology: Topology;
  readonly program: ProgramSource;
  /** The user's own entries, by switch. */
  readonly own: ReadonlyMap<string, readonly UserEntry[]>;
}

/** Where the switches' program comes from: a file of gradplane, or what a P4 compiler made. */
export type ProgramSource =
  | { readonly kind: "gradplane"; readonly file: string }
  | {
      readonly kind: "compiled";
      readonly p4info: string;
      readonly deviceConfig: string;
      /** What all switches of the program have, if gradplane made it: its `tables.json`. */
      readonly tables?: string;
    };

/**
 * Reads a topology file:
 *
 * ```yaml
 * program: program.ts            # or { p4info: router.p4info.txtpb, config: router.json, tables: tables.json }
 * switches:
 *   s1: { target: "10.0.0.2:9559", deviceId: 1, mac: "02:00:00:00:01:01", ipv4: 10.0.1.1 }
 * hosts:
 *   w0: { mac: "02:00:00:00:00:01", ipv4: 10.0.0.1, ipv6: "2001:db8::1", at: [ "s1:0" ] }
 * links:
 *   - s1:4 - s2:4                # or { between: s1:4 - s2:4, weight: 2 }
 * entries:
 *   - { on: s1, table: acl, match: { dst: 10.0.0.0/8 }, priority: 1, action: drop }
 * ```
 *
 * @throws TopologyError with the file, and the line where there is one.
 */
export function readTopologyFile(path: string): TopologyFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new TopologyError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return parseTopology(text, path);
}

/** @param path names the file in messages, and is what paths in it are relative to */
export function parseTopology(text: string, path: string): TopologyFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const [problem] = document.errors;
  if (problem !== undefined) {
    const { line } = lines.linePos(problem.pos[0]);
    throw new TopologyError(`${path}:${line}: ${problem.message.split("\n")[0]}`);
  }
  try {
    return fileOf(document.toJS(), path);
  } catch (error) {
    if (error instanceof TopologyError) throw new TopologyError(`${path}: ${error.message}`);
    throw error;
  }
}

function fileOf(value: unknown, path: string): TopologyFile {
  const file = recordOf(value, "the file", ["program", "switches", "hosts", "links", "entries"]);
  const folder = dirname(path);
  const switches = named(file.switches, "switches").map(([name, node]) => switchOf(name, node, folder));
  const hosts = named(file.hosts ?? {}, "hosts").map(([name, node]) => hostOf(name, node));
  const links = listOf(file.links ?? [], "links").map(linkOf);
  const topology: Topology = { switches, hosts, links };
  checkTopology(topology);
  const own = new Map<string, UserEntry[]>();
  for (const item of listOf(file.entries ?? [], "entries")) {
    const { on, entry } = entryOf(item, switches);
    for (const name of on) own.set(name, [...(own.get(name) ?? []), entry]);
  }
  return { path, topology, program: programOf(file.program, folder), own };
}

function programOf(value: unknown, folder: string): ProgramSource {
  if (typeof value === "string") return { kind: "gradplane", file: resolve(folder, value) };
  const { p4info, config, tables } = recordOf(value, "program", ["p4info", "config", "tables"]);
  return {
    kind: "compiled",
    p4info: resolve(folder, textOf(p4info, "program.p4info")),
    deviceConfig: resolve(folder, textOf(config, "program.config")),
    ...(tables === undefined ? {} : { tables: resolve(folder, textOf(tables, "program.tables")) }),
  };
}

function switchOf(name: string, value: unknown, folder: string): SwitchNode {
  const what = `switch ${name}`;
  const node = recordOf(value, what, ["target", "deviceId", "mac", "ipv4", "ipv6", "tls"]);
  return {
    name,
    target: textOf(node.target, `${what}: target`),
    deviceId: BigInt(numberOf(node.deviceId ?? 1, `${what}: deviceId`)),
    mac: macOf(node.mac, what),
    ipv4: ipv4Of(node.ipv4, what),
    ...(node.ipv6 === undefined ? {} : { ipv6: ipv6Of(node.ipv6, what) }),
    ...(node.tls === undefined ? {} : { tls: tlsOf(node.tls, what, folder) }),
  };
}

function tlsOf(value: unknown, what: string, folder: string): TlsOptions {
  const tls = recordOf(value, `${what}: tls`, ["ca", "certificate", "key", "passphrase", "serverName"]);
  const file = (name: "ca" | "certificate" | "key"): { readonly [name: string]: Buffer } => {
    if (tls[name] === undefined) return {};
    const path = resolve(folder, textOf(tls[name], `${what}: tls.${name}`));
    try {
      return { [name]: readFileSync(path) };
    } catch (error) {
      throw new TopologyError(
        `${what}: tls.${name}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  };
  return {
    ...file("ca"),
    ...file("certificate"),
    ...file("key"),
    ...(tls.passphrase === undefined
      ? {}
      : { passphrase: textOf(tls.passphrase, `${what}: tls.passphrase`) }),
    ...(tls.serverName === undefined
      ? {}
      : { serverName: textOf(tls.serverName, `${what}: tls.serverName`) }),
  };
}

function hostOf(name: string, value: unknown): HostNode {
  const what = `host ${name}`;
  const node = recordOf(value, what, ["mac", "ipv4", "ipv6", "at"]);
  const at = Array.isArray(node.at) ? node.at : [node.at];
  return {
    name,
    mac: macOf(node.mac, what),
    ipv4: ipv4Of(node.ipv4, what),
    ...(node.ipv6 === undefined ? {} : { ipv6: ipv6Of(node.ipv6, what) }),
    attachments: at.map((end) => endOf(textOf(end, `${what}: at`))),
  };
}

function linkOf(value: unknown): LinkNode {
  if (typeof value === "string") return { ends: endsOf(value) };
  const { between, weight } = recordOf(value, "a link", ["between", "weight"]);
  const ends = endsOf(textOf(between, "between of a link"));
  return weight === undefined ? { ends } : { ends, weight: numberOf(weight, "weight of a link") };
}

function endsOf(text: string): LinkNode["ends"] {
  const [a, b, ...more] = text.split(/\s+-\s+/);
  if (a === undefined || b === undefined || more.length > 0)
    throw new TopologyError(`"${text}" is no link; write SWITCH:PORT - SWITCH:PORT`);
  return [endOf(a), endOf(b)];
}

function endOf(text: string): LinkEnd {
  const parts = /^(\S+):(\d+)$/.exec(text.trim());
  if (parts?.[1] === undefined) throw new TopologyError(`"${text}" is no port; write SWITCH:PORT`);
  return { switch: parts[1], port: Number(parts[2]) };
}

/** Which keys make which kind of entry; the first key of each is what it is known by. */
const ENTRY_KEYS: readonly (readonly string[])[] = [
  ["table", "match", "priority", "action", "params", "member", "group"],
  ["default", "action", "params"],
  ["multicast", "replicas"],
  ["clone", "replicas"],
  ["profile", "member", "action", "params", "group", "members"],
  ["meter", "index", "rates"],
  ["digest", "timeout", "size"],
];

function entryOf(
  value: unknown,
  switches: readonly SwitchNode[],
): { readonly on: readonly string[]; readonly entry: UserEntry } {
  const all = recordOf(value, "an entry", ["on", ...ENTRY_KEYS.flat()]);
  const { on = "*", ...entry } = all;
  const keys = ENTRY_KEYS.find(([first]) => first !== undefined && first in entry);
  if (keys === undefined)
    throw new TopologyError(
      `an entry begins with one of ${ENTRY_KEYS.map(([first]) => first).join(", ")}: ${JSON.stringify(value)}`,
    );
  recordOf(entry, `an entry of ${keys[0]} ${String(entry[keys[0] ?? ""])}`, keys);
  const names = switches.map((s) => s.name);
  const chosen = on === "*" ? names : (Array.isArray(on) ? on : [on]).map((n) => textOf(n, "on"));
  const unknown = chosen.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new TopologyError(`an entry is for ${unknown}, which is not a switch${didYouMean(unknown, names)}`);
  // Values and names are checked against the program when the entry is made.
  return { on: chosen, entry: { match: {}, ...entry } as unknown as UserEntry };
}

function named(value: unknown, what: string): readonly (readonly [string, unknown])[] {
  const record = recordOf(value, what);
  return Object.entries(record);
}

function recordOf(value: unknown, what: string, keys?: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TopologyError(
      `${what} is ${value === undefined ? "missing" : "no mapping of names to values"}`,
    );
  const record = Object.fromEntries(Object.entries(value));
  const unknown = keys === undefined ? undefined : Object.keys(record).find((key) => !keys.includes(key));
  if (unknown !== undefined && keys !== undefined)
    throw new TopologyError(`${what} has "${unknown}", which is not known${didYouMean(unknown, keys)}`);
  return record;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new TopologyError(`${what} is no list`);
  return value;
}

function textOf(value: unknown, what: string): string {
  if (typeof value !== "string")
    throw new TopologyError(`${what} is ${value === undefined ? "missing" : "no text"}`);
  return value;
}

function numberOf(value: unknown, what: string): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
    throw new TopologyError(`${what} is no whole number`);
  return value;
}

function macOf(value: unknown, what: string): string {
  const text = textOf(value, `${what}: mac`);
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(text))
    throw new TopologyError(`${what}: mac is "${text}"; write it as "02:00:00:00:00:01", in quotes`);
  return text;
}

/** In the shortest form, so that the same address is the same text. */
function ipv6Of(value: unknown, what: string): string {
  const text = textOf(value, `${what}: ipv6`);
  if (!isIPv6(text) || text.includes("%"))
    throw new TopologyError(`${what}: ipv6 is "${text}"; write it as "2001:db8::1", in quotes`);
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

function ipv4Of(value: unknown, what: string): string {
  const text = textOf(value, `${what}: ipv4`);
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255))
    throw new TopologyError(`${what}: ipv4 is "${text}"; write it as 10.0.0.1`);
  return text;
}
