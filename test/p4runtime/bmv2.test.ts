import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { freePort } from "../../src/cli/freeport.ts";
import { hotAggregation, int32, ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { p4infoFromBinary } from "../../src/p4info/index.ts";
import { P4RuntimeError, P4RuntimeWriteError } from "../../src/p4runtime/call-error.ts";
import { P4RuntimeClient } from "../../src/p4runtime/client.ts";
import { Code } from "../../src/p4runtime/code.ts";
import { nameTableEntry } from "../../src/p4runtime/describe.ts";
import { insert, modify, remove } from "../../src/p4runtime/entities.ts";
import { findTools } from "../backends/tools.ts";
import { stopAfterTest } from "./bench.ts";

const { bmv2 } = findTools({ bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"] });

/** Starts BMv2 without a program, and connects as soon as it answers. */
async function startBmv2(binary: string): Promise<P4RuntimeClient> {
  const [grpc, thrift] = [await freePort(), await freePort()];
  const address = `127.0.0.1:${grpc}`;
  const own = ["--no-p4", "--device-id", "1", "--thrift-port", String(thrift)];
  const child = spawn(binary, [...own, "--", "--grpc-server-addr", address, "--cpu-port", "100"], {
    cwd: tmpdir(),
    stdio: "ignore",
  });
  stopAfterTest(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${binary} ended with ${child.exitCode}`);
    try {
      const client = await P4RuntimeClient.connect({ address, timeout: 10_000 });
      stopAfterTest(() => client.close());
      return client;
    } catch (error) {
      if (!(error instanceof P4RuntimeError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

describe("the client against BMv2", () => {
  it.skipIf(bmv2 === undefined)(
    "elects, pushes, writes, reads, and tells errors, in spite of what BMv2 does in its own way",
    async () => {
      const feature = hotAggregation({ workers: 4, lanes: 3, rows: 8, chunk: 4, mode: int32, result: "ps" });
      const { ir } = program("small", { ports: 8, cpuPort: 100, features: [ipv4Forwarding(), feature] });
      const files = generate(ir);
      const [info, json] = [files.get("p4info.bin"), files.get("small.json")];
      if (!(info instanceof Uint8Array) || typeof json !== "string" || bmv2 === undefined) return;
      const client = await startBmv2(bmv2);

      // Get before the first push is an error there, and an id that is sent again gets no answer.
      expect(await client.getPipeline()).toBeUndefined();
      expect(await client.arbitrate(5n)).toMatchObject({ isPrimary: true });
      expect(await client.arbitrate(5n)).toMatchObject({ isPrimary: true });
      const cookie = 2n ** 64n - 3n;
      await client.pushPipeline(p4infoFromBinary(info), Buffer.from(json), { cookie });
      expect(await client.getCookie()).toBe(cookie);

      // Known by the form of an error, which does it no harm.
      expect((await client.identify()).kind).toBe("bmv2");
      expect(client.isPrimary).toBe(true);

      const { entities } = client;
      const route = (host: number) =>
        entities.tableEntry("forwarding.route", { dst_addr: host }, "to_port", { port: 1, dst_mac: host });
      await client.write(Array.from({ length: 600 }, (_, host) => insert(route(host + 1))));
      await client.write([
        insert(entities.tableEntry("forwarding.route", { dst_addr: "0.0.0.0/0" }, "to_local")),
      ]);
      const read = await client.readAll([entities.allEntries("forwarding.route")]);
      expect(read).toHaveLength(601);
      const named = read.flatMap(({ entity }) =>
        entity?.case === "tableEntry" ? [nameTableEntry(client.schema, entity.value)] : [],
      );
      expect(named.find((entry) => entry.params.dst_mac === 7n)).toMatchObject({
        match: { dst_addr: { kind: "LPM", value: 7n, prefixLength: 32 } },
        action: "forwarding.to_port",
        params: { port: 1n, dst_mac: 7n },
      });

      // One error for each of 301 updates, over two requests.
      const again = Array.from({ length: 300 }, (_, host) => insert(route(host + 1)));
      const absent = remove(entities.tableEntry("forwarding.route", { dst_addr: "99.0.0.0/8" }));
      const error = await client.write([...again, absent]).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(P4RuntimeWriteError);
      if (!(error instanceof P4RuntimeWriteError)) return;
      expect(error.updates).toHaveLength(301);
      expect(error.updates?.at(-1)).toMatchObject({ code: Code.NOT_FOUND, update: absent });
      expect(new Set(error.updates?.slice(0, 300).map((update) => update.code))).toEqual(
        new Set([Code.ALREADY_EXISTS]),
      );
      expect(client.isPrimary).toBe(true);

      await client.write([
        modify(entities.counter("forwarding.events", 0, { packetCount: 5n })),
        insert(entities.cloneSession(3, [{ port: 2, instance: 1 }])),
        insert(entities.multicastGroup(1, [{ port: 1 }, { port: 2, instance: 1 }])),
      ]);
      const [counter] = await client.readAll([entities.counter("forwarding.events", 0)]);
      expect(counter?.entity?.value).toMatchObject({ data: { packetCount: 5n } });
      expect(await client.readAll([entities.multicastGroup(0), entities.cloneSession(0)])).toHaveLength(2);
      const [register] = client.schema.registers.all;
      await expect(client.readAll([entities.register(register?.name ?? "", 0)])).rejects.toMatchObject({
        code: Code.UNIMPLEMENTED,
      });
    },
    60_000,
  );
});
