import { callSite } from "../../callsite.ts";
import type { Feature, ProgramBuilder } from "../../program.ts";
import { ProgramError } from "../../programerror.ts";
import { controllerPort } from "../controllerport.ts";
import { forwardingState, isForwarding } from "../forwarding.ts";
import { admissionControl } from "./admission.ts";
import { acknowledgeControl, answerControls } from "./answer.ts";
import { type AggregationFields, aggregationFields } from "./fields.ts";
import { lookUpFloats } from "./floatlookup.ts";
import { gridControl } from "./grid.ts";
import { type AggregationOptions, checkedOptions, type FullAggregationOptions } from "./options.ts";
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
  const { local } = p.once(forwardingState);
  const fields = aggregationFields(p, o);
  parseRows(p, fields);

  const admission = admissionControl(p, o, fields);
  const grid = gridControl(p, o, fields);
  const slot = slotControl(p, o, fields);
  const bitmap = bitmapControl(p, o, fields);
  const { outcome, answer, turn } = answerControls(p, fields);
  const { base, mark } = fields;
  const lookUp =
    o.mode.name === "fp32" && base !== undefined
      ? lookUpFloats(p, o.mode, o.workers, fields, { mark, base })
      : undefined;
  // Step after step on one level: each is asked for by what the one before has found, so that a pipeline has one stage for each, and
  // the many registers of the grid need to wait for nothing but the round and the bitmap. What is not taken stays `older`.
  const isOurs = p.valid(fields.agg).and(local.eq(1));
  const isCurrent = fields.relation.ne(fields.names.RELATION.older);
  p.ingress("aggregate", (s) => {
    s.if(p.valid(fields.agg), (then) => then.invoke(admission));
    if (lookUp !== undefined)
      s.if(isOurs.and(fields.isRequest("contribution")), (then) => then.invoke(lookUp));
    s.if(isOurs, (then) => then.invoke(slot));
    s.if(isCurrent, (then) => then.invoke(bitmap));
    s.if(isCurrent.and(fields.seen.eq(0)), (then) => then.invoke(grid));
    s.if(fields.taken.eq(1), (then) => then.invoke(outcome));
    s.if(isOurs, (then) => then.invoke(answer));
  });
  const acknowledge = acknowledgeControl(p, fields, turn);
  p.egress("aggregate", (s) => s.invoke(acknowledge));
}

/** Rows of another width belong to another program on the way; they are forwarded unread. */
function parseRows(p: ProgramBuilder, { agg, lanes, names, parseUdp }: AggregationFields): void {
  const parseAggregation = p.parser.state("parse_aggregation");
  const parseLanes = p.parser.state("parse_lanes").extract(lanes);
  parseUdp.on(names.PORT, parseAggregation);
  parseAggregation
    .extract(agg)
    .select(agg.version, agg.kind, agg.lanes)
    .on([names.VERSION, names.KIND.CONTRIBUTION, names.LANES], parseLanes);
}
