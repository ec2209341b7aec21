import type {
  BinaryOperator,
  Cast,
  Constant,
  Expression,
  IntrinsicReference,
  IntType,
} from "../../ir/index.ts";
import { sameType, typeName } from "../../ir/index.ts";
import { concat, type Doc, group, line, nest } from "./layout.ts";
import { literal } from "./literals.ts";

/**
 * Strength of binding, as P4_16's grammar has it (section 8, table of operators): unlike C, the bitwise operators bind tighter
 * than comparisons, and `++` binds like `+`.
 */
export const Level = {
  MUX: 1,
  OR: 2,
  AND: 3,
  EQUALITY: 4,
  ORDER: 5,
  BIT_OR: 6,
  BIT_XOR: 7,
  BIT_AND: 8,
  SHIFT: 9,
  SUM: 10,
  PRODUCT: 11,
  PREFIX: 12,
  POSTFIX: 13,
} as const;

const levels: Record<BinaryOperator | "++", number> = {
  "||": Level.OR,
  "&&": Level.AND,
  "==": Level.EQUALITY,
  "!=": Level.EQUALITY,
  "<": Level.ORDER,
  "<=": Level.ORDER,
  ">": Level.ORDER,
  ">=": Level.ORDER,
  "|": Level.BIT_OR,
  "^": Level.BIT_XOR,
  "&": Level.BIT_AND,
  "<<": Level.SHIFT,
  ">>": Level.SHIFT,
  "++": Level.SUM,
  "+": Level.SUM,
  "-": Level.SUM,
  "|+|": Level.SUM,
  "|-|": Level.SUM,
  "*": Level.PRODUCT,
};

/** Operators that may be chained without parentheses: grouping does not change the value. */
const associative = new Set<string>(["||", "&&", "|", "^", "&", "+", "*", "++"]);

export interface Printed {
  readonly doc: Doc;
  readonly level: number;
}

export interface IntrinsicText {
  readonly text: string;
  /** The opposite, when the value is a test in the target. */
  readonly negated?: string;
  readonly level: number;
}

/** What differs between targets, and the names in scope. */
export interface Scope {
  /** How the architecture spells a value that is read. */
  intrinsic(e: IntrinsicReference): IntrinsicText;
  /** How a parameter or local variable is spelled. */
  variable(name: string): string;
}

/** A P4 expression. `sized` says that the context does not give constants their type. */
export function expression(e: Expression, scope: Scope, sized = false): Doc {
  const { doc } = print(e, scope, sized);
  return e.at === undefined ? doc : concat({ kind: "place", at: e.at }, doc);
}

/** The expression as an operand that must bind at least as tight as `level`. */
export function operand(e: Expression, scope: Scope, level: number, sized = true): Doc {
  const p = print(e, scope, sized);
  return p.level >= level ? p.doc : concat("(", p.doc, ")");
}

function print(e: Expression, scope: Scope, sized: boolean): Printed {
  switch (e.kind) {
    case "constant": {
      const name = constantName(e);
      if (name !== undefined) return { doc: name, level: Level.POSTFIX };
      const text = literal(e.value, e.type, sized);
      return { doc: text, level: /^[-(]/.test(text) ? Level.PREFIX : Level.POSTFIX };
    }
    case "field":
      return { doc: `hdr.${e.header}.${e.field}`, level: Level.POSTFIX };
    case "metadata":
      return { doc: `meta.${e.name}`, level: Level.POSTFIX };
    case "parameter":
      return { doc: scope.variable(e.name), level: Level.POSTFIX };
    case "memory":
      return { doc: scope.variable(e.which), level: Level.POSTFIX };
    case "intrinsic": {
      const { text, level } = scope.intrinsic(e);
      return { doc: text, level };
    }
    case "valid":
      return { doc: `hdr.${e.header}.isValid()`, level: Level.POSTFIX };
    case "lookahead":
      return { doc: `packet.lookahead<${typeName(e.type)}>()`, level: Level.POSTFIX };
    case "unary": {
      const opposite =
        e.operator === "!" && e.operand.kind === "intrinsic" ? scope.intrinsic(e.operand) : undefined;
      if (opposite?.negated !== undefined) return { doc: opposite.negated, level: opposite.level };
      if (e.operator === "!" && e.operand.kind === "binary" && e.operand.operator in opposites)
        return print(negation(e.operand), scope, sized);
      return {
        doc: concat(e.operator, signFree(e.operand, scope)),
        level: Level.PREFIX,
      };
    }
    case "cast":
      return {
        doc: concat(
          `(${e.typeName ?? typeName(e.type)})`,
          losesSign(e) ? `(bit<${e.type.width}>)(bit<${e.type.width + 1}>)` : "",
          operand(e.operand, scope, Level.PREFIX),
        ),
        level: Level.PREFIX,
      };
    case "slice":
      return {
        doc: concat(operand(e.operand, scope, Level.POSTFIX), `[${e.high}:${e.low}]`),
        level: Level.POSTFIX,
      };
    case "concat":
      return chain("++", e.left, e.right, scope);
    case "binary":
      return chain(e.operator, e.left, e.right, scope);
    case "mux":
      return {
        doc: group(
          operand(e.condition, scope, Level.OR),
          nest(
            line,
            "? ",
            operand(e.whenTrue, scope, Level.OR),
            line,
            ": ",
            operand(e.whenFalse, scope, Level.OR),
          ),
        ),
        level: Level.MUX,
      };
  }
}

/**
 * Signed, and one bit narrower than before: p4c's own code for it has a constant that it then warns of ("8s128: signed value does not fit in 8
 * bits"). By way of unsigned values it says nothing.
 */
function losesSign(e: Cast): e is Cast & { readonly type: IntType } {
  const { type: from } = e.operand;
  return e.type.kind === "int" && from.kind === "int" && e.type.width === from.width - 1;
}

/** The declared constant that stands for a node of its type. */
export function constantName({ named, type }: Constant): string | undefined {
  return named !== undefined && sameType(named.type, type) ? named.name : undefined;
}

const opposites: Partial<Record<BinaryOperator, BinaryOperator>> = {
  "==": "!=",
  "!=": "==",
  "<": ">=",
  ">=": "<",
  ">": "<=",
  "<=": ">",
};

/** The opposite of a condition, as a reader would write it. */
export function negation(e: Expression): Expression {
  if (e.kind === "unary" && e.operator === "!") return e.operand;
  const opposite = e.kind === "binary" ? opposites[e.operator] : undefined;
  if (e.kind === "binary" && opposite !== undefined) return { ...e, operator: opposite };
  return { kind: "unary", type: e.type, operator: "!", operand: e };
}

/** The operand of a prefix operator; `- -x` must not become `--x`. */
function signFree(e: Expression, scope: Scope): Doc {
  const doc = operand(e, scope, Level.PREFIX);
  const isPrefixed =
    e.kind === "unary" || (e.kind === "constant" && constantName(e) === undefined && e.value < 0n);
  return isPrefixed ? concat("(", doc, ")") : doc;
}

function chain(operator: BinaryOperator | "++", left: Expression, right: Expression, scope: Scope): Printed {
  const level = levels[operator];
  // One operand with a width is enough for arithmetic and comparison; a shift amount never needs one.
  const isShift = operator === "<<" || operator === ">>";
  const leftSized = isShift || operator === "++" || right.kind === "constant" || left.kind !== "constant";
  const rightSized = operator === "++" || right.kind !== "constant";
  const doc = group(
    side(operator, left, "left", scope, leftSized),
    nest(line, `${operator} `, side(operator, right, "right", scope, rightSized)),
  );
  return { doc, level };
}

/** An operand with the parentheses that the grammar needs, and those that a reader who knows C needs. */
function side(
  operator: BinaryOperator | "++",
  e: Expression,
  position: "left" | "right",
  scope: Scope,
  sized: boolean,
): Doc {
  const p = print(e, scope, sized);
  return needsParentheses(operator, e, p.level, position) ? concat("(", p.doc, ")") : p.doc;
}

function needsParentheses(
  operator: BinaryOperator | "++",
  e: Expression,
  inner: number,
  position: "left" | "right",
): boolean {
  const outer = levels[operator];
  if (inner < outer) return true;
  const innerOperator = e.kind === "binary" ? e.operator : e.kind === "concat" ? "++" : undefined;
  if (innerOperator === undefined) return inner === outer;
  if (inner === outer) {
    if (innerOperator === operator) return position === "right" || !associative.has(operator);
    // a + b - c reads well; other mixtures of one level do not.
    return position === "right" || !((operator === "+" || operator === "-") && "+-".includes(innerOperator));
  }
  const isSumOfProducts = outer === Level.SUM && inner === Level.PRODUCT;
  const isLogical = outer <= Level.AND;
  const isCompared = (outer === Level.EQUALITY || outer === Level.ORDER) && inner >= Level.SUM;
  if (outer === Level.OR && inner === Level.AND) return true;
  return !(isLogical || isCompared || isSumOfProducts);
}
