import type * as ir from "../ir/index.ts";
import { NO_ACTION } from "../ir/index.ts";
import {
  type Action,
  ActionSteps,
  type BoundAction,
  bindAction,
  type ControlHandle,
  type Counter,
  isStraight,
  type KeyLiteral,
  keySet,
  type MatchField,
  type Parameters,
  type Register,
  Steps,
  type Table,
} from "./steps.ts";
import { at, Num, type Numeric } from "./value.ts";

export interface TableOptions<K extends string> {
  readonly doc?: string;
  readonly key: { readonly [N in K]: MatchField };
  readonly actions: readonly { readonly kind: "action"; readonly name: string }[];
  readonly size: number;
  /** Default: NoAction. */
  readonly defaultAction?: BoundAction;
  /** The control plane cannot change the default action. */
  readonly constDefault?: boolean;
  /** In winning order. */
  readonly entries?: readonly {
    readonly key: { readonly [N in K]: KeyLiteral };
    readonly run: BoundAction;
  }[];
  readonly counter?: string;
}

/** Builds one control. All names become `control.name` for the control plane. */
export class ControlBuilder implements ControlHandle {
  readonly kind = "control";
  readonly name: string;
  readonly #gress: "ingress" | "egress";
  readonly #doc: string | undefined;
  readonly #nameOf: (header: object) => string;
  readonly #place: { readonly at?: ir.SourceLocation };
  readonly #actions: ir.Action[] = [];
  readonly #tables: ir.Table[] = [];
  readonly #registers: ir.Register[] = [];
  readonly #counters: ir.Counter[] = [];
  readonly #steps: Steps;

  constructor(
    name: string,
    gress: "ingress" | "egress",
    doc: string | undefined,
    nameOf: (header: object) => string,
  ) {
    this.name = name;
    this.#gress = gress;
    this.#doc = doc;
    this.#nameOf = nameOf;
    this.#place = at({});
    this.#steps = new Steps(nameOf);
  }

  action<const P extends Parameters>(
    name: string,
    parameters: P,
    body: (s: ActionSteps, parameters: { readonly [K in keyof P]: Num<P[K]> }) => void,
    doc?: string,
  ): Action<P> {
    const full = `${this.name}.${name}`;
    const references = Object.fromEntries(
      Object.entries(parameters).map(([parameter, type]) => [
        parameter,
        new Num<Numeric>({ kind: "parameter", name: parameter, type }),
      ]),
    ) as { readonly [K in keyof P]: Num<P[K]> };
    const steps = new ActionSteps(this.#nameOf);
    body(steps, references);
    this.#actions.push(
      at({
        name: full,
        parameters: Object.entries(parameters).map(([parameter, type]) => ({ name: parameter, type })),
        body: steps.finish().filter(isStraight),
        ...(doc === undefined ? {} : { doc }),
      }),
    );
    return { kind: "action", name: full, parameters, with: (data) => bindAction(full, parameters, data) };
  }

  table<const K extends string>(name: string, o: TableOptions<K>): Table {
    const full = `${this.name}.${name}`;
    const keys = Object.entries<MatchField>(o.key);
    const entries = (o.entries ?? []).map((entry) => {
      const literals: Readonly<Record<string, KeyLiteral>> = entry.key;
      return at({ keys: keys.map(([field]) => keySet(literals[field] ?? { kind: "any" })), ...entry.run });
    });
    this.#tables.push(
      at({
        name: full,
        ...(o.doc === undefined ? {} : { doc: o.doc }),
        key: keys.map(([field, match]) => Object.freeze({ name: field, ...match })),
        actions: o.actions.map((a) => a.name),
        size: o.size,
        defaultAction: {
          ...(o.defaultAction ?? { action: NO_ACTION, arguments: [] }),
          constant: o.constDefault ?? false,
        },
        constEntries: entries,
        ...(o.counter === undefined ? {} : { directCounter: `${this.name}.${o.counter}` }),
      }),
    );
    return { kind: "table", name: full };
  }

  register<T extends Numeric>(name: string, type: T, size: number, doc?: string): Register<T> {
    const full = `${this.name}.${name}`;
    this.#registers.push(at({ name: full, type, size, ...(doc === undefined ? {} : { doc }) }));
    return { kind: "register", name: full, type, size };
  }

  /** Counts packets, one cell per name. */
  counter<const C extends string>(name: string, cells: readonly C[], doc?: string): Counter<C> {
    const full = `${this.name}.${name}`;
    this.#counters.push(
      at({ name: full, size: cells.length, unit: "packets", cells, ...(doc === undefined ? {} : { doc }) }),
    );
    return { kind: "counter", name: full, cells };
  }

  apply(steps: (s: Steps) => void): void {
    steps(this.#steps);
  }

  finish(): ir.Control {
    return {
      name: this.name,
      ...(this.#doc === undefined ? {} : { doc: this.#doc }),
      gress: this.#gress,
      actions: [...this.#actions],
      tables: [...this.#tables],
      registers: [...this.#registers],
      counters: [...this.#counters],
      apply: this.#steps.finish(),
      ...this.#place,
    };
  }
}
