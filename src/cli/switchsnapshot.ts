/** `--snapshot FILE`: where a switch keeps its state between two lives. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import {
  applyPort,
  parsePorts,
  type Switch,
  TrafficDocumentError,
  trafficDocument,
} from "../switch/index.ts";
import {
  decodeSnapshot,
  encodeSnapshot,
  type P4RuntimeServer,
  type StateSnapshot,
  StateSnapshotError,
} from "../switch/p4runtime/index.ts";
import { EnvironmentError, UserError } from "./exit.ts";

/** The snapshot in a file; undefined when there is no such file. @throws UserError when it is something else */
export function readSnapshot(file: string): StateSnapshot | undefined {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new UserError(`cannot read ${file}: ${messageOf(error)}`);
  }
  try {
    return decodeSnapshot(bytes);
  } catch (error) {
    if (error instanceof StateSnapshotError) throw new UserError(refusal(file, error.message));
    throw error;
  }
}

export function refusal(file: string, reason: string): string {
  return `--snapshot ${file} cannot be used: ${reason}; remove it to begin anew`;
}

/** Sets the queues as they were. @throws UserError */
export function restoreQueues(engine: Switch, file: string, { ports }: StateSnapshot): void {
  const { trafficManager } = engine;
  try {
    for (const port of parsePorts(ports, trafficManager.options.queues)) applyPort(trafficManager, port);
  } catch (error) {
    if (error instanceof TrafficDocumentError || error instanceof RangeError)
      throw new UserError(refusal(file, error.message));
    throw error;
  }
}

/** Writes a snapshot. A file that is there is replaced at once or not at all. @throws EnvironmentError */
export function writeSnapshot(file: string, server: P4RuntimeServer, engine: Switch): void {
  const bytes = encodeSnapshot(server.snapshot(trafficDocument(engine.trafficManager)));
  try {
    const unfinished = `${file}.${process.pid}`;
    writeFileSync(unfinished, bytes);
    renameSync(unfinished, file);
  } catch (error) {
    throw new EnvironmentError(`cannot write the snapshot ${file}: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
