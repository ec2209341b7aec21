import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { EMPTY_STATE, StateFile } from "../../src/controller/statefile.ts";
import { parseTopology } from "../../src/controller/topologyfile.ts";

const SOUND = `
program: { p4info: a.txtpb, config: a.json }
switches:
  s1: { target: "10.0.0.2:9559", mac: "02:00:00:00:01:01", ipv4: 10.0.1.1 }
  s2: { target: "10.0.0.3:9559", deviceId: 2, mac: "02:00:00:00:01:02", ipv4: 10.0.1.2 }
hosts:
  w0: { mac: "02:00:00:00:00:01", ipv4: 10.0.0.1, at: [ "s1:0", "s2:0" ] }
links:
  - s1:4 - s2:4
  - { between: s1:5 - s2:5, weight: 2 }
entries:
  - { on: s1, table: acl, priority: 3, match: { dst: 10.0.0.0/8 }, action: drop }
  - { multicast: 5, replicas: [ { port: 1 } ] }
`;

describe("a topology file", () => {
  test("is read", () => {
    const { topology, program, own } = parseTopology(SOUND, "/net/t.yaml");
    expect(topology.switches.map((s) => [s.name, s.deviceId])).toEqual([
      ["s1", 1n],
      ["s2", 2n],
    ]);
    expect(topology.hosts[0]?.attachments).toEqual([
      { switch: "s1", port: 0 },
      { switch: "s2", port: 0 },
    ]);
    expect(topology.links?.map((l) => l.weight)).toEqual([undefined, 2]);
    expect(program).toEqual({ kind: "compiled", p4info: "/net/a.txtpb", deviceConfig: "/net/a.json" });
    expect(own.get("s1")).toHaveLength(2);
    expect(own.get("s2")).toMatchObject([{ multicast: 5 }]);
  });

  test("gives nodes IPv6 addresses, the same for all ways to write one", () => {
    const six = (text: string) => SOUND.replace("ipv4: 10.0.0.1,", `ipv4: 10.0.0.1, ipv6: "${text}",`);
    expect(parseTopology(six("2001:DB8:0:0::1"), "t.yaml").topology.hosts[0]?.ipv6).toBe("2001:db8::1");
    expect(() => parseTopology(six("10.0.0.1"), "t.yaml")).toThrow(/host w0: ipv6 is "10.0.0.1"/);
    expect(() => parseTopology(six("fe80::1%eth0"), "t.yaml")).toThrow(/write it as/);
    const twice = six("2001:db8::1").replace("ipv4: 10.0.1.1 }", 'ipv4: 10.0.1.1, ipv6: "2001:db8:0::1" }');
    expect(() => parseTopology(twice, "t.yaml")).toThrow(/s1 and w0 have the same address 2001:db8::1/);
  });

  test.each([
    ["a mistake in its YAML", SOUND.replace("hosts:", "hosts"), /t\.yaml:\d+: /],
    ["an unknown key", SOUND.replace("target:", "targt:"), /switch s1 has "targt".*did you mean "target"/],
    [
      "a MAC address that YAML reads as something else",
      SOUND.replace('"02:00:00:00:01:01"', "1"),
      /mac is no text/,
    ],
    ["a switch that is not there", SOUND.replace("on: s1", "on: s3"), /an entry is for s3/],
    ["a link to nowhere", SOUND.replace("s1:4 - s2:4", "s1:4 - s9:4"), /ends at s9/],
    ["a port that is taken", SOUND.replace("s1:4 - s2:4", "s1:0 - s2:4"), /s1 port 0/],
    [
      "an entry of no kind",
      SOUND.replace("multicast: 5", "multicst: 5"),
      /"multicst".*did you mean "multicast"/,
    ],
    ["a duplicate name", SOUND.replace("  s2:", "  s1:"), /t\.yaml:\d+: /],
  ])("with %s says so", (_, text, message) => {
    expect(() => parseTopology(text, "t.yaml")).toThrow(message);
  });
});

describe("a state file", () => {
  const folder = (): string => {
    const path = mkdtempSync(join(tmpdir(), "gradplane-state-"));
    onTestFinished(() => rmSync(path, { recursive: true }));
    return path;
  };

  test("keeps what was saved last, and leaves nothing else behind", async () => {
    const at = folder();
    const file = new StateFile(join(at, "deep", "state.json"));
    expect(await file.load()).toEqual(EMPTY_STATE);
    const placement = {
      job: 1,
      generation: 3,
      workers: ["w0"],
      server: "ps",
      on: undefined,
      slotBase: 0,
      rows: 4,
      scale: 8,
      firstRound: 9,
    };
    await file.save({ generations: { 1: 2 }, placements: [], drained: [] });
    await file.save({ generations: { 1: 3 }, placements: [placement], drained: ["s1"] });
    expect(await file.load()).toEqual({
      generations: { 1: 3 },
      placements: [placement],
      drained: ["s1"],
      jobs: [],
    });
    expect(readdirSync(join(at, "deep"))).toEqual(["state.json"]);
  });

  test("that is damaged is an error, and not taken for an empty one", async () => {
    const path = join(folder(), "state.json");
    writeFileSync(path, '{"generations": {"1":');
    await expect(new StateFile(path).load()).rejects.toThrow(/not the state of a controller/);
    writeFileSync(path, '{"generations": {"1": "x"}}');
    await expect(new StateFile(path).load()).rejects.toThrow(/the generation of job 1/);
  });
});
