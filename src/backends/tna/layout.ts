import type { Expression, FieldReference, Program } from "../../ir/index.ts";
import { headersByPath, widthOf } from "../../ir/index.ts";
import { placedStatements } from "../../ir/walk.ts";

/** Where a field stands in its header: bits from the front of the header, `end` not included. */
interface Position {
  readonly start: number;
  readonly end: number;
}

/**
 * How header fields share bytes. Tofino brings whole bytes of headers into its containers, so fields of one byte stay together in one
 * container, at the bits that they have in the packet.
 */
export class Layout {
  readonly #positions = new Map<string, Position>();
  /** Fields that share a byte with one that an assignment reads or writes. */
  readonly #entangled = new Set<string>();

  constructor(program: Program) {
    const assigned = assignedFields(program);
    for (const [path, type] of headersByPath(program)) {
      let start = 0;
      const fields = type.fields.map((f) => {
        const position = { start, end: start + widthOf(f.type) };
        start = position.end;
        return { key: `${path}.${f.name}`, ...position };
      });
      for (const f of fields) {
        this.#positions.set(f.key, f);
        const isNeighbour = (g: (typeof fields)[number]): boolean =>
          g !== f && byteOf(g.start) <= byteOf(f.end - 1) && byteOf(f.start) <= byteOf(g.end - 1);
        if (fields.some((g) => isNeighbour(g) && assigned.has(g.key))) this.#entangled.add(f.key);
      }
    }
  }

  /** Whether the field is a row of whole bytes. */
  isOfBytes(f: FieldReference): boolean {
    const p = this.#positions.get(keyOf(f));
    // What is in no header type is one that the lowering adds, field by field with its padding.
    return p === undefined ? widthOf(f.type) % 8 === 0 : p.start % 8 === 0 && p.end % 8 === 0;
  }

  /** Whether it can be written and read by moves as if its bytes had nothing else in them. */
  isFree(f: FieldReference): boolean {
    return !this.#entangled.has(keyOf(f));
  }

  /** Bits between the field's last bit and the end of its last byte. */
  shiftOf(f: FieldReference): number {
    const p = this.#positions.get(keyOf(f));
    const end = p === undefined ? widthOf(f.type) : p.end;
    return (8 - (end % 8)) % 8;
  }
}

function keyOf(f: FieldReference): string {
  return `${f.header}.${f.field}`;
}

function byteOf(bit: number): number {
  return Math.floor(bit / 8);
}

/** Header fields that some assignment writes, or takes a value from; a field that is only ever cleared is padding. */
function assignedFields(program: Program): ReadonlySet<string> {
  const found = new Set<string>();
  const note = (e: Expression): void => {
    if (e.kind === "field") found.add(keyOf(e));
    else if (e.kind === "slice" || e.kind === "cast" || e.kind === "unary") note(e.operand);
    else if (e.kind === "concat" || e.kind === "binary") {
      note(e.left);
      note(e.right);
    }
  };
  for (const [s] of placedStatements(program)) {
    if (s.kind === "assign") {
      if (s.value.kind !== "constant" || s.value.value !== 0n) note(s.target);
      note(s.value);
    } else if (s.kind === "registerUpdate" && s.into !== undefined) note(s.into);
  }
  return found;
}
