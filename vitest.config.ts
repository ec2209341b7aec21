import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^gradplane$/, replacement: source("index.ts") },
      { find: /^gradplane\/(.+)$/, replacement: source("$1/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    testTimeout: 30_000,
    pool: "forks",
    maxWorkers: 2,
    // The files of a worker share its modules: to load them anew for each would take as long as a third of the tests. No test may leave
    // something behind in them.
    isolate: false,
  },
});
