/** Names that tna.p4 and the generated program declare, besides those that v1model shares with it. */
export const tnaWords: readonly string[] = (
  "ActionProfile ActionSelector Atcam Alpm CRCPolynomial Checksum Counter CounterType_t DirectCounter DirectLpf DirectMeter " +
  "DirectRegister DirectRegisterAction DirectWred Digest DigestType_t Egress EgressDeparserT EgressParserT EgressT Hash " +
  "HashAlgorithm_t Ingress IngressDeparserT IngressParserT IngressT L1ExclusionId_t L2ExclusionId_t Lpf MathOp_t MathUnit Meter " +
  "MeterColor_t MeterType_t Mirror MirrorId_t MirrorType_t MulticastGroupId_t MultiParserPipeline MultiParserSwitch " +
  "ParserCounter ParserError_t ParserPriority Pipeline PortId_t QueueId_t Random Register RegisterAction RegisterParam " +
  "ReplicationId_t Resubmit ResubmitType_t SelectorAction SelectorMode_t Switch TofinoEgressParser TofinoIngressParser Wred " +
  "atcam_partition_index funnel_shift_right invalidate is_validated max min port_metadata_unpack sizeInBits sizeInBytes " +
  "IngressParsers EgressParsers SwitchIngressParser SwitchEgressParser SwitchIngressDeparser SwitchEgressDeparser " +
  "RESUBMIT RECIRCULATION_PORT resubmit MIRROR_CLONE ORIGIN_INGRESS ORIGIN_CLONE PORT_METADATA_SIZE PARSER_ERROR_OK pipe value result ig_intr_md ig_prsr_md " +
  "ig_dprsr_md ig_tm_md eg_intr_md eg_dprsr_md eg_prsr_md eg_oport_md mirror"
).split(" ");
