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
  };
  lookupTable(lane: number, slice: number): string;
}

export type Mode = { readonly name: "int32" } | { readonly name: "fp32"; readonly slices: readonly number[] };
