/** Fields of v1model's that tell the time or how long queues are: they differ from run to run. */
const MEASURED = new Set([
  "ingress_global_timestamp",
  "egress_global_timestamp",
  "enq_timestamp",
  "deq_timedelta",
  "enq_qdepth",
  "deq_qdepth",
]);

/** Primitives that come out differently on each switch, or end BMv2. */
const OTHERWISE: Readonly<Record<string, string>> = {
  modify_field_rng_uniform: "draws random numbers",
};

/** Why the switches are not expected to agree on a program, or undefined. */
export function knownDifference(json: string): string | undefined {
  return find(JSON.parse(json));
}

function find(node: unknown): string | undefined {
  if (typeof node !== "object" || node === null) return undefined;
  if (Array.isArray(node)) {
    const [header, field]: readonly unknown[] = node;
    if (
      node.length === 2 &&
      header === "standard_metadata" &&
      typeof field === "string" &&
      MEASURED.has(field)
    )
      return `reads ${field}, which is measured`;
  } else if ("op" in node && typeof node.op === "string" && OTHERWISE[node.op] !== undefined)
    return OTHERWISE[node.op];
  for (const [key, value] of Object.entries(node)) {
    // Old names of all such fields, in every program.
    if (key === "field_aliases") continue;
    const found = find(value);
    if (found !== undefined) return found;
  }
  return undefined;
}
