import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../src/cli/freeport.ts";
import { parseReady } from "../../src/cli/run/switchprocess.ts";
import { findTools, writeFiles } from "../backends/tools.ts";
import { type Running, start } from "../cli/gradplane.ts";

/** Debian's: the one that has python3-grpcio. */
const PYTHON = "/usr/bin/python3";
const PROTO_DIR = join(import.meta.dirname, "../../src/p4runtime/proto");
const SCRIPTS = join(import.meta.dirname, "scripts");

const { p4c, protoc, plugin } = findTools({
  p4c: ["P4C", "p4c-bm2-ss"],
  protoc: ["PROTOC", "protoc"],
  plugin: ["GRPC_PYTHON_PLUGIN", "grpc_python_plugin"],
});
const shell = process.env.P4RUNTIME_SHELL;
const tutorials = process.env.P4_TUTORIALS;
const canImport = (modules: string): boolean => spawnSync(PYTHON, ["-c", `import ${modules}`]).status === 0;
const hasTools =
  p4c !== undefined && protoc !== undefined && plugin !== undefined && canImport("grpc, google.protobuf");
const runsShell = hasTools && shell !== undefined && existsSync(shell) && canImport("IPython, traitlets");
const runsTutorials = hasTools && tutorials !== undefined && existsSync(tutorials);
if (!runsShell || !runsTutorials)
  console.log(
    "not all clients of other makes are tried: P4RUNTIME_SHELL and P4_TUTORIALS name clones of p4lang/p4runtime-shell and p4lang/tutorials, with p4c, protoc, its Python plugin for gRPC, and Python's grpc (and IPython for the shell)",
  );

const running: Running[] = [];
afterEach(async () => {
  for (const { child, end } of running.splice(0)) {
    child.kill("SIGKILL");
    await end;
  }
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "p4runtime-clients-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Messages that clients want beside those of P4Runtime: names of codes, and the way in which older controllers send a program. */
const moreProtos = {
  "google/rpc/code.proto": `syntax = "proto3"; package google.rpc; enum Code { ${[
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED",
  ]
    .join(" ")
    .split(" ")
    .map((name, code) => `${name} = ${code};`)
    .join(" ")} }`,
  "p4/tmp/p4config.proto": `syntax = "proto3"; package p4.tmp; message P4DeviceConfig {
    message Extras { map<string, string> kv = 1; }
    bool reassign = 1; Extras extras = 2; bytes device_data = 3; }`,
};

/** The Python modules of P4Runtime. */
function stubs(): string {
  const modules = folder();
  writeFiles(modules, new Map(Object.entries(moreProtos)));
  const files = ["google/rpc/status", "google/rpc/code", "p4/config/v1/p4types", "p4/config/v1/p4info"];
  files.push("p4/v1/p4data", "p4/v1/p4runtime", "p4/tmp/p4config");
  const out = [`--python_out=${modules}`, `--grpc_python_out=${modules}`];
  const own = `--plugin=protoc-gen-grpc_python=${plugin}`;
  const include = ["-I", PROTO_DIR, "-I", modules];
  execFileSync(protoc ?? "", [...include, ...out, own, ...files.map((file) => `${file}.proto`)]);
  return modules;
}

/** Compiles a P4 program; its BMv2 JSON and P4Info. */
function compile(program: string): { readonly json: string; readonly p4info: string } {
  const made = folder();
  const [json, p4info] = [join(made, "program.json"), join(made, "program.p4info.txtpb")];
  execFileSync(p4c ?? "", ["--arch", "v1model", "--p4runtime-files", p4info, "-o", json, program], {
    stdio: "ignore",
  });
  return { json, p4info };
}

async function startSwitch(...args: readonly string[]): Promise<NonNullable<ReturnType<typeof parseReady>>> {
  const it = start(["switch", "--no-p4", ...args]);
  running.push(it);
  const ready = expect
    .poll(() => parseReady(it.said.stdout.trimEnd()), { timeout: 60_000, interval: 20 })
    .toBeDefined();
  await Promise.race([ready, it.end.then((ended) => expect.fail(JSON.stringify(ended)))]);
  ready.catch(() => {});
  return parseReady(it.said.stdout.trimEnd()) ?? expect.fail("not ready");
}

function python(path: readonly string[], args: readonly string[], cwd: string) {
  const env = {
    ...process.env,
    PYTHONPATH: path.join(":"),
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONUNBUFFERED: "1",
    PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION: "python",
  };
  const child = spawn(PYTHON, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { text: "" };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      said.text += chunk.toString();
    });
  const end = once(child, "close");
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await end;
  });
  return { said, end };
}

/** An Ethernet frame with an IPv4 header without checksum, which the programs here do not look at. */
function ipv4Frame(macs: string, src: string, dst: string): Buffer {
  const addresses = [src, dst].flatMap((address) => address.split(".").map(Number));
  return Buffer.concat([
    Buffer.from(`${macs}08004500002c0001000040010000`, "hex"),
    Buffer.from(addresses),
    Buffer.alloc(24, "ping"),
  ]);
}

describe("clients of other makes", { timeout: 180_000 }, () => {
  it.skipIf(!runsShell)(
    "p4runtime-shell pushes a program, and writes and reads every kind of entity",
    async () => {
      const { json, p4info } = compile(join(SCRIPTS, "kinds.p4"));
      const { grpc, ports } = await startSwitch(
        ...["--grpc-server-addr", "127.0.0.1:0", "--cpu-port", "100", "-i", "1@udp", "-i", "2@udp"],
      );
      const script = join(SCRIPTS, "shell_session.py");
      const args = [script, grpc, p4info, json, `${ports.get(1)}`];
      const { said, end } = python([stubs(), shell ?? ""], args, folder());
      const [code] = await end;
      expect(said.text.match(/^failed .*$/gm)).toEqual([
        "failed insert twice: P4RuntimeWriteException Error(s) during Write:",
      ]);
      expect(said.text).toContain("ALREADY_EXISTS");
      for (const line of [
        "members 2",
        "groups 1",
        "one-shots 1",
        "direct counter [9]",
        "direct counters 1",
        "counter [4]",
        "counters 8",
        "meter [3]",
        "direct meter [3]",
        "digests 1",
        "packet-in ['01', '00']",
        "digest list ['04', '01']",
        "idle 1",
        "packet out of port 1 60",
        "left 0",
      ])
        expect(said.text).toContain(`ok ${line}\n`);
      expect(code).toBe(0);
    },
  );

  it.skipIf(!runsTutorials)(
    "the tutorials' controller tunnels between two switches and reads their counters",
    async (context) => {
      // These are in the controller's text.
      const addresses = ["127.0.0.1:50051", "127.0.0.1:50052"];
      for (const address of addresses)
        if (!(await isFree(Number(address.split(":")[1])))) context.skip(`${address} is in use`);
      const exercise = join(tutorials ?? "", "exercises/p4runtime");
      const { json, p4info } = compile(join(exercise, "advanced_tunnel.p4"));
      const hosts = await Promise.all([1, 2].map(udpSocket));
      const [link1, link2] = [await freePort(), await freePort()];
      const links = [`2@udp:${link1}:${link2}`, `2@udp:${link2}:${link1}`];
      const switches = await Promise.all(
        addresses.map((address, i) =>
          startSwitch(
            ...["--profile", "bmv2", "--device-id", `${i}`, "--grpc-server-addr", address],
            ...["-i", `1@udp:0:${hosts[i]?.address().port}`, "-i", links[i] ?? ""],
          ),
        ),
      );
      const cwd = folder();
      mkdirSync(join(cwd, "logs"));
      const script = join(exercise, "solution/mycontroller.py");
      const path = [stubs(), join(tutorials ?? "", "utils")];
      const { said } = python(path, [script, "--p4info", p4info, "--bmv2-json", json], cwd);
      await expect.poll(() => said.text, { timeout: 60_000 }).toContain("Reading tunnel counters");
      const [h1, h2] = hosts;
      const into = switches.map(({ ports }) => ports.get(1) ?? 0);
      for (let n = 0; n < 3; n++) {
        const there = once(h2 ?? expect.fail(), "message");
        h1?.send(ipv4Frame("080000000100080000000111", "10.0.1.1", "10.0.2.2"), into[0], "127.0.0.1");
        const [request]: Buffer[] = await there;
        // Out of the tunnel, and addressed to the host.
        expect(request?.toString("hex", 0, 14)).toBe("0800000002220800000001110800");
        const back = once(h1 ?? expect.fail(), "message");
        h2?.send(ipv4Frame("080000000200080000000222", "10.0.2.2", "10.0.1.1"), into[1], "127.0.0.1");
        await back;
      }
      for (const line of ["s1 MyIngress.ingressTunnelCounter 100", "s2 MyIngress.egressTunnelCounter 100"])
        await expect.poll(() => said.text, { timeout: 60_000 }).toContain(`${line}: 3 packets`);
      expect(said.text).not.toContain("gRPC Error");
    },
  );
});

async function udpSocket(): Promise<Socket> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  onTestFinished(() => void socket.close());
  await once(socket, "listening");
  return socket;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
