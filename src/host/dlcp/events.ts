import type { FrameRefusal } from "../../wire/datagram.ts";
import type { TensorRefusal } from "../../wire/tensor.ts";
import type { DlcpError } from "./errors.ts";
import type { Arrived } from "./incoming.ts";

export type DlcpEvent =
  /** Sends the tensor's next iteration. The values are not to be changed until `sent`. At most one transfer may wait for another. */
  | { readonly type: "send"; readonly to: number; readonly tensor: number; readonly values: Float32Array }
  /** The tensor's next iteration is awaited: from now on that host has to show signs of life. What is not awaited is taken all the same. */
  | { readonly type: "expect"; readonly from: number; readonly tensor: number };

export type DlcpAction =
  | ({ readonly type: "received"; readonly from: number; readonly tensor: number } & Arrived)
  /** The receiver has enough. `rounds`: how often something was sent again. */
  | {
      readonly type: "sent";
      readonly to: number;
      readonly tensor: number;
      readonly iteration: number;
      readonly rounds: number;
    }
  | { readonly type: "error"; readonly error: DlcpError };

export type DlcpCounter =
  | FrameRefusal["refused"]
  | TensorRefusal["refused"]
  | "other_address"
  | "other_port"
  | "other_job"
  | "unknown_peer"
  | "failed_peer"
  | "stale"
  | "not_of_this_tensor"
  | "inconsistent"
  | "early"
  | "late"
  | "duplicate"
  /** Segments sent: for the first time, again, and of these marked as droppable. */
  | "segments"
  | "segments_again"
  | "segments_droppable"
  | "segments_received"
  | "probes"
  | "probes_again"
  | "bitmaps"
  | "stops";
