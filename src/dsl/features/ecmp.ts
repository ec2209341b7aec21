import { type BitType, bit } from "../../ir/index.ts";
import { callSite } from "../callsite.ts";
import { type Feature, intrinsic, type ProgramBuilder } from "../program.ts";
import { ProgramError } from "../programerror.ts";
import { exactly } from "../steps.ts";
import { mux, value } from "../value.ts";
import { forwardingState, isForwarding } from "./forwarding.ts";
import { internet } from "./internet.ts";
import { indexBits, nextHopGroup } from "./nexthopgroup.ts";

/** What became of packets whose route points to a group; cells of counter `ecmp.events`. */
export const ECMP_EVENTS = ["sprayed", "drop_no_group", "drop_no_member"] as const;

export interface EcmpOptions {
  /** Groups of next hops, 1 to 65536. */
  readonly groups: number;
  /** Most members of a group, 1 to 256. */
  readonly members: number;
  /**
   * Whose packets go round robin: "all". The rest would have to keep to one path by a hash of the flow, which programs can't
   * compute yet, so "gradient" and "none" are refused.
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
 * Equal-cost multi-path: routes may point to a group of next hops (`forwarding.to_group`), and each packet takes the group's
 * next member in turn. The turn is one register cell per group, so it is exact and the same in every run.
 * Packets of one flow overtake each other: for traffic that needs no order, as gradients.
 *
 * Members are numbered without gaps; `groupEntries` and `withoutMember` say what the control plane writes.
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
  whole("groups", 0x1_0000);
  whole("members", 256);
  if (options.spray !== "all") {
    refuse(
      `spray is "${options.spray}"; packets that are not sprayed need a hash of their flow, which programs can't compute yet: ` +
        'write spray: "all"',
    );
  }
  return { name: "ecmp", at, options, build: (p) => buildEcmp(p, options) };
}

/** The turn: the member after `before` in a group whose last member is `last`. Whatever the cell holds, the result is in the group. */
export function nextTurn(before: number, last: number): number {
  return before >= last ? 0 : before + 1;
}

/** A next hop, in the forms that the P4Runtime client takes. */
export interface GroupMember {
  readonly port: number;
  readonly mac: string;
}

function memberEntry(group: number, index: number, { port, mac }: GroupMember) {
  return {
    table: "ecmp.member",
    match: { group, index },
    action: "ecmp.to_member",
    params: { port, dst_mac: mac },
  };
}

function groupEntry(group: number, size: number) {
  return { table: "ecmp.group", match: { group }, action: "ecmp.spray", params: { last: size - 1 } };
}

/** Entries of a group, in the order in which they are to be inserted: its members, then the group. */
export function groupEntries(group: number, members: readonly GroupMember[]) {
  const entries = members.map((m, i) => memberEntry(group, i, m));
  return members.length === 0 ? [] : [...entries, groupEntry(group, members.length)];
}

/**
 * Updates that take member `lost` out of a group, in order; after each of them the group is whole. From the first on no
 * packet goes to the lost member: the last one stands in for it, before the group gets shorter.
 */
export function withoutMember(group: number, members: readonly GroupMember[], lost: number) {
  const last = members.length - 1;
  const stand = members[last];
  const gone = members[lost];
  if (stand === undefined || gone === undefined)
    throw new RangeError(`group ${group} has no member ${lost}; it has ${members.length}`);
  const modify = (entry: ReturnType<typeof memberEntry> | ReturnType<typeof groupEntry>) =>
    ({ update: "modify", entry }) as const;
  const remove = (entry: ReturnType<typeof memberEntry> | ReturnType<typeof groupEntry>) =>
    ({ update: "delete", entry }) as const;
  const shorter = last === 0 ? remove(groupEntry(group, 1)) : modify(groupEntry(group, last));
  const filled = lost === last ? [] : [modify(memberEntry(group, lost, stand))];
  return [...filled, shorter, remove(memberEntry(group, last, stand))];
}

function buildEcmp(p: ProgramBuilder, o: EcmpOptions): void {
  if (p.find(isForwarding) === undefined) {
    throw new ProgramError({
      code: "GP1702",
      message: "ecmp needs ipv4Forwarding, whose routes point to its groups",
      at: callSite(),
    });
  }
  const { ethernet } = p.once(internet);
  const { event: forwarded, code: forwarding } = p.once(forwardingState);
  const { group, pending } = p.once(nextHopGroup);
  const turnType: BitType = bit(8);
  const index = p.metadata("ecmp_index", turnType, "the packet's member of the group");
  const event = p.metadata("ecmp_event", bit(8), "what ECMP did");
  const code = p.constants(
    "ECMP",
    bit(8),
    ECMP_EVENTS,
    "What ECMP did with a packet whose route points to a group.",
  );

  const c = p.control("ecmp", "ingress", "Chooses the next hop of packets whose route points to a group.");
  const events = c.counter("events", ECMP_EVENTS, "what became of the packet");
  const turn = c.register("turn", turnType, 2 ** indexBits(o.groups), "member that had the last packet");
  const spray = c.action(
    "spray",
    { last: turnType },
    (a, { last }) =>
      a.update(turn, {
        index: group,
        // Not `equal`: a group may have become shorter than its turn.
        next: (old) => mux(old.ge(last), value(turnType, 0), old.add(1)),
        output: ({ next }) => next,
        into: index,
      }),
    "round robin over members 0 to last",
  );
  const noGroup = c.action("no_group", {}, (a) => a.set(event, code.drop_no_group));
  const groups = c.table("group", {
    doc: "groups of next hops",
    key: { group: exactly(group) },
    actions: [spray, noGroup],
    size: o.groups,
    defaultAction: noGroup.with({}),
    constDefault: true,
  });
  const toMember = c.action(
    "to_member",
    { port: bit(9), dst_mac: bit(48) },
    (a, { port, dst_mac }) => {
      a.set(intrinsic.egress_port, port);
      a.set(ethernet.dst_addr, dst_mac);
    },
    "to the next hop; its route did the rest",
  );
  const noMember = c.action("no_member", {}, (a) => a.set(event, code.drop_no_member));
  const members = c.table("member", {
    doc: "next hops by group and number",
    key: { group: exactly(group), index: exactly(index) },
    actions: [toMember, noMember],
    size: o.groups * o.members,
    defaultAction: noMember.with({}),
    constDefault: true,
    counter: "member_counter",
  });
  c.apply((s) => {
    s.apply(groups, { hit: (found) => found.apply(members) });
    s.count(events, event.cast(bit(32)));
  });
  // The route dropped the packet until a member takes it; one whose time to live has ended stays dropped.
  const isForwarded = forwarded.eq(forwarding.forwarded);
  p.ingress("deliver", (s) => s.if(pending.eq(1).and(isForwarded), (then) => then.invoke(c)));
}
