import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { ActionEntry, Pipeline, Table } from "../bmv2json/program.ts";
import { mayExit } from "./action-code.ts";
import type { PlaceCode } from "./data-code.ts";
import { unknownName } from "./layout.ts";
import type { ProgramScope } from "./program-scope.ts";

/** Number of 32-bit words that a key field takes in a lookup key. */
export function keyWords(width: number): number {
  return Math.ceil(width / 32);
}

/** Code of a key field's words, most significant first, with the table's static mask applied. */
function wordsOfKey(place: PlaceCode, mask: bigint | undefined): readonly string[] {
  const { slot } = place;
  const cell = `${slot.store}[${place.index}]`;
  const count = keyWords(slot.width);
  const words: string[] = [];
  for (let i = count - 1; i >= 0; i--) {
    let code: string;
    if (slot.store === "u") code = cell;
    else if (slot.store === "d") code = i === 0 ? `${cell} >>> 0` : `${cell} / 4294967296`;
    else code = `Number(BigInt.asUintN(32, ${i === 0 ? cell : `${cell} >> ${32 * i}n`}))`;
    const bits = mask === undefined ? 0xffffffffn : BigInt.asUintN(32, mask >> BigInt(32 * i));
    words.push(bits === 0xffffffffn ? code : `(${code}) & ${BigInt.asIntN(32, bits)}`);
  }
  return words;
}

class PipelineCompiler {
  private readonly scope: ProgramScope;
  private readonly pipeline: Pipeline;
  private readonly firstTable: number;
  private readonly prefix: string;
  private readonly nodes: ReadonlyMap<string, string>;

  constructor(scope: ProgramScope, pipeline: Pipeline, firstTable: number) {
    this.scope = scope;
    this.pipeline = pipeline;
    this.firstTable = firstTable;
    this.prefix = pipeline.name.replace(/\W/g, "_");
    const names = [...pipeline.tables, ...pipeline.conditionals, ...pipeline.actionCalls].map(
      (node) => node.name,
    );
    this.nodes = new Map(names.map((name, index) => [name, `${this.prefix}_${index}`]));
  }

  /** Statement that goes on to a node; the pipeline's graph has no cycles, so this is a plain call. */
  private next(name: string | null, path: string): string {
    if (name === null) return "return;";
    const node = this.nodes.get(name);
    return node === undefined
      ? unknownName("table, conditional or action call", name, path)
      : `return ${node}(p);`;
  }

  private refuseCycles(): void {
    const successors = new Map<string, readonly (string | null | undefined)[]>();
    for (const table of this.pipeline.tables) {
      successors.set(table.name, [...table.nextByAction.values(), table.baseDefaultNext]);
    }
    for (const node of this.pipeline.conditionals) successors.set(node.name, [node.trueNext, node.falseNext]);
    for (const node of this.pipeline.actionCalls) successors.set(node.name, [node.next]);
    const marks = new Map<string, "open" | "done">();
    const visit = (name: string): void => {
      if (marks.get(name) === "done") return;
      if (marks.get(name) === "open") {
        throw new SwitchConfigError(
          "UNSUPPORTED",
          this.pipeline.path,
          `the control flow comes back to "${name}"`,
        );
      }
      marks.set(name, "open");
      for (const next of successors.get(name) ?? []) if (next !== null && next !== undefined) visit(next);
      marks.set(name, "done");
    };
    for (const name of successors.keys()) visit(name);
  }

  generate(): string {
    this.refuseCycles();
    const functions: string[] = [];
    this.pipeline.tables.forEach((table, i) => {
      functions.push(this.node(table.name, this.table(table, this.firstTable + i)));
    });
    for (const node of this.pipeline.conditionals) {
      const condition = this.scope.expressions().bool(node.expression);
      const trace = this.scope.tracing
        ? `trace({ kind: "condition", name: ${JSON.stringify(node.name)}, result: c });`
        : "";
      functions.push(
        this.node(
          node.name,
          `const c = ${condition}; ${trace}
if (c) { ${this.next(node.trueNext, node.path)} } else { ${this.next(node.falseNext, node.path)} }`,
        ),
      );
    }
    for (const node of this.pipeline.actionCalls) {
      const { action, index } = this.scope.action(node.actionId, node.path);
      if (action.parameters.length > 0) {
        throw new SwitchConfigError("BAD_VALUE", node.path, `action "${action.name}" needs arguments`);
      }
      const exit = mayExit(action) ? "if (p.exit !== 0) return;" : "";
      functions.push(
        this.node(node.name, `action${index}(p, noData, 0); ${exit} ${this.next(node.next, node.path)}`),
      );
    }
    functions.push(`function ${this.prefix}(p) { ${this.next(this.pipeline.init, this.pipeline.path)} }`);
    return functions.join("\n");
  }

  private node(name: string, body: string): string {
    return `function ${this.nodes.get(name)}(p) {\nconst u = p.u, d = p.d, b = p.b, v = p.v;\n${body}\n}`;
  }

  private constantCall(table: Table, entry: ActionEntry): string {
    const { action, index } = this.scope.action(entry.actionId, table.path);
    const exit = mayExit(action) ? "if (p.exit !== 0) return;" : "";
    const next = table.nextOnMiss !== undefined ? table.nextOnMiss : this.nextAfter(table, action.name);
    const trace = this.scope.tracing
      ? `trace({ kind: "table", table: ${JSON.stringify(table.name)}, hit: false, entry: undefined, action: ${JSON.stringify(action.name)}, parameters: [] });`
      : "";
    return `${trace} action${index}(p, noData, 0); ${exit} ${this.next(next, table.path)}`;
  }

  private nextAfter(table: Table, action: string): string | null {
    const next = table.nextByAction.get(action);
    return next === undefined ? table.baseDefaultNext : next;
  }

  private table(table: Table, index: number): string {
    const isPlainCall = table.key.length === 0 && table.implementation === "simple";
    const fixed = table.defaultEntry;
    // What p4c makes of a call of an action: no key, and a default that never changes.
    if (isPlainCall && fixed?.isConst === true && fixed.data.length === 0 && !table.withCounters) {
      return this.constantCall(table, fixed);
    }
    const lines: string[] = [];
    let word = 0;
    for (const key of table.key) {
      const place = this.scope.expressions().assignable(key.target);
      if (place.slot.store === "v") {
        throw new SwitchConfigError("UNSUPPORTED", key.path, "a variable-length field can't be a key");
      }
      for (const code of wordsOfKey(place, key.mask)) lines.push(`K${index}[${word++}] = ${code};`);
    }
    lines.push(table.key.length === 0 ? "const r = -1;" : `const r = X${index}.find(K${index});`);
    lines.push("const hit = r >= 0;");
    const onHit: string[] = [];
    if (table.withCounters) onHit.push(`S${index}.packets[r]++; S${index}.bytes[r] += p.ingressLength;`);
    if (table.supportsTimeout) onHit.push(`S${index}.lastHit[r] = p.now;`);
    if (table.directMeters !== undefined) onHit.push(this.directMeter(table.directMeters, table, index));
    if (onHit.length > 0) lines.push(`if (hit) { ${onHit.join(" ")} }`);
    lines.push(this.dispatch(table, index));
    return lines.join("\n");
  }

  private directMeter(name: string, table: Table, index: number): string {
    const meter = this.scope.program.meters.find((candidate) => candidate.name === name);
    if (meter?.direct === undefined) return unknownName("direct meter", name, table.path);
    const slot = this.scope.layout.field(meter.direct.header, meter.direct.field, meter.path);
    const store = this.scope
      .expressions()
      .storeLocal(
        { slot, index: String(slot.index) },
        `S${index}.meters[r].execute(p.ingressLength, p.now)`,
        false,
      );
    return store;
  }

  /**
   * The actions that entries of a table may run. p4c gives each table copies of its actions, so that a member of a profile
   * that tables share may hold the copy of another table.
   */
  private actionIds(table: Table): readonly number[] {
    if (table.actionProfile === undefined) return table.actionIds;
    const sharing = this.pipeline.tables.filter((other) => other.actionProfile === table.actionProfile);
    return sharing.flatMap((other) => other.actionIds);
  }

  private dispatch(table: Table, index: number): string {
    const onHit = table.nextOnHit;
    const onMiss = table.nextOnMiss;
    const afterNothing =
      onHit === undefined || onMiss === undefined
        ? this.next(table.baseDefaultNext, table.path)
        : `if (hit) { ${this.next(onHit, table.path)} } else { ${this.next(onMiss, table.path)} }`;
    const trace = this.scope.tracing ? `trace(tableEvent(T${index}, r, i, a, o));` : "";
    const cases = this.actionsOf(table).map((id) => {
      const { action, index: actionIndex } = this.scope.action(id, table.path);
      const exit = mayExit(action) ? "if (p.exit !== 0) return;" : "";
      const next =
        onHit === undefined || onMiss === undefined
          ? this.next(this.nextAfter(table, action.name), table.path)
          : "break;";
      return `case ${actionIndex}: action${actionIndex}(p, a, o); ${exit} ${next}`;
    });
    return `${this.choice(table, index)}
${trace}
switch (i) {
${cases.join("\n")}
default: break;
}
${afterNothing}`;
  }

  /** Sets `i`, `a` and `o`: the action to perform, and where its arguments are. */
  private choice(table: Table, index: number): string {
    if (table.implementation === "simple") {
      const stride = Math.max(
        0,
        ...this.actionsOf(table).map((id) => this.scope.action(id, table.path).action.parameters.length),
      );
      return `let i, a, o;
if (hit) { i = S${index}.actions[r]; a = S${index}.args; o = r * ${stride}; }
else { i = T${index}.missAction; a = T${index}.missData; o = 0; }`;
    }
    const hash = table.implementation === "indirect_ws" ? `selector${index}(p)` : "0";
    return `const t = hit ? S${index}.targets[r] : undefined;
const m = t === undefined ? undefined : t.isGroup ? t.choose(${hash}) : t;
const i = m === undefined ? -1 : m.actionIndex, a = m === undefined ? noData : m.data, o = 0;`;
  }

  private actionsOf(table: Table): readonly number[] {
    const ids = new Set(this.actionIds(table));
    if (table.defaultEntry !== undefined) ids.add(table.defaultEntry.actionId);
    return [...ids];
  }
}

/**
 * Source of `function NAME(p)`, which runs a pipeline's control flow. `firstTable` is the number of the pipeline's first
 * table among the program's.
 */
export function pipelineCode(scope: ProgramScope, pipeline: Pipeline, firstTable: number): string {
  return new PipelineCompiler(scope, pipeline, firstTable).generate();
}
