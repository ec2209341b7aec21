import { check } from "../ir/check/check.ts";
import { checkPortNumbers } from "../ir/check/ports.ts";
import { severityOf } from "../ir/diagnostics.ts";
import type * as ir from "../ir/index.ts";
import {
  type BitType,
  type IntrinsicName,
  intrinsics,
  NO_ACTION,
  type SourceLocation,
  sameType,
  typeName,
} from "../ir/index.ts";
import type { WireHeader } from "../wire/header.ts";
import type { TargetAnnotations } from "./about.ts";
import { callSite, placedAt } from "./callsite.ts";
import { ControlBuilder } from "./control.ts";
import { DropReasons } from "./dropreasons.ts";
import { type Header, type HeaderStack, Headers, type HeaderUnion } from "./headers.ts";
import { onlyKnown } from "./options.ts";
import { ParserBuilder } from "./parser.ts";
import { ProgramError } from "./programerror.ts";
import { Steps } from "./steps.ts";
import { at, Bool, exact, type Literal, NamedConstant, type Num, type Numeric, Variable } from "./value.ts";

/**
 * A part of a switch. Built-in features and users' own are the same thing: an object whose `build` declares headers,
 * parser states, controls and steps with the methods of `ProgramBuilder`.
 */
export interface Feature {
  readonly name: string;
  /** Where the user asked for it. */
  readonly at?: SourceLocation | undefined;
  /** It wants to know why packets are dropped: see `ProgramBuilder.dropReasons`. */
  readonly countsDrops?: boolean;
  build(p: ProgramBuilder): void;
}

/** Order in which the features' steps run, whatever the order of the features. */
export const phases = ["receive", "classify", "route", "aggregate", "deliver"] as const;
export type Phase = (typeof phases)[number];

export interface ProgramOptions {
  readonly doc?: string;
  /** Front-panel ports, numbered from 0. At most 511; one less with a controller's port. */
  readonly ports: number;
  /** Port number of the controller for packet-in and packet-out. */
  readonly cpuPort?: number;
  /** Strict-priority queues per port, 1 to 8; default 1. */
  readonly priorityQueues?: number;
  readonly features: readonly Feature[];
}

/**
 * A checked program. `ir` is what backends take; `features` keep their options for the control plane. `warnings` also
 * holds the errors that only one target has.
 */
export interface SwitchProgram {
  readonly name: string;
  readonly ir: ir.Program;
  readonly features: readonly Feature[];
  readonly warnings: readonly ir.Diagnostic[];
}

/**
 * Builds and checks a program.
 * @throws ProgramError with everything found, each with its place in the user's file.
 */
export function program(name: string, options: ProgramOptions): SwitchProgram {
  const site = callSite();
  checkOptions(name, options, site);
  const p = new ProgramBuilder(name, options);
  for (const feature of options.features) p.build(feature);
  const finished = p.finish();
  // What has no place of its own is about the program as a whole.
  const found = check(finished).map((d) => Object.freeze(d.at === undefined ? { ...d, at: site } : d));
  const [first, ...rest] = found;
  const isWrong = found.some((d) => severityOf(d) === "error" && d.target === undefined);
  if (first !== undefined && isWrong) throw new ProgramError(first, ...rest);
  return Object.freeze({
    name,
    ir: finished,
    features: Object.freeze([...options.features]),
    warnings: Object.freeze(found),
  });
}

const OPTIONS: readonly string[] = ["doc", "ports", "cpuPort", "priorityQueues", "features"];

/** What a type checker would find, for programs that are run without one. */
function checkOptions(name: string, options: ProgramOptions, at: SourceLocation | undefined): void {
  const refuse = (message: string): never => {
    throw new ProgramError({ code: "GP1701", message: `program ${name}: ${message}`, at });
  };
  onlyKnown(`program ${name}`, options, OPTIONS, at);
  if (typeof options.ports !== "number") refuse("ports is missing; write the number of ports");
  if (!Array.isArray(options.features)) refuse("features is missing; write features: [...]");
  // All else that is wrong with such a program would come of this.
  const { ports, cpuPort, priorityQueues = 1 } = options;
  const wrong: ir.Diagnostic[] = [];
  const numbers = { ports, priorityQueues, ...(cpuPort === undefined ? {} : { cpuPort }) };
  checkPortNumbers(numbers, (d) => wrong.push(Object.freeze({ ...d, at })));
  const [first, ...rest] = wrong;
  if (first !== undefined) throw new ProgramError(first, ...rest);
  options.features.forEach((feature, i) => {
    if (typeof feature?.build !== "function")
      refuse(`features[${i}] is not a feature: it has no build method`);
    if (options.features.findIndex((other) => other.name === feature.name) !== i) {
      throw new ProgramError({
        code: "GP1701",
        message: `program ${name}: feature ${feature.name} is listed twice; remove one`,
        at: feature.at ?? at,
      });
    }
  });
}

export interface ChecksumOptions {
  /** What is summed up, in whole 16-bit words; all other fields of the header when not said. */
  readonly fields?: readonly Num<BitType>[];
  /** Headers whose field of variable length is summed up behind the fields. */
  readonly varbits?: readonly object[];
  /** Everything behind the headers that the parser has read is summed up too. */
  readonly payload?: boolean;
  /** Only then. */
  readonly when?: Bool;
  /** 0 stands for "no checksum", as UDP has it: it is not checked and stays, and a sum of 0 goes out as 0xffff. */
  readonly zeroIsNone?: boolean;
  /** Checked after parsing: `intrinsic.checksum_failed`. Default true. */
  readonly verify?: boolean;
  /** Renewed before sending. Default true. */
  readonly update?: boolean;
}

export interface ControlOptions {
  readonly ownReasons?: boolean;
  /** For what is said of a control as a whole, or of a place for packet data: `{ tna: ['@pa_solitary("ingress", "meta.m")'] }`. */
  readonly annotations?: TargetAnnotations;
}

const CHECKSUM_OPTIONS = ["fields", "varbits", "payload", "when", "zeroIsNone", "verify", "update"];

export class ProgramBuilder {
  readonly name: string;
  readonly ports: number;
  readonly cpuPort: number | undefined;
  readonly parser = new ParserBuilder((header) => this.headerName(header));
  readonly #options: ProgramOptions;
  readonly #constants = new Map<string, ir.NamedConstant>();
  readonly #headers = new Headers();
  readonly #metadata: ir.MetadataField[] = [];
  readonly #checksums: ir.Checksum[] = [];
  readonly #controls: ControlBuilder[] = [];
  readonly #queues = new Map<number, ir.Queue>();
  readonly #steps: Readonly<Record<"ingress" | "egress", Readonly<Record<Phase, Steps>>>>;
  readonly #built = new Map<unknown, unknown>();
  /** Undefined where no feature counts drops; otherwise each drop writes its reason into a metadata field. */
  readonly dropReasons: DropReasons | undefined;
  readonly #last: (() => void)[] = [];
  /** Where the user asked for the feature that is being built. */
  #building: SourceLocation | undefined;
  #copies: ir.CopyRules | undefined;
  #packetIn: string | undefined;
  #packetOut: string | undefined;

  constructor(name: string, options: ProgramOptions) {
    this.name = name;
    this.ports = options.ports;
    this.cpuPort = options.cpuPort;
    this.#options = options;
    if (options.features.some((feature) => feature.countsDrops === true))
      this.dropReasons = new DropReasons((field, type, doc) => this.metadata(field, type, doc));
    this.#steps = { ingress: this.#phases("ingress"), egress: this.#phases("egress") };
  }

  /** Lets a feature declare its part. */
  build(feature: Feature): void {
    this.#building = feature.at;
    placedAt(
      feature.at,
      function buildFeatureHere(this: ProgramBuilder) {
        const made: unknown = feature.build(this);
        if (!(made instanceof Promise)) return;
        // Nobody waits for it.
        made.catch(() => {});
        const message = `feature ${feature.name}: build returns a promise; all that it declares must be there when it returns, so leave out async`;
        throw new ProgramError({ code: "GP1701", message, at: feature.at ?? callSite() });
      }.bind(this),
    );
  }

  /** Puts something off until all features are built: for who looks at what the others did. */
  last(build: () => void): void {
    const site = this.#building;
    this.#last.push(() =>
      placedAt(site, function buildFeatureHere() {
        build();
      }),
    );
  }

  /** The options of a feature that this program has, or undefined. */
  find<F extends Feature>(isIt: (feature: Feature) => feature is F): F | undefined {
    return this.#options.features.find(isIt);
  }

  /** Makes a part once, for several features that share it (a protocol stack, say). */
  once<T>(make: (p: ProgramBuilder) => T): T {
    if (!this.#built.has(make)) this.#built.set(make, make(this));
    return this.#built.get(make) as T;
  }

  /**
   * A constant that has a name in the generated program: `const bit<16> ETHERTYPE_IPV4 = 0x0800;`. It stands wherever a value may,
   * in keys and action data too. Features may declare the same constant again; two of one name and different values are an error.
   */
  constant<T extends Numeric>(name: string, type: T, value: Literal, doc?: string): NamedConstant<T> {
    return this.#constant(name, type, value, doc === undefined ? {} : { doc });
  }

  #constant<T extends Numeric>(
    name: string,
    type: T,
    value: Literal,
    about: { readonly doc?: string; readonly group?: string },
  ): NamedConstant<T> {
    const known = this.#constants.get(name);
    const exactly = exact(value, type);
    if (known !== undefined && (known.value !== exactly || !sameType(known.type, type))) {
      const message = `constant ${name} is ${typeName(known.type)} ${known.value} already`;
      throw new ProgramError({ code: "GP1202", message, at: callSite() });
    }
    if (known === undefined) this.#constants.set(name, at({ name, type, value: exactly, ...about }));
    // Without a place: what is wrong with it is said where it is declared, or where it is used.
    return new NamedConstant<T>({
      kind: "constant",
      type,
      value: exactly,
      named: Object.freeze({ name, type }),
    });
  }

  /**
   * Named values of one type: `{ ACK: 3 }` with the prefix `KIND` becomes `KIND_ACK`, a list of names counts from 0. The names are written
   * in capitals. `doc` says what they are values of.
   */
  constants<T extends Numeric, const K extends string>(
    prefix: string,
    type: T,
    values: Readonly<Record<K, Literal>> | readonly K[],
    doc?: string,
  ): { readonly [N in K]: NamedConstant<T> } {
    const pairs: readonly (readonly [string, Literal])[] = Array.isArray(values)
      ? values.map((name: K, i) => [name, i])
      : Object.entries<Literal>(values as Readonly<Record<K, Literal>>);
    const about = { group: doc ?? prefix };
    return Object.fromEntries(
      pairs.map(([name, value]) => [
        name,
        this.#constant(`${prefix}_${name}`.toUpperCase(), type, value, about),
      ]),
    ) as { readonly [N in K]: NamedConstant<T> };
  }

  /**
   * A header and its type, from its declaration; the name is the declaration's when none is given. Emitted by the deparser in order of
   * declaration.
   */
  header<F extends string>(declaration: WireHeader<F>, name: string = declaration.name): Header<F> {
    return this.#headers.header(declaration, name, true);
  }

  /** A stack of headers of one type, emitted in its place: the valid ones in order. */
  stack<F extends string>(name: string, declaration: WireHeader<F>, size: number): HeaderStack<F> {
    return this.#headers.stack(name, declaration, size);
  }

  /** Headers of which a packet has at most one, by their names in the union. Tofino has no unions. */
  union<const M extends Readonly<Record<string, WireHeader>>>(name: string, members: M): HeaderUnion<M> {
    return this.#headers.union(name, members);
  }

  /** The header in front of packets to the controller (`packet_in`). */
  packetIn<F extends string>(declaration: WireHeader<F>): Header<F> {
    this.#packetIn = only("packetIn", this.#packetIn, declaration.name);
    return this.#headers.header(declaration, declaration.name, false);
  }

  /** The header in front of packets from the controller (`packet_out`). */
  packetOut<F extends string>(declaration: WireHeader<F>): Header<F> {
    this.#packetOut = only("packetOut", this.#packetOut, declaration.name);
    return this.#headers.header(declaration, declaration.name, false);
  }

  /** A field that lives while the packet is in the switch; zero at the start of ingress. */
  metadata<T extends Numeric>(name: string, type: T, doc?: string): Variable<T> {
    this.#metadata.push(at({ name, type, ...(doc === undefined ? {} : { doc }) }));
    return new Variable<T>({ kind: "metadata", name, type });
  }

  /**
   * A control of its own: one concern, one P4 file. With `only`, programs for other targets are made without it; with `ownReasons` its
   * drops are not counted by what it does (see `DropReasons.own`).
   */
  control(
    name: string,
    gress: "ingress" | "egress",
    doc?: string,
    only?: ir.TargetName,
    { ownReasons = false, annotations }: ControlOptions = {},
  ): ControlBuilder {
    const reasons = ownReasons ? undefined : this.dropReasons;
    const context = { nameOf: (header: object) => this.headerName(header), reasons };
    const c = new ControlBuilder(name, gress, doc, context, only, annotations);
    this.#controls.push(c);
    return c;
  }

  /** What the traffic manager is to do with a queue of each port. */
  queue(number: number, settings: Omit<ir.Queue, "number">): void {
    this.#queues.set(number, { ...this.#queues.get(number), ...settings, number });
  }

  /** What the control plane sets up for copies of packets, for who fills the switch: `tables.json` has it. */
  copies(rules: ir.CopyRules): void {
    this.#copies = { ...this.#copies, ...rules };
  }

  /** Appends steps to a phase of ingress. */
  ingress(phase: Phase, steps: (s: Steps) => void): void {
    steps(this.#phase("ingress", phase));
  }

  /** Appends steps to a phase of egress. */
  egress(phase: Phase, steps: (s: Steps) => void): void {
    steps(this.#phase("egress", phase));
  }

  #phase(gress: "ingress" | "egress", phase: Phase): Steps {
    const found: Steps | undefined = this.#steps[gress][phase];
    if (found !== undefined) return found;
    const message = `there is no phase ${String(phase)}; the phases are ${phases.join(", ")}`;
    throw new ProgramError({ code: "GP1204", message, at: callSite() });
  }

  /**
   * Internet checksum (RFC 1071), checked after parsing and renewed before sending while the header is valid: of all other fields of the
   * header, or of what the options say.
   */
  checksum<F extends string>(header: Header<F>, target: F, options: ChecksumOptions = {}): void {
    onlyKnown("checksum", options, CHECKSUM_OPTIONS);
    const name = this.headerName(header);
    const others = (Object.entries(header) as [F, Variable<BitType>][])
      .filter(([f]) => f !== target)
      .map(([, v]) => v);
    const node = header[target].node;
    if (node.kind !== "field") return;
    const { fields = others, varbits = [], payload = false, when, zeroIsNone = false } = options;
    this.#checksums.push(
      at({
        header: name,
        target: node,
        fields: fields.map((f) => f.node),
        ...(varbits.length === 0 ? {} : { varbits: varbits.map((h) => this.#headers.varbitOf(h)) }),
        ...(payload ? { payload } : {}),
        ...(when === undefined ? {} : { condition: when.node }),
        ...(zeroIsNone ? { zeroIsNone } : {}),
        verify: options.verify ?? true,
        update: options.update ?? true,
      }),
    );
  }

  headerName(header: object): string {
    return this.#headers.pathOf(header);
  }

  /** Whether the header is in the packet. */
  valid(header: object): Bool {
    return new Bool(at({ kind: "valid", header: this.headerName(header), type: { kind: "bool" } }));
  }

  finish(): ir.Program {
    for (const build of this.#last) build();
    const collect = (gress: "ingress" | "egress"): ir.Block =>
      phases.flatMap((phase) => this.#steps[gress][phase].finish());
    const o = this.#options;
    return deepFreeze({
      name: this.name,
      ...(o.doc === undefined ? {} : { doc: o.doc }),
      ports: o.ports,
      ...(o.cpuPort === undefined ? {} : { cpuPort: o.cpuPort }),
      priorityQueues: o.priorityQueues ?? 1,
      constants: [...this.#constants.values()],
      ...(this.#queues.size === 0
        ? {}
        : { queues: [...this.#queues.values()].sort((a, b) => a.number - b.number) }),
      ...this.#headers.finish(this.#packetIn),
      metadata: [...this.#metadata],
      ...(this.#packetIn === undefined ? {} : { packetIn: this.#packetIn }),
      ...(this.#packetOut === undefined ? {} : { packetOut: this.#packetOut }),
      parser: this.parser.finish(),
      ...(this.parser.valueSets.length === 0 ? {} : { valueSets: [...this.parser.valueSets] }),
      checksums: [...this.#checksums],
      controls: this.#controls.map((c) => c.finish()),
      ...(this.#copies === undefined ? {} : { copies: this.#copies }),
      ingress: collect("ingress"),
      egress: collect("egress"),
    });
  }

  #phases(gress: "ingress" | "egress"): Readonly<Record<Phase, Steps>> {
    const nameOf = (header: object): string => this.headerName(header);
    const steps = () =>
      new Steps({ nameOf, gress, owner: gress, reason: "dropped", reasons: this.dropReasons });
    return { receive: steps(), classify: steps(), route: steps(), aggregate: steps(), deliver: steps() };
  }
}

function only(what: string, before: string | undefined, name: string): string {
  if (before !== undefined && before !== name) {
    const message = `the program has ${what} header ${before} already`;
    throw new ProgramError({ code: "GP1202", message, at: callSite() });
  }
  return name;
}

/** Freezes plain data with all within. Nodes are shared a lot, so each is visited once. */
function deepFreeze<T extends object>(root: T): T {
  const done = new Set<object>();
  const todo: object[] = [root];
  for (let o = todo.pop(); o !== undefined; o = todo.pop()) {
    if (done.has(o)) continue;
    done.add(Object.freeze(o));
    for (const value of Object.values(o)) if (typeof value === "object" && value !== null) todo.push(value);
  }
  return root;
}

/** What the architecture gives and takes: `intrinsic.egress_port`. */
export const intrinsic = Object.freeze(
  Object.fromEntries(
    Object.entries(intrinsics).map(([name, spec]) => {
      const node = { kind: "intrinsic", name: name as IntrinsicName, type: spec.type } as const;
      return [
        name,
        spec.type.kind === "bool"
          ? new Bool({ ...node, type: spec.type })
          : new Variable({ ...node, type: spec.type as BitType }),
      ];
    }),
  ),
) as {
  readonly [N in IntrinsicName]: (typeof intrinsics)[N]["type"] extends BitType ? Variable<BitType> : Bool;
};

export { NO_ACTION };
