/** Hand-made lowered Tofino programs, small enough to see what is wrong with one. */

type Json = unknown;

export const constant = (value: number, type = "bit<32>") => ({
  kind: "constant",
  type,
  value: `0x${value.toString(16)}`,
});
export const field = (name: string, type = "bit<32>", header = "h") => ({
  kind: "field",
  type,
  header,
  field: name,
});
export const meta = (name: string, type = "bit<32>") => ({ kind: "metadata", type, name });
export const architecture = (name: string, width: number) => ({
  kind: "architecture",
  type: `bit<${width}>`,
  field: name,
});
export const memory = (type = "bit<32>") => ({ kind: "memory", type });
export const binary = (left: Json, operator: string, right: Json, type = "bit<32>") => ({
  kind: "binary",
  type,
  operator,
  left,
  right,
});
export const compare = (left: Json, operator: string, right: Json) => binary(left, operator, right, "bool");
export const assign = (target: Json, value: Json) => ({ kind: "assign", target, value });
export const set = (target: "value" | "result", value: Json) => ({ kind: "set", target, value });
export const when = (condition: Json, whenTrue: readonly Json[], whenFalse: readonly Json[] = []) => ({
  kind: "if",
  condition,
  whenTrue,
  whenFalse,
});
export const call = (action: string) => ({ kind: "callAction", action, arguments: [] });
export const steps = (...list: readonly Json[]) => ({ kind: "steps", steps: list });
export const send = (port: number) =>
  steps(assign(architecture("ig_tm_md.ucast_egress_port", 9), constant(port, "bit<9>")));

/** An action that runs a stateful program of register r at cell 0. */
export const stateful = (name: string, body: readonly Json[], into?: Json) => ({
  name: `c.${name}`,
  local: name,
  parameters: [],
  updates: [
    { local: `${name}_r`, register: "r", ...(into === undefined ? {} : { outputType: "bit<32>" }), body },
  ],
  steps: [
    {
      kind: "execute",
      update: `${name}_r`,
      index: constant(0, "bit<8>"),
      ...(into === undefined ? {} : { into }),
    },
  ],
});

export const adds = (name = "add") => stateful(name, [set("value", binary(memory(), "+", field("x")))]);

interface Parts {
  readonly controls?: readonly Json[];
  /** Statements of ingress, behind those of control c if there is one. */
  readonly ingress?: readonly Json[];
  readonly egress?: readonly Json[];
  readonly egressSteps?: readonly Json[];
  readonly egressEmits?: readonly string[];
  readonly metadata?: readonly Json[];
  readonly more?: Readonly<Record<string, Json>>;
  readonly ingressSteps?: readonly Json[];
}

/** A program with one header h of two 32-bit fields x and y; port 1 unless ingress says otherwise. */
export function document(parts: Parts = {}): object {
  const parser = (more: readonly Json[]) => [
    { name: "start", steps: [{ kind: "intrinsicMetadata" }, ...more], transition: { next: "accept" } },
  ];
  const extract = { kind: "extract", header: "h" };
  const controls = parts.controls ?? [];
  return {
    format: "gradplane.tna",
    version: 1,
    program: "small",
    headerTypes: [
      {
        name: "h_t",
        fields: [
          { name: "x", type: "bit<32>" },
          { name: "y", type: "bit<32>" },
        ],
      },
    ],
    headers: [{ name: "h", headerType: "h_t" }],
    metadata: parts.metadata ?? [{ name: "m", type: "bit<32>" }],
    ...parts.more,
    ingress: {
      parser: parser(parts.ingressSteps ?? [{ kind: "portData" }, extract]),
      controls,
      instances: controls.length === 0 ? [] : [{ name: "c", control: "c" }],
      block: [
        send(1),
        ...(controls.length === 0 ? [] : [{ kind: "applyControl", instance: "c" }]),
        ...(parts.ingress ?? []),
      ],
      deparser: { emits: ["h"] },
    },
    egress: {
      parser: parser(parts.egressSteps ?? []),
      block: parts.egress ?? [],
      deparser: { emits: parts.egressEmits ?? [] },
    },
  };
}

/** Control c with register r of 16 cells. */
export function withRegister(
  actions: readonly Json[],
  block: readonly Json[],
  type = "bit<32>",
  tables: readonly Json[] = [],
): object {
  return {
    name: "c",
    registers: [{ name: "c.r", local: "r", type, size: 16 }],
    actions,
    tables,
    block,
  };
}
