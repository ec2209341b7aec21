/** Hands out identifiers that are not taken yet. */
export class Names {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /** `wanted`, or with the suffix, or with a number behind it. */
  take(wanted: string, suffix = ""): string {
    let name = wanted;
    if (this.#taken.has(name) && suffix !== "") name = `${wanted}_${suffix}`;
    for (let i = 2; this.#taken.has(name); i++) name = `${wanted}_${suffix === "" ? "" : `${suffix}_`}${i}`;
    this.#taken.add(name);
    return name;
  }

  has(name: string): boolean {
    return this.#taken.has(name);
  }

  /** A scope inside this one. */
  inner(names: Iterable<string> = []): Names {
    return new Names([...this.#taken, ...names]);
  }
}

/** `hot_aggregation` -> `HotAggregation`, the way P4 programs name controls. */
export function pascalCase(name: string): string {
  return name
    .split("_")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
}

/** The object part of `control.object`. */
export function localPart(name: string): string {
  return name.slice(name.indexOf(".") + 1);
}

/** The control part of `control.object`. */
export function controlPart(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(".")));
}
