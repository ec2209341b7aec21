import type { Params } from "../entities.ts";
import type { Action, TableAction } from "../proto/generated/p4runtime.ts";
import type { ActionSchema, FieldSchema, Schema } from "../schema.ts";
import { bigintOf } from "../values.ts";
import type { ReadFields } from "./fields.ts";

/** An action with its arguments. The name is part of the type, so that a table takes its own actions only. */
export interface ActionCall<Name extends string = string, P extends Params = Params> {
  readonly action: Name;
  readonly params: P;
}

export interface MemberChoice {
  /** A member of the table's action profile. */
  readonly member: number;
}

/** What the entries of a table with an action selector run: a member, a group, or a set of actions of their own (9.2.3). */
export type SelectorChoice<Call> =
  | MemberChoice
  | {
      /** A group of the table's action selector. */
      readonly group: number;
    }
  | { readonly oneShot: readonly (Call & Weight)[] };

export interface Weight {
  /** 1 unless given. */
  readonly weight?: number;
  /** The action is left out while this port is down. */
  readonly watchPort?: number;
}

/** What is read where `Choice` is written: the same with bigint arguments. */
export type ReadChoice<Choice> = Choice extends {
  readonly action: infer Name;
  readonly params: infer P;
}
  ? { readonly action: Name; readonly params: ReadFields<P> }
  : Choice extends { readonly oneShot: readonly (infer Call)[] }
    ? { readonly oneShot: readonly (ReadChoice<Call> & Weight)[] }
    : Choice;

/** The action of an entry by names; undefined when there is none. */
export function readChoice(schema: Schema, action: TableAction | undefined): unknown {
  const type = action?.type;
  switch (type?.case) {
    case "action":
      return readCall(schema, type.value);
    case "actionProfileMemberId":
      return { member: type.value };
    case "actionProfileGroupId":
      return { group: type.value };
    case "actionProfileActionSet":
      return {
        oneShot: type.value.actionProfileActions.map(({ action: call, weight, watchKind }) => ({
          ...(call === undefined ? {} : readCall(schema, call)),
          weight,
          ...(watchKind?.case === "watchPort" ? { watchPort: Number(bigintOf(watchKind.value)) } : {}),
        })),
      };
    case undefined:
      return undefined;
  }
}

export function readCall(schema: Schema, call: Action): ActionCall {
  const action: ActionSchema = schema.actions.get(call.actionId);
  const params = call.params.map(({ paramId, value }) => {
    const param = action.params.byId(paramId);
    return [param.name, readValue(param, value)] as const;
  });
  return { action: action.name, params: Object.fromEntries(params) };
}

/** A value of the wire: a number, or text where the program translates it to text (width 0). */
export function readValue(field: FieldSchema, bytes: Uint8Array): bigint | string {
  return field.bitwidth === 0 ? new TextDecoder().decode(bytes) : bigintOf(bytes);
}
