import { create } from "../p4info/message/create.ts";
import type { Init } from "../p4info/message/descriptor.ts";
import { EntityError } from "./entity-error.ts";
import { fieldValues } from "./field-values.ts";
import {
  type Action,
  type ActionProfileAction,
  type ActionProfileActionSet_ActionSelectionMode,
  type ActionProfileActionSet_SizeSemantics,
  TableAction,
} from "./proto/generated/p4runtime.ts";
import type { ActionProfileSchema, ActionSchema, Schema, TableSchema } from "./schema.ts";
import { bytesOf, encodeValue, type Value } from "./values.ts";

/** Arguments by parameter name. */
export type Params = Readonly<Record<string, Value>>;

/** What a hit does: an action with arguments, a member or a group of an action profile, or a one-shot set of weighted actions. */
export type ActionInput =
  | { readonly action: string; readonly params?: Params }
  | { readonly member: number }
  | { readonly group: number }
  | ({ readonly oneShot: readonly WeightedAction[] } & OneShotOptions);

/** How a one-shot set chooses (1.5); the selector's own way unless given. */
export interface OneShotOptions {
  readonly selectionMode?: ActionProfileActionSet_ActionSelectionMode;
  readonly sizeSemantics?: ActionProfileActionSet_SizeSemantics;
}

export interface WeightedAction {
  readonly action: string;
  readonly params?: Params;
  /** 1 unless given. */
  readonly weight?: number;
  readonly watchPort?: number;
}

/** The action part of a table entry. @throws EntityError */
export function tableAction(
  schema: Schema,
  table: TableSchema,
  input: ActionInput,
  use: "entry" | "default",
): TableAction {
  const { implementation } = table;
  if ("action" in input) {
    if (implementation !== undefined && use === "entry")
      throw new EntityError(
        "unexpected",
        `table ${table.name}`,
        `its entries run members or groups of ${implementation.name}, not actions of their own`,
      );
    const action = actionOf(schema, table, input.action, use);
    return { type: { case: "action", value: actionMessage(action, input.params ?? {}) } };
  }
  if (implementation === undefined)
    throw new EntityError(
      "unexpected",
      `table ${table.name}`,
      "it has no action profile; its entries run actions",
    );
  if ("member" in input) return { type: { case: "actionProfileMemberId", value: input.member } };
  needsSelector(table, implementation);
  if ("group" in input) return { type: { case: "actionProfileGroupId", value: input.group } };
  const actions = input.oneShot.map((member) => {
    checkWeight(`table ${table.name}`, implementation, member.weight ?? 1);
    return weighted(member, actionOf(schema, table, member.action, "entry"));
  });
  checkSize(`table ${table.name}`, implementation, input.oneShot);
  return create(TableAction, {
    type: {
      case: "actionProfileActionSet",
      value: {
        actionProfileActions: actions,
        ...(input.selectionMode === undefined ? {} : { actionSelectionMode: input.selectionMode }),
        ...(input.sizeSemantics === undefined ? {} : { sizeSemantics: input.sizeSemantics }),
      },
    },
  });
}

function weighted(member: WeightedAction, action: ActionSchema): Init<ActionProfileAction> {
  return {
    action: actionMessage(action, member.params ?? {}),
    weight: member.weight ?? 1,
    watchKind: watch(member.watchPort),
  };
}

/** The port whose loss takes a member out of its group. */
export function watch(port: number | undefined) {
  return port === undefined ? undefined : ({ case: "watchPort", value: bytesOf(BigInt(port)) } as const);
}

function needsSelector(table: TableSchema, profile: ActionProfileSchema): void {
  if (!profile.withSelector)
    throw new EntityError(
      "unexpected",
      `table ${table.name}`,
      `action profile ${profile.name} has no selector, so its entries run members only`,
    );
}

/** Weights are above 0, and equal where the selector wants that (9.2.2). */
export function checkWeight(where: string, profile: ActionProfileSchema, weight: number): void {
  if (!Number.isInteger(weight) || weight <= 0)
    throw new EntityError("out-of-range", where, `a weight is ${weight}; it must be a whole number above 0`);
  if (profile.weightsDisallowed && weight !== 1)
    throw new EntityError(
      "out-of-range",
      where,
      `action profile ${profile.name} takes no weights other than 1`,
    );
}

/** A group has room for `maxGroupSize` weights or members, whatever the program says sizes mean (9.2.2, 9.2.4). */
export function checkSize(
  where: string,
  profile: ActionProfileSchema,
  members: readonly { readonly weight?: number }[],
): void {
  const size = profile.countsMembers
    ? members.length
    : members.reduce((sum, { weight = 1 }) => sum + weight, 0);
  if (profile.maxGroupSize > 0 && size > profile.maxGroupSize)
    throw new EntityError(
      "out-of-range",
      where,
      `${profile.countsMembers ? "its members are" : "its weights add up to"} ${size}; groups of ${profile.name} have room for ${profile.maxGroupSize}`,
    );
}

function actionOf(schema: Schema, table: TableSchema, name: string, use: "entry" | "default"): ActionSchema {
  const action = schema.actions.get(name);
  const ref = table.actions.get(action.id);
  if (ref === undefined) {
    const names = [...table.actions.values()].map((other) => other.action.alias).join(", ");
    throw new EntityError(
      "unexpected",
      `table ${table.name}`,
      `${action.name} is not one of its actions, which are ${names}`,
    );
  }
  if (ref.scope === (use === "entry" ? "DEFAULT_ONLY" : "TABLE_ONLY"))
    throw new EntityError(
      "unexpected",
      `table ${table.name}`,
      `${action.name} is for ${use === "entry" ? "its default entry" : "its other entries"} only`,
    );
  return action;
}

export function actionMessage(action: ActionSchema, params: Params): Action {
  const values = fieldValues(params, action.params);
  return {
    actionId: action.id,
    params: action.params.all.map((field) => {
      const value = values.get(field.id);
      if (value === undefined) throw new EntityError("missing", field.where, "it is not given");
      return { paramId: field.id, value: encodeValue(value, field) };
    }),
  };
}
