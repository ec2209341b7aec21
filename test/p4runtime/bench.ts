import { afterEach } from "vitest";
import type { Init } from "../../src/p4info/index.ts";
import { create } from "../../src/p4info/index.ts";
import { type ClientOptions, P4RuntimeClient } from "../../src/p4runtime/client.ts";
import {
  Entity,
  type TableEntry,
  Update,
  type Update_Type,
} from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { P4RuntimeServer, type P4RuntimeServerOptions } from "../../src/switch/p4runtime/server.ts";
import { MemoryTarget } from "./memory-target.ts";
import { PROGRAM } from "./program.ts";

/** What was started for a test and must be stopped after it, last first. */
const started: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const stop of started.splice(0).reverse()) await stop();
});

export function stopAfterTest(stop: () => Promise<void> | void): void {
  started.push(stop);
}

export interface Bench {
  readonly target: MemoryTarget;
  readonly server: P4RuntimeServer;
}

/** A P4Runtime server over a memory target, on a free port. */
export async function startServer(options: Partial<P4RuntimeServerOptions> = {}): Promise<Bench> {
  const target = new MemoryTarget();
  const server = await P4RuntimeServer.start({ target, address: "127.0.0.1:0", ...options });
  stopAfterTest(() => server.close());
  return { target, server };
}

export async function connect(
  address: string,
  options: Partial<ClientOptions> = {},
): Promise<P4RuntimeClient> {
  const client = await P4RuntimeClient.connect({ address, timeout: 60_000, ...options });
  stopAfterTest(() => client.close());
  return client;
}

/** A server with the test program, and its primary. */
export async function startPrimary(
  options: Partial<ClientOptions> = {},
): Promise<Bench & { readonly client: P4RuntimeClient }> {
  const bench = await startServer();
  const client = await connect(bench.server.address, options);
  await client.arbitrate(1n);
  await client.pushPipeline(PROGRAM, PROGRAM_JSON);
  return { ...bench, client };
}

/** What the memory target takes for the program's JSON. */
export const PROGRAM_JSON = new TextEncoder().encode("program");

/** Updates without the client's checks, for what a server has to refuse. */
export const insert = (entity: Entity): Update => ({ type: "INSERT", entity });
export const modify = (entity: Entity): Update => ({ type: "MODIFY", entity });
export const remove = (entity: Entity): Update => ({ type: "DELETE", entity });

export function bytes(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, "hex"));
}

/** An update as any client could send it, without the checks of the builder. */
export function rawUpdate(type: Update_Type, entity: Init<Entity>["entity"]): Update {
  return create(Update, { type, entity: { entity } });
}

export function rawEntry(type: Update_Type, value: Init<TableEntry>): Update {
  return rawUpdate(type, { case: "tableEntry", value });
}

export function rawEntity(entity: Init<Entity>["entity"]): Entity {
  return create(Entity, { entity });
}
