import {
  drop,
  ecmp,
  hotAggregation,
  ipv4Forwarding,
  type NumericMode,
  priority,
  program,
  telemetry,
} from "../../../src/dsl/index.ts";
import type { Program } from "../../../src/ir/index.ts";

/** All that a switch for training does, beside so many lanes of that mode. */
export const fullSwitch = (mode: NumericMode, lanes: number, name = "full"): Program =>
  program(name, {
    ports: 40,
    cpuPort: 192,
    priorityQueues: 8,
    features: [
      ipv4Forwarding({ routes: 8192 }),
      priority(),
      drop({ keep: { 1: 16, 2: 32 } }),
      ecmp({ groups: 64, members: 16, spray: "all" }),
      hotAggregation({ workers: 32, lanes, rows: 512, mode, result: "ps" }),
      telemetry(),
    ],
  }).ir;
