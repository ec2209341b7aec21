import type { HeaderType, Program } from "../../../src/ir/index.ts";
import { elementPath, headersByPath, instanceOf, unionsOf, widthOf } from "../../../src/ir/index.ts";

interface Header {
  readonly type: HeaderType;
  isValid: boolean;
  readonly fields: Map<string, bigint>;
  /** Bits of the field of variable length, and how many they are. */
  varbit: readonly [value: bigint, width: number];
}

/** The headers of one packet. */
export class Headers {
  readonly #program: Program;
  readonly #headers: Map<string, Header>;
  /** Elements of each stack that the parser has extracted. */
  readonly #extracted = new Map<string, number>();

  constructor(program: Program, from?: Headers) {
    this.#program = program;
    this.#headers = new Map(
      from === undefined
        ? [...headersByPath(program)].map(([path, type]) => [path, empty(type)])
        : [...from.#headers].map(([path, h]) => [path, { ...h, fields: new Map(h.fields) }]),
    );
  }

  copy(): Headers {
    return new Headers(this.#program, this);
  }

  isValid(path: string): boolean {
    return this.#at(path).isValid;
  }

  get(path: string, field: string): bigint {
    return this.#at(path).fields.get(field) ?? 0n;
  }

  set(path: string, field: string, value: bigint): void {
    this.#at(path).fields.set(field, value);
  }

  varbit(path: string): readonly [value: bigint, width: number] {
    return this.#at(path).varbit;
  }

  type(path: string): HeaderType {
    return this.#at(path).type;
  }

  /**
   * By how many bytes the packet becomes longer as BMv2 counts it: the other member of a union that this one takes the place of still counts.
   * A header that comes anew has zeros in its fields, as BMv2 has it; P4 says nothing.
   */
  setValidity(path: string, isValid: boolean): number {
    const header = this.#at(path);
    if (header.isValid === isValid) return 0;
    if (isValid) {
      header.fields.clear();
      header.varbit = [0n, 0];
    }
    const bytes = this.parts(path).reduce((sum, [, width]) => sum + width, 0) / 8;
    this.#mark(path, isValid);
    return isValid ? bytes : -bytes;
  }

  #mark(path: string, isValid: boolean): void {
    this.#at(path).isValid = isValid;
    const union = unionsOf(this.#program).find((u) => u.name === instanceOf(path));
    if (!isValid || union === undefined) return;
    for (const m of union.members)
      if (`${union.name}.${m.name}` !== path) this.#at(`${union.name}.${m.name}`).isValid = false;
  }

  /** Fills a header with what was read for it. */
  fill(path: string, values: readonly bigint[], varbit: readonly [bigint, number]): void {
    const header = this.#at(path);
    header.type.fields.forEach((f, i) => {
      header.fields.set(f.name, values[i] ?? 0n);
    });
    header.varbit = varbit;
    this.#mark(path, true);
  }

  /** The element that `stack.next` stands for; undefined when the stack is full. */
  next(stack: string): string | undefined {
    const path = elementPath(stack, this.#extracted.get(stack) ?? 0);
    return this.#headers.has(path) ? path : undefined;
  }

  countExtracted(stack: string): void {
    this.#extracted.set(stack, (this.#extracted.get(stack) ?? 0) + 1);
  }

  /** The element that `stack.last` stands for. */
  last(stack: string): string {
    return elementPath(stack, (this.#extracted.get(stack) ?? 0) - 1);
  }

  /** Moves all elements by so many places, to the end when positive; what comes in is not valid. */
  shift(stack: string, by: number): void {
    const size = this.#program.headers.find((h) => h.name === stack)?.elements ?? 0;
    const old = Array.from({ length: size }, (_, i) => this.#at(elementPath(stack, i)));
    old.forEach((h, i) => {
      this.#headers.set(elementPath(stack, i), old[i - by] ?? empty(h.type));
    });
  }

  /** A header as it stands in the packet: values with their widths. */
  parts(path: string): readonly (readonly [bigint, number])[] {
    const { type, fields, varbit } = this.#at(path);
    const fixed = type.fields.map((f) => [fields.get(f.name) ?? 0n, widthOf(f.type)] as const);
    return type.varbit === undefined ? fixed : [...fixed, varbit];
  }

  #at(path: string): Header {
    const header = this.#headers.get(path);
    if (header === undefined) throw new Error(`there is no header ${path}`);
    return header;
  }
}

function empty(type: HeaderType): Header {
  return { type, isValid: false, fields: new Map(), varbit: [0n, 0] };
}
