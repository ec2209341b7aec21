import type { Init } from "../../p4info/message/descriptor.ts";
import type { MatchInputs } from "../entities.ts";
import type { MeterConfig } from "../proto/generated/p4runtime.ts";
import type { MeterType } from "../schema.ts";
import { type Cells, cells } from "./cells.ts";
import type { BoundClient } from "./client.ts";
import { type DirectCells, directCells } from "./direct-cells.ts";
import type { EntryKind } from "./entries.ts";

/**
 * Rates and bursts of a meter, by its type in the program: rates in bytes or packets per second, bursts in bytes or packets (9.4).
 * `undefined` in their place is a meter that marks everything green.
 */
export type Rates<Type extends MeterType> = Type extends "TWO_RATE_THREE_COLOR"
  ? { readonly cir: bigint; readonly cburst: bigint; readonly pir: bigint; readonly pburst: bigint }
  : Type extends "SINGLE_RATE_THREE_COLOR"
    ? { readonly cir: bigint; readonly cburst: bigint; readonly eburst: bigint }
    : { readonly cir: bigint; readonly cburst: bigint };

/** A meter that is an array of cells. */
export function bindMeter<Type extends MeterType>(
  client: BoundClient,
  name: string,
): Cells<Rates<Type> | undefined, Rates<Type> | undefined> {
  const schema = () => client.schema.meters.get(name);
  return cells<Rates<Type> | undefined, Rates<Type> | undefined>(client, {
    where: `meter ${name}`,
    size: () => schema().size,
    entity: (index, rates) => client.entities.meter(name, index, configOf(rates)),
    decode: ({ entity }) =>
      entity?.case === "meterEntry"
        ? { index: entity.value.index?.index ?? 0n, value: ratesOf<Type>(schema().type, entity.value.config) }
        : undefined,
  });
}

/** A meter for each entry of a table. */
export function bindDirectMeter<M extends MatchInputs, Kind extends EntryKind, Type extends MeterType>(
  client: BoundClient,
  table: string,
): DirectCells<M, Kind, Rates<Type> | undefined, Rates<Type> | undefined> {
  const type = (): MeterType => client.schema.tables.get(table).directMeter?.type ?? "TWO_RATE_THREE_COLOR";
  return directCells<M, Kind, Rates<Type> | undefined, Rates<Type> | undefined>(client, table, {
    entity: (match, priority, rates) => client.entities.directMeter(table, match, priority, configOf(rates)),
    decode: ({ entity }) =>
      entity?.case === "directMeterEntry" && entity.value.tableEntry !== undefined
        ? { entry: entity.value.tableEntry, value: ratesOf<Type>(type(), entity.value.config) }
        : undefined,
  });
}

/**
 * Meters of fewer rates are the general one with the rest made equal, as the specification wants them (9.4): the peak rate of a
 * single-rate meter is its committed rate.
 */
function configOf(
  rates: Partial<Record<"cir" | "cburst" | "pir" | "pburst" | "eburst", bigint>> | undefined,
): Init<MeterConfig> | undefined {
  if (rates === undefined) return undefined;
  const { cir = 0n, cburst = 0n } = rates;
  const { pir = cir, pburst = cburst, eburst = 0n } = rates;
  return { cir, cburst, pir, pburst, eburst };
}

function ratesOf<Type extends MeterType>(
  type: MeterType,
  config: MeterConfig | undefined,
): Rates<Type> | undefined {
  if (config === undefined) return undefined;
  const { cir, cburst, pir, pburst, eburst } = config;
  const rates = {
    cir,
    cburst,
    ...(type === "TWO_RATE_THREE_COLOR" ? { pir, pburst } : {}),
    ...(type === "SINGLE_RATE_THREE_COLOR" ? { eburst } : {}),
  };
  // The type of the program is the one that the type here was made from.
  return rates as Rates<Type>;
}
