import type {
  Action,
  ActionProfile,
  Block,
  Control,
  HeaderType,
  Program,
  SourceLocation,
  Statement,
  StraightStatement,
  Table,
} from "../../ir/index.ts";
import { annotationsOf, forTarget, NO_ACTION, unionsOf } from "../../ir/index.ts";
import { BackendError } from "../backenderror.ts";
import { type ControlIdentifiers, type Identifiers, identifier, identifiers } from "../p4text/identifiers.ts";
import { loweredChecksums } from "./checksums.ts";
import type {
  ActionReference,
  Gress,
  Instance,
  Local,
  LoweredAction,
  LoweredBlock,
  LoweredControl,
  LoweredHeaderType,
  LoweredPipeline,
  LoweredProgram,
  LoweredStatement,
  LoweredTable,
  Step,
} from "./lowered.ts";
import { StraightLowering } from "./lowerstraight.ts";
import { Passes } from "./passes.ts";
import { storageType, toStorage } from "./storage.ts";

/**
 * Brings a checked program into the form that v1model has.
 *
 * @throws BackendError when an object is used outside its control.
 */
export function lower(source: Program): LoweredProgram {
  const program = forTarget(source, "v1model");
  const ids = identifiers(program);
  const headerTypes = new Map(program.headerTypes.map((t) => [t.name, headerType(t, program, ids)]));
  const typeOf = (name: string, wanted: string, at: SourceLocation | undefined): LoweredHeaderType => {
    const type = headerTypes.get(wanted);
    if (type !== undefined) return type;
    throw new BackendError("GP2001", "v1model", `header ${name} has the unknown type ${wanted}`, at);
  };
  const sums = loweredChecksums(program);
  const passes = new Passes(program);
  const egress = pipeline("egress", program.egress, ids, passes);
  return {
    source: program,
    headerTypes: [...headerTypes.values()],
    headers: program.headers.map((h) => ({
      name: h.name,
      type: typeOf(h.name, h.headerType, h.at),
      ...(h.elements === undefined ? {} : { elements: h.elements }),
    })),
    unions: unionsOf(program).map((u) => ({
      name: u.name,
      type: ids.unionTypes.get(u.name) ?? u.name,
      members: u.members.map((m) => ({ name: m.name, type: typeOf(u.name, m.headerType, u.at) })),
    })),
    metadata: [...program.metadata, ...sums.metadata, ...passes.metadata],
    fieldLists: passes.lists,
    valueSetTypes: ids.valueSetTypes,
    checksums: sums,
    controls: program.controls.map((c) => new ControlLowering(c, ids, passes).lower()),
    ingress: pipeline("ingress", program.ingress, ids, passes),
    egress: { ...egress, block: [...passes.egress(), ...egress.block] },
    ...rejectState(program),
  };
}

function headerType(type: HeaderType, program: Program, ids: Identifiers): LoweredHeaderType {
  const typeOf = (instance: string | undefined) =>
    program.headers.find((h) => h.name === instance)?.headerType;
  const controllerHeader =
    typeOf(program.packetIn) === type.name
      ? "packet_in"
      : typeOf(program.packetOut) === type.name
        ? "packet_out"
        : undefined;
  return {
    ...type,
    name: ids.headerTypes.get(type.name) ?? type.name,
    ...(controllerHeader === undefined ? {} : { controllerHeader }),
  };
}

function rejectState(program: Program): { readonly rejectState?: string } {
  const targets = program.parser.flatMap(({ transition: t }) =>
    t.kind === "goto" ? [t.next] : [...t.cases.map((c) => c.next), t.otherwise],
  );
  if (!targets.includes("reject")) return {};
  let name = "reject_packet";
  while (program.parser.some((s) => s.name === name)) name = `${name}_`;
  return { rejectState: name };
}

function pipeline(gress: Gress, block: Block, ids: Identifiers, passes: Passes): LoweredPipeline {
  const lowering = new BlockLowering(gress, ids, undefined, passes);
  return { gress, block: lowering.block(block), instances: instancesOf(block, ids) };
}

/** The controls that a block applies, in order of first use. */
function instancesOf(block: Block, ids: Identifiers): readonly Instance[] {
  const found = new Map<string, Instance>();
  const visit = (b: Block): void => {
    for (const s of b) {
      if (s.kind === "if") {
        visit(s.whenTrue);
        visit(s.whenFalse);
      } else if (s.kind === "applyTable") {
        visit(s.hit);
        visit(s.miss);
      } else if (s.kind === "applyControl") {
        const id = controlOf(ids, s.control);
        found.set(s.control, { control: s.control, type: id.type, name: id.instance });
      }
    }
  };
  visit(block);
  return [...found.values()];
}

function controlOf(ids: Identifiers, name: string): ControlIdentifiers {
  const found = ids.controls.get(name);
  if (found === undefined) throw new BackendError("GP2001", "v1model", `the program has no control ${name}`);
  return found;
}

class ControlLowering {
  readonly #control: Control;
  readonly #own: ControlIdentifiers;
  readonly #ids: Identifiers;
  readonly #passes: Passes;

  constructor(control: Control, ids: Identifiers, passes: Passes) {
    this.#passes = passes;
    this.#control = control;
    this.#ids = ids;
    this.#own = controlOf(ids, control.name);
  }

  lower(): LoweredControl {
    const c = this.#control;
    const own = this.#own;
    return {
      name: c.name,
      type: own.type,
      ...(c.doc === undefined ? {} : { doc: c.doc }),
      ...(c.annotations === undefined ? {} : { annotations: c.annotations }),
      gress: c.gress,
      instances: instancesOf(c.apply, this.#ids),
      registers: c.registers.map((r) => ({
        ...r,
        local: identifier(own.registers, r.name, "register", c.name),
        storage: storageType(r.type),
      })),
      counters: c.counters.map((counter) => ({
        ...counter,
        local: identifier(own.counters, counter.name, "counter", c.name),
      })),
      directCounters: c.tables.flatMap((t) =>
        t.directCounter === undefined
          ? []
          : [
              {
                name: t.directCounter,
                local: identifier(own.counters, t.directCounter, "counter", c.name),
                table: t.name,
              },
            ],
      ),
      meters: c.meters.map((m) => ({ ...m, local: identifier(own.meters, m.name, "meter", c.name) })),
      directMeters: c.tables.flatMap((t) =>
        t.directMeter === undefined
          ? []
          : [
              {
                ...t.directMeter,
                local: this.#meter(t.directMeter.name),
                table: t.name,
                // BMv2 asks for as many as its table has entries.
                size: t.constEntries.length > 0 ? t.constEntries.length : t.size,
              },
            ],
      ),
      digests: c.digests.map((d) => ({ ...d, type: identifier(own.digests, d.name, "digest", c.name) })),
      actionProfiles: c.actionProfiles.map((p) => this.#profile(p)),
      actions: c.actions.map((a) => this.#action(a)),
      tables: c.tables.map((t) => this.#table(t)),
      block: new BlockLowering(c.gress, this.#ids, c, this.#passes).block(c.apply),
    };
  }

  #meter(name: string): string {
    return identifier(this.#own.meters, name, "meter", this.#control.name);
  }

  #profile(profile: ActionProfile): LoweredControl["actionProfiles"][number] {
    const { actionProfiles } = this.#own;
    return {
      ...profile,
      local: identifier(actionProfiles, profile.name, "action profile", this.#control.name),
    };
  }

  #action(action: Action): LoweredAction {
    const parameters = action.parameters.map((p): Local => ({ ...p, type: storageType(p.type) }));
    const scope = this.#own.scope.inner();
    const straight = new StraightLowering(this.#control, this.#own, scope, this.#passes);
    return {
      name: action.name,
      local: identifier(this.#own.actions, action.name, "action", this.#control.name),
      ...(action.doc === undefined ? {} : { doc: action.doc }),
      ...annotationsOf(action),
      parameters,
      steps: [...this.#metering(action), ...straight.steps(action.body)],
    };
  }

  #metering({ name }: Action): readonly Step[] {
    const meter = this.#control.tables.find((t) => t.actions.includes(name))?.directMeter;
    return meter === undefined
      ? []
      : [{ kind: "readMeter", meterLocal: this.#meter(meter.name), into: meter.into }];
  }

  #table(table: Table): LoweredTable {
    const reference = (name: string, defaultOnly: boolean): ActionReference => ({
      name,
      local:
        name === NO_ACTION ? NO_ACTION : identifier(this.#own.actions, name, "action", this.#control.name),
      defaultOnly,
    });
    const actions = table.actions.map((a) => reference(a, false));
    if (!table.actions.includes(table.defaultAction.action))
      actions.push(reference(table.defaultAction.action, true));
    const profile = this.#control.actionProfiles.find((p) => p.name === table.implementation);
    return {
      ...table,
      local: identifier(this.#own.tables, table.name, "table", this.#control.name),
      actions,
      ...(table.directMeter === undefined ? {} : { directMeterLocal: this.#meter(table.directMeter.name) }),
      ...(profile === undefined ? {} : { profile: this.#profile(profile) }),
      ...(table.directCounter === undefined
        ? {}
        : {
            directCounterLocal: identifier(
              this.#own.counters,
              table.directCounter,
              "counter",
              this.#control.name,
            ),
          }),
    };
  }
}

class BlockLowering {
  readonly #gress: Gress;
  readonly #ids: Identifiers;
  readonly #control: Control | undefined;
  readonly #straight: StraightLowering;

  constructor(gress: Gress, ids: Identifiers, control: Control | undefined, passes: Passes) {
    this.#gress = gress;
    this.#ids = ids;
    this.#control = control;
    const own = control === undefined ? undefined : controlOf(ids, control.name);
    this.#straight = new StraightLowering(control, own, own?.scope.inner(), passes);
  }

  block(block: Block): LoweredBlock {
    const out: LoweredStatement[] = [];
    let run: StraightStatement[] = [];
    const flush = (): void => {
      if (run.length > 0) out.push({ kind: "steps", steps: this.#straight.steps(run) });
      run = [];
    };
    for (const s of block) {
      if (isStraight(s)) {
        run.push(s);
        continue;
      }
      flush();
      out.push(this.#statement(s));
    }
    flush();
    return out;
  }

  #statement(s: Exclude<Statement, StraightStatement>): LoweredStatement {
    const owner = this.#control?.name ?? this.#gress;
    const own = this.#control === undefined ? undefined : controlOf(this.#ids, this.#control.name);
    switch (s.kind) {
      case "if":
        return {
          kind: "if",
          condition: s.condition,
          whenTrue: this.block(s.whenTrue),
          whenFalse: this.block(s.whenFalse),
        };
      case "applyTable":
        return {
          kind: "applyTable",
          table: s.table,
          local: identifier(own?.tables ?? new Map(), s.table, "table", owner),
          hit: this.block(s.hit),
          miss: this.block(s.miss),
        };
      case "applyControl":
        return {
          kind: "applyControl",
          control: s.control,
          instance: controlOf(this.#ids, s.control).instance,
        };
      case "callAction":
        return {
          kind: "callAction",
          action: s.action,
          local:
            s.action === NO_ACTION
              ? NO_ACTION
              : identifier(own?.actions ?? new Map(), s.action, "action", owner),
          arguments: s.arguments.map(toStorage),
        };
      case "exit":
        return { kind: "exit" };
    }
  }
}

function isStraight(s: Statement): s is StraightStatement {
  return !["if", "applyTable", "applyControl", "callAction", "exit"].includes(s.kind);
}
