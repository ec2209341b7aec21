import type { Expression, KeySet, MatchKind, TableKey } from "../../../ir/index.ts";
import { NO_ACTION, widthOf } from "../../../ir/index.ts";
import { BackendError } from "../../backenderror.ts";
import { prefixMask } from "../../p4text/literals.ts";
import type { Gress, LoweredAction, LoweredBlock, LoweredControl, LoweredTable, Step } from "../lowered.ts";
import { storageType, unsigned } from "../storage.ts";
import { ActionScope, primitives } from "./actions.ts";
import { bytesFor, hexstr, type Json, type JsonObject } from "./json.ts";
import type { Scalars } from "./scalars.ts";
import { argument, place, SCALARS, value } from "./values.ts";

/** The actions of the program, with the numbers that tables refer to. */
export class Actions {
  readonly #list: JsonObject[] = [];
  readonly #ids = new Map<string, number>();

  add(name: string, data: readonly JsonObject[], body: readonly JsonObject[]): number {
    const id = this.#list.length;
    this.#list.push({ name, id, runtime_data: data, primitives: body });
    this.#ids.set(name, id);
    return id;
  }

  id(name: string): number {
    const found = this.#ids.get(name);
    if (found === undefined && name === NO_ACTION) return this.add(NO_ACTION, [], []);
    if (found === undefined) throw new BackendError("GP2001", "v1model", `the program has no action ${name}`);
    return found;
  }

  list(): readonly JsonObject[] {
    return this.#list;
  }
}

/** A control-flow step, before it is known what follows it. */
type Node =
  | { readonly kind: "run"; readonly name: string; readonly action: string }
  | {
      readonly kind: "table";
      readonly table: LoweredTable;
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
}

/** Turns a pipeline's block, with its controls put in place, into BMv2's graph of tables and conditionals. */
export class PipelineWriter {
  readonly #gress: Gress;
  readonly #controls: ReadonlyMap<string, LoweredControl>;
  readonly #actions: Actions;
  readonly #scalars: Scalars;
  readonly #ids: Ids;
  readonly #tables = new Map<string, JsonObject>();
  readonly #conditionals: JsonObject[] = [];
  #steps = 0;
  #nodes = 0;

  constructor(
    gress: Gress,
    controls: ReadonlyMap<string, LoweredControl>,
    actions: Actions,
    scalars: Scalars,
    ids: Ids,
  ) {
    this.#gress = gress;
    this.#controls = controls;
    this.#actions = actions;
    this.#scalars = scalars;
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
      action_profiles: [],
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
          if (table === undefined)
            throw new BackendError("GP2001", "v1model", `the program has no table ${s.table}`);
          const { before, key } = this.#key(table, scope);
          run.push(...before);
          flush();
          out.push({
            kind: "table",
            table,
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
    return new ActionScope(this.#gress, control?.name ?? this.#gress, this.#scalars, []);
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
    const scope = new ActionScope(this.#gress, action.name, this.#scalars, []);
    const before: JsonObject[] = [];
    action.parameters.forEach((p, i) => {
      const arg = args[i];
      if (arg === undefined)
        throw new BackendError("GP2001", "v1model", `${name} is called without ${p.name}`);
      if (arg.kind === "constant") {
        scope.bind(p.name, { kind: "constant", value: arg.value, type: p.type });
        return;
      }
      const field = this.#scalars.field(`${action.name}.${p.name}`, p.type);
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
        target = [SCALARS, this.#scalars.temporary(k.expression.type)];
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

  #emitTable(node: Extract<Node, { kind: "table" }>, next: string | null): void {
    const branches = node.hit.length > 0 || node.miss.length > 0;
    const known = this.#tables.get(node.table.name);
    const id = known === undefined ? this.#ids.tables++ : Number(known.id);
    // The place is taken before the branches are written, so that tables stand in program order.
    if (known === undefined) this.#tables.set(node.table.name, {});
    const nextTables: JsonObject = branches
      ? { __HIT__: this.#link(node.hit, next), __MISS__: this.#link(node.miss, next) }
      : Object.fromEntries(node.table.actions.map((a) => [a.name, next]));
    const json = this.#table(node, id, branches ? null : next, nextTables);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(json))
      throw new BackendError(
        "GP2003",
        "v1model",
        `table ${node.table.name} is applied in two places with different steps after it; BMv2 knows one successor of a table`,
        node.table.at,
      );
    this.#tables.set(node.table.name, json);
  }

  #table(
    { table, key }: Extract<Node, { kind: "table" }>,
    id: number,
    next: string | null,
    nextTables: JsonObject,
  ): JsonObject {
    const control = this.#controls.get(table.name.slice(0, table.name.indexOf(".")));
    const call = (action: string, values: readonly bigint[]): readonly [number, readonly string[]] => [
      this.#actions.id(action),
      values.map((v, i) => {
        const type = control?.actions.find((a) => a.name === action)?.parameters[i]?.type;
        return hexstr(type === undefined ? v : unsigned(v, storageType(type)));
      }),
    ];
    const [defaultId, defaultData] = call(table.defaultAction.action, table.defaultAction.arguments);
    return {
      name: table.name,
      id,
      key,
      match_type: tableMatch(table.key),
      type: "simple",
      max_size: tableSize(table),
      with_counters: table.directCounter !== undefined,
      support_timeout: false,
      direct_meters: null,
      action_ids: table.actions.map((a) => this.#actions.id(a.name)),
      actions: table.actions.map((a) => a.name),
      base_default_next: next,
      next_tables: nextTables,
      default_entry: {
        action_id: defaultId,
        action_const: table.defaultAction.constant,
        action_data: defaultData,
        action_entry_const: table.defaultAction.constant,
      },
      ...(table.constEntries.length === 0
        ? {}
        : {
            entries: table.constEntries.map((e, i) => {
              const [actionId, data] = call(e.action, e.arguments);
              return {
                match_key: e.keys.map((set, k) => matchKey(set, table.key[k])),
                action_entry: { action_id: actionId, action_data: data },
                priority: i + 1,
              };
            }),
          }),
    };
  }
}

/** Size of a table that states none; BMv2 looks at it for tables without a key too. */
const DEFAULT_SIZE = 1024;

function tableSize(table: LoweredTable): number {
  if (table.constEntries.length > 0) return table.constEntries.length;
  return table.key.length === 0 ? DEFAULT_SIZE : table.size;
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

function hiddenTable(
  { name, action }: { readonly name: string; readonly action: string },
  id: number,
  actionId: number,
  next: string | null,
): JsonObject {
  return {
    name,
    id,
    key: [],
    match_type: "exact",
    type: "simple",
    max_size: DEFAULT_SIZE,
    with_counters: false,
    support_timeout: false,
    direct_meters: null,
    action_ids: [actionId],
    actions: [action],
    base_default_next: next,
    next_tables: { [action]: next },
    default_entry: { action_id: actionId, action_const: true, action_data: [], action_entry_const: true },
  };
}

/** The JSON of a declared action. */
export function addAction(
  action: LoweredAction,
  control: LoweredControl,
  actions: Actions,
  scalars: Scalars,
): void {
  const scope = new ActionScope(control.gress, action.name, scalars, action.parameters);
  const data = action.parameters.map((p) => ({ name: p.name, bitwidth: widthOf(p.type) }));
  const steps: readonly Step[] = action.steps;
  actions.add(action.name, data, primitives(steps, scope));
}

/** BMv2 has no match kind of its own for optional: it is ternary with a full or an empty mask. */
function bmv2Match(kind: MatchKind): string {
  return kind === "optional" ? "ternary" : kind;
}

/** A table's kind: range before ternary before lpm before exact. */
function tableMatch(keys: readonly TableKey[]): string {
  const kinds = new Set(keys.map((k) => bmv2Match(k.match)));
  return ["range", "ternary", "lpm"].find((k) => kinds.has(k)) ?? "exact";
}

function matchKey(set: KeySet, key: TableKey | undefined): JsonObject {
  if (key === undefined) throw new BackendError("GP2001", "v1model", "an entry has more keys than its table");
  const width = widthOf(key.expression.type);
  const bytes = bytesFor(width);
  const hex = (v: bigint): Json => hexstr(BigInt.asUintN(width, v), bytes);
  const ones = (1n << BigInt(width)) - 1n;
  const match_type = bmv2Match(key.match);
  const unfit = (): never => {
    throw new BackendError(
      "GP2004",
      "v1model",
      `a ${set.kind} cannot stand for the ${key.match} key ${key.name}`,
    );
  };
  switch (key.match) {
    case "exact":
      return set.kind === "value" ? { match_type, key: hex(set.value) } : unfit();
    case "lpm":
      switch (set.kind) {
        case "value":
          return { match_type, key: hex(set.value), prefix_length: width };
        case "any":
          return { match_type, key: hex(0n), prefix_length: 0 };
        case "prefix":
          return {
            match_type,
            key: hex(set.value & prefixMask(set.length, width)),
            prefix_length: set.length,
          };
        case "mask": {
          const length = Array.from({ length: width + 1 }, (_, n) => n).find(
            (n) => prefixMask(n, width) === set.mask,
          );
          return length === undefined
            ? unfit()
            : { match_type, key: hex(set.value & set.mask), prefix_length: length };
        }
        default:
          return unfit();
      }
    case "ternary":
    case "optional":
      switch (set.kind) {
        case "value":
          return { match_type, key: hex(set.value), mask: hex(ones) };
        case "any":
          return { match_type, key: hex(0n), mask: hex(0n) };
        case "mask":
          return { match_type, key: hex(set.value & set.mask), mask: hex(set.mask) };
        case "prefix": {
          const mask = prefixMask(set.length, width);
          return { match_type, key: hex(set.value & mask), mask: hex(mask) };
        }
        default:
          return unfit();
      }
    case "range":
      switch (set.kind) {
        case "value":
          return { match_type, start: hex(set.value), end: hex(set.value) };
        case "range":
          return { match_type, start: hex(set.low), end: hex(set.high) };
        case "any":
          return { match_type, start: hex(0n), end: hex(ones) };
        default:
          return unfit();
      }
  }
}
