import type { WantedEntry } from "../../src/controller/wantedstate.ts";
import {
  contentsOf,
  drop,
  ecmp,
  groupEntries,
  ipv4Forwarding,
  priority,
  program,
} from "../../src/dsl/index.ts";
import type { SwitchPlace } from "../../src/lab/topology.ts";
import type { Switch } from "../../src/switch/index.ts";
import { formatIpv4, formatMac } from "../../src/wire/address.ts";
import { fill, localSwitch } from "../features/localswitch.ts";

/** Thresholds of the tests, by class: short, so that bursts reach them. */
export const KEEP = { 0: 3, 1: 6, 3: 4, 6: 2 };

const { ir } = program("traffic", {
  ports: 16,
  priorityQueues: 8,
  features: [
    ipv4Forwarding(),
    ecmp({ groups: 16, members: 8, spray: "all" }),
    drop({ keep: KEEP }),
    priority(),
  ],
});

/** The engine with the generated program of forwarding, priority, drop and spray, and the routes of a place. */
export function programSwitch(place: SwitchPlace): Switch {
  const engine = localSwitch(ir);
  const groups = new Map<string, number>();
  const entries = place.routes.flatMap(({ prefix, length, hops }): readonly WantedEntry[] => {
    const match = { dst_addr: `${formatIpv4(prefix)}/${length}` };
    const members = hops.map(({ port, mac }) => ({ port, mac: formatMac(mac) }));
    const [only] = members;
    if (only !== undefined && members.length === 1) {
      const params = { port: only.port, dst_mac: only.mac };
      return [{ table: "forwarding.route", match, action: "forwarding.to_port", params }];
    }
    const key = JSON.stringify(members);
    const known = groups.get(key);
    const group = known ?? groups.size;
    groups.set(key, group);
    const route = { table: "forwarding.route", match, action: "forwarding.to_group", params: { group } };
    return [...(known === undefined ? groupEntries(group, members) : []), route];
  });
  fill(engine, ir, { entries: [...entries, ...contentsOf(ir)], cloneSessions: [] });
  return engine;
}
