/**
 * Names that a P4_16 program for v1model cannot use, or could use only with a warning about shadowing.
 *
 * `keyword`: reserved by the language (P4_16 1.2.4, section 6.4.2, and the words that p4c's lexer adds).
 * `context`: reserved by the language in some places only; P4 allows them as member names.
 * `core`, `v1model`: declared by core.p4 and v1model.p4; fine as member names, since members have a scope of their own.
 * `generated`: names of the parameters, types and controls that the generated program declares itself.
 */
const words = {
  keyword:
    "abstract action bool bit break const continue control default else enum error exit extern false for " +
    "header header_union if in inout int list match_kind out package parser return select string struct switch " +
    "table this transition true tuple typedef value_set varbit void _",
  context: "actions apply entries key priority state type",
  core: "packet_in packet_out verify static_assert NoAction exact ternary lpm",
  v1model:
    "standard_metadata_t PortId_t CounterType MeterType counter direct_counter meter direct_meter register " +
    "action_profile action_selector random digest HashAlgorithm mark_to_drop hash CloneType Checksum16 " +
    "verify_checksum update_checksum verify_checksum_with_payload update_checksum_with_payload clone clone3 " +
    "clone_preserving_field_list resubmit resubmit_preserving_field_list recirculate " +
    "recirculate_preserving_field_list truncate assert assume log_msg range optional selector Parser " +
    "VerifyChecksum Ingress Egress ComputeChecksum Deparser V1Switch",
  generated:
    "main hdr meta standard_metadata packet INGRESS_CLONE RESUBMITTED RECIRCULATED RESUBMIT RECIRCULATION_PORT PORT_METADATA_SIZE MIRROR_CLONE ORIGIN_INGRESS ORIGIN_CLONE PARSER_ERROR_OK headers_t metadata_t SwitchParser SwitchVerifyChecksum " +
    "SwitchIngress SwitchEgress SwitchComputeChecksum SwitchDeparser start accept reject " +
    "ig_intr_md ig_prsr_md ig_dprsr_md ig_tm_md eg_intr_md eg_prsr_md eg_dprsr_md eg_oport_md",
} as const;

export type ReservedBy = keyof typeof words;

/**
 * `member`: a header field, a header instance, a metadata field. `state`: a parser state. `declaration`: all else that has
 * a scope shared with the language's and the architecture's names (controls, tables, actions, parameters, registers, counters,
 * header types).
 */
export type NameRole = "member" | "declaration" | "state";

const reserved = new Map<string, ReservedBy>(
  (Object.keys(words) as ReservedBy[]).flatMap((by) =>
    words[by].split(" ").map((word) => [word, by] as const),
  ),
);

/** All reserved words with what reserves them. */
export const reservedWords: ReadonlyMap<string, ReservedBy> = reserved;

/** What forbids `name` in this role, or undefined when it may be used. The parser state `start` is obligatory, not forbidden. */
export function reservedBy(name: string, role: NameRole): ReservedBy | undefined {
  const by = reserved.get(name);
  if (by === undefined) return undefined;
  if (role === "member") return by === "keyword" ? by : undefined;
  if (role === "state") return name === "start" ? undefined : by;
  return by === "generated" && (name === "start" || name === "accept" || name === "reject") ? undefined : by;
}

/** An identifier as P4_16 writes it (section 6.4.1); `__` in front is kept for compilers. */
export function isIdentifier(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.startsWith("__");
}

/** Files beside those that are called as the program is. */
export const fileNames: ReadonlyMap<string, string> = new Map(
  [
    "constants.p4",
    "headers.p4",
    "parser.p4",
    "checksums.p4",
    "ingress.p4",
    "egress.p4",
    "deparser.p4",
    "tables.json",
    "sourcemap.json",
    "bfrt.json",
  ].map((file) => [file.replace(/\..*/, ""), file]),
);
