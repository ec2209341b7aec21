import type { Deparser } from "../bmv2json/program.ts";
import { primitivesCode } from "./action-code.ts";
import { bitsOf, byteExpressions, headerParts, type Piece, piecesOf } from "./bits-code.ts";
import { checksumUpdates } from "./checksum-code.ts";
import type { FieldSlot, HeaderSlot } from "./layout.ts";
import type { ProgramScope } from "./program-scope.ts";

function writeFields(fields: readonly FieldSlot[]): string {
  const prepare: string[] = [];
  const pieces: Piece[] = [];
  for (const field of fields) {
    const cut = piecesOf(field, `${field.store}[${field.index}]`);
    prepare.push(...cut.prepare);
    pieces.push(...cut.pieces);
  }
  const bytes = byteExpressions(pieces).map((code, i) => `out[o${i === 0 ? "" : ` + ${i}`}] = ${code};`);
  return [...prepare, ...bytes].join("\n");
}

function writeHeader(header: HeaderSlot): string {
  const parts = headerParts(header);
  const lines = [writeFields(parts.before), `o += ${bitsOf(parts.before) / 8};`];
  if (parts.varbit !== undefined) {
    const cell = `v[${parts.varbit.index}]`;
    lines.push(`out.set(${cell}, o); o += ${cell}.length;`);
    lines.push(writeFields(parts.after), `o += ${bitsOf(parts.after) / 8};`);
  }
  return `if (u[${header.valid}] !== 0) {\n${lines.join("\n")}\n}`;
}

function headerLength(header: HeaderSlot): string {
  const varbit = header.fields.find((field) => field.store === "v");
  const length =
    varbit === undefined ? String(header.fixedBytes) : `${header.fixedBytes} + v[${varbit.index}].length`;
  return `if (u[${header.valid}] !== 0) n += ${length};`;
}

/**
 * Source of `function deparse(p)`: brings checksums up to date and returns the outgoing frame in fresh memory: valid
 * headers in order, then the payload, cut to `p.truncateTo` bytes. `function assemble(p)` is the same as things stand, without
 * checksums: it leaves the packet as it is.
 */
export function deparserCode(scope: ProgramScope, deparser: Deparser): string {
  const headers = deparser.order.map((name) => scope.layout.header(name, deparser.path));
  return `function deparse(p) {
const u = p.u, d = p.d, b = p.b, v = p.v;
${checksumUpdates(scope)}
${primitivesCode(scope, scope.expressions(), deparser.primitives)}
return assemble(p);
}
function assemble(p) {
const u = p.u, d = p.d, b = p.b, v = p.v;
let n = 0;
${headers.map(headerLength).join("\n")}
const rest = p.length - p.offset;
const out = allocate(n + rest);
let o = 0;
${headers.map(writeHeader).join("\n")}
copyPayload(p, out, o);
return p.truncateTo < n + rest ? out.subarray(0, p.truncateTo) : out;
}`;
}
