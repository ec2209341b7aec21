/**
 * What the controller needs to know of a program with `hotAggregation`; the DSL's feature has this shape. Declared here so that a
 * controller can steer a switch without the program's source.
 */
export interface AggregationFeature {
  readonly options: {
    readonly workers: number;
    readonly lanes: number;
    readonly rows: number;
    readonly chunk: number;
    readonly mode: Mode;
    readonly result: "ps" | "allreduce";
  };
}

export type Mode =
  | { readonly name: "int32" }
  | { readonly name: "block" }
  | { readonly name: "fp32" | "fp16" | "bf16"; readonly slices: readonly number[] };
