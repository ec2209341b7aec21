import type { Init } from "../../p4info/message/descriptor.ts";
import { encodeMatch } from "../../p4runtime/match.ts";
import type {
  ActionProfileActionSet,
  FieldMatch,
  MeterConfig,
  TableAction,
  TableEntry as TableEntryMessage,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import type { TableEntry } from "../tables/table-entry.ts";
import { actionMessage } from "./action-spec.ts";
import { type BoundTable, matchOf } from "./bound-table.ts";
import { counterData } from "./cells.ts";
import type { OneShot } from "./profile-store.ts";

/** What a client attached to an entry, and gets back as it was. Entries with nothing attached have no such object. */
export interface Attachment {
  readonly metadata: Uint8Array;
  readonly controllerMetadata: bigint;
  readonly meterConfig: MeterConfig | undefined;
  readonly idleTimeoutNs: bigint;
  readonly oneShot: { readonly message: ActionProfileActionSet; readonly installed: OneShot } | undefined;
}

const NOTHING: Attachment = {
  metadata: new Uint8Array(0),
  controllerMetadata: 0n,
  meterConfig: undefined,
  idleTimeoutNs: 0n,
  oneShot: undefined,
};

export function attachmentOf(entry: TableEntry): Attachment {
  // Only this server writes notes.
  return (entry.note as Attachment | undefined) ?? NOTHING;
}

/** Keeps what is attached with the entry; nothing at all when it is nothing. */
export function attach(entry: TableEntry, attachment: Attachment): void {
  const isNothing =
    attachment.metadata.length === 0 &&
    attachment.controllerMetadata === 0n &&
    attachment.meterConfig === undefined &&
    attachment.idleTimeoutNs === 0n &&
    attachment.oneShot === undefined;
  entry.note = isNothing ? undefined : attachment;
}

export function keyMessage(bound: BoundTable, entry: TableEntry): Init<TableEntryMessage> {
  return { tableId: bound.schema.id, match: matchMessages(bound, entry), priority: entry.priority };
}

function matchMessages(bound: BoundTable, entry: TableEntry): Init<FieldMatch>[] {
  const messages: Init<FieldMatch>[] = [];
  const matches = entry.match;
  for (const { schema, index } of bound.fields) {
    const match = matchOf(schema, matches[index]);
    if (match !== undefined) messages.push(encodeMatch(schema, match));
  }
  return messages;
}

function tableAction(bound: BoundTable, entry: TableEntry): Init<TableAction> | undefined {
  const { oneShot } = attachmentOf(entry);
  if (oneShot !== undefined) return { type: { case: "actionProfileActionSet", value: oneShot.message } };
  if (entry.member !== undefined) return { type: { case: "actionProfileMemberId", value: entry.member.id } };
  if (entry.group !== undefined) return { type: { case: "actionProfileGroupId", value: entry.group.id } };
  const ref = bound.actionByIndex(entry.actionIndex);
  if (ref === undefined) return undefined;
  const action = { schema: ref.schema, args: entry.data.map(BigInt) };
  return { type: { case: "action", value: actionMessage(action) } };
}

/**
 * An entry as it is read. Direct resources and the idle time are in the answer when they are in the question (9.1.7, 9.1.8).
 *
 * @param now the switch's time in microseconds
 */
export function entryMessage(
  bound: BoundTable,
  entry: TableEntry,
  wanted: Init<TableEntryMessage>,
  now: number,
): Init<TableEntryMessage> {
  const { schema } = bound;
  const attached = attachmentOf(entry);
  const hasCounter = wanted.counterData !== undefined && schema.directCounter !== undefined;
  const hasTime = wanted.timeSinceLastHit !== undefined && schema.supportsIdleTimeout;
  return {
    tableId: schema.id,
    match: matchMessages(bound, entry),
    priority: entry.priority,
    action: tableAction(bound, entry),
    isConst: bound.isConstEntry(entry),
    metadata: attached.metadata,
    controllerMetadata: attached.controllerMetadata,
    idleTimeoutNs: attached.idleTimeoutNs,
    counterData: hasCounter ? counterData(entry.counter) : undefined,
    meterConfig: wanted.meterConfig === undefined ? undefined : attached.meterConfig,
    timeSinceLastHit: hasTime
      ? { elapsedNs: BigInt(Math.max(0, Math.round((now - entry.lastHit) * 1000))) }
      : undefined,
  };
}

/** What an idle notification says of an entry (16.4). */
export function idleMessage(bound: BoundTable, entry: TableEntry): Init<TableEntryMessage> {
  const { metadata, controllerMetadata, idleTimeoutNs } = attachmentOf(entry);
  return { ...keyMessage(bound, entry), metadata, controllerMetadata, idleTimeoutNs };
}
