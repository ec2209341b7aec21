import type { Diagnostic } from "../diagnostics.ts";
import type { ActionProfile, Digest, Meter } from "../externs.ts";
import { elementPath, headersByPath, stackOf, unionsOf } from "../headers.ts";
import { valueSetsOf } from "../parserstates.ts";
import {
  type Action,
  type Control,
  type Counter,
  type HeaderInstance,
  type HeaderType,
  type MetadataField,
  NO_ACTION,
  type ParserState,
  type Program,
  type Register,
  type Table,
} from "../program.ts";
import { fileNames, isIdentifier, type NameRole, type ReservedBy, reservedBy } from "../reservedwords.ts";
import type { SourceLocation } from "../source.ts";
import type { DataType } from "../types.ts";

type Report = (d: Diagnostic) => void;

/** Everything in a program by name. */
export class Names {
  /** By path: headers, elements of stacks, members of unions. */
  readonly headers: ReadonlyMap<string, HeaderType>;
  readonly stacks = new Map<string, HeaderInstance & { readonly elements: number }>();
  readonly metadata = new Map<string, MetadataField>();
  readonly states = new Map<string, ParserState>();
  readonly controls = new Map<string, Control>();
  readonly actions = new Map<string, Action>([[NO_ACTION, { name: NO_ACTION, parameters: [], body: [] }]]);
  readonly tables = new Map<string, Table>();
  readonly registers = new Map<string, Register>();
  readonly counters = new Map<string, Counter>();
  readonly actionProfiles = new Map<string, ActionProfile>();
  readonly meters = new Map<string, Meter>();
  readonly digests = new Map<string, Digest>();

  constructor(program: Program) {
    this.headers = headersByPath(program);
    for (const h of program.headers)
      if (h.elements !== undefined) this.stacks.set(h.name, { ...h, elements: h.elements });
    for (const m of program.metadata) this.metadata.set(m.name, m);
    for (const s of program.parser) this.states.set(s.name, s);
    for (const c of program.controls) {
      this.controls.set(c.name, c);
      for (const a of c.actions) this.actions.set(a.name, a);
      for (const t of c.tables) this.tables.set(t.name, t);
      for (const r of c.registers) this.registers.set(r.name, r);
      for (const k of c.counters) this.counters.set(k.name, k);
      for (const p of c.actionProfiles) this.actionProfiles.set(p.name, p);
      for (const m of c.meters) this.meters.set(m.name, m);
      for (const d of c.digests) this.digests.set(d.name, d);
    }
  }

  fieldType(header: string, field: string): DataType | undefined {
    const stack = stackOf(header, "last");
    const type = this.headers.get(stack === undefined ? header : elementPath(stack, 0));
    return type?.fields.find((f) => f.name === field)?.type;
  }
}

/** Controls have files of their own, and not all file systems tell capitals from other letters. */
function checkFiles({ controls }: Program, report: Report): void {
  const known = new Map<string, string>();
  for (const { name, at } of controls) {
    const file = name.toLowerCase();
    const before = known.get(file);
    if (before !== undefined && before !== name)
      report({ code: "GP1202", message: `control ${name} differs from ${before} in capitals alone`, at });
    known.set(file, name);
  }
}

interface Named {
  readonly name: string;
  readonly at?: SourceLocation;
}

/** Reserved words, clashes, and names that P4 cannot write. */
export function checkNames(program: Program, report: Report): void {
  const scope = (what: string, role: NameRole, named: readonly Named[], owner = ""): void => {
    const seen = new Map<string, Named>();
    for (const n of named) {
      const short = n.name.startsWith(owner) ? n.name.slice(owner.length) : n.name;
      const by = reservedBy(short, role);
      if (!isIdentifier(short))
        report({ code: "GP1203", message: `${what} ${JSON.stringify(short)} is not a name in P4`, at: n.at });
      else if (by !== undefined)
        report({ code: "GP1201", message: `${what} ${short} is ${reservation[by]}`, at: n.at });
      const before = seen.get(n.name);
      if (before !== undefined) {
        const first = before.at === undefined ? "" : `; first in line ${before.at.line}`;
        report({ code: "GP1202", message: `${what} ${short} is declared twice${first}`, at: n.at });
      }
      seen.set(n.name, n);
    }
  };
  scope("program", "member", [{ name: program.name }]);
  if (fileNames.has(program.name.toLowerCase())) {
    const message = `program ${program.name} has the name of a file that stands beside it, ${fileNames.get(program.name.toLowerCase())}`;
    report({ code: "GP1201", message });
  }
  checkFiles(program, report);
  scope("constant", "declaration", program.constants);
  scope("header", "member", [...program.headers, ...unionsOf(program)]);
  for (const u of unionsOf(program))
    scope(
      `member of union ${u.name}`,
      "member",
      u.members.map((m) => ({ name: m.name, ...place(u.at) })),
    );
  for (const [i, type] of program.headerTypes.entries()) {
    const first = program.headerTypes.findIndex((t) => t.name === type.name);
    if (first < i)
      report({
        code: "GP1202",
        message: `header type ${type.name} is declared twice, with other fields`,
        at: type.at,
      });
    scope(
      `field of header ${type.name}`,
      "member",
      [...type.fields, ...(type.varbit === undefined ? [] : [type.varbit])].map((f) => ({
        name: f.name,
        ...place(type.at),
      })),
    );
  }
  scope("metadata field", "member", program.metadata);
  const sets = valueSetsOf(program);
  scope("parser state", "state", [...program.parser, ...sets]);
  scope("value set", "declaration", sets);
  checkHidden("value set", sets, program, report);
  for (const v of sets)
    scope(
      `field of value set ${v.name}`,
      "member",
      v.fields.map((f) => ({ name: f.name, ...place(v.at) })),
    );
  checkHidden("parser state", program.parser, program, report);
  scope("control", "declaration", program.controls);
  for (const c of program.controls) {
    // Objects of a control share one scope in P4, and the kinds of P4Info have one each: unique names serve both.
    scope(
      `object of control ${c.name}`,
      "declaration",
      [
        ...c.registers,
        ...c.counters,
        ...directObjects(c),
        ...c.actionProfiles,
        ...c.meters,
        ...c.digests,
        ...c.actions,
        ...c.tables,
      ],
      `${c.name}.`,
    );
    for (const k of c.counters) {
      const twice = firstRepeated(k.cells ?? []);
      if (twice !== undefined)
        report({ code: "GP1202", message: `cell ${twice} of ${k.name} is declared twice`, at: k.at });
    }
    for (const d of c.digests) {
      scope(
        `field of digest ${d.name}`,
        "member",
        d.fields.map((f) => ({ name: f.name, ...place(d.at) })),
      );
    }
    for (const a of c.actions) {
      scope(
        `parameter of ${a.name}`,
        "declaration",
        a.parameters.map((p) => ({ name: p.name, ...place(a.at) })),
      );
      checkHidden(
        `parameter of ${a.name}`,
        a.parameters.map((p) => ({ name: p.name, ...place(a.at) })),
        program,
        report,
      );
    }
    for (const t of c.tables) {
      // Match fields are named by an annotation, so that P4's own words are free; identifiers they must be.
      for (const { name } of t.key) {
        if (!isIdentifier(name))
          report({
            code: "GP1203",
            message: `match field ${JSON.stringify(name)} of ${t.name} is not a name in P4`,
            at: t.at,
          });
      }
      const twice = firstRepeated(t.key.map((k) => k.name));
      if (twice !== undefined)
        report({ code: "GP1202", message: `match field ${twice} of ${t.name} is declared twice`, at: t.at });
    }
  }
}

/** Names of an inner scope that would stand for something else than the program's constants. */
function checkHidden(what: string, named: readonly Named[], { constants }: Program, report: Report): void {
  for (const n of named) {
    if (constants.some((k) => k.name === n.name))
      report({ code: "GP1202", message: `${what} ${n.name} has the name of a constant`, at: n.at });
  }
}

const reservation: Readonly<Record<ReservedBy, string>> = {
  keyword: "a word of P4",
  context: "a word of P4",
  core: "declared by core.p4",
  v1model: "declared by v1model.p4",
  generated: "a name that the generated program uses itself",
};

function firstRepeated(names: readonly string[]): string | undefined {
  return names.find((n, i) => names.indexOf(n) !== i);
}

function directObjects(c: Control): readonly Named[] {
  return c.tables.flatMap((t) =>
    [t.directCounter, t.directMeter?.name].flatMap((name) =>
      name === undefined ? [] : [{ name, ...place(t.at) }],
    ),
  );
}

function place(at: SourceLocation | undefined): { readonly at?: SourceLocation } {
  return at === undefined ? {} : { at };
}
