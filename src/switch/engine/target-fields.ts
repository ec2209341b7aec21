import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { FieldSlot, PhvLayout } from "./layout.ts";
import type { PacketState } from "./packet-state.ts";

/** Metadata that simple_switch reads and writes, as the program's slots; undefined if the program lacks a field. */
export interface TargetFields {
  readonly ingressPort: FieldSlot;
  readonly packetLength: FieldSlot;
  readonly instanceType: FieldSlot;
  readonly egressSpec: FieldSlot;
  readonly egressPort: FieldSlot;
  readonly multicastGroup: FieldSlot | undefined;
  readonly egressRid: FieldSlot | undefined;
  readonly priority: FieldSlot | undefined;
  readonly ingressTimestamp: FieldSlot | undefined;
  readonly egressTimestamp: FieldSlot | undefined;
  readonly enqueueTimestamp: FieldSlot | undefined;
  readonly enqueueDepth: FieldSlot | undefined;
  readonly dequeueTimeDelta: FieldSlot | undefined;
  readonly dequeueDepth: FieldSlot | undefined;
  readonly queueId: FieldSlot | undefined;
}

export function targetFields(layout: PhvLayout): TargetFields {
  const required = (name: string): FieldSlot => {
    const slot = layout.targetField(name);
    if (slot === undefined)
      throw new SwitchConfigError("MISSING", "headers", `the program has no field "${name}"`);
    if (slot.store !== "u")
      throw new SwitchConfigError("BAD_VALUE", "headers", `"${name}" is wider than 32 bits`);
    return slot;
  };
  const narrow = (name: string): FieldSlot | undefined =>
    layout.targetField(name) ? required(name) : undefined;
  return {
    ingressPort: required("standard_metadata.ingress_port"),
    packetLength: required("standard_metadata.packet_length"),
    instanceType: required("standard_metadata.instance_type"),
    egressSpec: required("standard_metadata.egress_spec"),
    egressPort: required("standard_metadata.egress_port"),
    multicastGroup: narrow("intrinsic_metadata.mcast_grp"),
    egressRid: layout.targetField("intrinsic_metadata.egress_rid"),
    priority: narrow("intrinsic_metadata.priority"),
    ingressTimestamp: layout.targetField("intrinsic_metadata.ingress_global_timestamp"),
    egressTimestamp: layout.targetField("intrinsic_metadata.egress_global_timestamp"),
    enqueueTimestamp: layout.targetField("queueing_metadata.enq_timestamp"),
    enqueueDepth: layout.targetField("queueing_metadata.enq_qdepth"),
    dequeueTimeDelta: layout.targetField("queueing_metadata.deq_timedelta"),
    dequeueDepth: layout.targetField("queueing_metadata.deq_qdepth"),
    queueId: layout.targetField("queueing_metadata.qid"),
  };
}

/** Code that stores the local `name`, a non-negative number, into a field; nothing if the program lacks the field. */
function storeCode(slot: FieldSlot | undefined, name: string): string {
  if (slot === undefined) return "";
  const limit = 2 ** slot.width;
  switch (slot.store) {
    case "u":
      // The array itself cuts to 32 bits.
      return `p.u[${slot.index}] = ${slot.width === 32 ? name : `${name} & ${limit - 1}`};`;
    case "d":
      return `p.d[${slot.index}] = ${name} < ${limit} ? ${name} : ${name} % ${limit};`;
    case "b":
      return `p.b[${slot.index}] = BigInt(${name});`;
    case "v":
      return "";
  }
}

/** Source of the functions by which the switch sets metadata before ingress, before the queue and before egress. */
export function targetCode(fields: TargetFields, dropPort: number): string {
  // As in simple_switch: the drop port plus one, cut to the field's width. Only equality with the drop port counts.
  const noDrop = (dropPort + 1) % 2 ** fields.egressSpec.width;
  return `function setIngressPort(p, port) { ${storeCode(fields.ingressPort, "port")} }
function beginPass(p, type, time) {
const length = p.length;
${storeCode(fields.packetLength, "length")}
${storeCode(fields.instanceType, "type")}
${storeCode(fields.ingressTimestamp, "time")}
}
function beginQueue(p, depth, time) {
${storeCode(fields.enqueueTimestamp, "time")}
${storeCode(fields.enqueueDepth, "depth")}
}
function beginEgress(p, port, queue, depth, waited, time) {
const length = p.packetLength;
p.u[${fields.egressSpec.index}] = ${noDrop};
${storeCode(fields.egressPort, "port")}
${storeCode(fields.packetLength, "length")}
${storeCode(fields.egressTimestamp, "time")}
${storeCode(fields.dequeueTimeDelta, "waited")}
${storeCode(fields.dequeueDepth, "depth")}
${storeCode(fields.queueId, "queue")}
}`;
}

/** Writes a non-negative number into a field, cut to its width; does nothing if the program lacks the field. */
export function setField(packet: PacketState, slot: FieldSlot | undefined, value: number): void {
  if (slot === undefined) return;
  switch (slot.store) {
    case "u":
      packet.u[slot.index] = slot.width === 32 ? value : value % 2 ** slot.width;
      break;
    case "d":
      packet.d[slot.index] = value % 2 ** slot.width;
      break;
    case "b":
      packet.b[slot.index] = BigInt.asUintN(slot.width, BigInt(value));
      break;
    case "v":
      break;
  }
}

/** A field's value as an unsigned number; 0 if the program lacks the field. */
export function getField(packet: PacketState, slot: FieldSlot | undefined): number {
  if (slot === undefined) return 0;
  return slot.store === "u" ? (packet.u[slot.index] ?? 0) : Number(fieldBits(packet, slot));
}

/** A field's bits as an unsigned bigint. */
export function fieldBits(packet: PacketState, slot: FieldSlot): bigint {
  switch (slot.store) {
    case "u":
      return BigInt(packet.u[slot.index] ?? 0);
    case "d":
      return BigInt(packet.d[slot.index] ?? 0);
    case "b":
      return packet.b[slot.index] ?? 0n;
    case "v": {
      let value = 0n;
      for (const byte of packet.v[slot.index] ?? []) value = (value << 8n) | BigInt(byte);
      return value;
    }
  }
}

export function copyField(to: PacketState, from: PacketState, slot: FieldSlot): void {
  switch (slot.store) {
    case "u":
      to.u[slot.index] = from.u[slot.index] ?? 0;
      break;
    case "d":
      to.d[slot.index] = from.d[slot.index] ?? 0;
      break;
    case "b":
      to.b[slot.index] = from.b[slot.index] ?? 0n;
      break;
    case "v":
      to.v[slot.index] = from.v[slot.index] ?? new Uint8Array(0);
      break;
  }
}

/** Sets every metadata field to zero. */
export function clearMetadata(packet: PacketState, layout: PhvLayout): void {
  for (const { base, size } of layout.metadataHeaders) {
    packet.u.fill(0, base.u, base.u + size.u);
    if (size.d > 0) packet.d.fill(0, base.d, base.d + size.d);
    if (size.b > 0) packet.b.fill(0n, base.b, base.b + size.b);
    if (size.v > 0) packet.v.fill(new Uint8Array(0), base.v, base.v + size.v);
  }
}
