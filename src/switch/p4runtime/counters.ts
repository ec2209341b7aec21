/** What became of packets to and from controllers, and of requests. */
export interface P4RuntimeServerCounters {
  packetInsSent: number;
  /** No stream of a primary was open. */
  packetInsWithoutPrimary: number;
  /** The primary did not read its stream fast enough. */
  packetInsNotRead: number;
  /** Shorter than the packet_in header. */
  packetInsTooShort: number;
  packetOutsSent: number;
  packetOutsRefused: number;
  updatesWritten: number;
  updatesRefused: number;
  /** Digest lists and idle notifications that no primary heard of. */
  notificationsLost: number;
}

export function newServerCounters(): P4RuntimeServerCounters {
  return {
    packetInsSent: 0,
    packetInsWithoutPrimary: 0,
    packetInsNotRead: 0,
    packetInsTooShort: 0,
    packetOutsSent: 0,
    packetOutsRefused: 0,
    updatesWritten: 0,
    updatesRefused: 0,
    notificationsLost: 0,
  };
}
