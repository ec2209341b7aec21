/**
 * The names of the types that a module declares: each is made from a name of the program, and two that come out alike get numbers.
 * Names that the module imports are taken from the start.
 */
export class TypeNames {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken);
  }

  /** `forwarding.route`, `Match` -> `ForwardingRouteMatch` */
  declare(name: string, suffix: string): string {
    const base = `${pascalCase(name)}${suffix}`;
    let unique = base;
    for (let n = 2; this.#taken.has(unique); n++) unique = `${base}${n}`;
    this.#taken.add(unique);
    return unique;
  }
}

/** A name of the program as a type's: what TypeScript does not allow in a name separates words. */
export function pascalCase(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^[A-Za-z]/.test(joined) ? joined : `P${joined}`;
}

/** The key of a property in a type: any text may be a name of the program. Reserved words need no quotes. */
export function typeKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** The key of a property in an object: `__proto__` would set the prototype unless it is computed. */
export function objectKey(name: string): string {
  return name === "__proto__" ? '["__proto__"]' : typeKey(name);
}

/** Objects by the parts of their dotted names. */
export interface NameTree<T> {
  readonly entries: Map<string, T | NameTree<T>>;
}

/**
 * The objects of one kind as a tree: `forwarding.route` is at `forwarding`, `route`. Where a name begins with another object's whole name
 * (`acl` and `acl.inner`), the longer one stands at the root under its full name.
 */
export function nameTree<T>(objects: readonly (readonly [name: string, object: T])[]): NameTree<T> {
  const names = new Set(objects.map(([name]) => name));
  const root = new Map<string, T | NameTree<T>>();
  for (const [name, object] of objects) {
    const parts = name.split(".");
    const isBelowAnother = parts.some((_, index) => index > 0 && names.has(parts.slice(0, index).join(".")));
    if (isBelowAnother) root.set(name, object);
    else put(root, parts, object);
  }
  return { entries: root };
}

function put<T>(tree: NameTree<T>["entries"], parts: readonly string[], object: T): void {
  const [part = "", ...rest] = parts;
  if (rest.length === 0) {
    tree.set(part, object);
    return;
  }
  // Only subtrees are found here: no object's name begins with another's.
  const found = tree.get(part);
  const subtree: NameTree<T> = isTree(found) ? found : { entries: new Map() };
  tree.set(part, subtree);
  put(subtree.entries, rest, object);
}

export function isTree<T>(node: T | NameTree<T> | undefined): node is NameTree<T> {
  return typeof node === "object" && node !== null && "entries" in node && node.entries instanceof Map;
}
