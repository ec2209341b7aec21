/**
 * Many switches under one controller: embedded ones, leaves and spines, in a process of their own, each with its P4Runtime server. Time
 * until all are what they should be, memory and processor time of the controller's process, with probes of all links and without, a look at
 * all switches that finds nothing to do, and the repair when a spine fails.
 * Run: npx tsx bench/controller/fleet.ts [LEAVES] [SPINES], 48 and 4 unless given
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { generate, loadableOf } from "../../src/backends/index.ts";
import { Fleet, type FleetNotice } from "../../src/controller/fleet.ts";
import { ecmp, ipv4Forwarding, probe, program } from "../../src/dsl/index.ts";
import { fabricTopology } from "../../src/lab/repair/network.ts";
import type { SwitchesOrder } from "./parts/manyswitches.ts";

const [leaves, spines] = [Number(process.argv[2] ?? 48), Number(process.argv[3] ?? 4)];
const HOSTS_PER_LEAF = 2;
const CPU = 500;
const room = { groups: 2 * (leaves + spines), members: Math.max(leaves, spines) };
const { ir } = program("fabric", {
  ports: Math.max(leaves, spines + HOSTS_PER_LEAF),
  cpuPort: CPU,
  features: [ipv4Forwarding({ routes: 4096 }), ecmp({ ...room, spray: "all" }), probe()],
});
const loadable = loadableOf(generate(ir), ir.name);

const hosts = Array.from({ length: leaves * HOSTS_PER_LEAF }, (_, i) => `h${i}`);
const plan = fabricTopology(leaves, spines, hosts);
const number = new Map(plan.switches.map(({ name }, i) => [name, i]));

const child = fork(fileURLToPath(new URL("./parts/manyswitches.ts", import.meta.url)), {
  execArgv: ["--import", "tsx"],
});
const tell = (order: SwitchesOrder): void => void child.send(order);
const ends = (plan.links ?? []).map(
  ({ ends: [a, b] }) =>
    [
      [number.get(a.switch) ?? 0, a.port],
      [number.get(b.switch) ?? 0, b.port],
    ] as const,
);
tell({ kind: "start", request: { count: plan.switches.length, ports: ir.ports, cpuPort: CPU, links: ends } });
const [addresses]: string[][] = await once(child, "message");
const topology = {
  ...plan,
  switches: plan.switches.map((node, i) => ({
    ...node,
    deviceId: BigInt(i + 1),
    target: addresses?.[i] ?? "",
  })),
};

/** The controller with the switches: from its start to all of them ready. */
async function started(probes: { readonly interval: number } | "off"): Promise<{
  readonly fleet: Fleet;
  readonly notices: { readonly at: number; readonly notice: FleetNotice }[];
  readonly seconds: number;
}> {
  const notices: { at: number; notice: FleetNotice }[] = [];
  const begin = performance.now();
  const fleet = await Fleet.start({
    topology,
    program: loadable,
    room,
    probes,
    onNotice: (notice) => notices.push({ at: performance.now(), notice }),
  });
  const isReady = (): boolean => fleet.status().every((s) => s.state.kind === "ready");
  while (!isReady()) await sleep(10);
  return { fleet, notices, seconds: (performance.now() - begin) / 1000 };
}

/** Share of one processor that this process takes while nothing happens. */
async function steady(seconds: number): Promise<number> {
  const [before, begin] = [process.cpuUsage(), performance.now()];
  await sleep(seconds * 1000);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (performance.now() - begin);
}

const memory = (): string => `${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`;
const percent = (share: number): string => `${(100 * share).toFixed(1)} % of a processor`;
const say = (what: string, figure: string): void => console.log(`  ${what.padEnd(52)} ${figure}`);

console.log(`${plan.switches.length} switches, ${plan.links?.length} links, ${hosts.length} hosts`);
try {
  say("memory of the process before", memory());
  const empty = await started("off");
  const entries = empty.fleet
    .status()
    .reduce((n, s) => n + (s.state.kind === "ready" ? s.state.entries : 0), 0);
  say(
    "empty switches to all ready, program and entries",
    `${empty.seconds.toFixed(2)} s, ${entries} entries`,
  );
  say("memory", memory());
  say("steady, without probes", percent(await steady(10)));
  await empty.fleet.close();

  const again = await started("off");
  const written = again.notices.filter(({ notice }) => notice.kind === "written").length;
  say("controller starts again, nothing to do", `${again.seconds.toFixed(2)} s, ${written} writes`);
  await again.fleet.close();

  const { fleet, notices } = await started({ interval: 100 });
  await sleep(2000);
  const share = await steady(10);
  const down = notices.filter(({ notice }) => notice.kind === "link").length;
  const perSecond = Math.min(20 * ends.length, 2000);
  say(`steady, ${perSecond} probes a second`, `${percent(share)}, ${down} links taken for dead`);
  await failing("cut", "spine2", "a spine's cables are cut, and it still answers", notices);
  // Its links are down; what fails next is another one.
  await failing("kill", "spine1", "a spine fails as a whole", notices);
  say("memory", memory());
  await fleet.close();
} finally {
  child.disconnect();
}

/** What becomes of a fabric without one of its spines, until nothing is left to write. */
async function failing(
  how: "cut" | "kill",
  name: string,
  what: string,
  notices: { readonly at: number; readonly notice: FleetNotice }[],
): Promise<void> {
  notices.length = 0;
  const [at, before] = [performance.now(), process.cpuUsage()];
  tell({ kind: how, index: number.get(name) ?? 0 });
  // One thread computes what is to be written: short silence is no end. All others have something to be changed.
  for (;;) {
    await sleep(20);
    const names = notices.flatMap(({ notice }) => (notice.kind === "written" ? [notice.name] : []));
    const isWritten = new Set(names).size >= plan.switches.length - 2;
    const quiet = performance.now() - (notices.at(-1)?.at ?? at);
    if ((isWritten && quiet > 2000) || performance.now() - at > 60_000) break;
  }
  const { user, system } = process.cpuUsage(before);
  const news = notices.filter(({ notice }) => notice.kind === "link" || notice.kind === "switch");
  const writes = notices.flatMap(({ at: time, notice }) =>
    notice.kind === "written" ? [{ time, ...notice }] : [],
  );
  const updates = writes.reduce((n, write) => n + write.updates, 0);
  const after = (time: number | undefined): string => `${Math.round((time ?? Number.NaN) - at)} ms`;
  const links = news.flatMap(({ notice }) => (notice.kind === "link" ? [notice.link] : []));
  const wrong = links.filter((link) => !link.includes(`${name}:`)).length;
  say(what, `known after ${after(news[0]?.at)}, all of it after ${after(news.at(-1)?.at)}`);
  say("  its links found down, others taken for dead", `${links.length - wrong}, ${wrong}`);
  const written = new Set(writes.map((write) => write.name)).size;
  say(
    "  all others repaired after",
    `${after(writes.at(-1)?.time)}, ${updates} updates on ${written} switches`,
  );
  say("  processor time of the controller's process", `${((user + system) / 1e6).toFixed(1)} s`);
}
