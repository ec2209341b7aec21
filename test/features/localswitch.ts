import { bmv2Json } from "../../src/backends/v1model/json/document.ts";
import { lower } from "../../src/backends/v1model/lower.ts";
import type { WantedEntry, WantedState } from "../../src/controller/wantedstate.ts";
import type { Program } from "../../src/ir/index.ts";
import { type MatchField, Switch, type SwitchOptions } from "../../src/switch/index.ts";
import { parseIpv4, parseMac } from "../../src/wire/address.ts";

/** An embedded switch with a program, filled by name as over P4Runtime, without a server between. */
export function localSwitch(program: Program, json?: Uint8Array, options: SwitchOptions = {}): Switch {
  return new Switch(json ?? bmv2Json(lower(program)), {
    ...options,
    ports: [...Array(program.ports).keys(), ...(program.cpuPort === undefined ? [] : [program.cpuPort])],
    ...(program.cpuPort === undefined ? {} : { cpuPort: program.cpuPort }),
  });
}

export function fill(sw: Switch, program: Program, state: WantedState): void {
  for (const entry of state.entries) insert(sw, program, entry);
  for (const { id, port } of state.cloneSessions) sw.replication.insertSession(id, [{ port, instance: 0 }]);
}

export function insert(sw: Switch, program: Program, entry: WantedEntry): void {
  const table = sw.table(entry.table);
  const match = table.description.key.map((field): MatchField => {
    const given = entry.match[field.name];
    if (given === undefined) throw new RangeError(`${entry.table}: no ${field.name}`);
    const [address = "", length] = String(given).split("/");
    return length === undefined
      ? { kind: "exact", value: bitsOf(given) }
      : { kind: "lpm", value: bitsOf(address), prefixLength: Number(length) };
  });
  const action = program.controls.flatMap((c) => c.actions).find((a) => a.name === entry.action);
  const parameters = (action?.parameters ?? []).map((p) => bitsOf(entry.params[p.name] ?? 0));
  table.insert(match, { kind: "action", action: entry.action, parameters });
}

function bitsOf(given: string | number | bigint): bigint {
  if (typeof given !== "string") return BigInt(given);
  if (given.includes("::")) return parseIpv6(given);
  if (given.includes(":")) return BigInt(parseMac(given));
  return given.includes(".") ? BigInt(parseIpv4(given)) : BigInt(given);
}

/** An IPv6 address with `::` in it. */
export function parseIpv6(text: string): bigint {
  const [head, tail] = text.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const [high, low] = [head ?? [], tail ?? []];
  const groups = [...high, ...Array<string>(8 - high.length - low.length).fill("0"), ...low];
  return groups.reduce((sum, group) => sum * 0x10000n + BigInt(`0x${group}`), 0n);
}
