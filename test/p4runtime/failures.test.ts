import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttp2Server } from "node:http2";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServiceError,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { encode } from "../../src/p4info/index.ts";
import { batchErrors, P4RuntimeError, P4RuntimeWriteError } from "../../src/p4runtime/call-error.ts";
import { P4RuntimeClient } from "../../src/p4runtime/client.ts";
import { Code } from "../../src/p4runtime/code.ts";
import { insert, remove } from "../../src/p4runtime/entities.ts";
import { Error as P4Error } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import { Status } from "../../src/p4runtime/proto/generated/status.ts";
import { P4RuntimeService } from "../../src/p4runtime/service.ts";
import { batchStatus, MAX_BATCH } from "../../src/switch/p4runtime/error-details.ts";
import { P4RuntimeServer } from "../../src/switch/p4runtime/server.ts";
import { StatusError } from "../../src/switch/p4runtime/status.ts";
import { connect, rawEntry, startPrimary, startServer, stopAfterTest } from "./bench.ts";
import { MemoryTarget } from "./memory-target.ts";
import { ID, PROGRAM } from "./program.ts";

/** What `connect` fails with. */
async function failure(options: Parameters<typeof P4RuntimeClient.connect>[0]): Promise<P4RuntimeError> {
  try {
    const client = await P4RuntimeClient.connect(options);
    await client.close();
  } catch (error) {
    if (error instanceof P4RuntimeError) return error;
    throw error;
  }
  throw new Error("the connection came about");
}

/** A TCP server that accepts and says nothing. */
async function silentServer(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stopAfterTest(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

/** A server that answers some calls in its own way, and the others not at all. */
async function oddServer(handlers: UntypedServiceImplementation): Promise<string> {
  const server = new Server();
  server.addService(P4RuntimeService, handlers);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  stopAfterTest(() => server.forceShutdown());
  return `127.0.0.1:${port}`;
}

describe("connecting", () => {
  it("to a closed port fails at once, with the address (pitfall 97)", async () => {
    const error = await failure({ address: "127.0.0.1:1", timeout: 5000 });
    expect(error).toMatchObject({ code: Code.UNAVAILABLE, address: "127.0.0.1:1" });
    expect(error.message).toBe(
      "Capabilities on 127.0.0.1:1: UNAVAILABLE: no connection: connect ECONNREFUSED 127.0.0.1:1",
    );
  });

  it("to a silent server fails after the given time (pitfall 97)", async () => {
    const address = await silentServer();
    const error = await failure({ address, timeout: 300 });
    expect(error).toMatchObject({ code: Code.DEADLINE_EXCEEDED, address });
  });

  it("can be given up", async () => {
    const address = await silentServer();
    const aborted = new AbortController();
    const connecting = P4RuntimeClient.connect({ address }, { signal: aborted.signal });
    aborted.abort(new Error("enough"));
    await expect(connecting).rejects.toMatchObject({ code: Code.CANCELLED, cause: new Error("enough") });
    await expect(P4RuntimeClient.connect({ address }, { signal: aborted.signal })).rejects.toMatchObject({
      code: Code.CANCELLED,
    });
  });

  it("to an unknown host names it", async () => {
    const error = await failure({ address: "no-such-host.invalid:9559", timeout: 10_000 });
    expect(error.code).toBe(Code.UNAVAILABLE);
    expect(error.message).toContain("no-such-host.invalid:9559");
  });

  it("to a server without Capabilities takes it for version 1.0", async () => {
    const address = await oddServer({
      Capabilities: (_call: unknown, callback: (error: object) => void) =>
        callback({ code: Code.UNIMPLEMENTED, details: "no" }),
    });
    const client = await connect(address);
    expect(client.apiVersion).toBe("1.0");
  });

  it("tells the version of the server", async () => {
    const { server } = await startServer();
    const client = await connect(server.address);
    expect(client.apiVersion).toMatch(/^1\.\d+\.\d+$/);
  });
});

describe("TLS", () => {
  const directory = mkdtempSync(join(tmpdir(), "p4runtime-tls-"));
  const hasOpenssl = (() => {
    try {
      execFileSync("openssl", ["version"]);
      return true;
    } catch {
      console.log("skipped: openssl is not on PATH, so there are no certificates to test TLS with");
      return false;
    }
  })();
  const certificate = (name: string) => {
    const [key, cert] = [join(directory, `${name}.key`), join(directory, `${name}.pem`)];
    const subject = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`];
    const kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"];
    execFileSync("openssl", ["req", ...kind, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
    return { key: readFileSync(key), certificate: readFileSync(cert) };
  };

  it.skipIf(!hasOpenssl)(
    "works, and each mismatch fails at once with an error that names TLS (pitfall 100)",
    async () => {
      const own = certificate("localhost");
      const foreign = certificate("elsewhere");
      rmSync(directory, { recursive: true });
      const { server: secure } = await startServer({ tls: own, address: "localhost:0" });
      const { server: plain } = await startServer();
      const ca = own.certificate;

      const client = await connect(secure.address, { tls: { ca } });
      expect(await client.arbitrate(1n)).toMatchObject({ isPrimary: true });
      const byAddress = secure.address.replace("localhost", "127.0.0.1");
      const named = await connect(byAddress, { tls: { ca, serverName: "localhost" } });
      expect(named.apiVersion).not.toBe("");

      const limit = { timeout: 3000 };
      const cases = [
        { address: plain.address, tls: { ca }, ...limit },
        { address: secure.address, ...limit },
        { address: secure.address, tls: { ca: foreign.certificate }, ...limit },
        { address: secure.address, tls: { ca, serverName: "elsewhere" }, ...limit },
      ];
      for (const options of cases) {
        const error = await failure(options);
        expect(error.code).toBe(Code.UNAVAILABLE);
        expect(error.message).toContain("TLS");
        expect(error.message).toContain(options.address);
      }
    },
  );
});

describe("calls", () => {
  it("to a switch that stops to answer end in the time given (pitfall 97)", async () => {
    const address = await oddServer({
      Capabilities: (_call: unknown, callback: (error: null, response: object) => void) => callback(null, {}),
      Read: (call: { write(message: object): void }) => call.write({ entities: [{}] }),
      Write: () => {},
      StreamChannel: () => {},
    });
    const client = await connect(address, { timeout: 300 });
    await client.useProgram(PROGRAM);
    const { entities } = client;
    const late = { code: Code.DEADLINE_EXCEEDED, address };
    await expect(client.readAll([entities.allEntries()])).rejects.toMatchObject(late);
    await expect(client.arbitrate(1n)).rejects.toMatchObject(late);
    await expect(client.write([insert(entities.tableEntry("ipv4_lpm", {}, "drop"))])).rejects.toMatchObject(
      late,
    );
    await expect(client.readAll([entities.allEntries()], { timeout: 50 })).rejects.toMatchObject(late);
  });

  it("can be given up by a signal, and a read by leaving its loop", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    await client.write(
      Array.from({ length: 1000 }, (_, index) =>
        insert(entities.tableEntry("ipv4_lpm", { dst: index }, "drop")),
      ),
    );
    for await (const entity of client.read([entities.allEntries()])) {
      expect(entity.entity?.case).toBe("tableEntry");
      break;
    }
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(client.readAll([entities.allEntries()], { signal })).rejects.toMatchObject({
      code: Code.CANCELLED,
    });
    await expect(client.getCookie({ signal })).rejects.toMatchObject({ code: Code.CANCELLED });
    expect(await client.readAll([entities.allEntries("ipv4_lpm")])).toHaveLength(1000);
  });

  it("after close are refused", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    await client.close();
    const closed = { code: Code.CANCELLED, message: expect.stringContaining("the client is closed") };
    await expect(client.getCookie()).rejects.toMatchObject(closed);
    await expect(client.arbitrate(5n)).rejects.toMatchObject(closed);
    await expect(client.readAll([entities.allEntries()])).rejects.toMatchObject(closed);
    expect(() => client.sendPacket(new Uint8Array(0), { egress_port: 0 })).toThrow(/closed/);
  });

  it("carry 8 MB of program and 100,000 entries (pitfall 92)", async () => {
    const { client, target } = await startPrimary();
    const tables = PROGRAM.tables.map((table) => ({ ...table, size: 200_000n }));
    await client.pushPipeline({ ...PROGRAM, tables }, new Uint8Array(8 * 1024 * 1024).fill(0x20), {
      timeout: 60_000,
    });
    const { entities } = client;
    const updates = Array.from({ length: 100_000 }, (_, index) =>
      insert(entities.tableEntry("ipv4_lpm", { dst: index }, "drop")),
    );
    await client.write(updates, { timeout: 60_000 });
    expect(target.running?.entries("ingress.ipv4_lpm").length).toBe(100_000);
    let count = 0;
    for await (const _ of client.read([entities.allEntries("ipv4_lpm")], { timeout: 60_000 })) count++;
    expect(count).toBe(100_000);
  }, 120_000);
});

describe("keepalive", () => {
  it("that is frequent does not end the connection to the embedded switch (pitfall 91)", async () => {
    const { server } = await startServer();
    const lost: P4RuntimeError[] = [];
    const client = await connect(server.address, {
      keepalive: 1000,
      onDisconnect: (error) => lost.push(error),
    });
    await client.arbitrate(1n);
    await new Promise((resolve) => setTimeout(resolve, 4000));
    expect(lost).toEqual([]);
    expect(await client.arbitrate(2n)).toMatchObject({ isPrimary: true });
  });

  it("that a server calls too much ends the stream once, without a storm of connections (pitfall 91)", async () => {
    let connections = 0;
    const server = createHttp2Server();
    server.on("session", (session) => {
      connections++;
      session.on("error", () => {});
    });
    server.on("stream", (stream, headers) => {
      stream.on("error", () => {});
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      if (headers[":path"] === "/p4.v1.P4Runtime/Capabilities") stream.end(Buffer.from([0, 0, 0, 0, 0]));
      else stream.once("data", () => stream.session?.goaway(11, 0, Buffer.from("too_many_pings")));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    stopAfterTest(() => {
      server.close();
    });
    const bound = server.address();
    const lost: P4RuntimeError[] = [];
    const client = await connect(
      `127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`,
      {
        onDisconnect: (error) => lost.push(error),
      },
    );
    await expect(client.arbitrate(1n)).rejects.toBeInstanceOf(P4RuntimeError);
    expect(lost).toHaveLength(1);
    expect(await client.getCookie({ timeout: 300 }).catch(() => undefined)).toBeUndefined();
    expect(connections).toBeLessThanOrEqual(3);
    await client.close();
  });
});

describe("errors of a write", () => {
  it("are told for each update, with the names of the entities (pitfall 98)", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    const entry = (host: string) => entities.tableEntry("ipv4_lpm", { dst: host }, "drop");
    await client.write([insert(entry("10.0.0.1"))]);
    const updates = [insert(entry("10.0.0.2")), insert(entry("10.0.0.1")), remove(entry("10.0.0.9/16"))];
    const error = await client.write(updates).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(P4RuntimeWriteError);
    if (!(error instanceof P4RuntimeWriteError)) return;
    expect(error.updates?.map((update) => update.code)).toEqual([
      Code.OK,
      Code.ALREADY_EXISTS,
      Code.NOT_FOUND,
    ]);
    expect(error.updates?.[1]).toMatchObject({ space: "gradplane", update: updates[1] });
    expect(error.failed).toHaveLength(2);
    expect(error.message).toContain("2 of 3 updates failed");
    expect(error.message).toContain(
      "INSERT table ingress.ipv4_lpm {hdr.ipv4.dst = 10.0.0.1/32}: ALREADY_EXISTS",
    );
    expect(error.message).toContain("DELETE table ingress.ipv4_lpm {hdr.ipv4.dst = 10.0.0.0/16}: NOT_FOUND");
  });

  it("are put together over many requests, in order", async () => {
    const { client } = await startPrimary();
    const { entities } = client;
    const entry = (host: number) => insert(entities.tableEntry("ipv4_lpm", { dst: host }, "drop"));
    await client.write([entry(5), entry(300), entry(700)]);
    const error = await client
      .write(Array.from({ length: 800 }, (_, host) => entry(host)))
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(P4RuntimeWriteError);
    if (!(error instanceof P4RuntimeWriteError)) return;
    const failed = error.updates?.flatMap((update, index) => (update.code === Code.OK ? [] : [index]));
    expect(failed).toEqual([5, 300, 700]);
    expect(await client.readAll([entities.allEntries("ipv4_lpm")])).toHaveLength(800);
  });

  it("fit into the answer, however many and long they are, and the connection lives on", async () => {
    const { client } = await startPrimary();
    const bad = rawEntry("INSERT", { tableId: 0x02ffffff });
    for (const count of [1, 100, 256]) {
      const error = await client.write(Array.from({ length: count }, () => bad)).catch((e: unknown) => e);
      expect(error instanceof P4RuntimeWriteError && error.failed.length).toBe(count);
    }
    expect(client.isPrimary).toBe(true);
    const long = new StatusError(Code.INVALID_ARGUMENT, "x".repeat(900));
    const all = (count: number, takesLongHeaders: boolean) =>
      batchStatus(
        Array.from({ length: count }, () => long),
        "all failed",
        takesLongHeaders,
      ).length;
    for (const count of [1, 10, 256, 400, MAX_BATCH]) {
      expect(all(count, true)).toBeLessThan(44_000);
      expect(all(count, true)).toBeLessThan(8192 + 100 * count);
    }
    for (const count of [1, 10, 100, 180]) expect(all(count, false)).toBeLessThan(8000);
    expect(all(256, false)).toBeLessThan(8192 + 100 * 256);
  });

  it("come from a request that is too large for them before anything is done", async () => {
    const { client, target, server } = await startPrimary();
    const entry = (host: number) =>
      rawEntry("INSERT", {
        tableId: ID.mac,
        match: [1, 7].map((fieldId) => ({
          fieldId,
          fieldMatchType: { case: "exact" as const, value: { value: Uint8Array.of(host & 0xff) } },
        })),
        action: { type: { case: "action", value: { actionId: ID.drop } } },
      });
    const raw = await connect(server.address);
    const updates = Array.from({ length: MAX_BATCH + 1 }, (_, host) => entry(host));
    const { Client, credentials } = await import("@grpc/grpc-js");
    const plain = new Client(server.address, credentials.createInsecure());
    stopAfterTest(() => plain.close());
    const { path, requestSerialize, responseDeserialize } = P4RuntimeService.Write;
    const request = { deviceId: 1n, electionId: { low: 1n }, updates };
    const error = await new Promise<ServiceError | null>((resolve) =>
      plain.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (failed) =>
        resolve(failed),
      ),
    );
    expect(error).toMatchObject({
      code: Code.RESOURCE_EXHAUSTED,
      details: expect.stringContaining("at most 1024"),
    });
    expect(target.running?.entries("ingress.mac").length).toBe(0);
    expect([client.isPrimary, raw.isPrimary]).toEqual([true, false]);
  });

  it("are unknown when the server does not tell them, or tells them in another way (pitfall 98)", async () => {
    const details: (Buffer | undefined)[] = [
      undefined,
      Buffer.from("not protobuf at all"),
      Buffer.from(encode(Status, { code: Code.UNKNOWN, details: [{ typeUrl: "example.com/other" }] })),
      Buffer.from(
        encode(Status, {
          details: [{ typeUrl: "type.googleapis.com/p4.v1.Error", value: Uint8Array.of(0x0a) }],
        }),
      ),
    ];
    const address = await oddServer({
      Capabilities: (_call: unknown, callback: (error: null, response: object) => void) => callback(null, {}),
      Write: (_call: unknown, callback: (error: object) => void) => {
        const metadata = new Metadata();
        const bytes = details.shift();
        if (bytes !== undefined) metadata.set("grpc-status-details-bin", bytes);
        callback({ code: Code.UNKNOWN, details: "something went wrong", metadata });
      },
    });
    const client = await connect(address);
    await client.useProgram(PROGRAM);
    const update = insert(client.entities.tableEntry("ipv4_lpm", {}, "drop"));
    while (details.length > 0) {
      const error = await client.write([update]).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(P4RuntimeWriteError);
      if (!(error instanceof P4RuntimeWriteError)) return;
      expect(error.updates).toBeUndefined();
      expect(error.message).toContain("something went wrong");
    }
  });

  it("are decoded from what other servers send", () => {
    const metadata = new Metadata();
    const value = encode(P4Error, {
      canonicalCode: Code.RESOURCE_EXHAUSTED,
      message: "full",
      space: "x",
      code: 5,
    });
    const typeUrl = "type.googleapis.com/p4.v1.Error";
    metadata.set(
      "grpc-status-details-bin",
      Buffer.from(encode(Status, { details: [{ typeUrl }, { typeUrl, value }] })),
    );
    const error = Object.assign(new Error("x"), { code: Code.UNKNOWN, details: "", metadata });
    expect(batchErrors(error)).toMatchObject([
      { canonicalCode: 0 },
      { canonicalCode: 8, message: "full", code: 5 },
    ]);
  });

  it("that concern the request as a whole have no list", async () => {
    const { client, server } = await startPrimary();
    const second = await connect(server.address);
    await second.arbitrate(9n);
    const updates = Array.from({ length: 300 }, (_, host) =>
      insert(client.entities.tableEntry("ipv4_lpm", { dst: host }, "drop")),
    );
    const error = await client.write(updates).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: Code.PERMISSION_DENIED });
    expect(error).not.toBeInstanceOf(P4RuntimeWriteError);
  });
});

describe("the server", () => {
  it("names an address that is in use (pitfall 78)", async () => {
    const { server } = await startServer();
    const second = P4RuntimeServer.start({ target: new MemoryTarget(), address: server.address });
    await expect(second).rejects.toMatchObject({
      code: "address-in-use",
      address: server.address,
      message: expect.stringContaining("EADDRINUSE"),
    });
    const nowhere = P4RuntimeServer.start({ target: new MemoryTarget(), address: "no-such-host.invalid:1" });
    await expect(nowhere).rejects.toMatchObject({ code: "cannot-listen" });
    const zero = P4RuntimeServer.start({ target: new MemoryTarget(), address: "127.0.0.1:0", deviceId: 0n });
    await expect(zero).rejects.toThrow(/device id 0/);
  });

  it("survives garbage on its port and in its calls", async () => {
    const { client, server } = await startPrimary();
    const { port } = new URL(`http://${server.address}`);
    const { connect: dial } = await import("node:net");
    const socket = dial(Number(port), "127.0.0.1");
    socket.on("error", () => {});
    socket.resume();
    socket.end(Buffer.from("GET / HTTP/1.1\r\n\r\n".repeat(50)));
    await once(socket, "close");
    const { Client, credentials } = await import("@grpc/grpc-js");
    const plain = new Client(server.address, credentials.createInsecure());
    stopAfterTest(() => plain.close());
    const garbage = Buffer.from([0x0a, 0xff, 0xff, 0xff]);
    for (const name of ["Write", "Read", "SetForwardingPipelineConfig", "GetForwardingPipelineConfig"]) {
      const error = await new Promise<ServiceError | null>((resolve) =>
        plain.makeUnaryRequest(
          `/p4.v1.P4Runtime/${name}`,
          () => garbage,
          () => null,
          null,
          (failed) => resolve(failed),
        ),
      );
      expect(error?.code, name).not.toBe(Code.OK);
    }
    const stream = plain.makeBidiStreamRequest(
      "/p4.v1.P4Runtime/StreamChannel",
      () => garbage,
      () => null,
    );
    const ended = new Promise((resolve) => stream.on("error", resolve));
    stream.write({});
    stream.resume();
    expect(await ended).toMatchObject({ code: expect.any(Number) });
    expect(client.isPrimary).toBe(true);
    expect(await client.getCookie()).toBeDefined();
  });
});

describe("a process with a client", () => {
  const script = join(import.meta.dirname, "scripts/connect-and-close.ts");
  /** Runs the script, and gives its exit code and what it printed. */
  async function run(
    args: readonly string[],
    whenPrinted?: () => void,
  ): Promise<{ code: unknown; text: string }> {
    const child = spawn(
      process.execPath,
      ["--unhandled-rejections=strict", "--import", "tsx", script, ...args],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      whenPrinted?.();
    });
    const [code] = await once(child, "close");
    return { code, text };
  }

  it("ends when the client is closed (pitfall 96)", async () => {
    const { server } = await startServer();
    expect(await run([server.address])).toEqual({ code: 0, text: "closed\n" });
  });

  it("ends when it could not connect (pitfalls 24, 96)", async () => {
    const { code, text } = await run(["127.0.0.1:1"]);
    expect(code).toBe(1);
    expect(text).toContain("127.0.0.1:1");
    const silent = await run([await silentServer()]);
    expect(silent.code).toBe(1);
    expect(silent.text).toContain("DEADLINE_EXCEEDED");
  });

  it("lives on when the server goes and nobody listens (pitfall 94)", async () => {
    const { server } = await startServer();
    const { code, text } = await run([server.address, "leave the stream without a listener"], () =>
      server.abort(),
    );
    expect(text).toContain("connected");
    // The loop over packets then throws what happened to the stream.
    expect(text).toMatch(/StreamChannel on .*: (UNAVAILABLE|CANCELLED)/);
    expect(code).toBe(1);
  });
});
