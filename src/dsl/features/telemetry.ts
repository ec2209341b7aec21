import { type BitType, bit } from "../../ir/index.ts";
import { callSite } from "../callsite.ts";
import type { Gress } from "../dropreasons.ts";
import { onlyKnown } from "../options.ts";
import { type Feature, intrinsic, type ProgramBuilder } from "../program.ts";
import type { Steps } from "../steps.ts";
import type { Bool, Variable } from "../value.ts";
import { choose } from "./choose.ts";
import { controllerIn } from "./controllerport.ts";
import { isDrop } from "./drop.ts";
import { isPriority, trafficClass } from "./trafficclass.ts";

export interface TelemetryOptions {
  /** Also by the port that the packet came in on, and in egress the one that it was to leave by. Default true. */
  readonly perPort?: boolean;
  /** Also by traffic class. Default: where the program has classes, that is with `priority` or `drop`. */
  readonly perClass?: boolean;
}

export interface TelemetryFeature extends Feature {
  readonly name: "telemetry";
}

export function isTelemetry(feature: Feature): feature is TelemetryFeature {
  return feature.name === "telemetry";
}

const u32 = bit(32);
const PORT = { name: "port", bits: 9 } as const;
const CLASS = { name: "class", bits: 3 } as const;

/**
 * Counts each packet once in ingress and once in egress, by what becomes of it: it passes, it is replicated, or it is dropped for one of
 * the reasons that the features name, users' own too. The cells of `telemetry.packets` have the names `control.reason`; so have those of
 * `telemetry.by_port` and `telemetry.by_class`, as many for each port and class; egress has `telemetry_egress`.
 *
 * What a target's queues drop no program sees. On v1model `queue_losses.sent` and `queue_losses_egress.arrived` count, by port, what went
 * to its queues and what came out of them, but for clones, replicas and the controller's packets; Tofino's traffic manager has
 * counters of its own. Two kinds of packets are not counted: those that a target's parser drops (Tofino has counters for those, too), and
 * those that the controller sends past the program.
 */
export function telemetry(options: TelemetryOptions = {}): TelemetryFeature {
  const at = callSite();
  onlyKnown("telemetry", options, ["perPort", "perClass"], at);
  return {
    name: "telemetry",
    at,
    countsDrops: true,
    build(p) {
      const perClass = options.perClass ?? hasClasses(p);
      if (perClass) p.once(trafficClass);
      // The reasons are known when all other features are built.
      p.last(() => {
        const perPort = options.perPort ?? true;
        countPackets(p, "ingress", { perPort, perClass });
        // Unless egress drops it has nothing to tell; and classes need not travel there for nothing.
        if ((p.dropReasons?.of("egress").names.length ?? 0) > 1)
          countPackets(p, "egress", { perPort, perClass: p.find(isDrop) !== undefined });
        countQueueLosses(p);
      });
    },
  };
}

function hasClasses(p: ProgramBuilder): boolean {
  return p.find(isPriority) !== undefined || p.find(isDrop) !== undefined;
}

function countPackets(
  p: ProgramBuilder,
  gress: Gress,
  { perPort, perClass }: { readonly perPort: boolean; readonly perClass: boolean },
): void {
  const reasons = p.dropReasons?.of(gress);
  if (reasons === undefined) return;
  const { names, variable } = reasons;
  const c = p.control(
    gress === "ingress" ? "telemetry" : "telemetry_egress",
    gress,
    `Counts each packet by what becomes of it at the end of ${gress}.`,
  );
  const packets = c.counter("packets", names, "what became of packets");
  const port = gress === "ingress" ? intrinsic.ingress_port : intrinsic.egress_port;
  const byPort = perPort ? c.counterPer("by_port", PORT, names, "the same by port") : undefined;
  const byClass = perClass ? c.counterPer("by_class", CLASS, names, "the same by traffic class") : undefined;
  const count = (s: Steps, reason: Variable<BitType<8>>): void => {
    s.count(packets, reason.cast(u32));
    const cell = (bits: number) => reason.slice(Math.max(1, bits) - 1, 0);
    if (byPort !== undefined) s.count(byPort, port.concat(cell(byPort.cellBits)).cast(u32));
    if (byClass !== undefined)
      s.count(byClass, p.once(trafficClass).trafficClass.concat(cell(byClass.cellBits)).cast(u32));
  };
  // Counted where it stands: a field for both would be a stage more, and would make all that drops wait for each other.
  const own = gress === "ingress" ? (p.dropReasons?.ownReasons ?? []) : [];
  const theirs = own.map((o): readonly [Bool, (s: Steps) => void] => [o.when, (s) => count(s, o.variable)]);
  c.apply((s) => choose(s, theirs, (rest) => count(rest, variable)));
  p[gress]("deliver", (s) => s.invoke(c));
}

function countQueueLosses(p: ProgramBuilder): void {
  const reasons = p.dropReasons?.of("ingress");
  if (reasons === undefined) return;
  const fromHosts = (s: Steps, then: (s: Steps) => void): void =>
    p.cpuPort === undefined ? then(s) : s.if(intrinsic.ingress_port.ne(controllerIn(p)), then);
  const before = p.control("queue_losses", "ingress", "Counts what goes to the queue of a port.", "v1model");
  const sent = before.counterPer("sent", PORT, ["sent"], "packets to the queues of a port");
  before.apply((s) =>
    fromHosts(s, (t) => t.if(reasons.variable.eq(0), (u) => u.count(sent, intrinsic.egress_port.cast(u32)))),
  );
  p.ingress("deliver", (s) => s.invoke(before));
  const after = p.control("queue_losses_egress", "egress", "Counts what comes out of a queue.", "v1model");
  const arrived = after.counterPer(
    "arrived",
    PORT,
    ["arrived"],
    "packets that came out of the queues of a port",
  );
  after.apply((s) =>
    fromHosts(s, (t) =>
      t.if(intrinsic.is_clone.not().and(intrinsic.replication_id.eq(0)), (u) =>
        u.count(arrived, intrinsic.egress_port.cast(u32)),
      ),
    ),
  );
  p.egress("receive", (s) => s.invoke(after));
}
