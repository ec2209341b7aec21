/**
 * P3 (arXiv 1905.03960): gradients are sent in slices, and the slices of the front layers first, since the next forward pass needs those
 * first. The hosts mark a slice's layer by its DSCP; the switch only keeps the order, with strict-priority queues.
 *
 *   gradplane build examples/p3/program.ts
 */
import { ipv4Forwarding, priority, program } from "gradplane";

export default program("p3", {
  doc: "Priority by layer (P3, arXiv 1905.03960).",
  ports: 32,
  priorityQueues: 8,
  features: [ipv4Forwarding(), priority({ classes: 8 })],
});
