import { bigintOf, type Value } from "../values.ts";
import { type Cells, cells } from "./cells.ts";
import type { BoundClient } from "./client.ts";

/** A register of integers (9.7). Cells of `int<W>` take and give negative numbers. */
export function bindRegister(client: BoundClient, name: string): Cells<Value, bigint> {
  const schema = () => client.schema.registers.get(name);
  return cells<Value, bigint>(client, {
    where: `register ${name}`,
    size: () => schema().size,
    entity: (index, value) => client.entities.register(name, index, value),
    decode({ entity }) {
      if (entity?.case !== "registerEntry" || entity.value.data?.data?.case !== "bitstring") return undefined;
      const bytes = entity.value.data.data.value;
      const unsigned = bigintOf(bytes);
      const value = schema().isSigned ? BigInt.asIntN(bytes.length * 8, unsigned) : unsigned;
      return { index: entity.value.index?.index ?? 0n, value };
    },
  });
}
