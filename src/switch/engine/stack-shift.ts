import type { ShiftableStack } from "./header-code.ts";
import type { PacketState } from "./packet-state.ts";

const noBytes = new Uint8Array(0);

/**
 * P4_16 push_front: elements move up by `count`, the first `count` become invalid (until setValid) and what is
 * pushed past the end is lost. nextIndex grows, at most to the size.
 */
export function pushFront(packet: PacketState, stack: ShiftableStack, count: number): void {
  const { depth, base, stride, next } = stack;
  const n = Math.min(count, depth);
  if (n <= 0) return;
  const { u, d, b, v } = packet;
  u.copyWithin(base.u + n * stride.u, base.u, base.u + (depth - n) * stride.u);
  u.fill(0, base.u, base.u + n * stride.u);
  if (stride.d > 0) {
    d.copyWithin(base.d + n * stride.d, base.d, base.d + (depth - n) * stride.d);
    d.fill(0, base.d, base.d + n * stride.d);
  }
  if (stride.b > 0) {
    b.copyWithin(base.b + n * stride.b, base.b, base.b + (depth - n) * stride.b);
    b.fill(0n, base.b, base.b + n * stride.b);
  }
  if (stride.v > 0) {
    v.copyWithin(base.v + n * stride.v, base.v, base.v + (depth - n) * stride.v);
    v.fill(noBytes, base.v, base.v + n * stride.v);
  }
  u[next] = Math.min((u[next] ?? 0) + n, depth);
}

/** P4_16 pop_front: elements move down by `count`, the last `count` become invalid. nextIndex shrinks, at most to 0. */
export function popFront(packet: PacketState, stack: ShiftableStack, count: number): void {
  const { depth, base, stride, next } = stack;
  const n = Math.min(count, depth);
  if (n <= 0) return;
  const { u, d, b, v } = packet;
  u.copyWithin(base.u, base.u + n * stride.u, base.u + depth * stride.u);
  u.fill(0, base.u + (depth - n) * stride.u, base.u + depth * stride.u);
  if (stride.d > 0) {
    d.copyWithin(base.d, base.d + n * stride.d, base.d + depth * stride.d);
    d.fill(0, base.d + (depth - n) * stride.d, base.d + depth * stride.d);
  }
  if (stride.b > 0) {
    b.copyWithin(base.b, base.b + n * stride.b, base.b + depth * stride.b);
    b.fill(0n, base.b + (depth - n) * stride.b, base.b + depth * stride.b);
  }
  if (stride.v > 0) {
    v.copyWithin(base.v, base.v + n * stride.v, base.v + depth * stride.v);
    v.fill(noBytes, base.v + (depth - n) * stride.v, base.v + depth * stride.v);
  }
  u[next] = Math.max((u[next] ?? 0) - n, 0);
}
