import { dataType, structMembers } from "./datatypes.ts";
import { documentationText } from "./documentation.ts";
import { type NameTree, nameTree, TypeNames } from "./names.ts";
import type {
  BoundAction,
  BoundCounter,
  BoundDigest,
  BoundField,
  BoundHeader,
  BoundMatchField,
  BoundMeter,
  BoundProfile,
  BoundProgram,
  BoundRegister,
  BoundTable,
  BoundValueSet,
} from "./program.ts";

/** What a bindings module holds, in the order of the text. `print.ts` writes it. */
export interface BindingsModule {
  readonly doc: string;
  /** Names from `gradplane/p4runtime`, sorted. */
  readonly types: readonly string[];
  readonly functions: readonly string[];
  readonly declarations: readonly TypeDeclaration[];
  readonly actions: NameTree<ActionLeaf>;
  /** The properties of what `bind` returns, after `actions`. */
  readonly sections: readonly Section[];
  readonly bindDoc: string;
  /** Name of the type of what `bind` returns. */
  readonly boundType: string;
}

export interface TypeDeclaration {
  readonly name: string;
  readonly doc: string;
  /** Members of an object type, alternatives of a union, or a generic type with its arguments. */
  readonly type:
    | { readonly members: readonly TypeMember[] }
    | { readonly alternatives: readonly string[] }
    | { readonly generic: string; readonly arguments: readonly string[] };
}

export interface TypeMember {
  readonly name: string;
  readonly type: string;
  readonly isOptional: boolean;
  readonly doc: string;
}

/** A function that makes an action: `(params: P): Call => ({ action: "name", params })`. */
export interface ActionLeaf {
  readonly name: string;
  readonly doc: string;
  readonly callType: string;
  /** Absent for actions without parameters. */
  readonly paramsType?: string;
}

export interface Section {
  readonly name: string;
  readonly doc: string;
  readonly content: NameTree<ObjectLeaf> | BindCall;
}

export interface ObjectLeaf {
  readonly doc: string;
  /** One call, or several whose results make one object. */
  readonly content: BindCall | readonly BoundProperty[];
}

/** What a call makes is spread into the object, or is one of its properties. */
export interface BoundProperty extends BindCall {
  readonly property?: string;
}

/** `bindCounter<"BOTH">(client, "packets")` */
export interface BindCall {
  readonly callee: string;
  readonly typeArguments: readonly string[];
  /** The arguments after the client. */
  readonly arguments: readonly string[];
}

/** What every module declares besides the types of its program. */
const OWN_NAMES = ["BoundClient", "ReturnType"];
/** Names that generated modules may import. */
const IMPORTS = [
  "ActionCall",
  "LpmInput",
  "MemberChoice",
  "NoParams",
  "RangeInput",
  "SelectorChoice",
  "TernaryInput",
  "Value",
] as const;

/** Decide what the module of a program holds. */
export function bindingsOf(program: BoundProgram, name: string): BindingsModule {
  return new ModuleBuilder(program, name.replace(/\s+/g, " ")).build();
}

class ModuleBuilder {
  readonly #program: BoundProgram;
  readonly #name: string;
  readonly #names = new TypeNames([...OWN_NAMES, ...IMPORTS]);
  readonly #types = new Set(["BoundClient"]);
  readonly #functions = new Set<string>();
  readonly #declarations: TypeDeclaration[] = [];
  /** Types of calls by the name of the action. */
  readonly #calls = new Map<string, string>();

  constructor(program: BoundProgram, name: string) {
    this.#program = program;
    this.#name = name;
  }

  build(): BindingsModule {
    const program = this.#program;
    const boundType = this.#names.declare(this.#name, "");
    const actions = program.actions.map((action) => [action.name, this.#action(action)] as const);
    const sections = [
      section("tables", "", program.tables, (table) => this.#table(table)),
      section("actionProfiles", "", program.profiles, (profile) => this.#profile(profile)),
      section("counters", "", program.counters, (counter) => ({
        doc: documentationText(counter.doc, counterFacts(counter)),
        content: this.#bind("bindCounter", [JSON.stringify(counter.unit)], counter.name),
      })),
      section("meters", "", program.meters, (meter) => ({
        doc: documentationText(meter.doc, meterFacts(meter)),
        content: this.#bind("bindMeter", [JSON.stringify(meter.type)], meter.name),
      })),
      section("registers", leftOut(program.otherRegisters), program.registers, (register) => ({
        doc: documentationText(register.doc, registerFacts(register)),
        content: this.#bind("bindRegister", [], register.name),
      })),
      section("digests", "Messages of the program to the controller.", program.digests, (digest) =>
        this.#digest(digest),
      ),
      section("valueSets", "What the parser compares with.", program.valueSets, (set) => this.#valueSet(set)),
      ...this.#packets(),
    ];
    return {
      doc: documentationText(
        `Control plane of ${this.#name}, with types.`,
        program.doc,
        "Made from the program's P4Info by gradplane; not to be edited.",
      ),
      types: sorted(this.#types),
      functions: sorted(this.#functions),
      declarations: this.#declarations,
      actions: nameTree(actions),
      sections: sections.filter((each) => each !== undefined),
      bindDoc: documentationText(
        `Put the names of ${this.#name} on a client of a switch that runs it.`,
        "What does not fit the program is an EntityError that names the object and the field; nothing is sent then.",
      ),
      boundType,
    };
  }

  #action(action: BoundAction): ActionLeaf {
    const { name } = action;
    const hasParams = action.params.length > 0;
    const paramsType = hasParams
      ? this.#record(
          this.#names.declare(name, "Params"),
          `Parameters of action ${name}.`,
          action.params.map((param) => ({
            name: param.name,
            type: this.#valueType(param),
            isOptional: false,
            doc: fieldText(width(param), param),
          })),
        )
      : this.#use("NoParams");
    const callType = this.#declare(
      this.#names.declare(name, "Call"),
      documentationText(`Action ${name} with its arguments.`, action.doc),
      { generic: this.#use("ActionCall"), arguments: [JSON.stringify(name), paramsType] },
    );
    this.#calls.set(name, callType);
    return { name, doc: documentationText(action.doc), callType, ...(hasParams ? { paramsType } : {}) };
  }

  #table(table: BoundTable): ObjectLeaf {
    const { name, counter, meter } = table;
    const kind = JSON.stringify(table.hasPriority ? "priority" : "no priority");
    const content: BoundProperty[] = [];
    const hasEntries = table.fields.length > 0;
    const match = hasEntries ? this.#match(table) : "";
    const entryActions = this.#entryActions(table);
    const entryAction = hasEntries
      ? this.#declare(
          this.#names.declare(name, "Action"),
          `What an entry of table ${name} does.`,
          entryActions,
        )
      : "";
    if (hasEntries)
      content.push(
        table.isConst
          ? this.#bind("bindReadableEntries", [match, entryAction], name)
          : this.#bind("bindEntries", [match, entryAction, kind], name),
      );
    if (!table.hasConstDefault && table.defaultActions.length > 0) {
      const calls = this.#callsOf(table.defaultActions);
      const action =
        hasEntries && "alternatives" in entryActions && entryActions.alternatives.join() === calls.join()
          ? entryAction
          : this.#union(
              this.#names.declare(name, "DefaultAction"),
              `What table ${name} does when no entry matches.`,
              calls,
            );
      content.push(this.#bind("bindDefaultEntry", [action], name));
    }
    if (hasEntries && counter !== undefined) {
      const call = this.#bind("bindDirectCounter", [match, kind, JSON.stringify(counter.unit)], name);
      content.push({ property: "counter", ...call });
    }
    if (hasEntries && meter !== undefined) {
      const call = this.#bind("bindDirectMeter", [match, kind, JSON.stringify(meter.type)], name);
      content.push({ property: "meter", ...call });
    }
    return { doc: documentationText(table.doc, tableFacts(table)), content };
  }

  #match(table: BoundTable): string {
    return this.#record(
      this.#names.declare(table.name, "Match"),
      `Match of table ${table.name}.`,
      table.fields.map((field) => this.#matchMember(field)),
    );
  }

  #matchMember(field: BoundMatchField): TypeMember {
    const isOptional = field.kind !== "EXACT";
    return {
      name: field.name,
      type: `${this.#matchType(field)}${isOptional ? " | undefined" : ""}`,
      isOptional,
      doc: fieldText(`${width(field)}, ${field.kind}`, field),
    };
  }

  #valueSet({ name, doc, fields, size }: BoundValueSet): ObjectLeaf {
    const [first] = fields;
    const member =
      first?.name === ""
        ? this.#matchType(first)
        : this.#record(
            this.#names.declare(name, "Member"),
            `A member of value set ${name}.`,
            fields.map((field) => this.#matchMember(field)),
          );
    const facts = size > 0 ? `Room for ${size} members.` : "";
    return { doc: documentationText(doc, facts), content: this.#bind("bindValueSet", [member], name) };
  }

  #entryActions(table: BoundTable): TypeDeclaration["type"] {
    const calls = this.#callsOf(table.actions);
    switch (table.implementation) {
      case undefined:
        return { alternatives: calls };
      case "profile":
        return { alternatives: [this.#use("MemberChoice")] };
      case "selector":
        return { generic: this.#use("SelectorChoice"), arguments: [calls.join(" | ")] };
    }
  }

  #profile({ name, doc, withSelector, size, actions }: BoundProfile): ObjectLeaf {
    const calls = this.#callsOf(actions).join(" | ");
    return {
      doc: documentationText(doc, size > 0n ? `Room for ${size} members.` : ""),
      content: this.#bind(withSelector ? "bindSelector" : "bindProfile", [calls], name),
    };
  }

  #digest({ name, doc, typeSpec }: BoundDigest): ObjectLeaf {
    const { types } = this.#program;
    const members = structMembers(typeSpec, types)?.map(([member, type]) => ({
      name: member,
      type,
      isOptional: false,
      doc: "",
    }));
    const type = this.#declare(
      this.#names.declare(name, "Digest"),
      documentationText(`One message of digest ${name}.`, doc),
      members === undefined ? { alternatives: [dataType(typeSpec, types)] } : { members },
    );
    return { doc: documentationText(doc), content: this.#bind("bindDigest", [type], name) };
  }

  #packets(): readonly Section[] {
    const { packetIn, packetOut } = this.#program;
    const sections: Section[] = [];
    if (packetIn !== undefined) {
      const type = this.#header(packetIn, "What comes with a packet from the switch.", false);
      const content = this.#bind("bindPacketIn", [type]);
      sections.push({ name: "packets", doc: "Packets from the switch.", content });
    }
    if (packetOut !== undefined) {
      const type = this.#header(packetOut, "What goes with a packet to the switch.", true);
      const content = this.#bind("bindPacketOut", [type]);
      sections.push({ name: "sendPacket", doc: "Send a packet through the switch.", content });
    }
    return sections;
  }

  #header(header: BoundHeader, doc: string, isSent: boolean): string {
    return this.#record(
      this.#names.declare(header.name, "Metadata"),
      documentationText(doc, header.doc),
      header.fields.map((field) => {
        const isOptional = isSent && isPadding(field.name);
        return {
          name: field.name,
          type: `${this.#valueType(field)}${isOptional ? " | undefined" : ""}`,
          isOptional,
          doc: width(field),
        };
      }),
    );
  }

  #matchType(field: BoundMatchField): string {
    if (field.bitwidth === 0) return "string";
    switch (field.kind) {
      case "LPM":
        return this.#use("LpmInput");
      case "TERNARY":
        return this.#use("TernaryInput");
      case "RANGE":
        return this.#use("RangeInput");
      case "EXACT":
      case "OPTIONAL":
        return this.#use("Value");
    }
  }

  #valueType({ bitwidth }: BoundField): string {
    return bitwidth === 0 ? "string" : this.#use("Value");
  }

  #callsOf(actions: readonly string[]): readonly string[] {
    return actions.length === 0 ? ["never"] : actions.map((action) => this.#calls.get(action) ?? "never");
  }

  #use(type: (typeof IMPORTS)[number]): string {
    this.#types.add(type);
    return type;
  }

  #bind(callee: string, typeArguments: readonly string[], ...names: readonly string[]): BindCall {
    this.#functions.add(callee);
    return { callee, typeArguments, arguments: names.map((name) => JSON.stringify(name)) };
  }

  #record(name: string, doc: string, members: readonly TypeMember[]): string {
    return this.#declare(name, doc, { members });
  }

  #union(name: string, doc: string, alternatives: readonly string[]): string {
    return this.#declare(name, doc, { alternatives });
  }

  #declare(name: string, doc: string, type: TypeDeclaration["type"]): string {
    this.#declarations.push({ name, doc, type });
    return name;
  }
}

function section<T extends { readonly name: string }>(
  name: string,
  doc: string,
  objects: readonly T[],
  leafOf: (object: T) => ObjectLeaf,
): Section | undefined {
  if (objects.length === 0) return undefined;
  return { name, doc, content: nameTree(objects.map((object) => [object.name, leafOf(object)])) };
}

function leftOut(registers: readonly string[]): string {
  return registers.length === 0
    ? ""
    : documentationText(`Left out, as their cells are no integers: ${registers.join(", ")}.`);
}

/** As editors sort imports: without regard to case. */
function sorted(names: ReadonlySet<string>): readonly string[] {
  return [...names].sort((a, b) => compare(a.toLowerCase(), b.toLowerCase()));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function width({ bitwidth }: BoundField): string {
  return bitwidth === 0 ? "text" : `bit<${bitwidth}>`;
}

/** `bit<9>: port to leave by` */
function fieldText(type: string, { doc }: BoundField): string {
  const text = documentationText(doc);
  return text === "" ? type : `${type}: ${text}`;
}

function tableFacts(table: BoundTable): string {
  if (table.fields.length === 0) return "Has no key, so only a default action.";
  if (table.isConst) return "Its entries are constant.";
  return table.size > 0n ? `Room for ${table.size} entries.` : "";
}

function counterFacts({ unit, size }: BoundCounter): string {
  const what = { PACKETS: "packets", BYTES: "bytes", BOTH: "packets and bytes" }[unit];
  return `Counts ${what} in ${size} cells.`;
}

function registerFacts({ bitwidth, isSigned, size }: BoundRegister): string {
  return `${size} cells of ${isSigned ? "int" : "bit"}<${bitwidth}>.`;
}

function meterFacts({ unit, size }: BoundMeter): string {
  return `Measures ${unit === "BYTES" ? "bytes" : "packets"} in ${size} cells.`;
}

/** The client fills such fields with zeros when they are left out (`EntityBuilder.packetOut`). */
function isPadding(name: string): boolean {
  return /^_?pad(ding)?\d*_?$/i.test(name) || /^_$/.test(name);
}
