import { type BitType, bit, colours } from "../../ir/index.ts";
import { BEST_EFFORT, Ecn } from "../../wire/trafficclass.ts";
import { callSite } from "../callsite.ts";
import { type Feature, intrinsic, type ProgramBuilder } from "../program.ts";
import { ProgramError } from "../programerror.ts";
import { exactly, type Steps } from "../steps.ts";
import type { Variable } from "../value.ts";
import { choose } from "./choose.ts";
import { anyIp } from "./internet6.ts";
import { isPriority, trafficClass } from "./trafficclass.ts";

/** What selective dropping did with packets that go to a queue; cells of counter `selective_drop.events`. */
export const DROP_EVENTS = [
  /** Control, or a class without a threshold. */
  "exempt",
  "kept",
  "marked",
  "drop_unimportant",
] as const;
export type DropEvent = (typeof DROP_EVENTS)[number];

export interface DropOptions {
  /** Longest queue, in packets, that a droppable packet of a class may meet; classes without one drop nothing. */
  readonly keep: { readonly [trafficClass: number]: number };
}

export interface DropFeature extends Feature {
  readonly name: "drop";
  readonly options: DropOptions;
}

export function isDrop(feature: Feature): feature is DropFeature {
  return feature.name === "drop";
}

/** `enqueue_depth` has 19 bits. */
const MAX_KEEP = 2 ** 19 - 1;
const u32: BitType = bit(32);

/**
 * Selective dropping by importance, as DLCP has it (arXiv 2008.08445; MLT, NSDI 2024): a packet that meets a longer queue than
 * its class keeps is dropped when it is droppable (Non-ECT: the small gradients) and marked CE when it is important (ECT).
 * Front layers tolerate more loss, so their classes get the smaller thresholds. Control is never dropped. Clones are
 * the switch's own answers and stay, too.
 *
 * v1model decides after the queue, in egress, since ingress can't see it: the length is the one that the packet met
 * when it joined, and a dropped packet has had its place in the queue and its turn at the port. A full queue still
 * refuses packets of either kind, so keep thresholds well below its depth. A packet meets the length of its own class's
 * queue, on simple_switch (1.15) as on the embedded switch; older simple_switch reports all the port's queues together. Tofino counts cells of 80 bytes; and there what may be dropped is red,
 * and the traffic manager drops it before the queue (`tna/bfrt.json` has the limits).
 *
 * The thresholds are entries of table `selective_drop.threshold`, which the control plane writes (`contentsOf`) and may change at run time.
 */
export function drop(options: DropOptions): DropFeature {
  const at = callSite();
  const refuse = (message: string): never => {
    throw new ProgramError({ code: "GP1701", message: `drop: ${message}`, at });
  };
  const thresholds = Object.entries(options.keep);
  if (thresholds.length === 0) refuse("keep names no class");
  for (const [name, packets] of thresholds) {
    if (!/^[0-7]$/.test(name)) refuse(`keep has class ${name}; classes are 0 to 7`);
    if (!Number.isInteger(packets) || packets < 0 || packets > MAX_KEEP)
      refuse(`keep of class ${name} is ${packets}; it may be 0 to ${MAX_KEEP} packets`);
  }
  return { name: "drop", at, options, build: (p) => buildDrop(p, options) };
}

/** The rule itself: what becomes of a packet that met `depth` packets, where its class keeps `keep`. */
export function fateOf(packet: {
  readonly ecn: number;
  readonly depth: number;
  readonly keep: number | undefined;
}): DropEvent {
  if (packet.keep === undefined) return "exempt";
  if (packet.depth <= packet.keep) return "kept";
  return packet.ecn === Ecn.NON_ECT ? "drop_unimportant" : "marked";
}

function buildDrop(p: ProgramBuilder, { keep }: DropOptions): void {
  const { isIp, ipv4, ipv6 } = p.once(anyIp);
  const { plan, trafficClass: found, classOf } = p.once(trafficClass);
  for (const name of Object.keys(keep)) {
    const wrong =
      Number(name) === plan.control.class
        ? "is control, which is never dropped"
        : `is not one of the program's, ${BEST_EFFORT} to ${plan.control.class}`;
    if (Number(name) >= plan.control.class) {
      const message = `drop: class ${name} ${wrong}`;
      throw new ProgramError({ code: "GP1701", message, at: callSite() });
    }
  }
  const event = p.metadata("drop_event", bit(8), "what selective dropping did");
  const excess = p.metadata("queue_excess", u32, "packets by which the queue was too long for the class");
  const code = p.constants(
    "SELECTIVE_DROP",
    bit(8),
    DROP_EVENTS,
    "What selective dropping did with a packet.",
  );
  const ecn = p.once(importance);

  const c = p.control(
    "selective_drop",
    "egress",
    "In a long queue drops what is droppable and marks what is important.",
  );
  const events = c.counter("events", DROP_EVENTS, "what became of the packet");
  const exempt = c.action("exempt", {}, (a) => {
    a.set(excess, 0);
    a.set(event, code.exempt);
  });
  const within = c.action(
    "keep",
    { packets: u32 },
    (a, { packets }) => {
      a.set(excess, intrinsic.enqueue_depth.cast(u32).subSat(packets));
      a.set(event, code.kept);
    },
    "how many packets may wait before this one",
  );
  const threshold = c.table("threshold", {
    doc: "longest queue for droppable packets, by traffic class",
    key: { traffic_class: exactly(found) },
    actions: [within, exempt],
    size: plan.classes,
    defaultAction: exempt.with({}),
    constDefault: true,
    contents: {
      run: within,
      list: {
        name: "selective_drop.thresholds",
        doc: "longest queue in packets, by traffic class; may change at run time",
        rows: Object.entries(keep).map(([name, packets]) => [Number(name), packets]),
      },
    },
  });
  const mark = (ip: { readonly ecn: Variable<BitType> }) => (s: Steps) =>
    s.if(
      ip.ecn.eq(ecn.NON_ECT),
      (droppable) => {
        droppable.drop("unimportant");
        droppable.set(event, code.drop_unimportant);
      },
      (important) => {
        important.set(ip.ecn, ecn.CE);
        important.set(event, code.marked);
      },
    );
  c.apply((s) =>
    s.if(isIp.and(intrinsic.is_clone.not()), (whole) => {
      // Not left to the table's contents: control is never dropped.
      whole.if(found.ne(classOf(plan.control.class)), (then) => then.apply(threshold));
      whole.if(excess.ne(0), (then) =>
        choose(then, ipv6 === undefined ? [] : [[p.valid(ipv6), mark(ipv6)]], mark(ipv4)),
      );
      whole.count(events, event.cast(u32));
    }),
  );
  p.egress("classify", (s) => s.invoke(c));
  colourDroppable(p, keep);
}

/** On Tofino the queue itself drops what is red: before it waits, and before it is in the way of others. */
function colourDroppable(p: ProgramBuilder, keep: DropOptions["keep"]): void {
  const { isIp, ecn: bits } = p.once(anyIp);
  const { trafficClass: found, classOf } = p.once(trafficClass);
  const ecn = p.once(importance);
  const c = p.control(
    "drop_precedence",
    "ingress",
    "Red, for the traffic manager, is what may be dropped in a long queue.",
    "tna",
  );
  const red = c.action("is_red", {}, (a) => a.set(intrinsic.colour, colours.red));
  const green = c.action("is_green", {}, (a) => a.set(intrinsic.colour, colours.green));
  const table = c.table("colour", {
    doc: "classes that drop, and what in them is not important",
    key: { traffic_class: exactly(found), ecn: exactly(bits) },
    actions: [red, green],
    size: Object.keys(keep).length,
    defaultAction: green.with({}),
    constDefault: true,
    entries: Object.keys(keep).map((name) => ({
      key: { traffic_class: classOf(Number(name)), ecn: ecn.NON_ECT },
      run: red.with({}),
    })),
  });
  c.apply((s) => s.if(isIp, (then) => then.apply(table)));
  p.ingress("classify", (s) => s.invoke(c));
  // Without priority there is one queue, for all classes.
  const all = Object.entries(keep).map(([name, packets]) => ({ queue: Number(name), packets }));
  if (p.find(isPriority) === undefined)
    p.queue(0, { keepRed: Math.min(...all.map(({ packets }) => packets)) });
  else for (const { queue, packets } of all) p.queue(queue, { keepRed: packets });
}

function importance(p: ProgramBuilder) {
  return p.constants("ECN", bit(2), Ecn, "The ECN bits (RFC 3168) as importance.");
}
