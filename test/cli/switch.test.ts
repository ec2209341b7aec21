import { spawn, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { UserError } from "../../src/cli/exit.ts";
import { parseReady } from "../../src/cli/run/switchprocess.ts";
import { switchVerb } from "../../src/cli/switch.ts";
import { insert, P4RuntimeClient, p4infoFromFile } from "../../src/p4runtime/index.ts";
import { DataplaneClient } from "../backends/dataplaneclient.ts";
import { folderWith } from "./folder.ts";
import { executable, gradplane, type Running, root, start } from "./gradplane.ts";

const PROGRAM = ["--json", join(root, "p4out/libra/libra.json"), "--p4info"];
const ANY_ADDRESS = ["--grpc-server-addr", "127.0.0.1:0"];

const running: Running[] = [];
afterEach(() => {
  for (const { child } of running.splice(0)) child.kill("SIGKILL");
});

/** Starts a switch and waits until it is ready, which fails with what it said if it ends before. */
async function startSwitch(...args: readonly string[]) {
  const it = start(["switch", ...ANY_ADDRESS, ...args]);
  running.push(it);
  const ready = expect
    .poll(() => parseReady(it.said.stdout.trimEnd()), { timeout: 60_000, interval: 20 })
    .toBeDefined();
  await Promise.race([ready, it.end.then((ended) => expect.fail(JSON.stringify(ended)))]);
  ready.catch(() => {});
  return { ...it, ready: parseReady(it.said.stdout.trimEnd()) ?? expect.fail("not ready") };
}

async function connect(address: string, deviceId = 1n): Promise<P4RuntimeClient> {
  const client = await P4RuntimeClient.connect({ address, deviceId });
  onTestFinished(() => client.close());
  return client;
}

describe("gradplane switch", { timeout: 60_000 }, () => {
  test("says in one line where it serves, and ends with 0 on SIGTERM", async () => {
    const it = await startSwitch("--no-p4", "-i", "0@udp", "-i", "7@udp:0:5000", "--cpu-port", "510");
    expect(it.said.stdout).toMatch(/^ready grpc=127\.0\.0\.1:\d+ 0@udp:\d+ 7@udp:\d+\n$/);
    it.child.kill("SIGTERM");
    expect(await it.end).toMatchObject({ status: 0, stderr: "" });
  });

  test.each(["p4info.txtpb", "p4info.bin"])("tells clients the program of its files (%s)", async (p4info) => {
    const it = await startSwitch(...PROGRAM, join(root, "p4out/libra", p4info), "--cpu-port", "510");
    const client = await connect(it.ready.grpc);
    const schema = await client.useProgram();
    expect(schema.tables.get("forwarding.route").size).toBe(1024);
    const pipeline = await client.getPipeline();
    expect(pipeline?.p4DeviceConfig.length).toBeGreaterThan(1000);
    expect(await client.getCookie()).toBeUndefined();
    // Reads work without a push, and an open client does not keep the switch from ending.
    expect(await client.readAll([client.entities.allEntries("forwarding.route")])).toEqual([]);
    it.child.kill("SIGINT");
    expect(await it.end).toMatchObject({ status: 0, stderr: "" });
  });

  test("runs the Tofino program as a Tofino, on device ports", async () => {
    const files = [
      "--json",
      join(root, "p4out/libra/tna/libra.json"),
      "--p4info",
      join(root, "p4out/libra/tna/p4info.bin"),
    ];
    const it = await startSwitch(
      "--personality",
      "tna",
      ...files,
      "-i",
      "0@udp",
      "-i",
      "128@udp",
      "--cpu-port",
      "64",
    );
    const client = await connect(it.ready.grpc);
    expect((await client.useProgram()).info.pkgInfo?.arch).toBe("tna");
    expect((await client.arbitrate(1n)).isPrimary).toBe(true);
    it.child.kill("SIGTERM");
    expect(await it.end).toMatchObject({ status: 0, stderr: "" });
    for (const [args, reason] of [
      [["-i", "100@udp"], "-i: a Tofino with 2 pipes has no port 100"],
      [["-i", "256@udp"], "-i: a Tofino with 2 pipes has no port 256"],
      [["--pipes", "3"], '--pipes is "3"; a Tofino has 2 or 4'],
      [["--on", "bmv2"], "simple_switch_grpc is v1model only"],
    ] as const)
      await expect(switchVerb.run(["--no-p4", "--personality", "tna", ...args])).rejects.toThrow(reason);
    const mixed = ["--no-p4", "--on", "bmv2", "-i", "0@eth0", "-i", "1@udp"];
    await expect(switchVerb.run(mixed)).rejects.toThrow(
      "port 1: simple_switch_grpc has Linux interfaces, or none",
    );
    const wrong = [...PROGRAM, join(root, "p4out/libra/p4info.bin"), "--personality", "tna", ...ANY_ADDRESS];
    const { status, stderr } = await gradplane(["switch", ...wrong]);
    expect(status).toBe(1);
    expect(stderr).toContain("no program for the tna personality");
  });

  test("two run side by side, each its own device", async () => {
    const [one, two] = await Promise.all([
      startSwitch("--no-p4", "-i", "0@udp", "--device-id", "1"),
      startSwitch("--no-p4", "-i", "0@udp", "--device-id", "2"),
    ]);
    expect(one.ready.grpc).not.toBe(two.ready.grpc);
    expect(one.ready.ports.get(0)).not.toBe(two.ready.ports.get(0));
    for (const [it, deviceId] of [
      [one, 1n],
      [two, 2n],
    ] as const) {
      const client = await connect(it.ready.grpc, deviceId);
      expect((await client.arbitrate(1n)).isPrimary).toBe(true);
    }
    one.child.kill("SIGKILL");
    two.child.kill("SIGTERM");
    expect((await two.end).status).toBe(0);
  });

  test("ends when a parent with a channel to it is gone", async () => {
    const child = spawn(process.execPath, [executable, "switch", "--no-p4", ...ANY_ADDRESS], {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    if (child.stdout === null) expect.fail("no pipe");
    const exit = once(child, "exit");
    const [line] = await once(child.stdout, "data");
    expect(String(line)).toMatch(/^ready /);
    child.disconnect();
    expect(await exit).toEqual([0, null]);
  });
});

describe("queues of a switch", { timeout: 60_000 }, () => {
  const document = [
    "ports:",
    "  all: { rate: 1 Gbit/s, queues: { 6: { drop: 4, mark: 8 }, all: { depth: 32 } } }",
    "  0: { buffer: 64 KiB }",
    "droppable-dscp: [12]",
  ].join("\n");

  test("are set by a file, by options, and at run time; figures are there for Prometheus", async () => {
    const folder = folderWith({ "queues.yaml": document });
    const it = await startSwitch(
      ...["--no-p4", "-i", "0@udp", "--traffic", join(folder, "queues.yaml"), "--port-rate", "0=9 kbit/s"],
      ...["--admin-addr", "127.0.0.1:0", "--metrics", "127.0.0.1:0"],
    );
    const place = (word: string) => new RegExp(` ${word}=(\\S+)`).exec(it.said.stdout)?.[1] ?? "";
    const port = async () => (await fetch(`http://${place("admin")}/ports/0`)).json();
    expect(await port()).toMatchObject({
      rate: "9000 bit/s",
      buffer: 65_536,
      queues: expect.arrayContaining([
        expect.objectContaining({ queue: 6, depth: { packets: 32 }, drop: { packets: 4 } }),
      ]),
    });
    await fetch(`http://${place("admin")}/ports/all`, { method: "PATCH", body: '{"rate":"unlimited"}' });
    expect(await port()).toMatchObject({ rate: "unlimited" });
    const metrics = await (await fetch(`http://${place("metrics")}/metrics`)).text();
    expect(metrics).toContain("gradplane_switch_has_pipeline 0\n");
    it.child.kill("SIGTERM");
    expect(await it.end).toMatchObject({ status: 0, stderr: "" });
  });

  test.each([
    ["--port-rate", "3", '--port-rate is "3"; write PORT=RATE'],
    ["--port-rate", "3=quick", "--port-rate: ports.3.rate: "],
    ["--queue-depth", "many", "--queue-depth: ports.all.queues.all.depth: "],
    ["--pacing", "both", 'pacing is "both"; it is port, or queue as in BMv2'],
    ["--traffic", "/nowhere.yaml", "cannot read /nowhere.yaml"],
    ["--metrics", "here", '--metrics is "here"; write HOST:PORT'],
  ])("that make no sense are refused: %s %s", async (option, value, reason) => {
    await expect(switchVerb.run(["--no-p4", option, value])).rejects.toThrow(reason);
  });
});

describe("a switch as a program like simple_switch_grpc", { timeout: 120_000 }, () => {
  const p4info = join(root, "p4out/libra/p4info.txtpb");
  const frame = (text: string) =>
    Buffer.concat([Buffer.from("0200000001000200000000010800", "hex"), Buffer.from(text)]);

  test("takes its options, and a program without P4Info; ports are there by gRPC", async () => {
    const it = await startSwitch(
      ...[
        join(root, "p4out/libra/libra.json"),
        "--thrift-port",
        "9999",
        "--pcap",
        "--log-flush",
        "--",
        "--cpu-port",
        "510",
      ],
      ...["--dp-grpc-server-addr", "127.0.0.1:0", "--trace"],
    );
    const address = / dataplane=(\S+)/.exec(it.said.stdout)?.[1] ?? "";
    const dataplane = new DataplaneClient(address, 1n);
    onTestFinished(() => dataplane.close());
    // Nothing in its tables lets it through; the trace says where it ends.
    expect(await dataplane.burst([{ port: 3, data: frame("short") }])).toEqual([]);
    await expect
      .poll(() => it.said.stderr)
      .toMatch(/ trace packet 1: ingress {2}port 3, 19 bytes\n.* trace {3}parser {3}/);
    expect(it.said.stderr).toMatch(/ trace {3}drop {5}ingressDrop\n/);
    expect(it.said.stderr).toMatch(/ info {2}ready grpc=/);
    const client = await connect(it.ready.grpc);
    await expect(client.useProgram()).rejects.toThrow();
    it.child.kill("SIGTERM");
    expect((await it.end).status).toBe(0);
  });

  test("writes what happens to a file, from a level on", async () => {
    const folder = folderWith({});
    const file = join(folder, "switch.log");
    const it = await startSwitch("--no-p4", "-i", "0@udp", "--log-file", file, "-L", "info");
    const client = await connect(it.ready.grpc);
    await client.arbitrate(1n);
    await client.pushPipeline(
      p4infoFromFile(readFileSync(p4info), p4info),
      readFileSync(join(root, "p4out/libra/libra.json")),
    );
    await client.close();
    await expect.poll(() => readFileSync(file, "utf8")).toMatch(/stream closed, 0 are open/);
    it.child.kill("SIGTERM");
    expect(await it.end).toMatchObject({ status: 0, stderr: "" });
    const text = readFileSync(file, "utf8");
    expect(text).toMatch(
      / info {2}ready grpc=[\s\S]* info {2}a controller's stream opened, 1 are open[\s\S]* info {2}pipeline: VERIFY_AND_COMMIT\n/,
    );
    expect(text).toMatch(/ info {2}ending\n$/);
    expect(text).not.toMatch(/ (trace|debug) /);
    await expect(switchVerb.run(["--no-p4", "--log-level", "loud"])).rejects.toThrow('--log-level is "loud"');
  });

  test("keeps its state over its end, over SIGKILL since the last SIGUSR1, and says when a snapshot is no use", async () => {
    const folder = folderWith({});
    const file = join(folder, "s1.snapshot");
    const args = ["--no-p4", "--cpu-port", "510", "--snapshot", file, "--admin-addr", "127.0.0.1:0"];
    const one = await startSwitch(...args, "--port-rate", "3=1 Mbit/s");
    const client = await connect(one.ready.grpc);
    await client.arbitrate(1n);
    await client.pushPipeline(
      p4infoFromFile(readFileSync(p4info), p4info),
      readFileSync(join(root, "p4out/libra/libra.json")),
    );
    const route = (to: P4RuntimeClient, dst: string) =>
      to.write([
        insert(
          to.entities.tableEntry("forwarding.route", { dst_addr: dst }, "forwarding.to_port", {
            port: 1,
            dst_mac: "02:00:00:00:00:01",
          }),
        ),
      ]);
    const routes = async (of: P4RuntimeClient) =>
      (await of.readAll([of.entities.allEntries("forwarding.route")])).length;
    await route(client, "10.0.1.0/24");
    await client.close();
    one.child.kill("SIGTERM");
    expect(await one.end).toMatchObject({ status: 0, stderr: "" });

    const two = await startSwitch(...args);
    const admin = / admin=(\S+)/.exec(two.said.stdout)?.[1] ?? "";
    expect(await (await fetch(`http://${admin}/ports/3`)).json()).toMatchObject({ rate: "1000000 bit/s" });
    const again = await connect(two.ready.grpc);
    await again.useProgram();
    expect(await routes(again)).toBe(1);
    await again.arbitrate(1n);
    await route(again, "10.0.2.0/24");
    const before = readFileSync(file);
    two.child.kill("SIGUSR1");
    await expect.poll(() => readFileSync(file).equals(before)).toBe(false);
    await route(again, "10.0.3.0/24");
    await again.close();
    two.child.kill("SIGKILL");
    await two.end;

    const three = await startSwitch(...args);
    const third = await connect(three.ready.grpc);
    await third.useProgram();
    expect(await routes(third)).toBe(2);
    three.child.kill("SIGKILL");
    await three.end;

    const other = await gradplane(["switch", ...ANY_ADDRESS, ...args, "--device-id", "2"]);
    expect(other).toMatchObject({ status: 1, stdout: "" });
    expect(other.stderr).toBe(
      `gradplane: --snapshot ${file} cannot be used: it is of device 1; this is device 2; remove it to begin anew\n`,
    );
    writeFileSync(file, "something else");
    expect((await gradplane(["switch", ...ANY_ADDRESS, ...args])).stderr).toContain(
      "it is no snapshot of a switch",
    );
  });

  test("keeps the state of a Tofino, and refuses a snapshot of another personality", async () => {
    const folder = folderWith({});
    const file = join(folder, "s1.snapshot");
    const rest = ["--no-p4", "--cpu-port", "64", "--snapshot", file];
    const args = ["--personality", "tna", ...rest];
    const text = (name: string): Buffer => readFileSync(join(root, "p4out/libra/tna", name));
    const one = await startSwitch(...args);
    const client = await connect(one.ready.grpc);
    await client.arbitrate(1n);
    await client.pushPipeline(p4infoFromFile(text("p4info.txtpb"), "p4info.txtpb"), text("libra.json"));
    await client.close();
    one.child.kill("SIGTERM");
    expect(await one.end).toMatchObject({ status: 0, stderr: "" });
    const two = await startSwitch(...args);
    const again = await connect(two.ready.grpc);
    expect((await again.useProgram()).tables.all.length).toBeGreaterThan(3);
    await again.close();
    two.child.kill("SIGTERM");
    expect(await two.end).toMatchObject({ status: 0, stderr: "" });
    const { status, stderr } = await gradplane(["switch", ...ANY_ADDRESS, ...rest]);
    expect([status, stderr]).toEqual([
      1,
      `gradplane: --snapshot ${file} cannot be used: it is of the tna personality; remove it to begin anew\n`,
    ]);
  });
});

describe("a switch that cannot have what it was asked for", { timeout: 60_000 }, () => {
  test("names the P4Runtime address that is taken, and exits with 2", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void taken.close());
    await once(taken, "listening");
    const bound = taken.address();
    const address = `127.0.0.1:${typeof bound === "object" ? bound?.port : bound}`;
    const { status, stdout, stderr } = await gradplane([
      ...["switch", "--no-p4", "-i", "0@udp"],
      ...["--grpc-server-addr", address],
    ]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toBe(
      `gradplane: cannot serve P4Runtime on ${address}: the address is in use (EADDRINUSE)\n`,
    );
  });

  test("names the UDP port that is taken, and exits with 2", async () => {
    const taken = createSocket("udp4").bind(0, "127.0.0.1");
    onTestFinished(() => void taken.close());
    await once(taken, "listening");
    const { port } = taken.address();
    const { status, stdout, stderr } = await gradplane([
      ...["switch", "--no-p4", ...ANY_ADDRESS],
      ...["-i", "0@udp", "-i", `3@udp:${port}`],
    ]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain(`gradplane: port 3 cannot listen on UDP port ${port}: `);
    expect(stderr).toContain("EADDRINUSE");
  });

  test("serves by TLS, to clients with a certificate alone if it is told to", async ({ skip }) => {
    const folder = folderWith({});
    const file = (name: string): string => join(folder, name);
    const make = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"];
    const names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    const made = spawnSync("openssl", [...make, ...names, "-keyout", file("key"), "-out", file("cert")]);
    if (made.status !== 0) skip("openssl");
    const it = await startSwitch(
      ...[
        "--no-p4",
        "--grpc-server-ssl",
        "--grpc-server-cert",
        file("cert"),
        "--grpc-server-key",
        file("key"),
      ],
      ...["--grpc-server-cacert", file("cert"), "--grpc-server-with-client-auth"],
    );
    const [cert, key] = [readFileSync(file("cert")), readFileSync(file("key"))];
    const address = it.ready.grpc;
    const known = await P4RuntimeClient.connect({ address, tls: { ca: cert, certificate: cert, key } });
    onTestFinished(() => known.close());
    expect((await known.arbitrate(1n)).isPrimary).toBe(true);
    await expect(P4RuntimeClient.connect({ address, tls: { ca: cert } })).rejects.toThrow(address);
    await expect(P4RuntimeClient.connect({ address })).rejects.toThrow(address);
  });

  test("names the interface that there is not, and exits with 2", async () => {
    const { status, stdout, stderr } = await gradplane([
      ...["switch", "--no-p4", ...ANY_ADDRESS],
      ...["-i", "0@udp", "-i", "1@gpnowhere"],
    ]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toBe('gradplane: there is no interface gpnowhere; "ip link" lists them\n');
  });

  test.each([
    ["0@pcap:nowhere.pcap", "cannot read nowhere.pcap: "],
    ["0@pcap::nowhere/out.pcap", "cannot write nowhere/out.pcap: "],
  ])("names the capture that cannot be had (%s)", async (port, reason) => {
    const { status, stderr } = await gradplane(["switch", "--no-p4", ...ANY_ADDRESS, "-i", port]);
    expect(status).toBe(1);
    expect(stderr).toContain(`gradplane: ${reason}`);
  });

  test("names the file that it cannot read, or that is no program", async () => {
    const folder = folderWith({ "broken.json": "{", "broken.txtpb": "tables {" });
    const p4info = join(root, "p4out/libra/p4info.bin");
    for (const [json, info, reason] of [
      ["nowhere.json", p4info, "cannot read nowhere.json: "],
      ["broken.json", "nowhere.bin", "cannot read nowhere.bin: "],
      ["broken.json", p4info, "the program cannot run: "],
      ["broken.json", "broken.txtpb", "--p4info broken.txtpb is no P4Info: broken.txtpb:1:9: "],
    ] as const) {
      const args = ["switch", "--json", json, "--p4info", info, ...ANY_ADDRESS];
      const { status, stdout, stderr } = await gradplane(args, folder);
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
      expect(stderr).toContain(`gradplane: ${reason}`);
    }
  });
});

/** In this process, since each has the same way out: a UserError becomes one line and exit code 1. */
describe("wrong arguments of gradplane switch", () => {
  test.each([
    ["-i", "0@veth/0", '-i "0@veth/0": write PORT@INTERFACE, PORT@udp'],
    ["-i", "udp:50000", '-i "udp:50000": write PORT@INTERFACE, PORT@udp'],
    ["-i", "0@udp:", '-i "0@udp:": write PORT@INTERFACE, PORT@udp'],
    ["--pcap-wait", "soon", '--pcap-wait is "soon"; it is a whole number from 0 to 86400'],
    ["-i", "511@udp", '--interface is "511"; it is a whole number from 0 to 510'],
    ["-i", "0@udp:65536", '--interface is "65536"; it is a whole number from 0 to 65535'],
    ["-i", "0@udp:0:0", '--interface is "0"; it is a whole number from 1 to 65535'],
    ["--device-id", "0", '--device-id is "0"; it is a whole number from 1 to '],
    ["--cpu-port", "none", '--cpu-port is "none"; it is a whole number from 1 to 510'],
    ["--priority-queues", "9", '--priority-queues is "9"; it is a whole number from 1 to 8'],
    ["--grpc-server-addr", "9559", '--grpc-server-addr is "9559"; write HOST:PORT'],
    ["--grpc-server-cert", "cert.pem", "certificates have no effect without --grpc-server-ssl"],
    ["--on", "hardware", '--on is "hardware"; it is embedded or bmv2'],
    ["--personality", "tofino", '--personality is "tofino"; it is v1model or tna'],
    ["--pipes", "2", "--pipes: only a Tofino (--personality tna) has pipes"],
    ["--p4info", "p4info.bin", "--json FILE and --p4info FILE go together"],
  ])("%s %s", async (option, value, reason) => {
    await refuses(["--no-p4", option, value], reason);
  });

  test.each([
    ["neither a program nor --no-p4", [], "give --json FILE and --p4info FILE, or --no-p4"],
    [
      "both a program and --no-p4",
      ["--no-p4", "--json", "a", "--p4info", "b"],
      "give --json FILE and --p4info FILE, or --no-p4",
    ],
    ["a program without its P4Info", ["--json", "a"], "--json FILE and --p4info FILE go together"],
    ["a port twice", ["--no-p4", "-i", "3@udp", "-i", "3@udp"], "-i: port 3 is given already"],
    [
      "the CPU port as an interface",
      ["--no-p4", "-i", "64@udp", "--cpu-port", "64"],
      "-i: port 64 is the CPU port already",
    ],
    ["something that is no option", ["--no-p4", "libra.p4"], '"libra.p4" is no option'],
  ])("%s", async (_, args, reason) => {
    await refuses(args, reason);
  });
});

async function refuses(args: readonly string[], reason: string): Promise<void> {
  const error: unknown = await switchVerb.run(args).catch((e) => e);
  expect(error).toBeInstanceOf(UserError);
  expect(String(error)).toContain(`UserError: ${reason}`);
}
