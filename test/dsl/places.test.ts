import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { compileFunction } from "node:vm";
import {
  bit,
  type Feature,
  hotAggregation,
  int32,
  internet,
  ipv4Forwarding,
  type ProgramBuilder,
  program,
} from "gradplane";
import { afterEach, describe, expect, test } from "vitest";
import { callSite } from "../../src/dsl/callsite.ts";
import type { SourceLocation } from "../../src/ir/index.ts";

const here = fileURLToPath(import.meta.url);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Number of the line of this file that ends with the mark. */
function marked(mark: string, file = here): number {
  return (
    readFileSync(file, "utf8")
      .split("\n")
      .findIndex((l) => l.trimEnd().endsWith(mark)) + 1
  );
}

/** All places in plain data, with the path to each. */
function places(o: unknown): readonly SourceLocation[] {
  const found: SourceLocation[] = [];
  const visit = (x: unknown): void => {
    if (typeof x !== "object" || x === null) return;
    for (const [key, inner] of Object.entries(x)) {
      if (key === "at") found.push(inner as SourceLocation);
      else visit(inner);
    }
  };
  visit(o);
  return found;
}

const linesOf = (o: unknown): readonly number[] =>
  [...new Set(places(o).map((at) => at.line))].sort((a, b) => a - b);

const own: Feature = {
  name: "own",
  build(p: ProgramBuilder) {
    const m = p.metadata("m", bit(8)); //! own metadata
    const c = p.control("own", "ingress"); //! own control
    const twice = c.action("twice", {}, (a) => {
      a.set(m, m.add(m)); //! own action body
    });
    c.apply((s) => {
      s.call(twice); //! own call
    });
    p.ingress("classify", (s) => s.invoke(c)); //! own invoke
  },
};

const built = program("placed", {
  ports: 32,
  cpuPort: 510,
  features: [
    ipv4Forwarding(), //! forwarding
    hotAggregation({ workers: 4, lanes: 2, rows: 64, mode: int32, result: "ps" }), //! aggregation
    own,
  ],
});
const control = (name: string) => built.ir.controls.find((c) => c.name === name);

describe("the place of a node", () => {
  test("is in the user's file, for all nodes", () => {
    expect([...new Set(places(built.ir).map((at) => at.file))]).toEqual([here]);
  });

  test("of a built-in feature is the line that asked for it", () => {
    expect(linesOf(control("forwarding"))).toEqual([marked("//! forwarding")]);
    for (const name of ["admission", "slot", "grid", "answer", "acknowledge"]) {
      expect([name, ...linesOf(control(name))]).toEqual([name, marked("//! aggregation")]);
    }
  });

  test("of a part that features share is the line that asked for it first", () => {
    expect(linesOf(built.ir.parser.find((s) => s.name === "parse_ipv4"))).toEqual([marked("//! forwarding")]);
  });

  test("of the user's own feature is the line that made it", () => {
    const c = control("own");
    expect(c?.at).toEqual({ file: here, line: marked("//! own control"), column: 17 });
    expect(built.ir.metadata.find((m) => m.name === "m")?.at?.line).toBe(marked("//! own metadata"));
    expect(linesOf(c?.actions[0]?.body)).toEqual([marked("//! own action body")]);
    expect(linesOf(c?.apply)).toEqual([marked("//! own call")]);
    expect(built.ir.ingress.find((s) => s.kind === "applyControl" && s.control === "own")?.at?.line).toBe(
      marked("//! own invoke"),
    );
  });

  test("of a built-in part that the user's feature asks for is the user's line", () => {
    const { ir } = program("part", {
      ports: 4,
      features: [
        {
          name: "f",
          build(p) {
            p.once(internet); //! own part
            p.ingress("deliver", (s) => s.drop());
          },
        },
      ],
    });
    expect(linesOf(ir.headers)).toEqual([marked("//! own part")]);
  });
});

describe("places are found", () => {
  /** The place as code of a file of that name sees it. */
  const from = (filename: string): unknown => {
    const run: unknown = compileFunction("return callSite();", ["callSite"], { filename });
    return typeof run === "function" ? run(callSite) : undefined;
  };
  const { prepareStackTrace } = Error;
  afterEach(() => {
    Error.prepareStackTrace = prepareStackTrace;
  });

  test("under the test runner, in transformed sources", () => {
    const at = callSite(); //! here
    expect(at).toEqual({ file: here, line: marked("//! here"), column: 16 });
  });

  test("under tsx, as users run programs", async () => {
    const fixture = fileURLToPath(new URL("fixtures/wrong-program.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", fixture], {
      cwd: root,
    });
    expect(JSON.parse(stdout)).toEqual([
      { file: fixture, line: marked("s.set(m, 256);", fixture), column: 9 },
    ]);
  });

  test.each([
    ["file:///home/u/a%20b.ts:3:7", "    at run (file:///home/u/a%20b.ts:3:7)", "/home/u/a b.ts"],
    ["a path with brackets", "    at Object.run (/home/u (old)/b.ts:3:7)", "/home/u (old)/b.ts"],
    ["no function", "    at /home/u/(b).ts:3:7", "/home/u/(b).ts"],
    ["async", "    at async /home/u/b.ts:3:7", "/home/u/b.ts"],
    ["a query", "    at file:///home/u/b.ts?t=1:3:7", "/home/u/b.ts"],
  ])("where the printer of stacks writes %s", (_, line, file) => {
    Error.prepareStackTrace = () => `Error: place\n${line}`;
    expect(from(line)).toEqual({ file, line: 3, column: 7 });
  });

  test.each([
    ["the sites themselves", (_: unknown, sites: unknown) => sites],
    ["nonsense", () => "Error: place\n    at somewhere else"],
    ["nothing", () => undefined],
  ])("where the printer of stacks gives %s", (name, printer) => {
    Error.prepareStackTrace = printer;
    expect(from(name)).toEqual({ file: name, line: 1, column: 8 });
    expect(Error.prepareStackTrace).toBe(printer);
  });
});
