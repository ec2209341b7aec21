import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { API_VERSION } from "../../src/switch/p4runtime/server.ts";
import { bytes, PROGRAM_JSON, startServer } from "./bench.ts";
import { PROGRAM } from "./program.ts";

const PYTHON = "/usr/bin/python3";
const PROTO_DIR = join(import.meta.dirname, "../../src/p4runtime/proto");
const hasPython = spawnSync(PYTHON, ["-c", "import grpc, google.protobuf"]).status === 0;
const hasProtoc = spawnSync("protoc", ["--version"]).status === 0;
if (!hasPython || !hasProtoc)
  console.log("skipped: protoc or Python's grpc is not installed, so no client of another make is tried");

describe("a client on gRPC's C++ core", () => {
  it.skipIf(!hasPython || !hasProtoc)("works with this server, by default options", async () => {
    const modules = mkdtempSync(join(tmpdir(), "p4runtime-python-"));
    const protos = ["status", "p4types", "p4info", "p4data", "p4runtime"].map((name) => {
      const folder =
        { status: "google/rpc", p4types: "p4/config/v1", p4info: "p4/config/v1" }[name] ?? "p4/v1";
      return `${folder}/${name}.proto`;
    });
    execFileSync("protoc", ["-I", PROTO_DIR, `--python_out=${modules}`, ...protos]);
    const { server, target } = await startServer({
      program: { p4info: PROGRAM, deviceConfig: PROGRAM_JSON },
    });
    const script = join(import.meta.dirname, "scripts/foreign_client.py");
    const child = spawn(PYTHON, [script, server.address, modules], {
      stdio: ["ignore", "pipe", "inherit"],
      // Generated modules for google.rpc must not hide behind the installed google package.
      env: { ...process.env, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION: "python" },
    });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.endsWith("ready\n")) void sendBack();
    });
    const sendBack = async (): Promise<void> => {
      await expect.poll(() => target.packetOuts).toEqual([bytes("008001")]);
      target.packetIn(bytes("8000cafe"));
    };
    const [code] = await once(child, "close");
    rmSync(modules, { recursive: true });
    expect(text.split("\n")).toEqual([
      `version ${API_VERSION}`,
      "primary True 1",
      ...[1, 10, 100, 180, 1000].map((count) => `refused UNKNOWN ${count} {6}`),
      "read 1000 b'\\x03\\xe8'",
      "compressed True",
      "compressed True",
      "metadata 40000",
      "metadata 100000 RESOURCE_EXHAUSTED",
      "unusual NOT_FOUND",
      "unusual DEADLINE_EXCEEDED",
      "unusual UNIMPLEMENTED",
      `after that ${API_VERSION}`,
      "error 3",
      "ready",
      "packet b'\\xca\\xfe' [b'\\x01\\x00', b'\\x00']",
      "",
    ]);
    expect(code).toBe(0);
  });
});
