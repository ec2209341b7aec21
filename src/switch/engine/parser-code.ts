import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { Expression, ExtractTarget, Parser, ParseState, Transition } from "../bmv2json/program.ts";
import { primitiveCode } from "./action-code.ts";
import { bitsOf, headerParts, readBits } from "./bits-code.ts";
import { checksumVerification } from "./checksum-code.ts";
import type { HeaderCode } from "./data-code.ts";
import type { ExpressionCompiler } from "./expression-code.ts";
import { invalidateSiblings } from "./header-code.ts";
import { type FieldSlot, unknownName, widestNumber } from "./layout.ts";
import type { CoreError, ProgramScope } from "./program-scope.ts";

/** A parser that visits more states than this for one packet is stopped with ParserTimeout. */
const mostStates = 65536;

const noStride = { u: 0, d: 0, b: 0, v: 0 };

class ParserCompiler {
  private readonly scope: ProgramScope;
  private readonly parser: Parser;
  private readonly expressions: ExpressionCompiler;
  private readonly stateIndex: ReadonlyMap<string, number>;

  constructor(scope: ProgramScope, parser: Parser) {
    this.scope = scope;
    this.parser = parser;
    this.expressions = scope.expressions();
    this.stateIndex = new Map(parser.states.map((state, index) => [state.name, index]));
  }

  private goto(next: string | null, path: string): string {
    if (next === null) return "break L;";
    const index = this.stateIndex.get(next);
    return index === undefined ? unknownName("parse state", next, path) : `s = ${index}; continue L;`;
  }

  private fail(error: CoreError): string {
    return `{ e = ${this.scope.errorCode(error)}; break L; }`;
  }

  private hasCycle(): boolean {
    const marks = new Map<string, "open" | "done">();
    const byName = new Map(this.parser.states.map((state) => [state.name, state]));
    const visit = (name: string): boolean => {
      const mark = marks.get(name);
      if (mark !== undefined) return mark === "open";
      marks.set(name, "open");
      for (const transition of byName.get(name)?.transitions ?? []) {
        if (transition.next !== null && visit(transition.next)) return true;
      }
      marks.set(name, "done");
      return false;
    };
    return this.parser.states.some((state) => visit(state.name));
  }

  generate(): string {
    const { scope, parser } = this;
    const cases = parser.states.map((state, index) => `case ${index}: {\n${this.state(state)}\n}`);
    const start = parser.initState === null ? undefined : this.stateIndex.get(parser.initState);
    if (parser.initState !== null && start === undefined)
      unknownName("parse state", parser.initState, parser.path);
    const guard = this.hasCycle() ? `if (++n > ${mostStates}) ${this.fail("ParserTimeout")}` : "";
    const loop =
      start === undefined
        ? ""
        : `let s = ${start}, n = 0;\nL: for (;;) { ${guard} switch (s) {\n${cases.join("\n")}\ndefault: break L;\n} }`;
    const parserError = scope.layout.targetField("standard_metadata.parser_error");
    const checksumError = scope.layout.targetField("standard_metadata.checksum_error");
    return `function parse(p) {
const u = p.u, d = p.d, b = p.b, v = p.v, buf = p.bytes, len = p.length;
let o = 0, e = ${scope.errorCode("NoError")};
${loop}
p.offset = o;
p.parserError = e;
p.checksumError = 0;
${checksumVerification(scope)}
${parserError === undefined ? "" : `u[${parserError.index}] = e;`}
${checksumError === undefined ? "" : `u[${checksumError.index}] = p.checksumError;`}
${scope.tracing ? "if (e !== 0) trace({ kind: 'parserError', error: errorName(e) });" : ""}
}`;
  }

  private state(state: ParseState): string {
    const lines = this.scope.tracing
      ? [`trace({ kind: "parserState", name: ${JSON.stringify(state.name)} });`]
      : [];
    for (const op of state.ops) {
      switch (op.kind) {
        case "extract":
          lines.push(this.extract(op.target, op.length, op.path));
          break;
        case "set":
          lines.push(this.set(op.destination, op.source));
          break;
        case "verify":
          lines.push(
            `if (!(${this.expressions.bool(op.condition)})) { e = ${this.expressions.index(op.error)}; break L; }`,
          );
          break;
        case "advance":
          lines.push(this.advance(op.bits));
          break;
        case "primitive":
          lines.push(primitiveCode(this.scope, this.expressions, op.primitive));
          break;
      }
    }
    lines.push(this.transitions(state));
    return lines.join("\n");
  }

  // ---------------------------------------------------------------- extract

  private extract(target: ExtractTarget, length: Expression | undefined, path: string): string {
    const { layout } = this.scope;
    switch (target.kind) {
      case "regular": {
        const slot = layout.header(target.header, path);
        return this.extractHeader(
          { kind: "header", slot, element: undefined, stride: noStride },
          length,
          path,
        );
      }
      case "stack": {
        const stack = this.expressions.stack(target.stack, path);
        const slot = stack.elements[0];
        if (slot === undefined) return this.fail("StackOutOfBounds");
        const header: HeaderCode = { kind: "header", slot, element: "i", stride: stack.stride };
        return `{ const i = u[${stack.next}];
if (i >= ${stack.depth}) ${this.fail("StackOutOfBounds")}
${this.extractHeader(header, length, path)}
u[${stack.next}] = i + 1; }`;
      }
      case "unionStack": {
        const stack =
          layout.unionStacks.get(target.stack) ?? unknownName("header union stack", target.stack, path);
        const first = stack.elements[0];
        if (first === undefined) return this.fail("StackOutOfBounds");
        const slot =
          first.members[first.memberNames.indexOf(target.member)] ??
          unknownName("union member", target.member, path);
        const header: HeaderCode = { kind: "header", slot, element: "i", stride: stack.stride };
        return `{ const i = u[${stack.next}];
if (i >= ${stack.depth}) ${this.fail("StackOutOfBounds")}
${this.extractHeader(header, length, path)}
u[${stack.next}] = i + 1; }`;
      }
    }
  }

  private cell(header: HeaderCode, field: FieldSlot): string {
    return `${field.store}[${this.expressions.slotIndex(header, field.store, field.index)}]`;
  }

  private readFields(header: HeaderCode, fields: readonly FieldSlot[], base: string): string[] {
    let at = 0;
    return fields.map((field) => {
      const code = `${this.cell(header, field)} = ${readBits(base, at, field.width)};`;
      at += field.width;
      return code;
    });
  }

  private extractHeader(header: HeaderCode, length: Expression | undefined, path: string): string {
    const { slot } = header;
    const parts = headerParts(slot);
    const lines: string[] = [];
    if (parts.varbit === undefined) {
      lines.push(`if (o + ${slot.fixedBytes} > len) ${this.fail("PacketTooShort")}`);
      lines.push(...this.readFields(header, parts.before, "o"));
      lines.push(`o += ${slot.fixedBytes};`);
    } else {
      if (length === undefined) {
        throw new SwitchConfigError(
          "MISSING",
          path,
          `${slot.name} has a varbit: extract_VL with a length is needed`,
        );
      }
      const before = bitsOf(parts.before);
      if (before % 8 !== 0) {
        throw new SwitchConfigError(
          "UNSUPPORTED",
          path,
          `the varbit of ${slot.name} must start at a byte boundary`,
        );
      }
      const bits = this.expressions.data(length);
      lines.push(
        `{ const bits = ${bits.big ? `Number(${bits.code})` : bits.code};`,
        `if (bits % 8 !== 0 || bits < 0) ${this.fail("ParserInvalidArgument")}`,
        `const n = bits / 8;`,
        `if (o + ${slot.fixedBytes} + n > len) ${this.fail("PacketTooShort")}`,
      );
      if (slot.type.maxLength > 0) {
        lines.push(`if (${slot.fixedBytes} + n > ${slot.type.maxLength}) ${this.fail("HeaderTooShort")}`);
      }
      lines.push(
        ...this.readFields(header, parts.before, "o"),
        `o += ${before / 8};`,
        `${this.cell(header, parts.varbit)} = buf.slice(o, o + n);`,
        "o += n;",
        ...this.readFields(header, parts.after, "o"),
        `o += ${bitsOf(parts.after) / 8}; }`,
      );
    }
    lines.push(`${this.expressions.validity(header)} = 1;`, invalidateSiblings(header));
    return lines.join("\n");
  }

  // ---------------------------------------------------------------- set, advance

  private set(destination: Expression, source: Expression): string {
    const place = this.expressions.assignable(destination);
    if (source.kind !== "lookahead") return this.expressions.store(place, source);
    const end = Math.ceil((source.offset + source.width) / 8);
    const bits = readBits("o", source.offset, source.width);
    return `if (o + ${end} > len) ${this.fail("PacketTooShort")}
{ const x = ${bits}; ${this.expressions.storeLocal(place, "x", source.width > widestNumber)} }`;
  }

  private advance(bits: Expression): string {
    if (bits.kind === "constant" && bits.value >= 0n && bits.value % 8n === 0n) {
      return `if (o + ${bits.value / 8n} > len) ${this.fail("PacketTooShort")}\no += ${bits.value / 8n};`;
    }
    const code = this.expressions.data(bits);
    return `{ const bits = ${code.big ? `Number(${code.code})` : code.code};
if (bits % 8 !== 0 || bits < 0) ${this.fail("ParserInvalidArgument")}
if (o + bits / 8 > len) ${this.fail("PacketTooShort")}
o += bits / 8; }`;
  }

  // ---------------------------------------------------------------- transitions

  private transitions(state: ParseState): string {
    const fallback = state.transitions.find((transition) => transition.kind === "default");
    // No transition matches and no default: BMv2 accepts. p4c always writes a default, which may lead to a state that
    // raises NoMatch.
    const otherwise = this.goto(fallback?.next ?? null, state.path);
    const choices = state.transitions.filter((transition) => transition.kind !== "default");
    if (state.key.length === 0 || choices.length === 0) return otherwise;

    const widths: number[] = [];
    const lines: string[] = [];
    let lookaheadEnd = 0;
    for (const key of state.key) {
      if (key.kind === "lookahead")
        lookaheadEnd = Math.max(lookaheadEnd, Math.ceil((key.offset + key.width) / 8));
    }
    if (lookaheadEnd > 0) lines.push(`if (o + ${lookaheadEnd} > len) ${this.fail("PacketTooShort")}`);
    state.key.forEach((key, i) => {
      if (key.kind === "lookahead") {
        widths.push(key.width);
        const code = readBits("o", key.offset, key.width);
        lines.push(`const k${i} = ${key.width <= 32 ? `(${code} >>> 0)` : code};`);
        return;
      }
      const { slot, cell } = this.keyField(key);
      widths.push(slot.width);
      lines.push(`const k${i} = ${cell};`);
    });
    for (const transition of choices) {
      const condition = this.transitionCondition(transition, widths);
      lines.push(`if (${condition}) { ${this.goto(transition.next, state.path)} }`);
    }
    lines.push(otherwise);
    return lines.join("\n");
  }

  /** The bits of a select key, as unsigned. */
  private keyField(key: Expression): { readonly slot: FieldSlot; readonly cell: string } {
    if (key.kind === "unionStackField") {
      const code = this.expressions.data(key);
      const stack = this.scope.layout.unionStacks.get(key.stack);
      const member = stack?.overflow.members[stack.overflow.memberNames.indexOf(key.member)];
      const slot = member?.fields.find((field) => field.name === key.field);
      if (slot === undefined)
        return unknownName("field", `${key.stack}.${key.member}.${key.field}`, key.path);
      return { slot, cell: code.code };
    }
    const place = this.expressions.assignable(key);
    return { slot: place.slot, cell: `${place.slot.store}[${place.index}]` };
  }

  private transitionCondition(
    transition: Exclude<Transition, { kind: "default" }>,
    widths: readonly number[],
  ): string {
    if (transition.kind === "valueSet") {
      const set = this.scope.valueSet(transition.valueSet, transition.path);
      const total = widths.reduce((sum, width) => sum + width, 0);
      if (total !== set.width) {
        throw new SwitchConfigError(
          "BAD_VALUE",
          transition.path,
          `the key has ${total} bits, value set "${transition.valueSet}" has ${set.width}`,
        );
      }
      // The key as one bigint would be slow on each packet; an empty set is the common case and is asked first.
      const parts: string[] = [];
      let remaining = total;
      widths.forEach((width, i) => {
        remaining -= width;
        parts.push(`BigInt(k${i}) << ${remaining}n`);
      });
      const mask = transition.mask === null ? "undefined" : `${transition.mask}n`;
      return `${set.code}.size !== 0 && ${set.code}.contains(${parts.join(" | ")}, ${mask})`;
    }
    const conditions: string[] = [];
    // Values are written as byte-padded fields, one after the other.
    let shift = BigInt(widths.reduce((bytes, width) => bytes + Math.ceil(width / 8), 0)) * 8n;
    if (BigInt.asUintN(Number(shift), transition.value) !== transition.value) {
      throw new SwitchConfigError(
        "BAD_VALUE",
        transition.path,
        "the value is wider than the state's transition key",
      );
    }
    widths.forEach((width, i) => {
      shift -= BigInt(Math.ceil(width / 8)) * 8n;
      const full = (1n << BigInt(width)) - 1n;
      const mask = transition.mask === null ? full : (transition.mask >> shift) & full;
      const padded = (transition.value >> shift) & ((1n << BigInt(Math.ceil(width / 8) * 8)) - 1n);
      const value = padded & (transition.mask === null ? padded : mask);
      if (value > full) conditions.push("false");
      else if (mask === 0n) return;
      else if (mask === full) conditions.push(`k${i} === ${value}${width > widestNumber ? "n" : ""}`);
      else if (width <= 32) conditions.push(`((k${i} & ${BigInt.asIntN(32, mask)}) >>> 0) === ${value}`);
      else if (width <= widestNumber) conditions.push(`and53(k${i}, ${mask}) === ${value}`);
      else conditions.push(`(k${i} & ${mask}n) === ${value}n`);
    });
    return conditions.length === 0 ? "true" : conditions.join(" && ");
  }
}

/** Source of `function parse(p)`: fills the headers, sets offset, parserError and checksumError. */
export function parserCode(scope: ProgramScope, parser: Parser): string {
  return new ParserCompiler(scope, parser).generate();
}
