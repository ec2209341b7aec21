/**
 * Calls of generated bindings that must compile, and such that must not. Nothing here runs: the type checker is the test, as an
 * `@ts-expect-error` above a line without an error is an error itself.
 */
import type { ActionCall, BoundClient, Entity, Value } from "gradplane/p4runtime";
import { bind as bindEverything, type Everything } from "./golden/everything.ts";
import { actions, bind, type Libra } from "./golden/libra.ts";

/** True when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function isTrue<_ extends true>(): void {}

export async function tables(client: BoundClient): Promise<void> {
  const libra: Libra = bind(client);
  const { route } = libra.tables.forwarding;
  const toPort = libra.actions.forwarding.to_port({ port: 5, dst_mac: "02:00:00:00:00:01" });

  await route.insert({ dst_addr: "10.0.0.0/8" }, toPort);
  await route.insert({ dst_addr: { value: 0x0a000000n, prefixLength: 8 } }, toPort, { timeout: 100 });
  await route.insert({}, actions.forwarding.no_route());
  await route.insert({ dst_addr: undefined }, toPort);
  await route.modify({ dst_addr: "10.0.0.0/8" }, toPort);
  await route.delete({ dst_addr: "10.0.0.0/8" });
  await route.setDefault(toPort);
  await route.resetDefault();

  // @ts-expect-error no such table
  libra.tables.forwarding.rout;
  // @ts-expect-error no such field
  await route.insert({ dst: "10.0.0.0/8" }, toPort);
  // @ts-expect-error an LPM field has no mask
  await route.insert({ dst_addr: { value: 1, mask: 1 } }, toPort);
  // @ts-expect-error a table of LPM fields has no priority
  await route.insert({ dst_addr: "10.0.0.0/8" }, toPort, { priority: 1 });
  // @ts-expect-error not an action of this table
  await route.insert({ dst_addr: "10.0.0.0/8" }, actions.admission.admit({ job: 1 }));
  // @ts-expect-error not an action of this table, as a default either
  await route.setDefault(actions.admission.admit({ job: 1 }));
  // @ts-expect-error an action is needed
  await route.insert({ dst_addr: "10.0.0.0/8" });
  // @ts-expect-error a parameter is missing
  actions.forwarding.to_port({ port: 5 });
  // @ts-expect-error no such parameter
  actions.forwarding.to_port({ port: 5, dst_mac: 1, vlan: 1 });
  // @ts-expect-error parameters go by name
  actions.forwarding.to_port(5, 1);
  // @ts-expect-error it has no parameters
  actions.forwarding.no_route({ port: 1 });
  // @ts-expect-error no such action
  actions.forwarding.to_prot;
  // @ts-expect-error a value is a number, a bigint, a text or bytes
  actions.forwarding.to_port({ port: true, dst_mac: 1 });

  const entity: Entity = route.entry({ dst_addr: "10.0.0.0/8" }, toPort);
  void entity;
}

export async function priorities(client: BoundClient): Promise<void> {
  const everything: Everything = bindEverything(client);
  const { acl } = everything.tables.MyIngress;
  const { drop, ipv4_forward } = everything.actions.MyIngress;
  const { NoAction } = everything.actions;
  const key = { "hdr.ipv4.$valid$": 1 };

  await acl.insert(key, drop(), { priority: 10 });
  await acl.insert(
    {
      ...key,
      "hdr.ipv4.dstAddr": "10.0.0.0/8",
      "hdr.ethernet.etherType": { value: 0x0800, mask: 0xff00 },
      "standard_metadata.ingress_port": { low: 1, high: 4 },
      "hdr.mpls[0].label": 7n,
    },
    ipv4_forward({ dstAddr: 1, port: 2 }),
    { priority: 10, metadata: new Uint8Array(4) },
  );
  await acl.delete(key, { priority: 10 });
  await acl.setDefault(NoAction());

  // @ts-expect-error a priority is needed
  await acl.insert(key, drop());
  // @ts-expect-error a priority is needed
  await acl.insert(key, drop(), {});
  // @ts-expect-error it is a number
  await acl.insert(key, drop(), { priority: "10" });
  // @ts-expect-error a key has a priority as well
  await acl.delete(key);
  // @ts-expect-error exact fields are needed
  await acl.insert({ "hdr.ipv4.dstAddr": "10.0.0.0/8" }, drop(), { priority: 1 });
  // @ts-expect-error a range field has no mask
  await acl.insert({ ...key, "standard_metadata.ingress_port": { value: 1, mask: 1 } }, drop(), {
    priority: 1,
  });
  // @ts-expect-error a ternary field has no range
  await acl.insert({ ...key, "hdr.ethernet.etherType": { low: 1, high: 2 } }, drop(), { priority: 1 });
  // @ts-expect-error an optional field has neither
  await acl.insert({ ...key, "hdr.mpls[0].label": { value: 1, mask: 1 } }, drop(), { priority: 1 });
  // @ts-expect-error the action is for default entries only
  await acl.insert(key, NoAction(), { priority: 1 });
  // @ts-expect-error the action is for entries only
  await acl.setDefault(ipv4_forward({ dstAddr: 1, port: 2 }));

  const { class: classes, fixed, keyless, fixed_default: fixedDefault } = everything.tables.MyIngress;
  await classes.insert(
    { default: 1, ["__proto__"]: 2, "port name": "eth0" },
    everything.actions.MyIngress.return({ new: 1, ["__proto__"]: 2, text: "abc" }),
    { priority: 1 },
  );
  await classes.insert(
    // @ts-expect-error text is no number
    { default: 1, ["__proto__"]: 2, "port name": 5 },
    everything.actions.MyIngress.return({ new: 1, ["__proto__"]: 2, text: "abc" }),
    { priority: 1 },
  );
  await keyless.setDefault(ipv4_forward({ dstAddr: 1, port: 2 }));
  await everything.tables["MyIngress.acl.inner"].insert({ "hdr.ipv6.dstAddr": "::/0" }, drop());
  // @ts-expect-error constant entries cannot be written
  fixed.insert;
  // @ts-expect-error the default action is constant
  fixed.setDefault;
  // @ts-expect-error without a key there are no entries
  keyless.insert;
  // @ts-expect-error nothing of it can be changed
  fixedDefault.setDefault;
}

export async function profiles(client: BoundClient): Promise<void> {
  const { tables: all, actionProfiles, actions: calls } = bindEverything(client);
  const { ecmp, next_hop: nextHop } = all.MyIngress;
  const { selector, profile } = actionProfiles.MyIngress;
  const forward = calls.MyIngress.ipv4_forward({ dstAddr: 1, port: 2 });
  await selector.insertMember(1, forward);
  await selector.insertGroup(1, { 1: 1 }, { maxSize: 4 });
  await ecmp.insert({ "meta.group": 1 }, { group: 1 });
  await ecmp.insert({ "meta.group": 2 }, { member: 1 });
  await ecmp.insert({ "meta.group": 3 }, { oneShot: [{ ...forward, weight: 2, watchPort: 1 }] });
  await profile.insertMember(1, forward);
  await nextHop.insert({ "meta.next_hop": 1 }, { member: 1 });

  // @ts-expect-error with a selector an action alone is not enough
  await ecmp.insert({ "meta.group": 1 }, forward);
  // @ts-expect-error not an action of the table
  await ecmp.insert({ "meta.group": 3 }, { oneShot: [calls.MyIngress.return({ new: 1, text: "" })] });
  // @ts-expect-error a profile without selector has no groups
  await nextHop.insert({ "meta.next_hop": 1 }, { group: 1 });
  // @ts-expect-error a profile without selector has no groups
  profile.insertGroup;
  // @ts-expect-error not an action of the profile's tables
  await profile.insertMember(1, calls.MyIngress.drop());
}

export async function reading(client: BoundClient): Promise<void> {
  const everything = bindEverything(client);
  for await (const entry of everything.tables.MyIngress.acl.read()) {
    const { match, action } = entry;
    isTrue<Same<(typeof match)["hdr.ipv4.$valid$"], bigint>>();
    const prefix: { readonly value: bigint; readonly prefixLength: number } | undefined =
      match["hdr.ipv4.dstAddr"];
    const masked: { readonly value: bigint; readonly mask: bigint } | undefined =
      match["hdr.ethernet.etherType"];
    const range: { readonly low: bigint; readonly high: bigint } | undefined =
      match["standard_metadata.ingress_port"];
    const label: bigint | undefined = match["hdr.mpls[0].label"];
    void [prefix, masked, range, label];
    // @ts-expect-error a field that is not exact may be absent
    const present: bigint = match["hdr.mpls[0].label"];
    void present;
    if (action?.action === "MyIngress.ipv4_forward") isTrue<Same<typeof action.params.port, bigint>>();
    // @ts-expect-error entries of this table never have this action
    if (action?.action === "NoAction") void action;
    // What was read can be written again.
    if (action !== undefined) await everything.tables.MyIngress.acl.insert(match, action, entry);
  }
  for await (const { match } of everything.tables.MyIngress.class.read())
    isTrue<Same<(typeof match)["port name"], string>>();
  const fallback = await everything.tables.MyIngress.acl.readDefault();
  isTrue<Same<NonNullable<typeof fallback>["action"], "MyIngress.drop" | "NoAction">>();
}

export async function cells(client: BoundClient): Promise<void> {
  const { counters, meters, registers, tables: all } = bindEverything(client);
  const packets = await counters.packets.read(0);
  isTrue<Same<typeof packets, { readonly packets: bigint }>>();
  await counters.bytes.write(1, { bytes: 0n });
  const { bytes } = await counters.both.read(0);
  isTrue<Same<typeof bytes, bigint>>();
  // @ts-expect-error it counts no bytes
  packets.bytes;
  // @ts-expect-error bytes are missing
  await counters.both.write(0, { packets: 1n });

  await meters.two_rates.write(0, { cir: 1n, cburst: 2n, pir: 3n, pburst: 4n });
  await meters.two_colors.write(0, { cir: 1n, cburst: 2n });
  await meters.two_colors.write(0, undefined);
  // @ts-expect-error it has one rate
  await meters.two_colors.write(0, { cir: 1n, cburst: 2n, pir: 3n, pburst: 4n });
  // @ts-expect-error it has no excess burst
  await meters.two_rates.write(0, { cir: 1n, cburst: 2n, eburst: 3n });

  await registers.sums.write(0, 1n << 127n);
  const cell: bigint = await registers.signed.read(3);
  void cell;
  // @ts-expect-error its cells are structs
  registers.pairs;

  const { tunnels, kinds } = bindEverything(client).valueSets.MyParser;
  await tunnels.set([{ protocol: 17, port: "0x12b5" }]);
  const [member] = await tunnels.read();
  if (member !== undefined)
    isTrue<Same<typeof member, { readonly protocol: bigint; readonly port: bigint }>>();
  // @ts-expect-error a field is missing
  await tunnels.set([{ protocol: 17 }]);
  await kinds.set([0x800, 0x86ddn]);
  const types: readonly bigint[] = await kinds.read();
  void types;
  // @ts-expect-error its members are values
  await kinds.set([{ kind: 0x800 }]);

  const { acl } = all.MyIngress;
  const key = { "hdr.ipv4.$valid$": 1 };
  const count = await acl.counter.read(key, { priority: 1 });
  isTrue<Same<typeof count, { readonly bytes: bigint }>>();
  await acl.meter.write(key, { cir: 1n, cburst: 1n }, { priority: 1 });
  // @ts-expect-error the key has a priority
  await acl.counter.read(key);
  // @ts-expect-error this table has no counter
  all.MyIngress.ecmp.counter;
}

export async function stream(client: BoundClient): Promise<void> {
  const libra = bind(client);
  for await (const { metadata } of libra.packets()) {
    isTrue<Same<typeof metadata.ingress_port, bigint>>();
    // @ts-expect-error no such field
    metadata.port;
  }
  libra.sendPacket(new Uint8Array(60), { egress_port: 5, submit: 0 });
  libra.sendPacket(new Uint8Array(60), { egress_port: 5, submit: 0, padding: 0 });
  // @ts-expect-error every field but the padding is needed
  libra.sendPacket(new Uint8Array(60), { egress_port: 5 });
  // @ts-expect-error no such field
  libra.sendPacket(new Uint8Array(60), { egress_port: 5, submit: 0, port: 1 });

  const { digests } = bindEverything(client);
  await digests.learn_t.enable({ maxListSize: 1 });
  const message = digests.learn_t.read({ update: undefined });
  for (const { src, color, port, header } of message?.values ?? []) {
    isTrue<Same<typeof src, bigint>>();
    isTrue<Same<typeof color, "RED" | "GREEN">>();
    isTrue<Same<typeof port, string>>();
    isTrue<Same<typeof header, { readonly class: bigint } | undefined>>();
  }
}

/** Values that come from outside are unknown to the type checker; they can still be given by name. */
export function dynamic(call: ActionCall, value: Value): ActionCall {
  return { action: call.action, params: { port: value } };
}
