/**
 * A feature of one's own beside the built-in ones: `watermark.ts` is not part of gradplane, and could stand in any package.
 *
 *   gradplane build examples/own-feature/program.ts
 */
import { ipv4Forwarding, priority, program } from "gradplane";
import { queueWatermark } from "./watermark.ts";

export default program("own_feature", {
  doc: "Forwarding by priority, with a queue watermark of the user's own.",
  ports: 16,
  priorityQueues: 8,
  features: [ipv4Forwarding(), priority(), queueWatermark({ long: 48 })],
});
