import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { ipv4Forwarding, program, telemetry } from "../../src/dsl/index.ts";
import { startSwitch } from "../abuse/switches.ts";
import { frame } from "../features/trafficprograms.ts";
import { folderWith } from "./folder.ts";
import { gradplane } from "./gradplane.ts";

test("gradplane status and p4rt read tell dropped packets by their reasons", {
  timeout: 120_000,
}, async () => {
  const files = generate(program("counted", { ports: 8, features: [ipv4Forwarding(), telemetry()] }).ir);
  const folder = folderWith();
  for (const name of ["p4info.bin", "counted.json"]) writeFileSync(join(folder, name), files.get(name) ?? "");
  const { server, engine } = await startSwitch(1);
  const lines = [
    "program: { p4info: p4info.bin, config: counted.json }",
    `switches: { s1: { target: "${server.address}", deviceId: 1, mac: "02:00:00:00:01:00", ipv4: 10.0.1.1 } }`,
    'hosts: { h: { mac: "02:00:00:00:00:04", ipv4: 10.0.0.4, at: "s1:3" } }',
  ];
  const topology = join(folder, "net.yaml");
  writeFileSync(topology, `${lines.join("\n")}\n`);
  expect(await gradplane(["apply", "--topology", topology])).toMatchObject({ status: 0, stderr: "" });
  for (let i = 0; i < 3; i++) engine.inject(2, frame({ to: "10.7.7.7" }));
  engine.inject(2, frame({ ttl: 1 }));
  engine.inject(2, frame({}));

  const status = await gradplane(["status", "--topology", topology]);
  expect(status.stdout).toMatch(
    /\npackets dropped by s1\n {2}forwarding\.no_route +3\n {2}forwarding\.ttl +1\n$/,
  );
  const json = JSON.parse((await gradplane(["status", "--topology", topology, "--json"])).stdout);
  expect(json).toMatchObject({ switch: "s1", drops: { "forwarding.no_route": 3, "forwarding.ttl": 1 } });
  const read = await gradplane([
    "p4rt",
    "read",
    "counter",
    "telemetry.packets",
    "--target",
    server.address,
    "--json",
  ]);
  const cells = read.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(cells.filter((c) => c.packets > 0).map((c) => [c.cell, c.packets])).toEqual([
    ["passed", 1],
    ["forwarding.no_route", 3],
    ["forwarding.ttl", 1],
  ]);
});
