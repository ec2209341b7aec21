/** What a traced packet went through, in order. */
export type TraceEvent =
  | { readonly kind: "parserState"; readonly name: string }
  | { readonly kind: "parserError"; readonly error: string }
  | { readonly kind: "condition"; readonly name: string; readonly result: boolean }
  | {
      readonly kind: "table";
      readonly table: string;
      readonly hit: boolean;
      /** Handle of the entry that was hit. */
      readonly entry: number | undefined;
      /** The action performed; undefined if nothing was (no default, empty group). */
      readonly action: string | undefined;
      readonly parameters: readonly bigint[];
    }
  | {
      readonly kind: "ingress";
      readonly port: number;
      readonly length: number;
      readonly instanceType: number;
    }
  | { readonly kind: "egress"; readonly port: number; readonly instanceType: number }
  | { readonly kind: "transmit"; readonly port: number; readonly length: number }
  | { readonly kind: "drop"; readonly reason: string };

export type Tracer = (event: TraceEvent) => void;
