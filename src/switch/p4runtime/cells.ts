import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import type {
  CounterData,
  CounterEntry,
  Index,
  MeterConfig,
  MeterEntry,
  RegisterEntry,
  Update_Type,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import type { MeterSchema, Named, RegisterSchema, Schema } from "../../p4runtime/schema.ts";
import { bytesOf, decodeValue, maxOf } from "../../p4runtime/values.ts";
import { invalidArgument, notFound, StatusError, unimplemented } from "./status.ts";
import type { CounterValue, MeterRates, TargetProgram } from "./target.ts";

/** Counters on the wire are signed 64 bits; a counter beyond that comes out negative, as in every other server. */
export function counterData(value: CounterValue): CounterData {
  return { byteCount: BigInt.asIntN(64, value.bytes), packetCount: BigInt.asIntN(64, value.packets) };
}

export function counterValue(data: CounterData): CounterValue {
  return { packets: BigInt.asUintN(64, data.packetCount), bytes: BigInt.asUintN(64, data.byteCount) };
}

/** Check a meter configuration against the type of the meter (P4Runtime specification 9.4). @throws StatusError */
export function meterRates(meter: MeterSchema, config: MeterConfig): MeterRates {
  const { cir, cburst, pir, pburst, eburst } = config;
  if ([cir, cburst, pir, pburst, eburst].some((rate) => rate < 0n))
    throw invalidArgument(`meter ${meter.name}: rates and bursts cannot be negative`);
  if (meter.type !== "SINGLE_RATE_THREE_COLOR" && eburst !== 0n)
    throw invalidArgument(`meter ${meter.name}: only a single-rate three-colour meter has an excess burst`);
  if (meter.type !== "TWO_RATE_THREE_COLOR" && (pir !== cir || pburst !== cburst))
    throw invalidArgument(`meter ${meter.name} has one rate, so pir and pburst must equal cir and cburst`);
  if (eburst !== 0n) throw unimplemented(`meter ${meter.name}: excess bursts are not supported`);
  if (pir < cir)
    throw invalidArgument(`meter ${meter.name}: the peak rate ${pir} is below the committed rate ${cir}`);
  return { committedRate: cir, committedBurst: cburst, peakRate: pir, peakBurst: pburst };
}

/** Indirect counters and meters, and registers: arrays of cells that can be modified and read, one or all (9.3, 9.4, 9.7). */
export class CellStore {
  readonly #schema: Schema;
  readonly #program: TargetProgram;
  /** Configurations that clients wrote, by meter id and index. */
  readonly #meterConfigs = new Map<number, Map<number, MeterConfig>>();

  constructor(schema: Schema, program: TargetProgram) {
    this.#schema = schema;
    this.#program = program;
  }

  writeCounter(type: Update_Type, message: CounterEntry): void {
    onlyModify(type, "counters");
    const counter = existing(this.#schema.counters.find(message.counterId), "counter", message.counterId);
    const indices = indicesOf(counter, message.index);
    if (message.data === undefined) return;
    const value = counterValue(message.data);
    for (let i = indices.first; i < indices.end; i++) this.#program.writeCounter(counter, i, value);
  }

  /** @throws StatusError before the first cell or not at all */
  readCounters(message: CounterEntry): Iterable<Init<CounterEntry>> {
    const counters = this.#selected(this.#schema.counters, "counter", message.counterId);
    return eachCell(counters, message.counterId === 0 ? undefined : message.index, (counter, index) => ({
      counterId: counter.id,
      index: { index: BigInt(index) },
      data: counterData(this.#program.readCounter(counter, index)),
    }));
  }

  writeMeter(type: Update_Type, message: MeterEntry): void {
    onlyModify(type, "meters");
    const meter = existing(this.#schema.meters.find(message.meterId), "meter", message.meterId);
    if (message.counterData !== undefined) throw unimplemented("counters of meter colours are not supported");
    const indices = indicesOf(meter, message.index);
    const rates = message.config === undefined ? undefined : meterRates(meter, message.config);
    const configs = this.#meterConfigs.get(meter.id) ?? new Map<number, MeterConfig>();
    this.#meterConfigs.set(meter.id, configs);
    for (let index = indices.first; index < indices.end; index++) {
      this.#program.writeMeter(meter, index, rates);
      if (message.config === undefined) configs.delete(index);
      else configs.set(index, message.config);
    }
  }

  /** @throws StatusError before the first cell or not at all */
  readMeters(message: MeterEntry): Iterable<Init<MeterEntry>> {
    const meters = this.#selected(this.#schema.meters, "meter", message.meterId);
    return eachCell(meters, message.meterId === 0 ? undefined : message.index, (meter, index) => ({
      meterId: meter.id,
      index: { index: BigInt(index) },
      config: this.#meterConfigs.get(meter.id)?.get(index),
    }));
  }

  writeRegister(type: Update_Type, message: RegisterEntry): void {
    onlyModify(type, "registers");
    const register = existing(
      this.#schema.registers.find(message.registerId),
      "register",
      message.registerId,
    );
    const bitwidth = plainWidth(register);
    const indices = indicesOf(register, message.index);
    if (message.data?.data?.case !== "bitstring")
      throw invalidArgument(`register ${register.name}: the data must be a bitstring of ${bitwidth} bits`);
    const value = registerValue(register, bitwidth, message.data.data.value);
    for (let i = indices.first; i < indices.end; i++) this.#program.writeRegister(register, i, value);
  }

  /** @throws StatusError before the first cell or not at all */
  readRegisters(message: RegisterEntry): Iterable<Init<RegisterEntry>> {
    const registers = this.#selected(this.#schema.registers, "register", message.registerId);
    const widths = new Map(registers.map((register) => [register, plainWidth(register)]));
    return eachCell(registers, message.registerId === 0 ? undefined : message.index, (register, index) => {
      const cell = this.#program.readRegister(register, index);
      const value = registerBytes(register, widths.get(register) ?? 0, cell);
      return {
        registerId: register.id,
        index: { index: BigInt(index) },
        data: { data: { case: "bitstring" as const, value } },
      };
    });
  }

  /** Meter configurations that clients wrote, as messages that write them again. */
  meterChanges(): Init<MeterEntry>[] {
    return [...this.#meterConfigs].flatMap(([meterId, configs]) =>
      [...configs].map(([index, config]) => ({ meterId, index: { index: BigInt(index) }, config })),
    );
  }

  #selected<T extends Named>(
    objects: { readonly all: readonly T[]; find(id: number): T | undefined },
    noun: string,
    id: number,
  ): readonly T[] {
    return id === 0 ? objects.all : [existing(objects.find(id), noun, id)];
  }
}

function onlyModify(type: Update_Type, what: string): void {
  if (type !== "MODIFY") throw invalidArgument(`${what} can only be modified`);
}

function existing<T>(object: T | undefined, noun: string, id: number): T {
  if (object !== undefined) return object;
  throw id === 0
    ? invalidArgument(`the ${noun} has no id`)
    : notFound(`there is no ${noun} with id 0x${id.toString(16)}`);
}

type CellArray = Named & { readonly size: number };

interface Indices {
  readonly first: number;
  /** The one behind the last. */
  readonly end: number;
}

/** What the cells at one index give, or all cells when it is absent. @throws StatusError at once, as `indicesOf` */
function eachCell<Cells extends CellArray, T>(
  arrays: readonly Cells[],
  index: Index | undefined,
  read: (array: Cells, index: number) => T,
): Iterable<T> {
  const all = arrays.map((array) => ({ array, ...indicesOf(array, index) }));
  return (function* () {
    for (const { array, first, end } of all) for (let i = first; i < end; i++) yield read(array, i);
  })();
}

/** One index, or all when it is absent. @throws StatusError INVALID_ARGUMENT when it is negative, OUT_OF_RANGE when it is too large */
function indicesOf(array: CellArray, index: Index | undefined): Indices {
  if (index === undefined) return { first: 0, end: array.size };
  if (index.index < 0n) throw invalidArgument(`${array.name}: index ${index.index} is negative`);
  if (index.index >= BigInt(array.size))
    throw new StatusError(
      Code.OUT_OF_RANGE,
      `${array.name}: index ${index.index} is not below its size ${array.size}`,
    );
  return { first: Number(index.index), end: Number(index.index) + 1 };
}

function plainWidth(register: RegisterSchema): number {
  if (register.bitwidth === undefined)
    throw unimplemented(
      `register ${register.name}: only registers of plain integers can be read and written`,
    );
  return register.bitwidth;
}

function registerValue(register: RegisterSchema, bitwidth: number, bytes: Uint8Array): bigint {
  const where = `register ${register.name}`;
  if (!register.isSigned) return decodeValue(bytes, { bitwidth, where });
  // Two's complement, of which leading copies of the sign bit may be there or not (8.3).
  const unsigned = decodeValue(bytes, { bitwidth: bytes.length * 8, where });
  const value = BigInt.asIntN(bytes.length * 8, unsigned);
  if (BigInt.asIntN(bitwidth, value) !== value)
    throw new StatusError(Code.OUT_OF_RANGE, `${where}: ${value} does not fit into int<${bitwidth}>`);
  return BigInt.asUintN(bitwidth, value);
}

function registerBytes(register: RegisterSchema, bitwidth: number, cell: bigint): Uint8Array {
  const unsigned = cell & maxOf(bitwidth);
  if (!register.isSigned) return bytesOf(unsigned);
  const value = BigInt.asIntN(bitwidth, unsigned);
  let bits = 8;
  while (BigInt.asIntN(bits, value) !== value) bits += 8;
  const bytes = bytesOf(BigInt.asUintN(bits, value));
  const padded = new Uint8Array(bits / 8);
  padded.set(bytes, padded.length - bytes.length);
  return padded;
}
