import { builtinModules, createRequire, Module } from "node:module";

/**
 * Runs a user's program as a script, at once and from memory, where gradplane's own modules are in this script, too: a module would have
 * to be written, found and linked. That is for programs that import nothing but gradplane and Node's own modules; all others are imported.
 */

/** What a program may import by these names from the script that runs it; empty where gradplane is many modules. */
export const ownDoors = new Map<string, object>();

/** Thrown by a name that a door does not have. Whoever imports the program as a module says more of it. */
export class MissingExport extends Error {}

const builtin = new Set(builtinModules);

/** Whether a script finds what is imported by this name. */
export function isInScript(name: string): boolean {
  return ownDoors.has(name) || name.startsWith("node:") || builtin.has(name);
}

/**
 * @param text CommonJS, with its source map
 * @param file name by which stacks and source maps know it; nothing has to be there
 * @returns what it exports
 * @throws MissingExport, and whatever the program throws
 */
export function runScript(text: string, file: string): Readonly<Record<string, unknown>> {
  const module = new Module(file);
  const others = createRequire(file);
  module.require = ((name: string) => {
    const door = ownDoors.get(name);
    return door === undefined ? others(name) : strict(door);
  }) as NodeJS.Require;
  if (!("_compile" in module) || typeof module._compile !== "function")
    throw new MissingExport("this Node has no scripts with source maps");
  module._compile(text, file);
  return module.exports;
}

/** A door that does not answer "undefined" for what it does not have. */
function strict(door: object): object {
  return new Proxy(door, {
    get(target, key) {
      if (!Reflect.has(target, key) && typeof key === "string" && key !== "__esModule")
        throw new MissingExport(key);
      return Reflect.get(target, key);
    },
  });
}
