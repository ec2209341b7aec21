import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { Action, Expression, Primitive } from "../bmv2json/program.ts";
import { yieldsBigint } from "./calculation-code.ts";
import { asBigint } from "./data-code.ts";
import type { ExpressionCompiler } from "./expression-code.ts";
import { clearHeader, copyHeader, headerBytes, invalidateSiblings } from "./header-code.ts";
import { unknownName, widestNumber } from "./layout.ts";
import { namedArgument, type ProgramScope } from "./program-scope.ts";

interface Context {
  readonly scope: ProgramScope;
  readonly expressions: ExpressionCompiler;
  readonly primitive: Primitive;
}

type Generator = (context: Context, parameters: readonly Expression[]) => string;

interface PrimitiveKind {
  readonly arity: number;
  readonly generate: Generator;
}

function parameter(context: Context, index: number): Expression {
  const found = context.primitive.parameters[index];
  if (found === undefined) {
    throw new SwitchConfigError(
      "MISSING",
      context.primitive.path,
      `"${context.primitive.op}" lacks argument ${index}`,
    );
  }
  return found;
}

/** A number for the engine's own use: session ids, list ids, lengths. Anything above 2^32 is cut. */
function smallNumber(context: Context, index: number): string {
  return context.expressions.index(parameter(context, index));
}

function assign(context: Context): string {
  const target = context.expressions.assignable(parameter(context, 0));
  return context.expressions.store(target, parameter(context, 1));
}

function binary(op: "+" | "-" | "&" | "|" | "^" | "<<" | ">>"): Generator {
  return (context) => {
    const target = context.expressions.assignable(parameter(context, 0));
    return context.expressions.store(target, {
      kind: "binary",
      op,
      left: parameter(context, 1),
      right: parameter(context, 2),
      path: context.primitive.path,
    });
  };
}

function inPlace(op: "+" | "-"): Generator {
  return (context) => {
    const target = parameter(context, 0);
    return context.expressions.store(context.expressions.assignable(target), {
      kind: "binary",
      op,
      left: target,
      right: parameter(context, 1),
      path: context.primitive.path,
    });
  };
}

function assignHeader(context: Context): string {
  return copyHeader(
    context.expressions.header(parameter(context, 0)),
    context.expressions.header(parameter(context, 1)),
  );
}

function assignUnion(context: Context): string {
  const to = context.expressions.union(parameter(context, 0));
  const from = context.expressions.union(parameter(context, 1));
  return to.slot.members
    .map((slot, i) => {
      const source = from.slot.members[i];
      if (source === undefined)
        throw new SwitchConfigError("BAD_VALUE", context.primitive.path, "unions of two types");
      // Members are copied one by one: the valid one, if any, must not be wiped by the others.
      return copyHeader(
        { kind: "header", slot: { ...slot, union: undefined }, element: to.element, stride: to.stride },
        { kind: "header", slot: source, element: from.element, stride: from.stride },
      );
    })
    .join("\n");
}

function assignStack(context: Context): string {
  const { layout } = context.scope;
  const to = parameter(context, 0);
  const from = parameter(context, 1);
  if (to.kind === "stack" && from.kind === "stack") {
    const target = context.expressions.stack(to.name, to.path);
    const source = context.expressions.stack(from.name, from.path);
    const stride = { u: 0, d: 0, b: 0, v: 0 };
    const copies = target.elements.map((slot, i) => {
      const element = source.elements[i] ?? unknownName("element", `${from.name}[${i}]`, from.path);
      return copyHeader(
        { kind: "header", slot, element: undefined, stride },
        { kind: "header", slot: element, element: undefined, stride },
      );
    });
    return `u[${target.next}] = u[${source.next}];\n${copies.join("\n")}`;
  }
  if (to.kind === "unionStack" && from.kind === "unionStack") {
    const target = layout.unionStacks.get(to.name) ?? unknownName("header union stack", to.name, to.path);
    const source =
      layout.unionStacks.get(from.name) ?? unknownName("header union stack", from.name, from.path);
    const stride = { u: 0, d: 0, b: 0, v: 0 };
    const copies = target.elements.flatMap((union, i) =>
      union.members.map((slot, j) => {
        const element =
          source.elements[i]?.members[j] ?? unknownName("element", `${from.name}[${i}]`, from.path);
        return copyHeader(
          { kind: "header", slot: { ...slot, union: undefined }, element: undefined, stride },
          { kind: "header", slot: element, element: undefined, stride },
        );
      }),
    );
    return `u[${target.next}] = u[${source.next}];\n${copies.join("\n")}`;
  }
  throw new SwitchConfigError("WRONG_TYPE", to.path, "expected two header stacks");
}

function shiftStack(name: "pushFront" | "popFront"): Generator {
  return (context) => {
    const stack = parameter(context, 0);
    if (stack.kind !== "stack" && stack.kind !== "unionStack") {
      throw new SwitchConfigError("WRONG_TYPE", stack.path, "expected a header stack");
    }
    const stacks = stack.kind === "stack" ? context.scope.layout.stacks : context.scope.layout.unionStacks;
    if (!stacks.has(stack.name)) unknownName("header stack", stack.name, stack.path);
    return `${name}(p, stackShapes.get(${JSON.stringify(stack.name)}), ${smallNumber(context, 1)});`;
  };
}

function addHeader(context: Context): string {
  const header = context.expressions.header(parameter(context, 0));
  return `if (${context.expressions.validity(header)} === 0) { ${clearHeader(header, 1)} ${invalidateSiblings(header)} p.packetLength += ${header.slot.fixedBytes}; }`;
}

function removeHeader(context: Context): string {
  const header = context.expressions.header(parameter(context, 0));
  const valid = context.expressions.validity(header);
  return `if (${valid} !== 0) { p.packetLength -= ${headerBytes(header)}; ${valid} = 0; }`;
}

function drop(context: Context): string {
  const { layout } = context.scope;
  const spec = layout.targetField("standard_metadata.egress_spec");
  if (spec === undefined) unknownName("field", "standard_metadata.egress_spec", context.primitive.path);
  const group =
    layout.targetField("intrinsic_metadata.mcast_grp") ?? layout.targetField("standard_metadata.mcast_grp");
  return `u[${spec?.index}] = dropPort;${group === undefined ? "" : ` u[${group.index}] = 0;`}`;
}

/** Acts on the header that it is given: p4c passes a copy of standard_metadata where an action has it as `inout`. */
function markToDrop(context: Context): string {
  const { slot } = context.expressions.header(parameter(context, 0));
  const spec = slot.fields.find((field) => field.name === "egress_spec");
  if (spec === undefined) return unknownName("field", `${slot.name}.egress_spec`, context.primitive.path);
  const group = slot.fields.find((field) => field.name === "mcast_grp");
  return `u[${spec.index}] = dropPort;${group === undefined ? "" : ` u[${group.index}] = 0;`}`;
}

function registerRead(context: Context): string {
  const target = context.expressions.assignable(parameter(context, 0));
  const name = namedArgument(parameter(context, 1), "register_array", context.primitive.path);
  const register = context.scope.register(name, context.primitive.path);
  const store = context.expressions.storeLocal(target, `${register.cells}[i]`, register.width > widestNumber);
  return `{ const i = ${smallNumber(context, 2)}; if (i < ${register.size}) { ${store} } else faults.registerIndex++; }`;
}

function registerWrite(context: Context): string {
  const name = namedArgument(parameter(context, 0), "register_array", context.primitive.path);
  const register = context.scope.register(name, context.primitive.path);
  const store = register.width <= 32 ? "u" : register.width <= widestNumber ? "d" : "b";
  // The cell is written as if it were a field of the register's width.
  const code = context.expressions.store(
    {
      slot: {
        header: name,
        name: "cell",
        store,
        index: 0,
        width: register.width,
        signed: false,
        metadata: true,
      },
      index: "i",
    },
    parameter(context, 2),
  );
  const cell = code.replace(`${store}[i] = `, `${register.cells}[i] = `);
  return `{ const i = ${smallNumber(context, 1)}; if (i < ${register.size}) { ${cell} } else faults.registerIndex++; }`;
}

function count(context: Context): string {
  const name = namedArgument(parameter(context, 0), "counter_array", context.primitive.path);
  const counter = context.scope.counter(name, context.primitive.path);
  return `if (!${counter}.count(${smallNumber(context, 1)}, p.ingressLength)) faults.counterIndex++;`;
}

function executeMeter(context: Context): string {
  const name = namedArgument(parameter(context, 0), "meter_array", context.primitive.path);
  const meter = context.scope.meter(name, context.primitive.path);
  const target = context.expressions.assignable(parameter(context, 2));
  const store = context.expressions.storeLocal(target, "colour", false);
  return `{ const colour = ${meter}.execute(${smallNumber(context, 1)}, p.ingressLength, p.now); if (colour >= 0) { ${store} } else faults.meterIndex++; }`;
}

function hash(context: Context): string {
  const target = context.expressions.assignable(parameter(context, 0));
  const base = context.expressions.data(parameter(context, 1));
  const name = namedArgument(parameter(context, 2), "calculation", context.primitive.path);
  const size = context.expressions.data(parameter(context, 3));
  const index = context.scope.calculation(name, context.primitive.path);
  const big = yieldsBigint(context.scope.program.calculations[index]?.algorithm ?? "");
  // base + H mod max; max 0 gives base.
  if (!big && !base.big && !size.big && base.high + size.high < 1n << 53n) {
    const store = context.expressions.storeLocal(target, "x", false);
    return `{ const m = ${size.code}; const x = ${base.code} + (m === 0 ? 0 : calc${index}(p) % m); ${store} }`;
  }
  const compiler = context.expressions;
  const value = big ? `calc${index}(p)` : `BigInt(calc${index}(p))`;
  const store = compiler.storeLocal(target, "x", true);
  return `{ const m = ${asBigint(size)}; const x = ${asBigint(base)} + (m === 0n ? 0n : ${value} % m); ${store} }`;
}

function random(context: Context): string {
  const { expressions } = context;
  const target = expressions.assignable(parameter(context, 0));
  const low = expressions.data(parameter(context, 1));
  const high = expressions.data(parameter(context, 2));
  if (!low.big && !high.big && high.high < 1n << 32n) {
    const store = expressions.storeLocal(target, "x", false);
    return `{ const lo = ${low.code}, hi = ${high.code}; if (lo <= hi) { const x = randomBetween(lo, hi); ${store} } }`;
  }
  const store = expressions.storeLocal(target, "x", true);
  return `{ const lo = ${asBigint(low)}, hi = ${asBigint(high)}; if (lo <= hi) { const x = randomBetweenBig(lo, hi); ${store} } }`;
}

function clone(context: Context): string {
  return `p.clone = 32768 | (${smallNumber(context, 0)} & 32767); p.cloneFieldList = ${smallNumber(context, 1)};`;
}

function logMessage(context: Context): string {
  const format = parameter(context, 0);
  const values = parameter(context, 1);
  if (format.kind !== "text")
    throw new SwitchConfigError("WRONG_TYPE", format.path, "expected a format string");
  if (values.kind !== "vector")
    throw new SwitchConfigError("WRONG_TYPE", values.path, "expected a list of values");
  const items = values.items.map((item) => context.expressions.data(item).code);
  return `if (log !== undefined) log(formatMessage(${JSON.stringify(format.value)}, [${items.join(", ")}]));`;
}

function assertion(context: Context): string {
  const condition = context.expressions.bool(parameter(context, 0));
  return `if (!(${condition})) faults.assertion++;`;
}

/** Every primitive of simple_switch that is supported, with its number of arguments. */
const primitives: ReadonlyMap<string, PrimitiveKind> = new Map<string, PrimitiveKind>([
  ["assign", { arity: 2, generate: assign }],
  ["assign_VL", { arity: 2, generate: assign }],
  ["modify_field", { arity: 2, generate: assign }],
  ["assign_header", { arity: 2, generate: assignHeader }],
  ["copy_header", { arity: 2, generate: assignHeader }],
  ["assign_union", { arity: 2, generate: assignUnion }],
  ["assign_header_stack", { arity: 2, generate: assignStack }],
  ["assign_union_stack", { arity: 2, generate: assignStack }],
  ["push", { arity: 2, generate: shiftStack("pushFront") }],
  ["pop", { arity: 2, generate: shiftStack("popFront") }],
  ["add_header", { arity: 1, generate: addHeader }],
  ["remove_header", { arity: 1, generate: removeHeader }],
  ["add_to_field", { arity: 2, generate: inPlace("+") }],
  ["subtract_from_field", { arity: 2, generate: inPlace("-") }],
  ["add", { arity: 3, generate: binary("+") }],
  ["subtract", { arity: 3, generate: binary("-") }],
  ["bit_and", { arity: 3, generate: binary("&") }],
  ["bit_or", { arity: 3, generate: binary("|") }],
  ["bit_xor", { arity: 3, generate: binary("^") }],
  ["shift_left", { arity: 3, generate: binary("<<") }],
  ["shift_right", { arity: 3, generate: binary(">>") }],
  ["no_op", { arity: 0, generate: () => "" }],
  ["exit", { arity: 0, generate: () => "p.exit = 1;" }],
  ["drop", { arity: 0, generate: drop }],
  ["mark_to_drop", { arity: 1, generate: markToDrop }],
  ["assert", { arity: 1, generate: assertion }],
  ["assume", { arity: 1, generate: assertion }],
  ["log_msg", { arity: 2, generate: logMessage }],
  ["truncate", { arity: 1, generate: (context) => `p.truncateTo = ${smallNumber(context, 0)};` }],
  ["count", { arity: 2, generate: count }],
  ["execute_meter", { arity: 3, generate: executeMeter }],
  ["register_read", { arity: 3, generate: registerRead }],
  ["register_write", { arity: 3, generate: registerWrite }],
  ["modify_field_with_hash_based_offset", { arity: 4, generate: hash }],
  ["modify_field_rng_uniform", { arity: 3, generate: random }],
  ["generate_digest", { arity: 2, generate: (context) => `p.digest = ${smallNumber(context, 1)};` }],
  ["clone_ingress_pkt_to_egress", { arity: 2, generate: clone }],
  ["clone_egress_pkt_to_egress", { arity: 2, generate: clone }],
  ["resubmit", { arity: 1, generate: (context) => `p.resubmit = ${smallNumber(context, 0)};` }],
  ["recirculate", { arity: 1, generate: (context) => `p.recirculate = ${smallNumber(context, 0)};` }],
]);

/** Statements for one call of a primitive other than a jump. An unknown primitive is refused by name. */
export function primitiveCode(
  scope: ProgramScope,
  expressions: ExpressionCompiler,
  primitive: Primitive,
): string {
  const kind = primitives.get(primitive.op);
  if (kind === undefined) {
    throw new SwitchConfigError("UNSUPPORTED", primitive.path, `unknown primitive "${primitive.op}"`);
  }
  if (primitive.parameters.length !== kind.arity) {
    throw new SwitchConfigError(
      "BAD_VALUE",
      primitive.path,
      `"${primitive.op}" takes ${kind.arity} arguments, not ${primitive.parameters.length}`,
    );
  }
  return kind.generate({ scope, expressions, primitive }, primitive.parameters);
}

function jumpTarget(primitive: Primitive, index: number, limit: number): number {
  const target = primitive.parameters[index];
  if (target?.kind !== "constant" || target.value < 0n || target.value > BigInt(limit)) {
    throw new SwitchConfigError(
      "BAD_VALUE",
      primitive.path,
      "a jump needs a constant target within the action",
    );
  }
  return Number(target.value);
}

/** A loop in an action that jumps back more often than this is left. */
const mostJumps = 1 << 20;

class ActionCompiler {
  private readonly scope: ProgramScope;
  private readonly expressions: ExpressionCompiler;
  private readonly primitives: readonly Primitive[];

  constructor(scope: ProgramScope, expressions: ExpressionCompiler, primitives: readonly Primitive[]) {
    this.scope = scope;
    this.expressions = expressions;
    this.primitives = primitives;
  }

  body(): string {
    return this.structured(0, this.primitives.length) ?? this.dispatched();
  }

  private condition(primitive: Primitive): string {
    const condition = primitive.parameters[0];
    if (condition === undefined) {
      throw new SwitchConfigError("MISSING", primitive.path, "_jump_if_zero needs a condition and a target");
    }
    return this.expressions.bool(condition);
  }

  /** if and else as p4c writes them with forward jumps; undefined if the jumps have another shape. */
  private structured(from: number, to: number): string | undefined {
    const lines: string[] = [];
    let at = from;
    while (at < to) {
      const primitive = this.primitives[at];
      if (primitive === undefined) break;
      if (primitive.op === "_jump") return undefined;
      if (primitive.op !== "_jump_if_zero") {
        lines.push(primitiveCode(this.scope, this.expressions, primitive));
        at++;
        continue;
      }
      const target = jumpTarget(primitive, 1, this.primitives.length);
      if (target <= at || target > to) return undefined;
      const last = this.primitives[target - 1];
      let end = target;
      let thenEnd = target;
      if (last !== undefined && last.op === "_jump" && target - 1 > at) {
        end = jumpTarget(last, 0, this.primitives.length);
        if (end < target || end > to) return undefined;
        thenEnd = target - 1;
      }
      const whenTrue = this.structured(at + 1, thenEnd);
      const whenFalse = this.structured(target, end);
      if (whenTrue === undefined || whenFalse === undefined) return undefined;
      const otherwise = whenFalse === "" ? "" : ` else {\n${whenFalse}\n}`;
      lines.push(`if (${this.condition(primitive)}) {\n${whenTrue}\n}${otherwise}`);
      at = end;
    }
    return lines.join("\n");
  }

  /** Any jumps at all: a switch over the targets. */
  private dispatched(): string {
    const targets = new Set<number>([0]);
    for (const primitive of this.primitives) {
      if (primitive.op === "_jump") targets.add(jumpTarget(primitive, 0, this.primitives.length));
      if (primitive.op === "_jump_if_zero") targets.add(jumpTarget(primitive, 1, this.primitives.length));
    }
    const lines = this.primitives.map((primitive, at) => {
      const label = targets.has(at) ? `case ${at}: ` : "";
      if (primitive.op === "_jump") {
        return `${label}pc = ${jumpTarget(primitive, 0, this.primitives.length)}; continue A;`;
      }
      if (primitive.op === "_jump_if_zero") {
        const target = jumpTarget(primitive, 1, this.primitives.length);
        return `${label}if (!(${this.condition(primitive)})) { pc = ${target}; continue A; }`;
      }
      return `${label}${primitiveCode(this.scope, this.expressions, primitive)}`;
    });
    return `let pc = 0, jumps = 0;
A: for (;;) {
if (++jumps > ${mostJumps}) { faults.endlessAction++; break; }
switch (pc) {
${lines.join("\n")}
}
break;
}`;
  }
}

/** Statements for a list of primitives that may jump among each other. */
export function primitivesCode(
  scope: ProgramScope,
  expressions: ExpressionCompiler,
  primitives: readonly Primitive[],
): string {
  return new ActionCompiler(scope, expressions, primitives).body();
}

/** Source of `function actionN(p, a, o)`; `a` holds the arguments from `o` on, numbers up to 52 bits and bigints above. */
export function actionCode(scope: ProgramScope, action: Action, index: number): string {
  const expressions = scope.expressions(action.parameters.map((parameter) => parameter.width));
  const body = primitivesCode(scope, expressions, action.primitives);
  return `function action${index}(p, a, o) {\nconst u = p.u, d = p.d, b = p.b, v = p.v;\n${body}\n}`;
}

/** True if the action may end the pipeline. */
export function mayExit(action: Action): boolean {
  return action.primitives.some((primitive) => primitive.op === "exit");
}
