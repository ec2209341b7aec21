import { headerCodec } from "./codec.ts";
import type { Refusal } from "./datagram.ts";
import { wireHeader } from "./header.ts";
import { ethernet } from "./internet.ts";

/** EtherType of link probes: one of those for local experiments (IEEE 802). */
export const ETHERTYPE_PROBE = 0x88b5;

export const PROBE_VERSION = 1;

/** A group address that bridges do not forward (IEEE 802.1Q, "nearest bridge"): a probe ends at the other end of its cable. */
const NEAREST_BRIDGE = 0x0180_c200_000e;

/**
 * Behind Ethernet: a probe of one direction of a link. The controller sends it out of a port, and the neighbour's switch brings it up with
 * the port where it came in.
 */
export const probe = wireHeader(
  "probe",
  {
    version: 8,
    padding: 8,
    port: [16, "port that it left by"],
    device_high: 32,
    device_low: [32, "P4Runtime device id of the switch that it left"],
    session: [32, "which run of the controller sent it: those of others are not ours"],
    sequence: [32, "counts the probes of one direction of a link"],
  },
  "A link probe.",
);

/** What a probe says. */
export interface Probe {
  readonly device: bigint;
  readonly port: number;
  readonly session: number;
  readonly sequence: number;
}

export type ProbeRefusal = Refusal<"not_a_probe" | "probe_too_short" | "probe_version">;

const ethernetCodec = headerCodec(ethernet);
const probeCodec = headerCodec(probe);
/** The shortest frame of Ethernet without its check sequence. */
const MIN_FRAME = 60;

/** @param srcMac of the switch that it leaves */
export function probeFrame({ device, port, session, sequence }: Probe, srcMac: number): Uint8Array {
  const frame = new Uint8Array(MIN_FRAME);
  ethernetCodec.encode({ dst_addr: NEAREST_BRIDGE, src_addr: srcMac, ether_type: ETHERTYPE_PROBE }, frame, 0);
  const halves = {
    device_high: Number(device >> 32n) >>> 0,
    device_low: Number(device & 0xffff_ffffn),
  };
  const values = { version: PROBE_VERSION, padding: 0, port, ...halves, session, sequence };
  probeCodec.encode(values, frame, ethernetCodec.bytes);
  return frame;
}

export function decodeProbe(frame: Uint8Array): Probe | ProbeRefusal {
  if (frame.length < ethernetCodec.bytes) return { refused: "not_a_probe" };
  if (ethernetCodec.decode(frame, 0).ether_type !== ETHERTYPE_PROBE) return { refused: "not_a_probe" };
  if (frame.length < ethernetCodec.bytes + probeCodec.bytes) return { refused: "probe_too_short" };
  const { version, port, device_high, device_low, session, sequence } = probeCodec.decode(
    frame,
    ethernetCodec.bytes,
  );
  if (version !== PROBE_VERSION) return { refused: "probe_version" };
  return { device: (BigInt(device_high) << 32n) | BigInt(device_low), port, session, sequence };
}
