import { type BitType, bit } from "../../ir/index.ts";
import { BEST_EFFORT } from "../../wire/trafficclass.ts";
import { callSite } from "../callsite.ts";
import type { ControlBuilder } from "../control.ts";
import { onlyKnown } from "../options.ts";
import { type Feature, intrinsic, type ProgramBuilder } from "../program.ts";
import { ProgramError } from "../programerror.ts";
import { type ActionSteps, exactly, type Steps } from "../steps.ts";
import { type Bool, mux, type NamedConstant, type Num, type Variable, value } from "../value.ts";
import { flow } from "./flow.ts";
import { forwardingState, isForwarding } from "./forwarding.ts";
import { internet } from "./internet.ts";
import { isForwarding6 } from "./internet6.ts";
import { indexBits, nextHopGroup } from "./nexthopgroup.ts";
import { trafficClass } from "./trafficclass.ts";

/** What became of packets whose route points to a group; cells of counter `ecmp.events`. */
export const ECMP_EVENTS = ["sprayed", "drop_no_group", "drop_no_member", "by_flow"] as const;

export interface EcmpOptions {
  /** Groups of next hops, 1 to 65536. */
  readonly groups: number;
  /** Most members of a group, 1 to 256; those of flows count as often as their weights say. */
  readonly members: number;
  /**
   * Whose packets go round robin: "all"; those of "gradient" classes, in groups that have an entry for it; or "none". The others keep to
   * one path per flow.
   */
  readonly spray: "gradient" | "all" | "none";
}

export interface EcmpFeature extends Feature {
  readonly name: "ecmp";
  readonly options: EcmpOptions;
}

export function isEcmp(feature: Feature): feature is EcmpFeature {
  return feature.name === "ecmp";
}

/**
 * Equal-cost multi-path: routes may point to a group of next hops (`forwarding.to_group`). There are two ways to choose one:
 *
 * * Spray: each packet takes the group's next member in turn. The turn is one register cell per group, so it is exact and the same in
 *   every run. Packets of one flow overtake each other: for traffic that needs no order, as gradients. Members are numbered without
 *   gaps; `groupEntries` and `withoutMember` say what the control plane writes.
 * * By flow: a hash of addresses, protocol and ports chooses, by the action selector `ecmp.next_hops`. The control plane gives
 *   members weights and ports to watch; see `flowGroup`.
 */
export function ecmp(options: EcmpOptions): EcmpFeature {
  const at = callSite();
  const refuse = (message: string): never => {
    throw new ProgramError({ code: "GP1701", message: `ecmp: ${message}`, at });
  };
  const whole = (name: "groups" | "members", high: number): void => {
    const given = options[name];
    if (!Number.isInteger(given) || given < 1 || given > high)
      refuse(`${name} is ${given}; it may be 1 to ${high}`);
  };
  onlyKnown("ecmp", options, ["groups", "members", "spray"], at);
  whole("groups", 0x1_0000);
  whole("members", 256);
  if (!["gradient", "all", "none"].includes(options.spray))
    refuse(`spray is ${JSON.stringify(options.spray)}; it may be "all", "gradient" or "none"`);
  return { name: "ecmp", at, options, build: (p) => buildEcmp(p, options) };
}

/** The turn: the member after `before` in a group whose last member is `last`. Whatever the cell holds, the result is in the group. */
export function nextTurn(before: number, last: number): number {
  return before >= last ? 0 : before + 1;
}

function buildEcmp(p: ProgramBuilder, o: EcmpOptions): void {
  if (p.find(isForwarding) === undefined && p.find(isForwarding6) === undefined) {
    throw new ProgramError({
      code: "GP1702",
      message: "ecmp needs ipv4Forwarding or ipv6Forwarding, whose routes point to its groups",
      at: callSite(),
    });
  }
  const { event: forwarded, code: forwarding } = p.once(forwardingState);
  const { group, pending } = p.once(nextHopGroup);
  const event = p.metadata("ecmp_event", bit(8), "what ECMP did");
  const code = p.constants(
    "ECMP",
    bit(8),
    ECMP_EVENTS,
    "What ECMP did with a packet whose route points to a group.",
  );
  const isGradient = o.spray === "gradient" ? gradients(p) : undefined;
  const c = p.control("ecmp", "ingress", "Chooses the next hop of packets whose route points to a group.");
  const events = c.counter("events", ECMP_EVENTS, "what became of the packet");
  const parts: Parts = { p, c, o, group, event, code };
  if (isGradient !== undefined) {
    const sprayed = p.metadata("ecmp_sprayed", bit(1), "1: the packet takes the next turn");
    const spray = sprayTables(parts, (a) => a.set(sprayed, 1));
    const byFlow = flowTable(parts);
    c.apply((s) => {
      s.if(isGradient, (gradient) => gradient.apply(spray.groups));
      s.if(sprayed.eq(1), (then) => then.apply(spray.members), byFlow);
    });
  } else if (o.spray === "all") {
    const spray = sprayTables(parts);
    c.apply((s) => s.apply(spray.groups, { hit: (found) => found.apply(spray.members) }));
  } else {
    c.apply(flowTable(parts));
  }
  c.apply((s) => s.count(events, event.cast(bit(32))));
  // The route dropped the packet until a member takes it; one whose time to live has ended stays dropped.
  const isForwarded = forwarded.eq(forwarding.forwarded);
  // Before aggregation, which answers other packets: on Tofino what both write would make this wait for the last lane. Behind the routes,
  // in whatever order the features are listed.
  p.last(() => p.ingress("route", (s) => s.if(pending.eq(1).and(isForwarded), (then) => then.invoke(c))));
}

/** What the ways to choose share. */
interface Parts {
  readonly p: ProgramBuilder;
  readonly c: ControlBuilder;
  readonly o: EcmpOptions;
  readonly group: Num<BitType>;
  readonly event: Variable<BitType<8>>;
  readonly code: { readonly [E in (typeof ECMP_EVENTS)[number]]: NamedConstant<BitType<8>> };
}

/** Whether a packet is of a gradient class. */
function gradients(p: ProgramBuilder): Bool {
  const { plan, trafficClass: found, classOf } = p.once(trafficClass);
  return found.ne(classOf(BEST_EFFORT)).and(found.ne(classOf(plan.control.class)));
}

/** The packet to a next hop. */
function toHop({ p, c }: Parts, name: string, more: (a: ActionSteps) => void = () => {}) {
  const { ethernet } = p.once(internet);
  return c.action(
    name,
    { port: bit(9), dst_mac: bit(48) },
    (a, { port, dst_mac }) => {
      a.set(intrinsic.egress_port, port);
      a.set(ethernet.dst_addr, dst_mac);
      more(a);
    },
    "to the next hop; its route did the rest",
  );
}

/** Round robin; `also` is what its action does beside. */
function sprayTables(parts: Parts, also?: (a: ActionSteps) => void) {
  const { p, c, o, group, event, code } = parts;
  const turnType: BitType = bit(8);
  const index = p.metadata("ecmp_index", turnType, "the packet's member of the group");
  const turn = c.register("turn", turnType, 2 ** indexBits(o.groups), "member that had the last packet");
  const spray = c.action(
    "spray",
    { last: turnType },
    (a, { last }) => {
      a.update(turn, {
        index: group,
        // Not `equal`: a group may have become shorter than its turn.
        next: (old) => mux(old.ge(last), value(turnType, 0), old.add(1)),
        output: ({ next }) => next,
        into: index,
      });
      also?.(a);
    },
    "round robin over members 0 to last",
  );
  // Where flows are the other way, a group without an entry here is all by flow.
  const noGroup =
    o.spray === "all"
      ? c.action("no_group", {}, (a) => {
          a.set(event, code.drop_no_group);
          a.staysDropped();
        })
      : undefined;
  const groups = c.table("group", {
    doc: "groups of next hops whose packets go round robin",
    key: { group: exactly(group) },
    actions: [spray, ...(noGroup === undefined ? [] : [noGroup])],
    size: o.groups,
    ...(noGroup === undefined ? {} : { defaultAction: noGroup.with({}) }),
    constDefault: true,
  });
  const toMember = toHop(parts, "to_member");
  const noMember = c.action("no_member", {}, (a) => {
    a.set(event, code.drop_no_member);
    a.staysDropped();
  });
  const members = c.table("member", {
    doc: "next hops by group and number",
    key: { group: exactly(group), index: exactly(index) },
    actions: [toMember, noMember],
    size: o.groups * o.members,
    defaultAction: noMember.with({}),
    constDefault: true,
    counter: "member_counter",
  });
  return { groups, members };
}

/** By a hash of the flow. */
function flowTable(parts: Parts): (s: Steps) => void {
  const { p, c, o, group, event, code } = parts;
  const { keys, findPorts } = p.once(flow);
  const toNextHop = toHop(parts, "to_next_hop", (a) => a.set(event, code.by_flow));
  const nextHops = c.actionSelector("next_hops", {
    doc: "next hops of flows",
    size: o.groups * o.members,
    algorithm: "crc32",
    keys,
    maxGroupSize: o.members,
  });
  const table = c.table("flow", {
    doc: "groups of next hops, one of which a flow keeps",
    key: { group: exactly(group) },
    actions: [toNextHop],
    size: o.groups,
    implementation: nextHops,
    counter: "flow_counter",
  });
  return (s) => {
    findPorts(s);
    // What stands when the group has lost its members: no action runs.
    s.set(event, code.drop_no_member);
    s.staysDropped("no_member");
    s.apply(table, {
      miss: (none) => {
        none.set(event, code.drop_no_group);
        none.staysDropped("no_group");
      },
    });
  };
}
