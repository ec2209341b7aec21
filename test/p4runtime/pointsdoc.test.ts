import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const doc = readFileSync(join(import.meta.dirname, "../../docs/p4runtime-points.md"), "utf8");
const rows = doc
  .split("\n")
  .filter((line) => /^\| (?:\d|[a-zA-Z])/.test(line) && !/^\| (?:Point|Fault) /.test(line));

it("each point and each fault has a test file that is there", () => {
  const points = rows.flatMap((row) => /^\| (\d+) /.exec(row)?.[1] ?? []).map(Number);
  expect(points).toEqual(Array.from({ length: 36 }, (_, i) => i + 1));
  for (const row of rows) {
    const files = [...row.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    expect(files.length, row).toBeGreaterThan(0);
    for (const name of files) {
      const file = { ways: "piways.test.ts" }[name] ?? `${name}.test.ts`;
      const place = join(import.meta.dirname, file);
      const isFolder = name.startsWith("../") && existsSync(join(import.meta.dirname, name));
      expect({ name, isThere: isFolder || existsSync(place) }).toEqual({ name, isThere: true });
    }
  }
});

it("what the table says of points.test.ts begins a claim of it", () => {
  const claims = [
    ...readFileSync(join(import.meta.dirname, "points.test.ts"), "utf8").matchAll(/^ +it\("([^"]+)"/gm),
  ].map(([, title = ""]) => title);
  expect(claims.length).toBeGreaterThan(20);
  for (const row of rows)
    for (const [, said = ""] of row.matchAll(/`points` ([^;|]+)/g))
      for (const part of said.split(/, (?=[a-z]+ )/)) {
        const words = part.replace(/ \(.*\)/, "").trim();
        const isPart = claims.some((claim) => claim.includes(words));
        const isWhole = claims.some((claim) => claim.includes(said.trim()));
        expect({ words, isThere: isPart || isWhole }).toEqual({ words, isThere: true });
      }
});
