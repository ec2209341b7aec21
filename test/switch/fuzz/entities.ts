import type { Properties } from "../../../src/p4info/message/descriptor.ts";
import type { ActionSchema, MatchFieldSchema, Schema, TableSchema } from "../../../src/p4runtime/schema.ts";
import { bytesOf } from "../../../src/p4runtime/values.ts";
import type { Dice } from "../../backends/dice.ts";

/** Entities of a program that a server mostly takes: few ids and values, so that they meet each other. */
export class EntityMaker {
  readonly #schema: Schema;
  readonly #dice: Dice;

  constructor(schema: Schema, dice: Dice) {
    this.#schema = schema;
    this.#dice = dice;
  }

  /** The message of an Entity. */
  make(): Properties {
    const { tables, counters, meters, registers, actionProfiles, digests, valueSets } = this.#schema;
    const dice = this.#dice;
    switch (dice.below(16)) {
      case 0:
        return this.#replication();
      case 1: {
        const counter = this.#one(counters.all);
        if (counter === undefined) break;
        const data = { byteCount: dice.value(62), packetCount: dice.value(62) };
        return entity("counterEntry", { counterId: counter.id, index: this.#index(counter.size), data });
      }
      case 2: {
        const meter = this.#one(meters.all);
        if (meter === undefined) break;
        return entity("meterEntry", {
          meterId: meter.id,
          index: this.#index(meter.size),
          config: this.#rates(),
        });
      }
      case 3: {
        const register = this.#one(registers.all);
        if (register === undefined) break;
        const value = bytesOf(dice.value(register.bitwidth ?? 8));
        const data = { data: { case: "bitstring", value } };
        return entity("registerEntry", { registerId: register.id, index: this.#index(register.size), data });
      }
      case 4: {
        const profile = this.#one(actionProfiles.all);
        const table = tables.all.find((t) => t.implementation === profile);
        if (profile === undefined || table === undefined) break;
        const memberId = 1 + dice.below(8);
        const action = this.#action(table);
        if (dice.below(3) !== 0)
          return entity("actionProfileMember", { actionProfileId: profile.id, memberId, action });
        const members = Array.from({ length: dice.below(4) }, (_, i) => ({
          memberId: i + 1,
          weight: 1 + dice.below(3),
        }));
        return entity("actionProfileGroup", {
          actionProfileId: profile.id,
          groupId: 1 + dice.below(4),
          members,
        });
      }
      case 5: {
        const digest = this.#one(digests.all);
        if (digest === undefined) break;
        const config = {
          maxTimeoutNs: dice.value(40),
          maxListSize: dice.below(10),
          ackTimeoutNs: dice.value(40),
        };
        return entity("digestEntry", { digestId: digest.id, config });
      }
      case 6: {
        const set = this.#one(valueSets.all);
        if (set === undefined) break;
        const members = Array.from({ length: dice.below(3) }, () => ({ match: this.#match(set.fields.all) }));
        return entity("valueSetEntry", { valueSetId: set.id, members });
      }
      case 7: {
        const table = this.#one(tables.all);
        if (table === undefined) break;
        return entity("directCounterEntry", { tableEntry: this.#key(table), data: { packetCount: 1n } });
      }
      case 8: {
        const table = this.#one(tables.all);
        if (table === undefined) break;
        return entity("directMeterEntry", { tableEntry: this.#key(table), config: this.#rates() });
      }
      default:
    }
    return this.#tableEntry();
  }

  #one<T>(list: readonly T[]): T | undefined {
    return list[this.#dice.below(Math.max(1, list.length))];
  }

  #index(size: number): Properties | undefined {
    return this.#dice.below(8) === 0 ? undefined : { index: BigInt(this.#dice.below(Math.max(1, size) + 1)) };
  }

  #rates(): Properties {
    const cir = BigInt(this.#dice.below(1000));
    return { cir, cburst: 10n, pir: cir + BigInt(this.#dice.below(2) * 100), pburst: 10n };
  }

  #replication(): Properties {
    const dice = this.#dice;
    const replicas = Array.from({ length: dice.below(5) }, (_, i) => ({
      portKind: { case: "port", value: bytesOf(BigInt(dice.below(9))) },
      instance: i,
    }));
    const type =
      dice.below(2) === 0
        ? { case: "multicastGroupEntry", value: { multicastGroupId: 1 + dice.below(6), replicas } }
        : { case: "cloneSessionEntry", value: { sessionId: 1 + dice.below(6), replicas } };
    return entity("packetReplicationEngineEntry", { type });
  }

  #tableEntry(): Properties {
    const dice = this.#dice;
    const table = this.#one(this.#schema.tables.all);
    if (table === undefined) return entity("tableEntry", {});
    const type =
      table.implementation === undefined
        ? { case: "action", value: this.#action(table) }
        : dice.pick(
            { case: "actionProfileMemberId", value: 1 + dice.below(8) },
            { case: "actionProfileGroupId", value: 1 + dice.below(4) },
            {
              case: "actionProfileActionSet",
              value: { actionProfileActions: [{ action: this.#action(table), weight: 1 + dice.below(3) }] },
            },
          );
    if (dice.below(12) === 0)
      return entity("tableEntry", { tableId: table.id, isDefaultAction: true, action: { type } });
    return entity("tableEntry", {
      ...this.#key(table),
      action: { type },
      ...(dice.below(6) === 0 ? { metadata: bytesOf(dice.value(16)) } : {}),
      ...(dice.below(6) === 0 && table.supportsIdleTimeout ? { idleTimeoutNs: dice.value(30) } : {}),
      ...(dice.below(6) === 0 ? { counterData: {} } : {}),
      ...(dice.below(6) === 0 && table.directMeter !== undefined ? { meterConfig: this.#rates() } : {}),
    });
  }

  #key(table: TableSchema): Properties {
    const priority = table.needsPriority ? 1 + this.#dice.below(4) : 0;
    return { tableId: table.id, match: this.#match(table.fields.all), priority };
  }

  #match(fields: readonly MatchFieldSchema[]): Properties[] {
    const dice = this.#dice;
    return fields.flatMap(({ id, kind, bitwidth }): Properties[] => {
      if (kind !== "EXACT" && dice.below(4) === 0) return [];
      const value = dice.value(bitwidth);
      const as = (name: string, of: Properties): Properties[] => [
        { fieldId: id, fieldMatchType: { case: name, value: of } },
      ];
      switch (kind) {
        case "EXACT":
          return as("exact", { value: bytesOf(value) });
        case "OPTIONAL":
          return as("optional", { value: bytesOf(value) });
        case "LPM": {
          const prefixLen = 1 + dice.below(Math.max(1, bitwidth));
          const rest = BigInt(bitwidth - prefixLen);
          return as("lpm", { value: bytesOf((value >> rest) << rest), prefixLen });
        }
        case "TERNARY": {
          const mask = dice.value(bitwidth) | 1n;
          return as("ternary", { value: bytesOf(value & mask), mask: bytesOf(mask) });
        }
        default:
          return as("range", { low: bytesOf(value >> 1n), high: bytesOf(value) });
      }
    });
  }

  #action(table: TableSchema): Properties {
    const ref = this.#one([...table.actions.values()]);
    const action: ActionSchema | undefined = ref?.action;
    const params = (action?.params.all ?? []).map(({ id, bitwidth }) => ({
      paramId: id,
      value: bytesOf(this.#dice.value(bitwidth)),
    }));
    return { actionId: action?.id ?? 0, params };
  }
}

function entity(name: string, value: Properties): Properties {
  return { entity: { case: name, value } };
}
