import { hotAggregation, int32, ipv4Forwarding, type NumericMode, program } from "gradplane";

/**
 * Port of the controller: a Tofino's CPU by Ethernet, in the first pipe. Each pipe has registers of its own, and the controller's resets
 * must reach those that the workers' packets meet. BMv2 takes any number.
 */
export const CPU_PORT = 64;

const LANES = 32;

/**
 * SwitchML's switch (NSDI'21): workers send the rows of a tensor, and the switch itself sends each completed row back to all of them. There
 * is no parameter server; the result is the acknowledgement.
 */
export function allreduce(mode: NumericMode) {
  return program("allreduce", {
    doc: "All-reduce in the switch, without a parameter server (SwitchML, NSDI'21).",
    ports: 40,
    cpuPort: CPU_PORT,
    features: [
      ipv4Forwarding({ routes: 1024 }),
      hotAggregation({ workers: 32, lanes: LANES, rows: 512, mode, result: "allreduce" }),
    ],
  });
}

export default allreduce(int32);
