import type { IntrinsicName, IntrinsicReference, NamedConstant } from "../../ir/index.ts";
import { bit } from "../../ir/index.ts";
import { BackendError } from "../backenderror.ts";
import { type IntrinsicText, Level } from "../p4text/expressions.ts";

/**
 * How v1model names what the architecture gives and takes. A value that is a test in v1model (`is`) has a number to compare
 * with; the JSON needs field and number, the text needs the spelling of the number.
 */
interface Mapping {
  readonly field: string;
  readonly test?: { readonly operator: "==" | "!="; readonly text: string; readonly value: bigint };
}

/** Instance type of a packet that was cloned in ingress (simple_switch). */
export const INGRESS_CLONE: NamedConstant = {
  name: "INGRESS_CLONE",
  type: bit(32),
  value: 1n,
  group: "standard_metadata.instance_type of a packet that was cloned in ingress",
};

const INSTANCE_TYPE = "standard_metadata.instance_type of a packet that ";

/** Instance types of packets that come once more (simple_switch). */
export const RESUBMITTED: NamedConstant = {
  name: "RESUBMITTED",
  type: bit(32),
  value: 6n,
  group: `${INSTANCE_TYPE}was resubmitted`,
};
export const RECIRCULATED: NamedConstant = {
  name: "RECIRCULATED",
  type: bit(32),
  value: 4n,
  group: `${INSTANCE_TYPE}was recirculated`,
};

const shared: Record<Exclude<IntrinsicName, "colour">, Mapping> = {
  ingress_port: { field: "ingress_port" },
  egress_port: { field: "egress_port" },
  multicast_group: { field: "mcast_grp" },
  replication_id: { field: "egress_rid" },
  priority: { field: "priority" },
  packet_length: { field: "packet_length" },
  is_clone: {
    field: "instance_type",
    test: { operator: "==", text: INGRESS_CLONE.name, value: INGRESS_CLONE.value },
  },
  is_resubmitted: {
    field: "instance_type",
    test: { operator: "==", text: RESUBMITTED.name, value: RESUBMITTED.value },
  },
  is_recirculated: {
    field: "instance_type",
    test: { operator: "==", text: RECIRCULATED.name, value: RECIRCULATED.value },
  },
  parser_failed: { field: "parser_error", test: { operator: "!=", text: "error.NoError", value: 0n } },
  checksum_failed: { field: "checksum_error", test: { operator: "==", text: "1", value: 1n } },
  enqueue_depth: { field: "enq_qdepth" },
  dequeue_depth: { field: "deq_qdepth" },
};

/** The field of standard_metadata behind an intrinsic. In ingress the port to send to is `egress_spec`. */
export function standardMetadata(name: IntrinsicName, gress: "ingress" | "egress"): Mapping {
  if (name === "colour") throw new BackendError("GP2004", "v1model", "v1model has no colours");
  return name === "egress_port" && gress === "ingress" ? { field: "egress_spec" } : shared[name];
}

/** The intrinsic as an expression of P4 text, and its opposite when it is a test. */
export function intrinsicText(e: IntrinsicReference, gress: "ingress" | "egress"): IntrinsicText {
  const { field, test } = standardMetadata(e.name, gress);
  if (test === undefined) return { text: `standard_metadata.${field}`, level: Level.POSTFIX };
  const opposite = test.operator === "==" ? "!=" : "==";
  return {
    text: `standard_metadata.${field} ${test.operator} ${test.text}`,
    negated: `standard_metadata.${field} ${opposite} ${test.text}`,
    level: Level.EQUALITY,
  };
}
