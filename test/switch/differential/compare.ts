import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { p4infoFromText } from "../../../src/p4info/index.ts";
import { readProgram, Switch, SwitchConfigError } from "../../../src/switch/index.ts";
import { Dice } from "../../backends/dice.ts";
import { SimpleSwitch } from "../../backends/simpleswitch.ts";
import { fillRandomly } from "./entries.ts";
import { knownDifference } from "./known.ts";
import { type Packet, PacketMaker, packetsOfScript } from "./packets.ts";

export interface CompareOptions {
  readonly p4c: string;
  readonly bmv2: string;
  readonly packets: number;
  readonly seed: number;
}

export type Comparison =
  | { readonly kind: "same"; readonly packets: number; readonly sent: number; readonly entries: number }
  /** Nothing was compared, and why. */
  | { readonly kind: "left out"; readonly reason: string }
  | { readonly kind: "different"; readonly packets: number; readonly first: string; readonly count: number };

/** Differences that are looked into. */
const PROBES = 3;
/** How long simple_switch_grpc may take over all packets of a program, in milliseconds. */
const PATIENCE = 240_000;

/** A program of p4c's, or anybody's, for v1model: the same JSON, entries and packets on both switches. */
export async function compare(file: string, o: CompareOptions): Promise<Comparison> {
  const folder = mkdtempSync(join(tmpdir(), "gradplane-"));
  try {
    const [json, info] = [join(folder, "p.json"), join(folder, "p.txtpb")];
    const args = ["--arch", "v1model", "-I", dirname(file), "-o", json, "--p4runtime-files", info, file];
    const compiled = spawnSync(o.p4c, args, { encoding: "utf8" });
    if (compiled.status !== 0) return { kind: "left out", reason: "p4c refuses it" };
    const script = scriptOf(file);
    return await compareCompiled(readFileSync(json, "utf8"), readFileSync(info, "utf8"), script, o);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function scriptOf(file: string): string {
  try {
    return readFileSync(file.replace(/\.p4$/, ".stf"), "utf8");
  } catch {
    return "";
  }
}

async function compareCompiled(
  json: string,
  infoText: string,
  script: string,
  o: CompareOptions,
): Promise<Comparison> {
  const known = knownDifference(json);
  if (known !== undefined) return { kind: "left out", reason: known };
  const info = p4infoFromText(infoText);
  const dice = new Dice(o.seed);
  const fresh = () => new Switch(json);
  let like: Switch;
  try {
    like = fresh();
  } catch (error) {
    if (error instanceof SwitchConfigError) return { kind: "left out", reason: error.message };
    throw error;
  }
  const maker = new PacketMaker(readProgram(json), packetsOfScript(script), dice);
  const packets = Array.from({ length: o.packets }, () => maker.make());
  fillRandomly(like, info, packets.slice(0, 400), fresh, dice);
  const entries = [...like.tables.values()].reduce((sum, t) => sum + [...t.entries()].length, 0);
  const ours = embedded(like, packets);
  const theirs = await real(infoText, json, like, packets, o.bmv2, undefined);
  if (typeof theirs === "string") return { kind: "left out", reason: theirs };
  let wrong = differences(packets, ours, theirs);
  if (wrong.length > 0) {
    // Its threads may overtake each other: what registers and recirculated packets meet is sure only for one packet at a time.
    const alone = await real(infoText, json, like, packets, o.bmv2, 1);
    if (typeof alone === "string") return { kind: "left out", reason: alone };
    wrong = differences(packets, ours, alone);
    const isLeftOver = await areOfEarlierPackets(wrong.slice(0, PROBES), async (i) => {
      const [packet] = packets.slice(i, i + 1);
      const fresh = packet === undefined ? "" : await real(infoText, json, like, [packet], o.bmv2, 1);
      return typeof fresh !== "string" && fresh[0]?.join() === ours[i]?.join();
    });
    if (isLeftOver && !keepsState(json))
      return { kind: "left out", reason: "reads what earlier packets left in headers that are not valid" };
  }
  const [first] = wrong;
  if (first !== undefined)
    return { kind: "different", packets: packets.length, first: first.text, count: wrong.length };
  const sent = ours.reduce((sum, out) => sum + out.length, 0);
  return { kind: "same", packets: packets.length, sent, entries };
}

/** The first packet of a BMv2 that was just started finds all fields of headers 0, valid or not; later ones find those of the packets before. */
async function areOfEarlierPackets(
  wrong: readonly Difference[],
  isSameWhenFirst: (packet: number) => Promise<boolean>,
): Promise<boolean> {
  for (const { packet } of wrong) if (!(await isSameWhenFirst(packet))) return false;
  return wrong.length > 0;
}

/** Whether packets may change what later ones meet. */
function keepsState(json: string): boolean {
  const { registers, meters } = readProgram(json);
  return registers.length + meters.length > 0;
}

interface Difference {
  readonly packet: number;
  readonly text: string;
}

function differences(
  packets: readonly Packet[],
  ours: readonly (readonly string[])[],
  theirs: readonly (readonly string[])[],
): readonly Difference[] {
  return packets.flatMap(({ port, data }, i) => {
    const [a, b] = [ours[i] ?? [], theirs[i] ?? []];
    if (a.join() === b.join()) return [];
    const hex = Buffer.from(data).toString("hex");
    const text = `packet ${i}, port ${port} ${hex}: ${a.join(" ") || "-"} but BMv2 ${b.join(" ") || "-"}`;
    return [{ packet: i, text }];
  });
}

function embedded(sw: Switch, packets: readonly Packet[]): readonly (readonly string[])[] {
  return packets.map(({ port, data }) =>
    sw
      .inject(port, data)
      .map((out) => `${out.port}:${Buffer.from(out.data).toString("hex")}`)
      .sort(),
  );
}

/** What came out of simple_switch_grpc, or why nothing can be said. */
async function real(
  info: string,
  json: string,
  like: Switch,
  packets: readonly Packet[],
  binary: string,
  burst: number | undefined,
): Promise<readonly (readonly string[])[] | string> {
  const bmv2 = await SimpleSwitch.start(binary);
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve("simple_switch_grpc does not end"), PATIENCE);
    });
    const work = async () => {
      await bmv2.load(info, json, like);
      const out = await bmv2.send(packets, burst);
      // No wire carries a frame without bytes; only ports on gRPC do.
      return out.map((sent) => sent.filter((frame) => !frame.endsWith(":")));
    };
    return await Promise.race([work(), late]);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return `simple_switch_grpc: ${message.split("\n")[0]} ${lastLine(bmv2.output)}`.trim();
  } finally {
    clearTimeout(timer);
    await bmv2.stop();
  }
}

function lastLine(output: string): string {
  return output.trim().split("\n").at(-1) ?? "";
}
