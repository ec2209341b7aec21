import { readFileSync } from "node:fs";
import { generate, loadableOf } from "../backends/index.ts";
import type { AggregationFeature } from "../controller/program.ts";
import type { GroupRoom } from "../controller/routes.ts";
import { checkGroups } from "../controller/routes.ts";
import { StateError, StateFile } from "../controller/statefile.ts";
import type { LoadableProgram } from "../controller/switchsession.ts";
import { TopologyError } from "../controller/topology.ts";
import { readTopologyFile, type TopologyFile } from "../controller/topologyfile.ts";
import type { WantedEntry } from "../controller/wantedstate.ts";
import { contentsOf, isAggregation, isEcmp } from "../dsl/index.ts";
import { EntityError, tableContentsFromFile } from "../p4runtime/index.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { loadProgram } from "./load.ts";
import { readP4Info } from "./p4rt/target.ts";

/** A topology file with all that follows from it. */
export interface Network extends TopologyFile {
  readonly loadable: LoadableProgram;
  readonly aggregation: AggregationFeature | undefined;
  readonly room: GroupRoom | undefined;
  /** What all switches have: the contents of the program. */
  readonly everywhere: Iterable<WantedEntry>;
  readonly state: StateFile;
}

/** Reads a topology file and its program. @throws UserError */
export async function loadNetwork(
  path: string | undefined,
  verb: string,
  stateFile?: string,
): Promise<Network> {
  if (path === undefined) throw new UserError(`--topology FILE is missing; see gradplane ${verb} --help`);
  const file = readTopologyFile(path);
  const state = new StateFile(stateFile ?? `${path.replace(/\.ya?ml$/, "")}.state.json`);
  const { program } = file;
  if (program.kind === "compiled") {
    const p4info = readP4Info(program.p4info);
    const loadable = { p4info, deviceConfig: bytesOf(program.deviceConfig) };
    const { tables } = program;
    const everywhere = tables === undefined ? [] : contentsOfFile(tables);
    return { ...file, loadable, aggregation: undefined, room: undefined, everywhere, state };
  }
  const { ir, name, features } = await loadProgram(program.file);
  const loadable = loadableOf(generate(ir), name);
  const aggregation = features.find(isAggregation);
  const ecmp = features.find(isEcmp);
  try {
    checkGroups(file.topology, ecmp?.options);
  } catch (error) {
    if (error instanceof TopologyError) throw new EnvironmentError(`${path}: ${error.message}`);
    throw error;
  }
  return {
    ...file,
    loadable,
    aggregation,
    room: ecmp?.options,
    everywhere: contentsOf(ir),
    state,
  };
}

function contentsOfFile(file: string): readonly WantedEntry[] {
  try {
    return [...tableContentsFromFile(bytesOf(file).toString(), file).entries()];
  } catch (error) {
    if (error instanceof EntityError) throw new UserError(error.message);
    throw error;
  }
}

function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UserError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Names what goes wrong with a network: the user's mistake, or the environment's. */
export async function reportingNetwork<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TopologyError || error instanceof EntityError) throw new UserError(error.message);
    if (error instanceof StateError) throw new EnvironmentError(error.message);
    throw error;
  }
}
