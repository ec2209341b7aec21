/** As much of Apache Thrift as BMv2's run-time server needs: calls in the strict binary protocol, many services on one port. */
import { connect, type Socket } from "node:net";

/** Types of values (TType). */
const stop = 0;
const bool = 2;
const byte = 3;
const double = 4;
const i16 = 6;
const i32 = 8;
const i64 = 10;
const string = 11;
const struct = 12;
const map = 13;
const set = 14;
const list = 15;

const version = 0x8001_0000;
const callType = 1;
const exceptionType = 3;

/** An argument of a call. */
export type ThriftValue =
  | { readonly type: "i32"; readonly value: number }
  | { readonly type: "i64"; readonly value: bigint }
  | { readonly type: "string"; readonly value: string };

/** What a server answers: a value, or a structure by field numbers. */
export type ThriftAnswer =
  | boolean
  | number
  | bigint
  | Buffer
  | ThriftAnswer[]
  | { readonly [field: number]: ThriftAnswer };

export class ThriftError extends Error {
  /** `connection`: no answer came. `exception`: the server said no. */
  readonly kind: "connection" | "exception";

  constructor(kind: "connection" | "exception", message: string) {
    super(message);
    this.kind = kind;
  }
}

interface Waiting {
  readonly sequence: number;
  resolve(answer: ThriftAnswer | undefined): void;
  reject(error: ThriftError): void;
}

/** Milliseconds for one call. */
const patience = 5000;
/** Bytes of one answer; more is no Thrift. */
const mostBytes = 64 << 20;

/** One connection; calls are answered in their order. */
export class ThriftConnection {
  readonly #socket: Socket;
  readonly #waiting: Waiting[] = [];
  #received = Buffer.alloc(0);
  #sequence = 0;
  #failed: ThriftError | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setTimeout(patience, () => {
      if (this.#waiting.length > 0) this.#fail(`no answer in ${patience / 1000} s`);
    });
    socket.on("data", (data) => this.#take(data));
    socket.on("error", (error) => this.#fail(error.message));
    socket.on("close", () => this.#fail("the connection was closed"));
  }

  /** @throws ThriftError `connection` */
  static open(host: string, port: number): Promise<ThriftConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port });
      const late = setTimeout(() => socket.destroy(new Error(`no answer in ${patience / 1000} s`)), patience);
      const fail = (error: Error): void => {
        clearTimeout(late);
        reject(new ThriftError("connection", error.message));
      };
      socket.once("error", fail);
      socket.once("connect", () => {
        clearTimeout(late);
        socket.off("error", fail);
        socket.setNoDelay(true);
        resolve(new ThriftConnection(socket));
      });
    });
  }

  /**
   * Calls a method with arguments 1, 2, ...
   *
   * @returns what it returns; undefined for void
   * @throws ThriftError
   */
  call(service: string, method: string, ...args: readonly ThriftValue[]): Promise<ThriftAnswer | undefined> {
    if (this.#failed !== undefined) return Promise.reject(this.#failed);
    const sequence = ++this.#sequence & 0x7fff_ffff;
    const name = Buffer.from(`${service}:${method}`);
    const head = Buffer.alloc(8);
    head.writeUInt32BE((version | callType) >>> 0, 0);
    head.writeUInt32BE(name.length, 4);
    const id = Buffer.alloc(4);
    id.writeUInt32BE(sequence, 0);
    this.#socket.write(Buffer.concat([head, name, id, ...args.map(field), Buffer.of(stop)]));
    return new Promise((resolve, reject) => this.#waiting.push({ sequence, resolve, reject }));
  }

  close(): void {
    this.#socket.destroy();
  }

  #fail(reason: string): void {
    this.#failed ??= new ThriftError("connection", reason);
    this.#socket.destroy();
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failed);
  }

  #take(data: Buffer): void {
    this.#received = Buffer.concat([this.#received, data]);
    while (this.#received.length > 0) {
      const reader = new Reader(this.#received);
      try {
        this.#answer(reader);
      } catch (error) {
        // Not all of it is here yet.
        if (error instanceof RangeError && this.#received.length < mostBytes) return;
        this.#fail("the answer is no Thrift");
        return;
      }
      this.#received = this.#received.subarray(reader.at);
    }
  }

  /** @throws RangeError when the answer is not whole */
  #answer(reader: Reader): void {
    const type = reader.u32();
    if ((type & 0xffff_0000) >>> 0 !== version) throw new TypeError("wrong version");
    reader.bytes();
    const sequence = reader.u32();
    const fields = reader.structure();
    const waiting = this.#waiting.shift();
    if (waiting === undefined || waiting.sequence !== sequence) throw new TypeError("nobody asked");
    if ((type & 0xff) === exceptionType) {
      const said = fields[1];
      waiting.reject(
        new ThriftError("exception", Buffer.isBuffer(said) ? said.toString() : "it failed without a reason"),
      );
      return;
    }
    const [declared] = Object.entries(fields).filter(([number]) => number !== "0");
    if (declared === undefined) waiting.resolve(fields[0]);
    else waiting.reject(new ThriftError("exception", `it failed with ${JSON.stringify(declared[1], plain)}`));
  }
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

function field(argument: ThriftValue, index: number): Buffer {
  const head = Buffer.alloc(3);
  head.writeInt16BE(index + 1, 1);
  switch (argument.type) {
    case "i32": {
      head[0] = i32;
      const value = Buffer.alloc(4);
      value.writeInt32BE(argument.value, 0);
      return Buffer.concat([head, value]);
    }
    case "i64": {
      head[0] = i64;
      const value = Buffer.alloc(8);
      value.writeBigInt64BE(argument.value, 0);
      return Buffer.concat([head, value]);
    }
    case "string": {
      head[0] = string;
      const text = Buffer.from(argument.value);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.length, 0);
      return Buffer.concat([head, length, text]);
    }
  }
}

/** Reads values; a RangeError says that more bytes must come. */
class Reader {
  readonly #buffer: Buffer;
  at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  #skip(bytes: number): number {
    const from = this.at;
    if (from + bytes > this.#buffer.length) throw new RangeError("more must come");
    this.at += bytes;
    return from;
  }

  u32(): number {
    return this.#buffer.readUInt32BE(this.#skip(4));
  }

  bytes(): Buffer {
    const length = this.u32();
    const from = this.#skip(length);
    return Buffer.from(this.#buffer.subarray(from, from + length));
  }

  structure(): { readonly [field: number]: ThriftAnswer } {
    const fields: { [field: number]: ThriftAnswer } = {};
    for (;;) {
      const type = this.#buffer.readUInt8(this.#skip(1));
      if (type === stop) return fields;
      const number = this.#buffer.readInt16BE(this.#skip(2));
      fields[number] = this.#value(type);
    }
  }

  #value(type: number): ThriftAnswer {
    switch (type) {
      case bool:
        return this.#buffer.readUInt8(this.#skip(1)) !== 0;
      case byte:
        return this.#buffer.readInt8(this.#skip(1));
      case double:
        return this.#buffer.readDoubleBE(this.#skip(8));
      case i16:
        return this.#buffer.readInt16BE(this.#skip(2));
      case i32:
        return this.#buffer.readInt32BE(this.#skip(4));
      case i64:
        return this.#buffer.readBigInt64BE(this.#skip(8));
      case string:
        return this.bytes();
      case struct:
        return this.structure();
      case list:
      case set: {
        const element = this.#buffer.readUInt8(this.#skip(1));
        return this.#values(this.u32(), () => this.#value(element));
      }
      case map: {
        const key = this.#buffer.readUInt8(this.#skip(1));
        const value = this.#buffer.readUInt8(this.#skip(1));
        return this.#values(this.u32(), () => [this.#value(key), this.#value(value)]);
      }
      default:
        throw new TypeError(`type ${type} is unknown`);
    }
  }

  #values(count: number, next: () => ThriftAnswer): ThriftAnswer[] {
    const values: ThriftAnswer[] = [];
    for (let i = 0; i < count; i++) values.push(next());
    return values;
  }
}
