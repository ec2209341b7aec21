import type { HeaderInstance, HeaderType, HeaderUnion, Program } from "./program.ts";

/**
 * Headers are named by paths, as P4 and BMv2 write them: `ipv4`, `labels[0]` for an element of a stack, `l3.v6` for a member of a
 * union; in the parser also `labels.next` (to be extracted) and `labels.last` (extracted before).
 */
export function elementPath(stack: string, index: number): string {
  return `${stack}[${index}]`;
}

export function memberPath(union: string, member: string): string {
  return `${union}.${member}`;
}

export function nextPath(stack: string): string {
  return `${stack}.next`;
}

export function lastPath(stack: string): string {
  return `${stack}.last`;
}

/** The header, stack or union that a path begins with. */
export function instanceOf(path: string): string {
  return /^[^.[]*/.exec(path)?.[0] ?? path;
}

/** The stack that a path of the parser names, `stack.next` or `stack.last`. */
export function stackOf(path: string, way: "next" | "last"): string | undefined {
  return path.endsWith(`.${way}`) ? path.slice(0, -way.length - 1) : undefined;
}

/** The paths of the headers of an instance: its own, or those of its elements. */
export function pathsOf({ name, elements }: HeaderInstance): readonly string[] {
  return elements === undefined ? [name] : Array.from({ length: elements }, (_, i) => elementPath(name, i));
}

/** Every header that can be valid in a packet, by its path, with its type. */
export function headersByPath(program: Program): ReadonlyMap<string, HeaderType> {
  const types = new Map(program.headerTypes.toReversed().map((t) => [t.name, t]));
  const found = new Map<string, HeaderType>();
  const add = (path: string, typeName: string): void => {
    const type = types.get(typeName);
    if (type !== undefined) found.set(path, type);
  };
  for (const h of program.headers) for (const path of pathsOf(h)) add(path, h.headerType);
  for (const u of unionsOf(program)) for (const m of u.members) add(memberPath(u.name, m.name), m.headerType);
  return found;
}

export function unionsOf(program: Program): readonly HeaderUnion[] {
  return program.unions ?? [];
}

/** The paths of all headers in the order in which the deparser emits them. */
export function emittedPaths(program: Program): readonly string[] {
  return program.deparser.flatMap((name) => {
    const instance = program.headers.find((h) => h.name === name);
    if (instance !== undefined) return pathsOf(instance);
    const union = unionsOf(program).find((u) => u.name === name);
    return union === undefined ? [name] : union.members.map((m) => memberPath(name, m.name));
  });
}
