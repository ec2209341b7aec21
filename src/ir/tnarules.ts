import type { Rule } from "./diagnostics.ts";

const error = (title: string, remedy: string): Rule => ({ title, remedy, severity: "error" });

const note = (title: string, remedy: string): Rule => ({ title, remedy, severity: "note" });

/** What Tofino 1 cannot do although P4 and v1model can, and what to write instead. Codes are stable. */
export const tnaRules = {
  GP1801: error(
    "register update is beyond a stateful ALU",
    "one operator on the cell and one packet value, at most two comparisons, and two packet values for all updates of a register; compute the rest before or after",
  ),
  GP1802: error(
    "more than four updates of one register",
    "a stateful ALU holds four programs: merge updates with mux(...), or use a second register",
  ),
  GP1803: error(
    "condition is beyond one gateway",
    "compare fields and constants as they stand, signed ones by order up to 32 bits; put what is computed into metadata first",
  ),
  GP1804: error("value that Tofino does not have here", "leave it out for this target, or build for v1model"),
  GP1805: error(
    "not a port of a Tofino",
    "port numbers have the pipe (0 to 3) in bits 8..7 and 0 to 71 below; the CPU is 192 (or 64 by Ethernet)",
  ),
  GP1806: error(
    "action of two tables needs several stages",
    "a table runs its action in one stage, and what comes after it is told by one table: give each table an action of its own",
  ),
  GP1807: error(
    "egress does not see the header",
    "Tofino parses again between ingress and egress: read the header in ingress, or leave its presence and the fields that lead to it unchanged there",
  ),
  GP1808: error("select key is too wide", "a parser state compares at most 32 bits: select in two states"),
  GP1809: error(
    "computation that an action cannot do",
    "one operator with two operands for each set(); shifts by constants, no multiplication; choose between values with if",
  ),
  GP1810: error(
    "action counted for two tables",
    "on Tofino the action itself counts for its table: give the table with a counter actions of its own",
  ),
  GP1811: error("register cell type", "a stateful ALU has cells of 8, 16 or 32 bits"),
  GP1812: error(
    "register does not fit a stage",
    "at most 94208 cells of 32 bits, 188416 of 16, 376832 of 8, and less where several stand in a stage: split it",
  ),
  GP1813: error(
    "multicast group beside an output port",
    "Tofino would send to both: set one of the two on each path, the group as a constant",
  ),
  GP1814: error(
    "reject",
    "Tofino drops what the parser rejects, uncounted: accept, and test which headers are valid",
  ),
  GP1815: error("checksum", "Tofino sums whole headers in 16-bit words: give all fields of one header"),
  GP1816: error(
    "egress parses too far",
    "Tofino's egress parser reads at most 160 bytes: use the header in ingress",
  ),
  GP1830: error(
    "computation that the parser cannot do",
    "Tofino's parser copies constants, fields and bits ahead, and passes over a constant number of bits: compute in ingress",
  ),
  GP1831: error("verify", "Tofino's compiler leaves verify out: accept, and test the value in ingress"),
  GP1832: error(
    "egress needs what the parser has kept",
    "Tofino parses again between ingress and egress: copy the value to another metadata field in ingress, or select on header fields",
  ),
  GP1833: error(
    "header union",
    "Tofino's compiler has no unions: use headers of their own and set the others invalid",
  ),
  GP1834: error(
    "push_front or pop_front",
    "Tofino shifts a stack only in an action that makes the new header valid as well: use headers of their own",
  ),
  GP1835: error(
    "egress needs a header stack",
    "egress parses again what it works on, and stacks are not among it: work on the stack in ingress",
  ),
  GP1836: error(
    "parser loop without a stack",
    "Tofino's compiler unrolls loops as often as the stack has elements: read a stack, or write the states one by one",
  ),
  GP1837: error(
    "field of variable length",
    "Tofino's parser reads headers of fixed length: declare a header for each length, or leave the field in the payload",
  ),
  GP1838: error(
    "checksum that Tofino cannot keep right",
    "Tofino does not see the payload: over it, a checksum is not verified (verify: false) and only what ingress writes of whole fields is put right",
  ),
  GP1860: error(
    "NoAction in a table with a counter",
    "on Tofino actions count for their table, and NoAction does nothing for any: let the entries run an empty action of the table's own",
  ),
  GP1861: error(
    "sum that is too wide",
    "Tofino adds and subtracts at most 64 bits, and 32 where the result saturates: compute in parts, or build for v1model",
  ),
  GP1862: error(
    "metadata kept twice on one way through the parser",
    "Tofino's parser writes a field once for each packet: keep the second value in a field of its own, and choose in ingress",
  ),
  GP1863: error(
    "action profile without data",
    "Tofino's compiler has profiles for actions with parameters alone: let one of the table's actions do something with a parameter that lasts, or leave the profile out",
  ),
  GP1864: error(
    "range that Tofino does not match",
    "a range key has four groups of four bits: at most 16 bits, and whole metadata or bytes of a header where it has more than 13",
  ),
  GP1866: note(
    "packets that end within a header",
    "to have the same on both, and to count them, begin ingress with s.if(intrinsic.parser_failed, (then) => then.drop())",
  ),
  GP1899: error(
    "refused by Tofino's own compiler",
    "only build --verify finds this: what the compiler says of the emitted P4 is about the thing at this place: make it smaller or simpler, or build for v1model",
  ),
  GP1841: error(
    "hash that Tofino does not compute",
    "crc16 or crc32, to a power of two of buckets that the hash has bits for: Tofino hands out bits of the hash, and has no modulo",
  ),
  GP1842: error(
    "random number that Tofino does not draw",
    "constant bounds with a power of two of numbers between them: Tofino draws bits",
  ),
  GP1844: error(
    "resubmit that Tofino cannot do",
    "a resubmitted packet keeps the same metadata everywhere, 64 bits in whole bytes at most, and a drop that comes later drops it: exit after resubmit()",
  ),
  GP1845: error(
    "recirculate that Tofino cannot do",
    "a recirculated packet has its bytes alone, and leaves by the port that leads back: keep values in a header, and set no output port after recirculate()",
  ),
  GP1843: error(
    "digest beyond Tofino's deparser",
    "at most 7 digests of at most 48 bytes each: tell less, or send the packet to the controller",
  ),
  GP1850: error(
    "more than a Tofino has",
    "shorten the chain that is named (let tables read and write less of what others write), or ask for less: fewer lanes, features or entries; this is an estimate, --verify asks the compiler itself",
  ),
} as const satisfies Record<string, Rule>;

export type TnaCode = keyof typeof tnaRules;
