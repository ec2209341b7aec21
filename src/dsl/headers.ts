import type * as ir from "../ir/index.ts";
import { type BitType, bit, elementPath, lastPath, memberPath, nextPath } from "../ir/index.ts";
import type { WireHeader } from "../wire/header.ts";
import { callSite } from "./callsite.ts";
import { ProgramError } from "./programerror.ts";
import { at, Variable } from "./value.ts";

/** A header instance: its fields by name. */
export type Header<F extends string = string> = { readonly [K in F]: Variable<BitType> };

/** Headers of one type, one behind the other. */
export interface HeaderStack<F extends string = string> {
  readonly kind: "stack";
  readonly name: string;
  readonly size: number;
  /** For the parser's `extract`: the first element that is not extracted yet. Beyond the last one, the parser ends with an error. */
  readonly next: NextElement;
  /** In the parser: the element extracted last. */
  readonly last: Header<F>;
  /** An element, counted from 0. */
  at(index: number): Header<F>;
}

export interface NextElement {
  readonly kind: "next";
}

/** Headers of which a packet has at most one: making one valid makes the others invalid. */
export type HeaderUnion<M extends Readonly<Record<string, WireHeader>>> = {
  readonly [N in keyof M]: M[N] extends WireHeader<infer F> ? Header<F> : never;
};

type Instance = ir.HeaderInstance | ir.HeaderUnion;

/** The headers of a program: their types, where each may be valid, and the order in which they leave the switch. */
export class Headers {
  readonly #types: ir.HeaderType[] = [];
  readonly #known = new Map<
    string,
    { readonly instance: Instance; readonly shape: string; readonly handle: unknown }
  >();
  readonly #again: Instance[] = [];
  readonly #paths = new WeakMap<object, string>();
  readonly #emitted: string[] = [];

  header<F extends string>(declaration: WireHeader<F>, name: string, emitted: boolean): Header<F> {
    const instance = at({ name, headerType: declaration.name });
    return this.#once(instance, [declaration], emitted, () => this.#handle(name, declaration));
  }

  stack<F extends string>(name: string, declaration: WireHeader<F>, size: number): HeaderStack<F> {
    const instance = at({ name, headerType: declaration.name, elements: size });
    return this.#once(instance, [declaration], true, () => {
      const elements = new Map<number, Header<F>>();
      const next: NextElement = Object.freeze({ kind: "next" });
      this.#paths.set(next, nextPath(name));
      return Object.freeze({
        kind: "stack",
        name,
        size,
        next,
        last: this.#handle(lastPath(name), declaration),
        at: (index: number) => {
          const known = elements.get(index) ?? this.#handle(elementPath(name, index), declaration);
          elements.set(index, known);
          return known;
        },
      });
    });
  }

  union<const M extends Readonly<Record<string, WireHeader>>>(name: string, members: M): HeaderUnion<M> {
    const list = Object.entries<WireHeader>(members);
    const instance = at({
      name,
      members: list.map(([member, declaration]) => ({ name: member, headerType: declaration.name })),
    });
    const declarations = list.map(([, declaration]) => declaration);
    return this.#once(instance, declarations, true, () => {
      const handles = list.map(([member, declaration]) => [
        member,
        this.#handle(memberPath(name, member), declaration),
      ]);
      // One handle for each member.
      return Object.freeze(Object.fromEntries(handles)) as HeaderUnion<M>;
    });
  }

  pathOf(header: object): string {
    const path = this.#paths.get(header);
    if (path !== undefined) return path;
    throw new ProgramError({
      code: "GP1204",
      message: "this is not a header of this program",
      at: callSite(),
    });
  }

  /** The path of a header's field of variable length. */
  varbitOf(header: object): string {
    const path = this.pathOf(header);
    const instance = this.#known.get(path)?.instance;
    const type = instance !== undefined && "headerType" in instance ? instance.headerType : undefined;
    return `${path}.${this.#types.find((t) => t.name === type)?.varbit?.name ?? "varbit"}`;
  }

  finish(packetIn: string | undefined): Pick<ir.Program, "headerTypes" | "headers" | "unions" | "deparser"> {
    const instances = [...[...this.#known.values()].map((k) => k.instance), ...this.#again];
    const unions = instances.filter((i): i is ir.HeaderUnion => "members" in i);
    const others = this.#emitted.filter((h) => h !== packetIn);
    return {
      headerTypes: [...this.#types],
      headers: instances.filter((i): i is ir.HeaderInstance => !("members" in i)),
      ...(unions.length === 0 ? {} : { unions }),
      deparser: packetIn === undefined ? others : [packetIn, ...others],
    };
  }

  /** What is declared again in the same way is the same: features share headers so. */
  #once<H>(instance: Instance, declarations: readonly WireHeader[], emitted: boolean, make: () => H): H {
    const { name } = instance;
    const shape = JSON.stringify([
      { ...instance, at: undefined },
      declarations.map((d) => [fieldsOf(d), d.varbit]),
    ]);
    const known = this.#known.get(name);
    // The same shape was made with handles of the same types.
    if (known?.shape === shape) return known.handle as H;
    const handle = make();
    if (known !== undefined) {
      // Kept, so that the checks can name both places.
      this.#again.push(instance);
      return handle;
    }
    for (const declaration of declarations) this.#type(declaration);
    this.#known.set(name, { instance, shape, handle });
    if (emitted) this.#emitted.push(name);
    return handle;
  }

  /** Another type of the same name is kept for the checks. */
  #type(declaration: WireHeader): void {
    const { name, doc } = declaration;
    const varbit = varbitOf(declaration);
    const fields = fieldsOf(declaration);
    const same = (t: ir.HeaderType): boolean =>
      t.name === name && JSON.stringify([t.fields, t.varbit]) === JSON.stringify([fields, varbit]);
    if (this.#types.some(same)) return;
    this.#types.push(
      at({
        name,
        fields,
        ...(varbit === undefined ? {} : { varbit }),
        ...(doc === undefined ? {} : { doc }),
      }),
    );
  }

  #handle<F extends string>(path: string, declaration: WireHeader<F>): Header<F> {
    const handle = Object.fromEntries(
      declaration.fields.map((f) => [
        f.name,
        new Variable({ kind: "field", header: path, field: f.name, type: bit(f.bits) }),
      ]),
    ) as Header<F>;
    Object.freeze(handle);
    this.#paths.set(handle, path);
    return handle;
  }
}

function varbitOf({ varbit }: WireHeader): ir.VarbitField | undefined {
  if (varbit === undefined) return undefined;
  const { name, bits, doc } = varbit;
  return { name, width: bits, ...(doc === undefined ? {} : { doc }) };
}

function fieldsOf(declaration: WireHeader): readonly ir.HeaderField[] {
  return declaration.fields.map((f) => ({
    name: f.name,
    type: bit(f.bits),
    ...(f.doc === undefined ? {} : { doc: f.doc }),
  }));
}
