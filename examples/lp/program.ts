/**
 * Linear pipelining: hosts pass blocks along a chain over TCP, so the network only has to forward, over all of its equal paths, and to keep
 * each flow to one of them.
 *
 *   gradplane build examples/lp/program.ts
 */
import { ecmp, ipv4Forwarding, program } from "gradplane";

export default program("lp", {
  doc: "Forwarding over equal-cost paths, for linear pipelining.",
  ports: 32,
  features: [ipv4Forwarding(), ecmp({ groups: 64, members: 16, spray: "none" })],
});
