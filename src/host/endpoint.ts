import { parseIpv4, parseMac } from "../wire/address.ts";
import type { Addressing } from "../wire/datagram.ts";

/** Where a party can be reached, in text. */
export interface Endpoint {
  /** Such as 02:00:00:00:00:01. */
  readonly mac: string;
  /** Such as 10.0.0.1. */
  readonly ip: string;
}

/** The same as numbers: 48 and 32 bits, unsigned. */
export interface NetworkAddress {
  readonly mac: number;
  readonly ip: number;
}

/** @throws RangeError when one of the addresses can't be read. */
export function resolveEndpoint({ mac, ip }: Endpoint): NetworkAddress {
  return { mac: parseMac(mac), ip: parseIpv4(ip) };
}

/** The same for one who has an error of his own: `refuse` is given the reason. */
export function resolveOr(endpoint: Endpoint, refuse: (why: string) => never): NetworkAddress {
  try {
    return resolveEndpoint(endpoint);
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

/** Addressing of a datagram between two parties that use the same port number at both ends. */
export function addressingBetween(from: NetworkAddress, to: NetworkAddress, port: number): Addressing {
  return { srcMac: from.mac, dstMac: to.mac, srcIp: from.ip, dstIp: to.ip, srcPort: port, dstPort: port };
}
