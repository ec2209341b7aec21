/** Packet formats and their codecs. */
export { formatIpv4, formatMac, parseIpv4, parseMac } from "./address.ts";
export * from "./aggregation.ts";
export * from "./aggregationpacket.ts";
export * from "./codec.ts";
export * from "./datagram.ts";
export * from "./header.ts";
export * from "./parameterserver.ts";
export * from "./probe.ts";
export * from "./trafficclass.ts";
