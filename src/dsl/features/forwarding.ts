import { type BitType, bit } from "../../ir/index.ts";
import { callSite } from "../callsite.ts";
import type { ControlBuilder } from "../control.ts";
import { onlyKnown } from "../options.ts";
import type { Feature, ProgramBuilder } from "../program.ts";
import { intrinsic } from "../program.ts";
import { ProgramError } from "../programerror.ts";
import {
  type Action,
  type ActionSteps,
  type BoundAction,
  type ControlHandle,
  lpm,
  type Steps,
} from "../steps.ts";
import type { NamedConstant, Variable } from "../value.ts";
import { internet } from "./internet.ts";
import { internet6, isForwarding6 } from "./internet6.ts";
import { hasGroups, nextHopGroup } from "./nexthopgroup.ts";

/**
 * What IPv4 forwarding did with a packet; cells of counter `forwarding.events`, and the drop reasons among them. Forwarded is
 * also what went to a group of next hops, which counts for itself.
 */
export const FORWARDING_EVENTS = [
  "forwarded",
  "local",
  "drop_truncated",
  "drop_not_ipv4",
  "drop_checksum",
  "drop_ttl",
  "drop_no_route",
] as const;

export interface ForwardingOptions {
  /** Routes; default 1024. */
  readonly routes?: number;
}

export function isForwarding(feature: Feature): feature is Feature {
  return feature.name === "ipv4Forwarding";
}

/**
 * Plain IPv4 forwarding by longest prefix: next hop's MAC and port, time to live, header checksum. Packets with options are
 * dropped and counted (their checksum can't be renewed). Addresses of the switch itself have the action `to_local`.
 */
export function ipv4Forwarding(options: ForwardingOptions = {}): Feature {
  const at = callSite();
  const routes = routesOf("ipv4Forwarding", options, at);
  return { name: "ipv4Forwarding", at, build: (p) => void buildForwarding(p, routes) };
}

/** How many routes a user wants. @throws ProgramError GP1701 */
export function routesOf(
  feature: string,
  options: ForwardingOptions,
  at: ReturnType<typeof callSite>,
): number {
  onlyKnown(feature, options, ["routes"], at);
  const { routes = 1024 } = options;
  if (Number.isInteger(routes) && routes > 0) return routes;
  throw new ProgramError({
    code: "GP1701",
    message: `${feature}: routes is ${String(routes)}; it may be 1 or more`,
    at,
  });
}

function buildForwarding(p: ProgramBuilder, routes: number): void {
  const { ipv4 } = p.once(internet);
  const { event, code } = p.once(forwardingState);

  const c = p.control("forwarding", "ingress", "IPv4 forwarding by longest prefix match.");
  const events = c.counter("events", FORWARDING_EVENTS, "what became of the packet");
  const { actions, noRoute } = routeActions(p, c, { code, hop: (a) => a.set(ipv4.ttl, ipv4.ttl.sub(1)) });
  const route = c.table("route", {
    doc: "where IPv4 packets go",
    key: { dst_addr: lpm(ipv4.dst_addr) },
    actions,
    size: routes,
    defaultAction: noRoute,
    counter: "route_counter",
  });
  const refuse = refusing(event, code);
  c.apply((s) => {
    s.if(
      intrinsic.parser_failed,
      (then) => refuse(then, "drop_truncated"),
      (sound) =>
        sound.if(
          p.valid(ipv4).not().or(ipv4.version.ne(4)).or(ipv4.ihl.ne(5)),
          (then) => refuse(then, "drop_not_ipv4"),
          (ip) =>
            ip.if(
              intrinsic.checksum_failed,
              (then) => refuse(then, "drop_checksum"),
              (whole) => whole.apply(route),
            ),
        ),
    );
    // After the subtraction: 0 was 1, and 255 was 0.
    s.if(event.eq(code.forwarded).and(ipv4.ttl.eq(0).or(ipv4.ttl.eq(255))), (then) =>
      refuse(then, "drop_ttl"),
    );
    s.count(events, event.cast(bit(32)));
  });
  p.once(routedBy).add("ipv4", c);
}

/** Which control routes which packets: alone all of them, and of two each its own; what is neither is for IPv4's to drop. */
export function routedBy(p: ProgramBuilder) {
  const controls: { ipv4?: ControlHandle; ipv6?: ControlHandle } = {};
  const hasBoth = p.find(isForwarding) !== undefined && p.find(isForwarding6) !== undefined;
  return {
    add(version: keyof typeof controls, control: ControlHandle): void {
      controls[version] = control;
      const { ipv4, ipv6 } = controls;
      if (!hasBoth) p.ingress("route", (s) => s.invoke(control));
      else if (ipv4 !== undefined && ipv6 !== undefined)
        p.ingress("route", (s) =>
          s.if(
            p.valid(p.once(internet6).ipv6),
            (then) => then.invoke(ipv6),
            (other) => other.invoke(ipv4),
          ),
        );
    },
  };
}

/** Drops a packet, and says so by the code of the event; the reason is the event's name without `drop_`. */
export function refusing<E extends string>(
  event: Variable<BitType<8>>,
  code: Readonly<Record<E, NamedConstant<BitType<8>>>>,
): (s: Steps, reason: E) => void {
  return (s, reason) => {
    s.drop(reason.replace("drop_", ""));
    s.set(event, code[reason]);
  };
}

/** Codes of events that both versions of IP have. */
type SharedCodes = {
  readonly [E in "forwarded" | "local" | "drop_no_route"]: NamedConstant<BitType<8>>;
};

/**
 * The actions of a table of routes, for either version of IP: to a next hop, to a group of them where the program has groups, to the switch
 * itself, to nowhere. `hop` counts one hop down.
 */
export function routeActions(
  p: ProgramBuilder,
  c: ControlBuilder,
  { code, hop }: { readonly code: SharedCodes; readonly hop: (a: ActionSteps) => void },
): { readonly actions: readonly Action[]; readonly noRoute: BoundAction } {
  const { ethernet } = p.once(internet);
  const { event, local } = p.once(forwardingState);
  const toPort = c.action(
    "to_port",
    { port: bit(9), dst_mac: bit(48) },
    (a, { port, dst_mac }) => {
      a.set(intrinsic.egress_port, port);
      a.set(ethernet.src_addr, ethernet.dst_addr);
      a.set(ethernet.dst_addr, dst_mac);
      hop(a);
      a.set(event, code.forwarded);
    },
    "to the next hop",
  );
  const toLocal = c.action(
    "to_local",
    {},
    (a) => {
      // Dropped unless a feature that serves the address takes it.
      a.drop("local");
      a.set(local, 1);
      a.set(event, code.local);
    },
    "for an address of the switch",
  );
  const toGroup = (): Action => {
    const { type, group, pending } = p.once(nextHopGroup);
    return c.action(
      "to_group",
      { group: type },
      (a, d) => {
        // Dropped unless a member of the group takes it.
        a.drop("ecmp.no_member");
        a.set(group, d.group);
        a.set(pending, 1);
        a.set(ethernet.src_addr, ethernet.dst_addr);
        hop(a);
        a.set(event, code.forwarded);
      },
      "to a group of next hops",
    );
  };
  const noRoute = c.action("no_route", {}, (a) => {
    a.drop("no_route");
    a.set(event, code.drop_no_route);
  });
  const actions = [toPort, ...(p.find(hasGroups) === undefined ? [] : [toGroup()]), toLocal, noRoute];
  return { actions, noRoute: noRoute.with({}) };
}

/** Shared with features that take packets for the switch itself: `p.once(forwardingState)`. */
export function forwardingState(p: ProgramBuilder) {
  return {
    event: p.metadata("forwarding_event", bit(8), "what forwarding did"),
    code: p.constants("FORWARDING", bit(8), FORWARDING_EVENTS, "What forwarding did with a packet."),
    local: p.metadata("local", bit(1), "the packet is for an address of the switch"),
  };
}
