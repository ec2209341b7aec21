import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { Placement } from "./jobs.ts";

/** What a controller must not forget when it ends. */
export interface ControllerState {
  /** Last generation by job number: hosts and switches refuse what is older. */
  readonly generations: Readonly<Record<string, number>>;
  /** Jobs that run, and where. */
  readonly placements: readonly Placement[];
  /** Switches that are to be kept empty. */
  readonly drained: readonly string[];
}

export const EMPTY_STATE: ControllerState = { generations: {}, placements: [], drained: [] };

/** A state that cannot be read or written. */
export class StateError extends Error {
  override readonly name = "StateError";
}

/** Where a controller keeps its state: a file, or etcd. */
export interface StateStore {
  load(): Promise<ControllerState>;
  /** Resolves when it would survive a power cut. */
  save(state: ControllerState): Promise<void>;
}

/** The state of a controller that is alone, in a file. A reader sees the state before a write or after it, never half of it. */
export class StateFile implements StateStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** An absent file is an empty state. @throws StateError when it is no state */
  load(): Promise<ControllerState> {
    return Promise.resolve().then(() => {
      let text: string;
      try {
        text = readFileSync(this.#path, "utf8");
      } catch (error) {
        if (isAbsent(error)) return EMPTY_STATE;
        throw new StateError(`${this.#path}: ${reasonOf(error)}`);
      }
      try {
        return stateOf(JSON.parse(text));
      } catch (error) {
        throw new StateError(`${this.#path} is not the state of a controller: ${reasonOf(error)}`);
      }
    });
  }

  save(state: ControllerState): Promise<void> {
    return Promise.resolve().then(() => {
      try {
        mkdirSync(dirname(this.#path), { recursive: true });
        const temporary = `${this.#path}.${process.pid}`;
        const file = openSync(temporary, "w");
        try {
          writeSync(file, `${JSON.stringify({ version: 1, ...state }, null, 2)}\n`);
          fsyncSync(file);
        } finally {
          closeSync(file);
        }
        renameSync(temporary, this.#path);
      } catch (error) {
        throw new StateError(`${this.#path}: ${reasonOf(error)}`);
      }
    });
  }
}

/** A state for tests, and for controllers that may forget. */
export class StateMemory implements StateStore {
  #text = JSON.stringify(EMPTY_STATE);

  load(): Promise<ControllerState> {
    return Promise.resolve(stateOf(JSON.parse(this.#text)));
  }

  save(state: ControllerState): Promise<void> {
    this.#text = JSON.stringify(state);
    return Promise.resolve();
  }
}

/** Reads what `JSON.parse` gave. @throws StateError that names the part */
export function stateOf(value: unknown): ControllerState {
  const object = recordOf(value, "it");
  const generations: Record<string, number> = {};
  for (const [job, generation] of Object.entries(recordOf(object.generations ?? {}, "generations")))
    generations[job] = numberOf(generation, `the generation of job ${job}`);
  const placements = listOf(object.placements ?? [], "placements").map(placementOf);
  const drained = listOf(object.drained ?? [], "drained").map((name) => textOf(name, "a drained switch"));
  return { generations, placements, drained };
}

function placementOf(value: unknown): Placement {
  const p = recordOf(value, "a placement");
  const number = (name: string): number => numberOf(p[name], `${name} of a placement`);
  return {
    job: number("job"),
    generation: number("generation"),
    workers: listOf(p.workers, "workers").map((name) => textOf(name, "a worker")),
    server: textOf(p.server, "server of a placement"),
    on: p.on === undefined ? undefined : textOf(p.on, "the switch of a placement"),
    slotBase: number("slotBase"),
    rows: number("rows"),
    scale: number("scale"),
    firstRound: number("firstRound"),
  };
}

function recordOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new StateError(`${what} is no object`);
  return Object.fromEntries(Object.entries(value));
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new StateError(`${what} is no list`);
  return value;
}

function numberOf(value: unknown, what: string): number {
  if (typeof value !== "number" || !Number.isInteger(value))
    throw new StateError(`${what} is no whole number`);
  return value;
}

function textOf(value: unknown, what: string): string {
  if (typeof value !== "string") throw new StateError(`${what} is no text`);
  return value;
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
