/**
 * Everything at once: hot gradients are summed in the switch, what is not hot is ordered by layer, dropped by importance and sprayed.
 *
 *   gradplane build examples/all-in-one/program.ts
 */
import { drop, ecmp, hotAggregation, int32, ipv4Forwarding, priority, program } from "gradplane";

export default program("all_in_one", {
  doc: "Hot-parameter aggregation, priority, selective dropping and spray in one switch.",
  ports: 32,
  // In the pipe of the workers: the controller's resets must reach the registers that they meet.
  cpuPort: 64,
  priorityQueues: 8,
  features: [
    ipv4Forwarding(),
    priority({ classes: 8 }),
    drop({ keep: { 1: 64, 2: 56, 3: 48, 4: 40, 5: 32, 6: 24 } }),
    ecmp({ groups: 64, members: 16, spray: "all" }),
    hotAggregation({ workers: 16, lanes: 16, rows: 512, mode: int32, result: "ps" }),
  ],
});
