import type { Diagnostic } from "../diagnostics.ts";
import { instanceOf, lastPath, unionsOf } from "../headers.ts";
import type { Program } from "../program.ts";
import type { SourceLocation } from "../source.ts";
import { widthOf } from "../types.ts";
import type { Place } from "../walk.ts";
import type { Names } from "./names.ts";
import { hasWidth } from "./types.ts";

type Report = (d: Diagnostic) => void;

/** Header types, stacks, unions, and what the deparser emits, as they are declared. */
export function checkHeaders(program: Program, names: Names, report: Report): void {
  for (const type of program.headerTypes) {
    if (!type.fields.every((f) => hasWidth(f.type))) continue;
    const bits = type.fields.reduce((sum, f) => sum + widthOf(f.type), 0);
    if (bits % 8 !== 0 || (bits === 0 && type.varbit === undefined))
      report({ code: "GP1301", message: `${type.name} is ${bits} bits wide`, at: type.at });
  }
  const types = new Set(program.headerTypes.map((t) => t.name));
  const known = (name: string, headerType: string, at: SourceLocation | undefined): void => {
    if (!types.has(headerType))
      report({ code: "GP1204", message: `header ${name} is of the unknown type ${headerType}`, at });
  };
  for (const { name, headerType, elements, at } of program.headers) {
    known(name, headerType, at);
    if (elements !== undefined && (!Number.isInteger(elements) || elements < 1 || elements > MOST_ELEMENTS)) {
      const message = `stack ${name} has ${elements} elements; it may have 1 to ${MOST_ELEMENTS}`;
      report({ code: "GP1310", message, at });
    }
  }
  for (const u of unionsOf(program)) {
    if (u.members.length === 0)
      report({ code: "GP1313", message: `union ${u.name} has no members`, at: u.at });
    for (const m of u.members) known(`${u.name}.${m.name}`, m.headerType, u.at);
  }
  checkVarbits(program, report);
  checkEmitted(program, report);
  for (const name of [program.packetIn, program.packetOut]) {
    const instance = program.headers.find((h) => h.name === name);
    if (name !== undefined && (instance === undefined || names.stacks.has(name)))
      report({ code: "GP1204", message: `there is no header ${name}`, at: instance?.at });
  }
}

/** A field of variable length: whole bytes, in a header on its own. */
function checkVarbits(program: Program, report: Report): void {
  for (const type of program.headerTypes) {
    if (type.varbit === undefined) continue;
    const { name, width } = type.varbit;
    const wrong = (message: string): void =>
      report({ code: "GP1311", message: `varbit field ${type.name}.${name} ${message}`, at: type.at });
    if (!Number.isInteger(width) || width < 8 || width % 8 !== 0 || width > MOST_VARBIT)
      wrong(`has up to ${width} bits; it may have 8 to ${MOST_VARBIT}, whole bytes`);
    const stack = program.headers.find((h) => h.headerType === type.name && h.elements !== undefined);
    if (stack !== undefined) wrong(`cannot stand in stack ${stack.name}`);
    const union = unionsOf(program).find((u) => u.members.some((m) => m.headerType === type.name));
    if (union !== undefined) wrong(`cannot stand in union ${union.name}`);
    const controller = program.headers.find(
      (h) => h.headerType === type.name && (h.name === program.packetIn || h.name === program.packetOut),
    );
    if (controller !== undefined) wrong("cannot stand in a header from or to the controller");
  }
}

const MOST_VARBIT = 2048;

/** A stack takes room for all its elements in every packet. */
const MOST_ELEMENTS = 256;

function checkEmitted(program: Program, report: Report): void {
  const instances = new Set([...program.headers, ...unionsOf(program)].map((h) => h.name));
  for (const [i, name] of program.deparser.entries()) {
    if (!instances.has(name))
      report({ code: "GP1204", message: `the deparser emits ${name}, which is no header` });
    else if (program.deparser.indexOf(name) !== i) {
      const at = program.headers.find((h) => h.name === name)?.at;
      report({ code: "GP1202", message: `the deparser emits ${name} twice`, at });
    }
  }
}

/** Reports a path that leads to no header; whether it leads to one. */
export function checkHeaderPath(
  path: string,
  names: Names,
  place: Place,
  at: SourceLocation | undefined,
  report: Report,
): boolean {
  if (names.headers.has(path)) return true;
  const instance = instanceOf(path);
  const stack = names.stacks.get(instance);
  if (stack === undefined) report({ code: "GP1204", message: `there is no header ${path}`, at });
  else if (path === lastPath(instance)) {
    if (place.block === "parser") return true;
    report({ code: "GP1502", message: `${path} is known to the parser alone`, at });
  } else if (/\[-?[0-9.]+\]$/.test(path)) {
    report({ code: "GP1310", message: `${path} of ${stack.elements} elements`, at });
  } else {
    report({ code: "GP1502", message: `${path} stands for an element in an extract only`, at });
  }
  return false;
}
