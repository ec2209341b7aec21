import { type BitType, int } from "../../../ir/index.ts";
import type { AggregatorEvent } from "../../../numeric/aggregator.ts";
import { intrinsic, type ProgramBuilder } from "../../program.ts";
import { type ControlHandle, exactly, type Steps } from "../../steps.ts";
import { type Bool, mux, type Num, value } from "../../value.ts";
import { choose } from "../choose.ts";
import { controllerPort } from "../controllerport.ts";
import { type AggregationFields, type Because, cells, u32 } from "./fields.ts";
import type { FullAggregationOptions } from "./options.ts";

/**
 * Whether a request is in order, and its round against the slot's. What is refused meets no slot: it stays `older`.
 *
 * @param with.isOurs the packet is for this switch
 * @param with.beside what else a request in order meets, at once with the round
 */
export function slotControl(
  p: ProgramBuilder,
  o: FullAggregationOptions,
  f: AggregationFields,
  {
    isOurs,
    beside,
    because,
  }: { readonly isOurs: Bool; readonly beside: ControlHandle | undefined; readonly because: Because },
): ControlHandle {
  const { agg, lanes, event, isRequest } = f;
  const { EVENT, RELATION, REQUEST, ROWS } = f.names;
  const cpu = p.once(controllerPort);
  const doc = "Whether the request is in order, and the slot that it meets.";
  const slot = p.control("slot", "ingress", doc, undefined, { ownReasons: true });
  const round = slot.register("round", u32, cells(o), "round that the slot holds");
  const advance = slot.action(
    "advance_round",
    {},
    (a) => {
      a.set(f.taken, 1);
      a.update(round, {
        index: f.index,
        next: (old) => mux(isNewer(agg.round, old), agg.round, old),
        output: ({ old }) => relationOf(agg.round, old, RELATION),
        into: f.relation,
      });
    },
    "serial comparison (RFC 1982); a newer round takes the slot",
  );
  const peek = slot.action("peek_round", {}, (a) => {
    a.set(f.taken, 1);
    // Asking counts nobody.
    if (o.result === "allreduce") a.set(f.bit, 0);
    a.update(round, {
      index: f.index,
      next: (old) => old,
      output: ({ old }) => mux(agg.round.eq(old), RELATION.equal, RELATION.older),
      into: f.relation,
    });
  });
  const reset = slot.action("reset_round", {}, (a) => {
    a.set(f.taken, 1);
    a.update(round, { index: f.index, next: () => agg.round });
  });
  const emptyRow = slot.action("empty_row", {}, (a) => {
    a.setValid(lanes);
    for (const field of f.lane) a.set(field, 0);
  });
  const meet = slot.table("meet", {
    doc: "what each request does to the round of its slot",
    key: { request: exactly(f.request) },
    actions: [advance, peek, reset],
    size: 4,
    constDefault: true,
    entries: [
      { key: { request: REQUEST.contribution }, run: advance.with({}) },
      { key: { request: REQUEST.null }, run: advance.with({}) },
      { key: { request: REQUEST.collect }, run: peek.with({}) },
      { key: { request: REQUEST.reset }, run: reset.with({}) },
    ],
  });
  // What is refused stays dropped, and is counted. Malformed requests have their event already.
  const refuse = (reason: AggregatorEvent) => (t: Steps) => {
    t.set(event, EVENT[reason]);
    because(t, `slot.${reason.replace("refused_", "")}`);
  };
  const [isReset, isCollect] = [isRequest("reset"), isRequest("collect")];
  // The parameter server has no bit: it may ask and not contribute; a worker the other way round. Without a server workers ask.
  // Who is not admitted has no bit either.
  const roles: (readonly [Bool, (s: Steps) => void])[] =
    o.result === "ps"
      ? [
          [isCollect.and(f.admitted.eq(0).or(f.bit.ne(0))), refuse("refused_unknown")],
          [isReset.not().and(isCollect.not()).and(f.bit.eq(0)), refuse("refused_unknown")],
        ]
      : [[isReset.not().and(f.bit.eq(0)), refuse("refused_unknown")]];
  slot.apply((s) => {
    s.if(isOurs.and(isRequest("null").or(isCollect)), (then) => then.call(emptyRow));
    s.if(isOurs.and(isRequest("none").not()), (asked) =>
      choose(
        asked,
        [
          [isReset.and(intrinsic.ingress_port.ne(cpu.port)), refuse("malformed")],
          [isReset.and(agg.slot.cast(u32).ge(ROWS)), refuse("refused_unknown")],
          // A copy that comes late must not touch what runs.
          [isReset.and(f.admitted.eq(1)), refuse("refused_reset")],
          ...roles,
          [isReset.not().and(agg.generation.ne(f.generation)), refuse("refused_generation")],
          [isReset.not().and(agg.scale.ne(f.scale)), refuse("refused_scale")],
        ],
        (inOrder) => {
          // First what reads the worker's bit, which asking takes away.
          if (beside !== undefined) inOrder.invoke(beside);
          inOrder.apply(meet);
        },
      ),
    );
  });
  return slot;
}

/** Who has contributed to the slot's round. */
export function bitmapControl(
  p: ProgramBuilder,
  o: FullAggregationOptions,
  f: AggregationFields,
): ControlHandle {
  const bitmap = p.control("bitmap", "ingress", "The workers that have contributed to the slot's round.");
  const seen = bitmap.register("seen", u32, cells(o), "bitmap of workers that were counted in the round");
  const arrived = bitmap.register("arrived", u32, cells(o), "the same bitmap, read after the update");
  const isNewRow = f.relation.eq(f.names.RELATION.newer);
  const count = bitmap.action(
    "count_worker",
    {},
    (a) => {
      const next = (old: Num<BitType>) => mux(isNewRow, f.bit, old.bitOr(f.bit));
      a.update(seen, {
        index: f.index,
        next,
        output: ({ old }) => mux(isNewRow, value(u32, 0), old.bitAnd(f.bit)),
        into: f.seen,
      });
      a.update(arrived, { index: f.index, next, output: ({ next: after }) => after, into: f.arrived });
    },
    "a new round forgets who was counted",
  );
  bitmap.apply((s) => s.call(count));
  return bitmap;
}

/** Newer in serial arithmetic: the difference, read as signed, is positive (RFC 1982 with 32 bits). */
function isNewer(packet: Num<BitType>, slot: Num<BitType>): Bool {
  return packet.sub(slot).cast(int(32)).gt(0);
}

function relationOf(
  packet: Num<BitType>,
  slot: Num<BitType>,
  { older, equal, newer }: AggregationFields["names"]["RELATION"],
): Num<BitType> {
  return mux(packet.eq(slot), equal, mux(isNewer(packet, slot), newer, older));
}
