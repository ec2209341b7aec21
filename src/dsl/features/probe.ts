import { bit } from "../../ir/index.ts";
import { ETHERTYPE_PROBE } from "../../wire/probe.ts";
import { callSite } from "../callsite.ts";
import { onlyKnown } from "../options.ts";
import { type Feature, intrinsic, type ProgramBuilder } from "../program.ts";
import { exactly } from "../steps.ts";
import { controllerPort } from "./controllerport.ts";
import { internet } from "./internet.ts";
import { isPriority, trafficClass } from "./trafficclass.ts";

export interface ProbeFeature extends Feature {
  readonly name: "probe";
}

export function isProbe(feature: Feature): feature is ProbeFeature {
  return feature.name === "probe";
}

/**
 * Link probes: the controller sends them out of a port (packet-out), and the switch at the other end of the cable brings them up to the
 * controller (packet-in) with the port where they came in; so each probe tries one direction of one link, in the data plane. They are brought
 * up from ports that `probe.link` has, which the control plane fills: a host can't make the controller believe in links, nor flood it.
 * Others are dropped by forwarding, as what is not IP. With `priority` probes are control traffic: a long queue is not a dead link.
 */
export function probe(options: Readonly<Record<string, never>> = {}): ProbeFeature {
  const at = callSite();
  onlyKnown("probe", options, [], at);
  return { name: "probe", at, build: buildProbe };
}

function buildProbe(p: ProgramBuilder): void {
  const { ethernet } = p.once(internet);
  const cpu = p.once(controllerPort);
  const type = p.constants("ETHERTYPE", bit(16), { PROBE: ETHERTYPE_PROBE });
  const c = p.control("probe", "ingress", "Brings link probes up to the controller.");
  const received = c.action(
    "to_controller",
    {},
    (a) => {
      a.set(intrinsic.egress_port, cpu.port);
      if (p.find(isPriority) !== undefined) {
        const { plan, classOf } = p.once(trafficClass);
        a.set(intrinsic.priority, classOf(plan.control.class));
      }
    },
    "with the port where it came in",
  );
  const link = c.table("link", {
    doc: "ports at which another switch is",
    key: { port: exactly(intrinsic.ingress_port) },
    actions: [received],
    size: 512,
    counter: "received",
  });
  c.apply((s) =>
    s.if(p.valid(ethernet).and(ethernet.ether_type.eq(type.PROBE)), (then) =>
      // Nothing else is to be done with it.
      then.apply(link, { hit: (found) => found.exit() }),
    ),
  );
  p.ingress("receive", (s) => s.invoke(c));
}
