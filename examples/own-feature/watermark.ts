import { bit, type Feature, intrinsic, mux, type ProgramBuilder } from "gradplane";

export interface WatermarkOptions {
  /** Packets in a queue from which on a packet counts as one that met a long queue; below 65,536. */
  readonly long: number;
}

/**
 * The longest queue that packets met at each port since the register was last cleared, and how many met a long one. A feature like those
 * of gradplane itself, made with what "gradplane" exports and nothing else.
 */
export function queueWatermark({ long }: WatermarkOptions): Feature {
  return { name: "queueWatermark", build: (p) => buildWatermark(p, long) };
}

function buildWatermark(p: ProgramBuilder, long: number): void {
  const c = p.control("queue_watermark", "egress", "The longest queue that packets met, by port.");
  const limit = p.constant("LONG_QUEUE", bit(16), long, "packets");
  const depth = p.metadata("met_depth", bit(32), "length of the queue that the packet met");
  const port = p.metadata("met_port", bit(9), "port of the queue that the packet met");
  const longest = c.register("longest", bit(32), 512, "longest queue since the cell was cleared, by port");
  const met = c.counter("met", ["short_queue", "long_queue"], "queues that packets met");
  const record = c.action("record", {}, (a) =>
    a.update(longest, {
      index: port,
      next: (old) => mux(depth.gt(old), depth, old),
    }),
  );
  c.apply((s) => {
    // Tofino's registers take fields of the packet or of the metadata, not what the architecture gives.
    s.set(port, intrinsic.egress_port);
    s.set(depth, intrinsic.enqueue_depth.cast(bit(32)));
    s.call(record);
    // Tofino compares by order 16 bits at most.
    s.if(
      depth.slice(18, 16).ne(0).or(depth.slice(15, 0).ge(limit)),
      (then) => then.count(met, "long_queue"),
      (then) => then.count(met, "short_queue"),
    );
  });
  p.egress("deliver", (s) => s.invoke(c));
}
