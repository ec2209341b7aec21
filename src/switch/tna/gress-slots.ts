import type { FieldSlot, PhvLayout } from "../engine/layout.ts";
import { architectureSlot, hiddenSlot } from "./fields.ts";
import { BROKEN_RULE } from "./translate-action.ts";

/** Where the intrinsic metadata of one gress are, that the switch reads and writes: indices in `u`, -1 for what the program does not have. */
export class GressSlots {
  readonly ingressPort: number;
  readonly resubmitFlag: number;
  readonly dropControl: number;
  readonly digestType: number;
  readonly resubmitType: number;
  readonly mirrorType: number;
  readonly unicastPort: number;
  readonly unicastValid: number;
  readonly queue: number;
  readonly colour: number;
  readonly groupA: number;
  readonly groupB: number;
  readonly bypassEgress: number;
  readonly copyToCpu: number;
  readonly cpuQueue: number;
  readonly exclusion1: number;
  readonly exclusion2: number;
  readonly rid: number;
  readonly egressPort: number;
  readonly brokenRule: number;
  readonly macTimestamp: FieldSlot | undefined;
  readonly timestamp: FieldSlot | undefined;
  readonly egressRid: FieldSlot | undefined;
  readonly egressQueue: FieldSlot | undefined;
  readonly enqueueDepth: FieldSlot | undefined;
  readonly enqueueTimestamp: FieldSlot | undefined;
  readonly dequeueDepth: FieldSlot | undefined;
  readonly dequeueTimeDelta: FieldSlot | undefined;
  readonly packetLength: FieldSlot | undefined;

  constructor(layout: PhvLayout) {
    const slot = (name: string): FieldSlot | undefined => {
      const [header, field] = architectureSlot(name);
      return layout.headers.get(header)?.fields.find((f) => f.name === field);
    };
    const index = (...names: readonly string[]): number =>
      names.map((name) => slot(name)?.index).find((i) => i !== undefined) ?? -1;
    this.ingressPort = index("ig_intr_md.ingress_port");
    this.resubmitFlag = index("ig_intr_md.resubmit_flag");
    this.dropControl = index("ig_dprsr_md.drop_ctl", "eg_dprsr_md.drop_ctl");
    this.digestType = index("ig_dprsr_md.digest_type");
    this.resubmitType = index("ig_dprsr_md.resubmit_type");
    this.mirrorType = index("ig_dprsr_md.mirror_type", "eg_dprsr_md.mirror_type");
    this.unicastPort = index("ig_tm_md.ucast_egress_port");
    this.unicastValid = index("ig_tm_md.ucast_valid");
    this.queue = index("ig_tm_md.qid");
    this.colour = index("ig_tm_md.packet_color");
    this.groupA = index("ig_tm_md.mcast_grp_a");
    this.groupB = index("ig_tm_md.mcast_grp_b");
    this.bypassEgress = index("ig_tm_md.bypass_egress");
    this.copyToCpu = index("ig_tm_md.copy_to_cpu");
    this.cpuQueue = index("ig_tm_md.icos_for_copy_to_cpu");
    this.exclusion1 = index("ig_tm_md.level1_exclusion_id");
    this.exclusion2 = index("ig_tm_md.level2_exclusion_id");
    this.rid = index("ig_tm_md.rid");
    this.egressPort = index("eg_intr_md.egress_port");
    const [header, field] = hiddenSlot(BROKEN_RULE);
    this.brokenRule = layout.field(header, field, field).index;
    this.macTimestamp = slot("ig_intr_md.ingress_mac_tstamp");
    this.timestamp = slot("ig_prsr_md.global_tstamp") ?? slot("eg_prsr_md.global_tstamp");
    this.egressRid = slot("eg_intr_md.egress_rid");
    this.egressQueue = slot("eg_intr_md.egress_qid");
    this.enqueueDepth = slot("eg_intr_md.enq_qdepth");
    this.enqueueTimestamp = slot("eg_intr_md.enq_tstamp");
    this.dequeueDepth = slot("eg_intr_md.deq_qdepth");
    this.dequeueTimeDelta = slot("eg_intr_md.deq_timedelta");
    this.packetLength = slot("eg_intr_md.pkt_length");
  }
}
