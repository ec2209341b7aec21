import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { Expression as EngineExpression } from "../bmv2json/program.ts";
import type { Calculations } from "./calculations.ts";
import { algorithmOf } from "./calculations.ts";
import type {
  Action,
  CellStatement,
  Control,
  Expression,
  Register,
  StatefulProgram,
  Step,
  Target,
  Unit,
} from "./document.ts";
import type { Fields } from "./fields.ts";
import { Primitives } from "./primitives.ts";
import { binary, constant, data, isPlace, type Locals, place, type ValueScope, value } from "./values.ts";

const BIT = { kind: "bit", width: 1 } as const;

/** Hidden field: 0, or the number of a rule that the packet broke on its way through this gress. */
export const BROKEN_RULE = "broken_rule";
const BROKEN_RULE_TYPE = { kind: "bit", width: 16 } as const;

/** What the actions of one gress share. */
export interface ActionParts {
  readonly fields: Fields;
  readonly calculations: Calculations;
  /** Registers of which the load cannot tell that a packet meets them once; by name, with the number of the rule. */
  readonly watched: ReadonlyMap<string, number>;
}

/** The control around an action; undefined for those of the gress itself. */
export type Owner = Control | undefined;

/** Writes the primitives of actions and of straight-line code. */
export class ActionTranslator {
  readonly #parts: ActionParts;
  readonly #owner: Owner;
  readonly #prefix: string;
  readonly #parameters: ReadonlyMap<string, EngineExpression>;
  readonly #variables = new Map<string, EngineExpression>();
  readonly #updates: ReadonlyMap<string, StatefulProgram>;
  readonly #units: ReadonlyMap<string, Unit>;
  readonly #scope: ValueScope;
  readonly out: Primitives;

  /** @param prefix in front of the names of variables: what tells this action from others. */
  constructor(
    parts: ActionParts,
    owner: Owner,
    action: Pick<Action, "updates" | "units"> & { readonly path: string },
    prefix: string,
    parameters: ReadonlyMap<string, EngineExpression>,
    out: Primitives = new Primitives(action.path),
  ) {
    this.#parts = parts;
    this.#owner = owner;
    this.#prefix = prefix;
    this.#parameters = parameters;
    this.#updates = new Map(action.updates.map((u) => [u.local, u]));
    this.#units = new Map(action.units.map((u) => [u.local, u]));
    const locals: Locals = (name) => this.#parameters.get(name) ?? this.#variables.get(name);
    this.#scope = { fields: parts.fields, locals };
    this.out = out;
  }

  steps(steps: readonly Step[]): void {
    for (const s of steps) this.#step(s);
  }

  #step(s: Step): void {
    const { out } = this;
    switch (s.kind) {
      case "assign":
        this.#declare(s.target);
        out.store(s.target, data(s.value, this.#scope), this.#scope);
        return;
      case "invalidate":
        if (s.field !== "ig_tm_md.ucast_egress_port")
          throw new SwitchConfigError("UNSUPPORTED", s.path, `${s.field} cannot be made invalid`);
        out.assign(
          this.#parts.fields.ofArchitecture("ig_tm_md.ucast_valid", true, s.path),
          constant(0n, s.path),
        );
        return;
      case "setValidity":
        out.add(s.valid ? "add_header" : "remove_header", {
          kind: "header",
          name: this.#parts.fields.header(s.header, s.path),
          path: s.path,
        });
        return;
      case "count": {
        const name = this.#object("counters", s.counter, s.path);
        out.add("count", { kind: "named", object: "counter_array", name, path: s.path }, this.#data(s.index));
        return;
      }
      case "directCount":
        // The engine counts hits of the table itself.
        this.#object("directCounters", s.counter, s.path);
        return;
      case "hash":
        this.#hash(s);
        return;
      case "random": {
        const unit = this.#unit("random", s.unit, s.path);
        const most = (1n << BigInt(unit.bits)) - 1n;
        out.through(s.into, this.#scope, (into) =>
          out.add("modify_field_rng_uniform", into, constant(0n, s.path), constant(most, s.path)),
        );
        return;
      }
      case "meter":
        this.#meter(s);
        return;
      case "execute":
        this.#execute(s);
        return;
    }
  }

  #data(e: Expression): EngineExpression {
    return data(e, this.#scope);
  }

  /** A variable comes to be where it is first written. */
  #declare(t: Target): void {
    if (t.kind !== "local" || this.#scope.locals(t.name) !== undefined) return;
    this.#variables.set(t.name, this.#parts.fields.hidden(`${this.#prefix}.${t.name}`, t.type));
  }

  #object(
    kind: "counters" | "directCounters" | "meters" | "directMeters",
    local: string,
    path: string,
  ): string {
    const found = (this.#owner?.[kind] ?? []).find((o) => o.local === local);
    if (found !== undefined) return found.name;
    throw new SwitchConfigError(
      "UNKNOWN_NAME",
      path,
      `the control has nothing called "${local}" among its ${kind}`,
    );
  }

  #unit<K extends Unit["kind"]>(kind: K, local: string, path: string): Extract<Unit, { readonly kind: K }> {
    const found = this.#units.get(local);
    // The kind is the one asked for, which the compiler cannot see of a generic one.
    if (found?.kind === kind) return found as Extract<Unit, { readonly kind: K }>;
    throw new SwitchConfigError("UNKNOWN_NAME", path, `the action has no ${kind} unit "${local}"`);
  }

  #hash(s: Extract<Step, { kind: "hash" }>): void {
    const unit = this.#unit("hash", s.unit, s.path);
    const inputs = s.fields.map((f) => {
      if (f.kind === "constant") return f;
      const read = isPlace(f) ? place(f, this.#scope, false) : undefined;
      if (read?.kind === "field") return read;
      const held = this.#parts.fields.temporary(f.type.kind === "bool" ? BIT : f.type);
      this.out.assign(held, this.#data(f));
      return held;
    });
    const name = this.#parts.calculations.add(algorithmOf(unit.algorithm, unit.path), inputs, s.path);
    this.out.through(s.into, this.#scope, (into) =>
      this.out.add(
        "modify_field_with_hash_based_offset",
        into,
        constant(0n, s.path),
        { kind: "named", object: "calculation", name, path: s.path },
        constant(1n << BigInt(unit.bits), s.path),
      ),
    );
  }

  #meter(s: Extract<Step, { kind: "meter" }>): void {
    const { out } = this;
    if (s.index === undefined) {
      // On a hit the engine has metered before the action, into a field of its own.
      const local = (this.#owner?.directMeters ?? []).find((m) => m.local === s.meter);
      const name = local?.name ?? this.#object("directMeters", s.meter, s.path);
      out.store(s.into, this.#parts.fields.hidden(colourOf(name), COLOUR), this.#scope);
      return;
    }
    const name = this.#object("meters", s.meter, s.path);
    const index = this.#data(s.index);
    out.through(s.into, this.#scope, (into) =>
      out.add("execute_meter", { kind: "named", object: "meter_array", name, path: s.path }, index, into),
    );
  }

  // ---------------------------------------------------------------- stateful ALUs

  #execute(s: Extract<Step, { kind: "execute" }>): void {
    const { out } = this;
    const update = this.#updates.get(s.update);
    if (update === undefined)
      throw new SwitchConfigError("UNKNOWN_NAME", s.path, `the action has no stateful program "${s.update}"`);
    const register = this.#owner?.registers.find((r) => r.local === update.register);
    if (register === undefined)
      throw new SwitchConfigError(
        "UNKNOWN_NAME",
        update.path,
        `the control has no register "${update.register}"`,
      );
    const rule = this.#parts.watched.get(register.name);
    if (rule === undefined) {
      this.#run(s, update, register);
      return;
    }
    const { path } = s;
    const touched = this.#parts.fields.hidden(`touched.${register.name}`, BIT);
    out.choose(
      binary("==", touched, constant(0n, path), path),
      () => {
        out.assign(touched, constant(1n, path));
        this.#run(s, update, register);
      },
      () =>
        out.assign(this.#parts.fields.hidden(BROKEN_RULE, BROKEN_RULE_TYPE), constant(BigInt(rule), path)),
    );
  }

  /** Read, compute, write, hand out: the packet sees all of it at once. */
  #run(s: Extract<Step, { kind: "execute" }>, update: StatefulProgram, register: Register): void {
    const { out } = this;
    const { path } = s;
    const { fields } = this.#parts;
    const { kind, width } = register.type;
    const cell = fields.hidden(`cell_${kind}${width}`, register.type);
    const array = { kind: "named", object: "register_array", name: register.name, path } as const;
    const index = this.#data(s.index);
    // A cell that is not there reads as 0.
    if (reaches(s.index) >= register.size) out.assign(cell, constant(0n, path));
    out.add("register_read", cell, array, index);
    const type = update.outputType ?? register.type;
    const result = fields.hidden(`result_${type.kind}${type.width}`, type);
    if (s.into !== undefined && !setsResultFirst(update.body)) out.assign(result, constant(0n, path));
    this.#cell(update.body, cell, result);
    if (writesCell(update.body)) out.add("register_write", array, index, cell);
    if (s.into === undefined) return;
    this.#declare(s.into);
    out.store(s.into, result, this.#scope);
  }

  #cell(body: readonly CellStatement[], cell: EngineExpression, result: EngineExpression): void {
    const scope = { ...this.#scope, memory: cell };
    for (const s of body) {
      if (s.kind === "set") {
        this.out.assign(s.target === "value" ? cell : result, data(s.value, scope));
        continue;
      }
      const otherwise = s.whenFalse.length === 0 ? undefined : () => this.#cell(s.whenFalse, cell, result);
      this.out.choose(value(s.condition, scope), () => this.#cell(s.whenTrue, cell, result), otherwise);
    }
  }
}

const COLOUR = { kind: "bit", width: 2 } as const;

/** Hidden field with the colour that a direct meter gave. */
export function colourOf(meter: string): string {
  return `colour.${meter}`;
}

export function colourField(fields: Fields, meter: string): EngineExpression {
  return fields.hidden(colourOf(meter), COLOUR);
}

/** The largest value that an index can have. */
function reaches(index: Expression): number {
  return index.kind === "constant" ? Number(index.value) : 2 ** index.type.width - 1;
}

/** What is handed out is 0 where nothing is said. */
function setsResultFirst(body: readonly CellStatement[]): boolean {
  const first = body.find((s) => s.kind === "if" || s.target === "result");
  const last = body.at(-1);
  return first?.kind === "set" || (last?.kind === "set" && last.target === "result");
}

function writesCell(body: readonly CellStatement[]): boolean {
  return body.some((s) =>
    s.kind === "set" ? s.target === "value" : writesCell(s.whenTrue) || writesCell(s.whenFalse),
  );
}
