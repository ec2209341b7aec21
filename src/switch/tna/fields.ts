import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type {
  Expression as EngineExpression,
  FieldType,
  HeaderInstance,
  HeaderType,
} from "../bmv2json/program.ts";
import { architectureWidth, UNICAST_VALID } from "./architecture.ts";
import type { DataType, Gress, TnaDocument } from "./document.ts";

/** Instances of the engine for what P4 keeps outside of headers. No header can have such a name. */
const METADATA = "$meta";
const ARCHITECTURE = "$architecture";
const HIDDEN = "$hidden";

/** What the engine asks of every program, and this personality does not use. */
const ENGINE_FIELDS: readonly FieldType[] = [
  { name: "ingress_port", width: 9, signed: false },
  { name: "egress_spec", width: 9, signed: false },
  { name: "egress_port", width: 9, signed: false },
  { name: "instance_type", width: 32, signed: false },
  { name: "packet_length", width: 32, signed: false },
];

/**
 * All fields of one gress: those of headers and metadata, the intrinsic ones that the program or the switch uses, and hidden ones
 * for what the engine has no other place for.
 */
export class Fields {
  readonly gress: Gress;
  readonly #document: TnaDocument;
  readonly #types: ReadonlyMap<string, DataType>;
  readonly #headers: ReadonlySet<string>;
  readonly #architecture = new Map<string, number>();
  readonly #hidden = new Map<string, DataType>();
  #temporaries = 0;

  constructor(document: TnaDocument, gress: Gress, used: readonly string[]) {
    this.gress = gress;
    this.#document = document;
    const types = new Map<string, DataType>();
    const headers = new Set<string>();
    const typeOf = new Map(document.headerTypes.map((t) => [t.name, t]));
    for (const h of document.headers) {
      const fields = typeOf.get(h.headerType)?.fields;
      if (fields === undefined)
        throw new SwitchConfigError("UNKNOWN_NAME", h.path, `there is no header type "${h.headerType}"`);
      for (const path of [h.name, ...elementPaths(h)]) {
        headers.add(path);
        for (const f of fields) types.set(`${path}.${f.name}`, f.type);
      }
    }
    for (const m of document.metadata) types.set(`${METADATA}.${m.name}`, m.type);
    this.#types = types;
    this.#headers = headers;
    for (const field of used) this.#architecture.set(field, this.#width(field, false, "architecture"));
  }

  #width(field: string, isWritten: boolean, path: string): number {
    return field === UNICAST_VALID ? 1 : architectureWidth(field, this.gress, isWritten, path);
  }

  /** A header instance, or an element of a stack. */
  header(name: string, path: string): string {
    if (this.#headers.has(name)) return name;
    throw new SwitchConfigError("UNKNOWN_NAME", path, `there is no header "${name}"`);
  }

  fieldsOf(header: string): readonly string[] {
    const instance = this.#document.headers.find(
      (h) => h.name === header || elementPaths(h).includes(header),
    );
    const type = this.#document.headerTypes.find((t) => t.name === instance?.headerType);
    return (type?.fields ?? []).map((f) => f.name);
  }

  ofHeader(header: string, field: string, type: DataType, path: string): EngineExpression {
    const stack = /^(.*)\.last$/.exec(header)?.[1];
    const declared = this.#types.get(`${stack ?? header}.${field}`);
    this.#checkType(`${header}.${field}`, declared, type, path);
    return stack === undefined
      ? { kind: "field", header, field, path }
      : { kind: "stackField", stack, field, path };
  }

  ofMetadata(name: string, type: DataType, path: string): EngineExpression {
    this.#checkType(`metadata ${name}`, this.#types.get(`${METADATA}.${name}`), type, path);
    return { kind: "field", header: METADATA, field: name, path };
  }

  #checkType(name: string, declared: DataType | undefined, type: DataType, path: string): void {
    if (declared === undefined) throw new SwitchConfigError("UNKNOWN_NAME", path, `there is no ${name}`);
    if (declared.width !== type.width || declared.kind !== type.kind)
      throw new SwitchConfigError(
        "WRONG_TYPE",
        path,
        `${name} has ${declared.kind}<${declared.width}>, not ${type.kind}<${type.width}>`,
      );
  }

  ofArchitecture(field: string, isWritten: boolean, path: string): EngineExpression {
    this.#architecture.set(field, this.#width(field, isWritten, path));
    return { kind: "field", header: ARCHITECTURE, field, path };
  }

  /** A field of the switch's own; the same name gives the same field. */
  hidden(name: string, type: DataType): EngineExpression {
    const known = this.#hidden.get(name);
    if (known !== undefined && (known.width !== type.width || known.kind !== type.kind))
      throw new RangeError(`${name} has two types`);
    this.#hidden.set(name, type);
    return { kind: "field", header: HIDDEN, field: name, path: name };
  }

  /** A hidden field that nobody else uses. */
  temporary(type: DataType): EngineExpression {
    return this.hidden(`t${this.#temporaries++}`, type);
  }

  /** Types and instances for the engine; to be asked for when everything has been translated. */
  headerSections(): {
    readonly headerTypes: readonly HeaderType[];
    readonly headers: readonly HeaderInstance[];
    readonly stacks: readonly {
      readonly name: string;
      readonly type: string;
      readonly headerIds: readonly number[];
    }[];
  } {
    const { headerTypes, headers, metadata } = this.#document;
    const own = new Map<string, readonly FieldType[]>([
      [METADATA, metadata.map((m) => fieldType(m.name, m.type))],
      [ARCHITECTURE, [...this.#architecture].map(([name, width]) => ({ name, width, signed: false }))],
      [HIDDEN, [...this.#hidden].map(([name, type]) => fieldType(name, type))],
      ["standard_metadata", ENGINE_FIELDS],
    ]);
    const packet = headers.flatMap((h) =>
      (h.elements === undefined ? [h.name] : elementPaths(h)).map((name) => ({
        name,
        type: h.headerType,
        metadata: false,
      })),
    );
    const instances = [
      ...packet,
      ...[...own.keys()].map((name) => ({ name, type: name, metadata: true })),
    ].map((h, id) => ({ ...h, id }));
    const ids = new Map(instances.map((h) => [h.name, h.id]));
    return {
      headerTypes: [
        ...headerTypes.map((t) => ({
          name: t.name,
          fields: t.fields.map((f) => fieldType(f.name, f.type)),
          maxLength: 0,
        })),
        ...[...own].map(([name, fields]) => ({ name, fields, maxLength: 0 })),
      ],
      headers: instances,
      stacks: headers.flatMap((h) =>
        h.elements === undefined
          ? []
          : [
              {
                name: h.name,
                type: h.headerType,
                headerIds: elementPaths(h).flatMap((e) => ids.get(e) ?? []),
              },
            ],
      ),
    };
  }
}

/** Slots of the engine's layout are found by these. */
export const metadataSlot = (name: string): readonly [header: string, field: string] => [METADATA, name];
export const architectureSlot = (field: string): readonly [header: string, field: string] => [
  ARCHITECTURE,
  field,
];
export const hiddenSlot = (field: string): readonly [header: string, field: string] => [HIDDEN, field];

export function elementPaths(h: { readonly name: string; readonly elements?: number }): readonly string[] {
  return Array.from({ length: h.elements ?? 0 }, (_, i) => `${h.name}[${i}]`);
}

function fieldType(name: string, type: DataType): FieldType {
  return { name, width: type.width, signed: type.kind === "int" };
}
