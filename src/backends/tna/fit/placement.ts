import { STAGE_LIMITS } from "../verify/figures.ts";
import type { Dependencies } from "./dependencies.ts";
import { hashUnits, isDirect, type Need, NOTHING, needOf, sum } from "./memory.ts";
import type { FitProgram, FitSequence, FitTable, Memory } from "./tables.ts";

/** A logical table in its stage. */
export interface Placed {
  readonly table: FitTable;
  /** The condition that shares the logical table. */
  readonly condition?: FitTable;
  readonly stage: number;
  readonly need: Need;
  /** Entries that have their place here, when the table is cut over stages. */
  readonly entries?: number;
}

/** A table that no stage has place for, and what it lacks there. */
export interface Unplaced {
  readonly table: FitTable;
  readonly lacks: string;
}

export interface Placement {
  readonly placed: readonly Placed[];
  readonly stages: number;
  readonly unplaced?: Unplaced;
}

interface Group {
  readonly sequence: FitSequence;
  readonly parents: readonly Group[];
}

interface Trial {
  readonly table: FitTable;
  readonly condition?: FitTable;
  readonly group: Group;
  readonly stage: number;
  readonly entries?: number;
  readonly isPart: boolean;
  readonly need: Need;
}

/** More stages than any chip has: what comes here has no end. */
const MOST_STAGES = 64;

/**
 * Gives tables their stages one after the other, as the compiler does (p4c, backends/tofino/bf-p4c/mau/table_placement.cpp): of all that
 * could come next, the one in the earliest stage, and of those the one with the longest chain behind it. On Tofino 1 all that a table
 * asks for has its place before what stands behind that table.
 */
export function placement(program: FitProgram, deps: Dependencies, stages: number): Placement {
  const first = new Placing(program, deps, { sharesContainers: true, prefersUnits: false }).run();
  const isPlaced = (p: Placement): boolean => p.stages <= stages && p.unplaced === undefined;
  if (isPlaced(first)) return first;
  // When that is too long the compiler asks for containers that are not shared, goes back to where it had a choice, and then looks for
  // what the tables behind need beside their order.
  const others = [false, true].map((prefersUnits) =>
    new Placing(program, deps, { sharesContainers: false, prefersUnits }).run(),
  );
  return others.find(isPlaced) ?? others[0] ?? first;
}

interface Strategy {
  /** Fields may have been put into containers of others, which keeps tables that write them apart. */
  readonly sharesContainers: boolean;
  /** Chains are as long as the stages that hold the stateful ALUs of all that waits, where that is more. */
  readonly prefersUnits: boolean;
}

/** What there was when a stage was begun: to go back to, with another table first. */
interface Snapshot {
  readonly placed: number;
  readonly stage: number;
  readonly done: ReadonlySet<FitTable>;
  readonly left: ReadonlyMap<FitTable, number>;
  readonly work: readonly Group[];
  readonly options: Trial[];
}

class Placing {
  readonly #program: FitProgram;
  readonly #deps: Dependencies;
  readonly #placed: Placed[] = [];
  #done = new Set<FitTable>();
  #left = new Map<FitTable, number>();
  /** Tables that cannot be in this stage, since others do not fit that have to be in the same one. */
  readonly #notHere = new Set<FitTable>();
  readonly #sharers: ReadonlyMap<FitTable, readonly FitTable[]>;
  #begun: Snapshot | undefined;
  /** In the current stage. */
  #here: Placed[] = [];
  #stage = 0;
  #work: Group[] = [];
  /** What had place in this stage when the turn went to something that keeps it waiting. */
  #passed: { readonly table: FitTable; readonly group: Group }[] = [];

  readonly #strategy: Strategy;

  constructor(program: FitProgram, deps: Dependencies, strategy: Strategy) {
    this.#strategy = strategy;
    this.#program = program;
    this.#deps = deps;
    this.#sharers = sharersIn(program);
  }

  run(): Placement {
    for (const sequence of [this.#program.ingress, this.#program.egress])
      if (sequence.tables.length > 0) this.#work.push({ sequence, parents: [] });
    for (;;) {
      this.#finish();
      if (this.#work.length === 0) break;
      const trials: Trial[] = [];
      for (const group of this.#work) {
        const found = this.#trialsOf(group);
        if ("lacks" in found) return this.#result(found);
        trials.push(...found);
      }
      const [first, ...others] = trials;
      if (first === undefined) break;
      const best = others.reduce((b, t) => (this.#isBetter(t, b) ? t : b), first);
      if (best.stage > this.#stage) {
        const torn = this.#torn();
        if (torn !== undefined) {
          if (!this.#goBack(torn)) return this.#result(torn);
          continue;
        }
        if (this.#fillBack()) continue;
        this.#notHere.clear();
        this.#begin(trials.filter((t) => t.stage === best.stage));
      } else if (this.#begun === undefined) this.#begin(trials.filter((t) => t.stage === best.stage));
      this.#place(best);
      for (const t of trials) {
        const isSimple = t.condition === undefined && !t.isPart && t.table.next.length === 0;
        if (t !== best && t.stage === best.stage && isSimple && !this.#work.includes(t.group))
          this.#passed.push(t);
      }
      if (this.#stage > MOST_STAGES) break;
    }
    return this.#result();
  }

  #result(unplaced?: Unplaced): Placement {
    return {
      placed: this.#placed,
      stages: Math.max(0, ...this.#placed.map((p) => p.stage + 1)),
      ...(unplaced === undefined ? {} : { unplaced }),
    };
  }

  /** A table that must be where its register or meter is, and found no place in the stage that is about to be left. */
  #torn(): Unplaced | undefined {
    for (const { table } of this.#here)
      for (const other of this.#sharers.get(table) ?? [])
        if (!this.#done.has(other))
          return { table: other, lacks: `no place for all tables that use ${sharedName(table, other)}` };
    return undefined;
  }

  #begin(options: readonly Trial[]): void {
    this.#begun = {
      placed: this.#placed.length,
      stage: this.#stage,
      done: new Set(this.#done),
      left: new Map(this.#left),
      work: [...this.#work],
      options: [...options],
    };
  }

  /** Begins the stage again with another table, without those that have to be together and cannot. */
  #goBack({ table }: Unplaced): boolean {
    const begun = this.#begun;
    if (begun === undefined) return false;
    for (const t of [table, ...(this.#sharers.get(table) ?? [])]) this.#notHere.add(t);
    let next = begun.options.shift();
    while (next !== undefined && this.#notHere.has(next.table)) next = begun.options.shift();
    if (next === undefined) return false;
    this.#placed.length = begun.placed;
    this.#done = new Set(begun.done);
    this.#left = new Map(begun.left);
    this.#work = [...begun.work];
    this.#stage = begun.stage;
    this.#here = this.#placed.filter((p) => p.stage === this.#stage);
    this.#passed = [];
    this.#place(next);
    return true;
  }

  /** Before a stage is left: one of the tables passed over that still has place in it. */
  #fillBack(): boolean {
    for (const { table, group } of this.#passed) {
      if (this.#done.has(table) || this.#left.has(table)) continue;
      const trial = this.#try({ table }, group);
      if ("lacks" in trial || trial.stage !== this.#stage || trial.isPart) continue;
      const placed: Placed = { table, stage: trial.stage, need: trial.need };
      this.#placed.push(placed);
      this.#here.push(placed);
      this.#done.add(table);
      return true;
    }
    return false;
  }

  /** Groups with all their tables placed make way for those around them. */
  #finish(): void {
    for (;;) {
      const done = this.#work.find((g) => g.sequence.tables.every((t) => this.#done.has(t)));
      if (done === undefined) return;
      this.#work = this.#work.filter((g) => g !== done);
      for (const parent of done.parents) {
        const isBusy = this.#work.some((g) => g === parent || this.#ancestors(g).has(parent));
        if (!isBusy) this.#work.push(parent);
      }
    }
  }

  #ancestors(group: Group): ReadonlySet<Group> {
    const found = new Set<Group>();
    const look = (g: Group): void => {
      for (const p of g.parents) {
        found.add(p);
        look(p);
      }
    };
    look(group);
    return found;
  }

  #trialsOf(group: Group): readonly Trial[] | Unplaced {
    const trials: Trial[] = [];
    for (const table of group.sequence.tables) {
      if (this.#done.has(table) || !this.#isReady(table)) continue;
      const choices = mergeChoices(table, this.#deps);
      const ready = choices.filter((c) => this.#isReady(c, table) && this.#canShare(c));
      if (choices.length > 0 && ready.length === 0) continue;
      if (choices.length === 0 && !this.#canShare(table)) continue;
      const options = choices.length === 0 ? [{ table }] : ready.map((t) => ({ table: t, condition: table }));
      for (const option of options) {
        const trial = this.#try(option, group);
        if ("lacks" in trial) return trial;
        trials.push(trial);
      }
    }
    return trials;
  }

  /** Whether all that must come before has its place. */
  #isReady(t: FitTable, without?: FitTable): boolean {
    return this.#deps.before(t).every((d) => d.before === without || this.#done.has(d.before));
  }

  /** Whether all that the tables wait for that use the same register or meter has its place. */
  #canShare(table: FitTable): boolean {
    return (this.#sharers.get(table) ?? []).every((t) =>
      this.#deps.before(t).every((d) => d.kind === "order" || this.#done.has(d.before)),
    );
  }

  #try(
    { table, condition }: { readonly table: FitTable; readonly condition?: FitTable },
    group: Group,
  ): Trial | Unplaced {
    const rest = this.#left.get(table) ?? table.table?.size;
    const isApart = (p: FitTable, t: FitTable): boolean =>
      this.#deps.isLater(p, t) || (this.#strategy.sharesContainers && this.#deps.shareContainer(p, t));
    const sharers = this.#sharers.get(table) ?? [];
    const waits =
      this.#notHere.has(table) ||
      this.#here.some(
        (p) =>
          p.table === table ||
          isApart(p.table, table) ||
          sharers.some((t) => isApart(p.table, t)) ||
          [p.table, ...(p.condition === undefined ? [] : [p.condition])].some(
            (b) =>
              this.#deps.isLater(b, table) || (condition !== undefined && this.#deps.isLater(b, condition)),
          ),
      );
    const base = { table, group, ...(condition === undefined ? {} : { condition }) };
    const attempts = waits
      ? ([[this.#stage + 1, []]] as const)
      : ([
          [this.#stage, this.#here],
          [this.#stage + 1, []],
        ] as const);
    let lacks = "";
    for (const [stage, here] of attempts) {
      const whole = this.#need(table, condition, rest, here);
      const missing = lack(here, whole, table);
      if (missing === undefined) return { ...base, stage, need: whole, isPart: false, ...sized(rest) };
      lacks = missing;
      const part = this.#part(table, condition, rest, here);
      if (part !== undefined) return { ...base, stage, ...part, isPart: true };
    }
    return { table, lacks };
  }

  /** As much of a large table as a stage has place for. */
  #part(
    table: FitTable,
    condition: FitTable | undefined,
    rest: number | undefined,
    here: readonly Placed[],
  ): { readonly need: Need; readonly entries: number } | undefined {
    if (rest === undefined || table.memories.some((m) => !isDirect(m))) return undefined;
    if (table.table === undefined || table.table.key.length === 0) return undefined;
    let [low, high] = [0, rest];
    while (high - low > 512) {
      const middle = Math.floor((low + high) / 2);
      if (lack(here, this.#need(table, condition, middle, here), table) === undefined) low = middle;
      else high = middle;
    }
    if (low < 512) return undefined;
    return { need: this.#need(table, condition, low, here), entries: low };
  }

  /** What a logical table adds to its stage; a register that another table there uses already is there. */
  #need(
    table: FitTable,
    condition: FitTable | undefined,
    entries: number | undefined,
    here: readonly Placed[],
  ): Need {
    const present = new Set(here.flatMap((p) => p.table.memories));
    const memories = table.memories.filter((m) => isDirect(m) || !present.has(m));
    const own = needOf({ ...table, memories }, entries);
    // What has no condition and no key, and works at an index, gets a gateway that always lets it run.
    const runs = table.kind === "action" && table.memories.length > 0;
    return condition === undefined && !runs ? own : sum(own, { ...NOTHING, gateways: 1 });
  }

  /** p4c's order of preference, as far as it has been seen to matter. */
  #isBetter(a: Trial, b: Trial): boolean {
    if (a.stage !== b.stage) return a.stage < b.stage;
    const [ta, tb] =
      a.condition !== undefined && a.condition === b.condition
        ? [a.table, b.table]
        : [a.condition ?? a.table, b.condition ?? b.table];
    const down = this.#downward(ta, tb) - this.#downward(tb, ta);
    if (down !== 0) return down > 0;
    const inner = [this.#deps.innerTail(ta), this.#deps.innerTail(tb)] as const;
    if ((inner[0] === 0) !== (inner[1] === 0)) return inner[0] === 0;
    const local = this.#tail(ta) - this.#tail(tb);
    if (local !== 0) return local > 0;
    const placeable = [this.#canPlaceInner(ta), this.#canPlaceInner(tb)] as const;
    if (placeable[0] !== placeable[1]) return placeable[0];
    if (a.isPart !== b.isPart) return !a.isPart;
    if (inner[0] !== 0) {
      const count = this.#placeableInside(ta) - this.#placeableInside(tb);
      if (count !== 0) return count > 0;
    }
    const data = this.#deps.dataTail(ta) - this.#deps.dataTail(tb);
    if (data !== 0) return data > 0;
    const [sumA, sumB] = [this.#followersInside(ta), this.#followersInside(tb)];
    if (sumA !== sumB) return sumA > sumB;
    const [meanA, meanB] = [sumA / this.#deps.inside(ta).length, sumB / this.#deps.inside(tb).length];
    if (meanA !== meanB) return meanA > meanB;
    const leaves = [isLeaf(ta, a, this.#deps), isLeaf(tb, b, this.#deps)] as const;
    if (leaves[0] !== leaves[1]) return leaves[0];
    const total = this.#deps.followers(a.table) - this.#deps.followers(b.table);
    if (total !== 0) return total < 0;
    return true;
  }

  /** The longest chain that waits until a table and all that it asks for is placed, apart from what waits for both. */
  #downward(a: FitTable, b: FitTable): number {
    const common = new Set(b.around.map((s) => s.sequence));
    let most = this.#tail(a);
    for (const { sequence } of a.around) {
      if (common.has(sequence) || sequence.tables.includes(a)) continue;
      for (const t of sequence.tables)
        if (!this.#done.has(t)) most = Math.max(most, this.#tail(t) + this.#deps.innerTail(a));
    }
    return most;
  }

  #tail(t: FitTable): number {
    return this.#strategy.prefersUnits ? this.#deps.unitTail(t) : this.#deps.tail(t);
  }

  /** How many of the tables that a table asks for would have their place in this stage. */
  #placeableInside(t: FitTable): number {
    const inside = this.#deps.inside(t);
    const present = [...inside, ...this.#here.map((p) => p.table)];
    return inside.filter((s) => present.every((p) => p === s || !this.#deps.isLater(p, s))).length;
  }

  #followersInside(t: FitTable): number {
    return this.#deps.inside(t).reduce((n, s) => n + this.#deps.followers(s), 0);
  }

  #canPlaceInner(t: FitTable): boolean {
    if (this.#deps.innerTail(t) > 0) return false;
    return this.#deps.inside(t).every((s) => this.#here.every((p) => !this.#deps.isLater(p.table, s)));
  }

  #place(t: Trial): void {
    if (t.stage > this.#stage) {
      this.#stage = t.stage;
      this.#here = [];
      this.#passed = [];
    }
    const placed: Placed = {
      table: t.table,
      stage: t.stage,
      need: t.need,
      ...(t.condition === undefined ? {} : { condition: t.condition }),
      ...(t.isPart || this.#left.has(t.table) ? sized(t.entries) : {}),
    };
    this.#placed.push(placed);
    this.#here.push(placed);
    if (t.condition !== undefined) this.#done.add(t.condition);
    if (t.isPart) {
      this.#left.set(t.table, (this.#left.get(t.table) ?? t.table.table?.size ?? 0) - (t.entries ?? 0));
      if (t.condition === undefined) return;
    } else this.#done.add(t.table);
    this.#open(t);
  }

  /** What is asked for comes next, and what stands around it later. */
  #open({ table, condition, group, isPart }: Trial): void {
    let parent = group;
    const opened: Group[] = [];
    for (const sequence of condition?.next ?? []) {
      const inner: Group = { sequence, parents: [group] };
      if (sequence.tables.includes(table)) parent = inner;
      opened.push(inner);
    }
    if (!isPart) for (const sequence of table.next) opened.push({ sequence, parents: [parent] });
    const open = opened.filter((g) => g.sequence.tables.some((t) => !this.#done.has(t)));
    if (open.length === 0) return;
    const all = [...this.#work, ...open];
    const waiting = new Set(all.flatMap((g) => [...this.#ancestors(g)]));
    this.#work = all.filter((g) => !waiting.has(g));
  }
}

/** Tables that a condition can share a logical table with: what comes first in a branch, unless it waits for others there. */
export function mergeChoices(condition: FitTable, deps: Dependencies): readonly FitTable[] {
  if (condition.kind !== "condition") return [];
  return condition.next.flatMap(({ tables }) =>
    tables.filter((t, i) => {
      if (t.kind === "condition") return false;
      const inside = (s: FitTable): boolean =>
        tables.slice(0, i).some((u) => u === s || s.around.some((a) => a.of === u));
      return !deps.before(t).some((d) => inside(d.before));
    }),
  );
}

/** For each table the others that use one of its registers or meters: all have to be in one stage. Of counters each stage has its own. */
function sharersIn({ tables }: FitProgram): ReadonlyMap<FitTable, readonly FitTable[]> {
  const users = new Map<Memory, FitTable[]>();
  for (const t of tables)
    for (const m of t.memories)
      if (m.kind === "register" || m.kind === "meter") users.set(m, [...(users.get(m) ?? []), t]);
  const sharers = new Map<FitTable, FitTable[]>();
  for (const all of users.values())
    for (const t of all)
      sharers.set(t, [...new Set([...(sharers.get(t) ?? []), ...all.filter((o) => o !== t)])]);
  return sharers;
}

function sharedName(a: FitTable, b: FitTable): string {
  return a.memories.find((m) => b.memories.includes(m))?.name ?? b.name;
}

function isLeaf(t: FitTable, trial: Trial, deps: Dependencies): boolean {
  return deps.inside(t).length - 1 <= (t === trial.condition ? 1 : 0);
}

function sized(entries: number | undefined): { readonly entries?: number } {
  return entries === undefined ? {} : { entries };
}

const HASH_GROUPS = 8;
/** Units of hash distribution that one hash function feeds. */
const UNITS_OF_A_GROUP = 3;

/** Hash functions of a stage: one for each exact table, and those behind hash distribution. */
function hashGroups(here: readonly Placed[], need: Need, table: FitTable): number {
  const exact = [...here.map((p) => p.need), need].filter((n) => n.hashWays > 0).length;
  return exact + Math.ceil(hashUnits([...here.map((p) => p.table), table]) / UNITS_OF_A_GROUP);
}

/** The first thing that a stage with these tables does not have for one more. */
function lack(here: readonly Placed[], need: Need, table: FitTable): string | undefined {
  if (here.length + 1 > STAGE_LIMITS.logicalTables) return `${STAGE_LIMITS.logicalTables} logical tables`;
  const all = here.map((p) => p.need).reduce(sum, need);
  const limits: readonly (readonly [number, number, string])[] = [
    [all.sram, STAGE_LIMITS.sram, "SRAM blocks"],
    [all.tcam, STAGE_LIMITS.tcam, "TCAM blocks"],
    [all.mapRam, STAGE_LIMITS.mapRam, "map RAMs"],
    [all.statefulAlus + all.otherAlus, STAGE_LIMITS.meterAlus, "stateful ALUs"],
    [all.counterAlus, STAGE_LIMITS.counterAlus, "counter ALUs"],
    [all.exactBytes, STAGE_LIMITS.exactCrossbarBytes, "bytes of exact keys"],
    [all.ternaryBytes, STAGE_LIMITS.ternaryCrossbarBytes, "bytes of ternary keys"],
    [all.gateways, STAGE_LIMITS.gateways, "gateways"],
    [
      hashUnits([...here.map((p) => p.table), table]),
      STAGE_LIMITS.hashDistributionUnits,
      "units of hash distribution",
    ],
    [hashGroups(here, need, table), HASH_GROUPS, "hash functions for exact tables and hash distribution"],
  ];
  const found = limits.find(([used, of]) => used > of);
  return found === undefined ? undefined : `${found[1]} ${found[2]}`;
}
