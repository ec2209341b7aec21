import type { Switch } from "../../src/switch/switch.ts";
import { pack } from "./calculator.ts";

/** Numbers that look random and are the same for the same seed (xorshift32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 1;
  }

  below(n: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return (x >>> 0) % n;
  }

  pick<T>(...choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }

  bits(width: number): bigint {
    let v = 0n;
    for (let i = 0; i < width; i += 16) v = (v << 16n) | BigInt(this.below(0x10000));
    return BigInt.asUintN(width, v);
  }
}

/** Fills the tables of the program with one of everything. */
export function fillZoo(s: Switch, dice: Dice): void {
  const classify = s.table("compute.classify");
  for (const value of [0n, 1n, (1n << 128n) - 1n, 9007199254740992n, 9007199254740993n])
    classify.insert(
      [{ kind: "exact", value }],
      dice.pick(
        { kind: "action", action: "compute.sums", parameters: [dice.bits(32)] },
        { kind: "action", action: "compute.bits", parameters: [] },
      ),
    );
  for (let slot = 0; slot < 64; slot++)
    s.table("memory.slots").insert(
      [{ kind: "exact", value: BigInt(slot) }],
      dice.pick(
        { kind: "action", action: "memory.add", parameters: [dice.bits(8)] },
        { kind: "action", action: "NoAction", parameters: [] },
      ),
    );
  s.replication.insertGroup(255, [
    { port: 1, instance: 5 },
    { port: 2, instance: 6 },
    { port: 255, instance: 7 },
  ]);
  for (const session of [7, 0x800, 1]) s.replication.insertSession(session, [{ port: 3, instance: 1 }]);
}

/** A packet of the program with one of everything, and the port it comes in on. */
export function zooPacket(dice: Dice): { readonly port: number; readonly data: Uint8Array } {
  const small = (): bigint => BigInt(dice.pick(0, 1, 2, 7, 15, 255, dice.below(256)));
  const op = (): readonly (readonly [bigint, number])[] => [
    [dice.pick(small(), 0x44n, 0x45n, 4n, 0x84n, 5n), 8],
    [small(), 8],
    [dice.bits(1), 1],
    [dice.bits(7), 7],
    [dice.pick(dice.bits(16), 0xfffdn, 0x8000n, 0x7fffn), 16],
    [dice.pick(dice.bits(32), small(), 0xffffffffn), 32],
    [dice.pick(dice.bits(32), small(), 0x80000000n), 32],
    [dice.bits(32), 32],
    [dice.bits(32), 32],
    [dice.pick(dice.bits(128), 0n, 1n, (1n << 128n) - 1n, 9007199254740993n), 128],
  ];
  const port = dice.pick(0, 1, 2, 3, 7, 255);
  const front: readonly (readonly [bigint, number])[] =
    port === 255
      ? [
          [BigInt(dice.below(8)), 9],
          [0n, 7],
        ]
      : [];
  const parts = [...front, ...op(), ...(dice.below(2) === 0 ? op() : []), [dice.bits(64), 64] as const];
  const whole = pack(parts);
  return { port, data: dice.below(20) === 0 ? whole.subarray(0, dice.below(whole.length) + 1) : whole };
}

/** Routes and a packet of IPv4 forwarding. */
export function fillForwarding(s: Switch, dice: Dice): void {
  for (let i = 0; i < 40; i++) {
    const prefixLength = 1 + dice.below(32);
    const mask = BigInt.asUintN(32, -1n << BigInt(32 - prefixLength));
    const value = ((10n << 24n) | dice.bits(24)) & mask;
    try {
      s.table("forwarding.routes").insert(
        [{ kind: "lpm", value, prefixLength }],
        dice.pick(
          { kind: "action", action: "forwarding.route", parameters: [BigInt(dice.below(4)), dice.bits(48)] },
          { kind: "action", action: "forwarding.refuse", parameters: [] },
        ),
      );
    } catch {
      // The same prefix came up twice; both switches refuse the second.
    }
  }
}

export function forwardingPacket(dice: Dice): { readonly port: number; readonly data: Uint8Array } {
  const words = Array.from({ length: 10 }, () => dice.below(0x10000));
  words[0] = 0x4500;
  words[4] = (dice.pick(0, 1, 2, 64, 255) << 8) | 17;
  words[5] = 0;
  words[8] = 0x0a00 | dice.below(256);
  let sum = words.reduce((a, b) => a + b, 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  words[5] = dice.below(10) === 0 ? dice.below(0x10000) : ~sum & 0xffff;
  const whole = pack([
    [dice.bits(48), 48],
    [dice.bits(48), 48],
    [dice.below(10) === 0 ? 0x86ddn : 0x800n, 16],
    ...words.map((w) => [BigInt(w), 16] as const),
    [dice.bits(128), 128],
  ]);
  return {
    port: dice.below(4),
    data: dice.below(20) === 0 ? whole.subarray(0, dice.below(whole.length) + 1) : whole,
  };
}

/** What came out of a switch, packet by packet, and what it remembers in the end. */
export function transcript(
  s: Switch,
  packets: readonly { readonly port: number; readonly data: Uint8Array }[],
): readonly string[] {
  const hex = (b: Uint8Array): string => Buffer.from(b).toString("hex");
  const out = packets.map(({ port, data }) =>
    s
      .handle({ kind: "packet", port, data }, 0)
      .map((a) => {
        if (a.kind === "transmit") return `${a.port}:${hex(a.data)}`;
        if (a.kind === "toCpu") return `cpu:${hex(a.data)}`;
        return a.kind === "drop" ? `drop ${a.reason}` : a.kind;
      })
      .join(" "),
  );
  const registers = [...s.registers.values()]
    .map((r) => `${r.name} ${Array.from({ length: r.size }, (_, i) => r.read(i)).join(" ")}`)
    .sort();
  const counters = [...s.counters.values()]
    .map(
      (c) =>
        `${c.name} ${Array.from({ length: c.size }, (_, i) => c.read(i))
          .map((v) => `${v.packets}/${v.bytes}`)
          .join(" ")}`,
    )
    .sort();
  const entries = [...s.tables.values()]
    .filter((t) => !t.name.startsWith("tbl_"))
    .map((t) => `${t.name} ${[...t.entries()].map((e) => e.packets).join(" ")}`)
    .sort();
  return [...out, ...registers, ...counters, ...entries];
}
