import type { BitType } from "../../../ir/index.ts";
import type { ProgramBuilder } from "../../program.ts";
import { type ActionSteps, type ControlHandle, exactly } from "../../steps.ts";
import type { NamedConstant, Num } from "../../value.ts";
import { type AggregationFields, type Because, slotBits, u8, u9, u16, u32, u48 } from "./fields.ts";
import type { FullAggregationOptions } from "./options.ts";

/** What is asked, and who may ask. */
export function admissionControl(
  p: ProgramBuilder,
  o: FullAggregationOptions,
  f: AggregationFields,
  because: Because,
): ControlHandle {
  const { agg, request } = f;
  const { EVENT, REQUEST, FLAG, KIND, LENGTH, UDP_LENGTH } = f.names;
  const admission = p.control(
    "admission",
    "ingress",
    "What an aggregation packet asks for, and whether its sender may.",
  );
  const kindActions = {
    contribution: admission.action("is_contribution", {}, (a) => {
      a.set(request, REQUEST.contribution);
      a.set(f.mark, agg.flags.bitAnd(FLAG.MARK));
    }),
    null: admission.action("is_null", {}, (a) => {
      a.set(request, REQUEST.null);
      a.set(f.mark, agg.flags.bitAnd(FLAG.MARK));
    }),
    collect: admission.action("is_collect", {}, (a) => {
      a.set(request, REQUEST.collect);
      a.set(f.mark, 0);
    }),
    reset: admission.action("is_reset", {}, (a) => a.set(request, REQUEST.reset)),
  };
  const malformed = admission.action("malformed", {}, (a) => {
    a.set(request, REQUEST.none);
    a.set(f.event, EVENT.malformed);
    because(a, "slot.malformed");
  });
  const headerOnly = (kind: NamedConstant) => ({
    version: f.names.VERSION,
    kind,
    mode: f.names.MODE[o.mode.name],
    lanes: f.names.LANES,
    has_lanes: false,
    total_len: LENGTH.empty,
    udp_length: UDP_LENGTH.empty,
  });
  const shape = admission.table("shape", {
    doc: "requests by kind; everything about their form is fixed by the program",
    key: {
      version: exactly(agg.version),
      kind: exactly(agg.kind),
      mode: exactly(agg.mode),
      lanes: exactly(agg.lanes),
      has_lanes: exactly(p.valid(f.row)),
      total_len: exactly(f.ipv4.total_len),
      udp_length: exactly(f.udp.length),
    },
    actions: [...Object.values(kindActions), malformed],
    size: 4,
    defaultAction: malformed.with({}),
    constDefault: true,
    entries: [
      {
        key: {
          ...headerOnly(KIND.CONTRIBUTION),
          has_lanes: true,
          total_len: f.names.CONTRIBUTION_LENGTH,
          udp_length: f.names.CONTRIBUTION_UDP_LENGTH,
        },
        run: kindActions.contribution.with({}),
      },
      { key: headerOnly(KIND.NULL), run: kindActions.null.with({}) },
      { key: headerOnly(KIND.COLLECT), run: kindActions.collect.with({}) },
      { key: headerOnly(KIND.RESET), run: kindActions.reset.with({}) },
    ],
  });
  const admitted = {
    worker_bit: u32,
    full_mask: u32,
    generation: u16,
    scale: u8,
  };
  const takeIn = (a: ActionSteps, d: { readonly [K in keyof typeof admitted]: Num<BitType> }): void => {
    a.set(f.admitted, 1);
    a.set(f.bit, d.worker_bit);
    a.set(f.full, d.full_mask);
    a.set(f.generation, d.generation);
    a.set(f.scale, d.scale);
  };
  const doc = "a member of the job, with the job's data";
  const { server, workers } = f;
  const admit =
    server === undefined
      ? admission.action(
          "admit",
          { ...admitted, workers_group: u16 },
          (a, d) => {
            takeIn(a, d);
            if (workers !== undefined) a.set(workers, d.workers_group);
          },
          doc,
        )
      : admission.action(
          "admit",
          { ...admitted, result_port: u9, server_mac: u48, server_addr: u32, ack_session: u16 },
          (a, d) => {
            takeIn(a, d);
            a.set(server.port, d.result_port);
            a.set(server.mac, d.server_mac);
            a.set(server.addr, d.server_addr);
            a.set(server.ackSession, d.ack_session);
          },
          doc,
        );
  const refuseUnknown = admission.action("refuse_unknown", {}, (a) => a.set(f.admitted, 0));
  const chunkBits = Math.log2(o.chunk);
  const member = admission.table("member", {
    doc: "members of jobs by job, member and chunk of slots; bounds each job to its own slots",
    key: {
      job: exactly(agg.job),
      member: exactly(agg.member),
      chunk: exactly(agg.slot.slice(15, chunkBits)),
    },
    actions: [admit, refuseUnknown],
    size: o.admissions,
    defaultAction: refuseUnknown.with({}),
    constDefault: true,
    counter: "member_counter",
  });
  // Nothing here waits for anything else, so that a pipeline can do it all at once, beside the look-up of the route. It
  // changes no packet: this one may be on its way to another switch.
  admission.apply((s) => {
    s.set(f.index, agg.slot.slice(slotBits(o.rows) - 1, 0).concat(agg.round.slice(0, 0)));
    s.apply(shape);
    s.apply(member);
  });
  return admission;
}
