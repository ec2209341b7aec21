import { SwitchConfigError } from "./config-error.ts";
import { parseHexstr } from "./hexstr.ts";

type JsonRecord = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** A place in a JSON document: a value together with the path that leads to it. */
export class JsonCursor {
  readonly value: unknown;
  readonly path: string;

  constructor(value: unknown, path = "") {
    this.value = value;
    this.path = path;
  }

  fail(expected: string): never {
    throw new SwitchConfigError("WRONG_TYPE", this.path, `expected ${expected}, found ${kindOf(this.value)}`);
  }

  refuse(problem: string): never {
    throw new SwitchConfigError("BAD_VALUE", this.path, problem);
  }

  unsupported(problem: string): never {
    throw new SwitchConfigError("UNSUPPORTED", this.path, problem);
  }

  private record(): JsonRecord {
    return isRecord(this.value) ? this.value : this.fail("an object");
  }

  private childPath(key: string): string {
    return this.path === "" ? key : `${this.path}.${key}`;
  }

  get isNull(): boolean {
    return this.value === null || this.value === undefined;
  }

  get isString(): boolean {
    return typeof this.value === "string";
  }

  get isObject(): boolean {
    return isRecord(this.value);
  }

  get isArray(): boolean {
    return Array.isArray(this.value);
  }

  has(key: string): boolean {
    return isRecord(this.value) && this.value[key] !== undefined;
  }

  keys(): readonly string[] {
    return Object.keys(this.record());
  }

  /** The member `key`, which must exist (it may be null). */
  get(key: string): JsonCursor {
    const value = this.record()[key];
    if (value === undefined) {
      throw new SwitchConfigError("MISSING", this.path, `has no "${key}"`);
    }
    return new JsonCursor(value, this.childPath(key));
  }

  /** The member `key`, or undefined if it is absent or null. */
  optional(key: string): JsonCursor | undefined {
    const value = this.record()[key];
    return value === undefined || value === null ? undefined : new JsonCursor(value, this.childPath(key));
  }

  /** The elements of the array `key`; an absent array counts as empty. */
  list(key: string): readonly JsonCursor[] {
    return this.optional(key)?.elements() ?? [];
  }

  elements(): readonly JsonCursor[] {
    if (!Array.isArray(this.value)) return this.fail("an array");
    return this.value.map((element: unknown, index) => new JsonCursor(element, `${this.path}[${index}]`));
  }

  element(index: number): JsonCursor {
    const elements = this.elements();
    return elements[index] ?? this.refuse(`needs at least ${index + 1} elements, has ${elements.length}`);
  }

  string(): string {
    return typeof this.value === "string" ? this.value : this.fail("a string");
  }

  boolean(): boolean {
    return typeof this.value === "boolean" ? this.value : this.fail("true or false");
  }

  integer(): number {
    if (typeof this.value !== "number") return this.fail("an integer");
    if (!Number.isSafeInteger(this.value)) {
      throw new SwitchConfigError(
        Number.isInteger(this.value) ? "INEXACT_INTEGER" : "BAD_VALUE",
        this.path,
        `${this.value} is no integer that JSON carries exactly (at most 2^53 - 1)`,
      );
    }
    return this.value;
  }

  naturalNumber(): number {
    const value = this.integer();
    return value >= 0 ? value : this.refuse(`${value} is negative`);
  }

  hexstr(): bigint {
    return parseHexstr(this.string(), this.path);
  }
}
