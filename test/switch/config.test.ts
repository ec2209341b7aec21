import { describe, expect, it } from "vitest";
import { readProgram, Switch, SwitchConfigError } from "../../src/switch/index.ts";
import {
  assign,
  bytes,
  call,
  extract,
  field,
  header,
  hex,
  type Json,
  otherwise,
  program,
  runtimeData,
  text,
} from "./fixtures/builder.ts";

function errorOf(action: () => unknown): {
  readonly code: string;
  readonly path: string;
  readonly message: string;
} {
  try {
    action();
  } catch (error) {
    if (error instanceof SwitchConfigError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const withBody = (body: readonly Json[]) =>
  program({
    types: { h_t: [["a", 128]] },
    headers: { h: "h_t" },
    parser: { start: { ops: [extract("h")] } },
    ingressBody: body,
  });

describe("numbers in the JSON", () => {
  const load = (value: string) =>
    new Switch(withBody([call("assign", field("h.a"), { type: "hexstr", value })]));
  const result = (value: string) => text(load(value).inject(1, bytes("00".repeat(16)))[0]?.data);

  it("are exact to any width", () => {
    expect(result(`0x${"f".repeat(32)}`)).toBe("f".repeat(32));
    expect(result("0x0123456789abcdef0123456789abcdef")).toBe("0123456789abcdef0123456789abcdef");
    expect(result("0xffffffffffff")).toBe("ffffffffffff".padStart(32, "0"));
  });

  it("may be negative and are cut to the field", () => {
    expect(result("-0x1")).toBe("f".repeat(32));
  });

  it("need at least one digit", () => {
    expect(errorOf(() => load("0x"))).toMatchObject({
      code: "BAD_VALUE",
      path: "actions[1].primitives[0].parameters[1].value",
    });
    expect(errorOf(() => load("12z")).code).toBe("BAD_VALUE");
  });

  it("that JSON.parse would round are refused with their line", () => {
    const source = JSON.stringify(withBody([])).replace('"max_size":1024', '"max_size":4611686018427387905');
    expect(errorOf(() => readProgram(source))).toMatchObject({ code: "INEXACT_INTEGER" });
    expect(errorOf(() => readProgram(source)).message).toContain("4611686018427387905");
    expect(errorOf(() => readProgram(JSON.parse(source))).code).toBe("INEXACT_INTEGER");
  });

  it("of any length are fine within texts", () => {
    const source = JSON.stringify({
      ...withBody([]),
      program: 'p 4611686018427387905 \\" 4611686018427387905',
    });
    expect(readProgram(source).actions).toHaveLength(2);
  });

  it("of action parameters keep 9 bits: 0x1ff is port 511", () => {
    const json = program({
      types: { h_t: [["a", 16]] },
      headers: { h: "h_t" },
      parser: { start: { ops: [extract("h")] } },
      actions: { set: { parameters: [["p", 9]], primitives: [assign("h.a", runtimeData(0))] } },
      ingress: {
        init: "t",
        tables: { t: { actions: ["set"], default: { action: "set", data: ["0x1ff"] } } },
      },
    });
    expect(text(new Switch(json).inject(1, bytes("0000"))[0]?.data)).toBe("01ff");
  });
});

describe("a program that can't run is refused when it is loaded", () => {
  it("names an unknown primitive", () => {
    expect(errorOf(() => new Switch(withBody([call("teleport", header("h"))])))).toMatchObject({
      code: "UNSUPPORTED",
      path: "actions[1].primitives[0]",
      message: 'actions[1].primitives[0]: unknown primitive "teleport"',
    });
  });

  it("names an unknown field, header, action, parse state and table", () => {
    expect(errorOf(() => new Switch(withBody([assign("h.none", hex(1))]))).message).toContain(
      'no field "h.none"',
    );
    expect(errorOf(() => new Switch(withBody([call("add_header", header("none"))]))).message).toContain(
      'no header "none"',
    );
    expect(
      errorOf(() => new Switch(program({ parser: { start: { transitions: [otherwise("none")] } } }))).message,
    ).toContain('no parse state "none"');
    expect(errorOf(() => new Switch(program({ ingress: { init: "none" } }))).message).toContain('"none"');
  });

  it("tells a wrong number of arguments, an unknown operator and an unknown algorithm", () => {
    expect(errorOf(() => new Switch(withBody([call("assign", field("h.a"))]))).message).toContain(
      "takes 2 arguments",
    );
    const odd: Json = { type: "expression", value: { op: "**", left: hex(1), right: hex(2) } };
    expect(errorOf(() => new Switch(withBody([assign("h.a", odd)]))).message).toContain(
      'unknown operator "**"',
    );
    const json = program({ extra: { calculations: [{ name: "c", id: 0, algo: "md5", input: [] }] } });
    expect(errorOf(() => new Switch(json)).message).toContain('"md5"');
  });

  it("tells what is missing, and where", () => {
    expect(errorOf(() => new Switch("{"))).toMatchObject({ code: "JSON_SYNTAX" });
    expect(errorOf(() => new Switch("{}"))).toMatchObject({ code: "MISSING" });
  });

  it("refuses a control flow that comes back to itself", () => {
    const json = program({
      ingress: {
        init: "t1",
        tables: { t1: { actions: ["NoAction"], next: "t2" }, t2: { actions: ["NoAction"], next: "t1" } },
      },
    });
    expect(errorOf(() => new Switch(json)).message).toContain('comes back to "t1"');
  });
});

describe("names from the JSON", () => {
  it("never become code", () => {
    const json = program({
      types: { "h_t`+process.exit()+`": [['a"]; throw 1; //', 8]] },
      headers: { "h\n}throw 1;": "h_t`+process.exit()+`" },
      parser: { 'start"; throw 1; "': { ops: [extract("h\n}throw 1;")] } },
      actions: { 'a"); throw 1; //': { primitives: [assign('h\n}throw 1;.a"]; throw 1; //', hex(1))] } },
      ingress: {
        init: "t\n throw 1",
        tables: { "t\n throw 1": { actions: ['a"); throw 1; //'], default: { action: 'a"); throw 1; //' } } },
      },
    });
    const sw = new Switch(json);
    expect(text(sw.inject(1, bytes("00"))[0]?.data)).toBe("01");
    expect(sw.explain(1, bytes("00")).actions).toHaveLength(1);
  });
});
