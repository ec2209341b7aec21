import { bit, type CopyRules } from "../../../ir/index.ts";
import { ackSession } from "../../../wire/aggregation.ts";
import { callSite } from "../../callsite.ts";
import type { Feature, ProgramBuilder } from "../../program.ts";
import { ProgramError } from "../../programerror.ts";
import { type Bool, value } from "../../value.ts";
import { controllerPort } from "../controllerport.ts";
import { forwardingState, isForwarding } from "../forwarding.ts";
import { admissionControl } from "./admission.ts";
import { acknowledgeControl, answerControls } from "./answer.ts";
import { copiesControl } from "./copies.ts";
import { blockControls } from "./exponents.ts";
import { type AggregationFields, aggregationFields, type Because } from "./fields.ts";
import { lookUpFloats } from "./floatlookup.ts";
import { gridControl } from "./grid.ts";
import {
  type AggregationOptions,
  checkedOptions,
  type FullAggregationOptions,
  sendsCodes,
} from "./options.ts";
import { bitmapControl, slotControl } from "./slot.ts";

export interface AggregationFeature extends Feature {
  readonly name: "hotAggregation";
  readonly options: FullAggregationOptions;
}

export function isAggregation(feature: Feature): feature is AggregationFeature {
  return feature.name === "hotAggregation";
}

/**
 * Libra's hot-parameter aggregation (arXiv 2205.05243): the switch sums one row of hot gradients from all workers and sends the
 * sum to the parameter server. Exact under loss, duplication and reordering; the golden model is `numeric/aggregator.ts`.
 */
export function hotAggregation(options: AggregationOptions): AggregationFeature {
  const at = callSite();
  const full = checkedOptions(options, at);
  return { name: "hotAggregation", at, options: full, build: (p) => buildAggregation(p, full) };
}

function buildAggregation(p: ProgramBuilder, o: FullAggregationOptions): void {
  if (p.find(isForwarding) === undefined) {
    throw new ProgramError({
      code: "GP1702",
      message: "hotAggregation needs ipv4Forwarding, which tells packets for the switch from others",
      at: callSite(),
    });
  }
  p.once(controllerPort);
  p.copies(copyRules(p.ports, o));
  const { local } = p.once(forwardingState);
  const fields = aggregationFields(p, o);
  parseRows(p, o, fields);

  const isOurs = p.valid(fields.agg).and(local.eq(1));
  const because = dropReasons(p, isOurs);
  const admission = admissionControl(p, o, fields, because);
  const grid = gridControl(p, o, fields);
  const block = blockControls(p, o, fields);
  const slot = slotControl(p, o, fields, { isOurs, beside: block?.exponents, because });
  const bitmap = bitmapControl(p, o, fields);
  const { outcome, answer, turn } = answerControls(p, fields, because);
  const floats = sendsCodes(o.mode) ? lookUpFloats(p, o.mode, o.workers, fields) : undefined;
  // Step after step on one level: each is asked for by what the one before has found, so that a pipeline has one stage for each, and
  // the many registers of the grid need to wait for nothing but the round and the bitmap. What is not taken stays `older`.
  const isCurrent = fields.relation.ne(fields.names.RELATION.older);
  const isContribution = isOurs.and(fields.isRequest("contribution"));
  p.ingress("aggregate", (s) => {
    s.if(p.valid(fields.agg), (then) => then.invoke(admission));
    if (floats !== undefined) {
      const { window } = floats;
      // This changes no packet, so it need not know yet whom the packet is for.
      if (window !== undefined) s.if(p.valid(fields.row), (then) => then.invoke(window));
      s.if(isContribution, (then) => then.invoke(floats.lookup));
    }
    s.invoke(slot);
    s.if(isCurrent, (then) => then.invoke(bitmap));
    if (block !== undefined) s.if(isContribution, (then) => then.invoke(block.align));
    s.if(o.result === "ps" ? isCurrent.and(fields.seen.eq(0)) : isCurrent, (then) => then.invoke(grid));
    s.if(fields.taken.eq(1), (then) => then.invoke(outcome));
    s.if(isOurs, (then) => then.invoke(answer));
  });
  const leave = o.result === "ps" ? acknowledgeControl(p, fields, turn) : copiesControl(p, o, fields);
  p.egress("aggregate", (s) => s.invoke(leave));
}

function copyRules(ports: number, { result, chunk }: FullAggregationOptions): CopyRules {
  if (result === "allreduce")
    return {
      multicastGroups: `one for each job, by the first slot of the job: group = slot / ${chunk} + 1; a replica for each worker, instance = worker + 1, at the port that leads to it`,
    };
  const sessions = Array.from({ length: ports }, (_, port) => ({ session: ackSession(port), port }));
  return {
    cloneSessions: { doc: "acknowledgements of what completes a row; needed for ports to workers", sessions },
  };
}

/**
 * Notes why a request has no answer, where drops are counted; what is said last counts. In a field of its own, so that no slot waits for what
 * forwarding and the choice of a next hop have to say.
 */
function dropReasons(p: ProgramBuilder, isOurs: Bool): Because {
  const reasons = p.dropReasons;
  if (reasons === undefined) return () => {};
  const u8 = bit(8);
  const variable = reasons.own("aggregation_drop_reason", isOurs);
  return (s, reason) => s.set(variable, value(u8, reasons.code("ingress", reason)));
}

/** Rows of another width or mode belong to another program on the way; they are forwarded unread. */
function parseRows(p: ProgramBuilder, o: FullAggregationOptions, f: AggregationFields): void {
  const { agg, exponents, names, row } = f;
  const parseAggregation = p.parser.state("parse_aggregation").extract(agg);
  f.parseUdp.on(names.PORT, parseAggregation);
  const mode = names.MODE[o.mode.name];
  if (exponents === undefined) {
    const parseRow = p.parser.state("parse_row").extract(row);
    parseAggregation
      .select(agg.version, agg.kind, agg.lanes, agg.mode)
      .on([names.VERSION, names.KIND.CONTRIBUTION, names.LANES, mode], parseRow);
    return;
  }
  const parseExponents = p.parser.state("parse_exponents").extract(exponents);
  const parseRow = p.parser.state("parse_row").extract(row);
  parseAggregation.select(agg.version, agg.mode).on([names.VERSION, mode], parseExponents);
  parseExponents.select(agg.kind, agg.lanes).on([names.KIND.CONTRIBUTION, names.LANES], parseRow);
}
