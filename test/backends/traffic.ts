import { prefixMask } from "../../src/backends/p4text/literals.ts";
import type { ActionParameter, Expression, MatchKind, Program, Table } from "../../src/ir/index.ts";
import { widthOf } from "../../src/ir/index.ts";
import type { Switch } from "../../src/switch/switch.ts";
import { SwitchRuntimeError } from "../../src/switch/tables/runtime-error.ts";
import type { EntryAction } from "../../src/switch/tables/table-entry.ts";
import type { MatchField } from "../../src/switch/tables/table-key.ts";
import { pack } from "./calculator.ts";
import { Dice } from "./dice.ts";
import { Draft, valueIn } from "./draft.ts";
import { evaluate } from "./reference.ts";

export interface Arrival {
  readonly port: number;
  readonly data: Uint8Array;
  /** Values of the fields, `header.field`, for entries that are to match. */
  readonly fields: ReadonlyMap<string, bigint>;
}

/** Bytes behind the headers. */
const PAYLOAD = 9;

/** A packet that takes a random way through the program's parser; now and then one that is cut short or has a wrong checksum. */
function packetFor(p: Program, dice: Dice): Arrival {
  const draft = new Draft(p, dice);
  if (dice.below(4) !== 0) suitConstEntries(p, draft, dice);
  for (const sum of p.checksums) {
    if (!draft.headers.includes(sum.header) || dice.below(12) === 0) continue;
    const fields = draft.fields();
    const covered = sum.fields.map((f): readonly [bigint, number] => [
      f.kind === "metadata" ? draft.metadata(f.name) : leafValue(f, fields),
      widthOf(f.type),
    ]);
    const varbits = (sum.varbits ?? []).map((path) => draft.varbit(path));
    const payload = sum.payload === true ? draft.payload(PAYLOAD) : new Uint8Array();
    const result = internetChecksum(Uint8Array.from([...pack([...covered, ...varbits]), ...payload]));
    const value = sum.zeroIsNone === true && dice.below(3) === 0 ? 0n : result;
    draft.set(`${sum.target.header}.${sum.target.field}`, value);
  }
  const whole = draft.bytes(PAYLOAD);
  const data = dice.below(20) === 0 ? whole.subarray(0, 1 + dice.below(whole.length)) : whole;
  return { port: draft.port, data, fields: draft.fields() };
}

/** Changes fields so that one entry of each constant table takes the packet, where there is one. */
function suitConstEntries(p: Program, draft: Draft, dice: Dice): void {
  for (const table of p.controls.flatMap((c) => c.tables)) {
    const possible = table.constEntries.filter((entry) =>
      table.key.every((k, i) => {
        const set = entry.keys[i];
        if (k.expression.kind === "field") return draft.has(`${k.expression.header}.${k.expression.field}`);
        return (
          k.expression.kind !== "valid" ||
          set?.kind !== "value" ||
          set.value === leafValue(k.expression, draft.fields())
        );
      }),
    );
    const entry = possible[dice.below(Math.max(1, possible.length))];
    entry?.keys.forEach((set, i) => {
      const key = table.key[i]?.expression;
      if (key?.kind === "field" && set.kind !== "any")
        draft.set(`${key.header}.${key.field}`, valueIn(set, widthOf(key.type), dice));
    });
  }
}

/**
 * Copies of one packet come to registers of egress in an order that is no one's promise: BMv2 has four threads there, by port, and the
 * embedded switch serves its ports in turn.
 */
export function hasEgressRegisters(p: Program): boolean {
  return p.controls.some((c) => c.gress === "egress" && c.registers.length > 0);
}

/** How many copies of a packet there may be where its fate must be one. */
export function copiesFor(p: Program): "several" | "one" {
  return hasEgressRegisters(p) ? "one" : "several";
}

/**
 * Entries that match some of the packets, multicast groups and clone sessions.
 *
 * @param copies whether a packet may become several; without, groups have one replica, and no session is there
 */
export function fill(
  s: Switch,
  p: Program,
  arrivals: readonly Arrival[],
  seed: number,
  copies: "several" | "one" = "several",
): void {
  for (let id = 1; id < 16; id++) {
    // simple_switch_grpc takes no replica to port 0.
    const replicas = [
      { port: 1 + (id % 4), instance: id },
      { port: 5, instance: 1 },
    ];
    s.replication.insertGroup(id, copies === "one" ? replicas.slice(0, 1) : replicas);
    if (copies === "several") s.replication.insertSession(id, [{ port: 3, instance: id }]);
  }
  const tables = p.controls.flatMap((c) =>
    c.tables.filter((t) => t.constEntries.length === 0 && t.key.length > 0),
  );
  for (const [index, table] of tables.entries()) {
    if (!s.tables.has(table.name)) continue;
    // Each table has its own dice, so that a table more or less changes nothing for the others.
    const dice = new Dice(seed + index * 31);
    for (let i = 0; i < Math.min(64, table.size); i++) {
      const fields = arrivals[dice.below(arrivals.length)]?.fields ?? new Map<string, bigint>();
      const match = table.key.map((k) => {
        const width = widthOf(k.expression.type);
        const value = BigInt.asUintN(
          width,
          evaluate(k.expression, (e) => leafValue(e, fields)),
        );
        return matchOn(k.match, value, width, dice);
      });
      const needsPriority = table.key.some((k) => k.match !== "exact" && k.match !== "lpm");
      try {
        s.table(table.name).insert(
          match,
          table.implementation === undefined
            ? action(table, p, fields, dice)
            : indirect(table, s, p, fields, dice),
          needsPriority ? { priority: i + 1 } : {},
        );
      } catch (error) {
        // The same match may come up twice; every switch must refuse the second.
        if (!(error instanceof SwitchRuntimeError) || error.code !== "ALREADY_EXISTS") throw error;
      }
    }
  }
}

/** Rates for meters, low enough that packets have all colours. */
export function limit(s: Switch, dice: Dice): void {
  const config = () => ({
    committedRate: 1n,
    committedBurst: BigInt(1 + dice.below(9)),
    peakRate: 1n,
    peakBurst: BigInt(10 + dice.below(20)),
  });
  for (const meter of [...s.meters.values()].sort((a, b) => (a.name < b.name ? -1 : 1)))
    for (let i = 0; i < meter.size; i += 1 + dice.below(3)) meter.write(i, config(), 0);
  for (const table of s.tables.values())
    for (const entry of table.entries()) if (dice.below(2) === 0) entry.meter?.configure(config(), 0);
}

/** One of the actions of a table, with data. */
function action(table: Table, p: Program, fields: ReadonlyMap<string, bigint>, dice: Dice) {
  const name = table.actions[dice.below(table.actions.length)] ?? "NoAction";
  const parameters = p.controls.flatMap((c) => c.actions).find((a) => a.name === name)?.parameters ?? [];
  const values = parameters.map((a) => argument(a, p, fields, dice));
  return { kind: "action", action: name, parameters: values } as const;
}

/** A member or a group of the table's action profile; while there is room a new one. */
function indirect(
  table: Table,
  s: Switch,
  p: Program,
  fields: ReadonlyMap<string, bigint>,
  dice: Dice,
): EntryAction {
  const profile = s.profile(table.implementation ?? "");
  const members = profile.members.length;
  if (members < Math.min(12, profile.capacity))
    profile.insertMember(members + 1, action(table, p, fields, dice));
  const count = profile.members.length;
  if (!profile.hasSelector || dice.below(4) === 0) return { kind: "member", member: 1 + dice.below(count) };
  const groups = profile.groups.length;
  if (groups < 6) {
    // BMv2 keeps the members of a group in the order of their numbers, and takes no entry for a group without any.
    const chosen = Array.from({ length: count }, (_, i) => i + 1).filter(
      (id) => id === 1 || dice.below(2) === 0,
    );
    const declared = p.controls.flatMap((c) => c.actionProfiles).find((a) => a.name === table.implementation);
    const room = Math.min(8, declared?.selector?.maxGroupSize ?? 8);
    profile.insertGroup(
      groups + 1,
      chosen.slice(0, room).map((member) => ({ member, weight: 1 })),
    );
  }
  return { kind: "group", group: 1 + dice.below(profile.groups.length) };
}

/** A value of a parameter: often one that the packet carries in a field of the parameter's name, so that comparisons succeed. */
function argument(a: ActionParameter, p: Program, fields: ReadonlyMap<string, bigint>, dice: Dice): bigint {
  const width = widthOf(a.type);
  const named = p.headers.map((h) => fields.get(`${h.name}.${a.name}`)).find((v) => v !== undefined);
  if (named !== undefined && dice.below(4) !== 0) return BigInt.asUintN(width, named);
  return dice.below(2) === 0 ? BigInt.asUintN(width, 1n << BigInt(dice.below(width))) : dice.value(width);
}

/** Packets of a program in which some come again, as they do in networks. */
export function packetsFor(p: Program, count: number, dice: Dice): readonly Arrival[] {
  const list: Arrival[] = [];
  for (let i = 0; i < count; i++) {
    const earlier = dice.below(3) === 0 ? undefined : list[dice.below(Math.max(1, list.length))];
    list.push(earlier ?? packetFor(p, dice));
  }
  return list;
}

/** A match that takes the value, and perhaps others. */
function matchOn(kind: MatchKind, value: bigint, width: number, dice: Dice): MatchField | undefined {
  switch (kind) {
    case "exact":
      return { kind: "exact", value };
    case "optional":
      return dice.below(2) === 0 ? undefined : { kind: "optional", value };
    case "ternary": {
      const mask = dice.value(width);
      return mask === 0n ? undefined : { kind: "ternary", value: value & mask, mask };
    }
    case "lpm": {
      const prefixLength = dice.below(width + 1);
      const mask = prefixMask(prefixLength, width);
      return prefixLength === 0 ? undefined : { kind: "lpm", value: value & mask, prefixLength };
    }
    case "range": {
      const high = value + BigInt(dice.below(100));
      return high >= 1n << BigInt(width) ? undefined : { kind: "range", low: value, high };
    }
  }
}

/** What an expression's leaf is in a packet; metadata count as 0, headers as valid when they are there. */
function leafValue(e: Expression, fields: ReadonlyMap<string, bigint>): bigint {
  if (e.kind === "constant") return e.value;
  if (e.kind === "field") return fields.get(`${e.header}.${e.field}`) ?? 0n;
  if (e.kind === "valid") return [...fields.keys()].some((k) => k.startsWith(`${e.header}.`)) ? 1n : 0n;
  return 0n;
}

/** RFC 1071. */
function internetChecksum(bytes: Uint8Array): bigint {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += ((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return BigInt(~sum & 0xffff);
}

/**
 * What came out of a switch, packet by packet, and what it remembers in the end.
 *
 * @param other a switch that must have an object too, for the object to count.
 */
export function transcript(
  s: Switch,
  packets: readonly { readonly port: number; readonly data: Uint8Array }[],
  other: Switch = s,
): readonly string[] {
  const hex = (b: Uint8Array): string => Buffer.from(b).toString("hex");
  const out = packets.map(({ port, data }) =>
    s
      .handle({ kind: "packet", port, data }, 0)
      .map((a) => {
        if (a.kind === "transmit") return `${a.port}:${hex(a.data)}`;
        if (a.kind === "toCpu") return `cpu:${hex(a.data)}`;
        return a.kind === "drop" ? `drop ${a.reason}` : `${a.kind} ${a.list}: ${a.values.join(" ")}`;
      })
      .join(" "),
  );
  const registers = [...s.registers.values()]
    .filter((r) => other.registers.has(r.name))
    .map((r) => `${r.name} ${Array.from({ length: r.size }, (_, i) => r.read(i)).join(" ")}`)
    .sort();
  const counters = [...s.counters.values()]
    .filter((c) => other.counters.has(c.name))
    .map(
      (c) =>
        `${c.name} ${Array.from({ length: c.size }, (_, i) => c.read(i))
          .map((v) => `${v.packets}/${v.bytes}`)
          .join(" ")}`,
    )
    .sort();
  const entries = [...s.tables.values()]
    .filter((t) => !t.name.startsWith("tbl_") && other.tables.has(t.name))
    .map((t) => `${t.name} ${[...t.entries()].map((e) => e.packets).join(" ")}`)
    .sort();
  return [...out, ...registers, ...counters, ...entries];
}
