import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { contents, folderWith } from "./folder.ts";
import { gradplane, root } from "./gradplane.ts";
import { RIGHT } from "./programs.ts";

const manifest: {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly bin: { readonly gradplane: string };
  readonly dependencies: Readonly<Record<string, string>>;
} = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const doors = Object.keys(manifest.exports).filter((name) => !name.endsWith(".json"));
const specifier = (door: string): string => `gradplane${door.slice(1)}`;
const tsc = join(root, "node_modules/.bin/tsc");

/** A user's folder in which the package is installed as npm would do it, with its dependencies and nothing else. */
function install(): string {
  const stage = folderWith();
  for (const path of ["bin", "package.json", "README.md", "LICENSE"])
    cpSync(join(root, path), join(stage, path), { recursive: true });
  const build = ["-p", join(root, "tsconfig.build.json"), "--outDir", join(stage, "dist")];
  execFileSync(tsc, build, { cwd: root, stdio: "inherit" });
  const generator = `require("./bin/bundle.js").packaged(${JSON.stringify(join(stage, "dist"))})`;
  execFileSync(process.execPath, ["-e", generator], { cwd: root, stdio: "inherit" });
  const user = folderWith({ "program.ts": RIGHT });
  const home = join(user, "node_modules/gradplane");
  mkdirSync(home, { recursive: true });
  execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--offline", "--pack-destination", user], {
    cwd: stage,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const tarball = [...contents(user).keys()].find((path) => path.endsWith(".tgz")) ?? "";
  execFileSync("tar", ["-xzf", join(user, tarball), "--strip-components=1", "-C", home]);
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(join(user, "node_modules", name, ".."), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(user, "node_modules", name));
  }
  return user;
}

const user = install();
const installed = join(user, "node_modules/gradplane", manifest.bin.gradplane);

describe("the package as npm pack makes it", { timeout: 60_000 }, () => {
  test("holds what runs, and no sources", () => {
    const folders = [...contents(join(user, "node_modules/gradplane")).keys()].map((p) => p.split("/")[0]);
    expect([...new Set(folders)].sort()).toEqual(["LICENSE", "README.md", "bin", "dist", "package.json"]);
  });

  test("builds a user's program to the same bytes as the repository does", async () => {
    const here = await gradplane(["build", "program.ts", "--out", "here"], user, installed);
    expect(here).toMatchObject({ status: 0, stderr: "" });
    const there = folderWith();
    await gradplane(["build", join(user, "program.ts"), "--out", there]);
    expect(contents(join(user, "here"))).toEqual(contents(there));
  });

  test("keeps the code of the verbs that generate, and says of wrong programs what the repository says", async () => {
    const script = join(user, "node_modules/gradplane/dist/generator/all.cjs");
    expect(existsSync(`${script}-build-${process.version}`)).toBe(true);
    const wrong =
      'import { program, nothing } from "gradplane";\nexport default program("wrong", { features: [nothing()] });\n';
    writeFileSync(join(user, "wrong.ts"), wrong);
    const here = await gradplane(["check", "wrong.ts"], user, installed);
    expect(here.status).toBe(1);
    expect(here.stderr).toContain('"gradplane" has no export "nothing"');
    expect(here).toEqual(await gradplane(["check", "wrong.ts"], user));
  });

  test("starts its switches from what is installed", async () => {
    writeFileSync(
      join(user, "one.ts"),
      `import { scenario } from "gradplane/cli/run";
export default scenario({
  name: "one",
  summary: "one switch",
  options: {},
  async run(context) {
    const it = await context.startSwitch({ name: "s", deviceId: 1n, cpuPort: 510, ports: new Map([[0, 5000]]) });
    return { passed: true, table: [["port", [...it.ports.keys()].join()]], verdict: "it runs", data: {} };
  },
});
`,
    );
    expect(await gradplane(["run", "one.ts"], user, installed)).toEqual({
      status: 0,
      stdout: "  port  0\n\nPassed: it runs\n",
      stderr: "",
    });
  });

  test("opens every door to plain JavaScript", () => {
    const script = `
      for (const name of ${JSON.stringify(doors.map(specifier))}) {
        const { length } = Object.keys(await import(name));
        if (length === 0) console.log(name, "is empty");
      }`;
    writeFileSync(join(user, "doors.mjs"), script);
    const { status, stdout, stderr } = spawnSync(process.execPath, ["doors.mjs"], {
      cwd: user,
      encoding: "utf8",
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("has types for every door, for a program and for the bindings made from it, libraries checked too", async () => {
    await gradplane(["build", "program.ts"], user, installed);
    const lines = doors.map((door, i) => `export * as door${i} from "${specifier(door)}";\n`);
    writeFileSync(join(user, "doors.ts"), lines.join(""));
    const compilerOptions = {
      target: "ES2023",
      lib: ["ES2023"],
      module: "NodeNext",
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: false,
      types: ["node"],
      typeRoots: [join(root, "node_modules/@types")],
    };
    const files = ["program.ts", "doors.ts", "p4out/right/bindings.ts"];
    writeFileSync(join(user, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    writeFileSync(join(user, "package.json"), '{ "type": "module" }');
    const { status, stdout } = spawnSync(tsc, ["-p", "."], { cwd: user, encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  });
});
