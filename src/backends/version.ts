import { readFileSync } from "node:fs";

/** Version of this package, for the first lines of generated files. */
export const version: string = readVersion();

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  if (typeof manifest === "object" && manifest !== null && "version" in manifest)
    return String(manifest.version);
  return "unknown";
}
