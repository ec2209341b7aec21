export { dissector, dissectorOf } from "./dissector.ts";
export type { Body, BodyPart, DissectedProtocol, Expert, ValueNames } from "./protocol.ts";
export { AGGREGATION, PARAMETER_SERVER, PROTOCOLS, protocolsOf } from "./protocols.ts";
