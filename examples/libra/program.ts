import { hotAggregation, int32, ipv4Forwarding, program } from "gradplane";

/** Libra's switch: IPv4 forwarding, and the hot gradients of up to 32 workers summed on the way. */
export default program("libra", {
  doc: "Hot-parameter aggregation for sparse training (Libra, arXiv 2205.05243).",
  ports: 16,
  cpuPort: 510,
  features: [
    ipv4Forwarding({ routes: 1024 }),
    hotAggregation({ workers: 32, lanes: 32, rows: 1024, mode: int32, result: "ps" }),
  ],
});
