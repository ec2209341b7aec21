/**
 * Collective operations between the nodes of a group: Linear Pipelining (arXiv 1611.04255) and, to compare with it, the binomial
 * tree, bidirectional exchange and the ring. `TcpSeat` forms a group over TCP, `CollectiveNode` is the state machine in it.
 * docs/linear-pipelining.md has the cost of each.
 */
export { type BlockMeasurement, measuredBlock } from "./blockchoice.ts";
export { bestBlock, type CostModel, type CostQuestion, costOf } from "./cost.ts";
export { CollectiveError, type CollectiveErrorCode } from "./errors.ts";
export { type CollectiveDriver, CollectiveGroup, type OperationOptions } from "./group.ts";
export {
  type Admission,
  type CollectiveAction,
  type CollectiveEvent,
  type CollectiveMessage,
  CollectiveNode,
  type CollectiveOptions,
  DEFAULT_COLLECTIVE_OPTIONS,
} from "./node.ts";
export type { Algorithm, Operation, Plan, Receive, Schedule, Send, Step, Transfer } from "./schedule.ts";
export { type JoinOptions, type TcpAddress, TcpGroup, type TcpGroupOptions, TcpSeat } from "./tcp.ts";
