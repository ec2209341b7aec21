import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pcap } from "./pcap.ts";

export const hasTshark = spawnSync("tshark", ["--version"]).status === 0;
if (!hasTshark) console.log("tshark was not found: the dissector is not run on captured packets");

/** What tshark knows of one packet: field name -> its values in the order of the packet, as tshark prints them. */
export type Dissected = ReadonlyMap<string, readonly string[]>;

/** Run tshark with a dissector over frames. Lua errors make it fail. */
export function dissect(
  lua: string,
  frames: readonly Uint8Array[],
  options: { readonly filter?: string; readonly snapLength?: number } = {},
): readonly Dissected[] {
  const folder = mkdtempSync(join(tmpdir(), "gradplane-dissector-"));
  try {
    const script = join(folder, "dissector.lua");
    const capture = join(folder, "capture.pcap");
    writeFileSync(script, lua);
    writeFileSync(capture, pcap(frames, options.snapLength));
    const filter = options.filter === undefined ? [] : ["-Y", options.filter];
    const args = [
      "-X",
      `lua_script:${script}`,
      "-r",
      capture,
      "-T",
      "json",
      "--no-duplicate-keys",
      ...filter,
    ];
    // `--no-duplicate-keys` makes a list of a field that occurs several times, as lanes do.
    const run = spawnSync("tshark", args, { encoding: "utf8", maxBuffer: 1 << 26 });
    const complaints = run.stderr.split("\n").filter((line) => line !== "" && !/running as user/i.test(line));
    if (run.status !== 0 || complaints.length > 0) throw new Error(`tshark: ${complaints.join("\n")}`);
    return packetsOf(JSON.parse(run.stdout)).map((layers) => {
      const fields = new Map<string, string[]>();
      collect(layers, fields);
      return fields;
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function packetsOf(output: unknown): readonly unknown[] {
  if (!Array.isArray(output)) throw new Error("tshark printed no list of packets");
  return output.map((packet: { _source: { layers: unknown } }) => packet._source.layers);
}

/** All leaves below a node, by key. */
function collect(node: unknown, fields: Map<string, string[]>): void {
  if (typeof node !== "object" || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof one === "string") fields.set(key, [...(fields.get(key) ?? []), one]);
      else collect(one, fields);
    }
  }
}

/** One line a packet, as the packet list shows it: protocol and information. */
export function packetList(lua: string, frames: readonly Uint8Array[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "gradplane-dissector-"));
  try {
    const script = join(folder, "dissector.lua");
    const capture = join(folder, "capture.pcap");
    writeFileSync(script, lua);
    writeFileSync(capture, pcap(frames));
    const columns = ["-T", "fields", "-e", "_ws.col.Protocol", "-e", "_ws.col.Info"];
    const output = execFileSync("tshark", ["-X", `lua_script:${script}`, "-r", capture, ...columns], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return output.trimEnd().split("\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** All that tshark prints of one packet, as the pane of details shows it. */
export function details(lua: string, frame: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), "gradplane-dissector-"));
  try {
    const script = join(folder, "dissector.lua");
    const capture = join(folder, "capture.pcap");
    writeFileSync(script, lua);
    writeFileSync(capture, pcap([frame]));
    return execFileSync("tshark", ["-X", `lua_script:${script}`, "-r", capture, "-V"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
