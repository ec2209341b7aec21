/**
 * DLCP (arXiv 2008.08445; MLT, NSDI 2024): training bears some loss of gradients, if it is the right ones. The switch orders packets by layer,
 * drops small gradients first when a queue is long (front layers bear more loss, so their queues are cut shorter), and sprays packets
 * over all paths, since gradients need no order.
 *
 *   gradplane build examples/dlcp/program.ts
 */
import { drop, ecmp, ipv4Forwarding, priority, program } from "gradplane";

export default program("dlcp", {
  doc: "Priority, selective dropping and spray for bounded-loss gradients (DLCP, arXiv 2008.08445).",
  ports: 32,
  priorityQueues: 8,
  features: [
    ipv4Forwarding(),
    priority({ classes: 8 }),
    drop({ keep: { 1: 64, 2: 56, 3: 48, 4: 40, 5: 32, 6: 24 } }),
    ecmp({ groups: 64, members: 16, spray: "all" }),
  ],
});
