import type { Value } from "../values.ts";

/** What an LPM field takes: a value, `"10.0.0.0/8"`, or `{ value, prefixLength }`. Left out, it matches anything. */
export type LpmInput = Value | { readonly value: Value; readonly prefixLength: number };

/** What a ternary field takes: a value, `"0x0800 &&& 0xff00"`, `"10.0.0.0/8"`, or `{ value, mask }`. Left out, it matches anything. */
export type TernaryInput = Value | { readonly value: Value; readonly mask: Value };

/** What a range field takes: a value, `"1..9"`, or `{ low, high }`. Left out, it matches anything. */
export type RangeInput = Value | { readonly low: Value; readonly high: Value };

/** What is read where `Input` is written. */
export type ReadField<Input> = [Input] extends [string]
  ? string
  : Extract<Input, { readonly mask: Value }> extends never
    ? Extract<Input, { readonly prefixLength: number }> extends never
      ? Extract<Input, { readonly low: Value }> extends never
        ? bigint
        : { readonly low: bigint; readonly high: bigint }
      : { readonly value: bigint; readonly prefixLength: number }
    : { readonly value: bigint; readonly mask: bigint };

/** What is read of the fields or parameters that `Inputs` writes; fields that match anything are absent. */
export type ReadFields<Inputs> = { readonly [Name in keyof Inputs]: ReadField<NonNullable<Inputs[Name]>> };

/** Parameters of an action that has none. */
export type NoParams = Readonly<Record<never, never>>;
