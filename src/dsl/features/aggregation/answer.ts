import type { BitType } from "../../../ir/index.ts";
import { AGGREGATOR_EVENTS, type AggregatorEvent } from "../../../numeric/aggregator.ts";
import { Flag, Kind } from "../../../wire/aggregation.ts";
import { headerBytes } from "../../../wire/header.ts";
import { ipv4 as ipv4Declaration } from "../../../wire/internet.ts";
import type { ControlBuilder } from "../../control.ts";
import { intrinsic, type ProgramBuilder } from "../../program.ts";
import type { Action, ActionSteps, ControlHandle, Steps } from "../../steps.ts";
import type { Variable } from "../../value.ts";
import { controllerPort } from "../controllerport.ts";
import { type AggregationFields, eventCode, HEADER_BYTES, RELATION, u8, u16, u32, u48 } from "./fields.ts";
import type { FullAggregationOptions } from "./options.ts";

const ANSWER_TTL = 64;

/** Metadata that hold an address while it changes places with the other. */
export interface Turn {
  readonly macBefore: Variable<BitType>;
  readonly addrBefore: Variable<BitType>;
  readonly portBefore: Variable<BitType>;
}

/** The answer, as far as ingress makes it: everything but the acknowledgement of a contribution that completes a row. */
export function answerControl(
  p: ProgramBuilder,
  o: FullAggregationOptions,
  f: AggregationFields,
): { readonly answer: ControlHandle; readonly turn: Turn } {
  const { agg, lanes, event, isRequest } = f;
  const cpu = p.once(controllerPort);
  const answer = p.control(
    "answer",
    "ingress",
    "Acknowledgement to the sender, RESULT to the parameter server.",
  );
  const events = answer.counter("events", AGGREGATOR_EVENTS, "what aggregation did with its packets");
  const turn = {
    macBefore: p.metadata("mac_before", u48),
    addrBefore: p.metadata("addr_before", u32),
    portBefore: p.metadata("port_before", u16),
  };
  const back = turnAction(answer, "back_to_sender", f, turn);
  const ack = ackAction(answer, f);
  const result = answer.action("result", {}, (a) => {
    a.set(agg.kind, Kind.RESULT);
    a.set(agg.flags, f.mark);
    setLength(a, f, 4 * o.lanes);
  });
  const toServer = answer.action(
    "to_server",
    {},
    (a) => {
      a.clone(f.ackSession.cast(u32));
      a.set(intrinsic.egress_port, f.resultPort);
      a.set(f.ethernet.src_addr, f.ethernet.dst_addr);
      a.set(f.ethernet.dst_addr, f.serverMac);
      a.set(f.ipv4.src_addr, f.ipv4.dst_addr);
      a.set(f.ipv4.dst_addr, f.serverAddr);
      a.set(f.ipv4.ttl, ANSWER_TTL);
    },
    "the completed row goes to the server; a clone becomes the sender's acknowledgement",
  );
  const pending = answer.action("pending", {}, (a) => {
    a.set(agg.kind, Kind.PENDING);
    a.set(agg.flags, 0);
    a.setInvalid(lanes);
    setLength(a, f, 0);
  });
  const isComplete = f.arrived.eq(f.full);
  const finish = (s: Steps, name: AggregatorEvent): void => s.set(event, eventCode(name));
  answer.apply((s) => {
    s.if(f.taken.eq(1), (asked) =>
      asked.if(
        isRequest("reset"),
        (then) => {
          then.set(intrinsic.egress_port, cpu.port);
          finish(then, "reset");
        },
        (other) =>
          other.if(
            isRequest("collect"),
            (collect) => {
              collect.call(back);
              collect.if(
                f.relation.eq(RELATION.equal).and(isComplete),
                (then) => {
                  then.call(result);
                  finish(then, "collect_result");
                },
                (then) => {
                  then.call(pending);
                  finish(then, "collect_pending");
                },
              );
            },
            (contribution) =>
              contribution.if(
                f.relation.eq(RELATION.older),
                (stale) => {
                  stale.call(back);
                  stale.call(ack, { flags: Flag.STALE });
                  finish(stale, "stale");
                },
                (current) =>
                  current.if(
                    f.seen.ne(0),
                    (duplicate) => {
                      duplicate.call(back);
                      duplicate.call(ack, { flags: Flag.DUPLICATE });
                      finish(duplicate, "duplicate");
                    },
                    (fresh) =>
                      fresh.if(
                        isComplete,
                        (then) => {
                          then.call(toServer);
                          then.call(result);
                          finish(then, "complete");
                        },
                        (then) => {
                          then.call(back);
                          then.call(ack, { flags: 0 });
                          then.if(
                            isRequest("contribution"),
                            (t) => finish(t, "contribution"),
                            (t) => finish(t, "null"),
                          );
                        },
                      ),
                  ),
              ),
          ),
      ),
    );
    s.count(events, event.cast(u32));
  });
  return { answer, turn };
}

/** The acknowledgement of a contribution that completed a row, made of a clone. */
export function acknowledgeControl(p: ProgramBuilder, f: AggregationFields, turn: Turn): ControlHandle {
  const acknowledge = p.control(
    "acknowledge",
    "egress",
    "Makes the sender's acknowledgement of a clone of its packet.",
  );
  const turnBack = turnAction(acknowledge, "turn_back", f, turn);
  const ackClone = ackAction(acknowledge, f);
  acknowledge.apply((s) =>
    s.if(intrinsic.is_clone.and(p.valid(f.agg)), (then) => {
      then.call(turnBack);
      then.call(ackClone, { flags: 0 });
    }),
  );
  return acknowledge;
}

/** Lengths for a payload of this many bytes after the aggregation header. */
function setLength(a: ActionSteps, f: AggregationFields, payload: number): void {
  a.set(f.ipv4.total_len, HEADER_BYTES + payload);
  a.set(f.udp.length, HEADER_BYTES - headerBytes(ipv4Declaration) + payload);
  a.set(f.udp.checksum, 0);
}

/** Swaps the addresses of all layers and sends the packet where it came from. */
function turnAction(
  c: ControlBuilder,
  name: string,
  f: AggregationFields,
  before: Turn,
): Action<Record<never, never>> {
  const { ethernet, ipv4, udp } = f;
  return c.action(name, {}, (a) => {
    const swap = (one: Variable<BitType>, other: Variable<BitType>, temporary: Variable<BitType>): void => {
      a.set(temporary, one);
      a.set(one, other);
      a.set(other, temporary);
    };
    swap(ethernet.dst_addr, ethernet.src_addr, before.macBefore);
    swap(ipv4.dst_addr, ipv4.src_addr, before.addrBefore);
    swap(udp.dst_port, udp.src_port, before.portBefore);
    a.set(ipv4.ttl, ANSWER_TTL);
    if (name === "back_to_sender") a.set(intrinsic.egress_port, intrinsic.ingress_port);
  });
}

function ackAction(c: ControlBuilder, f: AggregationFields) {
  return c.action("acknowledge", { flags: u8 }, (a, { flags }) => {
    a.set(f.agg.kind, Kind.ACK);
    a.set(f.agg.flags, flags);
    a.setInvalid(f.lanes);
    setLength(a, f, 0);
  });
}
