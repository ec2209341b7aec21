/** Hot-parameter aggregation, one file per concern; `feature.ts` puts them together. */
export { type AggregationFeature, hotAggregation, isAggregation } from "./feature.ts";
export {
  type AggregationOptions,
  type BlockMode,
  bf16,
  block,
  type FloatMode,
  fp16,
  fp32,
  type Int32Mode,
  int32,
  type NumericMode,
} from "./options.ts";
