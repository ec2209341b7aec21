import type { Control, HeaderType, Program } from "../../ir/index.ts";
import { unionsOf, valueSetsOf } from "../../ir/index.ts";
import { reservedWords } from "../../ir/reservedwords.ts";
import { BackendError } from "../backenderror.ts";
import { localPart, Names, pascalCase } from "./names.ts";

/** Identifiers of the P4 program for the names of the IR, the same whatever the order of use. */
export interface Identifiers {
  readonly headerTypes: ReadonlyMap<string, string>;
  readonly unionTypes: ReadonlyMap<string, string>;
  /** Structs of the values in value sets. */
  readonly valueSetTypes: ReadonlyMap<string, string>;
  readonly controls: ReadonlyMap<string, ControlIdentifiers>;
}

export interface ControlIdentifiers {
  readonly type: string;
  readonly instance: string;
  readonly tables: ReadonlyMap<string, string>;
  readonly actions: ReadonlyMap<string, string>;
  readonly registers: ReadonlyMap<string, string>;
  readonly counters: ReadonlyMap<string, string>;
  readonly actionProfiles: ReadonlyMap<string, string>;
  readonly meters: ReadonlyMap<string, string>;
  /** Struct types of digests. */
  readonly digests: ReadonlyMap<string, string>;
  /** What is taken inside the control, for the names of local variables. */
  readonly scope: Names;
}

/** `reserved`: further words that the target reserves. */
export function identifiers(program: Program, reserved: Iterable<string> = []): Identifiers {
  // Constants keep their names, which everything can see; others make way for them.
  const global = new Names([...reservedWords.keys(), ...reserved, ...program.constants.map((k) => k.name)]);
  const headerTypes = new Map(
    program.headerTypes.map((t: HeaderType) => [
      t.name,
      global.take(/_t$/.test(t.name) ? t.name : `${t.name}_t`),
    ]),
  );
  const unionTypes = new Map(unionsOf(program).map((u) => [u.name, global.take(`${u.name}_t`)]));
  const valueSetTypes = new Map(valueSetsOf(program).map((v) => [v.name, global.take(`${v.name}_t`)]));
  const types = new Map(program.controls.map((c) => [c.name, global.take(pascalCase(c.name))]));
  const controls = new Map(
    program.controls.map((c) => [c.name, controlIdentifiers(c, types.get(c.name) ?? c.name, global)]),
  );
  return { headerTypes, unionTypes, valueSetTypes, controls };
}

/** Properties of tables: an object of such a name would be shadowed inside the tables of its control. */
const TABLE_PROPERTIES = [
  "size",
  "default_action",
  "counters",
  "meters",
  "implementation",
  "support_timeout",
];

function controlIdentifiers(control: Control, type: string, global: Names): ControlIdentifiers {
  // Parameters keep their names, which the control plane sees; objects make way for them.
  const parameters = control.actions.flatMap((a) => a.parameters.map((p) => p.name));
  const scope = global.inner([...parameters, ...TABLE_PROPERTIES]);
  const allot = (objects: readonly { readonly name: string }[], suffix: string) =>
    new Map(objects.map((o) => [o.name, scope.take(localPart(o.name), suffix)]));
  const tables = allot(control.tables, "table");
  const actions = allot(control.actions, "action");
  const registers = allot(control.registers, "register");
  const direct = control.tables.flatMap((t) =>
    t.directCounter === undefined ? [] : [{ name: t.directCounter }],
  );
  const counters = allot([...control.counters, ...direct], "counter");
  const actionProfiles = allot(control.actionProfiles, "profile");
  const directMeters = control.tables.flatMap((t) => (t.directMeter === undefined ? [] : [t.directMeter]));
  const meters = allot([...control.meters, ...directMeters], "meter");
  const digests = new Map(control.digests.map((d) => [d.name, global.take(`${localPart(d.name)}_t`)]));
  return {
    type,
    instance: new Names(global.has(control.name) ? [control.name] : []).take(control.name, "instance"),
    tables,
    actions,
    registers,
    counters,
    actionProfiles,
    meters,
    digests,
    scope,
  };
}

/** The identifier of an object, or an error that tells a missing object from one of another control. */
export function identifier(
  map: ReadonlyMap<string, string>,
  name: string,
  kind: string,
  owner: string,
  target = "v1model",
): string {
  const found = map.get(name);
  if (found !== undefined) return found;
  throw new BackendError(
    name.startsWith(`${owner}.`) ? "GP2001" : "GP2002",
    target,
    name.startsWith(`${owner}.`)
      ? `the program has no ${kind} ${name}`
      : `${owner} uses the ${kind} ${name}; an object can be used only in the control that declares it`,
  );
}
