/** How gradients become integers on a switch: modes, lookup-table contents, golden model. */
export * from "./aggregator.ts";
export * from "./block.ts";
export * from "./floatcode.ts";
export * from "./fp16.ts";
export * from "./headroom.ts";
export * from "./int32.ts";
export * from "./lookup.ts";
export * from "./mode.ts";
export * from "./window.ts";
