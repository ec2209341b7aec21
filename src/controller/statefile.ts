import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { NumericMode } from "../numeric/mode.ts";
import type { Placement } from "./jobs.ts";
import { type JobRecord, type MemberRecord, memberStates } from "./jobservice/jobrecord.ts";

/** What a controller must not forget when it ends. */
export interface ControllerState {
  /** Last generation by job number: hosts and switches refuse what is older. */
  readonly generations: Readonly<Record<string, number>>;
  /** Jobs that run, and where. */
  readonly placements: readonly Placement[];
  /** Switches that are to be kept empty. */
  readonly drained: readonly string[];
  /** Jobs of the job service. */
  readonly jobs?: readonly JobRecord[];
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
          writeSync(file, `${stateText(state)}\n`);
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
    this.#text = stateText(state);
    return Promise.resolve();
  }
}

/** The state as text that `stateOf` reads. */
export function stateText(state: ControllerState): string {
  return plainText({ version: 1, ...state }, 1);
}

/** JSON, with big integers as texts. */
export function plainText(value: object, indent?: number): string {
  return JSON.stringify(value, (_, v) => (typeof v === "bigint" ? `${v}` : v), indent);
}

/** Reads what `JSON.parse` gave. @throws StateError that names the part */
export function stateOf(value: unknown): ControllerState {
  const object = recordOf(value, "it");
  const generations: Record<string, number> = {};
  for (const [job, generation] of Object.entries(recordOf(object.generations ?? {}, "generations")))
    generations[job] = numberOf(generation, `the generation of job ${job}`);
  const placements = listOf(object.placements ?? [], "placements").map(placementOf);
  const drained = listOf(object.drained ?? [], "drained").map((name) => textOf(name, "a drained switch"));
  const jobs = listOf(object.jobs ?? [], "jobs").map(jobOf);
  return { generations, placements, drained, jobs };
}

function jobOf(value: unknown): JobRecord {
  const job = recordOf(value, "a job");
  const name = textOf(job.name, "the name of a job");
  const spec = recordOf(job.spec, `spec of job ${name}`);
  const member = (m: unknown): MemberRecord => {
    const record = recordOf(m, `a member of job ${name}`);
    const state = memberStates.find((s) => s === record.state);
    if (state === undefined)
      throw new StateError(`the state of a member of job ${name} is ${String(record.state)}`);
    return {
      host: textOf(record.host, `a host of job ${name}`),
      state,
      life: numberOf(record.life, `a life of job ${name}`),
      incarnation: BigInt(textOf(record.incarnation, `an incarnation of job ${name}`)),
    };
  };
  return {
    name,
    number: numberOf(job.number, `the number of job ${name}`),
    spec: {
      workers: listOf(spec.workers, `workers of job ${name}`).map((w) => textOf(w, "a worker")),
      lanes: numberOf(spec.lanes, `lanes of job ${name}`),
      // Read back from what was checked when the job was declared.
      mode: recordOf(spec.mode, `mode of job ${name}`) as unknown as NumericMode,
      rows: listOf(spec.rows, `rows of job ${name}`).map((row) =>
        listOf(row, `a row of job ${name}`).map((key) => numberOf(key, `a key of job ${name}`)),
      ),
      needsSwitch: spec.needsSwitch === true,
    },
    server: member(job.server),
    workers: listOf(job.workers, `workers of job ${name}`).map(member),
  };
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
    ...(p.absent === undefined ? {} : { absent: numbersOf(p.absent, "absent of a placement") }),
    ...(p.lives === undefined ? {} : { lives: numbersOf(p.lives, "lives of a placement") }),
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

function numbersOf(value: unknown, what: string): readonly number[] {
  return listOf(value, what).map((n) => numberOf(n, what));
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
