import { describe, expect, test } from "vitest";
import router, { EVENTS } from "../../examples/router/program.ts";
import type { MatchField, Switch } from "../../src/switch/index.ts";
import { parseIpv4, parseMac } from "../../src/wire/address.ts";
import { ipv4HeaderChecksum, newFrame } from "../../src/wire/datagram.ts";
import { localSwitch } from "../features/localswitch.ts";

const CPU = 192;
const NEXT_ROUTER = "02:00:00:00:00:07";
const OWN_MAC = "02:00:00:00:ff:03";

const ternary = (address: string, mask: string): MatchField => ({
  kind: "ternary",
  value: BigInt(parseIpv4(address)),
  mask: BigInt(parseIpv4(mask)),
});

/** 10.1/16 by port 3, the router itself at 10.0.0.1; telnet from 10.0.9/24 is denied, but for one host. */
function filled(): Switch {
  const sw = localSwitch(router.ir);
  const route = (prefix: string, prefixLength: number, action: string, parameters: readonly bigint[]) =>
    sw.table("routing.routes").insert([{ kind: "lpm", value: BigInt(parseIpv4(prefix)), prefixLength }], {
      kind: "action",
      action: `routing.${action}`,
      parameters,
    });
  route("10.1.0.0", 16, "via", [7n]);
  route("10.2.0.0", 16, "via", [8n]);
  route("10.0.0.1", 32, "to_self", []);
  sw.table("routing.next_hops").insert([{ kind: "exact", value: 7n }], {
    kind: "action",
    action: "routing.forward",
    parameters: [3n, BigInt(parseMac(NEXT_ROUTER))],
  });
  sw.table("departure.interfaces").insert([{ kind: "exact", value: 3n }], {
    kind: "action",
    action: "departure.from",
    parameters: [BigInt(parseMac(OWN_MAC))],
  });
  const rule = (source: MatchField, action: string, priority: number) =>
    sw
      .table("access_list.rules")
      .insert(
        [
          source,
          undefined,
          { kind: "ternary", value: 17n, mask: 255n },
          { kind: "range", low: 20n, high: 23n },
        ],
        { kind: "action", action: `access_list.${action}`, parameters: [] },
        { priority },
      );
  rule(ternary("10.0.9.0", "255.255.255.0"), "deny", 10);
  rule(ternary("10.0.9.5", "255.255.255.255"), "permit", 20);
  return sw;
}

interface Sent {
  readonly from?: string;
  readonly to?: string;
  readonly port?: number;
  readonly ttl?: number;
}

function datagram({ from = "10.0.8.1", to = "10.1.2.3", port = 80, ttl = 64 }: Sent): Uint8Array {
  const frame = newFrame(
    {
      srcMac: parseMac("02:00:00:00:00:01"),
      dstMac: parseMac("02:00:00:00:ff:00"),
      srcIp: parseIpv4(from),
      dstIp: parseIpv4(to),
      srcPort: 1000,
      dstPort: port,
    },
    8,
  );
  frame[22] = ttl;
  frame.fill(0, 24, 26);
  const checksum = ipv4HeaderChecksum(frame, 14);
  frame[24] = checksum >> 8;
  frame[25] = checksum & 255;
  return frame;
}

/** What became of one packet, and where it went. */
function fate(
  sw: Switch,
  frame: Uint8Array,
): { event: string | undefined; out: readonly [number, string][] } {
  const before = EVENTS.map((_, i) => sw.counter("router.events").read(i).packets);
  const out = sw
    .inject(5, frame)
    .map(({ port, data }): [number, string] => [port, Buffer.from(data).toString("hex")]);
  const found = EVENTS.filter((_, i) => sw.counter("router.events").read(i).packets !== before[i]);
  expect(found).toHaveLength(1);
  return { event: found[0], out };
}

describe("the example router", () => {
  test("routes to the next hop: both addresses, time to live and checksum are new", () => {
    const { event, out } = fate(filled(), datagram({}));
    const [[port, hex] = [0, ""]] = out;
    const data = Buffer.from(hex, "hex");
    expect({ event, port, count: out.length }).toEqual({ event: "routed", port: 3, count: 1 });
    expect(hex.slice(0, 24)).toBe(`${NEXT_ROUTER}${OWN_MAC}`.replaceAll(":", ""));
    expect(data[22]).toBe(63);
    expect(ipv4HeaderChecksum(data, 14)).toBe(0);
  });

  test.each([
    ["a packet for nobody", { to: "10.9.9.9" }, "drop_no_route"],
    ["a packet whose next hop is not known", { to: "10.2.0.1" }, "drop_no_route"],
    ["a packet that an access list refuses", { from: "10.0.9.4", port: 23 }, "drop_denied"],
  ])("drops %s, and counts why", (_, sent, reason) => {
    expect(fate(filled(), datagram(sent))).toEqual({ event: reason, out: [] });
  });

  test.each([
    ["just above the range of ports", { from: "10.0.9.4", port: 24 }],
    ["from the host with an exception of higher priority", { from: "10.0.9.5", port: 23 }],
    ["from another network", { from: "10.0.8.4", port: 23 }],
  ])("lets through what is %s", (_, sent) => {
    expect(fate(filled(), datagram(sent)).event).toBe("routed");
  });

  test("drops what is broken or no IPv4", () => {
    const broken = datagram({});
    broken[24] = (broken[24] ?? 0) ^ 1;
    expect(fate(filled(), broken)).toEqual({ event: "drop_checksum", out: [] });
    const foreign = datagram({});
    foreign[13] = 6; // ARP
    expect(fate(filled(), foreign)).toEqual({ event: "drop_not_ipv4", out: [] });
  });

  test.each([
    ["for the router itself", { to: "10.0.0.1" }, "punt_self", 1],
    ["at the end of its time to live", { ttl: 1 }, "punt_ttl", 2],
  ])("gives the controller a packet %s, with its port and the reason", (_, sent, event, reason) => {
    const frame = datagram(sent);
    const header = `0280${reason.toString(16).padStart(2, "0")}`; // port 5, nine bits; seven of padding; reason
    expect(fate(filled(), frame)).toEqual({
      event,
      out: [[CPU, header + Buffer.from(frame).toString("hex")]],
    });
  });
});
