import { generate } from "../src/backends/index.ts";
import {
  exactly,
  type Feature,
  hotAggregation,
  int32,
  internet,
  intrinsic,
  ipv4Forwarding,
  program,
  type SwitchProgram,
  ternary,
} from "../src/dsl/index.ts";
import { admissionsOf } from "../src/numeric/index.ts";
import { type EntityBuilder, insert, type Update } from "../src/p4runtime/index.ts";
import { AGGREGATION_PORT, aggregationFrame, Kind, ModeId, newFrame, parseIpv4 } from "../src/wire/index.ts";

/** What a switch is measured with: its program, what its tables hold, and frames for port 0, of which each makes one that leaves by port 1. */
export interface Workload {
  readonly name: string;
  readonly json: Uint8Array;
  readonly p4info: Uint8Array;
  updates(entities: EntityBuilder): Update[];
  /** Frame number n. Its memory is used again for later ones. */
  frame(n: number): Uint8Array;
  readonly frameBytes: number;
}

const PREFIXES = 10_000;
const RULES = 1_000;
const ADDRESSES = 1_000;
const MANY_FRAMES = 1_024;
const CPU_PORT = 64;
const NEXT_MAC = "02:00:00:00:00:09";

type Traffic = Pick<Workload, "updates"> & { readonly frames: readonly Uint8Array[] };

function workload(
  name: string,
  { ir }: SwitchProgram,
  { updates, frames }: Traffic,
  renew: (frame: Uint8Array, turn: number) => void = () => {},
): Workload {
  const files = generate(ir, { targets: ["v1model"] });
  const bytes = (path: string): Uint8Array => Buffer.from(files.get(path) ?? "");
  return {
    name,
    json: bytes(`${ir.name}.json`),
    p4info: bytes("p4info.bin"),
    updates,
    frame: (n) => {
      const frame = frames[n % frames.length] ?? new Uint8Array(0);
      renew(frame, Math.floor(n / frames.length));
      return frame;
    },
    frameBytes: frames[0]?.length ?? 0,
  };
}

const route = (entities: EntityBuilder, prefix: string): Update =>
  insert(
    entities.tableEntry("forwarding.route", { dst_addr: prefix }, "forwarding.to_port", {
      port: 1,
      dst_mac: NEXT_MAC,
    }),
  );

/** A UDP datagram in a frame of 100 bytes. */
function datagram(to: {
  readonly dstMac: number;
  readonly dstIp: number;
  readonly dstPort: number;
}): Uint8Array {
  return newFrame({ srcMac: 1, srcIp: parseIpv4("192.168.0.1"), srcPort: 7, ...to }, 100 - 42);
}

/** Where a frame goes by its destination alone. */
const bridge: Feature = {
  name: "bridge",
  build(p) {
    const { ethernet } = p.once(internet);
    const c = p.control("bridge", "ingress");
    const toPort = c.action("to_port", { port: intrinsic.egress_port.type }, (a, d) =>
      a.set(intrinsic.egress_port, d.port),
    );
    const drop = c.action("refuse", {}, (a) => a.drop());
    const stations = c.table("stations", {
      key: { dst_addr: exactly(ethernet.dst_addr) },
      actions: [toPort, drop],
      size: ADDRESSES + 24,
      defaultAction: drop.with({}),
    });
    c.apply((s) => s.apply(stations));
    p.ingress("route", (s) => s.invoke(c));
  },
};

function l2(): Workload {
  const mac = (n: number): number => 0x020000000000 + n * 7919;
  return workload(
    `L2, exact, ${ADDRESSES} entries`,
    program("l2", { ports: 8, cpuPort: CPU_PORT, features: [bridge] }),
    {
      updates: (entities) =>
        Array.from({ length: ADDRESSES }, (_, n) =>
          insert(
            entities.tableEntry("bridge.stations", { dst_addr: BigInt(mac(n)) }, "bridge.to_port", {
              port: 1,
            }),
          ),
        ),
      frames: Array.from({ length: MANY_FRAMES }, (_, n) =>
        datagram({ dstMac: mac(n % ADDRESSES), dstIp: parseIpv4("10.0.0.1"), dstPort: 7 }),
      ),
    },
  );
}

function l3(): Workload {
  const network = (n: number): string => `10.${n >> 8}.${n & 0xff}`;
  return workload(
    `L3, longest prefix, ${PREFIXES} entries`,
    program("l3", { ports: 8, cpuPort: CPU_PORT, features: [ipv4Forwarding({ routes: PREFIXES + 16 })] }),
    {
      updates: (entities) =>
        Array.from({ length: PREFIXES }, (_, n) => route(entities, `${network(n)}.0/24`)),
      frames: Array.from({ length: MANY_FRAMES }, (_, n) =>
        datagram({ dstMac: 2, dstIp: parseIpv4(`${network((n * 7919) % PREFIXES)}.7`), dstPort: 7 }),
      ),
    },
  );
}

/** Refuses what fits a rule. */
const accessList: Feature = {
  name: "accessList",
  build(p) {
    const { ipv4, udp } = p.once(internet);
    const c = p.control("access", "ingress");
    const refuse = c.action("refuse", {}, (a) => a.drop());
    const permit = c.action("permit", {}, () => {});
    const rules = c.table("rules", {
      key: {
        src_addr: ternary(ipv4.src_addr),
        dst_addr: ternary(ipv4.dst_addr),
        dst_port: ternary(udp.dst_port),
      },
      actions: [refuse, permit],
      size: RULES + 24,
      defaultAction: permit.with({}),
    });
    c.apply((s) => s.if(p.valid(udp), (then) => then.apply(rules)));
    p.ingress("deliver", (s) => s.invoke(c));
  },
};

function acl(): Workload {
  const masks = ["255.255.255.255", "255.255.255.0", "255.255.0.0", "255.0.255.0"];
  return workload(
    `ACL, ternary, ${RULES} entries`,
    program("acl", {
      ports: 8,
      cpuPort: CPU_PORT,
      features: [ipv4Forwarding({ routes: 64 }), accessList],
    }),
    {
      updates: (entities) => [
        route(entities, "10.0.0.0/8"),
        ...Array.from({ length: RULES }, (_, n) =>
          insert(
            entities.tableEntry(
              "access.rules",
              {
                src_addr: { value: `192.${n & 255}.0.0`, mask: "255.255.0.0" },
                dst_addr: { value: `11.${n & 255}.${n >> 8}.0`, mask: masks[n % masks.length] ?? "" },
                dst_port: { value: n, mask: 0xffff },
              },
              "access.refuse",
              {},
              { priority: n + 1 },
            ),
          ),
        ),
      ],
      frames: Array.from({ length: MANY_FRAMES }, (_, n) =>
        datagram({ dstMac: 2, dstIp: parseIpv4(`10.${n & 255}.${n >> 8}.7`), dstPort: n }),
      ),
    },
  );
}

/** Contributions of one worker, so that each makes a RESULT, beside its acknowledgement to port 0. */
function aggregation(): Workload {
  const [lanes, rows] = [32, 64];
  const server = parseIpv4("10.0.1.1");
  const to = { srcMac: 1, dstMac: 2, srcIp: parseIpv4("10.0.0.1"), dstIp: server };
  const ports = { srcPort: AGGREGATION_PORT, dstPort: AGGREGATION_PORT };
  const frameOf = (slot: number, round: number): Uint8Array =>
    aggregationFrame(
      { ...to, ...ports },
      {
        header: {
          ...{ version: 1, kind: Kind.CONTRIBUTION, flags: 0, job: 1, generation: 1, member: 0, scale: 0 },
          ...{ slot, lanes, mode: ModeId.int32, round },
        },
        lanes: new Int32Array(lanes).fill(slot),
      },
    );
  const [one, other] = [frameOf(0, 1), frameOf(0, 0x01020304)];
  // Where the round stands: the lowest of its four bytes differs, too.
  const at = one.findIndex((byte, i) => byte !== other[i]);
  return workload(
    `Libra, int32, ${lanes} lanes`,
    program("libra", {
      ports: 8,
      cpuPort: CPU_PORT,
      features: [
        ipv4Forwarding({ routes: 64 }),
        hotAggregation({ workers: 32, lanes, rows: 512, mode: int32, result: "ps" }),
      ],
    }),
    {
      updates: (entities) => [
        insert(
          entities.tableEntry("forwarding.route", { dst_addr: "10.0.1.1/32" }, "forwarding.to_local", {}),
        ),
        insert(entities.cloneSession(1, [{ port: 0, instance: 1 }])),
        ...admissionsOf({ job: 1, generation: 1, workers: [0], slotBase: 0, rows, scale: 0 }, 16).map((a) =>
          insert(
            entities.tableEntry(
              "admission.member",
              { job: a.job, member: a.member, chunk: a.chunk },
              "admission.admit",
              {
                ...{ worker_bit: a.bit, full_mask: a.full, generation: a.generation, scale: a.scale },
                ...{ result_port: 1, server_mac: NEXT_MAC, server_addr: server, ack_session: 1 },
              },
            ),
          ),
        ),
      ],
      frames: Array.from({ length: rows }, (_, slot) => frameOf(slot, 1)),
    },
    (frame, turn) => {
      new DataView(frame.buffer, frame.byteOffset).setUint32(at, turn + 1);
    },
  );
}

export const workloads = (): readonly Workload[] => [l2(), l3(), acl(), aggregation()];
