export { Controller, type ControllerOptions, type Notice } from "./controller.ts";
export { JobError, type JobRequest } from "./failover.ts";
export type { Placement } from "./jobs.ts";
export type { AggregationFeature } from "./program.ts";
export { type HostNode, type SwitchNode, type Topology, TopologyError } from "./topology.ts";
