import type { CallOptions } from "../connection.ts";
import { modify } from "../entities.ts";
import { EntityError } from "../entity-error.ts";
import type { Entity } from "../proto/generated/p4runtime.ts";
import type { BoundClient } from "./client.ts";

/** An array of cells that can be read and changed: counters, meters, registers. */
export interface Cells<In, Out> {
  /** @throws EntityError for an index beyond the array. */
  read(index: number | bigint, options?: CallOptions): Promise<Out>;
  /** All cells in the order of the switch. */
  readAll(options?: CallOptions): AsyncGenerator<{ readonly index: bigint; readonly value: Out }, void>;
  /** @throws EntityError for an index beyond the array or a value that does not fit. */
  write(index: number | bigint, value: In, options?: CallOptions): Promise<void>;
}

/** How the cells of one kind of array are named and coded. */
export interface CellCode<In, Out> {
  /** Kind and name of the array, for messages. */
  readonly where: string;
  readonly size: () => number;
  /** One cell or all for reading, one with a value for writing. */
  readonly entity: (index?: bigint, value?: In) => Entity;
  readonly decode: (entity: Entity) => { readonly index: bigint; readonly value: Out } | undefined;
}

export function cells<In, Out>(client: BoundClient, code: CellCode<In, Out>): Cells<In, Out> {
  const at = (index: number | bigint): bigint => {
    const size = code.size();
    if (index < 0 || index >= size || (typeof index === "number" && !Number.isInteger(index)))
      throw new EntityError("out-of-range", code.where, `there is no cell ${index}; it has ${size}`);
    return BigInt(index);
  };
  async function* read(entity: Entity, options?: CallOptions) {
    for await (const answer of client.read([entity], options)) {
      const cell = code.decode(answer);
      if (cell !== undefined) yield cell;
    }
  }
  return {
    async read(index, options) {
      for await (const { value } of read(code.entity(at(index)), options)) return value;
      throw new EntityError("missing", code.where, `the switch gave no cell ${index}`);
    },
    readAll: (options) => read(code.entity(), options),
    write: async (index, value, options) => client.write([modify(code.entity(at(index), value))], options),
  };
}
