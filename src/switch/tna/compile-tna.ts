import type { Bmv2JsonSource } from "../bmv2json/document.ts";
import { compileProgram } from "../engine/compile.ts";
import type { Engine, EngineOptions } from "../engine/engine.ts";
import type { TnaDocument } from "./document.ts";
import { readTnaDocument } from "./read-document.ts";
import { watchedRegisters } from "./register-access.ts";
import { checkReparsedHeaders } from "./reparsed-headers.ts";
import { checkStatefulPrograms } from "./stateful-limits.ts";
import { translateGress } from "./translate-gress.ts";

/** A lowered Tofino program, compiled: an engine for each gress. To the control plane it looks like one. */
export interface TnaEngine extends Engine {
  readonly document: TnaDocument;
  readonly ingress: Engine;
  readonly egress: Engine;
  /** Registers that packets are watched at, in the order of the rules' numbers, from 1. */
  readonly watched: readonly string[];
}

export function isTnaEngine(engine: Engine): engine is TnaEngine {
  return "document" in engine;
}

/** Compiles a program for the tna personality. Throws SwitchConfigError for one that Tofino, or this switch, can't run. */
export function compileTna(source: Bmv2JsonSource, options: EngineOptions): TnaEngine {
  const document = readTnaDocument(source);
  checkStatefulPrograms(document.ingress);
  checkStatefulPrograms(document.egress);
  checkReparsedHeaders(document);
  const watched = [...watchedRegisters(document.ingress), ...watchedRegisters(document.egress)];
  const rules = new Map(watched.map((register, i) => [register, i + 1]));
  const [ingress, egress] = [document.ingress, document.egress].map((section) =>
    compileProgram(translateGress(document, section, rules), options),
  );
  if (ingress === undefined || egress === undefined) throw new RangeError("two gresses are compiled");
  const both = <T>(of: (engine: Engine) => ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
    new Map([...of(ingress), ...of(egress)]);
  return {
    ...ingress,
    program: {
      ...ingress.program,
      name: document.program,
      actions: [...ingress.program.actions, ...egress.program.actions],
    },
    tables: both((e) => e.tables),
    profiles: both((e) => e.profiles),
    counters: both((e) => e.counters),
    meters: both((e) => e.meters),
    registers: both((e) => e.registers),
    document,
    ingress,
    egress,
    watched,
  };
}
