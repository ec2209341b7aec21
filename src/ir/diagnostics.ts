import type { SourceLocation } from "./source.ts";
import { type TnaCode, tnaRules } from "./tnarules.ts";

export type TargetName = "v1model" | "tna";

/** One finding about a program. `code` is stable and names an entry of the rules, or of the rules of a target. */
export interface Diagnostic {
  readonly code: RuleCode | TnaCode;
  readonly message: string;
  readonly at?: SourceLocation | undefined;
  /** Set where only one target forbids it. */
  readonly target?: TargetName;
}

/** A note tells of what is right and may surprise; it never counts as a warning. */
export type Severity = "error" | "warning" | "note";

/** What each code means, and what to write instead. */
export interface Rule {
  readonly title: string;
  readonly remedy: string;
  readonly severity: Severity;
}

const error = (title: string, remedy: string): Rule => ({ title, remedy, severity: "error" });
const warning = (title: string, remedy: string): Rule => ({ title, remedy, severity: "warning" });

/** Codes are grouped: 11 values and types, 12 names, 13 parser and headers, 14 tables and actions, 15 control flow, 16 state, 17 features; 18 Tofino (tnarules.ts). */
export const rules = {
  GP1101: error(
    "not an exact integer",
    "write whole numbers up to 2^53 as they are, larger ones as a bigint: 0xffff_ffff_ffff_ffffn",
  ),
  GP1102: error(
    "constant does not fit its type",
    "widen the type, or cut the constant to the width yourself",
  ),
  GP1103: error("width is not between 1 and 2048", "choose a width that P4 has"),
  GP1104: error("operands of different types", "cast one side: value.cast(bit(32))"),
  GP1105: error("operator is not for this type", "use it on bit or int values of the same type"),
  GP1106: error(
    "cast is not allowed",
    "P4 casts bit<N> to bit<M>, int<N> to int<M>, bit<N> to int<N> and back, bool to bit<1> and back; chain two casts",
  ),
  GP1107: error(
    "slice outside the value",
    "both bounds lie within the value, high before low: value.slice(7, 0)",
  ),
  GP1108: error("shift amount", "shift by a constant below the width, or by a bit value of at most 8 bits"),
  GP1109: error(
    "hash",
    "hash bit or int fields to 1 to 2^32 buckets; identity takes at most 8 bytes, and whole ones",
  ),
  GP1110: error("random", "draw from low to high, low first, into at most 64 bits"),
  GP1111: warning(
    "condition is always true or always false",
    "compare with something else, or leave the test out: what one outcome alone uses is dead code",
  ),
  GP1112: error("signed value of one bit", "write bit<1> or bool; a sign takes a bit besides"),
  GP1201: error("reserved name", "choose another name; P4 or the architecture uses this one"),
  GP1202: error(
    "declared twice",
    "give one of them another name; features that share a part must agree on it",
  ),
  GP1203: error("not a P4 name", "use letters, digits and underscores, not starting with a digit"),
  GP1204: error("unknown name", "declare it first, or correct the spelling"),
  GP1205: error(
    "annotation",
    "write it as P4 does, @name or @name(words), parentheses in pairs; leave out what the generator writes itself",
  ),
  GP1206: error(
    "id",
    "give each table a number of its own from 1 to 2^24-1, and so for actions, registers and the like; P4Info has the kind in front of it",
  ),
  GP1301: error("header is not a whole number of bytes", "add a padding field"),
  GP1302: error("parser loop", "a state may not lead back to itself without reading a stack"),
  GP1303: error("parser state is never reached", "remove it, or add a transition to it"),
  GP1304: error(
    "value in a select does not fit its key",
    "cut the value to the key's width, or select on a wider field",
  ),
  GP1305: error("header extracted twice on one path", "extract each header once, or use another instance"),
  GP1306: error("parser advances by part of a byte", "pass over a multiple of 8 bits, at least 8"),
  GP1307: error(
    "lookahead that is not always done",
    "look ahead on its own, or in a state of its own that a select leads to",
  ),
  GP1308: warning(
    "select decides nothing",
    "all its cases lead to one state: go there with otherwise(...) alone",
  ),
  GP1309: error(
    "header is not valid here",
    "extract it or make it valid first; the fields of an invalid header are undefined",
  ),
  GP1310: error("outside the header stack", "a stack has elements 0 to size-1, at least one"),
  GP1311: error(
    "field of variable length",
    "one such field at the end of a header, of whole bytes, and its length in bits with the extract: extract(options, length)",
  ),
  GP1312: warning(
    "header may be invalid here",
    "ask first: s.if(p.valid(header), ...), or put p.valid(header) into the table's key",
  ),
  GP1313: error("union without headers", "give it at least one member"),
  GP1314: error(
    "checksum",
    "fields, metadata and constants that make whole 16-bit words, a target of 16 bits, a condition on headers and metadata",
  ),
  GP1315: error(
    "range in a select is too fine",
    "p4c makes a case of each power of two and takes 100 at most: select on fewer or narrower ranges",
  ),
  GP1320: error(
    "value set",
    "give each key of the select one field of the same bit<N>, a size of at least 1, and use the set in one case",
  ),
  GP1401: error("table size", "a table has room for at least one entry, and for less than 2^31"),
  GP1402: error("more than one lpm field", "keep one lpm field; make the others exact or ternary"),
  GP1403: error("action is not in the table's list", "add the action to actions: [...]"),
  GP1404: error("wrong action arguments", "give each parameter once, by name, with a value that fits"),
  GP1405: error(
    "constant entry does not fit the key",
    "one value per key field, within its width, of its match kind, with 0 in the bits that are not compared",
  ),
  GP1406: warning(
    "constant entry or select case is never reached",
    "an earlier one takes all its packets: reorder or remove",
  ),
  GP1407: error(
    "lpm beside ternary, range or optional",
    "Tofino refuses the mix: write the prefix as a ternary field",
  ),
  GP1408: error("table without key needs no entries", "remove the entries or give the table a key"),
  GP1409: error(
    "action profile",
    "give it room for at least one member, and a selector at least one header or metadata field and groups of at most that size",
  ),
  GP1410: error(
    "table with an action profile",
    "its entries name members: give it a key, no entries, no default action but NoAction, and the same actions as the profile's other tables",
  ),
  GP1411: warning("match field is a constant", "match on something that differs between packets"),
  GP1412: warning(
    "initial entries that BMv2 keeps",
    "BMv2 takes entries of the program for constant ones and no others besides; the embedded switch and Tofino let the control plane change them. For BMv2, let the control plane write them",
  ),
  GP1501: error("table applied twice", "apply each table once, or a second table for the second look-up"),
  GP1502: error("not allowed here", "move the statement to where it is allowed"),
  GP1503: error("controls apply each other in a circle", "let one of them do its work in place"),
  GP1504: warning(
    "a path leaves the output port unset",
    "set egress_port, a multicast group, or drop on each path; v1model would send to port 0",
  ),
  GP1505: error(
    "control or table belongs elsewhere",
    "use a control in the gress in which it was declared, and tables and actions in their control",
  ),
  GP1506: error("declared and never used", "apply it, call it, use it, or remove it"),
  GP1507: warning(
    "value is overwritten before anyone reads it",
    "leave the first assignment out, or write to another place",
  ),
  GP1508: warning("statement is never reached", "exit ends the pipeline: move the statement before it"),
  GP1601: error(
    "memory accessed twice on one path",
    "one access per packet and register, counter or meter: merge the two or use two of them",
  ),
  GP1602: error(
    "memory is not available here",
    "old and next belong to a register update; next only to its output",
  ),
  GP1603: error("register cell type", "a register holds bit<W> or int<W> values"),
  GP1604: error("register or counter size", "give it at least one cell, and less than 2^31"),
  GP1605: error(
    "meter",
    "give it at least one cell, and a colour of bit<2>: a metadata field for the meter of a table, whose actions are its own",
  ),
  GP1606: error(
    "digest",
    "send each digest in one place, in ingress: an action of one table, or a control's apply; its fields are bit values, at least one",
  ),
  GP1607: error(
    "register update without effect",
    "give next another value than old, or an output that depends on the cell",
  ),
  GP1701: error("option out of range", "write one of the values that the message allows"),
  GP1702: error("feature needs another feature", "add the missing feature to features: [...]"),
  GP1703: error("port outside the switch", "ports count from 0 to ports-1; 511 is the drop port"),
} as const satisfies Record<string, Rule>;

export type RuleCode = keyof typeof rules;

/** The rule that a finding names. */
export function ruleOf({ code }: Pick<Diagnostic, "code">): Rule {
  const all: Readonly<Record<RuleCode | TnaCode, Rule>> = { ...rules, ...tnaRules };
  return all[code];
}

export function severityOf(diagnostic: Diagnostic): Severity {
  return ruleOf(diagnostic).severity;
}
