import type { Expression } from "../../../ir/index.ts";
import { NO_ACTION } from "../../../ir/index.ts";
import { BackendError } from "../../backenderror.ts";
import type { Gress, LoweredBlock, LoweredControl, LoweredTable } from "../lowered.ts";
import type { Actions } from "./actionlist.ts";
import { ActionScope, type Parts, primitives } from "./actions.ts";
import type { JsonObject } from "./json.ts";
import { bmv2Match, hiddenTable, tableJson } from "./tables.ts";
import { argument, place, SCALARS, value } from "./values.ts";

/** A control-flow step, before it is known what follows it. */
type Node =
  | { readonly kind: "run"; readonly name: string; readonly action: string }
  | {
      readonly kind: "table";
      readonly table: LoweredTable;
      readonly control: LoweredControl;
      readonly key: readonly JsonObject[];
      readonly hit: readonly Node[];
      readonly miss: readonly Node[];
    }
  | {
      readonly kind: "if";
      readonly name: string;
      readonly condition: JsonObject;
      readonly whenTrue: readonly Node[];
      readonly whenFalse: readonly Node[];
    }
  | { readonly kind: "exit" };

interface Ids {
  tables: number;
  conditionals: number;
  actionProfiles: number;
}

/** Turns a pipeline's block, with its controls put in place, into BMv2's graph of tables and conditionals. */
export class PipelineWriter {
  readonly #gress: Gress;
  readonly #controls: ReadonlyMap<string, LoweredControl>;
  readonly #actions: Actions;
  readonly #parts: Parts;
  readonly #ids: Ids;
  readonly #tables = new Map<string, JsonObject>();
  readonly #conditionals: JsonObject[] = [];
  readonly #actionProfiles = new Map<string, JsonObject>();
  #steps = 0;
  #nodes = 0;

  constructor(
    gress: Gress,
    controls: ReadonlyMap<string, LoweredControl>,
    actions: Actions,
    parts: Parts,
    ids: Ids,
  ) {
    this.#gress = gress;
    this.#controls = controls;
    this.#actions = actions;
    this.#parts = parts;
    this.#ids = ids;
  }

  write(block: LoweredBlock, id: number): JsonObject {
    const nodes = this.#block(block, undefined);
    const start = this.#link(nodes, null);
    return {
      name: this.#gress,
      id,
      init_table: start,
      tables: [...this.#tables.values()],
      action_profiles: [...this.#actionProfiles.values()],
      conditionals: this.#conditionals,
    };
  }

  #block(block: LoweredBlock, control: LoweredControl | undefined): readonly Node[] {
    const out: Node[] = [];
    let run: JsonObject[] = [];
    let scope = this.#scope(control);
    const flush = (): void => {
      if (run.length > 0) out.push(this.#run(run, control));
      run = [];
      scope = this.#scope(control);
    };
    for (const s of block) {
      switch (s.kind) {
        case "steps":
          run.push(...primitives(s.steps, scope));
          break;
        case "callAction":
          run.push(...this.#call(s.action, s.arguments, control, scope));
          break;
        case "exit":
          flush();
          out.push({ kind: "exit" });
          // What follows an exit is never reached.
          return out;
        case "if":
          flush();
          out.push({
            kind: "if",
            name: `node_${this.#gress}_${this.#nodes++}`,
            condition: value(s.condition, this.#scope(control)),
            whenTrue: this.#block(s.whenTrue, control),
            whenFalse: this.#block(s.whenFalse, control),
          });
          break;
        case "applyTable": {
          const table = control?.tables.find((t) => t.name === s.table);
          if (control === undefined || table === undefined)
            throw new BackendError("GP2001", "v1model", `the program has no table ${s.table}`);
          const { before, key } = this.#key(table, scope);
          run.push(...before);
          flush();
          out.push({
            kind: "table",
            table,
            control,
            key,
            hit: this.#block(s.hit, control),
            miss: this.#block(s.miss, control),
          });
          break;
        }
        case "applyControl": {
          const inner = this.#controls.get(s.control);
          if (inner === undefined)
            throw new BackendError("GP2001", "v1model", `the program has no control ${s.control}`);
          flush();
          out.push(...this.#block(inner.block, inner));
          break;
        }
      }
    }
    flush();
    return out;
  }

  #scope(control: LoweredControl | undefined): ActionScope {
    return new ActionScope(this.#gress, control?.name ?? this.#gress, this.#parts, []);
  }

  /** Straight-line code becomes an action of a table without key, which BMv2 runs as it comes by. */
  #run(body: readonly JsonObject[], control: LoweredControl | undefined): Node {
    const name = `${control?.name ?? this.#gress}_${this.#steps++}`;
    const action = `act_${this.#gress}_${name}`;
    this.#actions.add(action, [], body);
    return { kind: "run", name: `tbl_${this.#gress}_${name}`, action };
  }

  /** A direct call: the action's body with its parameters bound. */
  #call(
    name: string,
    args: readonly Expression[],
    control: LoweredControl | undefined,
    caller: ActionScope,
  ): readonly JsonObject[] {
    if (name === NO_ACTION) return [];
    const action = control?.actions.find((a) => a.name === name);
    if (action === undefined)
      throw new BackendError("GP2001", "v1model", `the program has no action ${name}`);
    const scope = new ActionScope(this.#gress, action.name, this.#parts, []);
    const before: JsonObject[] = [];
    action.parameters.forEach((p, i) => {
      const arg = args[i];
      if (arg === undefined)
        throw new BackendError("GP2001", "v1model", `${name} is called without ${p.name}`);
      if (arg.kind === "constant") {
        scope.bind(p.name, { kind: "constant", value: arg.value, type: p.type });
        return;
      }
      const field = this.#parts.scalars.field(`${action.name}.${p.name}`, p.type);
      before.push({
        op: "assign",
        parameters: [{ type: "field", value: [SCALARS, field] }, argument(arg, caller)],
      });
      scope.bind(p.name, { kind: "scalar", field });
    });
    return [...before, ...primitives(action.steps, scope)];
  }

  /** Keys name fields only; what has to be computed goes to a temporary first. */
  #key(
    table: LoweredTable,
    scope: ActionScope,
  ): { before: readonly JsonObject[]; key: readonly JsonObject[] } {
    const before: JsonObject[] = [];
    const key = table.key.map((k) => {
      let target = place(k.expression, scope);
      if (target === undefined) {
        target = [SCALARS, this.#parts.scalars.temporary(k.expression.type)];
        before.push({
          op: "assign",
          parameters: [{ type: "field", value: target }, argument(k.expression, scope)],
        });
      }
      return { match_type: bmv2Match(k.match), name: k.name, target, mask: null };
    });
    return { before, key };
  }

  /** Gives each node its successors; answers the name of the first, or `next` when there is none. */
  #link(nodes: readonly Node[], next: string | null): string | null {
    const names = nodes.map((n) => nodeName(n));
    nodes.forEach((n, i) => {
      const after = i + 1 < nodes.length ? (names[i + 1] ?? null) : next;
      this.#emit(n, after);
    });
    return nodes.length === 0 ? next : (names[0] ?? null);
  }

  #emit(node: Node, next: string | null): void {
    switch (node.kind) {
      case "exit":
        return;
      case "run":
        this.#tables.set(
          node.name,
          hiddenTable(node, this.#ids.tables++, this.#actions.id(node.action), next),
        );
        return;
      case "if": {
        const at = this.#conditionals.length;
        const id = this.#ids.conditionals++;
        // The place is taken before the branches are written, so that conditionals stand in program order.
        this.#conditionals.push({});
        this.#conditionals[at] = {
          name: node.name,
          id,
          expression: node.condition,
          true_next: this.#link(node.whenTrue, next),
          false_next: this.#link(node.whenFalse, next),
        };
        return;
      }
      case "table":
        this.#emitTable(node, next);
    }
  }

  #emitProfile({ profile }: LoweredTable): void {
    if (profile === undefined || this.#actionProfiles.has(profile.name)) return;
    const { name, size, selector } = profile;
    const scope = this.#scope(undefined);
    const chosen =
      selector === undefined
        ? {}
        : {
            selector: {
              algo: selector.algorithm,
              input: selector.keys.map((k) => selectorKey(k, scope)),
            },
          };
    this.#actionProfiles.set(name, { name, id: this.#ids.actionProfiles++, max_size: size, ...chosen });
  }

  #emitTable(node: Extract<Node, { kind: "table" }>, next: string | null): void {
    this.#emitProfile(node.table);
    const branches = node.hit.length > 0 || node.miss.length > 0;
    const known = this.#tables.get(node.table.name);
    const id = known === undefined ? this.#ids.tables++ : Number(known.id);
    // The place is taken before the branches are written, so that tables stand in program order.
    if (known === undefined) this.#tables.set(node.table.name, {});
    const nextTables: JsonObject = branches
      ? { __HIT__: this.#link(node.hit, next), __MISS__: this.#link(node.miss, next) }
      : Object.fromEntries(node.table.actions.map((a) => [a.name, next]));
    const json = tableJson(node, this.#actions, id, branches ? null : next, nextTables);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(json))
      throw new BackendError(
        "GP2003",
        "v1model",
        `table ${node.table.name} is applied in two places with different steps after it; BMv2 knows one successor of a table`,
        node.table.at,
      );
    this.#tables.set(node.table.name, json);
  }
}

function selectorKey(key: Expression, scope: ActionScope): JsonObject {
  const at = place(key, scope);
  if (at === undefined)
    throw new BackendError("GP2004", "v1model", "a key of a selector is no field", key.at);
  return { type: "field", value: at };
}

function nodeName(node: Node): string | null {
  switch (node.kind) {
    case "exit":
      return null;
    case "table":
      return node.table.name;
    default:
      return node.name;
  }
}
