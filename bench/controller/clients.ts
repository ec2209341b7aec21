/**
 * Entries per second by gradplane's client library beside p4runtime-shell and finsy, unchanged, on the same server in one run: made from names and
 * written in requests of 256, and one by one; to the embedded switch, and to simple_switch_grpc when it is here (SIMPLE_SWITCH_GRPC or PATH).
 * Then the controller's part: a look that finds nothing to do, and 10,000 entries that are missing.
 *
 * P4RUNTIME_SHELL and FINSY name clones of p4lang/p4runtime-shell and byllyfish/finsy, P4RUNTIME_STUBS a folder with Python modules of P4Runtime for
 * the former; PYTHON_OF_SHELL and PYTHON_OF_FINSY pythons that have what each needs. What is not named is left out.
 * Run: npx tsx bench/controller/clients.ts [ENTRIES], 100,000 unless given
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { generate, loadableOf } from "../../src/backends/index.ts";
import { startSwitchProcess } from "../../src/cli/run/switchprocess.ts";
import type { Intent } from "../../src/controller/intent.ts";
import { readDifference, reconcile } from "../../src/controller/reconcile.ts";
import { ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { type Entity, insert, P4RuntimeClient, p4infoToText, remove } from "../../src/p4runtime/index.ts";
import { realTool } from "../realtools.ts";
import { withSimpleSwitch } from "../simpleswitch.ts";

const ENTRIES = Number(process.argv[2] ?? 100_000);
const SINGLE = 1000;
const MISSING = Math.min(10_000, ENTRIES / 10);
const { ir } = program("routes", {
  ports: 8,
  cpuPort: 510,
  features: [ipv4Forwarding({ routes: 2 * ENTRIES })],
});
const { p4info, deviceConfig } = loadableOf(generate(ir), ir.name);
const folder = mkdtempSync(join(tmpdir(), "gradplane-bench-"));
const [infoFile, jsonFile] = [join(folder, "p4info.txtpb"), join(folder, "routes.json")];
writeFileSync(infoFile, p4infoToText(p4info));
writeFileSync(jsonFile, deviceConfig);

const environment = process.env;
const others = [
  {
    name: "p4runtime-shell",
    python: environment.PYTHON_OF_SHELL ?? "/usr/bin/python3",
    path: [environment.P4RUNTIME_SHELL, environment.P4RUNTIME_STUBS],
    script: "shell_writes.py",
  },
  {
    name: "finsy",
    python: environment.PYTHON_OF_FINSY ?? "/usr/bin/python3",
    path: [environment.FINSY],
    script: "finsy_writes.py",
  },
] as const;

const say = (what: string, figure: string): void => console.log(`  ${what.padEnd(44)} ${figure}`);
const count = (n: number): string => Math.round(n).toLocaleString("en").padStart(9);

function entry(client: P4RuntimeClient, n: number): Entity {
  const dst_addr = `${10 + (n >> 24)}.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}/32`;
  const params = { port: 1, dst_mac: "02:00:00:00:00:01" };
  return client.entities.tableEntry("forwarding.route", { dst_addr }, "forwarding.to_port", params);
}

async function measure(address: string): Promise<void> {
  const rates = new Map<string, readonly number[]>();
  for (const { name, python, path, script } of others) {
    if (path.some((folder) => folder === undefined)) {
      say(name, "left out: it is not named");
      continue;
    }
    const part = fileURLToPath(new URL(`./parts/${script}`, import.meta.url));
    const args = [part, address, infoFile, jsonFile, `${ENTRIES}`, `${SINGLE}`];
    const env = { ...environment, PYTHONPATH: path.join(":"), PYTHONDONTWRITEBYTECODE: "1" };
    try {
      const { stdout } = await promisify(execFile)(python, args, { env, timeout: 600_000 });
      rates.set(name, (stdout.trim().split("\n").at(-1) ?? "").split(" ").map(Number));
    } catch (error) {
      say(
        name,
        `left out: ${(error instanceof Error ? error.message : String(error)).trim().split("\n").at(-1)}`,
      );
    }
  }
  const client = await P4RuntimeClient.connect({ address });
  try {
    await client.arbitrate(1n << 32n);
    await client.pushPipeline(p4info, deviceConfig);
    const rate = async (n: number, work: () => Promise<unknown>): Promise<number> => {
      const begin = performance.now();
      await work();
      return n / ((performance.now() - begin) / 1000);
    };
    const batches = await rate(ENTRIES, () =>
      client.write(Array.from({ length: ENTRIES }, (_, n) => insert(entry(client, n)))),
    );
    const single = await rate(SINGLE, async () => {
      for (let n = ENTRIES; n < ENTRIES + SINGLE; n++) await client.write([insert(entry(client, n))]);
    });
    rates.set("gradplane", [batches, single]);
    for (const [name, [many = Number.NaN, few = Number.NaN]] of rates)
      say(name, `${count(many)} entries/s in requests of 256, ${count(few)} one by one`);

    const intent: Pick<Intent, "entities" | "tableRank"> = {
      entities: Array.from({ length: ENTRIES + SINGLE }, (_, n) => entry(client, n)),
      tableRank: new Map(),
    };
    let seconds = 1 / (await rate(1, () => readDifference(client, intent)));
    say("a look that finds nothing to do", `${seconds.toFixed(2)} s, 1 question, no write`);
    await client.write(Array.from({ length: MISSING }, (_, n) => remove(entry(client, 7 * n))));
    let updates = 0;
    seconds =
      1 /
      (await rate(1, async () => {
        updates = (await reconcile(client, intent)).plan.updates;
      }));
    say("read, compare, and write what is missing", `${seconds.toFixed(2)} s, ${updates} updates`);
  } finally {
    await client.close();
  }
}

try {
  console.log(`embedded switch, ${ENTRIES.toLocaleString("en")} entries`);
  const running = await startSwitchProcess({
    name: "embedded",
    deviceId: 1n,
    cpuPort: 510,
    ports: new Map([[0, 9]]),
  });
  try {
    await measure(running.grpc);
  } finally {
    await running.stop();
  }
  const bmv2 = realTool("SIMPLE_SWITCH_GRPC", "simple_switch_grpc");
  if (bmv2 === undefined) console.log("simple_switch_grpc is not here (SIMPLE_SWITCH_GRPC)");
  else {
    console.log(`simple_switch_grpc, ${ENTRIES.toLocaleString("en")} entries`);
    await withSimpleSwitch(bmv2, measure);
  }
} finally {
  rmSync(folder, { recursive: true });
}
