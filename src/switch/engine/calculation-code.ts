import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { CalculationInput } from "../bmv2json/program.ts";
import { byteExpressions, type Piece, piecesOf, piecesOfConstant } from "./bits-code.ts";
import { algorithmBits, isAlgorithm } from "./hash-algorithms.ts";
import type { FieldSlot, HeaderSlot } from "./layout.ts";
import type { ProgramScope } from "./program-scope.ts";

interface Item {
  readonly slot: FieldSlot | undefined;
  readonly constant: Piece | undefined;
  readonly header: HeaderSlot | undefined;
}

function itemsOf(
  scope: ProgramScope,
  inputs: readonly CalculationInput[],
): { items: Item[]; payload: boolean } {
  const items: Item[] = [];
  let payload = false;
  for (const input of inputs) {
    switch (input.kind) {
      case "field": {
        const slot = scope.layout.field(input.header, input.field, input.path);
        items.push({ slot, constant: undefined, header: scope.layout.header(input.header, input.path) });
        break;
      }
      case "header": {
        const header = scope.layout.header(input.header, input.path);
        for (const slot of header.fields) items.push({ slot, constant: undefined, header });
        break;
      }
      case "constant":
        for (const constant of piecesOfConstant(input.value, input.width)) {
          items.push({ slot: undefined, constant, header: undefined });
        }
        break;
      case "payload":
        payload = true;
        break;
    }
  }
  return { items, payload };
}

/** Pieces of all items, with the statements that prepare them (each field once). */
function cut(items: readonly Item[]): {
  readonly prepare: readonly string[];
  readonly pieces: readonly Piece[];
} {
  const prepare = new Set<string>();
  const pieces: Piece[] = [];
  for (const item of items) {
    if (item.constant !== undefined) pieces.push(item.constant);
    if (item.slot === undefined) continue;
    const cell = `${item.slot.store}[${item.slot.index}]`;
    const field = piecesOf(item.slot, cell);
    for (const line of field.prepare) prepare.add(line);
    pieces.push(...field.pieces);
  }
  return { prepare: [...prepare], pieces };
}

/**
 * The one's complement sum of pieces as a number: each piece counts as its value times the power of two that its end
 * has within its 16-bit word, for 2^16 is congruent to 1. Fields need not be aligned.
 */
function internetSum(pieces: readonly Piece[]): string {
  const terms: string[] = [];
  let end = 0;
  for (const { code, width } of pieces) {
    end += width;
    const shift = (16 - (end % 16)) % 16;
    if (width + shift <= 16) terms.push(shift === 0 ? code : `(${code} << ${shift})`);
    else if (shift === 0) terms.push(`(${code} >>> 16) + (${code} & 65535)`);
    else terms.push(`(${code} >>> ${16 - shift}) + ((${code} << ${shift}) & 65535)`);
  }
  return terms.length === 0 ? "0" : terms.join(" + ");
}

/**
 * Source of `function calcN(p)`, which returns the hash of the inputs as a number (up to 32 bits) or a bigint. A field
 * of an invalid header is skipped; the usual case that all are valid has code of its own.
 */
export function calculationCode(
  scope: ProgramScope,
  name: string,
  algorithm: string,
  inputs: readonly CalculationInput[],
  path: string,
): string {
  if (!isAlgorithm(algorithm)) {
    throw new SwitchConfigError("UNSUPPORTED", `${path}.algo`, `unknown hash algorithm "${algorithm}"`);
  }
  const { items, payload } = itemsOf(scope, inputs);
  const headers = new Set(items.flatMap((item) => (item.header?.metadata === false ? [item.header] : [])));
  const hasVarbit = items.some((item) => item.slot?.store === "v");
  const allValid = [...headers].map((header) => `u[${header.valid}] !== 0`).join(" && ") || "true";
  const checksum = algorithm === "csum16" || algorithm === "cksum16";

  let fast = "";
  const fixed = cut(items.filter((item) => item.slot?.store !== "v"));
  const bits = fixed.pieces.reduce((sum, piece) => sum + piece.width, 0);
  if (!hasVarbit && checksum && (!payload || bits % 16 === 0)) {
    const rest = payload
      ? `sumBytes(p.bytes, p.offset, p.length, ${internetSum(fixed.pieces)})`
      : internetSum(fixed.pieces);
    fast = `${fixed.prepare.join(" ")} return finishSum(${rest});`;
  } else if (!hasVarbit) {
    const bytes = byteExpressions(fixed.pieces).map((code, i) => `hashBytes[${i}] = ${code};`);
    const length = payload ? `appendPayload(p, ${Math.ceil(bits / 8)})` : Math.ceil(bits / 8);
    fast = `${fixed.prepare.join(" ")} ${bytes.join(" ")} return ${algorithm}(hashBytes, ${length});`;
  }

  // Some header is missing: bits are gathered one input at a time.
  const slow: string[] = ["bitWriter.reset();"];
  for (const item of items) {
    const guard = item.header?.metadata === false ? `if (u[${item.header.valid}] !== 0) ` : "";
    if (item.slot?.store === "v") slow.push(`${guard}bitWriter.bytes(v[${item.slot.index}]);`);
    else {
      const one = cut([item]);
      const writes = one.pieces.map((piece) => `bitWriter.bits(${piece.code}, ${piece.width});`);
      slow.push(`${guard}{ ${one.prepare.join(" ")} ${writes.join(" ")} }`);
    }
  }
  if (payload) slow.push("bitWriter.payload(p);");
  slow.push(`return ${algorithm}(bitWriter.buffer, bitWriter.byteLength);`);
  const body = fast === "" ? slow.join("\n") : `if (${allValid}) { ${fast} }\n${slow.join("\n")}`;
  return `function ${name}(p) {\nconst u = p.u, d = p.d, b = p.b, v = p.v;\n${body}\n}`;
}

/** True if the calculation yields a bigint. */
export function yieldsBigint(algorithm: string): boolean {
  return isAlgorithm(algorithm) && algorithmBits[algorithm] > 32;
}

/** Bytes that the scratch buffer of hashes needs for a calculation, the payload left out. */
export function calculationBytes(scope: ProgramScope, inputs: readonly CalculationInput[]): number {
  const { items } = itemsOf(scope, inputs);
  const bits = items.reduce((sum, item) => sum + (item.slot?.width ?? item.constant?.width ?? 0), 0);
  return Math.ceil(bits / 8);
}
