import type { BitType } from "../../../ir/index.ts";
import { AGGREGATOR_EVENTS, type AggregatorEvent } from "../../../numeric/aggregator.ts";
import { REPLICATED } from "../../dropreasons.ts";
import type { Header } from "../../headers.ts";
import { intrinsic, type ProgramBuilder } from "../../program.ts";
import { type ActionSteps, type BoundAction, type ControlHandle, exactly, type Steps } from "../../steps.ts";
import type { Bool, Operand, Variable } from "../../value.ts";
import { choose } from "../choose.ts";
import { controllerPort } from "../controllerport.ts";
import { type AggregationFields, type Because, u8, u16, u32, u48 } from "./fields.ts";

/** The drop port of both targets. */
const NO_PORT = 511;

/** Metadata that hold an address while it changes places with the other. */
export interface Turn {
  readonly macBefore: Variable<BitType>;
  readonly addrBefore: Variable<BitType>;
  readonly portBefore: Variable<BitType>;
}

/**
 * What has become of the request (`outcome`), and the answer as far as ingress makes it (`answer`): everything but the
 * acknowledgement of a contribution that completes a row.
 */
export function answerControls(
  p: ProgramBuilder,
  f: AggregationFields,
  because: Because,
): { readonly outcome: ControlHandle; readonly answer: ControlHandle; readonly turn: Turn } {
  const turn = {
    macBefore: p.metadata("mac_before", u48),
    addrBefore: p.metadata("addr_before", u32),
    portBefore: p.metadata("port_before", u16),
  };
  return { outcome: outcomeControl(p, f, because), answer: replyControl(p, f, turn), turn };
}

function outcomeControl(p: ProgramBuilder, f: AggregationFields, because: Because): ControlHandle {
  const { isRequest } = f;
  const { EVENT, RELATION } = f.names;
  const doc = "What has become of a request that met its slot.";
  const outcome = p.control("outcome", "ingress", doc, undefined, { ownReasons: true });
  const finish = (name: AggregatorEvent) => (s: Steps) => s.set(f.event, EVENT[name]);
  // Without a server a contribution is answered by the RESULT.
  const wait = (name: "contribution" | "null") => (s: Steps) => {
    finish(name)(s);
    if (f.server === undefined) because(s, "outcome.waits_for_others");
  };
  const isComplete = f.arrived.eq(f.full);
  const complete = (s: Steps): void => {
    finish("complete")(s);
    if (f.server === undefined) because(s, REPLICATED);
  };
  // Only without a server does anybody but the completing worker get a RESULT for what it sends.
  const again: readonly [Bool, (s: Steps) => void][] =
    f.server === undefined ? [[f.seen.ne(0).and(isComplete), finish("result_again")]] : [];
  outcome.apply((s) =>
    choose(
      s,
      [
        [isRequest("reset"), finish("reset")],
        [
          isRequest("collect"),
          (t) =>
            t.if(
              f.relation.eq(RELATION.equal).and(isComplete),
              finish("collect_result"),
              finish("collect_pending"),
            ),
        ],
        [f.relation.eq(RELATION.older), finish("stale")],
        ...again,
        [f.seen.ne(0), finish("duplicate")],
        [isComplete, complete],
        [isRequest("contribution"), wait("contribution")],
      ],
      wait("null"),
    ),
  );
  return outcome;
}

function replyControl(p: ProgramBuilder, f: AggregationFields, turn: Turn): ControlHandle {
  const { agg, lanes, event } = f;
  const { EVENT, FLAG, KIND } = f.names;
  const cpu = p.once(controllerPort);
  const answer = p.control(
    "answer",
    "ingress",
    f.server === undefined
      ? "RESULT to all workers, or to the one who asks again."
      : "Acknowledgement to the sender, RESULT to the parameter server.",
    undefined,
    { ownReasons: true },
  );
  const events = answer.counter("events", AGGREGATOR_EVENTS, "what aggregation did with its packets");
  const sendBack = (a: ActionSteps): void => {
    turnBack(a, f, turn);
    a.set(intrinsic.egress_port, intrinsic.ingress_port);
  };
  const makeResult = (a: ActionSteps): void => {
    a.set(agg.kind, KIND.RESULT);
    a.set(agg.flags, f.mark);
    // The slot's exponent, whatever the row's own was.
    if (f.exponents !== undefined && f.shift !== undefined)
      a.set(f.exponents.current, f.exponents.current.add(f.shift));
    setLength(a, f, "row");
  };
  const acknowledge = answer.action(
    "acknowledge",
    { flags: u8 },
    (a, { flags }) => {
      sendBack(a);
      makeAcknowledgement(a, f, f.lanes, flags);
    },
    "back to the sender, without the lanes",
  );
  const toOthers = (a: ActionSteps): void => {
    makeResult(a);
    a.set(f.ethernet.src_addr, f.ethernet.dst_addr);
    a.set(f.ipv4.src_addr, f.ipv4.dst_addr);
    a.set(f.ipv4.ttl, f.names.TTL);
  };
  const { server, workers } = f;
  const complete =
    server === undefined
      ? answer.action(
          "to_workers",
          {},
          (a) => {
            toOthers(a);
            // To the group alone: Tofino would send to the route's port as well.
            a.set(intrinsic.egress_port, NO_PORT);
            if (workers !== undefined) a.set(intrinsic.multicast_group, workers);
          },
          "the completed row goes to all workers, and acknowledges their contributions",
        )
      : answer.action(
          "to_server",
          {},
          (a) => {
            toOthers(a);
            a.clone(server.ackSession.cast(u32));
            a.set(intrinsic.egress_port, server.port);
            a.set(f.ethernet.dst_addr, server.mac);
            a.set(f.ipv4.dst_addr, server.addr);
          },
          "the completed row goes to the server; a clone becomes the sender's acknowledgement",
        );
  const result = answer.action(
    "result",
    {},
    (a) => {
      sendBack(a);
      makeResult(a);
    },
    "the completed row, to who asked for it",
  );
  const pending = answer.action("pending", {}, (a) => {
    sendBack(a);
    a.set(agg.kind, KIND.PENDING);
    a.set(agg.flags, 0);
    a.setInvalid(lanes);
    setLength(a, f, "empty");
  });
  const confirm = answer.action(
    "confirm_reset",
    {},
    (a) => a.set(intrinsic.egress_port, cpu.port),
    "as it came, to the controller",
  );
  const entry = (name: AggregatorEvent, run: BoundAction) => ({ key: { event: EVENT[name] }, run });
  const reply = answer.table("reply", {
    doc:
      server === undefined
        ? "the answer to each outcome; what is refused has none, nor what waits for others"
        : "the answer to each outcome; what is refused has none",
    key: { event: exactly(event) },
    actions: [acknowledge, complete, result, pending, confirm],
    size: 8,
    constDefault: true,
    entries: [
      ...(server === undefined
        ? [entry("result_again", result.with({}))]
        : [
            entry("contribution", acknowledge.with({ flags: 0 })),
            entry("null", acknowledge.with({ flags: 0 })),
          ]),
      entry("complete", complete.with({})),
      entry("duplicate", acknowledge.with({ flags: FLAG.DUPLICATE })),
      entry("stale", acknowledge.with({ flags: FLAG.STALE })),
      entry("collect_result", result.with({})),
      entry("collect_pending", pending.with({})),
      entry("reset", confirm.with({})),
    ],
  });
  answer.apply((s) => {
    s.apply(reply);
    s.count(events, event.cast(u32));
  });
  return answer;
}

/** The acknowledgement of a contribution that completed a row, made of a clone. */
export function acknowledgeControl(p: ProgramBuilder, f: AggregationFields, turn: Turn): ControlHandle {
  const acknowledge = p.control(
    "acknowledge",
    "egress",
    "Makes the sender's acknowledgement of a clone of its packet.",
  );
  const turnClone = acknowledge.action("acknowledge", {}, (a) => {
    turnBack(a, f, turn);
    // A clone is the packet as it came, before its codes became lanes.
    makeAcknowledgement(a, f, f.row, 0);
  });
  acknowledge.apply((s) => s.if(intrinsic.is_clone.and(p.valid(f.agg)), (then) => then.call(turnClone)));
  return acknowledge;
}

/** Lengths of a packet with or without lanes. */
function setLength(a: ActionSteps, f: AggregationFields, payload: "empty" | "row"): void {
  a.set(f.ipv4.total_len, f.names.LENGTH[payload]);
  a.set(f.udp.length, f.names.UDP_LENGTH[payload]);
  a.set(f.udp.checksum, 0);
}

/** Swaps the addresses of all layers. */
function turnBack(a: ActionSteps, { ethernet, ipv4, names, udp }: AggregationFields, before: Turn): void {
  const swap = (one: Variable<BitType>, other: Variable<BitType>, temporary: Variable<BitType>): void => {
    a.set(temporary, one);
    a.set(one, other);
    a.set(other, temporary);
  };
  swap(ethernet.dst_addr, ethernet.src_addr, before.macBefore);
  swap(ipv4.dst_addr, ipv4.src_addr, before.addrBefore);
  swap(udp.dst_port, udp.src_port, before.portBefore);
  a.set(ipv4.ttl, names.TTL);
}

function makeAcknowledgement(
  a: ActionSteps,
  f: AggregationFields,
  row: Header,
  flags: Operand<BitType>,
): void {
  a.set(f.agg.kind, f.names.KIND.ACK);
  a.set(f.agg.flags, flags);
  a.setInvalid(row);
  setLength(a, f, "empty");
}
