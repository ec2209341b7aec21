/**
 * The lab: hosts and switches under one virtual clock. `Lab` is the network, `topology.ts` gives whole ones, `ForwardingSwitch` stands
 * for a switch that only forwards, and `PipeNetwork` is the simple model in which collective operations are priced.
 */
export { addSwitches, plugHosts } from "./build.ts";
export {
  type ForwardingOptions,
  type ForwardingRoute,
  type ForwardingRules,
  ForwardingSwitch,
  type NextHop,
} from "./forwardingswitch.ts";
export { Lab, type LabFrame, type LabHost, type LabOptions, type LabSwitch, type SwitchPort } from "./lab.ts";
export { type LinkCounters, type LinkOptions, Wire } from "./link.ts";
export { type PipeModel, PipeNetwork } from "./pipes.ts";
export {
  type CablePlan,
  fatTree,
  hostEndpoint,
  type LabEndpoint,
  type LabTopology,
  type LeafSpineOptions,
  leafSpine,
  MLT_PORT_BUFFER,
  mltNetwork,
  type SwitchPlace,
  star,
} from "./topology.ts";
