import {
  bf16,
  block,
  fp16,
  fp32,
  hotAggregation,
  int32,
  ipv4Forwarding,
  type NumericMode,
  program,
} from "gradplane";

/** Most workers of a job on this switch. */
export const WORKERS = 32;
/** Rows of the register grid. */
export const ROWS = 512;

/**
 * Port of the controller: a Tofino's CPU by Ethernet, in the first pipe. Each pipe has registers of its own, and the controller's resets
 * must reach those that the workers' packets meet. BMv2 takes any number.
 */
export const CPU_PORT = 64;

/** Libra's switch: IPv4 forwarding, and the hot gradients of up to 32 workers summed on the way. */
export function libra(mode: NumericMode, lanes: number) {
  return program("libra", {
    doc: "Hot-parameter aggregation for sparse training (Libra, arXiv 2205.05243).",
    ports: 40,
    cpuPort: CPU_PORT,
    features: [
      ipv4Forwarding({ routes: 1024 }),
      hotAggregation({ workers: WORKERS, lanes, rows: ROWS, mode, result: "ps" }),
    ],
  });
}

/** Raw float32 on the wire: the switch converts by lookup tables, so its rows are narrower. */
export const libraFloat = () => libra(fp32(), 8);

/** The switch of each numeric mode. Codes of half the width need smaller tables. */
export const libraOf = {
  int32: () => libra(int32, 32),
  block: () => libra(block, 32),
  fp32: libraFloat,
  fp16: () => libra(fp16(), 16),
  bf16: () => libra(bf16(), 16),
};

export default libraOf.int32();
