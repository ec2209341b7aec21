import type {
  Action,
  Assign,
  Block,
  Control,
  DataType,
  Expression,
  MetadataField,
  MetadataReference,
  Program,
  Statement,
  StraightStatement,
  Target,
} from "../../ir/index.ts";
import { bit, int, widthOf } from "../../ir/index.ts";
import { deep, placedStatements, statementsOf, targetOf } from "../../ir/walk.ts";
import { localPart, Names } from "../p4text/names.ts";
import { rewrite } from "../p4text/rewrite.ts";
import { folded, isSame } from "./folding.ts";
import { Layout } from "./layout.ts";
import {
  cut,
  groupsOf,
  HASHED_BITS,
  isGiven,
  isPlace,
  joined,
  partsOf,
  withoutSameCasts,
  zero,
} from "./parts.ts";
import { atomsOf, bitsOf, type HashedMove, overlaps } from "./stages.ts";
import { withValues } from "./values.ts";

const ARITHMETIC = new Set(["+", "-", "|+|", "|-|"]);
const BITWISE = new Set(["&", "|", "^"]);
const SHIFTS = new Set(["<<", ">>"]);

/**
 * Brings each assignment into what one ALU of Tofino can do whatever the compiler puts into its containers:
 * an operation on whole fields that have containers to themselves, or a move of a whole field into one of the same width. Values that
 * stand otherwise are first put into metadata, and moves that cut bits out of fields or put them together go through the hash unit.
 */
export function withOperands(program: Program): Program {
  const pass = new OperandPass(program);
  const controls = program.controls.map((c): Control => pass.control(c));
  const [ingress, egress] = [pass.block(program.ingress, undefined), pass.block(program.egress, undefined)];
  return { ...program, controls, ingress, egress, metadata: [...program.metadata, ...pass.added] };
}

class OperandPass {
  readonly added: MetadataField[] = [];
  readonly #names: Names;
  readonly #layout: Layout;
  /** Metadata that stand whole in containers wider than they are: no header field can share an instruction with them. */
  readonly #held: Set<string>;

  constructor(program: Program) {
    this.#held = heldWhole(program);
    this.#names = new Names(program.metadata.map((m) => m.name));
    this.#layout = new Layout(program);
  }

  control(c: Control): Control {
    const apply = this.block(c.apply, c);
    const called = new Set(
      [...statementsOf(apply)].flatMap((s) => (s.kind === "callAction" ? [s.action] : [])),
    );
    const isUsed = (a: Action): boolean =>
      called.has(a.name) ||
      c.tables.some((t) => t.actions.includes(a.name) || t.defaultAction.action === a.name);
    // Those that stand as their bodies now are not declared.
    const actions = c.actions.filter(isUsed).map((a) => ({ ...a, body: this.#body(a.body) }));
    return { ...c, actions, apply };
  }

  block(block: Block, control: Control | undefined): Block {
    return block.flatMap((s): Block => {
      switch (s.kind) {
        case "if":
          return [
            {
              ...s,
              whenTrue: this.block(s.whenTrue, control),
              whenFalse: this.block(s.whenFalse, control),
            },
          ];
        case "applyTable":
          return [{ ...s, hit: this.block(s.hit, control), miss: this.block(s.miss, control) }];
        case "callAction":
          return this.#call(s, control);
        case "assign":
          return this.#assign(s);
        default:
          return [s];
      }
    });
  }

  /** An action that is called with fields stands as its body, so that the fields are told apart from action data. */
  #call(s: Extract<Statement, { kind: "callAction" }>, control: Control | undefined): Block {
    const a = control?.actions.find((other) => other.name === s.action);
    if (a === undefined || s.arguments.every((e) => e.kind === "constant")) return [s];
    const written = a.body.flatMap((t) => {
      const target = targetOf(t);
      return target === undefined ? [] : [bitsOf(target)];
    });
    const before: StraightStatement[] = [];
    const given = new Map<string, Expression>();
    a.parameters.forEach((p, i) => {
      const value = s.arguments[i];
      if (value === undefined) return;
      if (!atomsOf(value).some((r) => written.some((w) => overlaps(r, w)))) {
        given.set(p.name, value);
        return;
      }
      // The body overwrites what the call has read.
      const place = this.#place(p.name, p.type);
      before.push(...this.#assign({ kind: "assign", target: place, value }));
      given.set(p.name, place);
    });
    const e = (x: Expression): Expression =>
      rewrite(x, (n) => (n.kind === "parameter" ? (given.get(n.name) ?? n) : undefined));
    return [...before, ...this.#body(a.body.map((t) => withValues(t, e)))];
  }

  #body(body: readonly StraightStatement[]): readonly StraightStatement[] {
    return body.flatMap((s): readonly StraightStatement[] => (s.kind === "assign" ? this.#assign(s) : [s]));
  }

  #assign(s: Assign): readonly StraightStatement[] {
    return this.#untyped(s).map((made) => (made.kind === "assign" ? typed(made) : made));
  }

  /** Casts between bit and int of one width change no bit and are in the way: what is made here may lack them. */
  #untyped(s: Assign): readonly StraightStatement[] {
    const value = folded(s.value);
    if (value.type.kind === "bool") return [{ ...s, value }];
    if (isSame(s.target, value)) return [];
    const same = withoutSameCasts(value);
    return isOperation(same) ? this.#operation({ ...s, value: same }) : this.#move({ ...s, value });
  }

  #operation(s: Assign): readonly StraightStatement[] {
    const { target, value } = s;
    if (value.kind === "unary") {
      const isBitwise = value.operator === "~" && !this.#isHeld(s);
      if (!this.#isOwn(target, isBitwise)) return this.#byTheWay(s);
      const operand = withoutSameCasts(value.operand);
      if (value.operator === "~" && operand.kind === "binary" && BITWISE.has(operand.operator)) {
        const [before, left, right] = this.#both(operand.left, operand.right, isBitwise, target);
        return [...before, { ...s, value: { ...value, operand: { ...operand, left, right } } }];
      }
      const [before, own] = this.#operand(value.operand, isBitwise);
      return [...before, { ...s, value: { ...value, operand: own } }];
    }
    if (value.kind !== "binary") return [s];
    const { operator, left, right } = value;
    if (this.#isOfHash(s)) return [hashed(s, value)];
    if (SHIFTS.has(operator)) return this.#shift(s);
    if ((operator === "|+|" || operator === "|-|") && !isOfContainer(widthOf(value.type)))
      return this.#saturating(s);
    const isBitwise = BITWISE.has(operator) && !this.#isHeld(s);
    if (!this.#isOwn(target, isBitwise)) return this.#byTheWay(s);
    const [before, a, b] = this.#both(left, right, isBitwise, target);
    return [...before, { ...s, value: { ...value, left: a, right: b } }];
  }

  /** An exclusive or of bits from anywhere is what the hash unit makes at once; an ALU takes two whole fields a stage. */
  #isOfHash({ target, value }: Assign): boolean {
    if (target.kind === "intrinsic" || widthOf(value.type) > HASHED_BITS) return false;
    const terms = exclusiveTerms(value);
    return terms !== undefined && (terms.length > 2 || !terms.every((t) => this.#isFit(t, true)));
  }

  #isHeld({ target, value }: Assign): boolean {
    return [target, ...deep(value)].some((e) => e.kind === "metadata" && this.#held.has(e.name));
  }

  /** The value first, and then to where it belongs. */
  #byTheWay(s: Assign): readonly StraightStatement[] {
    const place = this.#place(nameOf(s.target), s.value.type);
    return [...this.#operation({ ...s, target: place }), ...this.#move({ ...s, value: place })];
  }

  /** Where a container ends is where it saturates, so what is narrower stands in its highest bits, with zeros below. */
  #saturating(s: Assign): readonly StraightStatement[] {
    const { target, value } = s;
    const width = widthOf(value.type);
    const container = [8, 16, 32].find((w) => w > width);
    if (value.kind !== "binary" || container === undefined) return [s];
    const type: DataType = value.type.kind === "int" ? int(container) : bit(container);
    const before: StraightStatement[] = [];
    const high = (e: Expression): Expression => {
      const [put, own] = partsOf(e) === undefined ? this.#put(e) : ([[], e] as const);
      before.push(...put);
      const left: Expression = { kind: "cast", type: bit(width), operand: own };
      const raised: Expression = {
        kind: "concat",
        type: bit(container),
        left: withoutSameCasts(left),
        right: zero(bit(container - width), container - width),
      };
      return type.kind === "int" ? { kind: "cast", type, operand: raised } : raised;
    };
    const [left, right] = [high(value.left), high(value.right)];
    const place = this.#place(nameOf(target), type);
    const result: Expression = {
      kind: "slice",
      type: bit(width),
      operand: place,
      high: container - 1,
      low: container - width,
    };
    return [
      ...before,
      ...this.#assign({ ...s, target: place, value: { ...value, type, left, right } }),
      ...this.#move({
        ...s,
        value: value.type.kind === "int" ? { kind: "cast", type: value.type, operand: result } : result,
      }),
    ];
  }

  #shift(s: Assign): readonly StraightStatement[] {
    const { target, value } = s;
    if (value.kind !== "binary" || value.right.kind !== "constant") return [s];
    const width = widthOf(value.type);
    if (isOfContainer(width) || value.type.kind === "int") {
      if (!this.#isOwn(target, false)) return this.#byTheWay(s);
      const [before, left] = this.#operand(value.left, false);
      return [...before, { ...s, value: { ...value, left } }];
    }
    // Bits beside a field of another width would be shifted in: a move of what stays, and zeros.
    const by = Number(value.right.value);
    if (by >= width) return this.#assign({ ...s, value: zero(value.type, width) });
    const [before, whole] = isPlace(value.left)
      ? ([[], value.left] as const)
      : this.#operand(value.left, true);
    const kept = (high: number, low: number): Expression => ({
      kind: "slice",
      operand: whole,
      high,
      low,
      type: bit(high - low + 1),
    });
    const shifted: Expression =
      value.operator === "<<"
        ? { kind: "concat", type: bit(width), left: kept(width - 1 - by, 0), right: zero(bit(by), by) }
        : { kind: "concat", type: bit(width), left: zero(bit(by), by), right: kept(width - 1, by) };
    return [...before, ...this.#move({ ...s, value: shifted })];
  }

  /** Two operands of one instruction, of which one may be a constant or action data. */
  #both(
    left: Expression,
    right: Expression,
    isBitwise: boolean,
    target: Target,
  ): readonly [readonly StraightStatement[], Expression, Expression] {
    const [a, b] = [withoutSameCasts(left), withoutSameCasts(right)];
    const isTwice = isSame(a, b) || (isGiven(a) && isGiven(b));
    // What comes first may wait in the target, unless the other operand reads that.
    const isUnread = (other: Expression): boolean =>
      atomsOf(other).every((bits) => !overlaps(bits, bitsOf(target)));
    const isLeftFit = !isTwice && this.#isFit(a, isBitwise);
    const [first, x] = isLeftFit ? [[], left] : this.#put(left, isUnread(b) ? target : undefined);
    const isFree = isLeftFit && isUnread(a);
    const [second, y] = this.#isFit(b, isBitwise)
      ? [[], right]
      : this.#put(right, isFree ? target : undefined);
    return [[...first, ...second], x, y];
  }

  #isFit(e: Expression, isBitwise: boolean): boolean {
    return isGiven(e) || (isPlace(e) && this.#isOwn(e, isBitwise));
  }

  #operand(e: Expression, isBitwise: boolean): readonly [readonly StraightStatement[], Expression] {
    return this.#isFit(withoutSameCasts(e), isBitwise) ? [[], e] : this.#put(e);
  }

  /** The value in a place of its own, or in the one that is there for it. */
  #put(e: Expression, into?: Target): readonly [readonly StraightStatement[], Expression] {
    const place = into ?? this.#place(nameOf(e), e.type);
    const at = e.at === undefined ? {} : { at: e.at };
    const made = this.#assign({ kind: "assign", target: place, value: e, ...at });
    return [made, place.type.kind === e.type.kind ? place : { kind: "cast", type: e.type, operand: place }];
  }

  #move(s: Assign): readonly StraightStatement[] {
    const { target, value } = s;
    if (this.#isPlain(target, value)) return [s];
    const parts = partsOf(value);
    if (parts === undefined) return [s];
    const width = widthOf(target.type);
    if (target.kind === "intrinsic") return [hashed(s, joined(parts))];
    const groups = groupsOf(parts);
    const isAlone = groups.length === 1;
    // Piece by piece, so no piece may read what another has written.
    if (!isAlone && parts.flatMap(atomsOf).some((read) => overlaps(read, bitsOf(target)))) {
      const place = this.#place(nameOf(target), target.type);
      return [...this.#move({ ...s, target: place }), ...this.#move({ ...s, value: place })];
    }
    let high = width - 1;
    return groups.map((group) => {
      const part = folded(joined(group));
      const low = high - widthOf(part.type) + 1;
      const piece: Assign = { ...s, target: cut(target, high, low), value: part };
      high = low - 1;
      return isGiven(part) ? piece : hashed(piece, part);
    });
  }

  /** Whether the ALU of the target's container can make the move, wherever the two stand. */
  #isPlain(target: Target, value: Expression): boolean {
    const from = withoutSameCasts(value);
    if (isGiven(from)) return true;
    // The architecture's own values have bytes of their own, with zeros in front.
    if (from.kind === "cast" && from.operand.kind === "intrinsic" && target.kind === "metadata") return true;
    if (!isPlace(from) || widthOf(from.type) !== widthOf(target.type) || target.kind === "slice")
      return false;
    if (
      [from, target].some((p) => p.kind === "field" && !this.#layout.isOfBytes(p) && !this.#layout.isFree(p))
    )
      return false;
    const isHeld = [from, target].some((p) => p.kind === "metadata" && this.#held.has(p.name));
    if (isHeld && [from, target].some((p) => p.kind === "field")) return false;
    return (
      from.kind !== "field" ||
      target.kind !== "field" ||
      this.#layout.shiftOf(from) === this.#layout.shiftOf(target)
    );
  }

  /** Whether the place has containers of its own, as an operation over whole containers needs them. */
  #isOwn(p: Target, isBitwise: boolean): boolean {
    const width = widthOf(p.type);
    switch (p.kind) {
      case "metadata":
        return true;
      case "field":
        return this.#layout.isOfBytes(p) && (isBitwise || width % 32 === 0 || width === 8 || width === 16);
      default:
        return false;
    }
  }

  #place(name: string, type: DataType): MetadataReference {
    const taken = this.#names.take(`${name}_value`);
    this.added.push({ name: taken, type, doc: "on its way from one stage to another" });
    if (!isOfContainer(widthOf(type))) this.#held.add(taken);
    return { kind: "metadata", name: taken, type };
  }
}

/** Widths of Tofino's containers. */
function isOfContainer(width: number): boolean {
  return width === 8 || width === 16 || width === 32;
}

/**
 * Metadata of sums that fill no container: they need one to themselves, or two where they are wider than 32 bits; and so do metadata
 * that meet them in one instruction.
 */
function heldWhole(program: Program): Set<string> {
  const groups = [...placedStatements(program)].flatMap(([s]): readonly Group[] => {
    if (s.kind !== "assign") return [];
    const nodes = [...deep(s.value)];
    const width = widthOf(s.target.type);
    const isMove = isPlace(s.value);
    if (isOfContainer(width) || (!isMove && !nodes.some(isOperation))) return [];
    const names = [s.target, ...nodes].flatMap((e) =>
      e.kind === "metadata" && widthOf(e.type) === width ? [e.name] : [],
    );
    const isSum = nodes.some((e) => e.kind === "binary" && ARITHMETIC.has(e.operator));
    return [{ names, isSum }];
  });
  const held = new Set(groups.flatMap((g) => (g.isSum ? g.names : [])));
  for (let before = -1; before !== held.size; ) {
    before = held.size;
    for (const { names } of groups)
      if (names.some((name) => held.has(name))) for (const name of names) held.add(name);
  }
  return held;
}

interface Group {
  readonly names: readonly string[];
  readonly isSum: boolean;
}

function isOperation(e: Expression): boolean {
  if (e.kind === "unary") return e.operator === "~" || e.operator === "-";
  return e.kind === "binary" && [ARITHMETIC, BITWISE, SHIFTS].some((set) => set.has(e.operator));
}

/** The fields, and bits of fields, that an exclusive or is of; undefined: something else is in it. */
function exclusiveTerms(e: Expression): readonly Expression[] | undefined {
  if (e.kind === "binary" && e.operator === "^") {
    const [left, right] = [exclusiveTerms(e.left), exclusiveTerms(e.right)];
    return left === undefined || right === undefined ? undefined : [...left, ...right];
  }
  const place = e.kind === "slice" ? e.operand : e;
  return place.kind === "field" || place.kind === "metadata" ? [e] : undefined;
}

function hashed(s: Assign, value: Expression): HashedMove {
  return { ...s, value, inHash: true };
}

/** The assignment with the cast that its target wants. */
function typed(s: Assign): Assign {
  const { target, value } = s;
  if (value.type.kind === target.type.kind || value.type.kind === "bool" || target.type.kind === "bool")
    return s;
  return { ...s, value: { kind: "cast", type: target.type, operand: value } };
}

/** What a value is called that is on its way to or from this place. */
function nameOf(e: Expression): string {
  switch (e.kind) {
    case "field":
      return e.field;
    case "metadata":
    case "parameter":
    case "intrinsic":
      return localPart(e.name);
    case "slice":
    case "cast":
    case "unary":
      return nameOf(e.operand);
    case "binary":
    case "concat":
      return nameOf(e.left);
    default:
      return "between";
  }
}
