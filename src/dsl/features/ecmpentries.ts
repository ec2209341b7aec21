import type { EcmpOptions } from "./ecmp.ts";

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

/** A next hop of flows. */
export interface FlowMember extends GroupMember {
  /** How many of the group's shares it takes; default 1. */
  readonly weight?: number;
  /** While this port is down the others take its flows; default its own port. `none`: nothing is watched. */
  readonly watchPort?: number | "none";
}

/**
 * What the control plane writes for a group of next hops of flows, in order: members of the action selector, the group, and the
 * entry that points to it. To change a group, modify it: all its flows move in one update.
 */
export function flowGroup(options: EcmpOptions, group: number, members: readonly FlowMember[]) {
  // 0 is no number of a member or group.
  const first = group * options.members + 1;
  return {
    profile: "ecmp.next_hops",
    members: members.map(({ port, mac }, i) => ({
      id: first + i,
      action: "ecmp.to_next_hop",
      params: { port, dst_mac: mac },
    })),
    group: {
      id: group + 1,
      members: members.map(({ port, weight = 1, watchPort = port }, i) => ({
        member: first + i,
        weight,
        ...(watchPort === "none" ? {} : { watchPort }),
      })),
    },
    entry: { table: "ecmp.flow", match: { group }, group: group + 1 },
  };
}
