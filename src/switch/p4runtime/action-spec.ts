import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import type { Action } from "../../p4runtime/proto/generated/p4runtime.ts";
import type { ActionSchema, TableSchema } from "../../p4runtime/schema.ts";
import { bytesOf, decodeValue } from "../../p4runtime/values.ts";
import { invalidArgument, StatusError } from "./status.ts";
import type { TargetAction } from "./target.ts";

/** An action with its arguments, checked against the P4Info. */
export interface BoundAction {
  readonly schema: ActionSchema;
  /** In the order of the parameters in the P4Info. */
  readonly args: readonly bigint[];
}

/** What an action is wanted for; the scope of the action in the table must allow it. */
export type ActionUse = "entry" | "default";

/**
 * Check an action of a table: it must be one of the table's, with exactly its parameters (P4Runtime specification 9.1.2).
 *
 * @throws StatusError or EntityError
 */
export function bindAction(table: TableSchema, message: Action, use: ActionUse): BoundAction {
  const ref = table.actions.get(message.actionId);
  if (ref === undefined)
    throw invalidArgument(
      message.actionId === 0
        ? `table ${table.name}: the action has no id`
        : `table ${table.name}: action id 0x${message.actionId.toString(16)} is not one of its actions`,
    );
  const isAllowed = ref.scope !== (use === "default" ? "TABLE_ONLY" : "DEFAULT_ONLY");
  if (!isAllowed)
    throw new StatusError(
      Code.PERMISSION_DENIED,
      `table ${table.name}: action ${ref.action.name} is ${use === "default" ? "not for" : "only for"} the default entry`,
    );
  return bindArguments(ref.action, message);
}

/** Check the arguments of an action: every parameter once, no others. @throws StatusError or EntityError */
export function bindArguments(schema: ActionSchema, message: Action): BoundAction {
  const values = new Map<number, bigint>();
  for (const param of message.params) {
    const field = schema.params.byId(param.paramId);
    if (values.has(param.paramId)) throw invalidArgument(`${field.where} is given twice`);
    values.set(param.paramId, decodeValue(param.value, field));
  }
  const args = schema.params.all.map((field) => {
    const value = values.get(field.id);
    if (value === undefined) throw invalidArgument(`${field.where} is missing`);
    return value;
  });
  return { schema, args };
}

/** The message of an action, with canonical bytes. */
export function actionMessage(action: BoundAction): Init<Action> {
  return {
    actionId: action.schema.id,
    params: action.schema.params.all.map((field, index) => ({
      paramId: field.id,
      value: bytesOf(action.args[index] ?? 0n),
    })),
  };
}

export function targetAction(action: BoundAction): TargetAction {
  return { name: action.schema.name, args: action.args };
}

/** An action that the program itself names; undefined when it is not one of the P4Info's for this table. */
export function boundActionOf(table: TableSchema, action: TargetAction | undefined): BoundAction | undefined {
  if (action === undefined) return undefined;
  for (const { action: schema } of table.actions.values())
    if (schema.name === action.name && schema.params.all.length === action.args.length)
      return { schema, args: action.args };
  return undefined;
}
