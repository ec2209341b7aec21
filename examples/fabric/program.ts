/**
 * A switch of a training cluster's fabric, leaf or spine: both versions of IP, gradients ordered by layer, flows kept to one of equal
 * paths, dead links found by probes, and every dropped packet counted by its reason.
 *
 *   gradplane build examples/fabric/program.ts
 *   gradplane controller --topology TOPOLOGY.yaml     # probes the links, leads traffic around dead ones; status shows drops by reason
 */
import { ecmp, ipv4Forwarding, ipv6Forwarding, priority, probe, program, telemetry } from "gradplane";

export default program("fabric", {
  doc: "Forwarding of IPv4 and IPv6 over equal-cost paths, with probes of links and counted drops.",
  ports: 32,
  cpuPort: 192,
  priorityQueues: 8,
  features: [
    ipv4Forwarding({ routes: 2048 }),
    ipv6Forwarding({ routes: 1024 }),
    priority({ classes: 8 }),
    ecmp({ groups: 64, members: 16, spray: "none" }),
    telemetry(),
    probe(),
  ],
});
