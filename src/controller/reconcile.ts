import {
  type Entity,
  EntityBuilder,
  type P4RuntimeClient,
  P4RuntimeWriteError,
  type Schema,
  type ServerProfile,
} from "../p4runtime/index.ts";
import { type Difference, differenceOf } from "./diff.ts";
import type { Intent } from "./intent.ts";
import { type Plan, type PlanOptions, planOf } from "./plan.ts";

type Wanted = Pick<Intent, "entities" | "tableRank">;

/** What to ask a switch for, so that the answer holds all that an intent speaks of, and the drift beside it. */
export function questionsOf(
  intent: Wanted,
  schema: Schema,
  profile: Pick<ServerProfile, "readsOneShotProfiles">,
): readonly Entity[] {
  const entities = new EntityBuilder(schema);
  const questions: Entity[] = [];
  for (const table of schema.tables.all) {
    if (table.isConst || table.fields.all.length === 0) continue;
    questions.push(entities.allEntries(table.name, { meters: table.directMeter !== undefined }));
  }
  const oneShot = new Set<number>();
  for (const { entity } of intent.entities) {
    if (entity?.case !== "tableEntry") continue;
    const isSet = entity.value.action?.type?.case === "actionProfileActionSet";
    if (isSet) oneShot.add(schema.tables.get(entity.value.tableId).implementation?.id ?? 0);
    if (entity.value.isDefaultAction)
      questions.push(entities.defaultEntry(schema.tables.get(entity.value.tableId).name));
  }
  for (const found of schema.actionProfiles.all) {
    if (oneShot.has(found.id) && !profile.readsOneShotProfiles) continue;
    questions.push(entities.member(found.name, 0));
    if (found.withSelector) questions.push(entities.group(found.name, 0));
  }
  questions.push(entities.multicastGroup(0), entities.cloneSession(0));
  for (const { entity } of intent.entities) {
    if (entity?.case === "meterEntry")
      questions.push(entities.meter(schema.meters.get(entity.value.meterId).name, entity.value.index?.index));
    if (entity?.case === "digestEntry")
      questions.push(entities.digest(schema.digests.get(entity.value.digestId).name));
    if (entity?.case === "valueSetEntry")
      questions.push(entities.valueSet(schema.valueSets.get(entity.value.valueSetId).name));
  }
  return questions;
}

/** Reads a switch and compares it with what should be there. @throws P4RuntimeError, EntityError */
export async function readDifference(
  client: P4RuntimeClient,
  intent: Wanted,
  signal?: AbortSignal,
): Promise<Difference> {
  const options = signal === undefined ? {} : { signal };
  const { schema, server } = client;
  const found = await client.readAll(questionsOf(intent, schema, server), options);
  return differenceOf(intent.entities, found, schema, server.comparison);
}

export interface ReconcileOptions extends Pick<PlanOptions, "undoDrift"> {
  readonly signal?: AbortSignal;
  /** Called after each stage with the number of updates written so far, and all. */
  readonly onProgress?: (written: number, all: number) => void;
}

export interface Reconciled {
  /** As it was found. */
  readonly difference: Difference;
  readonly plan: Plan;
  /** Times that the switch had to be read. */
  readonly reads: number;
}

/** Others may write at the same time; after so many attempts that is an error. */
const ATTEMPTS = 3;

/**
 * Make a switch what it should be, writing only the difference. It may be ended at any point and called again: what is done already is
 * not done twice.
 *
 * @throws P4RuntimeWriteError when the switch refuses an update again and again; nothing that depends on it has been touched.
 */
export async function reconcile(
  client: P4RuntimeClient,
  intent: Wanted,
  options: ReconcileOptions = {},
): Promise<Reconciled> {
  for (let reads = 1; ; reads++) {
    const difference = await readDifference(client, intent, options.signal);
    const plan = planOf(difference, client.schema, { ...options, tableRank: intent.tableRank });
    try {
      await applyPlan(client, plan, options);
      return { difference, plan, reads };
    } catch (error) {
      const mayBeRace = error instanceof P4RuntimeWriteError && error.updates !== undefined;
      if (!mayBeRace || reads === ATTEMPTS) throw error;
    }
  }
}

/** Writes a plan stage by stage, and stops at the first that fails. @throws P4RuntimeError */
export async function applyPlan(
  client: P4RuntimeClient,
  plan: Plan,
  options: Pick<ReconcileOptions, "signal" | "onProgress"> = {},
): Promise<void> {
  let written = 0;
  for (const stage of plan.stages) {
    await client.write(stage, options.signal === undefined ? {} : { signal: options.signal });
    written += stage.length;
    options.onProgress?.(written, plan.updates);
  }
}
