import { bit } from "../../ir/index.ts";
import { callSite } from "../callsite.ts";
import { type Feature, intrinsic, type ProgramBuilder } from "../program.ts";
import { lpm } from "../steps.ts";
import {
  type ForwardingOptions,
  forwardingState,
  refusing,
  routeActions,
  routedBy,
  routesOf,
} from "./forwarding.ts";
import { internet } from "./internet.ts";
import { internet6 } from "./internet6.ts";

/** What IPv6 forwarding did with a packet; cells of counter `forwarding6.events`. */
export const FORWARDING6_EVENTS = [
  "forwarded",
  "local",
  "drop_truncated",
  "drop_not_ipv6",
  "drop_scope",
  "drop_hop_limit",
  "drop_no_route",
] as const;

export type Forwarding6Options = ForwardingOptions;

/**
 * Plain IPv6 forwarding by longest prefix, alone or beside `ipv4Forwarding`: next hop's MAC and port, hop limit. Link-local addresses and
 * multicast groups go no further than their link (RFC 4291), so such packets are dropped and counted. Extension headers are left
 * alone.
 */
export function ipv6Forwarding(options: Forwarding6Options = {}): Feature {
  const at = callSite();
  const routes = routesOf("ipv6Forwarding", options, at);
  return { name: "ipv6Forwarding", at, build: (p) => buildForwarding6(p, routes) };
}

function buildForwarding6(p: ProgramBuilder, routes: number): void {
  p.once(internet);
  const { ipv6 } = p.once(internet6);
  const { event } = p.once(forwardingState);
  const code = p.constants(
    "FORWARDING6",
    bit(8),
    FORWARDING6_EVENTS,
    "What IPv6 forwarding did with a packet.",
  );
  const c = p.control("forwarding6", "ingress", "IPv6 forwarding by longest prefix match.");
  const events = c.counter("events", FORWARDING6_EVENTS, "what became of the packet");
  const { actions, noRoute } = routeActions(p, c, {
    code,
    hop: (a) => a.set(ipv6.hop_limit, ipv6.hop_limit.sub(1)),
  });
  const route = c.table("route", {
    doc: "where IPv6 packets go",
    key: { dst_addr: lpm(ipv6.dst_addr) },
    actions,
    size: routes,
    defaultAction: noRoute,
    counter: "route_counter",
  });
  const refuse = refusing(event, code);
  const isMulticast = ipv6.dst_addr.slice(127, 120).eq(0xff);
  const isLinkLocal = ipv6.dst_addr.slice(127, 118).eq(0x3fa).or(ipv6.src_addr.slice(127, 118).eq(0x3fa));
  c.apply((s) => {
    s.if(
      intrinsic.parser_failed,
      (then) => refuse(then, "drop_truncated"),
      (sound) =>
        sound.if(
          p.valid(ipv6).not().or(ipv6.version.ne(6)),
          (then) => refuse(then, "drop_not_ipv6"),
          (ip) =>
            ip.if(
              isMulticast.or(isLinkLocal),
              (then) => refuse(then, "drop_scope"),
              (global) => global.apply(route),
            ),
        ),
    );
    // After the subtraction: 0 was 1, and 255 was 0.
    s.if(event.eq(code.forwarded).and(ipv6.hop_limit.eq(0).or(ipv6.hop_limit.eq(255))), (then) =>
      refuse(then, "drop_hop_limit"),
    );
    s.count(events, event.cast(bit(32)));
  });
  p.once(routedBy).add("ipv6", c);
}
