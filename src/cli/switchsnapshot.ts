/** `--snapshot FILE`: where a switch keeps its state between two lives. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import {
  applyPort,
  applyTofino,
  isTofinoDocument,
  parsePorts,
  type Switch,
  SwitchRuntimeError,
  type TofinoDocument,
  TrafficDocumentError,
  tofinoDocument,
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
export function restoreQueues(engine: Switch, file: string, snapshot: StateSnapshot): void {
  const { trafficManager } = engine;
  const { ports } = partsOf(engine, file, snapshot);
  try {
    for (const port of parsePorts(ports, trafficManager.options.queues)) applyPort(trafficManager, port);
  } catch (error) {
    if (error instanceof TrafficDocumentError || error instanceof RangeError)
      throw new UserError(refusal(file, error.message));
    throw error;
  }
}

/** Sets what a Tofino keeps in its pipes, when the program is there. `now` in microseconds. @throws UserError */
export function restoreTofino(engine: Switch, file: string, snapshot: StateSnapshot, now: number): void {
  const { tofino } = partsOf(engine, file, snapshot);
  if (engine.tofino === undefined || tofino === undefined) return;
  try {
    applyTofino(engine.tofino, tofino, now);
  } catch (error) {
    const isSpecific = error instanceof SwitchRuntimeError || error instanceof RangeError;
    throw new UserError(refusal(file, isSpecific ? error.message : "it is damaged"));
  }
}

/** A Tofino's state stands beside the settings of queues. @throws UserError when the snapshot is of another personality */
function partsOf(
  engine: Switch,
  file: string,
  { ports }: StateSnapshot,
): { readonly ports: unknown; readonly tofino?: TofinoDocument } {
  const isTofino = typeof ports === "object" && ports !== null && "tofino" in ports && "queues" in ports;
  if (isTofino !== (engine.tofino !== undefined))
    throw new UserError(refusal(file, `it is of the ${isTofino ? "tna" : "v1model"} personality`));
  if (!isTofino) return { ports };
  if (!isTofinoDocument(ports.tofino)) throw new UserError(refusal(file, "it is damaged"));
  return { ports: ports.queues, tofino: ports.tofino };
}

/** Writes a snapshot. A file that is there is replaced at once or not at all. @throws EnvironmentError */
export function writeSnapshot(file: string, server: P4RuntimeServer, engine: Switch): void {
  const queues = trafficDocument(engine.trafficManager);
  const ports = engine.tofino === undefined ? queues : { queues, tofino: tofinoDocument(engine.tofino) };
  const bytes = encodeSnapshot(server.snapshot(ports));
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
