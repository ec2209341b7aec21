/**
 * Priority-based Parameter Propagation (P3, arXiv 1905.03960) at the end hosts: slices of layers by priority between workers and
 * parameter servers. `P3Worker` and `P3Server` are state machines; `UdpHost` carries them, and so does the lab.
 */
export type { Endpoint } from "../endpoint.ts";
export type { HostMachine, SendAction } from "../machine.ts";
export { type CongestionControl, Dctcp, FixedWindow } from "../message/congestion.ts";
export { type Of, SharedHost } from "../sharedhost.ts";
export { type UdpAddress, UdpHost, type UdpHostOptions } from "../udp.ts";
export { P3Error, type P3ErrorCode } from "./errors.ts";
export { DEFAULT_P3_OPTIONS, type P3Costs, type P3Job, type P3Options } from "./job.ts";
export {
  meanDescent,
  P3Server,
  type P3ServerAction,
  type P3ServerEvent,
  type SliceUpdate,
} from "./server.ts";
export { cutModel, type Discipline, LAYERS, P3, SLICES_ONLY, type Slice } from "./slicing.ts";
export { type GradientEvent, P3Worker, type P3WorkerAction, type P3WorkerEvent } from "./worker.ts";
