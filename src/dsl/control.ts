import type * as ir from "../ir/index.ts";
import { NO_ACTION } from "../ir/index.ts";
import {
  type About,
  type AboutOptions,
  type AnnotationOptions,
  aboutOf,
  annotated,
  listed,
  type PartAbout,
  partAbout,
  type TargetAnnotations,
} from "./about.ts";
import { onlyKnown } from "./options.ts";
import { ProgramError } from "./programerror.ts";
import {
  type Action,
  type ActionProfile,
  ActionSteps,
  type BoundAction,
  bindAction,
  type ControlHandle,
  type Counter,
  type Digest,
  type DigestFields,
  isStraight,
  type KeyLiteral,
  keySet,
  type MatchField,
  type Meter,
  type Parameters,
  type Register,
  Steps,
  type StepsContext,
  type Table,
} from "./steps.ts";
import { at, Num, type Numeric, type Variable } from "./value.ts";

export type TableOptions<K extends string> = AnnotationOptions & {
  readonly doc?: string;
  readonly key: { readonly [N in K]: MatchField };
  readonly actions: readonly { readonly kind: "action"; readonly name: string }[];
  readonly size: number;
  readonly counter?: string;
  /** A meter per entry; a hit writes the packet's colour before its action runs. The actions must be this table's alone. */
  readonly meter?: {
    readonly name: string;
    readonly unit: ir.MeterUnit;
    readonly into: Variable<ir.BitType<2>>;
  };
} & (DirectActions<K> | IndirectActions);

const TABLE_OPTIONS: readonly (keyof TableOptions<string>)[] = [
  "doc",
  "id",
  "annotations",
  "key",
  "actions",
  "size",
  "counter",
  "meter",
  "implementation",
  "defaultAction",
  "constDefault",
  "entries",
  "initialEntries",
  "contents",
];

/** Entries have their actions themselves. */
interface DirectActions<K extends string> {
  readonly implementation?: undefined;
  /** Default: NoAction. */
  readonly defaultAction?: BoundAction;
  /** The control plane cannot change the default action. */
  readonly constDefault?: boolean;
  /** In winning order; the control plane cannot change them, nor add others. */
  readonly entries?: Entries<K>;
  /**
   * In winning order; what the control plane finds at first, and may change, remove, and add to. Where entries have priorities, the last
   * one has 1, the one before it 2, and so on: no target keeps others that P4 states. BMv2 itself takes such entries for constant ones.
   */
  readonly initialEntries?: Entries<K>;
  /**
   * What the control plane is to write on every switch of the program, because it is too much for the program or may change: a controller
   * does, `tables.json` lists it, and `gradplane p4rt fill` writes that. The match fields are exact ones.
   */
  readonly contents?: Contents;
}

export interface Contents {
  readonly run: { readonly kind: "action"; readonly name: string };
  /** One row for each entry: values of the match fields in their order, then of the action's parameters. May be shared by tables. */
  readonly list: ir.ContentList;
}

type Entries<K extends string> = readonly {
  readonly key: { readonly [N in K]: KeyLiteral };
  readonly run: BoundAction;
}[];

/** Entries name a member, or a group of members, of an action profile. On a miss nothing is done but what `miss` of `apply` says. */
interface IndirectActions {
  readonly implementation: ActionProfile;
  readonly defaultAction?: undefined;
  readonly constDefault?: undefined;
  readonly entries?: undefined;
  readonly initialEntries?: undefined;
  readonly contents?: undefined;
}

export interface ActionProfileOptions extends AnnotationOptions {
  readonly doc?: string;
  /** Most members. */
  readonly size: number;
}

export interface ActionSelectorOptions extends ActionProfileOptions {
  readonly algorithm: ir.HashAlgorithm;
  /** Header or metadata fields whose hash chooses the member of a group. */
  readonly keys: readonly Variable<ir.BitType>[];
  /** Most members of a group; default: as many as the selector has. */
  readonly maxGroupSize?: number;
}

/** What an action is for, its id and annotations, and the same of its parameters: `{ parameters: { port: "where it goes" } }`. */
export type ActionAbout<P extends Parameters = Parameters> =
  | string
  | (AboutOptions & { readonly parameters?: { readonly [K in keyof P]?: PartAbout } });

/** @throws ProgramError GP1404 for something said of a parameter that the action has not. */
function onlyParameters(action: string, given: object | undefined, parameters: Parameters): void {
  for (const name of Object.keys(given ?? {}))
    if (!(name in parameters))
      throw new ProgramError({
        code: "GP1404",
        message: `${action}: there is no parameter ${name} (it has ${Object.keys(parameters).join(", ") || "none"})`,
        at: at({}).at,
      });
}

/** Builds one control. All names become `control.name` for the control plane. */
export class ControlBuilder implements ControlHandle {
  readonly kind = "control";
  readonly name: string;
  readonly #gress: "ingress" | "egress";
  readonly #doc: string | undefined;
  readonly #only: ir.TargetName | undefined;
  readonly #annotations: readonly ir.Annotation[] | undefined;
  readonly #context: StepsContext;
  readonly #place: { readonly at?: ir.SourceLocation };
  readonly #actions: ir.Action[] = [];
  readonly #tables: ir.Table[] = [];
  readonly #registers: ir.Register[] = [];
  readonly #counters: ir.Counter[] = [];
  readonly #actionProfiles: ir.ActionProfile[] = [];
  readonly #meters: ir.Meter[] = [];
  readonly #digests: ir.Digest[] = [];
  readonly #steps: Steps;

  constructor(
    name: string,
    gress: "ingress" | "egress",
    doc: string | undefined,
    { nameOf, reasons }: Pick<StepsContext, "nameOf" | "reasons">,
    only?: ir.TargetName,
    annotations?: TargetAnnotations,
  ) {
    this.name = name;
    this.#only = only;
    this.#gress = gress;
    this.#doc = doc;
    this.#place = at({});
    this.#annotations = annotations === undefined ? undefined : listed(`control ${name}`, annotations);
    this.#context = { nameOf, reasons, gress, owner: name, reason: "dropped" };
    this.#steps = new Steps(this.#context);
  }

  action<const P extends Parameters>(
    name: string,
    parameters: P,
    body: (s: ActionSteps, parameters: { readonly [K in keyof P]: Num<P[K]> }) => void,
    about?: ActionAbout<P>,
  ): Action<P> {
    const full = `${this.name}.${name}`;
    const { parameters: parts, ...own } = typeof about === "object" ? about : { parameters: undefined };
    onlyParameters(full, parts, parameters);
    const references = Object.fromEntries(
      Object.entries(parameters).map(([parameter, type]) => [
        parameter,
        new Num<Numeric>({ kind: "parameter", name: parameter, type }),
      ]),
    ) as { readonly [K in keyof P]: Num<P[K]> };
    const steps = new ActionSteps({ ...this.#context, reason: name });
    body(steps, references);
    this.#actions.push(
      at({
        name: full,
        parameters: Object.entries(parameters).map(([parameter, type]) => ({
          name: parameter,
          type,
          ...partAbout(`parameter ${parameter} of ${full}`, parts?.[parameter]),
        })),
        body: steps.finish().filter(isStraight),
        ...aboutOf(`action ${full}`, typeof about === "object" ? own : about),
      }),
    );
    return { kind: "action", name: full, parameters, with: (data) => bindAction(full, parameters, data) };
  }

  table<const K extends string>(name: string, o: TableOptions<K>): Table {
    const full = `${this.name}.${name}`;
    const keys = Object.entries<MatchField>(o.key);
    for (const [field, match] of keys) {
      // Without a type checker a field may stand here by itself.
      const given: Partial<MatchField> | undefined = match;
      if (typeof given?.match === "string" && given.expression !== undefined) continue;
      const message = `table ${full}: match field ${field} says not how it is matched; write ${field}: exactly(...), lpm(...), ternary(...), inRange(...) or optional(...)`;
      throw new ProgramError({ code: "GP1701", message, at: at({}).at });
    }
    if (o.entries !== undefined && o.initialEntries !== undefined) {
      const { at: place } = at({});
      const message = `table ${full}: entries beside initialEntries; a table has one kind of them`;
      throw new ProgramError({ code: "GP1701", message, at: place });
    }
    onlyKnown(`table ${full}`, o, TABLE_OPTIONS);
    const entries = (o.entries ?? o.initialEntries ?? []).map((entry) => {
      const literals: Readonly<Record<string, KeyLiteral>> = entry.key;
      const unknown = Object.keys(literals).find((field) => !keys.some(([name]) => name === field));
      if (unknown !== undefined) {
        const message = `an entry of table ${full}: there is no match field ${unknown} (it has ${keys.map(([name]) => name).join(", ")})`;
        throw new ProgramError({ code: "GP1405", message, at: at({}).at });
      }
      return at({ keys: keys.map(([field]) => keySet(literals[field] ?? { kind: "any" })), ...entry.run });
    });
    this.#tables.push(
      at({
        name: full,
        ...(o.doc === undefined ? {} : { doc: o.doc }),
        ...annotated(`table ${full}`, o),
        key: keys.map(([field, { about, ...match }]) =>
          Object.freeze({
            name: field,
            ...match,
            ...partAbout(`match field ${field} of ${full}`, about),
          }),
        ),
        actions: o.actions.map((a) => a.name),
        size: o.size,
        defaultAction: {
          ...(o.defaultAction ?? { action: NO_ACTION, arguments: [] }),
          constant: o.constDefault ?? false,
        },
        constEntries: entries,
        ...(o.initialEntries === undefined || entries.length === 0
          ? {}
          : { entriesAreInitial: true as const }),
        ...(o.contents === undefined
          ? {}
          : { contents: { action: o.contents.run.name, list: o.contents.list } }),
        ...(o.counter === undefined ? {} : { directCounter: `${this.name}.${o.counter}` }),
        ...(o.meter === undefined
          ? {}
          : {
              directMeter: {
                name: `${this.name}.${o.meter.name}`,
                unit: o.meter.unit,
                // What is no metadata field is found by the checks.
                into: o.meter.into.node as ir.MetadataReference,
              },
            }),
        ...(o.implementation === undefined ? {} : { implementation: o.implementation.name }),
      }),
    );
    return { kind: "table", name: full };
  }

  register<T extends Numeric>(name: string, type: T, size: number, about?: About): Register<T> {
    const full = `${this.name}.${name}`;
    this.#registers.push(at({ name: full, type, size, ...aboutOf(`register ${full}`, about) }));
    return { kind: "register", name: full, type, size };
  }

  /** Counts packets, one cell per name. */
  counter<const C extends string>(name: string, cells: readonly C[], about?: About): Counter<C> {
    return this.#counter(name, cells, cells.length, aboutOf(`counter ${this.name}.${name}`, about));
  }

  /**
   * Counts packets, one cell per name for each value of something else, whose bits stand in front of the cell's number in the index. The
   * names fill up to a power of two.
   */
  counterPer<const C extends string>(
    name: string,
    per: { readonly name: string; readonly bits: number },
    cells: readonly C[],
    about?: About,
  ): Counter<C> & { readonly cellBits: number } {
    const cellBits = Math.ceil(Math.log2(cells.length));
    const given = {
      per: { name: per.name, cells: 2 ** cellBits },
      ...aboutOf(`counter ${this.name}.${name}`, about),
    };
    return { ...this.#counter(name, cells, 2 ** (per.bits + cellBits), given), cellBits };
  }

  #counter<const C extends string>(
    name: string,
    cells: readonly C[],
    size: number,
    about: Pick<ir.Counter, "doc" | "per" | "id" | "annotations">,
  ): Counter<C> {
    const full = `${this.name}.${name}`;
    this.#counters.push(at({ name: full, size, unit: "packets", cells, ...about }));
    return { kind: "counter", name: full, cells };
  }

  /** Holds actions with their data for tables with this `implementation`: several entries can name one member. */
  actionProfile(name: string, o: ActionProfileOptions): ActionProfile {
    return this.#profile(name, o, ["doc", "id", "annotations", "size"]);
  }

  /** An action profile whose entries may name a group of members: the hash of the keys chooses one of them. */
  actionSelector(name: string, o: ActionSelectorOptions): ActionProfile {
    const selector = {
      algorithm: o.algorithm,
      // What is no field is found by the checks.
      keys: o.keys.map((k) => k.node as ir.Selector["keys"][number]),
      ...(o.maxGroupSize === undefined ? {} : { maxGroupSize: o.maxGroupSize }),
    };
    return this.#profile(
      name,
      o,
      ["doc", "id", "annotations", "size", "algorithm", "keys", "maxGroupSize"],
      selector,
    );
  }

  #profile(
    name: string,
    o: ActionProfileOptions,
    known: readonly string[],
    selector?: ir.Selector,
  ): ActionProfile {
    const full = `${this.name}.${name}`;
    const profile = at({
      name: full,
      size: o.size,
      ...(selector === undefined ? {} : { selector }),
      ...(o.doc === undefined ? {} : { doc: o.doc }),
      ...annotated(`action profile ${full}`, o),
    });
    onlyKnown(`action profile ${full}`, o, known, profile.at);
    this.#actionProfiles.push(profile);
    return { kind: "actionProfile", name: full };
  }

  /** Meters of packets or bytes per second, one per cell; the control plane sets their rates. */
  meter(name: string, o: AboutOptions & { readonly size: number; readonly unit: ir.MeterUnit }): Meter {
    const full = `${this.name}.${name}`;
    const { size, unit, ...about } = o;
    this.#meters.push(at({ name: full, size, unit, ...aboutOf(`meter ${full}`, about) }));
    return { kind: "meter", name: full };
  }

  /** What the control plane can be told of packets: `c.digest("learned", { src: bit(48), port: bit(9) })`. */
  digest<const F extends DigestFields>(name: string, fields: F, about?: PartAbout): Digest<F> {
    const full = `${this.name}.${name}`;
    const list = Object.entries(fields).map(([field, type]) => ({ name: field, type }));
    this.#digests.push(at({ name: full, fields: list, ...partAbout(`digest ${full}`, about) }));
    return { kind: "digest", name: full, fields };
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
      actionProfiles: [...this.#actionProfiles],
      meters: [...this.#meters],
      digests: [...this.#digests],
      apply: this.#steps.finish(),
      ...(this.#annotations === undefined ? {} : { annotations: this.#annotations }),
      ...(this.#only === undefined ? {} : { only: this.#only }),
      ...this.#place,
    };
  }
}
