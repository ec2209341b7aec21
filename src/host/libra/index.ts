/**
 * Hot-parameter aggregation at the end hosts: find the hot keys, place them, train with them. See the docstrings of
 * `JobLayout`, `LibraWorker` and `LibraServer` for the rules, and `KVWorker` and `KVServer` for the plain interface.
 */
export { Counters } from "../counters.ts";
export type { Endpoint } from "../endpoint.ts";
export { deliveries, type LinkFaults } from "../faults.ts";
export type { HostMachine, SendAction } from "../machine.ts";
export { KVServer, sgd, type UpdateHandler } from "../ps/kvserver.ts";
export { KVWorker, type Timestamp, type WorkerDriver } from "../ps/kvworker.ts";
export { type Random, seededRandom } from "../random.ts";
export { type UdpAddress, UdpHost, type UdpHostOptions } from "../udp.ts";
export { AggregatorNode, formatFor, frameOf } from "./aggregatornode.ts";
export {
  type AllreduceAction,
  type AllreduceEvent,
  type AllreduceLayout,
  AllreduceWorker,
} from "./allreduceworker.ts";
export { LibraError, type LibraErrorCode, type LibraErrorDetails } from "./errors.ts";
export {
  checkLayout,
  isServerOnly,
  type JobLayout,
  parseLayout,
  type WorkerEndpoint,
} from "./layout.ts";
export { DEFAULT_OPTIONS, type LibraOptions } from "./options.ts";
export {
  type PlacementOptions,
  type PlacementQuality,
  placeByAffinity,
  placeByHeat,
  placementQuality,
} from "./placement.ts";
export {
  countKeys,
  coverage,
  type Example,
  type Heat,
  hottestKeys,
  overlap,
  sampleExamples,
} from "./sampling.ts";
export { LibraServer, type ParameterStore, type ServerAction, type ServerEvent } from "./server.ts";
export { LibraWorker, type WorkerAction, type WorkerEvent } from "./worker.ts";
