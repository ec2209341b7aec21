import { describe, expect, test } from "vitest";
import { IntentBook } from "../../src/controller/intent.ts";
import { type LinkNews, LinkProbes, type ProbesOutcome } from "../../src/controller/linkprobes.ts";
import type { Topology } from "../../src/controller/topology.ts";
import { linkName } from "../../src/controller/topology.ts";
import { ecmp, ipv4Forwarding, probe, program } from "../../src/dsl/index.ts";
import { seededRandom } from "../../src/host/random.ts";
import { Lab } from "../../src/lab/index.ts";
import { headerCodec } from "../../src/wire/codec.ts";
import { packetIn, packetOut } from "../../src/wire/controllerport.ts";
import { localSwitch } from "../features/localswitch.ts";
import { leafSpine } from "./fabric.ts";
import { groupsOf } from "./flowgroups.ts";

const CPU = 100;
const { ir } = program("probing", {
  ports: 16,
  cpuPort: CPU,
  features: [ipv4Forwarding(), ecmp({ groups: 16, members: 8, spray: "all" }), probe()],
});
const inHeader = headerCodec(packetIn);
const outHeader = headerCodec(packetOut);

interface Told {
  readonly at: number;
  readonly news: LinkNews;
}

/** Embedded switches with the generated program, cables between them, and the probes of a controller, under one virtual clock. */
function fabric(topology: Topology, loss = 0) {
  const lab = new Lab(seededRandom(5));
  const probes = new LinkProbes(topology, 77, 0);
  const told: Told[] = [];
  const take = ({ send, news }: ProbesOutcome): void => {
    for (const item of news) told.push({ at: lab.now, news: item });
    for (const { switch: name, port, frame } of send) {
      const packet = new Uint8Array(outHeader.bytes + frame.length);
      outHeader.encode({ egress_port: port, submit: 0, padding: 0 }, packet, 0);
      packet.set(frame, outHeader.bytes);
      lab.packetOut(name, packet);
    }
  };
  for (const { name } of topology.switches) {
    const engine = localSwitch(ir);
    for (const { ends } of topology.links ?? [])
      for (const end of ends)
        if (end.switch === name)
          engine.table("probe.link").insert([{ kind: "exact", value: BigInt(end.port) }], {
            kind: "action",
            action: "probe.to_controller",
            parameters: [],
          });
    lab.addSwitch(name, engine, (data) =>
      take(probes.packetIn(name, inHeader.decode(data, 0).ingress_port, data.slice(inHeader.bytes), lab.now)),
    );
  }
  for (const { ends } of topology.links ?? []) lab.link(ends[0], ends[1], { delay: 0.5, loss });
  for (const { name } of topology.switches) take(probes.switched(name, true, 0));
  const arm = (): void =>
    lab.at(probes.wakeAt, () => {
      take(probes.tick(lab.now));
      arm();
    });
  arm();
  return { lab, probes, told, run: (until: number) => lab.run(() => false, until) };
}

const topology = leafSpine(2, 2, 1);
const [first] = topology.links ?? [];
const [a, b] = first?.ends ?? expect.fail();
const NAME = linkName([a, b]);
const directions = [
  ["one direction", `${a.switch}:${a.port}>${b.switch}:${b.port}`, a],
  ["the other direction", `${b.switch}:${b.port}>${a.switch}:${a.port}`, b],
] as const;

describe("link probes through the switches' data planes", () => {
  test("while all cables work no link is down, whatever the time", () => {
    const { told, probes, run } = fabric(topology);
    run(20_000);
    expect(told).toEqual([]);
    expect([...probes.down]).toEqual([]);
    expect(probes.foreign).toBe(0);
  });

  test.each(directions)(
    "a cable that is cut in %s is down after three lost probes, and up after three that arrive",
    (_, wire, from) => {
      const { lab, told, probes, run } = fabric(topology);
      lab.at(1000, () => lab.wire(wire).cut());
      run(2000);
      expect(told.map(({ news }) => news)).toEqual([{ kind: "down", link: NAME, from }]);
      // Three losses: the first after an interval of 100 ms, the others at half of it, and half of it that a probe may be on its way.
      expect(told[0]?.at).toBeGreaterThan(1100);
      expect(told[0]?.at).toBeLessThan(1300);
      expect([...probes.down]).toEqual([NAME]);
      lab.wire(wire).mend();
      run(4000);
      expect(told[1]?.news).toEqual({ kind: "up", link: NAME });
      expect(told[1]?.at).toBeLessThan(2500);
      expect([...probes.down]).toEqual([]);
    },
  );

  test("two losses in a row are no failure: with 5 % of frames lost no link goes down in a minute", () => {
    const { told, run } = fabric(topology, 0.02);
    run(60_000);
    expect(told).toEqual([]);
  });

  test("probes of another controller, and of the one before, are not taken for own ones", () => {
    const { lab, probes, run } = fabric(topology);
    const other = new LinkProbes(topology, 78, 0);
    for (const { name } of topology.switches) other.switched(name, true, 0);
    run(500);
    const { send } = other.tick(0);
    expect(send.length).toBe(8);
    for (const { switch: name, port, frame } of send) {
      expect(probes.packetIn(name, port, frame, lab.now)).toEqual({ send: [], news: [] });
    }
    expect(probes.foreign).toBe(8);
  });

  test("a cable in the wrong socket is told", () => {
    const links = topology.links ?? [];
    const swapped: Topology = {
      ...topology,
      // What the controller was told of spine1 and spine2 is the wrong way round.
      links: links.map(({ ends: [leaf, spine] }) => ({
        ends: [leaf, { ...spine, switch: spine.switch === "spine1" ? "spine2" : "spine1" }] as const,
      })),
    };
    const probes = new LinkProbes(swapped, 1, 0);
    for (const { name } of swapped.switches) probes.switched(name, true, 0);
    const { send } = probes.tick(0);
    const one = send.find((s) => s.switch === "leaf1") ?? expect.fail();
    // The real cable leads to the other spine.
    const real = links.find(({ ends: [leaf] }) => leaf.switch === "leaf1" && leaf.port === one.port)?.ends[1];
    const { news } = probes.packetIn(real?.switch ?? "", real?.port ?? 0, one.frame, 1);
    expect(news.map((n) => n.kind)).toEqual(["miswired"]);
  });
});

describe("the repair of a link", () => {
  const weighted: Topology = {
    ...topology,
    links: (topology.links ?? []).map((link, i) => (i === 0 ? { ...link, weight: 2 } : link)),
  };
  const room = { groups: 16, members: 8 };
  const entriesOf = (down: readonly string[], spray: "all" | "none") => {
    const outage = { switches: new Set<string>(), links: new Set(down), drained: new Set<string>() };
    return new IntentBook({ topology: weighted, outage, room: { ...room, spray } });
  };

  test("takes its members out of the groups and back, with the weights of the others as they were", () => {
    const whole = groupsOf(entriesOf([], "none"), "leaf1");
    const shared = whole.find(({ members }) => members.length === 2) ?? expect.fail();
    expect(shared.members).toEqual([
      [a.port, 2],
      [a.port + 1, 1],
    ]);
    const without = groupsOf(entriesOf([NAME], "none"), "leaf1");
    expect(without.find(({ group }) => group === shared.group)?.members).toEqual([[a.port + 1, 1]]);
    // The way to the spine at the end of the dead cable is a longer one now.
    expect(without.flatMap(({ members }) => members.map(([port]) => port))).not.toContain(a.port);
    expect(groupsOf(entriesOf([], "none"), "leaf1")).toEqual(whole);
  });
});
