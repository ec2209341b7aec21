import { bit } from "../../ir/index.ts";
import type { Feature, ProgramBuilder } from "../program.ts";

/** The feature to whose groups routes may point: see `ecmp`. */
export interface GroupFeature extends Feature {
  readonly name: "ecmp";
  readonly options: { readonly groups: number };
}

export function hasGroups(feature: Feature): feature is GroupFeature {
  return feature.name === "ecmp";
}

/** Bits that number `count` things; at least one. */
export function indexBits(count: number): number {
  return Math.max(1, Math.ceil(Math.log2(count)));
}

/** Between a route that points to a group and who chooses the member: take it with `p.once(nextHopGroup)`. */
export function nextHopGroup(p: ProgramBuilder) {
  const groups = p.find(hasGroups)?.options.groups ?? 1;
  const type = bit(indexBits(groups));
  return {
    type,
    group: p.metadata("ecmp_group", type, "group of next hops"),
    pending: p.metadata("ecmp_pending", bit(1), "1: the route points to a group"),
  };
}
