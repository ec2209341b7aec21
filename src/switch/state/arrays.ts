import { widestNumber } from "../engine/layout.ts";
import { SwitchRuntimeError } from "../tables/runtime-error.ts";
import type { CounterValue } from "../tables/table-entry.ts";
import { Meter, type MeterConfig, type MeterUnit } from "./meter.ts";

function checkIndex(name: string, index: number, size: number): void {
  if (!Number.isInteger(index) || index < 0) {
    throw new SwitchRuntimeError("INVALID_ARGUMENT", name, `${index} is no index`);
  }
  if (index >= size)
    throw new SwitchRuntimeError("OUT_OF_RANGE", name, `index ${index} is not below the size ${size}`);
}

const two64 = 1n << 64n;

/** An indirect counter: packets and bytes per cell, modulo 2^64. */
export class CounterArray {
  readonly name: string;
  readonly id: number;
  readonly size: number;
  private readonly packets: Float64Array;
  private readonly bytes: Float64Array;
  /** What the control plane wrote; the arrays count from there, so that they stay exact. */
  private readonly written = new Map<number, CounterValue>();

  constructor(name: string, id: number, size: number) {
    this.name = name;
    this.id = id;
    this.size = size;
    this.packets = new Float64Array(size);
    this.bytes = new Float64Array(size);
  }

  /** Counts a packet; false if there is no such cell. */
  count(index: number, length: number): boolean {
    if (index >= this.size) return false;
    this.packets[index] = (this.packets[index] ?? 0) + 1;
    this.bytes[index] = (this.bytes[index] ?? 0) + length;
    return true;
  }

  read(index: number): CounterValue {
    checkIndex(this.name, index, this.size);
    const base = this.written.get(index);
    return {
      packets: ((base?.packets ?? 0n) + BigInt(this.packets[index] ?? 0)) % two64,
      bytes: ((base?.bytes ?? 0n) + BigInt(this.bytes[index] ?? 0)) % two64,
    };
  }

  write(index: number, value: CounterValue): void {
    checkIndex(this.name, index, this.size);
    this.packets[index] = 0;
    this.bytes[index] = 0;
    this.written.set(index, value);
  }
}

/** An indirect meter: one two-rate three-colour meter per cell. */
export class MeterArray {
  readonly name: string;
  readonly id: number;
  readonly size: number;
  readonly unit: MeterUnit;
  /** Arrays that are configured like this one: those of a chip's other pipes. */
  readonly followers: MeterArray[] = [];
  private readonly meters = new Map<number, Meter>();

  constructor(name: string, id: number, size: number, unit: MeterUnit) {
    this.name = name;
    this.id = id;
    this.size = size;
    this.unit = unit;
  }

  /** The colour for a packet; -1 if there is no such cell. */
  execute(index: number, length: number, now: number): number {
    if (index >= this.size) return -1;
    const meter = this.meters.get(index);
    return meter === undefined ? 0 : meter.execute(length, now);
  }

  /** The configuration of a cell; undefined if it was never set. */
  read(index: number): MeterConfig | undefined {
    checkIndex(this.name, index, this.size);
    return this.meters.get(index)?.config;
  }

  /** Sets or (with undefined) removes the configuration of a cell. `now` is in microseconds. */
  write(index: number, config: MeterConfig | undefined, now: number): void {
    checkIndex(this.name, index, this.size);
    for (const follower of this.followers) follower.write(index, config, now);
    if (config === undefined) {
      this.meters.delete(index);
      return;
    }
    const meter = new Meter(this.unit);
    meter.configure(config, now);
    this.meters.set(index, meter);
  }
}

/** Cells as generated code uses them: by width a Uint32Array, a Float64Array or an array of bigints. */
export type RegisterCells = Uint32Array | Float64Array | bigint[];

/** A register array. Cells are unsigned values of `width` bits; signed registers show their two's complement. */
export class RegisterArray {
  readonly name: string;
  readonly id: number;
  readonly size: number;
  readonly width: number;
  readonly cells: RegisterCells;
  /** Arrays that are written and reset with this one: those of a chip's other pipes. */
  readonly followers: RegisterArray[] = [];

  constructor(name: string, id: number, size: number, width: number) {
    this.name = name;
    this.id = id;
    this.size = size;
    this.width = width;
    if (width <= 32) this.cells = new Uint32Array(size);
    else if (width <= widestNumber) this.cells = new Float64Array(size);
    else this.cells = new Array<bigint>(size).fill(0n);
  }

  read(index: number): bigint {
    checkIndex(this.name, index, this.size);
    return BigInt(this.cells[index] ?? 0);
  }

  /** @throws SwitchRuntimeError when there is no such cell, or the value does not fit it */
  check(index: number, value: bigint): void {
    checkIndex(this.name, index, this.size);
    if (value < 0n || value >= 1n << BigInt(this.width)) {
      throw new SwitchRuntimeError("INVALID_ARGUMENT", this.name, `${value} does not fit ${this.width} bits`);
    }
  }

  write(index: number, value: bigint): void {
    this.check(index, value);
    if (Array.isArray(this.cells)) this.cells[index] = value;
    else this.cells[index] = Number(value);
    for (const follower of this.followers) follower.write(index, value);
  }

  /** Sets every cell to 0. */
  reset(): void {
    if (Array.isArray(this.cells)) this.cells.fill(0n);
    else this.cells.fill(0);
    for (const follower of this.followers) follower.reset();
  }
}

/** A parse value set: the values that a parser's select accepts beside its constants. Starts empty. */
export class ParseValueSet {
  readonly name: string;
  readonly id: number;
  readonly width: number;
  readonly capacity: number | undefined;
  /** Sets that have the same members: that of the other parser of a chip. */
  readonly followers: ParseValueSet[] = [];
  private readonly values = new Set<bigint>();

  constructor(name: string, id: number, width: number, capacity: number | undefined) {
    this.name = name;
    this.id = id;
    this.width = width;
    this.capacity = capacity;
  }

  get size(): number {
    return this.values.size;
  }

  members(): readonly bigint[] {
    return [...this.values];
  }

  /** Replaces the members; each is the concatenation of the key's fields without padding. */
  set(members: readonly bigint[]): void {
    if (this.capacity !== undefined && members.length > this.capacity) {
      throw new SwitchRuntimeError("RESOURCE_EXHAUSTED", this.name, `holds at most ${this.capacity} values`);
    }
    for (const value of members) {
      if (value < 0n || value >= 1n << BigInt(this.width)) {
        throw new SwitchRuntimeError(
          "INVALID_ARGUMENT",
          this.name,
          `${value} does not fit ${this.width} bits`,
        );
      }
    }
    this.values.clear();
    for (const value of members) this.values.add(value);
    for (const follower of this.followers) follower.set(members);
  }

  contains(key: bigint, mask: bigint | undefined): boolean {
    if (mask === undefined) return this.values.has(key);
    for (const value of this.values) if ((value & mask) === (key & mask)) return true;
    return false;
  }
}
