import type { Lab, LabSwitch, SwitchPort } from "./lab.ts";
import type { LabTopology, SwitchPlace } from "./topology.ts";

/** Puts the switches of a topology into a lab and joins them. Hosts are added by the caller, and plugged in with `plugHosts`. */
export function addSwitches(lab: Lab, topology: LabTopology, make: (place: SwitchPlace) => LabSwitch): void {
  for (const place of topology.switches) lab.addSwitch(place.name, make(place));
  for (const { a, b, options } of topology.cables) {
    const [from, to] = [portOf(a), portOf(b)];
    if (from !== undefined && to !== undefined) lab.link(from, to, options);
  }
}

/** Plugs in those of the topology's hosts that are in the lab: all, or the ones named. */
export function plugHosts(lab: Lab, topology: LabTopology, only?: ReadonlySet<string>): void {
  for (const { a, b, options } of topology.cables) {
    const to = portOf(b);
    if (portOf(a) === undefined && to !== undefined && (only?.has(a) ?? true))
      lab.connect(a, to.switch, to.port, options);
  }
}

/** `leaf1:16` as a switch and a port; undefined for a host's name. */
function portOf(end: string): SwitchPort | undefined {
  const [name = "", port] = end.split(":");
  return port === undefined ? undefined : { switch: name, port: Number(port) };
}
