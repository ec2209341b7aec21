import type { Control, Expression, RegisterUpdate, StraightStatement, Target } from "../../ir/index.ts";
import { bit, colours } from "../../ir/index.ts";
import { deep, expressionsOf, targetOf } from "../../ir/walk.ts";
import { type ControlIdentifiers, identifier } from "../p4text/identifiers.ts";
import { localPart, type Names } from "../p4text/names.ts";
import { rewrite } from "../p4text/rewrite.ts";
import { exactLog2, isTofinoHash, tofinoHashes } from "./externs.ts";
import { type FlowFacts, isDropPort } from "./flow.ts";
import {
  checksumFailed,
  MIRROR_CLONE,
  ORIGIN_CLONE,
  RECIRCULATION_PORT,
  RECIRCULATION_PORT_NUMBER,
  RESUBMIT,
} from "./intrinsics.ts";
import type { Gress, LocalTarget, StatefulProgram, Step, TnaDigest, Unit } from "./lowered.ts";
import type { Refuse } from "./refuse.ts";
import { cellProgram, indexOf } from "./salu.ts";
import { type Bits, isHashed } from "./stages.ts";

/** What the steps of one control need to know of the program around them. */
export interface StepContext {
  readonly gress: Gress;
  readonly control: Control | undefined;
  readonly own: ControlIdentifiers | undefined;
  readonly facts: FlowFacts;
  readonly refuse: Refuse;
  readonly checksumFlags: readonly { readonly header: string; readonly flag: string }[];
  readonly clone: { readonly session: string; readonly origin: string } | undefined;
  readonly counterIndex: ReadonlyMap<string, number>;
  readonly digests: readonly TnaDigest[];
  /** Taken by stateful programs and by actions that the lowering adds. */
  readonly names: Names;
  readonly owner: string;
  /** In egress: the headers that its deparser emits. */
  readonly emitted?: ReadonlySet<string>;
  /** What the conditions of the gress read. */
  readonly asked: readonly Bits[];
}

/** The steps of one stage's statements, and the stateful programs that they run. */
export function stepsOf(
  statements: readonly StraightStatement[],
  name: string,
  context: StepContext,
): {
  readonly steps: readonly Step[];
  readonly updates: readonly StatefulProgram[];
  readonly units: readonly Unit[];
} {
  const updates: StatefulProgram[] = [];
  const units: Unit[] = [];
  const steps = statements.flatMap((s) => stepOf(s, name, { updates, units }, context));
  return { steps, updates, units };
}

function stepOf(
  s: StraightStatement,
  name: string,
  { updates, units }: { readonly updates: StatefulProgram[]; readonly units: Unit[] },
  context: StepContext,
): readonly Step[] {
  const value = (e: Expression): Expression => withChecksums(e, context);
  switch (s.kind) {
    case "assign":
      return s.target.kind === "intrinsic"
        ? intrinsicWrite(s, value(s.value), context)
        : [{ kind: "assign", target: s.target, value: value(s.value), ...hash(s) }];
    case "setValidity":
      // A header that egress does not parse is cut off by the mirror session, or not there.
      return context.emitted === undefined || context.emitted.has(s.header) ? [s] : [];
    case "pushFront":
    case "popFront":
      // Refused with the headers.
      return [];
    case "resubmit":
      return [
        architecture("ig_dprsr_md.resubmit_type", constantOf("RESUBMIT", BigInt(RESUBMIT), 3)),
        ...(context.facts.afterDrop.has(s) ? [undone] : []),
      ];
    case "recirculate":
      return [
        architecture(
          "ig_tm_md.ucast_egress_port",
          constantOf(RECIRCULATION_PORT, BigInt(RECIRCULATION_PORT_NUMBER), 9),
        ),
        ...(context.facts.afterMulticast.has(s)
          ? [architecture("ig_tm_md.mcast_grp_a", constantOf(undefined, 0n, 16))]
          : []),
        ...(context.facts.afterDrop.has(s) ? [undone] : []),
      ];
    case "drop":
      if (context.facts.afterAgain.has(s)) context.refuse("GP1844", "a drop comes after resubmit", s.at);
      return [
        architecture(
          context.gress === "ingress" ? "ig_dprsr_md.drop_ctl" : "eg_dprsr_md.drop_ctl",
          constantOf(undefined, 1n, 3),
        ),
      ];
    case "clone":
      return cloneSteps(value(s.session), context);
    case "count": {
      const local = identifier(
        context.own?.counters ?? new Map(),
        s.counter,
        "counter",
        context.owner,
        "tna",
      );
      const index = indexOf(s.index, s.counter, context.refuse, s.at);
      const width = context.counterIndex.get(s.counter) ?? 32;
      return [{ kind: "count", counterLocal: local, index: resized(index, width) }];
    }
    case "registerUpdate":
      return [execution(s, name, updates, context)];
    case "hash": {
      const bits = exactLog2(s.buckets ?? 0n);
      // Refused.
      if (bits === undefined || !isTofinoHash(s.algorithm)) return [];
      const local = context.names.take(`${name}_hash`);
      units.push({ kind: "hash", local, bits, algorithm: tofinoHashes[s.algorithm] });
      return [{ kind: "hash", local, bits, fields: s.fields.map(value), into: s.into }];
    }
    case "random": {
      const bits = s.high.kind === "constant" ? exactLog2(s.high.value + 1n) : undefined;
      if (bits === undefined) return [];
      const local = context.names.take(`${name}_random`);
      units.push({ kind: "random", local, bits });
      return [{ kind: "random", local, bits, into: s.into }];
    }
    case "meter": {
      const meters = context.own?.meters ?? new Map();
      const meterLocal = identifier(meters, s.meter, "meter", context.owner, "tna");
      const isDirect = context.control?.tables.some((t) => t.directMeter?.name === s.meter) === true;
      if (isDirect) return [{ kind: "meter", meterLocal, into: s.into }];
      const index = resized(
        indexOf(s.index, s.meter, context.refuse, s.at),
        context.counterIndex.get(s.meter) ?? 32,
      );
      return [{ kind: "meter", meterLocal, index, into: s.into }];
    }
    case "digest": {
      const digest = context.digests.find((d) => d.name === s.digest);
      if (digest === undefined) return [];
      const { constant, number } = digest;
      return [architecture("ig_dprsr_md.digest_type", constantOf(constant, BigInt(number), 3))];
    }
  }
}

function hash(s: StraightStatement): { readonly inHash?: true } {
  return isHashed(s) ? { inHash: true } : {};
}

function resized(e: Expression, width: number): Expression {
  if (e.type.kind === "bit" && e.type.width === width) return e;
  if (e.kind === "constant") return { ...e, type: bit(width) };
  return { kind: "cast", type: bit(width), operand: e };
}

function intrinsicWrite(
  s: Extract<StraightStatement, { kind: "assign" }>,
  value: Expression,
  { facts, refuse }: StepContext,
): readonly Step[] {
  if (s.target.kind !== "intrinsic") return [];
  const undo = facts.afterDrop.has(s) ? [undone] : [];
  if (facts.afterAgain.has(s)) refuse("GP1845", `${s.target.name} is set after recirculate`, s.at);
  switch (s.target.name) {
    case "egress_port":
      if (isDropPort(s)) return [{ kind: "invalidate", field: "ig_tm_md.ucast_egress_port" }];
      if (facts.afterMulticast.has(s))
        refuse("GP1813", "an output port is set after a multicast group", s.at);
      return [{ kind: "architecture", field: "ig_tm_md.ucast_egress_port", value, ...hash(s) }, ...undo];
    case "multicast_group": {
      const isNone = value.kind === "constant" && value.value === 0n;
      const unicast = facts.afterUnicast.has(s) && !isNone;
      if (unicast && value.kind !== "constant")
        refuse("GP1813", "a multicast group that is not a constant is set after an output port", s.at);
      return [
        { kind: "architecture", field: "ig_tm_md.mcast_grp_a", value, ...hash(s) },
        ...(unicast ? [{ kind: "invalidate", field: "ig_tm_md.ucast_egress_port" } as const] : []),
        ...(isNone ? [] : undo),
      ];
    }
    case "colour":
      return [{ kind: "architecture", field: "ig_tm_md.packet_color", value: packetColour(value, refuse) }];
    case "priority":
      return [
        isHashed(s)
          ? {
              kind: "architecture",
              field: "ig_tm_md.qid",
              value: {
                kind: "concat",
                type: bit(5),
                left: { kind: "constant", type: bit(2), value: 0n },
                right: value,
              },
              inHash: true,
            }
          : { kind: "architecture", field: "ig_tm_md.qid", value, cast: QUEUE_ID },
      ];
    default:
      return [];
  }
}

/** On Tofino 1; Tofino 2 has more queues. */
const QUEUE_ID = { type: bit(5), typeName: "QueueId_t" };

/** The traffic manager takes MeterColor_t, in which red is 3. */
function packetColour(value: Expression, refuse: Refuse): Expression {
  if (value.kind !== "constant") refuse("GP1804", "a colour that is not a constant", value.at);
  return value.kind === "constant" && value.value === BigInt(colours.red) ? { ...value, value: 3n } : value;
}

function architecture(field: string, value: Expression): Step {
  return { kind: "architecture", field, value };
}

function constantOf(name: string | undefined, value: bigint, width: number): Expression {
  const type = bit(width);
  return { kind: "constant", type, value, ...(name === undefined ? {} : { named: { name, type } }) };
}

/** Takes a drop back. */
const undone: Step = architecture("ig_dprsr_md.drop_ctl", constantOf(undefined, 0n, 3));

/** The width is that of Tofino 1; Tofino 2 has fewer sessions. */
function asSession(id: Expression): Expression {
  if (id.kind === "constant") return resized(id, 10);
  return { kind: "cast", type: bit(10), typeName: "MirrorId_t", operand: id };
}

/** A mirror session is 10 bits wide; what is wider names no session. */
function cloneSteps(session: Expression, { clone }: StepContext): readonly Step[] {
  if (clone === undefined) return [];
  let id = session;
  while (id.kind === "cast") id = id.operand;
  const target = (name: string, width: number): Target => ({ kind: "metadata", name, type: bit(width) });
  return [
    {
      kind: "architecture",
      field: "ig_dprsr_md.mirror_type",
      value: constantOf("MIRROR_CLONE", BigInt(MIRROR_CLONE), 3),
    },
    { kind: "assign", target: target(clone.session, 10), value: asSession(id) },
    {
      kind: "assign",
      target: target(clone.origin, 8),
      value: constantOf(ORIGIN_CLONE, 1n, 8),
    },
  ];
}

function execution(s: RegisterUpdate, name: string, updates: StatefulProgram[], context: StepContext): Step {
  const { refuse, owner } = context;
  const register = context.control?.registers.find((r) => r.name === s.register);
  const local = identifier(context.own?.registers ?? new Map(), s.register, "register", owner, "tna");
  const index = indexOf(s.index, s.register, refuse, s.at);
  if (register === undefined) throw new RangeError(`no register ${s.register}`);
  const body = cellProgram(s, register, refuse);
  const program: StatefulProgram = {
    local: context.names.take(`${name}_${localPart(s.register)}`, "update"),
    register: local,
    type: register.type,
    indexType: index.type,
    ...(s.output === undefined || s.into === undefined ? {} : { outputType: s.into.type }),
    body,
    ...(comparesSerially(s)
      ? { why: "The difference wraps and is then read as signed, as serial numbers want it." }
      : {}),
  };
  updates.push(program);
  return {
    kind: "execute",
    program: program.local,
    index,
    ...(s.into === undefined ? {} : { into: s.into }),
  };
}

function comparesSerially(s: RegisterUpdate): boolean {
  return [s.next, ...(s.output === undefined ? [] : [s.output])].some((e) =>
    [...deep(e)].some(
      (n) =>
        n.kind === "cast" &&
        n.type.kind === "int" &&
        n.operand.kind === "binary" &&
        n.operand.operator === "-",
    ),
  );
}

export function withChecksums(
  e: Expression,
  { checksumFlags }: Pick<StepContext, "checksumFlags">,
): Expression {
  return rewrite(e, (node) =>
    node.kind === "intrinsic" && node.name === "checksum_failed" ? checksumFailed(checksumFlags) : undefined,
  );
}

/** Steps with metadata that live only here turned into variables of the action. */
export function localised(steps: readonly Step[], names: ReadonlySet<string>, taken: Names): readonly Step[] {
  const locals = new Map<string, string>();
  const local = (name: string): string => {
    const known = locals.get(name) ?? taken.take(name, "before");
    locals.set(name, known);
    return known;
  };
  const value = (e: Expression): Expression =>
    rewrite(e, (node) =>
      node.kind === "metadata" && names.has(node.name)
        ? { kind: "parameter", name: local(node.name), type: node.type }
        : undefined,
    );
  const target = (t: Target | LocalTarget): Target | LocalTarget =>
    t.kind === "metadata" && names.has(t.name) ? { kind: "local", name: local(t.name), type: t.type } : t;
  const read = new Set(
    steps.flatMap((s) =>
      "value" in s ? metadataIn(s.value) : s.kind === "count" ? metadataIn(s.index) : [],
    ),
  );
  const isRead = (t: Target): boolean => t.kind !== "metadata" || !names.has(t.name) || read.has(t.name);
  const declared = new Set<string>();
  // What nobody reads, here or elsewhere, need not be computed.
  const kept = steps.filter((s) => s.kind !== "assign" || s.target.kind === "local" || isRead(s.target));
  return kept.map((s): Step => {
    switch (s.kind) {
      case "assign": {
        const to = target(s.target);
        const from = value(s.value);
        if (to.kind !== "local" || declared.has(to.name)) return { ...s, target: to, value: from };
        declared.add(to.name);
        return { kind: "declare", local: to, value: from };
      }
      case "architecture":
        return { ...s, value: value(s.value) };
      case "count":
        return { ...s, index: value(s.index) };
      default:
        return s;
    }
  });
}

/**
 * Metadata fields that only carry a value from one statement of an action to another of the same stage: written whole before they are
 * read, and used nowhere else. They need no container of the packet's.
 */
export function temporaries(
  stages: readonly { readonly action: string; readonly statements: readonly StraightStatement[] }[],
  elsewhere: ReadonlySet<string>,
): ReadonlySet<string> {
  const stagesWith = new Map<string, Map<string, number>>();
  const wrong = new Set(elsewhere);
  stages.forEach(({ action, statements }, i) => {
    const written = new Set<string>();
    const use = (name: string): void => {
      const where = stagesWith.get(name) ?? new Map<string, number>();
      stagesWith.set(name, where);
      if ((where.get(action) ?? i) !== i) wrong.add(name);
      where.set(action, i);
    };
    for (const s of statements) {
      for (const name of metadataReadBy(s)) {
        use(name);
        if (!written.has(name)) wrong.add(name);
      }
      if (s.kind === "assign" && s.target.kind === "metadata") {
        use(s.target.name);
        written.add(s.target.name);
      } else if (s.kind === "assign" && s.target.kind === "slice" && s.target.operand.kind === "metadata") {
        wrong.add(s.target.operand.name);
      } else {
        const target = targetOf(s);
        if (target?.kind === "metadata") wrong.add(target.name);
      }
      // What other units read comes from the packet's containers.
      if (!["assign", "count", "clone"].includes(s.kind))
        for (const name of metadataReadBy(s)) wrong.add(name);
    }
  });
  // What nobody reads is left out, but for what uses a parameter: the compiler would call that unused.
  const read = new Set(stages.flatMap((stage) => stage.statements.flatMap(metadataReadBy)));
  for (const { statements } of stages)
    for (const s of statements)
      if (
        s.kind === "assign" &&
        s.target.kind === "metadata" &&
        !read.has(s.target.name) &&
        hasParameter(s.value)
      )
        wrong.add(s.target.name);
  return new Set([...stagesWith.keys()].filter((name) => !wrong.has(name)));
}

function hasParameter(e: Expression): boolean {
  return [...deep(e)].some((n) => n.kind === "parameter");
}

function metadataIn(e: Expression): readonly string[] {
  return [...deep(e)].flatMap((n) => (n.kind === "metadata" ? [n.name] : []));
}

function metadataReadBy(s: StraightStatement): readonly string[] {
  return expressionsOf(s).flatMap(metadataIn);
}
