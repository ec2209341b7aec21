import { type Bits, overlaps } from "../stages.ts";
import { areExclusive, type FitProgram, type FitTable } from "./tables.ts";

/** Why a table waits for another. */
export interface Dependency {
  readonly before: FitTable;
  readonly after: FitTable;
  /**
   * `read`: it reads what the other writes, so it comes a stage later; `write`: both write a field, so does it; `order`: it
   * writes what the other has read, or is asked for by it, and may share its stage.
   */
  readonly kind: "read" | "write" | "order";
  /** The field, without `hdr.` and `meta.`; none where only the order counts. */
  readonly field?: string;
}

/**
 * What must come before what. Kinds and weights are the compiler's own (p4c, backends/tofino/bf-p4c/mau/table_dependency_graph.h): a
 * field written is there from the next stage on, and tables in different branches have nothing to do with each other.
 */
export class Dependencies {
  readonly all: readonly Dependency[];
  readonly #before: ReadonlyMap<FitTable, readonly Dependency[]>;
  readonly #after: ReadonlyMap<FitTable, readonly Dependency[]>;
  readonly #later = new Set<string>();
  readonly #tails = new Map<FitTable, number>();
  readonly #unitTails = new Map<FitTable, number>();
  readonly #inner = new Map<FitTable, number>();
  readonly #inside = new Map<FitTable, readonly FitTable[]>();
  readonly #dataTails = new Map<FitTable, number>();
  readonly #followers = new Map<FitTable, bigint>();
  readonly #counts = new Map<FitTable, number>();

  readonly #hasFreeBytes: boolean;

  constructor(program: FitProgram) {
    this.#hasFreeBytes = bytesWritten(program) < BYTES_OF_A_GROUP;
    const all: Dependency[] = [];
    for (const gress of ["ingress", "egress"] as const) {
      const tables = program.tables.filter((t) => t.gress === gress);
      tables.forEach((after, j) => {
        for (const before of tables.slice(0, j)) {
          const found = between(before, after);
          if (found !== undefined) all.push(found);
        }
      });
    }
    all.push(...throughNextTables(program, all));
    this.all = all;
    this.#before = grouped(all, (d) => d.after);
    this.#after = grouped(all, (d) => d.before);
    for (const d of all) if (d.kind !== "order") this.#later.add(`${d.before.id} ${d.after.id}`);
    // Backwards: what comes later in the program has its tail first.
    for (const t of [...program.tables].reverse()) {
      this.#tails.set(
        t,
        this.#longest(t, () => true, this.#tails),
      );
    }
    for (const t of program.tables) this.#inside.set(t, insideOf(t, program));
    for (const t of program.tables) this.#inner.set(t, this.#innerTail(t));
    for (const t of [...program.tables].reverse()) {
      const data = this.after(t).filter((d) => d.kind !== "order");
      this.#dataTails.set(
        t,
        data.reduce((n, d) => Math.max(n, (this.#dataTails.get(d.after) ?? 0) + 1), 0),
      );
      let all = 0n;
      for (const d of data) all |= (this.#followers.get(d.after) ?? 0n) | (1n << BigInt(d.after.id));
      this.#followers.set(t, all);
    }
    for (const [t, all] of this.#followers) this.#counts.set(t, bitsIn(all));
    for (const t of [...program.tables].reverse()) this.#unitTails.set(t, this.#unitTail(t, program));
  }

  /** The tail of a table, or the stages that hold the stateful ALUs of all that waits for it or is asked for by it. */
  #unitTail(t: FitTable, program: FitProgram): number {
    const following = this.#followers.get(t) ?? 0n;
    const inside = this.inside(t);
    const units = new Set(
      program.tables
        .filter((s) => s !== t && (((following >> BigInt(s.id)) & 1n) === 1n || inside.includes(s)))
        .flatMap((s) => s.memories.filter((m) => m.kind === "register")),
    );
    const behind = this.after(t).map(
      (d) => (this.#unitTails.get(d.after) ?? 0) + (d.kind === "order" ? 0 : 1),
    );
    return Math.max(this.tail(t), Math.ceil(units.size / UNITS_OF_A_STAGE), ...behind);
  }

  /** Stages that follow a table's own at least, as far as the stateful ALUs of what follows are counted. */
  unitTail(t: FitTable): number {
    return this.#unitTails.get(t) ?? 0;
  }

  /** What must have a place before a table. */
  before(t: FitTable): readonly Dependency[] {
    return this.#before.get(t) ?? [];
  }

  after(t: FitTable): readonly Dependency[] {
    return this.#after.get(t) ?? [];
  }

  /** Whether `after` has to be in a later stage than `before`. */
  isLater(before: FitTable, after: FitTable): boolean {
    return this.#later.has(`${before.id} ${after.id}`);
  }

  /**
   * Whether two tables write different fields of one container, which only one action of a stage can: such tables have no order, but
   * different stages.
   */
  shareContainer(a: FitTable, b: FitTable): boolean {
    if (a.gress !== b.gress || areExclusive(a, b)) return false;
    const [of, other] = [packedFields(a, this.#hasFreeBytes), packedFields(b, this.#hasFreeBytes)];
    return [...of].some(([field, container]) => [...other].some(([f, c]) => c === container && f !== field));
  }

  /** Stages that follow a table's own at least. */
  tail(t: FitTable): number {
    return this.#tails.get(t) ?? 0;
  }

  /** Stages between a table and the last of what it asks for, at least. */
  innerTail(t: FitTable): number {
    return this.#inner.get(t) ?? 0;
  }

  #longest(t: FitTable, isIn: (t: FitTable) => boolean, known: ReadonlyMap<FitTable, number>): number {
    return this.after(t).reduce(
      (most, d) =>
        isIn(d.after) ? Math.max(most, (known.get(d.after) ?? 0) + (d.kind === "order" ? 0 : 1)) : most,
      0,
    );
  }

  #innerTail(t: FitTable): number {
    const inside = this.inside(t);
    const known = new Map<FitTable, number>();
    for (const s of [...inside].reverse())
      known.set(
        s,
        this.#longest(s, (x) => inside.includes(x), known),
      );
    return known.get(t) ?? 0;
  }

  /** A table and all that it asks for. */
  inside(t: FitTable): readonly FitTable[] {
    return this.#inside.get(t) ?? [t];
  }

  /** The longest chain of tables that read or write what those before have written. */
  dataTail(t: FitTable): number {
    return this.#dataTails.get(t) ?? 0;
  }

  /** How many tables read or write what a table has written, and what those have written, and so on. */
  followers(t: FitTable): number {
    return this.#counts.get(t) ?? 0;
  }
}

/** Stateful ALUs. */
const UNITS_OF_A_STAGE = 4;

function insideOf(t: FitTable, program: FitProgram): readonly FitTable[] {
  return program.tables.filter((s) => s === t || s.around.some((a) => a.of === t));
}

function bitsIn(n: bigint): number {
  let count = 0;
  for (const digit of n.toString(16)) count += BITS_IN_DIGIT[Number.parseInt(digit, 16)] ?? 0;
  return count;
}

const BITS_IN_DIGIT = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];

/**
 * On Tofino 1 what a table asks for comes before all behind it. So when something waits for a table, all that this table asks for comes
 * first, too, and what is asked for with the waiting one waits with it.
 */
function throughNextTables(program: FitProgram, all: readonly Dependency[]): readonly Dependency[] {
  const leaves = new Map(
    program.tables.map((t) => [t, insideOf(t, program).filter((s) => s.next.length === 0)] as const),
  );
  const known = new Set(all.map((d) => `${d.before.id} ${d.after.id}`));
  const found: Dependency[] = [];
  for (const { before, after } of all) {
    if (after.around.some((a) => a.of === before)) continue;
    const top = standingBeside(before, after);
    for (const leaf of leaves.get(before) ?? []) {
      if (leaf === top || areExclusive(leaf, after)) continue;
      const key = `${leaf.id} ${top.id}`;
      if (known.has(key)) continue;
      known.add(key);
      found.push({ before: leaf, after: top, kind: "order" });
    }
  }
  return found;
}

/** The table with `after` in it that stands in the innermost sequence that both share. */
function standingBeside(before: FitTable, after: FitTable): FitTable {
  const around = new Set(before.around.map((a) => a.sequence));
  const chain = [...after.around.flatMap((a) => a.of ?? []), after];
  // chain[i] stands in after.around[i].
  let top = after;
  after.around.forEach((a, i) => {
    if (around.has(a.sequence)) top = chain[i] ?? after;
  });
  return top;
}

function between(before: FitTable, after: FitTable): Dependency | undefined {
  const asks = after.around.some((a) => a.of === before);
  if (!asks && areExclusive(before, after)) return undefined;
  const read = shared(before.writes, after.reads);
  if (read !== undefined) return { before, after, kind: "read", field: fieldName(read) };
  const written = shared(before.writes, after.writes);
  if (written !== undefined) return { before, after, kind: "write", field: fieldName(written) };
  if (asks || shared(before.reads, after.writes) !== undefined) return { before, after, kind: "order" };
  return undefined;
}

function shared(some: readonly Bits[], others: readonly Bits[]): string | undefined {
  return some.find((a) => others.some((b) => overlaps(a, b)))?.key;
}

/** As the user calls it: `hdr.ipv4.ttl` is ipv4.ttl, and `ig_tm_md.ucast_egress_port` what follows the dot. */
function fieldName(key: string): string {
  return key.replace(/^(?:hdr|meta|ig_\w+|eg_\w+)\./, "").replace(/\.\$valid$/, " (valid or not)");
}

/** Queue (5 bits) and drop code (3 bits) are put into one byte, when there are bytes left. Measured on the examples, like what follows. */
const QUEUE_AND_DROP: ReadonlySet<string> = new Set(["ig_tm_md.qid", "ig_dprsr_md.drop_ctl"]);
/** Containers of 8 bits that one group of them has. */
const BYTES_OF_A_GROUP = 16;

/** Metadata of no whole bytes are put beside each other, as long as the compiler does not know what that costs. */
function packedFields(t: FitTable, hasFreeBytes: boolean): ReadonlyMap<string, string> {
  const packed = new Map<string, string>();
  for (const w of t.writes) {
    if (QUEUE_AND_DROP.has(w.key)) {
      if (hasFreeBytes) packed.set(w.key, "queue and drop");
    } else if (t.oddFields.has(w.key)) packed.set(w.key, "odd");
  }
  return packed;
}

/** Different fields of at most a byte that ingress writes. */
function bytesWritten(program: FitProgram): number {
  const fields = program.tables
    .filter((t) => t.gress === "ingress")
    .flatMap((t) => [...t.writes, ...t.reads])
    .filter((w) => w.key.startsWith("meta.") && w.high < 8 && w.low === 0);
  return new Set(fields.map((f) => f.key)).size;
}

function grouped(
  all: readonly Dependency[],
  by: (d: Dependency) => FitTable,
): ReadonlyMap<FitTable, readonly Dependency[]> {
  const groups = new Map<FitTable, Dependency[]>();
  for (const d of all) groups.set(by(d), [...(groups.get(by(d)) ?? []), d]);
  return groups;
}
