import { create } from "../../p4info/message/create.ts";
import { EntityError } from "../entity-error.ts";
import { Entity } from "../proto/generated/p4runtime.ts";
import { bigintOf, parseValue, type Value } from "../values.ts";
import { type Cells, cells } from "./cells.ts";
import type { BoundClient } from "./client.ts";

/** A register of integers (9.7). Cells of `int<W>` take and give negative numbers. */
export function bindRegister(client: BoundClient, name: string): Cells<Value, bigint> {
  const schema = () => client.schema.registers.get(name);
  const where = `register ${name}`;
  return cells<Value, bigint>(client, {
    where,
    size: () => schema().size,
    entity(index, value) {
      const { id: registerId, bitwidth, isSigned } = schema();
      if (value === undefined || !isSigned || bitwidth === undefined)
        return client.entities.register(name, index, value);
      const data = { data: { case: "bitstring" as const, value: signedBytes(value, bitwidth, where) } };
      const entry = { registerId, index: index === undefined ? undefined : { index }, data };
      return create(Entity, { entity: { case: "registerEntry", value: entry } });
    },
    decode({ entity }) {
      if (entity?.case !== "registerEntry" || entity.value.data?.data?.case !== "bitstring") return undefined;
      const bytes = entity.value.data.data.value;
      const unsigned = bigintOf(bytes);
      const value = schema().isSigned ? BigInt.asIntN(bytes.length * 8, unsigned) : unsigned;
      return { index: entity.value.index?.index ?? 0n, value };
    },
  });
}

/**
 * Two's complement in as many bytes as the cell has: longer than need be (8.3), but right as well for servers that put zeros in front of
 * shorter ones.
 */
function signedBytes(input: Value, bitwidth: number, where: string): Uint8Array {
  const text = String(input).trim();
  const value = /^-\d+$/.test(text) ? BigInt(text) : parseValue(input, { bitwidth, where });
  if (BigInt.asIntN(bitwidth, value) !== value)
    throw new EntityError("out-of-range", where, `${value} does not fit into int<${bitwidth}>`);
  const bytes = Math.ceil(bitwidth / 8);
  const hex = BigInt.asUintN(bytes * 8, value).toString(16);
  return Uint8Array.from(Buffer.from(hex.padStart(bytes * 2, "0"), "hex"));
}
