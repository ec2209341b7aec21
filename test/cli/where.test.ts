import { expect, test } from "vitest";
import { gradplane } from "./gradplane.ts";

test("leads a line of kept P4 to the program, and says what it cannot find", async () => {
  const found = await gradplane(["where", "p4out/router/tna/controls/routing.p4:30"]);
  expect(found).toMatchObject({ status: 0, stderr: "" });
  expect(found.stdout).toMatch(/^p4out\/router\/tna\/controls\/routing\.p4:30: program\.ts:\d+:\d+\n$/);
}, 60_000);

test.each([
  ["ingress.p4", "is no place"],
  ["p4out/router/tna/none.p4:3", "there is no file"],
  ["p4out/router/tna/ingress.p4:9999", "lines, and not 9999"],
  ["package.json:1", "there is no sourcemap.json"],
])(
  "refuses %s and says why",
  async (place, why) => {
    const { status, stderr } = await gradplane(["where", place]);
    expect(status).toBe(1);
    expect(stderr).toContain(why);
  },
  60_000,
);
