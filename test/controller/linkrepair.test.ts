import { describe, expect, onTestFinished, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { Fleet, type FleetNotice } from "../../src/controller/fleet.ts";
import { linkName, type Topology } from "../../src/controller/topology.ts";
import { ecmp, ipv4Forwarding, priority, probe, program, telemetry } from "../../src/dsl/index.ts";
import { p4infoFromBinary } from "../../src/p4runtime/index.ts";
import type { FrameListener, FramePort } from "../../src/switch/ports/port.ts";
import { PortTally } from "../../src/switch/ports/port.ts";
import { CPU } from "../abuse/network.ts";
import { type SteeredSwitch, startSwitch } from "../abuse/switches.ts";
import { frame } from "../features/trafficprograms.ts";
import { leafSpine } from "./fabric.ts";

const ROOM = { groups: 16, members: 8, spray: "all" as const };
const { ir } = program("probed", {
  ports: 16,
  cpuPort: CPU,
  priorityQueues: 8,
  features: [ipv4Forwarding(), ecmp(ROOM), priority(), telemetry(), probe()],
});

function loadable() {
  const files = generate(ir);
  const [info, json] = [files.get("p4info.bin"), files.get("probed.json")];
  if (!(info instanceof Uint8Array) || json === undefined) throw new Error("the program was not generated");
  return { p4info: p4infoFromBinary(info), deviceConfig: Buffer.from(json) };
}

/** Two switch ports and what lies between them; each direction may be cut. */
class Cable {
  readonly isCut = [false, false];
  readonly ports: readonly [FramePort, FramePort];
  readonly #listeners: (FrameListener | undefined)[] = [undefined, undefined];

  constructor(name: string) {
    const end = (i: 0 | 1): FramePort => {
      const tally = new PortTally();
      return {
        name: `${name} ${i}`,
        send: (data) => {
          const copy = data.slice();
          // Not at once: a switch is not called while it is busy with another packet.
          if (this.isCut[i] !== true) setImmediate(() => this.#listeners[1 - i]?.(copy));
        },
        onFrame: (listener) => {
          this.#listeners[i] = listener;
        },
        statistics: () => tally.snapshot(),
        close: async () => {
          this.#listeners[i] = undefined;
        },
      };
    };
    this.ports = [end(0), end(1)];
  }
}

const WAIT = { timeout: 60_000, interval: 20 };

async function network(): Promise<{
  readonly topology: Topology;
  readonly switches: ReadonlyMap<string, SteeredSwitch>;
  readonly cables: ReadonlyMap<string, Cable>;
}> {
  const plan = leafSpine(2, 2, 1);
  const switches = new Map<string, SteeredSwitch>();
  for (const { name, deviceId } of plan.switches) switches.set(name, await startSwitch(Number(deviceId)));
  const topology = leafSpine(2, 2, 1, (name) => switches.get(name)?.server.address ?? "");
  const cables = new Map<string, Cable>();
  for (const { ends } of topology.links ?? []) {
    const cable = new Cable(linkName(ends));
    cables.set(linkName(ends), cable);
    ends.forEach((end, i) => {
      const port = cable.ports[i];
      if (port !== undefined) switches.get(end.switch)?.runner.attach(end.port, port);
    });
  }
  return { topology, switches, cables };
}

/** Ports of the members of leaf1's group to the other leaf. */
function hopsOf(s: SteeredSwitch | undefined): readonly number[] {
  if (s?.engine.hasPipeline !== true) return [];
  return [...s.engine.table("ecmp.member").entries()]
    .map(({ action }) => (action.kind === "action" ? Number(action.parameters[0]) : -1))
    .sort();
}

describe("a fleet whose program has probes", { timeout: 200_000 }, () => {
  test.each([
    ["there", 0],
    ["back", 1],
  ] as const)(
    "finds a link that is dead in one direction (%s), leads traffic around it, and back",
    async (_, way) => {
      const { topology, switches, cables } = await network();
      const notices: FleetNotice[] = [];
      const fleet = await Fleet.start({
        topology,
        program: loadable(),
        room: ROOM,
        backoff: { first: 20, most: 100 },
        // A machine that runs many other things hears its own probes late.
        probes: { interval: 400 },
        onNotice: (notice) => notices.push(notice),
      });
      onTestFinished(() => fleet.close());
      const leaf = switches.get("leaf1");
      await expect.poll(() => hopsOf(leaf), WAIT).toEqual([1, 2]);
      const [link] = topology.links ?? [];
      const name = linkName(link?.ends ?? expect.fail());
      const cable = cables.get(name) ?? expect.fail();
      cable.isCut[way] = true;
      await expect.poll(() => fleet.linksDown, WAIT).toEqual([name]);
      await expect.poll(() => hopsOf(leaf), WAIT).toEqual([2]);
      // The spine at the dead end is reached by the other leaf now, from both sides.
      const told = notices.filter((n) => n.kind === "link");
      expect(told).toEqual([
        {
          kind: "link",
          link: name,
          state: "down",
          from: expect.stringMatching(way === 0 ? /^leaf1/ : /^spine1/),
        },
      ]);
      const out = leaf?.engine.inject(0, frame({ to: "10.0.1.1" })) ?? [];
      expect(out.map((f) => f.port)).toEqual([2]);
      cable.isCut[way] = false;
      await expect.poll(() => fleet.linksDown, WAIT).toEqual([]);
      await expect.poll(() => hopsOf(leaf), WAIT).toEqual([1, 2]);
      expect(notices.filter((n) => n.kind === "link").map((n) => n.kind === "link" && n.state)).toEqual([
        "down",
        "up",
      ]);
      expect(notices.filter((n) => n.kind === "failed" || n.kind === "miswired")).toEqual([]);
    },
  );
});
