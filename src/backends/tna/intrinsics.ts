import type { Expression, IntrinsicName, IntrinsicReference } from "../../ir/index.ts";
import { bool } from "../../ir/index.ts";
import { type IntrinsicText, Level } from "../p4text/expressions.ts";
import type { Gress } from "./lowered.ts";

/** Names that depend on the program. */
export interface IntrinsicNames {
  /** Header instance in front of packets from ingress to egress. */
  readonly bridge: string;
}

/** Values of the bridge header's first field: 0 and 1. */
export const ORIGIN_INGRESS = "ORIGIN_INGRESS";
export const ORIGIN_CLONE = "ORIGIN_CLONE";

/** Values by which the deparser of ingress knows what to do beside sending: what is mirrored, what is resubmitted. */
export const MIRROR_CLONE = 1;
export const RESUBMIT = 1;

/** The port of pipe 0 from which packets come back to ingress. */
export const RECIRCULATION_PORT = "RECIRCULATION_PORT";
export const RECIRCULATION_PORT_NUMBER = 68;

const inIngress: ReadonlySet<IntrinsicName> = new Set([
  "checksum_failed",
  "parser_failed",
  "is_resubmitted",
  "is_recirculated",
]);

/** How TNA spells what is read; undefined: Tofino 1 does not have it there. */
const spelled: Record<Gress, Partial<Record<IntrinsicName, string>>> = {
  ingress: {
    ingress_port: "ig_intr_md.ingress_port",
    egress_port: "ig_tm_md.ucast_egress_port",
    multicast_group: "ig_tm_md.mcast_grp_a",
    priority: "ig_tm_md.qid[2:0]",
    colour: "ig_tm_md.packet_color",
  },
  egress: {
    egress_port: "eg_intr_md.egress_port",
    replication_id: "eg_intr_md.egress_rid",
    priority: "eg_intr_md.egress_qid[2:0]",
    enqueue_depth: "eg_intr_md.enq_qdepth",
    dequeue_depth: "eg_intr_md.deq_qdepth",
  },
};

/** Why Tofino 1 has no such value. */
export const missing: Partial<Record<IntrinsicName, string>> = {
  packet_length:
    "ingress starts before a packet has ended, and in egress the length counts the bridge header too",
};

export function isSpelled(name: IntrinsicName, gress: Gress): boolean {
  if (inIngress.has(name)) return gress === "ingress";
  if (name === "is_clone" || (name === "ingress_port" && gress === "egress")) return gress === "egress";
  return spelled[gress][name] !== undefined;
}

export function intrinsicText(e: IntrinsicReference, gress: Gress, names: IntrinsicNames): IntrinsicText {
  const test = (left: string, right: string, operator: "==" | "!="): IntrinsicText => ({
    text: `${left} ${operator} ${right}`,
    negated: `${left} ${operator === "==" ? "!=" : "=="} ${right}`,
    level: Level.EQUALITY,
  });
  if (e.name === "parser_failed") return test("ig_prsr_md.parser_err", "PARSER_ERROR_OK", "!=");
  if (e.name === "is_resubmitted") return test("ig_intr_md.resubmit_flag", "1", "==");
  if (e.name === "is_recirculated") return test("ig_intr_md.ingress_port", RECIRCULATION_PORT, "==");
  if (e.name === "is_clone") return test(`hdr.${names.bridge}.origin`, ORIGIN_CLONE, "==");
  if (e.name === "ingress_port" && gress === "egress")
    return { text: `hdr.${names.bridge}.ingress_port`, level: Level.POSTFIX };
  return { text: spelledIntrinsic(e.name, gress), level: Level.POSTFIX };
}

/** What is read by a name of the architecture. */
export function spelledIntrinsic(name: IntrinsicName, gress: Gress): string {
  return spelled[gress][name] ?? name;
}

/** A header's checksum was wrong: only a header that was parsed has one. */
export function checksumFailed(
  checksums: readonly { readonly header: string; readonly flag: string }[],
): Expression {
  const tests = checksums.map(
    ({ header, flag }): Expression => ({
      kind: "binary",
      type: bool,
      operator: "&&",
      left: { kind: "valid", type: bool, header },
      right: { kind: "metadata", type: bool, name: flag },
    }),
  );
  return (
    tests.reduce<Expression | undefined>(
      (all, t) =>
        all === undefined ? t : { kind: "binary", type: bool, operator: "||", left: all, right: t },
      undefined,
    ) ?? { kind: "constant", type: bool, value: 0n }
  );
}
