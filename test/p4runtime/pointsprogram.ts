import { generate } from "../../src/backends/index.ts";
import { controllerPort } from "../../src/dsl/features/controllerport.ts";
import { internet } from "../../src/dsl/features/internet.ts";
import {
  bit,
  exactly,
  type Feature,
  inRange,
  intrinsic,
  ipv4Forwarding,
  lpm,
  optional,
  type ProgramBuilder,
  program,
  ternary,
} from "../../src/dsl/index.ts";
import { p4infoFromBinary } from "../../src/p4info/index.ts";
import { CPU_PORT } from "./servers.ts";

/** Every kind of object that P4Runtime steers, but for value sets, which have a program of their own. */
const kinds: Feature = { name: "kinds", build };

function build(p: ProgramBuilder): void {
  const { ethernet } = p.once(internet);
  p.once(controllerPort);
  const colour = p.metadata("colour", bit(2), "of the last meter");
  const wide = p.metadata("wide", bit(128), "a value of 128 bits");
  const c = p.control("kinds", "ingress", "Objects of all kinds.");
  const cells = c.counter("cells", ["a", "b", "c", "d"]);
  const sums = c.register("sums", bit(128), 512);
  const rates = c.meter("rates", { size: 4, unit: "packets" });
  const learned = c.digest("learned", { src: bit(48), port: bit(9) });
  const choice = c.actionSelector("choice", { size: 8, algorithm: "crc16", keys: [ethernet.src_addr] });
  const toPort = c.action("to_port", { port: bit(9) }, (a, { port }) => a.set(intrinsic.egress_port, port));
  const away = c.action("away", { port: bit(9) }, (a, { port }) => a.set(intrinsic.egress_port, port));
  const learn = c.action("learn", {}, (a) =>
    a.digest(learned, { src: ethernet.src_addr.cast(bit(48)), port: intrinsic.ingress_port.cast(bit(9)) }),
  );
  const mark = c.action("mark", { value: bit(128) }, (a, { value }) => a.set(wide, value));
  const meterHit = c.action("meter_hit", {}, () => {});
  const rules = c.table("rules", {
    key: {
      src: ternary(ethernet.src_addr),
      port: inRange(intrinsic.ingress_port),
      type: optional(ethernet.ether_type),
    },
    actions: [toPort, learn],
    size: 4,
    counter: "ruled",
  });
  const prefixes = c.table("prefixes", {
    key: { dst: lpm(ethernet.dst_addr) },
    actions: [toPort],
    size: 1024,
  });
  const big = c.table("big", { key: { value: exactly(wide) }, actions: [mark], size: 8 });
  const metered = c.table("metered", {
    key: { src: exactly(ethernet.src_addr) },
    actions: [meterHit],
    size: 8,
    meter: { name: "rate", unit: "bytes", into: colour },
  });
  const fixed = c.table("fixed", {
    key: { type: exactly(ethernet.ether_type) },
    actions: [toPort],
    size: 4,
    constDefault: true,
    entries: [{ key: { type: 0x9999 }, run: toPort.with({ port: 3 }) }],
  });
  const spread = c.table("spread", {
    key: { type: exactly(ethernet.ether_type) },
    actions: [away],
    size: 8,
    implementation: choice,
  });
  c.apply((s) => {
    s.apply(big);
    s.apply(metered);
    s.apply(prefixes);
    s.apply(fixed);
    s.apply(spread);
    s.apply(rules);
    s.count(cells, "b");
    s.meter(rates, 1, colour);
    s.update(sums, { index: intrinsic.ingress_port, next: (old) => old.add(1) });
  });
  p.ingress("route", (s) => s.invoke(c));
}

/** @param routes room for IPv4 routes */
export function pointsProgram(routes = 16) {
  const files = generate(
    program("points", { ports: 8, cpuPort: CPU_PORT, features: [ipv4Forwarding({ routes }), kinds] }).ir,
  );
  const file = (name: string): Buffer => Buffer.from(files.get(name) ?? "");
  return { p4info: p4infoFromBinary(file("p4info.bin")), json: file("points.json") };
}
