import type { DataType, Expression } from "../../src/ir/index.ts";

/** P4_16 expressions (section 8) evaluated on mathematical integers: what any implementation must compute. */
export function evaluate(e: Expression, read: (e: Expression) => bigint): bigint {
  const value = (sub: Expression): bigint => evaluate(sub, read);
  switch (e.kind) {
    case "constant":
      return e.value;
    case "unary": {
      const v = value(e.operand);
      return e.operator === "!" ? 1n - v : inType(e.operator === "-" ? -v : ~v, e.type);
    }
    case "slice":
      return BigInt.asUintN(e.high - e.low + 1, BigInt.asUintN(4096, value(e.operand)) >> BigInt(e.low));
    case "concat":
      return (bits(e.left, value(e.left)) << BigInt(width(e.right.type))) | bits(e.right, value(e.right));
    case "cast":
      return inType(value(e.operand), e.type);
    case "mux":
      return value(e.condition) === 1n ? value(e.whenTrue) : value(e.whenFalse);
    case "binary": {
      const l = value(e.left);
      const r = value(e.right);
      switch (e.operator) {
        case "+":
          return inType(l + r, e.type);
        case "-":
          return inType(l - r, e.type);
        case "*":
          return inType(l * r, e.type);
        case "|+|":
          return saturate(l + r, e.type);
        case "|-|":
          return saturate(l - r, e.type);
        case "&":
          return inType(l & r, e.type);
        case "|":
          return inType(l | r, e.type);
        case "^":
          return inType(l ^ r, e.type);
        case "<<":
          return inType(l << r, e.type);
        case ">>":
          return l >> r;
        case "==":
          return flag(l === r);
        case "!=":
          return flag(l !== r);
        case "<":
          return flag(l < r);
        case "<=":
          return flag(l <= r);
        case ">":
          return flag(l > r);
        case ">=":
          return flag(l >= r);
        case "&&":
          return l & r;
        case "||":
          return l | r;
      }
      break;
    }
    default:
      return read(e);
  }
}

function flag(b: boolean): bigint {
  return b ? 1n : 0n;
}

function width(type: DataType): number {
  return type.kind === "bool" ? 1 : type.width;
}

function bits(e: Expression, v: bigint): bigint {
  return BigInt.asUintN(width(e.type), v);
}

/** The number within a type. */
export function inType(v: bigint, type: DataType): bigint {
  return type.kind === "int" ? BigInt.asIntN(type.width, v) : BigInt.asUintN(width(type), v);
}

function saturate(v: bigint, type: DataType): bigint {
  const w = BigInt(width(type));
  const [low, high] = type.kind === "int" ? [-(1n << (w - 1n)), (1n << (w - 1n)) - 1n] : [0n, (1n << w) - 1n];
  return v < low ? low : v > high ? high : v;
}
