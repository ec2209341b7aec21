import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { precompiledTemplates } from "../../templates/precompile.ts";

test("the templates in use are those of templates/ (else: npm run templates)", () => {
  const file = fileURLToPath(new URL("../../src/backends/p4text/generated/templates.ts", import.meta.url));
  expect(readFileSync(file, "utf8")).toBe(precompiledTemplates());
});
