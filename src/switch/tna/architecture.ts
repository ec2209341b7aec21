import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { Gress } from "./document.ts";

/** Intrinsic metadata of Tofino 1 (tofino1_base.p4) with their bits, by where they can be had. */
export const architectureFields: Readonly<Record<Gress, Readonly<Record<string, number>>>> = {
  ingress: {
    "ig_intr_md.resubmit_flag": 1,
    "ig_intr_md.ingress_port": 9,
    "ig_intr_md.ingress_mac_tstamp": 48,
    "ig_prsr_md.global_tstamp": 48,
    "ig_prsr_md.parser_err": 16,
    "ig_dprsr_md.drop_ctl": 3,
    "ig_dprsr_md.digest_type": 3,
    "ig_dprsr_md.resubmit_type": 3,
    "ig_dprsr_md.mirror_type": 3,
    "ig_tm_md.ucast_egress_port": 9,
    "ig_tm_md.bypass_egress": 1,
    "ig_tm_md.copy_to_cpu": 1,
    "ig_tm_md.icos_for_copy_to_cpu": 3,
    "ig_tm_md.ingress_cos": 3,
    "ig_tm_md.qid": 5,
    "ig_tm_md.packet_color": 2,
    "ig_tm_md.mcast_grp_a": 16,
    "ig_tm_md.mcast_grp_b": 16,
    "ig_tm_md.level1_exclusion_id": 16,
    "ig_tm_md.level2_exclusion_id": 9,
    "ig_tm_md.rid": 16,
  },
  egress: {
    "eg_intr_md.egress_port": 9,
    "eg_intr_md.enq_qdepth": 19,
    "eg_intr_md.enq_tstamp": 18,
    "eg_intr_md.deq_qdepth": 19,
    "eg_intr_md.deq_timedelta": 18,
    "eg_intr_md.egress_rid": 16,
    "eg_intr_md.egress_qid": 5,
    "eg_intr_md.pkt_length": 16,
    "eg_prsr_md.global_tstamp": 48,
    "eg_prsr_md.parser_err": 16,
    "eg_dprsr_md.drop_ctl": 3,
    "eg_dprsr_md.mirror_type": 3,
  },
};

/** Set beside `ucast_egress_port`: whether there is one. */
export const UNICAST_VALID = "ig_tm_md.ucast_valid";

const readOnly = /^(ig_intr_md|ig_prsr_md|eg_intr_md|eg_prsr_md)\./;

/** Bits of an intrinsic field; refused where the gress does not have it, or may not write it. */
export function architectureWidth(field: string, gress: Gress, isWritten: boolean, path: string): number {
  const width = architectureFields[gress][field];
  if (width === undefined)
    throw new SwitchConfigError("UNKNOWN_NAME", path, `${gress} of the tna personality has no ${field}`);
  if (isWritten && readOnly.test(field))
    throw new SwitchConfigError("BAD_VALUE", path, `${field} cannot be written`);
  return width;
}

/** Local port numbers of a pipe: 0 to 63 are front-panel ports, 68 to 71 lead back to ingress. */
const PORTS = 72;
const FIRST_LOOP = 68;
/** From here packets of the pipe's generator come, and recirculated ones. */
export const GENERATOR_PORT = FIRST_LOOP;

/** A device port is the pipe in bits 8 and 7, and the port within the pipe. */
export function pipeOf(port: number): number {
  return port >> 7;
}

export function isDevicePort(port: number, pipes: number): boolean {
  return Number.isInteger(port) && port >= 0 && pipeOf(port) < pipes && (port & 0x7f) < PORTS;
}

/** A port that a cable can be plugged into; on the first pipe 64 to 67 lead to the CPU, which is a host like any other. */
export function isFrontPort(port: number, pipes: number): boolean {
  return isDevicePort(port, pipes) && !leadsBack(port);
}

export function leadsBack(port: number): boolean {
  const local = port & 0x7f;
  return local >= FIRST_LOOP && local < PORTS;
}
