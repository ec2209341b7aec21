import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { Bmv2JsonSource } from "../bmv2json/document.ts";
import { compileProgram } from "../engine/compile.ts";
import { type Engine, type EngineOptions, noFaults } from "../engine/engine.ts";
import { AddedHeader } from "./added-header.ts";
import type { Gress, Queue, TnaDocument } from "./document.ts";
import { readTnaDocument } from "./read-document.ts";
import { watchedRegisters } from "./register-access.ts";
import { checkReparsedHeaders } from "./reparsed-headers.ts";
import { checkStatefulPrograms } from "./stateful-limits.ts";
import { translateGress } from "./translate-gress.ts";

/** A lowered Tofino program, compiled: an engine for each gress. To the control plane it looks like one, that of the first pipe. */
export interface TnaEngine extends Engine {
  readonly document: TnaDocument;
  readonly ingress: Engine;
  readonly egress: Engine;
  /** Registers that packets are watched at, in the order of the rules' numbers, from 1. */
  readonly watched: readonly string[];
  /** What the deparsers put in front of mirrored and of resubmitted packets, by its number. */
  readonly mirrors: Readonly<Record<Gress, ReadonlyMap<number, AddedHeader>>>;
  readonly resubmits: ReadonlyMap<number, AddedHeader>;
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
  checkQueues(document.queues);
  const watched = [...watchedRegisters(document.ingress), ...watchedRegisters(document.egress)];
  const rules = new Map(watched.map((register, i) => [register, i + 1]));
  const faults = noFaults();
  const [ingress, egress] = [document.ingress, document.egress].map((section) =>
    compileProgram(translateGress(document, section, rules), { ...options, faults }),
  );
  if (ingress === undefined || egress === undefined) throw new RangeError("two gresses are compiled");
  for (const [name, set] of egress.valueSets) ingress.valueSets.get(name)?.followers.push(set);
  const both = <T>(of: (engine: Engine) => ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
    new Map([...of(ingress), ...of(egress)]);
  const mirrors = (gress: Gress, { layout }: Engine): ReadonlyMap<number, AddedHeader> =>
    new Map(
      document.mirrors
        .filter((m) => m.gress === gress)
        .map((m) => [m.number, new AddedHeader(m, document, layout)]),
    );
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
    mirrors: { ingress: mirrors("ingress", ingress), egress: mirrors("egress", egress) },
    resubmits: new Map(
      document.resubmits.map((r) => [r.number, new AddedHeader(r, document, ingress.layout)]),
    ),
  };
}

/** The switch serves queues by their numbers. */
function checkQueues(queues: readonly Queue[]): void {
  const ordered = queues.filter((q) => q.priority !== undefined).sort((a, b) => a.number - b.number);
  ordered.forEach((q, i) => {
    const weaker = ordered[i - 1];
    if (weaker?.priority !== undefined && (q.priority ?? 0) < weaker.priority)
      throw new SwitchConfigError(
        "UNSUPPORTED",
        "queues",
        `queue ${q.number} is weaker than queue ${weaker.number}; the switch serves greater numbers first`,
      );
  });
}
