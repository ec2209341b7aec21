import { didYouMean } from "../suggest.ts";
import { create } from "./create.ts";
import type { Field, MessageType, Properties, ScalarKind } from "./descriptor.ts";
import { defaultOf, fieldValue, NO_ELEMENTS, NO_ENTRIES } from "./descriptor.ts";
import { MessageError } from "./error.ts";
import { type Position, type Token, tokensOf } from "./text-tokens.ts";

const MAX_DEPTH = 64;

/**
 * Read a message from protobuf text format, as p4c and protoc write it: `{ }` and `< >`, `field: [a, b]`, comments, separators,
 * adjacent strings, enum values by name or number.
 *
 * @param source name of the text in error messages, such as a file name.
 * @throws MessageError with code `syntax` and the line and column.
 */
export function parseText<T extends object>(type: MessageType<T>, text: string, source = "text"): T {
  const message = new TextParser(tokensOf(text, source), source).parse(type);
  // Built field by field from the description of T, which the type checker cannot follow.
  return message as T;
}

class TextParser {
  readonly #tokens: readonly Token[];
  readonly #source: string;
  #next = 0;

  constructor(tokens: readonly Token[], source: string) {
    this.#tokens = tokens;
    this.#source = source;
  }

  parse(type: MessageType<object>): Properties {
    const message = { ...create(type) };
    this.#message(type, message, undefined, 0);
    return message;
  }

  #peek(): Token {
    return (
      this.#tokens[Math.min(this.#next, this.#tokens.length - 1)] ?? {
        kind: "end",
        at: { line: 1, column: 1 },
      }
    );
  }

  #take(): Token {
    const token = this.#peek();
    this.#next++;
    return token;
  }

  #takePunctuation(text: string): boolean {
    const token = this.#peek();
    if (token.kind !== "punctuation" || token.text !== text) return false;
    this.#next++;
    return true;
  }

  #fail(at: Position, text: string): MessageError {
    return new MessageError("syntax", this.#source, text, at);
  }

  /** Fields until `close`, or until the end of the text when there is none. */
  #message(
    type: MessageType<object>,
    message: Record<string, unknown>,
    close: string | undefined,
    depth: number,
  ): void {
    if (depth > MAX_DEPTH) throw this.#fail(this.#peek().at, `nested deeper than ${MAX_DEPTH} messages`);
    for (;;) {
      const token = this.#peek();
      if (token.kind === "end") {
        if (close === undefined) return;
        throw this.#fail(token.at, `the text ends inside ${type.typeName}: "${close}" is missing`);
      }
      if (close !== undefined && this.#takePunctuation(close)) return;
      this.#field(type, message, depth);
      if (!this.#takePunctuation(",")) this.#takePunctuation(";");
    }
  }

  #field(type: MessageType<object>, message: Record<string, unknown>, depth: number): void {
    const token = this.#take();
    if (token.kind !== "name")
      throw this.#fail(token.at, `expected a field of ${type.typeName}, found ${shown(token)}`);
    const field = type.fields.find((candidate) => candidate.protoName === token.text);
    if (field === undefined) {
      const names = type.fields.map((candidate) => candidate.protoName);
      throw this.#fail(
        token.at,
        `${type.typeName} has no field ${token.text}${didYouMean(token.text, names)}`,
      );
    }
    const hasColon = this.#takePunctuation(":");
    if (!hasColon && field.type.kind !== "message")
      throw this.#fail(this.#peek().at, `expected ":" after ${token.text}, found ${shown(this.#peek())}`);
    if (field.cardinality !== "single" && this.#takePunctuation("[")) {
      if (this.#takePunctuation("]")) return;
      do this.#store(field, message, token.at, depth);
      while (this.#takePunctuation(","));
      if (!this.#takePunctuation("]"))
        throw this.#fail(this.#peek().at, `expected "," or "]", found ${shown(this.#peek())}`);
      return;
    }
    this.#store(field, message, token.at, depth);
  }

  #store(field: Field, message: Record<string, unknown>, at: Position, depth: number): void {
    if (field.cardinality === "map") {
      const [key, value] = this.#mapEntry(field, depth);
      const before = message[field.name];
      const entries = before === NO_ENTRIES ? {} : before;
      message[field.name] = entries;
      // A plain assignment would take the key "__proto__" for the prototype.
      Object.defineProperty(entries, key, { value, enumerable: true, configurable: true, writable: true });
      return;
    }
    if (field.cardinality === "repeated") {
      const elements = message[field.name];
      const value = this.#value(field, depth);
      if (Array.isArray(elements) && elements !== NO_ELEMENTS) elements.push(value);
      else message[field.name] = [value];
      return;
    }
    if (field.oneof !== undefined) {
      const before = message[field.oneof];
      if (before !== undefined)
        throw this.#fail(at, `${field.protoName} is set, but its oneof ${field.oneof} has a value already`);
      message[field.oneof] = { case: field.name, value: this.#value(field, depth) };
      return;
    }
    if (field.type.kind === "message" && fieldValue(message, field) !== undefined)
      throw this.#fail(at, `${field.protoName} is set twice`);
    message[field.name] = this.#value(field, depth);
  }

  #open(field: Field): string {
    const token = this.#take();
    if (token.kind === "punctuation" && token.text === "{") return "}";
    if (token.kind === "punctuation" && token.text === "<") return ">";
    throw this.#fail(token.at, `expected "{" after ${field.protoName}, found ${shown(token)}`);
  }

  #mapEntry(field: Field, depth: number): readonly [key: string, value: unknown] {
    const close = this.#open(field);
    let key = "";
    let value: unknown;
    while (!this.#takePunctuation(close)) {
      const token = this.#take();
      if (token.kind !== "name" || (token.text !== "key" && token.text !== "value"))
        throw this.#fail(token.at, `expected key or value in ${field.protoName}, found ${shown(token)}`);
      this.#takePunctuation(":");
      if (token.text === "key") key = this.#string();
      else value = this.#value(field, depth + 1);
      if (!this.#takePunctuation(",")) this.#takePunctuation(";");
    }
    return [key, value ?? (field.type.kind === "message" ? create(field.type.message) : defaultOf(field))];
  }

  #value(field: Field, depth: number): unknown {
    const kind = field.type;
    switch (kind.kind) {
      case "message": {
        const close = this.#open(field);
        const message = { ...create(kind.message) };
        this.#message(kind.message, message, close, depth + 1);
        return message;
      }
      case "enum": {
        const token = this.#peek();
        if (token.kind !== "name") {
          const number = this.#integer(-0x8000_0000n, 0x7fff_ffffn, field.protoName);
          return kind.enum.nameOf(Number(number)) ?? Number(number);
        }
        this.#next++;
        if (kind.enum.numberOf(token.text) === undefined)
          throw this.#fail(
            token.at,
            `${kind.enum.typeName} has no value ${token.text}${didYouMean(token.text, kind.enum.names())}`,
          );
        return token.text;
      }
      case "scalar":
        return this.#scalar(kind.scalar, field.protoName);
    }
  }

  #scalar(scalar: ScalarKind, name: string): unknown {
    switch (scalar) {
      case "int32":
        return Number(this.#integer(-0x8000_0000n, 0x7fff_ffffn, name));
      case "uint32":
        return Number(this.#integer(0n, 0xffff_ffffn, name));
      case "int64":
        return this.#integer(-(1n << 63n), (1n << 63n) - 1n, name);
      case "uint64":
        return this.#integer(0n, (1n << 64n) - 1n, name);
      case "bool": {
        const token = this.#take();
        const text = token.kind === "name" || token.kind === "number" ? token.text : "";
        if (["true", "True", "t", "1"].includes(text)) return true;
        if (["false", "False", "f", "0"].includes(text)) return false;
        throw this.#fail(token.at, `expected true or false for ${name}, found ${shown(token)}`);
      }
      case "string":
        return this.#string();
      case "bytes":
        return this.#bytes();
    }
  }

  #integer(low: bigint, high: bigint, name: string): bigint {
    const at = this.#peek().at;
    const isNegative = this.#takePunctuation("-");
    const token = this.#take();
    const text = token.kind === "number" ? token.text : "";
    if (!/^(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/.test(text))
      throw this.#fail(token.at, `expected an integer for ${name}, found ${shown(token)}`);
    const magnitude = BigInt(/^0[0-7]+$/.test(text) ? `0o${text.slice(1)}` : text);
    const value = isNegative ? -magnitude : magnitude;
    if (value < low || value > high)
      throw this.#fail(at, `${value} is too large for ${name}: it goes from ${low} to ${high}`);
    return value;
  }

  #string(): string {
    const at = this.#peek().at;
    const bytes = this.#bytes();
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw this.#fail(at, "a string is not valid UTF-8");
    }
  }

  /** One string or several in a row, which count as one. */
  #bytes(): Uint8Array {
    const first = this.#take();
    if (first.kind !== "string")
      throw this.#fail(first.at, `expected a quoted string, found ${shown(first)}`);
    const parts = [first.bytes];
    for (let token = this.#peek(); token.kind === "string"; token = this.#peek()) {
      parts.push(token.bytes);
      this.#next++;
    }
    if (parts.length === 1) return first.bytes;
    return Uint8Array.from(parts.flatMap((part) => [...part]));
  }
}

function shown(token: Token): string {
  if (token.kind === "end") return "the end of the text";
  return token.kind === "string" ? "a string" : `"${token.text}"`;
}
