import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer as createHttp2Server } from "node:http2";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { Etcd3 } from "etcd3";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { onPath } from "../../src/backends/onpath.ts";
import { freePort } from "../../src/cli/freeport.ts";
import { p4infoToBinary } from "../../src/p4info/index.ts";
import { etcd, startEtcd } from "../controller/etcd.ts";
import { loadable } from "../controller/fabric.ts";
import { folderWith } from "./folder.ts";
import { type Ended, inTurn, type Running, start } from "./gradplane.ts";

const hasOpenssl = onPath("openssl", process.env.PATH) !== undefined;
if (!hasOpenssl) console.log("skipped: openssl is not here, so there are no certificates to be wrong");

/** Every fault with every verb, each a process; otherwise each fault with one verb, and the first with all, in a few processes. */
const isLong = process.env.GRADPLANE_LONG_TESTS !== undefined;

/** Milliseconds after which a verb is ended by force; it gives up by itself after 2 s of silence. */
const LIMIT = 30_000;

/** For switches that are there, however slow the machine is. */
const PATIENT = ["--timeout", "60000"];

async function ended(running: Running): Promise<Ended> {
  const limit = setTimeout(() => running.child.kill("SIGKILL"), LIMIT);
  const end = await running.end;
  clearTimeout(limit);
  return end;
}

/** What is on the wrong side of a switch's address, and the words by which it is told. */
interface Fault {
  readonly what: string;
  readonly target: string;
  /** Of the topology file, with files of the folder. */
  readonly tls?: Readonly<Record<string, string>>;
  readonly says: RegExp;
  /** The program is refused, which only those hear of who load it. */
  readonly program?: true;
}

describe.skipIf(!hasOpenssl)("a switch that cannot be steered", { timeout: 300_000 }, () => {
  let folder = "";
  const stops: (() => void)[] = [];
  const targets = { plain: "", tls: "", mutual: "", silent: "", mute: "", gone: "" };

  const ssl = (...args: string[]): void =>
    void execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const certificate = (name: string): void =>
    ssl(
      ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"],
      ...["-keyout", `${name}.key`, "-out", `${name}.pem`, "-subj", `/CN=${name}`],
      ...["-addext", `subjectAltName=DNS:${name}`],
    );
  const switchAt = async (...args: string[]): Promise<string> => {
    const args0 = ["switch", "--no-p4", "--device-id", "1", "--cpu-port", "100"];
    const running = start([...args0, "--grpc-server-addr", "127.0.0.1:0", ...args], folder);
    stops.push(() => void running.child.kill("SIGKILL"));
    await vi.waitFor(() => expect(running.said.stdout).toMatch(/^ready /m), { timeout: 60_000 });
    return /grpc=(\S+)/.exec(running.said.stdout)?.[1] ?? "";
  };
  const listening = async (server: Server): Promise<string> => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    stops.push(() => void server.close());
    const address = server.address();
    return `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  };

  beforeAll(async () => {
    folder = folderWith();
    const { p4info, deviceConfig } = loadable();
    writeFileSync(join(folder, "p.bin"), p4infoToBinary(p4info));
    writeFileSync(join(folder, "p.json"), deviceConfig);
    const [table, ...tables] = p4info.tables;
    const preamble = { ...table?.preamble, name: "forwarding.nowhere", alias: "nowhere" };
    const wrong = { ...p4info, tables: [{ ...table, preamble }, ...tables] };
    writeFileSync(join(folder, "wrong.bin"), p4infoToBinary(wrong));
    for (const name of ["own", "other", "client"]) certificate(name);
    ssl("rsa", "-aes256", "-in", "client.key", "-out", "locked.key", "-passout", "pass:right");
    const tls = ["--grpc-server-ssl", "--grpc-server-cert", "own.pem", "--grpc-server-key", "own.key"];
    const [plain, secure, mutual] = await Promise.all([
      switchAt(),
      switchAt(...tls),
      switchAt(...tls, "--grpc-server-cacert", "client.pem", "--grpc-server-with-client-auth"),
    ]);
    Object.assign(targets, { plain, tls: secure, mutual });
    targets.silent = await listening(createServer((socket) => socket.on("error", () => {})));
    // HTTP/2 and all, but no answer to any call.
    const mute = createHttp2Server();
    mute.on("session", (session) => session.on("error", () => {}));
    mute.on("stream", (stream) => stream.on("error", () => {}));
    targets.mute = await listening(mute);
    targets.gone = `127.0.0.1:${await freePort()}`;
  }, 120_000);
  afterAll(() => {
    for (const stop of stops) stop();
  });

  const own = { ca: "own.pem", serverName: "own" };
  const mine = { ...own, certificate: "client.pem" };
  const faults = (): readonly Fault[] => [
    { what: "no switch at its address", target: targets.gone, says: /ECONNREFUSED/ },
    { what: "a name that nobody has", target: "no-such-host.invalid:9559", says: /no-such-host\.invalid/ },
    { what: "one that accepts and is silent", target: targets.silent, says: /DEADLINE|not answered/i },
    { what: "one that answers no call", target: targets.mute, says: /DEADLINE|not answered/i },
    { what: "one with TLS, asked without", target: targets.tls, says: /expect TLS/ },
    {
      what: "one without TLS, asked with it",
      target: targets.plain,
      tls: own,
      says: /TLS failed.*plain text/,
    },
    {
      what: "a certificate of an unknown authority",
      target: targets.tls,
      tls: { ...own, ca: "other.pem" },
      says: /TLS failed: the certificate was not accepted/,
    },
    {
      what: "a certificate for another name",
      target: targets.tls,
      tls: { ca: "own.pem", serverName: "elsewhere" },
      says: /TLS failed: the certificate was not accepted/,
    },
    {
      what: "no certificate of one's own",
      target: targets.mutual,
      tls: own,
      says: /TLS failed: .*certificate/,
    },
    {
      what: "a certificate of one's own that the switch does not trust",
      target: targets.mutual,
      tls: { ...own, certificate: "other.pem", key: "other.key" },
      says: /TLS failed: .*certificate/,
    },
    {
      what: "another certificate's key",
      target: targets.mutual,
      tls: { ...mine, key: "other.key" },
      says: /the key is not that of the certificate/,
    },
    {
      what: "a key without its password",
      target: targets.mutual,
      tls: { ...mine, key: "locked.key" },
      says: /the key of the certificate is encrypted, and there is no passphrase/,
    },
    {
      what: "a key with a wrong password",
      target: targets.mutual,
      tls: { ...mine, key: "locked.key", passphrase: "wrong" },
      says: /the passphrase does not open the key/,
    },
    {
      what: "a P4Info that names what the program has not",
      target: targets.plain,
      says: /nowhere/,
      program: true,
    },
  ];

  function topology(at: number, { target, tls, program }: Fault): string {
    const parts = Object.entries(tls ?? {}).map(([key, value]) => `${key}: "${value}"`);
    const options = tls === undefined ? "" : `, tls: { ${parts.join(", ")} }`;
    const file = join(folder, `net${at}.yaml`);
    writeFileSync(
      file,
      [
        `program: { p4info: ${program === true ? "wrong.bin" : "p.bin"}, config: p.json }`,
        "switches:",
        `  s1: { target: "${target}", mac: "02:00:00:00:01:01", ipv4: 10.9.0.1${options} }`,
      ].join("\n"),
    );
    return file;
  }

  /** What command lines say, beside what each is about. */
  async function said<C extends { readonly args: readonly string[]; readonly target: string }>(
    commands: readonly C[],
  ): Promise<readonly (C & Ended)[]> {
    if (isLong) {
      const ends: (C & Ended)[] = [];
      // Where a switch answers, each would take it from the others.
      for (const command of commands)
        ends.push({ ...command, ...(await ended(start(command.args, folder))) });
      return ends;
    }
    // Those who wait for the silent ones do so beside the others.
    const isSilent = ({ target }: C): boolean => target === targets.silent || target === targets.mute;
    const groups = [commands.filter(isSilent), commands.filter((c) => !isSilent(c))].map(async (group) => {
      const lines = group.map(({ args }) => args);
      const ends = await inTurn(lines, { cwd: folder });
      return group.flatMap((command, i) => {
        const end = ends[i];
        return end === undefined ? [] : [{ ...command, ...end }];
      });
    });
    return (await Promise.all(groups)).flat();
  }

  test("is named by every verb that works with topologies, with what is wrong, and the verb ends with 2", async () => {
    const commands = faults().flatMap((fault, at) => {
      const all = [
        ["apply"],
        ["drain", "s1"],
        ["controller", "--listen", "127.0.0.1:0", "--jobs", "127.0.0.1:0"],
        ...(fault.program === true ? [] : [["diff"], ["status"]]),
      ];
      const file = topology(at, fault);
      return all
        .filter((_, i) => isLong || at === 0 || i === at % all.length)
        .map((words) => ({ ...fault, args: [...words, "--topology", file] }));
    });
    const outcomes = await said(commands);
    expect(outcomes).toHaveLength(commands.length);
    for (const { what, args, says, status, stdout, stderr } of outcomes) {
      const [verb] = args;
      const told = verb === "diff" || verb === "status" ? stdout : stderr;
      expect({ what, verb, told, status }).toEqual({ what, verb, told, status: 2 });
      expect(told, `${what}: ${verb}`).toMatch(/s1\b/);
      expect(told, `${what}: ${verb}`).toMatch(says);
      expect(stderr).not.toContain("fault of gradplane");
    }
  });

  test("is named by gradplane p4rt, with what is wrong, and it ends with 2", async () => {
    const secret = join(folder, "passphrase");
    writeFileSync(secret, "wrong\n");
    const commands = faults().flatMap(({ tls = {}, program, ...fault }) => {
      if (program === true) return [];
      const options = Object.entries({
        ca: tls.ca,
        cert: tls.certificate,
        key: tls.key,
        "server-name": tls.serverName,
        "passphrase-file": tls.passphrase === undefined ? undefined : secret,
      }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
      const isFirst = fault.target === targets.gone;
      const verbs = [
        ["info"],
        ["write", "remove", "x"],
        ...(isFirst ? [["read"], ["watch"], ["shell"]] : []),
      ];
      return verbs.map((words) => ({
        ...fault,
        args: ["p4rt", ...words, "--target", fault.target, ...options],
      }));
    });
    for (const { what, target, args, says, status, stderr } of await said(commands)) {
      expect({ what, args, stderr, status }).toEqual({ what, args, stderr, status: 2 });
      expect(stderr, `${what}: ${args}`).toMatch(says);
      expect(stderr).toContain(target);
      expect(stderr).not.toContain("fault of gradplane");
    }
  });

  test("has another program than the P4Info that gradplane p4rt is given", async () => {
    const target = await switchAt();
    const { P4RuntimeClient } = await import("../../src/p4runtime/index.ts");
    const client = await P4RuntimeClient.connect({ address: target });
    onTestFinished(() => client.close());
    await client.arbitrate(1n);
    await client.pushPipeline(loadable().p4info, loadable().deviceConfig);
    const asked = (file: string) =>
      ended(start(["p4rt", "read", "--target", target, "--p4info", join(folder, file), ...PATIENT]));
    expect(await asked("p.bin")).toMatchObject({ status: 0, stderr: "" });
    const refused = await asked("wrong.bin");
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain("there is no forwarding.nowhere with id");
  });

  test("is waited for by gradplane controller --wait", async () => {
    const port = await freePort();
    const file = topology(99, { what: "", target: `127.0.0.1:${port}`, says: /x/ });
    const listen = ["--listen", "127.0.0.1:0", "--jobs", "127.0.0.1:0", "--timeout", "1"];
    const waiting = start(["controller", "--topology", file, "--wait", ...listen], folder);
    stops.push(() => void waiting.child.kill("SIGKILL"));
    await expect.poll(() => waiting.said.stdout, { timeout: 60_000 }).toContain('"lost"');
    const late = start(
      [
        "switch",
        "--no-p4",
        "--device-id",
        "1",
        "--cpu-port",
        "100",
        "--grpc-server-addr",
        `127.0.0.1:${port}`,
      ],
      folder,
    );
    stops.push(() => void late.child.kill("SIGKILL"));
    await expect.poll(() => waiting.said.stdout, { timeout: 60_000 }).toContain('"state":"ready"');
    waiting.child.kill("SIGTERM");
    expect((await ended(waiting)).status).toBe(0);
  });

  test("among others that can be leaves the controller at work, and its events say what is wrong", async () => {
    const file = join(folder, "two.yaml");
    const tls = `{ ca: "other.pem", serverName: "own" }`;
    const node = (name: string, target: string, more: string): string =>
      `  ${name}: { target: "${target}", mac: "02:00:00:00:01:01", ipv4: 10.9.0.1${more} }`;
    writeFileSync(
      file,
      [
        "program: { p4info: p.bin, config: p.json }",
        "switches:",
        node("s1", await switchAt(), ""),
        node("s2", targets.tls, `, tls: ${tls}`).replace("10.9.0.1", "10.9.0.2"),
      ].join("\n"),
    );
    const listen = ["--listen", "127.0.0.1:0", "--jobs", "127.0.0.1:0", "--timeout", "60000"];
    const running = start(["controller", "--topology", file, ...listen], folder);
    stops.push(() => void running.child.kill("SIGKILL"));
    await expect.poll(() => running.said.stdout, { timeout: 60_000 }).toMatch(/"s2".*TLS failed/);
    await expect.poll(() => running.said.stdout, { timeout: 60_000 }).toMatch(/"s1","state":"ready"/);
    running.child.kill("SIGTERM");
    expect((await ended(running)).status).toBe(0);
  });

  test("is drained by the controller that steers it, for who has its token", async () => {
    const file = topology(100, { what: "", target: await switchAt(), says: /x/ });
    const token = join(folder, "token");
    writeFileSync(token, "secret\n");
    writeFileSync(join(folder, "wrong"), "wrong\n");
    const listen = ["--listen", "127.0.0.1:0", "--jobs", "127.0.0.1:0", "--token", "secret", "--wait"];
    const running = start(["controller", "--topology", file, ...listen], folder);
    stops.push(() => void running.child.kill("SIGKILL"));
    await expect.poll(() => running.said.stdout, { timeout: 60_000 }).toMatch(/^ready http=/m);
    const page = /http=(\S+)/.exec(running.said.stdout)?.[1] ?? "";
    const drain = (name: string, at: string, ...more: string[]) => [
      ...["drain", name, "--controller", at],
      ...[...more, ...(at === page ? PATIENT : [])],
    ];
    const mine = ["--token-file", "token"];
    const [wrong, missing, gone, silent, unknown, drained, restored] = await inTurn(
      [
        drain("s1", page, "--token-file", "wrong"),
        drain("s1", page),
        drain("s1", targets.gone, ...mine),
        drain("s1", targets.silent, ...mine),
        drain("s9", page, ...mine),
        drain("s1", page, ...mine),
        drain("s1", page, ...mine, "--restore"),
      ],
      { cwd: folder },
    );
    expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining("token is missing or wrong") });
    expect(missing).toMatchObject({ status: 2 });
    expect(gone).toMatchObject({ status: 2, stderr: expect.stringContaining("ECONNREFUSED") });
    expect(silent).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/cannot be asked: .*timeout/),
    });
    expect(unknown).toMatchObject({ status: 1 });
    expect(drained).toMatchObject({ status: 0, stderr: "" });
    expect(restored).toMatchObject({ status: 0, stderr: "" });
    await expect.poll(() => running.said.stdout).toMatch(/"drained"[\s\S]*"restored"/);
  });

  test("jobs without a controller end with 2 and its address", async () => {
    const commands = [targets.gone, targets.silent, targets.mute].map((target) => ({
      target,
      args: ["jobs", "--controller", target],
    }));
    for (const { target, status, stderr } of await said(commands)) {
      expect({ target, stderr, status }).toEqual({ target, stderr, status: 2 });
      expect(stderr).toContain(target);
    }
  });

  test.skipIf(etcd === undefined)(
    "an etcd that is not there, or takes another password, ends the controller with 2",
    async () => {
      const running = await startEtcd();
      onTestFinished(() => running.stop());
      const admin = new Etcd3({ hosts: running.url });
      onTestFinished(() => admin.close());
      await admin.role("root").create();
      const root = admin.user("root");
      await root.create("right");
      await root.addRole("root");
      await admin.auth.authEnable();
      const file = topology(101, { what: "", target: targets.plain, says: /x/ });
      writeFileSync(join(folder, "right"), "right\n");
      const controller = (url: string, ...more: string[]): string[] => [
        ...["controller", "--topology", file, "--listen", "127.0.0.1:0", "--jobs", "127.0.0.1:0"],
        ...["--etcd", url, ...more],
      ];
      const user = (password: string) => ["--etcd-user", "root", "--etcd-password-file", password];
      const outcomes = await said([
        { target: running.url, args: controller(running.url) },
        { target: running.url, args: controller(running.url, ...user("wrong")) },
        { target: targets.gone, args: controller(`http://${targets.gone}`) },
        { target: targets.silent, args: controller(`http://${targets.silent}`) },
      ]);
      const at = (url: string) => outcomes.filter(({ target }) => target === url);
      const [anonymous, wrong] = at(running.url);
      const [gone, silent] = [at(targets.gone)[0], at(targets.silent)[0]];
      expect(anonymous).toMatchObject({ status: 2, stderr: expect.stringMatching(/etcd.*user name/) });
      expect(wrong).toMatchObject({
        status: 2,
        stderr: expect.stringMatching(/etcd.*authentication failed/),
      });
      expect(gone).toMatchObject({ status: 2, stderr: expect.stringContaining(targets.gone) });
      expect(silent).toMatchObject({ status: 2, stderr: expect.stringContaining(targets.silent) });
      const leading = start(controller(running.url, ...user("right")), folder);
      await expect.poll(() => leading.said.stdout, { timeout: 60_000 }).toContain('"leading"');
      leading.child.kill("SIGTERM");
      expect((await ended(leading)).status).toBe(0);
    },
  );
});
