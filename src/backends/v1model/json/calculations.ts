import type { Json, JsonObject } from "./json.ts";

/** What is hashed and summed up, with the names by which primitives and checksums refer to it. */
export class Calculations {
  readonly #list: JsonObject[] = [];

  /** Adds a calculation; answers its name. */
  add(algorithm: string, input: readonly Json[]): string {
    const id = this.#list.length;
    const name = `calc_${id}`;
    this.#list.push({ name, id, algo: algorithm, input });
    return name;
  }

  list(): readonly JsonObject[] {
    return this.#list;
  }
}
