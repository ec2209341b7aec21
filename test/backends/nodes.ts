import type {
  Action,
  ActionParameter,
  ArithmeticOperator,
  Assign,
  Binary,
  BinaryOperator,
  Cast,
  Concat,
  Constant,
  Control,
  DataType,
  Expression,
  Extract,
  FieldReference,
  Hash,
  HashAlgorithm,
  If,
  IntrinsicName,
  IntrinsicReference,
  KeySet,
  Lookahead,
  MatchKind,
  MemoryReference,
  MetadataReference,
  Mux,
  ParameterReference,
  ParserState,
  ParserStep,
  Program,
  Random,
  Register,
  RegisterUpdate,
  Slice,
  Table,
  Target,
  Transition,
  Unary,
  UnaryOperator,
  Validity,
} from "../../src/ir/index.ts";
import { bit, bool, intrinsics, NO_ACTION } from "../../src/ir/index.ts";

/** Short builders of IR nodes for tests. */
export const constant = (value: bigint | number, type: DataType): Constant => ({
  kind: "constant",
  type,
  value: BigInt(value),
});
export const field = (header: string, name: string, type: DataType): FieldReference => ({
  kind: "field",
  type,
  header,
  field: name,
});
export const meta = (name: string, type: DataType): MetadataReference => ({ kind: "metadata", type, name });
export const parameter = (name: string, type: DataType): ParameterReference => ({
  kind: "parameter",
  type,
  name,
});
export const intrinsic = (name: IntrinsicName): IntrinsicReference => ({
  kind: "intrinsic",
  type: intrinsics[name].type,
  name,
});
export const memory = (which: "old" | "next", type: DataType): MemoryReference => ({
  kind: "memory",
  type,
  which,
});
export const valid = (header: string): Validity => ({ kind: "valid", type: bool, header });
export const unary = (operator: UnaryOperator, operand: Expression): Unary => ({
  kind: "unary",
  type: operand.type,
  operator,
  operand,
});
const comparisons: readonly BinaryOperator[] = ["==", "!=", "<", "<=", ">", ">=", "&&", "||"];
export const binary = (left: Expression, operator: BinaryOperator, right: Expression): Binary => ({
  kind: "binary",
  type: comparisons.includes(operator) ? bool : left.type,
  operator,
  left,
  right,
});
export const arithmetic = (left: Expression, operator: ArithmeticOperator, right: Expression): Binary =>
  binary(left, operator, right);
export const slice = <O extends Expression>(
  operand: O,
  high: number,
  low: number,
): Slice & { readonly operand: O } => ({
  kind: "slice",
  type: bit(high - low + 1),
  operand,
  high,
  low,
});
export const concat = (left: Expression, right: Expression): Concat => ({
  kind: "concat",
  type: bit(widthOfBits(left) + widthOfBits(right)),
  left,
  right,
});
export const cast = (operand: Expression, type: DataType): Cast => ({ kind: "cast", type, operand });
export const mux = (condition: Expression, whenTrue: Expression, whenFalse: Expression): Mux => ({
  kind: "mux",
  type: whenTrue.type,
  condition,
  whenTrue,
  whenFalse,
});

function widthOfBits(e: Expression): number {
  return e.type.kind === "bool" ? 1 : e.type.width;
}

export const extract = (header: string): Extract => ({ kind: "extract", header });

export const assign = (target: Target, value: Expression): Assign => ({ kind: "assign", target, value });
export const when = (
  condition: Expression,
  whenTrue: If["whenTrue"],
  whenFalse: If["whenFalse"] = [],
): If => ({
  kind: "if",
  condition,
  whenTrue,
  whenFalse,
});
export const update = (
  register: string,
  index: Expression,
  next: Expression,
  output?: Expression,
  into?: Target,
): RegisterUpdate => ({
  kind: "registerUpdate",
  register,
  index,
  next,
  ...(output === undefined ? {} : { output }),
  ...(into === undefined ? {} : { into }),
});
export const hash = (
  into: Target,
  algorithm: HashAlgorithm,
  fields: readonly Expression[],
  more: { readonly base?: bigint; readonly buckets?: bigint } = {},
): Hash => ({ kind: "hash", into, algorithm, fields, base: 0n, ...more });
export const random = (into: Target, low: Expression, high: Expression): Random => ({
  kind: "random",
  into,
  low,
  high,
});
export const apply = (table: string) => ({ kind: "applyTable", table, hit: [], miss: [] }) as const;

export const action = (
  name: string,
  parameters: readonly ActionParameter[],
  body: Action["body"],
  doc?: string,
): Action => ({ name, parameters, body, ...(doc === undefined ? {} : { doc }) });

export const table = (
  name: string,
  key: readonly (readonly [name: string, expression: Expression, match: MatchKind])[],
  actions: readonly string[],
  more: Partial<Table> = {},
): Table => ({
  name,
  key: key.map(([k, expression, match]) => ({ name: k, expression, match })),
  actions,
  size: 1024,
  defaultAction: { action: NO_ACTION, arguments: [], constant: false },
  constEntries: [],
  ...more,
});

export const register = (name: string, type: DataType, size: number): Register => ({ name, type, size });

export const control = (name: string, more: Partial<Control> = {}): Control => ({
  name,
  gress: "ingress",
  actions: [],
  tables: [],
  registers: [],
  counters: [],
  actionProfiles: [],
  meters: [],
  digests: [],
  apply: [],
  ...more,
});

export const program = (name: string, more: Partial<Program> = {}): Program => ({
  name,
  ports: 4,
  priorityQueues: 1,
  constants: [],
  headerTypes: [],
  headers: [],
  metadata: [],
  parser: [{ name: "start", steps: [], transition: { kind: "goto", next: "accept" } }],
  checksums: [],
  controls: [],
  ingress: [],
  egress: [],
  deparser: [],
  ...more,
});

/** Steps and ways of parser states. */
export const lookahead = (width: number): Lookahead => ({ kind: "lookahead", type: bit(width) });
export const advance = (bits: Expression): ParserStep => ({ kind: "advance", bits });
export const keep = (target: MetadataReference, value: Expression): ParserStep => ({
  kind: "assign",
  target,
  value,
});
export const verify = (condition: Expression, error: string): ParserStep => ({
  kind: "verify",
  condition,
  error,
});
export const goto = (next: string): Transition => ({ kind: "goto", next });
export const select = (
  keys: readonly Expression[],
  cases: readonly (readonly [values: readonly (KeySet | number)[], next: string])[],
  otherwise = "accept",
): Transition => ({
  kind: "select",
  keys,
  cases: cases.map(([values, next]) => ({
    values: values.map((v) => (typeof v === "number" ? { kind: "value", value: BigInt(v) } : v)),
    next,
  })),
  otherwise,
});
export const state = (name: string, steps: readonly ParserStep[], transition: Transition): ParserState => ({
  name,
  steps,
  transition,
});
