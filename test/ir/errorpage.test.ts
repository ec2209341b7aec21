import { readFileSync } from "node:fs";
import * as gradplane from "gradplane";
import { describe, expect, test } from "vitest";
import { checkTna, notesOf } from "../../src/backends/index.ts";
import { errorPage, errorSection } from "../../src/ir/errorpage.ts";
import { rules, tnaRules } from "../../src/ir/index.ts";
import { ruleExamples } from "../../src/ir/ruleexamples.ts";
import { codes, small } from "./findings.ts";

const names = Object.keys(gradplane);

/** What the checks say of a snippet of the page, and Tofino's when those find nothing. */
function codesOf(snippet: string): readonly string[] {
  const values = names.map((n) => Reflect.get(gradplane, n));
  const isWhole = snippet.includes("export default ");
  const build = new Function("p", ...names, snippet.replace("export default ", "return "));
  const made = () => (isWhole ? build(undefined, ...values) : small((p) => build(p, ...values)));
  const found = codes(made);
  if (found.length > 0) return found;
  const { ir } = made();
  return [...checkTna(ir), ...notesOf(ir)].map((d) => d.code);
}

describe("docs/errors.md", () => {
  test('is what "npm run docs" makes', () => {
    const kept = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
    expect(kept).toBe(errorPage());
  });

  test("has one section for each code, where findings say", () => {
    const sections = [...errorPage().matchAll(/^### (GP\d{4})$/gm)].map(([, code = ""]) => code);
    expect(new Set(sections).size).toBe(sections.length);
    for (const code of [...Object.keys(rules), ...Object.keys(tnaRules)]) expect(sections).toContain(code);
    expect(errorSection("GP1102")).toBe("docs/errors.md#gp1102");
  });

  test.each(Object.entries(ruleExamples))(
    "%s: what it calls wrong is found, what it calls right is not",
    (code, e) => {
      expect(codesOf(e.wrong)).toContain(code);
      expect(codesOf(e.right)).not.toContain(code);
    },
  );
});
