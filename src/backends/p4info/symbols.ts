import { ID_PREFIX, type ObjectKind } from "../../p4info/index.ts";

/**
 * Ids and aliases of the objects that the control plane sees, as p4c chooses them, so that a controller may use either compiler's
 * P4Info: the kind's prefix byte and 24 bits of a hash of the name, with the next free number on a collision in the order of the
 * names; an id that the program gives goes first. So ids do not depend on the order of declarations.
 */
export class Symbols {
  readonly #byKind = new Map<ObjectKind, Map<string, number>>();
  readonly #suffixes = new SuffixTree();

  constructor(names: Iterable<readonly [kind: ObjectKind, name: string, id?: number | undefined]>) {
    const given = new Map<ObjectKind, Map<string, number>>();
    for (const [kind, name, id] of names) {
      if (id !== undefined) given.set(kind, (given.get(kind) ?? new Map()).set(name, id));
      const known = this.#byKind.get(kind);
      if (known === undefined) this.#byKind.set(kind, new Map([[name, 0]]));
      else known.set(name, 0);
      this.#suffixes.add(name);
    }
    for (const [kind, table] of this.#byKind) assignIds(kind, table, given.get(kind) ?? new Map());
  }

  /** @throws Error for a name that was not declared: a fault of the caller. */
  id(kind: ObjectKind, name: string): number {
    const found = this.#byKind.get(kind)?.get(name);
    if (found === undefined) throw new Error(`no ${kind} ${name} was declared`);
    return found;
  }

  /** The shortest end of the dotted name that no other object shares. */
  alias(name: string): string {
    return this.#suffixes.shortest(name);
  }
}

function assignIds(kind: ObjectKind, table: Map<string, number>, given: ReadonlyMap<string, number>): void {
  for (const [name, number] of given) table.set(name, idOf(kind, number));
  const taken = new Set([...given.values()].map((number) => idOf(kind, number)));
  for (const name of [...table.keys()].filter((n) => !given.has(n)).sort(byBytes)) {
    let hash = oneAtATime(name);
    let id = idOf(kind, hash);
    while (taken.has(id)) {
      hash = (hash + 1) >>> 0;
      id = idOf(kind, hash);
    }
    taken.add(id);
    table.set(name, id);
  }
}

function idOf(kind: ObjectKind, hash: number): number {
  return ((ID_PREFIX[kind] << 24) | (hash & 0xffffff)) >>> 0;
}

/** Order of bytes, not of a locale. Names are ASCII. */
export function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Bob Jenkins's one-at-a-time hash. */
export function oneAtATime(text: string): number {
  let hash = 0;
  for (const byte of new TextEncoder().encode(text)) {
    hash = (hash + byte) >>> 0;
    hash = (hash + (hash << 10)) >>> 0;
    hash = (hash ^ (hash >>> 6)) >>> 0;
  }
  hash = (hash + (hash << 3)) >>> 0;
  hash = (hash ^ (hash >>> 11)) >>> 0;
  return (hash + (hash << 15)) >>> 0;
}

interface SuffixNode {
  count: number;
  readonly next: Map<string, SuffixNode>;
}

/** How many names end in which parts, read from behind. */
class SuffixTree {
  readonly #root: SuffixNode = { count: 0, next: new Map() };
  readonly #names = new Set<string>();

  add(name: string): void {
    if (this.#names.has(name)) return;
    this.#names.add(name);
    let node = this.#root;
    for (const part of name.split(".").reverse()) {
      let next = node.next.get(part);
      if (next === undefined) {
        next = { count: 0, next: new Map() };
        node.next.set(part, next);
      }
      next.count++;
      node = next;
    }
  }

  shortest(name: string): string {
    const parts = name.split(".");
    let node = this.#root;
    for (let needed = 1; needed <= parts.length; needed++) {
      const next = node.next.get(parts[parts.length - needed] ?? "");
      if (next === undefined || next.count < 2) return parts.slice(-needed).join(".");
      node = next;
    }
    return name;
  }
}
