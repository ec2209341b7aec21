/**
 * DLCP (arXiv 2008.08445) at the end hosts: transfers of tensors that end when enough has arrived, packets marked by layer and by
 * magnitude of gradients, no order. `DlcpHost` is a state machine; `UdpHost` carries it, and so does the lab.
 */
export type { Endpoint } from "../endpoint.ts";
export type { HostMachine, SendAction } from "../machine.ts";
export { type UdpAddress, UdpHost, type UdpHostOptions } from "../udp.ts";
export { DlcpError, type DlcpErrorCode } from "./errors.ts";
export type { DlcpAction, DlcpCounter, DlcpEvent } from "./events.ts";
export { DlcpHost } from "./host.ts";
export { type ImportanceRule, importanceThreshold, meanMagnitude } from "./importance.ts";
export type { Arrived, ValueRange } from "./incoming.ts";
export { DEFAULT_DLCP_OPTIONS, type DlcpJob, type DlcpOptions, type TensorSpec } from "./job.ts";
export { RateControl, type RateOptions } from "./ratecontrol.ts";
