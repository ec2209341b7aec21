import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { EntityBuilder, insert, P4RuntimeClient, remove, type Schema } from "../../src/p4runtime/index.ts";
import { startSwitch } from "../abuse/switches.ts";
import { loadable } from "../controller/fabric.ts";
import { folderWith } from "./folder.ts";
import { gradplane } from "./gradplane.ts";

/** Two leaves and two spines that run, and a topology file for them. */
async function network(): Promise<{
  readonly file: string;
  readonly addresses: readonly string[];
  readonly run: (verb: string, ...args: string[]) => ReturnType<typeof gradplane>;
}> {
  const { p4info, deviceConfig } = loadable();
  const { p4infoToBinary } = await import("../../src/p4info/index.ts");
  const folder = folderWith();
  writeFileSync(join(folder, "p.bin"), p4infoToBinary(p4info));
  writeFileSync(join(folder, "p.json"), deviceConfig);
  const names = ["leaf1", "leaf2", "spine1", "spine2"];
  const switches = await Promise.all(names.map((_, i) => startSwitch(i + 1)));
  const addresses = switches.map((s) => s.server.address);
  const lines = [
    "program: { p4info: p.bin, config: p.json }",
    "switches:",
    ...names.map(
      (name, i) =>
        `  ${name}: { target: "${addresses[i]}", deviceId: ${i + 1}, mac: "02:00:00:00:01:0${i}", ipv4: 10.9.0.${i + 1} }`,
    ),
    "hosts:",
    '  w0: { mac: "02:00:00:00:00:01", ipv4: 10.0.0.1, at: "leaf1:0" }',
    '  w1: { mac: "02:00:00:00:00:02", ipv4: 10.0.0.2, at: "leaf2:0" }',
    "links:",
    ...["leaf1", "leaf2"].flatMap((leaf, l) =>
      ["spine1", "spine2"].map((spine, s) => `  - ${leaf}:${s + 1} - ${spine}:${l}`),
    ),
    "entries:",
    "  - { on: leaf1, multicast: 5, replicas: [ { port: 1 }, { port: 2 } ] }",
  ];
  const file = join(folder, "net.yaml");
  writeFileSync(file, `${lines.join("\n")}\n`);
  // However slow the machine is.
  const patient = ["--topology", file, "--timeout", "60000"];
  return { file, addresses, run: (verb, ...args) => gradplane([verb, ...args, ...patient]) };
}

describe("a topology that needs more groups of next hops than its program has", { timeout: 300_000 }, () => {
  const small = (ecmp: string): string => {
    const folder = folderWith();
    const dsl = new URL("../../src/dsl/index.ts", import.meta.url).pathname;
    writeFileSync(
      join(folder, "small.ts"),
      `import { ecmp, ipv4Forwarding, program } from ${JSON.stringify(dsl)};
       export default program("small", { ports: 8, features: [ipv4Forwarding(), ecmp(${ecmp})] });`,
    );
    const names = ["leaf1", "leaf2", "spine1", "spine2", "spine3"];
    const lines = [
      "program: small.ts",
      "switches:",
      ...names.map(
        (name, i) =>
          `  ${name}: { target: "127.0.0.1:${i + 1}", mac: "02:00:00:00:01:0${i}", ipv4: 10.9.0.${i + 1} }`,
      ),
      "hosts:",
      '  w0: { mac: "02:00:00:00:00:01", ipv4: 10.0.0.1, at: "leaf1:0" }',
      "links:",
      ...["leaf1", "leaf2"].flatMap((leaf, l) =>
        ["spine1", "spine2", "spine3"].map((spine, s) => `  - ${leaf}:${s + 1} - ${spine}:${l}`),
      ),
    ];
    const file = join(folder, "net.yaml");
    writeFileSync(file, `${lines.join("\n")}\n`);
    return file;
  };

  test.each(["controller", "apply", "diff"])("is refused at once by %s", async (verb) => {
    const crowded = await gradplane([verb, "--topology", small('{ groups: 16, members: 2, spray: "all" }')]);
    expect(crowded.stderr).toMatch(
      /net\.yaml: group \d has 3 next hops, weights counted; the program takes 2/,
    );
    expect(crowded.status).toBe(2);
  });

  test("is told how many groups there are", async () => {
    const few = await gradplane([
      "controller",
      "--topology",
      small('{ groups: 1, members: 4, spray: "all" }'),
    ]);
    expect(few.stderr).toMatch(/net\.yaml: the topology needs group \d of next hops; the program has 1/);
    expect(few.status).toBe(2);
  });
});

describe("gradplane apply, diff, status and drain", { timeout: 300_000 }, () => {
  test("load the program, write what is missing, find nothing more to do, and repair what somebody broke", async () => {
    const { run, addresses } = await network();
    const before = await run("status");
    expect(before).toMatchObject({ status: 0, stderr: "" });
    expect(before.stdout).toMatch(
      /leaf1 +127\.0\.0\.1:\d+ +P4Runtime \S+ +none +has no program: apply loads it/,
    );

    const first = await run("apply");
    expect(first).toMatchObject({ status: 0, stderr: "" });
    expect(first.stdout).toContain("leaf1: program loaded, 7 updates written");
    const second = await run("apply", "--json");
    expect(
      second.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject(
      ["leaf1", "leaf2", "spine1", "spine2"].map((name) => ({
        switch: name,
        pushed: false,
        written: 0,
        drift: 0,
      })),
    );
    expect(await run("diff")).toMatchObject({ status: 0 });

    // Somebody else takes a route away, and puts one in.
    const client = await P4RuntimeClient.connect({ address: addresses[0] ?? "" });
    await client.arbitrate(BigInt(Date.now()));
    const schema = await client.useProgram();
    const entities = new EntityBuilder(schema);
    await client.write([
      remove(entities.tableEntry("route", { dst_addr: "10.0.0.2/32" })),
      insert(entities.tableEntry("route", { dst_addr: "99.0.0.0/8" }, "to_local")),
    ]);
    await client.close();
    const found = await run("diff", "--on", "leaf1");
    expect(found).toMatchObject({ status: 1, stderr: "" });
    expect(found.stdout).toBe(
      [
        "leaf1: 1 missing, 0 different, 0 not wanted any more, 6 as wanted, 1 of somebody else",
        "  INSERT table forwarding.route {dst_addr = 10.0.0.2/32}",
        "  drift: table forwarding.route {dst_addr = 99.0.0.0/8}",
        "",
      ].join("\n"),
    );
    expect((await run("apply", "--dry-run", "--on", "leaf1")).stdout).toBe(found.stdout);
    expect((await run("apply")).stdout).toContain("leaf1: 1 update written, 1 entries of somebody else left");
    expect((await run("apply", "--undo-drift")).stdout).toContain("leaf1: 1 update written\n");
    expect(await run("diff", "--undo-drift")).toMatchObject({ status: 0 });
  });

  test("keep traffic off a drained switch, until it is restored", async () => {
    const { run, addresses } = await network();
    await run("apply");
    const nextHop = async (): Promise<unknown> => {
      const client = await P4RuntimeClient.connect({ address: addresses[0] ?? "" });
      const schema: Schema = await client.useProgram();
      const entities = new EntityBuilder(schema);
      const [entry] = await client.readAll([entities.tableEntry("route", { dst_addr: "10.0.0.2/32" })]);
      await client.close();
      const { nameEntity } = await import("../../src/p4runtime/index.ts");
      return entry === undefined ? undefined : nameEntity(schema, entry).params;
    };
    const ports = new Map<string, unknown>();
    for (const spine of ["spine1", "spine2"]) {
      expect(await run("drain", spine)).toMatchObject({ status: 0, stderr: "" });
      ports.set(spine, await nextHop());
      expect((await run("drain", spine, "--restore")).status).toBe(0);
    }
    expect(ports.get("spine1")).toMatchObject({ port: "2" });
    expect(ports.get("spine2")).toMatchObject({ port: "1" });
    expect(await run("drain", "spin1")).toMatchObject({ status: 1 });
  });

  test("do not disturb a controller that is at work, and say which switch is gone", async () => {
    const { run, addresses } = await network();
    await run("apply");
    const client = await P4RuntimeClient.connect({ address: addresses[0] ?? "" });
    onTestFinished(() => client.close());
    await client.arbitrate(BigInt(Date.now()) * 2n);
    const entities = new EntityBuilder(await client.useProgram());
    await client.write([remove(entities.tableEntry("route", { dst_addr: "10.0.0.2/32" }))]);
    const refused = await run("apply");
    expect(refused).toMatchObject({ status: 2 });
    expect(refused.stderr).toMatch(/leaf1 \(\S+\) has a controller already .*--take-over/);
    expect((await run("status", "--on", "leaf1")).stdout).toMatch(/leaf1 .* yes +1 missing/);
    expect(await run("apply", "--take-over", "--on", "leaf1")).toMatchObject({ status: 0 });
    expect(client.isPrimary).toBe(false);
  });
});
