import type {
  Action,
  Block,
  Control,
  Expression,
  HeaderType,
  Program,
  RegisterUpdate,
  Statement,
  StraightStatement,
  Table,
} from "../../ir/index.ts";
import { NO_ACTION } from "../../ir/index.ts";
import { BackendError } from "../backenderror.ts";
import type { Names } from "../p4text/names.ts";
import { type ControlIdentifiers, type Identifiers, identifier, identifiers } from "./identifiers.ts";
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
import { rewrite, some } from "./rewrite.ts";
import { asIndex, fromStorage, storageType, toStorage } from "./storage.ts";

/**
 * Brings a checked program into the form that v1model has.
 *
 * @throws BackendError when an object is used outside its control.
 */
export function lower(program: Program): LoweredProgram {
  const ids = identifiers(program);
  const headerTypes = new Map(program.headerTypes.map((t) => [t.name, headerType(t, program, ids)]));
  return {
    source: program,
    headerTypes: [...headerTypes.values()],
    headers: program.headers.map((h) => {
      const type = headerTypes.get(h.headerType);
      if (type === undefined)
        throw new BackendError(
          "GP2001",
          "v1model",
          `header ${h.name} has the unknown type ${h.headerType}`,
          h.at,
        );
      return { name: h.name, type };
    }),
    controls: program.controls.map((c) => new ControlLowering(c, ids).lower()),
    ingress: pipeline("ingress", program.ingress, ids),
    egress: pipeline("egress", program.egress, ids),
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

function pipeline(gress: Gress, block: Block, ids: Identifiers): LoweredPipeline {
  const lowering = new BlockLowering(gress, ids, undefined);
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

  constructor(control: Control, ids: Identifiers) {
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
      actions: c.actions.map((a) => this.#action(a)),
      tables: c.tables.map((t) => this.#table(t)),
      block: new BlockLowering(c.gress, this.#ids, c).block(c.apply),
    };
  }

  #action(action: Action): LoweredAction {
    const parameters = action.parameters.map((p): Local => ({ ...p, type: storageType(p.type) }));
    const scope = this.#own.scope.inner();
    const straight = new StraightLowering(this.#control, this.#own, scope);
    return {
      name: action.name,
      local: identifier(this.#own.actions, action.name, "action", this.#control.name),
      ...(action.doc === undefined ? {} : { doc: action.doc }),
      parameters,
      steps: straight.steps(action.body),
    };
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
    return {
      ...table,
      local: identifier(this.#own.tables, table.name, "table", this.#control.name),
      actions,
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

  constructor(gress: Gress, ids: Identifiers, control: Control | undefined) {
    this.#gress = gress;
    this.#ids = ids;
    this.#control = control;
    const own = control === undefined ? undefined : controlOf(ids, control.name);
    this.#straight = new StraightLowering(control, own, own?.scope.inner());
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

/** Straight-line code of one scope: an action's body, or what stands in a control's apply. */
class StraightLowering {
  readonly #owner: string;
  readonly #control: Control | undefined;
  readonly #own: ControlIdentifiers | undefined;
  readonly #names: Names | undefined;

  constructor(control: Control | undefined, own: ControlIdentifiers | undefined, names: Names | undefined) {
    this.#owner = control?.name ?? "the pipeline";
    this.#control = control;
    this.#own = own;
    this.#names = names;
  }

  steps(statements: readonly StraightStatement[]): readonly Step[] {
    const out: Step[] = [];
    let updates: (readonly Step[])[] = [];
    const flush = (): void => {
      if (updates.length > 0) out.push({ kind: "atomic", updates });
      updates = [];
    };
    for (const s of statements) {
      if (s.kind === "registerUpdate") {
        updates.push(this.#update(s));
        continue;
      }
      flush();
      out.push(this.#step(s));
    }
    flush();
    return out;
  }

  #step(s: Exclude<StraightStatement, RegisterUpdate>): Step {
    switch (s.kind) {
      case "assign":
        return { kind: "assign", target: s.target, value: typedParameters(s.value) };
      case "setValidity":
        return s;
      case "count":
        return {
          kind: "count",
          counter: s.counter,
          counterLocal: identifier(this.#own?.counters ?? new Map(), s.counter, "counter", this.#owner),
          index: asIndex(typedParameters(s.index)),
        };
      case "drop":
        return { kind: "drop" };
      case "clone":
        return { kind: "clone", session: asIndex(typedParameters(s.session)) };
    }
  }

  /** Read, compute, write, hand out. A value that is used twice goes to a local variable, once only in place. */
  #update(s: RegisterUpdate): readonly Step[] {
    const registerLocal = identifier(this.#own?.registers ?? new Map(), s.register, "register", this.#owner);
    const register = this.#control?.registers.find((r) => r.name === s.register);
    const names = this.#names;
    if (register === undefined || names === undefined)
      throw new BackendError("GP2001", "v1model", `the program has no register ${s.register}`, s.at);
    const steps: Step[] = [];
    const declare = (part: string, type: Local["type"], value?: Expression): Local => {
      const local = { name: names.take(`${registerLocal}_${part}`), type };
      steps.push({ kind: "declare", local, ...(value === undefined ? {} : { value }) });
      return local;
    };

    const rawIndex = asIndex(typedParameters(s.index));
    const index = isSimple(rawIndex) ? rawIndex : reference(declare("index", rawIndex.type, rawIndex));

    const outputUses = (which: "old" | "next"): boolean =>
      s.output !== undefined && some(s.output, (e) => e.kind === "memory" && e.which === which);
    const keepsValue = s.next.kind === "memory" && s.next.which === "old";
    const needsOld =
      outputUses("old") ||
      (keepsValue && outputUses("next")) ||
      (!keepsValue && some(s.next, (e) => e.kind === "memory" && e.which === "old"));
    let old: Expression | undefined;
    if (needsOld) {
      const into = declare("old", storageType(register.type));
      steps.push({ kind: "read", register: s.register, registerLocal, into, index });
      old = fromStorage(reference(into), register.type);
    }
    const resolve = (e: Expression, next: Expression | undefined): Expression =>
      rewrite(typedParameters(e), (node) =>
        node.kind === "memory" ? (node.which === "old" ? old : next) : undefined,
      );

    let next = resolve(s.next, undefined);
    if (!keepsValue) {
      if (outputUses("next") && !isSimple(next)) next = reference(declare("next", register.type, next));
      steps.push({ kind: "write", register: s.register, registerLocal, index, value: toStorage(next) });
    }
    if (s.output !== undefined && s.into !== undefined)
      steps.push({ kind: "assign", target: s.into, value: resolve(s.output, next) });
    return steps;
  }
}

/** Parameters as the program declares them; the stored ones are unsigned. */
function typedParameters(e: Expression): Expression {
  return rewrite(e, (node) =>
    node.kind === "parameter" ? fromStorage({ ...node, type: storageType(node.type) }, node.type) : undefined,
  );
}

function reference(local: Local): Expression {
  return { kind: "parameter", name: local.name, type: local.type };
}

/** A value that costs nothing to write twice. */
function isSimple(e: Expression): boolean {
  if (e.kind === "cast") return e.type.kind === "bit" && e.operand.type.kind === "bit" && isSimple(e.operand);
  return e.kind === "constant" || e.kind === "field" || e.kind === "metadata" || e.kind === "parameter";
}
