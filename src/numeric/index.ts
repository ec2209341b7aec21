/** How gradients become integers on a switch: modes, lookup-table contents, golden model. */
export * from "./aggregator.ts";
export * from "./fp32.ts";
export * from "./headroom.ts";
export * from "./int32.ts";
export * from "./mode.ts";
