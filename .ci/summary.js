// Reads what vitest's JSON reporter wrote; names the slowest files and the steps that failed; the last line counts the tests.
// Usage: node summary.js RESULTS.json [FAILED STEP ...]
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const [file, ...failedSteps] = process.argv.slice(2);
const counts = { passed: 0, failed: 0, skipped: 0 };
const times = [];

let files = [];
try {
  files = JSON.parse(readFileSync(file, "utf8")).testResults;
} catch (error) {
  console.log(`the tests wrote no results: ${error.message}`);
}
for (const { name, status, startTime, endTime, assertionResults } of files) {
  times.push({ name: relative(process.cwd(), name), seconds: (endTime - startTime) / 1000 });
  for (const { status: outcome } of assertionResults) {
    if (outcome === "passed" || outcome === "failed") counts[outcome]++;
    else counts.skipped++;
  }
  // A file that could not be loaded has no tests to count.
  if (status === "failed" && !assertionResults.some((test) => test.status === "failed")) counts.failed++;
}
times.sort((a, b) => b.seconds - a.seconds);
console.log("slowest test files:");
for (const { name, seconds } of times.slice(0, 10))
  console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}`);
if (failedSteps.length > 0) console.log(`failed steps: ${failedSteps.join(", ")}`);

// Each other step that failed counts as one, so that the last line never looks better than the exit code.
counts.failed += failedSteps.filter((step) => step !== "tests").length;
const didNotRun = counts.passed === 0 || failedSteps.includes("tests");
if (counts.failed === 0 && didNotRun) counts.failed = 1;
console.log(
  `${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ""}`,
);
process.exitCode = counts.failed > 0 ? 1 : 0;
