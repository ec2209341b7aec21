import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BackendError } from "../../src/backends/backenderror.ts";
import { bindingsModule } from "../../src/backends/bindings/index.ts";
import {
  create,
  type Documentation,
  type Init,
  P4Info,
  p4infoFromText,
  p4infoToText,
} from "../../src/p4info/index.ts";
import { EVERYTHING, FORWARDING } from "./programs.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What tsc says of files and of the bindings' runtime, with the repository's options. */
function typeErrors(files: readonly string[], options: Readonly<Record<string, unknown>> = {}): string {
  // Inside the repository, so that packages and types are found.
  const folder = mkdtempSync(join(root, "node_modules", ".bindings-"));
  try {
    const config = join(folder, "tsconfig.json");
    writeFileSync(
      config,
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        files,
        include: [],
        compilerOptions: { paths, ...options },
      }),
    );
    const run = spawnSync("npx", ["tsc", "-p", config], { cwd: root, encoding: "utf8" });
    const lines = (run.stdout + run.stderr).split("\n").filter((line) => line !== "");
    return lines.filter((line) => line.includes("bindings") || !/^[^ (]+\(\d+,\d+\)/.test(line)).join("\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
}
const paths = { gradplane: [join(root, "src/index.ts")], "gradplane/*": [join(root, "src/*/index.ts")] };

describe("the text of a bindings module", () => {
  test("is the golden one for a small program", async () => {
    await expect(bindingsModule(FORWARDING, { name: "libra" })).toMatchFileSnapshot("golden/libra.ts");
  });

  test("is the golden one for a program with everything that P4Info has", async () => {
    const text = bindingsModule(EVERYTHING, { name: "everything" });
    await expect(text).toMatchFileSnapshot("golden/everything.ts");
  });

  test("does not depend on whether the P4Info came from a file", async () => {
    const copy = p4infoFromText(p4infoToText(EVERYTHING));
    expect(bindingsModule(copy, { name: "everything" })).toBe(
      bindingsModule(EVERYTHING, { name: "everything" }),
    );
  });

  test("passes the linter and the formatter of this repository", () => {
    const run = spawnSync("npx", ["biome", "check", "--error-on-warnings", "test/bindings/golden"], {
      cwd: root,
      encoding: "utf8",
    });
    expect(run.stderr + run.stdout).toMatch(/^Checked 2 files .*No fixes applied\.\s*$/);
  });
});

describe("the type checker", { timeout: 120_000 }, () => {
  test("takes right calls of the bindings and refuses wrong ones (calls.ts)", () => {
    expect(typeErrors([join(root, "test/bindings/calls.ts")])).toBe("");
  });

  test("can write declaration files of the modules: every type has a public name", () => {
    const files = ["everything.ts", "libra.ts"].map((file) => join(root, "test/bindings/golden", file));
    const outDir = mkdtempSync(join(tmpdir(), "gradplane-bindings-"));
    try {
      expect(typeErrors(files, { noEmit: false, declaration: true, rootDir: root, outDir })).toBe("");
    } finally {
      rmSync(outDir, { recursive: true });
    }
  });

  test("takes every module that is made, whatever the names of the program", async () => {
    const modules: string[] = [];
    const seed = Date.now() & 0x7fffffff;
    // Sampled and checked in one run of tsc: one run for each would take minutes.
    for (const info of fc.sample(anyProgram, { numRuns: 60, seed }))
      modules.push(bindingsModule(create(P4Info, info), { name: info.pkgInfo?.name ?? "" }));
    const folder = mkdtempSync(join(root, "node_modules", ".bindings-"));
    try {
      const files = modules.map((text, index) => {
        const file = join(folder, `module${index}.ts`);
        writeFileSync(file, text);
        return file;
      });
      expect(typeErrors(files), `seed ${seed}`).toBe("");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("an empty program has an empty module that is right as well", async () => {
    const text = bindingsModule(create(P4Info, {}), { name: "" });
    const folder = mkdtempSync(join(root, "node_modules", ".bindings-"));
    try {
      const file = join(folder, "empty.ts");
      writeFileSync(file, text);
      expect(typeErrors([file])).toBe("");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("a P4Info that contradicts itself", () => {
  const table = async (more: Init<P4Info>["tables"]): Promise<string> =>
    bindingsModule(create(P4Info, { tables: more }), { name: "wrong" });

  test("is refused when an action is missing", async () => {
    const failing = table([{ preamble: { id: 1, name: "t" }, actionRefs: [{ id: 0x01000007 }] }]);
    await expect(failing).rejects.toThrow("table t: there is no action with id 0x1000007");
    await expect(failing).rejects.toBeInstanceOf(BackendError);
  });

  test("is refused when two tables have one name", async () => {
    const preamble = { id: 1, name: "t" };
    await expect(table([{ preamble }, { preamble: { ...preamble, id: 2 } }])).rejects.toThrow(
      'table: two have the name "t"',
    );
  });

  test("is refused when a field has a match kind of another architecture", async () => {
    const matchFields = [{ id: 1, name: "f", match: { case: "otherMatchType", value: "fuzzy" } as const }];
    await expect(table([{ preamble: { id: 1, name: "t" }, matchFields }])).rejects.toThrow(
      "table t, field f: match kind fuzzy is not supported",
    );
  });
});

const word = fc.oneof(
  fc.constantFrom(
    "class",
    "default",
    "constructor",
    "__proto__",
    "toString",
    "Value",
    "bind",
    "actions",
    "insert",
  ),
  fc.constantFrom(
    "client",
    "Libra",
    "NoParams",
    "1a",
    "$valid$",
    "*/",
    "a b",
    "ä",
    "'",
    '"',
    "\\",
    "`",
    "\n",
    "\u2028",
  ),
  fc.string({ maxLength: 6 }),
);
const dotted = fc.array(word, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("."));
const doc = fc.option(
  fc.record({ brief: fc.string(), description: fc.constantFrom("", "*/ }", "@param x") }),
  {
    nil: undefined,
  },
);
const bitwidth = fc.constantFrom(0, 1, 9, 32, 128);
const named = <T extends object>(body: fc.Arbitrary<T>) =>
  fc.uniqueArray(fc.tuple(dotted, doc, body), { maxLength: 4, selector: ([name]) => name });
const fields = fc.uniqueArray(
  fc.record({
    name: word,
    bitwidth,
    doc,
    kind: fc.constantFrom("EXACT", "LPM", "TERNARY", "RANGE", "OPTIONAL"),
  }),
  { maxLength: 4, selector: ({ name }) => name },
);
const preambleOf = (prefix: number, index: number, name: string, text: Init<Documentation> | undefined) => ({
  id: prefix * 0x1000000 + index + 1,
  name,
  doc: text,
});

/** Programs of any shape with any names. */
const anyProgram: fc.Arbitrary<Init<P4Info>> = fc
  .record({
    name: word,
    actions: named(fields.map((params) => ({ params }))),
    tables: named(
      fc.record({ fields, isConstTable: fc.boolean(), picks: fc.array(fc.nat(3), { maxLength: 3 }) }),
    ),
    counters: named(fc.record({ unit: fc.constantFrom("BYTES", "PACKETS", "BOTH") })),
    registers: named(fc.record({ size: fc.nat(10) })),
    metadata: fields,
  })
  .map(({ name, actions, tables, counters, registers, metadata }) => ({
    pkgInfo: { name },
    actions: actions.map(([full, text, { params }], index) => ({
      preamble: preambleOf(1, index, full, text),
      params: params.map((param, id) => ({
        id: id + 1,
        name: param.name,
        bitwidth: param.bitwidth,
        doc: param.doc,
      })),
    })),
    tables: tables.map(([full, text, { fields: keys, isConstTable, picks }], index) => ({
      preamble: preambleOf(2, index, full, text),
      matchFields: keys.map((key, id) => ({
        id: id + 1,
        name: key.name,
        bitwidth: key.bitwidth,
        doc: key.doc,
        match: { case: "matchType", value: key.kind } as const,
      })),
      actionRefs: [...new Set(picks)]
        .filter((pick) => pick < actions.length)
        .map((pick) => ({ id: 0x1000001 + pick })),
      isConstTable,
    })),
    counters: counters.map(([full, text, { unit }], index) => ({
      preamble: preambleOf(0x12, index, full, text),
      spec: { unit },
      size: 1n,
    })),
    registers: registers.map(([full, text, { size }], index) => ({
      preamble: preambleOf(0x16, index, full, text),
      typeSpec: {
        typeSpec: { case: "bitstring", value: { typeSpec: { case: "bit", value: { bitwidth: 8 } } } },
      } as const,
      size,
    })),
    controllerPacketMetadata: [
      {
        preamble: { id: 0x04000001, name: "packet_in" },
        metadata: metadata.map((field, id) => ({ id: id + 1, name: field.name, bitwidth: field.bitwidth })),
      },
    ],
  }));
