import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { Expression } from "../bmv2json/program.ts";
import {
  allOnes,
  arithmeticCode,
  asBigint,
  type BoolCode,
  bigint,
  bigintLiteral,
  constantCode,
  type DataCode,
  divisionCode,
  fromBig,
  type HeaderCode,
  isNumber,
  largestShift,
  lowMaskWidth,
  max,
  min,
  narrow,
  noStride,
  number,
  numberLiteral,
  orCode,
  type PlaceCode,
  safe,
  two32,
  type UnionCode,
  type ValueCode,
} from "./data-code.ts";
import { type FieldSlot, type PhvLayout, type StackSlot, unknownName, widestNumber } from "./layout.ts";

export interface ExpressionScope {
  readonly layout: PhvLayout;
  /** Widths of the action's parameters, for "local" and "runtime_data". */
  readonly parameterWidths: readonly number[];
  /** Code and width of a register array's cells and the code of its size. */
  register(
    name: string,
    path: string,
  ): { readonly cells: string; readonly width: number; readonly size: number };
}

/**
 * Turns expressions into JavaScript. Generated code finds the packet's stores in the locals `u`, `d`, `b`, `v`,
 * an action's arguments in `a`, and the functions of `runtime-arithmetic.ts` by name.
 */
export class ExpressionCompiler {
  readonly scope: ExpressionScope;
  private readonly exactCache = new Map<Expression, ValueCode>();
  private readonly lowCache = new Map<Expression, string>();

  constructor(scope: ExpressionScope) {
    this.scope = scope;
  }

  private get layout(): PhvLayout {
    return this.scope.layout;
  }

  private mismatch(expression: Expression, expected: string): never {
    throw new SwitchConfigError(
      "WRONG_TYPE",
      expression.path,
      `expected ${expected}, found ${expression.kind}`,
    );
  }

  value(expression: Expression): ValueCode {
    let code = this.exactCache.get(expression);
    if (code === undefined) {
      code = this.compile(expression);
      this.exactCache.set(expression, code);
    }
    return code;
  }

  /** The exact value as number or bigint; a bool counts as 0 or 1. */
  data(expression: Expression): DataCode {
    const code = this.value(expression);
    if (code.kind === "data") return code;
    if (code.kind === "bool") return number(`(${code.code} ? 1 : 0)`, 0n, 1n);
    return this.mismatch(expression, "a value");
  }

  bool(expression: Expression): string {
    const code = this.value(expression);
    if (code.kind === "bool") return code.code;
    if (code.kind === "data") return `(${code.code} !== ${code.big ? "0n" : "0"})`;
    return this.mismatch(expression, "a condition");
  }

  /** A number that is congruent modulo 2^32; safe as the operand of a bitwise operator. */
  low32(expression: Expression): string {
    let code = this.lowCache.get(expression);
    if (code === undefined) {
      code = this.compileLow32(expression);
      this.lowCache.set(expression, code);
    }
    return code;
  }

  /** The value modulo 2^width as an unsigned number (width up to 52). */
  private moduloNumber(expression: Expression, width: number): string {
    const exact = this.data(expression);
    const limit = 1n << BigInt(width);
    if (!exact.big && exact.low >= 0n && exact.high < limit) return exact.code;
    if (width === 32) return `((${this.low32(expression)}) >>> 0)`;
    if (width < 32) return `((${this.low32(expression)}) & ${limit - 1n})`;
    return this.moduloWide(expression, width);
  }

  private moduloWide(expression: Expression, width: number): string {
    if (expression.kind === "binary" && expression.op === "<<" && expression.right.kind === "constant") {
      const shift = expression.right.value;
      if (shift >= BigInt(width)) return "0";
      return `(${this.moduloNumber(expression.left, width - Number(shift))} * ${1n << shift})`;
    }
    const exact = this.data(expression);
    if (!exact.big) return `floorMod(${exact.code}, ${1n << BigInt(width)})`;
    return `Number(BigInt.asUintN(${width}, ${exact.code}))`;
  }

  /** An index into an array of `size` cells, out of range exactly if the value is. */
  index(expression: Expression): string {
    const exact = this.data(expression);
    if (!exact.big && exact.low >= 0n) return exact.code;
    return `((${this.low32(expression)}) >>> 0)`;
  }

  // ---------------------------------------------------------------- places

  loadField(slot: FieldSlot, index: string): DataCode {
    const limit = 1n << BigInt(slot.width);
    const cell = `${slot.store}[${index}]`;
    if (slot.store === "v") {
      throw new SwitchConfigError("UNSUPPORTED", `${slot.header}.${slot.name}`, "a varbit is no number");
    }
    if (!slot.signed) {
      return slot.store === "b" ? bigint(cell, 0n, limit - 1n) : number(cell, 0n, limit - 1n);
    }
    const low = -(limit >> 1n);
    const high = (limit >> 1n) - 1n;
    if (slot.store === "b") return bigint(`BigInt.asIntN(${slot.width}, ${cell})`, low, high);
    if (slot.store === "d") return number(`signExtend(${cell}, ${limit})`, low, high);
    const shift = 32 - slot.width;
    return number(shift === 0 ? `(${cell} | 0)` : `(${cell} << ${shift} >> ${shift})`, low, high);
  }

  /** Statement that stores a value, cut to the width of the field. */
  store(place: PlaceCode, expression: Expression): string {
    const { slot, index } = place;
    if (slot.store === "b") {
      const exact = this.data(expression);
      const fits = exact.low >= 0n && exact.high < 1n << BigInt(slot.width);
      const code = asBigint(exact);
      return `b[${index}] = ${fits ? code : `BigInt.asUintN(${slot.width}, ${code})`};`;
    }
    if (slot.store === "v") return this.storeVarbit(place, expression);
    if (slot.store === "u" && slot.width === 32) {
      // A Uint32Array takes any number modulo 2^32 by itself.
      const exact = this.data(expression);
      return `u[${index}] = ${exact.big ? this.low32(expression) : exact.code};`;
    }
    return `${slot.store}[${index}] = ${this.moduloNumber(expression, slot.width)};`;
  }

  private storeVarbit(place: PlaceCode, expression: Expression): string {
    const source = this.place(expression);
    if (source === undefined || source.slot.store !== "v") return this.mismatch(expression, "a varbit field");
    return `v[${place.index}] = v[${source.index}];`;
  }

  /** Statement that stores a number or bigint held in a local, cut to the width of the field. */
  storeLocal(place: PlaceCode, local: string, isBig: boolean): string {
    const { slot, index } = place;
    if (slot.store === "v") {
      throw new SwitchConfigError(
        "UNSUPPORTED",
        `${slot.header}.${slot.name}`,
        "can't assign a number to a varbit",
      );
    }
    if (slot.store === "b")
      return `b[${index}] = BigInt.asUintN(${slot.width}, ${isBig ? local : `BigInt(${local})`});`;
    const value = isBig ? `Number(BigInt.asUintN(${slot.width}, ${local}))` : local;
    if (slot.store === "d")
      return `d[${index}] = ${isBig ? value : `floorMod(${value}, ${1n << BigInt(slot.width)})`};`;
    if (slot.width === 32 || isBig) return `u[${index}] = ${value};`;
    return `u[${index}] = ${value} & ${(1n << BigInt(slot.width)) - 1n};`;
  }

  /** The place that an expression names, or undefined if it is no place. */
  place(expression: Expression): PlaceCode | undefined {
    switch (expression.kind) {
      case "field": {
        const slot = this.layout.field(expression.header, expression.field, expression.path);
        return { slot, index: String(slot.index) };
      }
      case "stackField": {
        const stack = this.stack(expression.stack, expression.path);
        const slot =
          stack.overflow.fields.find((field) => field.name === expression.field) ??
          unknownName("field", `${expression.stack}.${expression.field}`, expression.path);
        return this.placeInHeader(
          this.stackElement(stack, `u[${stack.next}] - 1`),
          stack.overflow.fields.indexOf(slot),
        );
      }
      case "accessField": {
        const header = this.header(expression.header);
        if (header.slot.fields[expression.index] === undefined) {
          unknownName("field with index", String(expression.index), expression.path);
        }
        return this.placeInHeader(header, expression.index);
      }
      default:
        return undefined;
    }
  }

  assignable(expression: Expression): PlaceCode {
    return this.place(expression) ?? this.mismatch(expression, "a field that can be assigned");
  }

  private placeInHeader(header: HeaderCode, fieldIndex: number): PlaceCode {
    const slot = header.slot.fields[fieldIndex];
    if (slot === undefined) return unknownName("field with index", String(fieldIndex), header.slot.name);
    return { slot, index: this.slotIndex(header, slot.store, slot.index) };
  }

  slotIndex(header: HeaderCode | UnionCode, store: "u" | "d" | "b" | "v", index: number): string {
    return header.element === undefined
      ? String(index)
      : `${index} + ${header.element} * ${header.stride[store]}`;
  }

  // ---------------------------------------------------------------- headers

  stack(name: string, path: string): StackSlot {
    return this.layout.stacks.get(name) ?? unknownName("header stack", name, path);
  }

  private stackElement(stack: StackSlot, index: string): HeaderCode {
    // Any index past the end, -1 included, leads to the spare element.
    return {
      kind: "header",
      slot: stack.elements[0] ?? stack.overflow,
      element: `clampIndex(${index}, ${stack.depth})`,
      stride: stack.stride,
    };
  }

  header(expression: Expression): HeaderCode {
    if (expression.kind === "stackField" && expression.field === "last") {
      // p4c's way to write the header stack.last.
      const stack = this.stack(expression.stack, expression.path);
      return this.stackElement(stack, `u[${stack.next}] - 1`);
    }
    const code = this.value(expression);
    return code.kind === "header" ? code : this.mismatch(expression, "a header");
  }

  union(expression: Expression): UnionCode {
    const code = this.value(expression);
    return code.kind === "union" ? code : this.mismatch(expression, "a header union");
  }

  validity(header: HeaderCode): string {
    return `u[${this.slotIndex(header, "u", header.slot.valid)}]`;
  }

  private unionValidity(union: UnionCode): string {
    const bits = union.slot.members.map((member) => `u[${this.slotIndex(union, "u", member.valid)}]`);
    return bits.length === 0 ? "0" : `(${bits.join(" | ")})`;
  }

  private sameHeader(left: HeaderCode, right: HeaderCode): string {
    const fields = left.slot.fields.map((field, i) => {
      const other = right.slot.fields[i];
      if (other === undefined || other.store !== field.store) return "false";
      const a = `${field.store}[${this.slotIndex(left, field.store, field.index)}]`;
      const b = `${other.store}[${this.slotIndex(right, other.store, other.index)}]`;
      return field.store === "v" ? `sameBytes(${a}, ${b})` : `${a} === ${b}`;
    });
    const contents = fields.length === 0 ? "true" : fields.join(" && ");
    return `(${this.validity(left)} === ${this.validity(right)} && (${this.validity(left)} === 0 || (${contents})))`;
  }

  // ---------------------------------------------------------------- exact values

  private compile(expression: Expression): ValueCode {
    switch (expression.kind) {
      case "constant":
        return constantCode(expression.value);
      case "boolean":
        return { kind: "bool", code: String(expression.value) };
      case "field":
      case "stackField":
      case "accessField": {
        const place = this.assignable(expression);
        return this.loadField(place.slot, place.index);
      }
      case "local": {
        const width = this.scope.parameterWidths[expression.index];
        if (width === undefined)
          return unknownName("action parameter with index", String(expression.index), expression.path);
        const high = (1n << BigInt(width)) - 1n;
        const code = expression.index === 0 ? "a[o]" : `a[o + ${expression.index}]`;
        return width <= widestNumber ? number(code, 0n, high) : bigint(code, 0n, high);
      }
      case "header": {
        const slot = this.layout.header(expression.name, expression.path);
        return { kind: "header", slot, element: undefined, stride: noStride };
      }
      case "union": {
        const slot =
          this.layout.unions.get(expression.name) ??
          unknownName("header union", expression.name, expression.path);
        return { kind: "union", slot, element: undefined, stride: noStride };
      }
      case "unionStackField": {
        const stack =
          this.layout.unionStacks.get(expression.stack) ??
          unknownName("header union stack", expression.stack, expression.path);
        const member = stack.overflow.members[stack.overflow.memberNames.indexOf(expression.member)];
        const first =
          stack.elements[0]?.members[stack.overflow.memberNames.indexOf(expression.member)] ?? member;
        if (first === undefined) return unknownName("union member", expression.member, expression.path);
        const index = first.fields.findIndex((field) => field.name === expression.field);
        const place = this.placeInHeader(
          {
            kind: "header",
            slot: first,
            element: `clampIndex(u[${stack.next}] - 1, ${stack.depth})`,
            stride: stack.stride,
          },
          index,
        );
        return this.loadField(place.slot, place.index);
      }
      case "register": {
        const register = this.scope.register(expression.array, expression.path);
        const high = (1n << BigInt(register.width)) - 1n;
        const index = this.index(expression.index);
        const zero = register.width <= widestNumber ? "0" : "0n";
        const code = `(${register.cells}[${index}] ?? ${zero})`;
        return register.width <= widestNumber ? number(code, 0n, high) : bigint(code, 0n, high);
      }
      case "unary":
        return this.compileUnary(expression.op, expression.operand, expression);
      case "binary":
        return this.compileBinary(expression);
      case "conditional":
        return this.compileConditional(expression);
      case "accessUnionHeader": {
        const union = this.union(expression.union);
        const slot = union.slot.members[expression.index];
        if (slot === undefined)
          return unknownName("union member with index", String(expression.index), expression.path);
        return { kind: "header", slot, element: union.element, stride: union.stride };
      }
      default:
        return this.mismatch(expression, "a value");
    }
  }

  private compileConditional(expression: Expression & { readonly kind: "conditional" }): ValueCode {
    const condition = this.bool(expression.condition);
    const yes = this.value(expression.whenTrue);
    const no = this.value(expression.whenFalse);
    if (yes.kind === "bool" && no.kind === "bool") {
      return { kind: "bool", code: `(${condition} ? ${yes.code} : ${no.code})` };
    }
    const left = this.data(expression.whenTrue);
    const right = this.data(expression.whenFalse);
    const low = min([left.low, right.low]);
    const high = max([left.high, right.high]);
    if (!left.big && !right.big) return number(`(${condition} ? ${left.code} : ${right.code})`, low, high);
    return bigint(`(${condition} ? ${asBigint(left)} : ${asBigint(right)})`, low, high);
  }

  private compileUnary(op: string, operand: Expression, whole: Expression): ValueCode {
    switch (op) {
      case "not":
        return { kind: "bool", code: `!(${this.bool(operand)})` };
      case "d2b":
        return { kind: "bool", code: this.bool(operand) };
      case "b2d":
        return this.data(operand);
      case "valid":
        return { kind: "bool", code: `(${this.validity(this.header(operand))} !== 0)` };
      case "valid_union":
        return { kind: "bool", code: `(${this.unionValidity(this.union(operand))} !== 0)` };
      case "~": {
        const value = this.data(operand);
        const low = -value.high - 1n;
        const high = -value.low - 1n;
        return value.big
          ? bigint(`(~${value.code})`, low, high)
          : narrow(`(-1 - ${value.code})`, `(~BigInt(${value.code}))`, low, high);
      }
      case "last_stack_index":
      case "size_stack": {
        if (operand.kind !== "stack") return this.mismatch(operand, "a header stack");
        const stack = this.stack(operand.name, operand.path);
        const depth = BigInt(stack.depth);
        return op === "size_stack"
          ? number(`u[${stack.next}]`, 0n, depth)
          : number(`(u[${stack.next}] - 1)`, -1n, depth - 1n);
      }
      default:
        throw new SwitchConfigError("UNSUPPORTED", whole.path, `unknown operator "${op}"`);
    }
  }

  private compileBinary(expression: Expression & { readonly kind: "binary" }): ValueCode {
    const { op, left, right } = expression;
    switch (op) {
      case "and":
        return { kind: "bool", code: `(${this.bool(left)} && ${this.bool(right)})` };
      case "or":
        return { kind: "bool", code: `(${this.bool(left)} || ${this.bool(right)})` };
      case "==":
      case "!=":
        return this.compileEquality(op, left, right);
      case "<":
      case "<=":
      case ">":
      case ">=":
        // JavaScript compares numbers with bigints exactly.
        return { kind: "bool", code: `(${this.data(left).code} ${op} ${this.data(right).code})` };
      case "+":
      case "-":
      case "*":
        return arithmeticCode(op, this.data(left), this.data(right));
      case "/":
      case "%":
        return divisionCode(op, this.data(left), this.data(right));
      case "<<":
      case ">>":
        return this.compileShift(op, left, right);
      case "&":
        return this.compileAnd(left, right);
      case "|":
      case "^":
        return orCode(op, this.data(left), this.data(right));
      case "two_comp_mod":
      case "sat_cast":
      case "usat_cast":
        return this.compileCast(op, left, right);
      case "dereference_header_stack": {
        if (left.kind !== "stack") return this.mismatch(left, "a header stack");
        const stack = this.stack(left.name, left.path);
        if (right.kind === "constant" && right.value >= 0n && right.value < BigInt(stack.depth)) {
          const slot = stack.elements[Number(right.value)] ?? stack.overflow;
          return { kind: "header", slot, element: undefined, stride: noStride };
        }
        return this.stackElement(stack, this.index(right));
      }
      case "dereference_union_stack": {
        if (left.kind !== "unionStack") return this.mismatch(left, "a header union stack");
        const stack =
          this.layout.unionStacks.get(left.name) ?? unknownName("header union stack", left.name, left.path);
        return {
          kind: "union",
          slot: stack.elements[0] ?? stack.overflow,
          element: `clampIndex(${this.index(right)}, ${stack.depth})`,
          stride: stack.stride,
        };
      }
    }
  }

  private compileEquality(op: "==" | "!=", left: Expression, right: Expression): BoolCode {
    const p = this.place(left);
    const q = this.place(right);
    if (p?.slot.store === "v" && q?.slot.store === "v") {
      return { kind: "bool", code: `${op === "!=" ? "!" : ""}sameBytes(v[${p.index}], v[${q.index}])` };
    }
    const a = this.value(left);
    const b = this.value(right);
    if (a.kind === "header" && b.kind === "header") {
      return { kind: "bool", code: `${op === "!=" ? "!" : ""}${this.sameHeader(a, b)}` };
    }
    if (a.kind === "union" && b.kind === "union") {
      const members = a.slot.members.map((slot, i) => {
        const other = b.slot.members[i];
        if (other === undefined) return "false";
        return this.sameHeader(
          { kind: "header", slot, element: a.element, stride: a.stride },
          { kind: "header", slot: other, element: b.element, stride: b.stride },
        );
      });
      return { kind: "bool", code: `${op === "!=" ? "!" : ""}(${members.join(" && ") || "true"})` };
    }
    if (a.kind === "bool" && b.kind === "bool") return { kind: "bool", code: `(${a.code} ${op}= ${b.code})` };
    const x = this.data(left);
    const y = this.data(right);
    // Loose equality compares a number with a bigint exactly.
    return { kind: "bool", code: `(${x.code} ${x.big === y.big ? `${op}=` : op} ${y.code})` };
  }

  private compileShift(op: "<<" | ">>", left: Expression, right: Expression): DataCode {
    const a = this.data(left);
    const b = this.data(right);
    if (op === ">>") {
      const low = min([a.low, 0n]);
      const high = max([a.high, 0n]);
      const fits32 = a.low >= 0n && a.high < two32;
      if (b.low === b.high && !b.big && b.low >= 0n) {
        const least = a.low >> min([b.low, largestShift]);
        const most = a.high >> min([b.low, largestShift]);
        if (a.big) return fromBig(`(${a.code} >> ${min([b.low, largestShift])}n)`, least, most);
        if (fits32) return number(b.low < 32n ? `(${a.code} >>> ${b.low})` : "0", least, most);
        if (b.low < 64n) return number(`Math.floor(${a.code} / ${1n << b.low})`, least, most);
      }
      if (a.big) return bigint(`shiftRightBig(${a.code}, ${b.code})`, low, high);
      return number(`${fits32 ? "shiftRight32" : "shiftRight"}(${a.code}, ${b.code})`, low, high);
    }
    if (b.low === b.high && b.low >= 0n) {
      if (b.low > largestShift) return constantCode(0n);
      const low = min([a.low << b.low, 0n]);
      const high = max([a.high << b.low, 0n]);
      return a.big
        ? bigint(`(${a.code} << ${b.low}n)`, low, high)
        : narrow(`(${a.code} * ${1n << b.low})`, `(BigInt(${a.code}) << ${b.low}n)`, low, high);
    }
    const furthest = min([max([b.high, 0n]), largestShift]);
    const low = min([a.low << furthest, 0n]);
    const high = max([a.high << furthest, 0n]);
    return bigint(`shiftLeftBig(${asBigint(a)}, ${b.code})`, low, high);
  }

  private compileAnd(left: Expression, right: Expression): DataCode {
    const constant = left.kind === "constant" ? left : right.kind === "constant" ? right : undefined;
    if (constant !== undefined && constant.value >= 0n) {
      const other = constant === left ? right : left;
      const mask = constant.value;
      if (mask < two32) {
        const exact = this.data(other);
        const width = lowMaskWidth(mask);
        if (width !== undefined && !exact.big && exact.low >= 0n && exact.high <= mask) return exact;
        const code = `(${this.low32(other)} & ${Number(BigInt.asIntN(32, mask))})`;
        return number(mask < two32 >> 1n ? code : `(${code} >>> 0)`, 0n, mask);
      }
      const width = lowMaskWidth(mask);
      if (width !== undefined && width <= widestNumber)
        return number(this.moduloNumber(other, width), 0n, mask);
      if (width !== undefined) {
        return bigint(`BigInt.asUintN(${width}, ${asBigint(this.data(other))})`, 0n, mask);
      }
    }
    const a = this.data(left);
    const b = this.data(right);
    const bothNatural = a.low >= 0n && b.low >= 0n;
    const high =
      a.low >= 0n
        ? b.low >= 0n
          ? min([a.high, b.high])
          : a.high
        : b.low >= 0n
          ? b.high
          : max([a.high, b.high, 0n]);
    const low = a.low >= 0n || b.low >= 0n ? 0n : -allOnes(max([-a.low, -b.low])) - 1n;
    if (!a.big && !b.big) {
      if (bothNatural && a.high < two32 && b.high < two32)
        return number(`((${a.code} & ${b.code}) >>> 0)`, low, high);
      if (bothNatural) return number(`and53(${a.code}, ${b.code})`, low, high);
    }
    return fromBig(`(${asBigint(a)} & ${asBigint(b)})`, low, high);
  }

  private compileCast(
    op: "two_comp_mod" | "sat_cast" | "usat_cast",
    left: Expression,
    right: Expression,
  ): DataCode {
    if (right.kind !== "constant" || right.value < 1n || right.value > largestShift) {
      throw new SwitchConfigError(
        "UNSUPPORTED",
        right.path,
        `the width of ${op} must be a constant of at least 1`,
      );
    }
    const width = Number(right.value);
    const full = 1n << BigInt(width);
    const low = op === "usat_cast" ? 0n : -(full >> 1n);
    const high = op === "usat_cast" ? full - 1n : (full >> 1n) - 1n;
    const value = this.data(left);
    if (value.low >= low && value.high <= high) return value;
    if (op === "two_comp_mod") {
      if (width <= 32) {
        const shift = 32 - width;
        const code = this.low32(left);
        return number(shift === 0 ? `(${code} | 0)` : `(${code} << ${shift} >> ${shift})`, low, high);
      }
      if (width <= widestNumber)
        return number(`signExtend(${this.moduloNumber(left, width)}, ${full})`, low, high);
      return bigint(`BigInt.asIntN(${width}, ${asBigint(value)})`, low, high);
    }
    if (!value.big && isNumber(low, high)) {
      return number(`saturate(${value.code}, ${numberLiteral(low)}, ${high})`, low, high);
    }
    const code = `saturateBig(${asBigint(value)}, ${bigintLiteral(low)}, ${high}n)`;
    return fromBig(code, low, high);
  }

  // ---------------------------------------------------------------- values modulo 2^32

  private compileLow32(expression: Expression): string {
    if (expression.kind === "binary") {
      const { op, left, right } = expression;
      switch (op) {
        case "+":
        case "-":
          return `(${this.low32(left)} ${op} ${this.low32(right)} | 0)`;
        case "*":
          return `Math.imul(${this.low32(left)}, ${this.low32(right)})`;
        case "&":
        case "|":
        case "^":
          return `(${this.low32(left)} ${op} ${this.low32(right)})`;
        case "<<": {
          if (right.kind === "constant" && right.value >= 0n) {
            return right.value < 32n ? `(${this.low32(left)} << ${right.value})` : "0";
          }
          return `shiftLeft32(${this.low32(left)}, ${this.data(right).code})`;
        }
        case "two_comp_mod":
          // Already the same modulo 2^32 if the width is at least 32.
          if (right.kind === "constant" && right.value >= 32n) return this.low32(left);
          break;
        default:
          break;
      }
    }
    if (expression.kind === "unary" && expression.op === "~") return `(~${this.low32(expression.operand)})`;
    if (expression.kind === "conditional") {
      return `(${this.bool(expression.condition)} ? ${this.low32(expression.whenTrue)} : ${this.low32(expression.whenFalse)})`;
    }
    if (expression.kind === "constant") return numberLiteral(BigInt.asIntN(32, expression.value));
    const exact = this.data(expression);
    if (exact.big) return `Number(BigInt.asUintN(32, ${exact.code}))`;
    // The sum of two such values must still be exact.
    const small = exact.low >= -safe / 2n && exact.high <= safe / 2n;
    return small ? exact.code : `(${exact.code} | 0)`;
  }
}
