import { intrinsic, type ProgramBuilder } from "../../program.ts";
import { type ControlHandle, exactly } from "../../steps.ts";
import { type AggregationFields, u32, u48 } from "./fields.ts";
import type { FullAggregationOptions } from "./options.ts";

/** Room for every worker of so many jobs. */
const JOBS = 4;

/**
 * Result `allreduce`: each copy of a RESULT gets the address of its worker. It reads no header behind IPv4, so that egress needs to parse
 * no more than that.
 */
export function copiesControl(
  p: ProgramBuilder,
  o: FullAggregationOptions,
  f: AggregationFields,
): ControlHandle {
  const { ethernet, ipv4, workers } = f;
  const copies = p.control("copies", "egress", "Addresses each copy of a RESULT to its worker.");
  if (workers === undefined) return copies;
  const toWorker = copies.action(
    "to_worker",
    { worker_mac: u48, worker_addr: u32 },
    (a, d) => {
      a.set(ethernet.dst_addr, d.worker_mac);
      a.set(ipv4.dst_addr, d.worker_addr);
    },
    "ingress did the rest",
  );
  const worker = copies.table("worker", {
    doc: "workers by group and replica",
    key: { group: exactly(workers), replica: exactly(intrinsic.replication_id) },
    actions: [toWorker],
    size: Math.max(64, JOBS * o.workers),
  });
  // Of the packets of a job only RESULTs are replicated.
  const isCopy = workers.ne(0).and(intrinsic.replication_id.ne(0));
  copies.apply((s) => s.if(isCopy, (then) => then.apply(worker)));
  return copies;
}
