import { type BitType, bit, int } from "../../ir/index.ts";
import { AGGREGATOR_EVENTS, type AggregatorEvent } from "../../numeric/aggregator.ts";
import { DEFAULT_SLICES, fp32Format } from "../../numeric/fp32.ts";
import {
  AGGREGATION_PORT,
  AGGREGATION_VERSION,
  aggregation,
  Flag,
  Kind,
  laneName,
  lanesHeader,
  MAX_WORKERS,
  ModeId,
} from "../../wire/aggregation.ts";
import { headerBytes } from "../../wire/header.ts";
import { ipv4 as ipv4Declaration, udp as udpDeclaration } from "../../wire/internet.ts";
import { callSite } from "../callsite.ts";
import type { ControlBuilder } from "../control.ts";
import { onlyKnown } from "../options.ts";
import { type Feature, intrinsic, type ProgramBuilder } from "../program.ts";
import { ProgramError } from "../programerror.ts";
import { type Action, type ActionSteps, exactly, type Steps } from "../steps.ts";
import { type Bool, mux, type Num, type Variable, value } from "../value.ts";
import { controllerPort } from "./controllerport.ts";
import { lookUpFloats } from "./floatlookup.ts";
import { forwardingState, isForwarding } from "./forwarding.ts";
import { internet } from "./internet.ts";

/** Host-scaled integers: the switch adds. */
export interface Int32Mode {
  readonly name: "int32";
}

/** Raw IEEE-754 float32 codes, turned into fixed point by lookup tables; see `numeric/fp32.ts`. */
export interface Fp32Mode {
  readonly name: "fp32";
  /** Widths of the mantissa slices, highest bits first; they sum to 23. More slices: smaller tables. */
  readonly slices: readonly number[];
}

export type NumericMode = Int32Mode | Fp32Mode;

export const int32: Int32Mode = Object.freeze({ name: "int32" });

export function fp32(options: { readonly slices?: readonly number[] } = {}): Fp32Mode {
  return Object.freeze({ name: "fp32", slices: options.slices ?? DEFAULT_SLICES });
}

export interface AggregationOptions {
  /** Most workers of a job, 1 to 32. */
  readonly workers: number;
  /** Keys in a row, each in a register array of its own. */
  readonly lanes: number;
  /** Rows of the register grid, for all jobs together. */
  readonly rows: number;
  readonly mode: NumericMode;
  /** RESULTs go to the job's parameter server. */
  readonly result: "ps";
  /** Rows that one admission entry covers, a power of two; a job has whole chunks. Default 16. */
  readonly chunk?: number;
  /** Entries of the admission table; default room for four jobs over all rows. */
  readonly admissions?: number;
}

export interface AggregationFeature extends Feature {
  readonly name: "hotAggregation";
  readonly options: Required<AggregationOptions>;
}

export function isAggregation(feature: Feature): feature is AggregationFeature {
  return feature.name === "hotAggregation";
}

/**
 * Libra's hot-parameter aggregation (arXiv 2205.05243): the switch sums one row of hot gradients from all workers and sends the
 * sum to the parameter server. Exact under loss, duplication and reordering; the golden model is `numeric/aggregator.ts`.
 */
export function hotAggregation(options: AggregationOptions): AggregationFeature {
  const at = callSite();
  onlyKnown("hotAggregation", options, OPTIONS, at);
  const chunk = options.chunk ?? 16;
  const refuse = (message: string): never => {
    throw new ProgramError({ code: "GP1701", message: `hotAggregation: ${message}`, at });
  };
  const whole = (name: keyof AggregationOptions, low: number, high: number): void => {
    const given = { ...options, chunk }[name];
    if (typeof given !== "number" || !Number.isInteger(given) || given < low || given > high) {
      refuse(`${name} is ${String(given)}; it may be ${low} to ${high}`);
    }
  };
  const mode: unknown = options.mode;
  if (typeof mode !== "object" || mode === null || !("name" in mode) || !MODES.includes(mode.name)) {
    refuse(`mode is ${JSON.stringify(mode)}; write int32 or fp32(), imported from gradplane`);
  }
  if (options.result !== "ps") refuse(`result is ${JSON.stringify(options.result)}; it may be "ps"`);
  whole("workers", 1, MAX_WORKERS);
  whole("lanes", 1, 255);
  whole("rows", 1, 0x1_0000);
  whole("chunk", 1, 0x8000);
  if ((chunk & (chunk - 1)) !== 0) refuse(`chunk is ${chunk}; it must be a power of two`);
  if (options.rows % chunk !== 0)
    refuse(
      `rows is ${options.rows}; it must be a multiple of chunk (${chunk}), for example ${Math.ceil(options.rows / chunk) * chunk}`,
    );
  if (options.mode.name === "fp32") {
    try {
      fp32Format(options.workers, options.mode.slices);
    } catch (error) {
      if (error instanceof RangeError) refuse(error.message);
      throw error;
    }
  }
  const admissions = options.admissions ?? Math.max(64, 4 * (options.workers + 1) * (options.rows / chunk));
  const full = { ...options, chunk, admissions };
  return { name: "hotAggregation", at, options: full, build: (p) => buildAggregation(p, full) };
}

const OPTIONS: readonly string[] = ["workers", "lanes", "rows", "mode", "result", "chunk", "admissions"];
const MODES: readonly unknown[] = ["int32", "fp32"];

/** Values of metadata `aggregation_request`. */
const REQUEST = { none: 0, contribution: 1, null: 2, collect: 3, reset: 4 } as const;
/** Values of metadata `slot_relation`: the packet's round, seen from the slot's. */
const RELATION = { older: 0, equal: 1, newer: 2 } as const;

const u8: BitType = bit(8);
const u9: BitType = bit(9);
const u16: BitType = bit(16);
const u32: BitType = bit(32);
const u48: BitType = bit(48);

/** Lengths in bytes, from the IPv4 header on. */
const HEADER_BYTES = headerBytes(ipv4Declaration) + headerBytes(udpDeclaration) + headerBytes(aggregation);
const ANSWER_TTL = 64;

export function aggregationParts(p: ProgramBuilder, o: Required<AggregationOptions>) {
  const net = p.once(internet);
  const agg = p.header(aggregation);
  const lanes = p.header(lanesHeader(o.lanes));
  const lane = Array.from({ length: o.lanes }, (_, i) => {
    const field = lanes[laneName(i)];
    if (field === undefined) throw new RangeError(`no lane ${i}`);
    return field;
  });
  return {
    ...net,
    agg,
    lanes,
    lane,
    request: p.metadata("aggregation_request", u8, "0 none, 1 contribution, 2 null, 3 collect, 4 reset"),
    event: p.metadata("aggregation_event", u8, "what aggregation did"),
  };
}
export type AggregationParts = ReturnType<typeof aggregationParts>;

function buildAggregation(p: ProgramBuilder, o: Required<AggregationOptions>): void {
  if (p.find(isForwarding) === undefined) {
    throw new ProgramError({
      code: "GP1702",
      message: "hotAggregation needs ipv4Forwarding, which tells packets for the switch from others",
      at: callSite(),
    });
  }
  const cpu = p.once(controllerPort);
  const { local } = p.once(forwardingState);
  const parts = aggregationParts(p, o);
  const { agg, lanes, request, event } = parts;
  const registers = o.rows * 2;

  const parseAggregation = p.parser.state("parse_aggregation");
  const parseLanes = p.parser.state("parse_lanes").extract(lanes);
  parts.parseUdp.on(AGGREGATION_PORT, parseAggregation);
  // Rows of another width belong to another program on the way; they are forwarded unread.
  parseAggregation
    .extract(agg)
    .select(agg.version, agg.kind, agg.lanes)
    .on([AGGREGATION_VERSION, Kind.CONTRIBUTION, o.lanes], parseLanes);

  const code = (name: AggregatorEvent): number => AGGREGATOR_EVENTS.indexOf(name);
  const m = {
    bit: p.metadata("worker_bit", u32, "the sender's bit in the bitmap; 0 for the parameter server"),
    full: p.metadata("full_mask", u32, "bits of all workers of the job"),
    admitted: p.metadata("admitted", u8, "1: the sender is a member of the job"),
    generation: p.metadata("job_generation", u16),
    scale: p.metadata("job_scale", u8, "unit of the job's values"),
    resultPort: p.metadata("result_port", u9),
    serverMac: p.metadata("server_mac", u48),
    serverAddr: p.metadata("server_addr", u32),
    ackSession: p.metadata("ack_session", u16, "clone session to the sender's port"),
    index: p.metadata("slot_index", bit(slotBits(o.rows) + 1), "register cell: slot and bank"),
    taken: p.metadata("request_taken", u8, "1: the request is in order and has met its slot"),
    relation: p.metadata(
      "slot_relation",
      u8,
      "the packet's round is 0 older, 1 equal, 2 newer than the slot's",
    ),
    seen: p.metadata("worker_seen", u32, "not 0: this worker was counted before"),
    arrived: p.metadata("workers_arrived", u32, "bitmap after this packet"),
    mark: p.metadata("row_mark", u8, "some contribution did not fit the window"),
  };
  const base =
    o.mode.name === "fp32"
      ? p.metadata("window_base", u32, "the job's scale, where a float32 code has its exponent")
      : undefined;
  const isRequest = (name: keyof typeof REQUEST) => request.eq(REQUEST[name]);

  // ---- what is asked, and who may ask
  const admission = p.control(
    "admission",
    "ingress",
    "What an aggregation packet asks for, and whether its sender may.",
  );
  const kindActions = {
    contribution: admission.action("is_contribution", {}, (a) => {
      a.set(request, REQUEST.contribution);
      a.set(m.mark, agg.flags.bitAnd(Flag.MARK));
    }),
    null: admission.action("is_null", {}, (a) => {
      a.set(request, REQUEST.null);
      a.set(m.mark, agg.flags.bitAnd(Flag.MARK));
    }),
    collect: admission.action("is_collect", {}, (a) => {
      a.set(request, REQUEST.collect);
      a.set(m.mark, 0);
    }),
    reset: admission.action("is_reset", {}, (a) => a.set(request, REQUEST.reset)),
  };
  const malformed = admission.action("malformed", {}, (a) => a.set(request, REQUEST.none));
  const headerOnly = (kind: Kind) => ({
    version: AGGREGATION_VERSION,
    kind,
    mode: ModeId[o.mode.name],
    lanes: o.lanes,
    has_lanes: false,
    total_len: HEADER_BYTES,
  });
  const shape = admission.table("shape", {
    doc: "requests by kind; everything about their form is fixed by the program",
    key: {
      version: exactly(agg.version),
      kind: exactly(agg.kind),
      mode: exactly(agg.mode),
      lanes: exactly(agg.lanes),
      has_lanes: exactly(p.valid(lanes)),
      total_len: exactly(parts.ipv4.total_len),
    },
    actions: [...Object.values(kindActions), malformed],
    size: 4,
    defaultAction: malformed.with({}),
    constDefault: true,
    entries: [
      {
        key: { ...headerOnly(Kind.CONTRIBUTION), has_lanes: true, total_len: HEADER_BYTES + 4 * o.lanes },
        run: kindActions.contribution.with({}),
      },
      { key: headerOnly(Kind.NULL), run: kindActions.null.with({}) },
      { key: headerOnly(Kind.COLLECT), run: kindActions.collect.with({}) },
      { key: headerOnly(Kind.RESET), run: kindActions.reset.with({}) },
    ],
  });
  const admit = admission.action(
    "admit",
    {
      worker_bit: u32,
      full_mask: u32,
      generation: u16,
      scale: u8,
      result_port: u9,
      server_mac: u48,
      server_addr: u32,
      ack_session: u16,
    },
    (a, d) => {
      a.set(m.admitted, 1);
      a.set(m.bit, d.worker_bit);
      a.set(m.full, d.full_mask);
      a.set(m.generation, d.generation);
      a.set(m.scale, d.scale);
      if (base !== undefined)
        a.set(
          base,
          value(bit(1), 0)
            .concat(d.scale)
            .concat(value(bit(23), 0)),
        );
      a.set(m.resultPort, d.result_port);
      a.set(m.serverMac, d.server_mac);
      a.set(m.serverAddr, d.server_addr);
      a.set(m.ackSession, d.ack_session);
    },
    "a member of the job, with the job's data",
  );
  const refuseUnknown = admission.action("refuse_unknown", {}, (a) => a.set(m.admitted, 0));
  const chunkBits = Math.log2(o.chunk);
  const member = admission.table("member", {
    doc: "members of jobs by job, member and chunk of slots; bounds each job to its own slots",
    key: {
      job: exactly(agg.job),
      member: exactly(agg.member),
      chunk: exactly(agg.slot.slice(15, chunkBits)),
    },
    actions: [admit, refuseUnknown],
    size: o.admissions,
    defaultAction: refuseUnknown.with({}),
    constDefault: true,
    counter: "member_counter",
  });
  // Nothing here waits for anything else, so that a pipeline can do it all at once, beside the look-up of the route. It
  // changes no packet: this one may be on its way to another switch.
  admission.apply((s) => {
    s.set(m.index, agg.slot.slice(slotBits(o.rows) - 1, 0).concat(agg.round.slice(0, 0)));
    s.apply(shape);
    s.apply(member);
  });

  // ---- the values
  const grid = p.control("grid", "ingress", "The register grid: one array per lane.");
  const marks = grid.register("mark", u8, registers, "not 0: the row has a value outside the window");
  const sums = parts.lane.map((_, i) => grid.register(laneName(i).replace("lane", "sum"), u32, registers));
  const isNewRow = m.relation.eq(RELATION.newer);
  const addRow = grid.action(
    "add_row",
    {},
    (a) => {
      a.update(marks, {
        index: m.index,
        next: (old) => mux(isNewRow, m.mark, old.bitOr(m.mark)),
        output: ({ next }) => next,
        into: m.mark,
      });
      parts.lane.forEach((field, i) => {
        const register = sums[i];
        if (register === undefined) return;
        a.update(register, {
          index: m.index,
          next: (old) => mux(isNewRow, field, old.add(field)),
          output: ({ next }) => next,
          into: field,
        });
      });
    },
    "a new round restarts the row",
  );
  grid.apply((s) => s.call(addRow));

  // ---- the slot: round, then bitmap, then the values
  const slot = p.control("slot", "ingress", "Whether the request is in order, and the slot that it meets.");
  const round = slot.register("round", u32, registers, "round that the slot holds");
  const seen = slot.register("seen", u32, registers, "bitmap of workers that were counted in the round");
  const arrived = slot.register("arrived", u32, registers, "the same bitmap, read after the update");
  const advance = slot.action(
    "advance_round",
    {},
    (a) =>
      a.update(round, {
        index: m.index,
        next: (old) => mux(isNewer(agg.round, old), agg.round, old),
        output: ({ old }) => relationOf(agg.round, old),
        into: m.relation,
      }),
    "serial comparison (RFC 1982); a newer round takes the slot",
  );
  const peek = slot.action("peek_round", {}, (a) =>
    a.update(round, {
      index: m.index,
      next: (old) => old,
      output: ({ old }) => mux(agg.round.eq(old), value(u8, RELATION.equal), RELATION.older),
      into: m.relation,
    }),
  );
  const reset = slot.action("reset_round", {}, (a) =>
    a.update(round, { index: m.index, next: () => agg.round }),
  );
  const count = slot.action(
    "count_worker",
    {},
    (a) => {
      const next = (old: Num<BitType>) => mux(isNewRow, m.bit, old.bitOr(m.bit));
      a.update(seen, {
        index: m.index,
        next,
        output: ({ old }) => mux(isNewRow, value(u32, 0), old.bitAnd(m.bit)),
        into: m.seen,
      });
      a.update(arrived, { index: m.index, next, output: ({ next: after }) => after, into: m.arrived });
    },
    "a new round forgets who was counted",
  );
  const emptyRow = slot.action("empty_row", {}, (a) => {
    a.setValid(lanes);
    for (const field of parts.lane) a.set(field, 0);
  });
  const takeReset = (s: Steps): void => {
    s.set(m.taken, 1);
    s.call(reset);
  };
  const takeRequest = (s: Steps): void => {
    s.set(m.taken, 1);
    s.if(
      isRequest("collect"),
      (then) => then.call(peek),
      (then) => then.call(advance),
    );
    s.if(m.relation.ne(RELATION.older), (current) => {
      current.call(count);
      current.if(m.seen.eq(0), (fresh) => fresh.invoke(grid));
    });
  };
  slot.apply((s) => {
    s.if(isRequest("null").or(isRequest("collect")), (then) => then.call(emptyRow));
    // What is refused stays dropped, and is counted.
    const refuse = (reason: AggregatorEvent) => (t: Steps) => t.set(event, code(reason));
    s.if(isRequest("none"), refuse("malformed"), (asked) =>
      asked.if(
        isRequest("reset"),
        (t) =>
          chain(
            t,
            [
              [intrinsic.ingress_port.ne(cpu.port), refuse("malformed")],
              [agg.slot.cast(u32).ge(o.rows), refuse("refused_unknown")],
              // A copy that comes late must not touch what runs.
              [m.admitted.eq(1), refuse("refused_reset")],
            ],
            takeReset,
          ),
        (t) =>
          chain(
            t,
            [
              [m.admitted.eq(0), refuse("refused_unknown")],
              // The parameter server has no bit: it may ask and not contribute; a worker the other way round.
              [isRequest("collect").and(m.bit.ne(0)), refuse("refused_unknown")],
              [isRequest("collect").not().and(m.bit.eq(0)), refuse("refused_unknown")],
              [agg.generation.ne(m.generation), refuse("refused_generation")],
              [agg.scale.ne(m.scale), refuse("refused_scale")],
            ],
            takeRequest,
          ),
      ),
    );
  });

  // ---- the answer
  const answer = p.control(
    "answer",
    "ingress",
    "Acknowledgement to the sender, RESULT to the parameter server.",
  );
  const events = answer.counter("events", AGGREGATOR_EVENTS, "what aggregation did with its packets");
  const macBefore = p.metadata("mac_before", u48);
  const addrBefore = p.metadata("addr_before", u32);
  const portBefore = p.metadata("port_before", u16);
  const turn = { macBefore, addrBefore, portBefore };
  const back = turnAction(answer, "back_to_sender", parts, turn);
  const setLength = (a: ActionSteps, payload: number): void => {
    a.set(parts.ipv4.total_len, HEADER_BYTES + payload);
    a.set(parts.udp.length, HEADER_BYTES - headerBytes(ipv4Declaration) + payload);
    a.set(parts.udp.checksum, 0);
  };
  const ack = ackAction(answer, parts, setLength);
  const result = answer.action("result", {}, (a) => {
    a.set(agg.kind, Kind.RESULT);
    a.set(agg.flags, m.mark);
    setLength(a, 4 * o.lanes);
  });
  const toServer = answer.action(
    "to_server",
    {},
    (a) => {
      a.clone(m.ackSession.cast(u32));
      a.set(intrinsic.egress_port, m.resultPort);
      a.set(parts.ethernet.src_addr, parts.ethernet.dst_addr);
      a.set(parts.ethernet.dst_addr, m.serverMac);
      a.set(parts.ipv4.src_addr, parts.ipv4.dst_addr);
      a.set(parts.ipv4.dst_addr, m.serverAddr);
      a.set(parts.ipv4.ttl, ANSWER_TTL);
    },
    "the completed row goes to the server; a clone becomes the sender's acknowledgement",
  );
  const pending = answer.action("pending", {}, (a) => {
    a.set(agg.kind, Kind.PENDING);
    a.set(agg.flags, 0);
    a.setInvalid(lanes);
    setLength(a, 0);
  });
  const isComplete = m.arrived.eq(m.full);
  const finish = (s: Steps, name: AggregatorEvent): void => s.set(event, code(name));
  answer.apply((s) => {
    s.if(m.taken.eq(1), (asked) =>
      asked.if(
        isRequest("reset"),
        (then) => {
          then.set(intrinsic.egress_port, cpu.port);
          finish(then, "reset");
        },
        (other) =>
          other.if(
            isRequest("collect"),
            (collect) => {
              collect.call(back);
              collect.if(
                m.relation.eq(RELATION.equal).and(isComplete),
                (then) => {
                  then.call(result);
                  finish(then, "collect_result");
                },
                (then) => {
                  then.call(pending);
                  finish(then, "collect_pending");
                },
              );
            },
            (contribution) =>
              contribution.if(
                m.relation.eq(RELATION.older),
                (stale) => {
                  stale.call(back);
                  stale.call(ack, { flags: Flag.STALE });
                  finish(stale, "stale");
                },
                (current) =>
                  current.if(
                    m.seen.ne(0),
                    (duplicate) => {
                      duplicate.call(back);
                      duplicate.call(ack, { flags: Flag.DUPLICATE });
                      finish(duplicate, "duplicate");
                    },
                    (fresh) =>
                      fresh.if(
                        isComplete,
                        (then) => {
                          then.call(toServer);
                          then.call(result);
                          finish(then, "complete");
                        },
                        (then) => {
                          then.call(back);
                          then.call(ack, { flags: 0 });
                          then.if(
                            isRequest("contribution"),
                            (t) => finish(t, "contribution"),
                            (t) => finish(t, "null"),
                          );
                        },
                      ),
                  ),
              ),
          ),
      ),
    );
    s.count(events, event.cast(u32));
  });

  const lookUp =
    o.mode.name === "fp32" && base !== undefined
      ? lookUpFloats(p, o.mode, o.workers, parts, { mark: m.mark, base })
      : undefined;
  p.ingress("aggregate", (s) =>
    s.if(p.valid(agg), (present) => {
      present.invoke(admission);
      present.if(local.eq(1), (then) => {
        if (lookUp !== undefined) then.if(isRequest("contribution"), (t) => t.invoke(lookUp));
        then.invoke(slot);
        then.invoke(answer);
      });
    }),
  );

  const acknowledge = p.control(
    "acknowledge",
    "egress",
    "Makes the sender's acknowledgement of a clone of its packet.",
  );
  const turnBack = turnAction(acknowledge, "turn_back", parts, turn);
  const ackClone = ackAction(acknowledge, parts, setLength);
  acknowledge.apply((s) =>
    s.if(intrinsic.is_clone.and(p.valid(agg)), (then) => {
      then.call(turnBack);
      then.call(ackClone, { flags: 0 });
    }),
  );
  p.egress("aggregate", (s) => s.invoke(acknowledge));
}

/** Bits that number the slots of a grid. */
function slotBits(rows: number): number {
  return Math.max(1, Math.ceil(Math.log2(rows)));
}

type Branch = (s: Steps) => void;

/** `if ... else if ... else`. */
function chain(s: Steps, cases: readonly (readonly [Bool, Branch])[], otherwise: Branch): void {
  const [first, ...rest] = cases;
  if (first === undefined) otherwise(s);
  else s.if(first[0], first[1], (t) => chain(t, rest, otherwise));
}

/** Newer in serial arithmetic: the difference, read as signed, is positive (RFC 1982 with 32 bits). */
function isNewer(packet: Num<BitType>, slot: Num<BitType>): Bool {
  return packet.sub(slot).cast(int(32)).gt(0);
}

function relationOf(packet: Num<BitType>, slot: Num<BitType>): Num<BitType> {
  const notEqual = mux(isNewer(packet, slot), value(u8, RELATION.newer), RELATION.older);
  return mux(packet.eq(slot), value(u8, RELATION.equal), notEqual);
}

interface Turn {
  readonly macBefore: Variable<BitType>;
  readonly addrBefore: Variable<BitType>;
  readonly portBefore: Variable<BitType>;
}

/** Swaps the addresses of all layers and sends the packet where it came from. */
function turnAction(
  c: ControlBuilder,
  name: string,
  parts: AggregationParts,
  before: Turn,
): Action<Record<never, never>> {
  const { ethernet, ipv4, udp } = parts;
  return c.action(name, {}, (a) => {
    const swap = (one: Variable<BitType>, other: Variable<BitType>, temporary: Variable<BitType>): void => {
      a.set(temporary, one);
      a.set(one, other);
      a.set(other, temporary);
    };
    swap(ethernet.dst_addr, ethernet.src_addr, before.macBefore);
    swap(ipv4.dst_addr, ipv4.src_addr, before.addrBefore);
    swap(udp.dst_port, udp.src_port, before.portBefore);
    a.set(ipv4.ttl, ANSWER_TTL);
    if (name === "back_to_sender") a.set(intrinsic.egress_port, intrinsic.ingress_port);
  });
}

function ackAction(
  c: ControlBuilder,
  parts: AggregationParts,
  setLength: (a: ActionSteps, payload: number) => void,
) {
  return c.action("acknowledge", { flags: u8 }, (a, { flags }) => {
    a.set(parts.agg.kind, Kind.ACK);
    a.set(parts.agg.flags, flags);
    a.setInvalid(parts.lanes);
    setLength(a, 0);
  });
}
