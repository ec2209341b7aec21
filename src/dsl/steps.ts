import type {
  ActionParameter,
  BitType,
  Block,
  ConstantName,
  DataType,
  Expression,
  HashAlgorithm,
  KeySet,
  MatchKind,
  MetadataReference,
  Statement,
  StraightStatement,
} from "../ir/index.ts";
import { rangeOf } from "../ir/index.ts";
import type { PartAbout } from "./about.ts";
import { type DropReasons, type Gress, PASSED, REPLICATED } from "./dropreasons.ts";
import type { HeaderStack } from "./headers.ts";
import { onlyKnown } from "./options.ts";
import { ProgramError } from "./programerror.ts";
import {
  at,
  type Bool,
  exact,
  type Literal,
  NamedConstant,
  Num,
  type Numeric,
  type Operand,
  operand,
  truth,
  type Value,
  type Variable,
} from "./value.ts";

export type Parameters = Readonly<Record<string, Numeric>>;

/** An action with its parameters; `with` binds run-time data for default actions and constant entries. */
export interface Action<P extends Parameters = Parameters> {
  readonly kind: "action";
  readonly name: string;
  readonly parameters: P;
  with(data: { readonly [K in keyof P]: Literal | NamedConstant<P[K]> }): BoundAction;
}

export interface BoundAction {
  readonly action: string;
  readonly arguments: readonly bigint[];
  /** Which arguments were given as constants of the program. */
  readonly named?: readonly (ConstantName | undefined)[];
}

export interface Table {
  readonly kind: "table";
  readonly name: string;
}

export interface Register<T extends Numeric = Numeric> {
  readonly kind: "register";
  readonly name: string;
  readonly type: T;
  readonly size: number;
}

export interface Counter<C extends string = string> {
  readonly kind: "counter";
  readonly name: string;
  readonly cells: readonly C[];
}

/** An action profile or action selector, for `implementation` of tables. */
export interface ActionProfile {
  readonly kind: "actionProfile";
  readonly name: string;
}

export interface Meter {
  readonly kind: "meter";
  readonly name: string;
}

export type DigestFields = Readonly<Record<string, BitType>>;

/** What the control plane can be told of a packet, by field. */
export interface Digest<F extends DigestFields = DigestFields> {
  readonly kind: "digest";
  readonly name: string;
  readonly fields: F;
}

export interface ControlHandle {
  readonly kind: "control";
  readonly name: string;
}

export type Update<T extends Numeric> = {
  readonly index: Num<BitType>;
  /** The cell's new value. All of it sees the cell as it was. */
  readonly next: (old: Num<T>) => Num<T>;
} & (
  | { readonly output?: undefined; readonly into?: undefined }
  | {
      /** What goes into `into`: from the cell before and after. */
      readonly output: (cell: { readonly old: Num<T>; readonly next: Num<T> }) => Num;
      readonly into: Variable;
    }
);

export interface HashOptions {
  readonly algorithm: HashAlgorithm;
  readonly fields: readonly Num[];
  /** How many results there are, from `base` on: hash mod buckets. Left out: the hash's low bits, as many as the target has. */
  readonly buckets?: Literal;
  /** The smallest result; default 0. */
  readonly base?: Literal;
}

const UPDATE_OPTIONS: readonly string[] = ["index", "next", "output", "into"];
const HASH_OPTIONS: readonly string[] = ["algorithm", "fields", "buckets", "base"];

/** Where statements stand, and what they need to know of the program. */
export interface StepsContext {
  readonly nameOf: (header: object) => string;
  readonly gress: Gress;
  /** The control, or the gress outside of controls. */
  readonly owner: string;
  /** What a drop is called that says nothing else: the action's name. */
  readonly reason: string;
  /** Where a feature counts drops. */
  readonly reasons: DropReasons | undefined;
}

/** Statements of an action: straight-line. */
export class ActionSteps {
  readonly #list: Statement[] = [];
  readonly #context: StepsContext;

  constructor(context: StepsContext) {
    this.#context = context;
  }

  protected push(statement: Statement): void {
    this.#list.push(statement);
  }

  protected get context(): StepsContext {
    return this.#context;
  }

  set<T extends Numeric>(target: Variable<T>, value: Operand<T>): void {
    const { node } = target;
    this.push(at({ kind: "assign", target: node, value: operand(value, target.type) }));
    if (node.kind !== "intrinsic" || this.#context.gress !== "ingress") return;
    // Either undoes a drop.
    if (node.name === "egress_port") this.#because(PASSED);
    if (node.name === "multicast_group") this.#because(REPLICATED);
  }

  setValid(header: object): void {
    this.push(at({ kind: "setValidity", header: this.#context.nameOf(header), valid: true }));
  }

  setInvalid(header: object): void {
    this.push(at({ kind: "setValidity", header: this.#context.nameOf(header), valid: false }));
  }

  /** Makes room for so many headers in front of a stack: they are not valid yet, and what is pushed over its end is lost. */
  pushFront(stack: HeaderStack, count = 1): void {
    this.push(at({ kind: "pushFront", stack: stack.name, count }));
  }

  /** Takes so many headers off the front of a stack. */
  popFront(stack: HeaderStack, count = 1): void {
    this.push(at({ kind: "popFront", stack: stack.name, count }));
  }

  /** One atomic read-modify-write of a register cell; see `RegisterUpdate` of the ir. */
  update<T extends Numeric>(register: Register<T>, update: Update<T>): void {
    const { index, next, output, into } = update;
    onlyKnown(`update of ${register.name}`, update, UPDATE_OPTIONS);
    if (typeof next !== "function") {
      const message = `update of ${register.name}: next is missing; write what becomes of the cell, next: (old) => old.add(1)`;
      throw new ProgramError(at({ code: "GP1701", message }));
    }
    // Without a place: when it is used outside, the use is what is wrong.
    const memory = (which: "old" | "next"): Num<T> =>
      new Num<T>({ kind: "memory", which, type: register.type });
    const out = output?.({ old: memory("old"), next: memory("next") });
    this.push(
      at({
        kind: "registerUpdate",
        register: register.name,
        index: index.node,
        next: next(memory("old")).node,
        ...(out === undefined ? {} : { output: out.node }),
        ...(into === undefined ? {} : { into: into.node }),
      }),
    );
  }

  /** Counts the packet in the cell of that name, or of a computed index. */
  count<C extends string>(counter: Counter<C>, cell: NoInfer<C> | Num<BitType>): void {
    if (typeof cell === "string" && !counter.cells.includes(cell)) {
      const message = `counter ${counter.name} has no cell ${cell}; it has ${counter.cells.join(", ")}`;
      throw new ProgramError(at({ code: "GP1204", message }));
    }
    const index =
      typeof cell === "string" ? operand(counter.cells.indexOf(cell), { kind: "bit", width: 32 }) : cell.node;
    this.push(at({ kind: "count", counter: counter.name, index }));
  }

  /**
   * Drops the packet. In ingress a later write of `intrinsic.egress_port` or `intrinsic.multicast_group` undoes it.
   *
   * @param reason for who counts drops (`telemetry`); the action's own name when not said. The control's name is put in front of it
   *   unless it has one.
   */
  drop(reason?: string): void {
    this.push(at({ kind: "drop" }));
    this.staysDropped(reason);
  }

  /** Gives another reason for the drop of a packet that is dropped already. */
  staysDropped(reason?: string): void {
    const name = reason ?? this.#context.reason;
    this.#because(name.includes(".") ? name : `${this.#context.owner}.${name}`);
  }

  #because(name: string): void {
    const { gress, reasons } = this.#context;
    if (reasons === undefined) return;
    const { variable } = reasons.of(gress);
    const code = operand(reasons.code(gress, name), variable.type);
    this.push(at({ kind: "assign", target: variable.node, value: code }));
  }

  /** Sends a copy of the packet as it arrived to the port of a clone session. */
  clone(session: Operand<BitType>): void {
    this.push(at({ kind: "clone", session: operand(session, { kind: "bit", width: 32 }) }));
  }

  /** In ingress: once more from the parser on, as the packet came. These metadata keep their values, all others are 0 again. */
  resubmit(keep: readonly Variable[] = []): void {
    this.#again("resubmit", keep);
  }

  /** In ingress: once more from the parser on, as the packet leaves egress. These metadata keep their values, all others are 0 again. */
  recirculate(keep: readonly Variable[] = []): void {
    this.#again("recirculate", keep);
  }

  #again(kind: "resubmit" | "recirculate", keep: readonly Variable[]): void {
    // What is no metadata field is found by the checks.
    this.push(at({ kind, keep: keep.map((v) => v.node as MetadataReference) }));
  }

  /** Writes a hash of fields: `s.hash(path, { algorithm: "crc16", fields: [ip.src_addr, ip.dst_addr], buckets: 12 })`. */
  hash<T extends BitType>(into: Variable<T>, o: HashOptions): void {
    const node = at({
      kind: "hash",
      algorithm: o.algorithm,
      fields: o.fields.map((f) => f.node),
      base: exact(o.base ?? 0, into.type),
      ...(o.buckets === undefined ? {} : { buckets: exact(o.buckets) }),
      into: into.node,
    });
    onlyKnown("hash", o, HASH_OPTIONS, node.at);
    this.push(node);
  }

  /** Writes a random number from low to high, both included; from all that the target can hold when they are left out. */
  random<T extends BitType>(into: Variable<T>, low?: Operand<NoInfer<T>>, high?: Operand<NoInfer<T>>): void {
    this.push(
      at({
        kind: "random",
        low: operand(low ?? 0, into.type),
        high: operand(high ?? rangeOf(into.type)[1], into.type),
        into: into.node,
      }),
    );
  }

  /** Meters the packet in a cell; the colour is one of `colours`. */
  meter(meter: Meter, index: Operand<BitType>, into: Variable<BitType<2>>): void {
    const cell = operand(index, { kind: "bit", width: 32 });
    this.push(at({ kind: "meter", meter: meter.name, index: cell, into: into.node }));
  }

  /** Tells the control plane of the packet, when ingress ends; the last digest of a packet wins. */
  digest<F extends DigestFields>(
    digest: Digest<F>,
    values: { readonly [K in keyof F]: Operand<F[K]> },
  ): void {
    const given: Readonly<Record<string, Value<DataType> | Literal>> = values;
    checkNames(digest.name, Object.keys(digest.fields), Object.keys(given), "field");
    const nodes = Object.entries(digest.fields).map(([name, type]) => operand(given[name] ?? 0, type));
    this.push(at({ kind: "digest", digest: digest.name, values: nodes }));
  }

  finish(): readonly Statement[] {
    return Object.freeze([...this.#list]);
  }
}

/** Statements of a control. */
export class Steps extends ActionSteps {
  /** Here, or in front of the block. */
  #drops = false;

  if(condition: Bool, then: (s: Steps) => void, otherwise?: (s: Steps) => void): void {
    this.push(
      at({
        kind: "if",
        condition: truth(condition),
        whenTrue: this.#block(then),
        whenFalse: otherwise === undefined ? [] : this.#block(otherwise),
      }),
    );
  }

  apply(table: Table, branches: { hit?: (s: Steps) => void; miss?: (s: Steps) => void } = {}): void {
    this.push(
      at({
        kind: "applyTable",
        table: table.name,
        hit: branches.hit === undefined ? [] : this.#block(branches.hit),
        miss: branches.miss === undefined ? [] : this.#block(branches.miss),
      }),
    );
  }

  invoke(control: ControlHandle): void {
    this.push(at({ kind: "applyControl", control: control.name }));
  }

  call<P extends Parameters>(
    action: Action<P>,
    ...data: keyof P extends never ? [] : [{ readonly [K in keyof P]: Operand<P[K]> }]
  ): void {
    const given: Readonly<Record<string, Value<DataType> | Literal>> = data[0] ?? {};
    checkNames(action.name, Object.keys(action.parameters), Object.keys(given));
    const args = Object.entries(action.parameters).map(([name, type]) => operand(given[name] ?? 0, type));
    this.push(at({ kind: "callAction", action: action.name, arguments: args }));
  }

  /** Ends the gress for this packet. */
  exit(): void {
    if (this.#drops && this.context.reasons !== undefined)
      throw new ProgramError(
        at({
          code: "GP1702",
          message: `${this.context.owner}: a packet that is dropped must not exit where drops are counted, or it is not counted; leave out the exit`,
        }),
      );
    this.push(at({ kind: "exit" }));
  }

  override drop(reason?: string): void {
    super.drop(reason);
    this.#drops = true;
  }

  #block(build: (s: Steps) => void): Block {
    const inner = new Steps(this.context);
    inner.#drops = this.#drops;
    build(inner);
    return inner.finish();
  }
}

export function isStraight(s: Statement): s is StraightStatement {
  return !["if", "applyTable", "applyControl", "callAction", "exit"].includes(s.kind);
}

export function bindAction<P extends Parameters>(
  name: string,
  parameters: P,
  data: { readonly [K in keyof P]: Literal | NamedConstant<P[K]> },
): BoundAction {
  checkNames(name, Object.keys(parameters), Object.keys(data));
  const values: Readonly<Record<string, Literal | NamedConstant>> = data;
  const given = Object.entries(parameters).map(([parameter, type]) => ({
    value: values[parameter] ?? 0,
    type,
  }));
  const args = given.map(({ value, type }) =>
    value instanceof NamedConstant ? value.node.value : exact(value, type),
  );
  const named = given.map(({ value }) => (value instanceof NamedConstant ? value.node.named : undefined));
  return Object.freeze({
    action: name,
    arguments: Object.freeze(args),
    ...(named.some((n) => n !== undefined) ? { named: Object.freeze(named) } : {}),
  });
}

function checkNames(
  owner: string,
  wanted: readonly string[],
  given: readonly string[],
  what = "parameter",
): void {
  const missing = wanted.filter((n) => !given.includes(n));
  const extra = given.filter((n) => !wanted.includes(n));
  if (missing.length + extra.length === 0) return;
  const parts = [
    ...missing.map((n) => `${what} ${n} is missing`),
    ...extra.map((n) => `there is no ${what} ${n}`),
  ];
  const list = wanted.length === 0 ? "it has none" : `it has ${wanted.join(", ")}`;
  throw new ProgramError(at({ code: "GP1404", message: `${owner}: ${parts.join("; ")} (${list})` }));
}

/** One position of a constant entry or select case, as users write it. */
export type KeyLiteral = Literal | boolean | KeySet | NamedConstant;

export function masked(value: Literal, mask: Literal): KeySet {
  return { kind: "mask", value: exact(value), mask: exact(mask) };
}
export function prefix(value: Literal, length: number): KeySet {
  return { kind: "prefix", value: exact(value), length };
}
export function range(low: Literal, high: Literal): KeySet {
  return { kind: "range", low: exact(low), high: exact(high) };
}
export const any: KeySet = Object.freeze({ kind: "any" });

export function keySet(literal: KeyLiteral): KeySet {
  if (literal instanceof NamedConstant)
    return Object.freeze({ kind: "value", value: literal.node.value, named: literal.node.named });
  return typeof literal === "object"
    ? Object.freeze(literal)
    : Object.freeze({ kind: "value", value: exact(literal) });
}

/** A match field: an expression and how it is matched. */
export interface MatchField {
  readonly expression: Expression;
  readonly match: MatchKind;
  readonly about?: PartAbout;
}
const field =
  (match: MatchKind) =>
  (expression: Value<DataType>, about?: PartAbout): MatchField => ({
    expression: expression.node,
    match,
    ...(about === undefined ? {} : { about }),
  });
export const exactly = field("exact");
export const lpm = field("lpm");
export const ternary = field("ternary");
export const inRange = field("range");
export const optional = field("optional");

export type { ActionParameter };
