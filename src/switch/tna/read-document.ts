import type { JsonCursor } from "../bmv2json/cursor.ts";
import { openDocument, type Bmv2JsonSource as Source } from "../bmv2json/document.ts";
import type {
  Action,
  ActionCall,
  Block,
  Body,
  CellStatement,
  Control,
  Gress,
  GressSection,
  Member,
  ParserState,
  ParserStep,
  StatefulProgram,
  Statement,
  Step,
  Table,
  TnaDocument,
  Unit,
} from "./document.ts";
import { matchKinds } from "./document.ts";
import { oneOf, readExpression, readKeySet, readTarget, readType } from "./read-expression.ts";

const FORMAT = "gradplane.tna";
const VERSION = 1;
/** Largest register, counter or meter array that is allocated. */
const maxArraySize = 1 << 26;

/** Reads a lowered Tofino program. Throws SwitchConfigError with the path of what is wrong. */
export function readTnaDocument(source: Source): TnaDocument {
  const root = openDocument(source);
  const format = root.optional("format");
  if (format?.isString !== true || format.string() !== FORMAT)
    root.refuse(
      `no program for the tna personality: "format" is not "${FORMAT}" (the file is tna/NAME.json of gradplane build --target tna)`,
    );
  const version = root.get("version").integer();
  if (version !== VERSION)
    root.get("version").unsupported(`version ${version} of the form; only version ${VERSION} is supported`);
  const bridge = root.optional("bridge")?.string();
  return {
    program: root.get("program").string(),
    headerTypes: root.list("headerTypes").map((t) => ({
      name: t.get("name").string(),
      fields: members(t.get("fields")),
      path: t.path,
    })),
    headers: root.list("headers").map((h) => {
      const elements = h.optional("elements")?.naturalNumber();
      return {
        name: h.get("name").string(),
        headerType: h.get("headerType").string(),
        ...(elements === undefined ? {} : { elements }),
        path: h.path,
      };
    }),
    metadata: members(root.get("metadata")),
    ...(bridge === undefined ? {} : { bridge }),
    valueSets: root.list("valueSets").map((v) => ({
      name: v.get("name").string(),
      fields: members(v.get("fields")),
      size: v.get("size").naturalNumber(),
    })),
    queues: root.list("queues").map((q) => {
      const [priority, keepRed] = [q.optional("priority"), q.optional("keepRed")];
      return {
        number: q.get("number").naturalNumber(),
        ...(priority === undefined ? {} : { priority: priority.naturalNumber() }),
        ...(keepRed === undefined ? {} : { keepRed: keepRed.naturalNumber() }),
      };
    }),
    mirrors: root.list("mirrors").map((m) => ({
      gress: oneOf<Gress>(m.get("gress"), ["ingress", "egress"]),
      number: kindNumber(m.get("number")),
      session: readExpression(m.get("session")),
      headerType: m.get("headerType").string(),
      values: m.list("values").map(readExpression),
      maxLength: m.optional("maxLength")?.naturalNumber() ?? 0,
      path: m.path,
    })),
    resubmits: root.list("resubmits").map((r) => ({
      number: kindNumber(r.get("number")),
      headerType: r.get("headerType").string(),
      values: r.list("values").map(readExpression),
      path: r.path,
    })),
    digests: root.list("digests").map((d) => ({
      name: d.get("name").string(),
      number: kindNumber(d.get("number")),
      values: d.list("values").map(readExpression),
      path: d.path,
    })),
    ingress: gressSection(root.get("ingress"), "ingress"),
    egress: gressSection(root.get("egress"), "egress"),
  };
}

/** Deparsers tell their mirrors, resubmits and digests apart by three bits, of which 0 says that there is none. */
function kindNumber(cursor: JsonCursor): number {
  const number = cursor.naturalNumber();
  return number >= 1 && number <= 7 ? number : cursor.refuse(`${number} is not from 1 to 7`);
}

function members(cursor: JsonCursor): readonly Member[] {
  return cursor.elements().map((m) => ({ name: m.get("name").string(), type: readType(m.get("type")) }));
}

function gressSection(cursor: JsonCursor, gress: Gress): GressSection {
  const deparser = cursor.get("deparser");
  return {
    gress,
    parser: cursor.get("parser").elements().map(state),
    controls: cursor.list("controls").map(control),
    ...body(cursor),
    checksums: deparser.list("checksums").map((c) => {
      const given = c.optional("given");
      return {
        target: readTarget(c.get("target")),
        fields: c.list("fields").map(readExpression),
        ...(given === undefined ? {} : { given: readExpression(given) }),
        path: c.path,
      };
    }),
    emits: deparser.list("emits").map((h) => h.string()),
    path: cursor.path,
  };
}

function body(cursor: JsonCursor): Body {
  return {
    instances: new Map(
      cursor.list("instances").map((i) => [i.get("name").string(), i.get("control").string()]),
    ),
    actions: cursor.list("actions").map(action),
    block: block(cursor.get("block")),
  };
}

function state(cursor: JsonCursor): ParserState {
  const transition = cursor.get("transition");
  return {
    name: cursor.get("name").string(),
    steps: cursor.list("steps").map(parserStep),
    keys: transition.list("keys").map(readExpression),
    cases: transition.list("cases").map((c) => {
      const valueSet = c.optional("valueSet")?.string();
      return {
        values: c.list("values").map(readKeySet),
        ...(valueSet === undefined ? {} : { valueSet }),
        next: c.get("next").string(),
        path: c.path,
      };
    }),
    next: transition.get("next").string(),
    path: cursor.path,
  };
}

function parserStep(cursor: JsonCursor): ParserStep {
  const kind = cursor.get("kind").string();
  const { path } = cursor;
  switch (kind) {
    case "intrinsicMetadata":
    case "portData":
    case "clearMetadata":
      return { kind };
    case "startHeader":
    case "extract":
      return { kind, header: cursor.get("header").string(), path };
    case "advance":
      return { kind, bits: readExpression(cursor.get("bits")), path };
    case "set":
      return {
        kind,
        target: readTarget(cursor.get("target")),
        value: readExpression(cursor.get("value")),
        path,
      };
    case "subtract": {
      const rest = cursor.optional("rest");
      return {
        kind,
        checksum: cursor.get("checksum").string(),
        fields: cursor.list("fields").map(readExpression),
        ...(rest === undefined ? {} : { rest: readTarget(rest) }),
        path,
      };
    }
    case "verify":
      return { kind, header: cursor.get("header").string(), failed: readTarget(cursor.get("failed")), path };
    default:
      return cursor.get("kind").refuse(`"${kind}" is no step of a parser`);
  }
}

function control(cursor: JsonCursor): Control {
  const named = (c: JsonCursor) => ({ name: c.get("name").string(), local: c.get("local").string() });
  const unit = (c: JsonCursor) => oneOf(c.get("unit"), ["packets", "bytes"]);
  return {
    name: cursor.get("name").string(),
    registers: cursor.list("registers").map((r) => ({
      ...named(r),
      type: readType(r.get("type")),
      size: size(r.get("size")),
      path: r.path,
    })),
    counters: cursor.list("counters").map((c) => ({ ...named(c), size: size(c.get("size")) })),
    directCounters: cursor.list("directCounters").map(named),
    meters: cursor.list("meters").map((m) => ({ ...named(m), size: size(m.get("size")), unit: unit(m) })),
    directMeters: cursor.list("directMeters").map((m) => ({ ...named(m), unit: unit(m) })),
    actionProfiles: cursor.list("actionProfiles").map((p) => {
      const selector = p.optional("selector");
      return {
        name: p.get("name").string(),
        size: size(p.get("size")),
        ...(selector === undefined
          ? {}
          : {
              selector: {
                algorithm: selector.get("algorithm").string(),
                keys: selector.list("keys").map(readExpression),
              },
            }),
        path: p.path,
      };
    }),
    tables: cursor.list("tables").map(table),
    ...body(cursor),
    path: cursor.path,
  };
}

function size(cursor: JsonCursor): number {
  const cells = cursor.naturalNumber();
  return cells <= maxArraySize
    ? cells
    : cursor.refuse(`${cells} are more than the ${maxArraySize} supported`);
}

function table(cursor: JsonCursor): Table {
  const entries = cursor.optional("entries");
  const optional = (name: "directCounter" | "directMeter" | "implementation") => {
    const text = cursor.optional(name)?.string();
    return text === undefined ? {} : { [name]: text };
  };
  const fallback = cursor.get("defaultAction");
  return {
    name: cursor.get("name").string(),
    local: cursor.get("local").string(),
    key: cursor.list("key").map((k) => ({
      name: k.get("name").string(),
      match: oneOf(k.get("match"), matchKinds),
      expression: readExpression(k.get("expression")),
    })),
    actions: cursor.list("actions").map((a) => ({
      name: a.get("name").string(),
      defaultOnly: a.optional("defaultOnly")?.boolean() ?? false,
    })),
    size: size(cursor.get("size")),
    defaultAction: { ...actionCall(fallback), constant: fallback.optional("constant")?.boolean() ?? false },
    ...(entries === undefined
      ? {}
      : {
          entries: entries.elements().map((e) => ({
            keys: e.list("keys").map(readKeySet),
            ...actionCall(e),
            path: e.path,
          })),
        }),
    ...optional("directCounter"),
    ...optional("directMeter"),
    ...optional("implementation"),
    path: cursor.path,
  };
}

function actionCall(cursor: JsonCursor): ActionCall {
  return {
    action: cursor.get("action").string(),
    arguments: cursor.list("arguments").map((v) => v.hexstr()),
  };
}

function action(cursor: JsonCursor): Action {
  return {
    name: cursor.get("name").string(),
    local: cursor.get("local").string(),
    parameters: members(cursor.get("parameters")),
    updates: cursor.list("updates").map(statefulProgram),
    units: cursor.list("units").map(unit),
    steps: cursor.list("steps").map(step),
    path: cursor.path,
  };
}

function unit(cursor: JsonCursor): Unit {
  const kind = oneOf(cursor.get("kind"), ["hash", "random"]);
  const base = {
    local: cursor.get("local").string(),
    bits: cursor.get("bits").naturalNumber(),
    path: cursor.path,
  };
  return kind === "random"
    ? { kind, ...base }
    : { kind, ...base, algorithm: cursor.get("algorithm").string() };
}

function statefulProgram(cursor: JsonCursor): StatefulProgram {
  const outputType = cursor.optional("outputType");
  return {
    local: cursor.get("local").string(),
    register: cursor.get("register").string(),
    ...(outputType === undefined ? {} : { outputType: readType(outputType) }),
    body: cursor.get("body").elements().map(cellStatement),
    path: cursor.path,
  };
}

function cellStatement(cursor: JsonCursor): CellStatement {
  const kind = oneOf(cursor.get("kind"), ["set", "if"]);
  const { path } = cursor;
  if (kind === "set")
    return {
      kind,
      target: oneOf(cursor.get("target"), ["value", "result"]),
      value: readExpression(cursor.get("value")),
      path,
    };
  return {
    kind,
    condition: readExpression(cursor.get("condition")),
    whenTrue: cursor.list("whenTrue").map(cellStatement),
    whenFalse: cursor.list("whenFalse").map(cellStatement),
    path,
  };
}

function block(cursor: JsonCursor): Block {
  return cursor.elements().map(statement);
}

function statement(cursor: JsonCursor): Statement {
  const kind = cursor.get("kind").string();
  const { path } = cursor;
  switch (kind) {
    case "steps":
      return { kind, steps: cursor.list("steps").map(step), path };
    case "if":
      return {
        kind,
        condition: readExpression(cursor.get("condition")),
        whenTrue: block(cursor.get("whenTrue")),
        whenFalse: block(cursor.get("whenFalse")),
        path,
      };
    case "applyTable":
      return {
        kind,
        table: cursor.get("table").string(),
        hit: block(cursor.get("hit")),
        miss: block(cursor.get("miss")),
        path,
      };
    case "applyControl":
      return { kind, instance: cursor.get("instance").string(), path };
    case "callAction":
      return {
        kind,
        action: cursor.get("action").string(),
        arguments: cursor.list("arguments").map(readExpression),
        path,
      };
    case "exit":
      return { kind, path };
    default:
      return cursor.get("kind").refuse(`"${kind}" is no statement`);
  }
}

function step(cursor: JsonCursor): Step {
  const kind = cursor.get("kind").string();
  const { path } = cursor;
  const into = () => readTarget(cursor.get("into"));
  switch (kind) {
    case "assign":
      return {
        kind,
        target: readTarget(cursor.get("target")),
        value: readExpression(cursor.get("value")),
        path,
      };
    case "invalidate":
      return { kind, field: cursor.get("field").string(), path };
    case "setValidity":
      return { kind, header: cursor.get("header").string(), valid: cursor.get("valid").boolean(), path };
    case "count":
      return {
        kind,
        counter: cursor.get("counter").string(),
        index: readExpression(cursor.get("index")),
        path,
      };
    case "directCount":
      return { kind, counter: cursor.get("counter").string(), path };
    case "hash":
      return {
        kind,
        unit: cursor.get("unit").string(),
        fields: cursor.list("fields").map(readExpression),
        into: into(),
        path,
      };
    case "random":
      return { kind, unit: cursor.get("unit").string(), into: into(), path };
    case "meter": {
      const index = cursor.optional("index");
      return {
        kind,
        meter: cursor.get("meter").string(),
        ...(index === undefined ? {} : { index: readExpression(index) }),
        into: into(),
        path,
      };
    }
    case "execute":
      return {
        kind,
        update: cursor.get("update").string(),
        index: readExpression(cursor.get("index")),
        ...(cursor.has("into") ? { into: into() } : {}),
        path,
      };
    default:
      return cursor.get("kind").refuse(`"${kind}" is no step`);
  }
}
