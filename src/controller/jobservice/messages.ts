import { checkLayout, type JobLayout } from "../../host/libra/layout.ts";
import type { NumericMode } from "../../numeric/mode.ts";
import type { Init } from "../../p4info/message/descriptor.ts";
import type { Target } from "../failover.ts";
import type {
  JobSpec as JobSpecMessage,
  Layout,
  Member,
  MoveRequest,
  NumericMode as NumericModeMessage,
  Refusal,
} from "./generated/jobs.ts";
import type { JobSpec, JobWay, MemberId } from "./jobrecord.ts";
import { JobRefusal, refusalCodes } from "./refusal.ts";

/** @throws JobRefusal BAD_REQUEST */
export function memberOf(member: Member | undefined): MemberId {
  if (member === undefined) throw new JobRefusal("BAD_REQUEST", "the request does not say who asks");
  return member;
}

export function specMessage(spec: JobSpec): Init<JobSpecMessage> {
  return {
    workers: spec.workers,
    lanes: spec.lanes,
    mode: modeMessage(spec.mode),
    rows: spec.rows.map((keys) => ({ keys })),
    needsSwitch: spec.needsSwitch,
  };
}

/** @throws JobRefusal BAD_REQUEST */
export function specOf(spec: JobSpecMessage): JobSpec {
  const { workers, lanes, rows, needsSwitch } = spec;
  return { workers, lanes, mode: modeOf(spec.mode), rows: rows.map((row) => row.keys), needsSwitch };
}

export function layoutMessage(layout: JobLayout, way: JobWay): Init<Layout> {
  return {
    job: layout.job,
    generation: layout.generation,
    workers: layout.workers.map(({ member, life, mac, ip }) => ({
      member,
      life: life ?? 0,
      endpoint: { mac, ip },
    })),
    slotBase: layout.slotBase,
    lanes: layout.lanes,
    rows: layout.rows.map((keys) => ({ keys })),
    mode: modeMessage(layout.mode),
    aggregator: layout.aggregator,
    server: layout.server,
    firstRound: layout.firstRound,
    switch: way.on ?? "",
    via: way.via ?? "",
  };
}

/** @throws LibraError `layout_invalid`, JobRefusal BAD_REQUEST */
export function layoutFrom(message: Layout): JobLayout {
  const { job, generation, slotBase, lanes, firstRound } = message;
  const endpoint = (e: { readonly mac: string; readonly ip: string } | undefined) => ({
    mac: e?.mac ?? "",
    ip: e?.ip ?? "",
  });
  return checkLayout({
    job,
    generation,
    workers: message.workers.map((w) => ({ member: w.member, life: w.life, ...endpoint(w.endpoint) })),
    slotBase,
    lanes,
    rows: message.rows.map((row) => row.keys),
    mode: modeOf(message.mode),
    aggregator: endpoint(message.aggregator),
    server: endpoint(message.server),
    firstRound,
  });
}

export function refusalMessage(refusal: JobRefusal): Init<Refusal> {
  return { code: refusal.code, message: refusal.message };
}

/** A refusal as the error that the client throws. */
export function refusalOf({ code, message }: Refusal): JobRefusal {
  const known = refusalCodes.find((c) => c === code);
  return new JobRefusal(known ?? "BAD_REQUEST", message);
}

/** Where a job is to go; undefined: anywhere. @throws JobRefusal BAD_REQUEST */
export function targetOf({ to }: MoveRequest): Target | undefined {
  switch (to?.case) {
    case "switch":
      return { kind: "switch", name: to.value };
    case "serverOnly":
      return { kind: "server" };
    case "anywhere":
      return undefined;
    default:
      throw new JobRefusal("BAD_REQUEST", "the request does not say where to");
  }
}

export function targetMessage(to: Target | undefined): Init<MoveRequest>["to"] {
  if (to === undefined) return { case: "anywhere", value: true };
  return to.kind === "server" ? { case: "serverOnly", value: true } : { case: "switch", value: to.name };
}

function modeMessage(mode: NumericMode): Init<NumericModeMessage> {
  return {
    name: mode.name,
    workers: mode.workers,
    ...("fractionBits" in mode ? { fractionBits: mode.fractionBits } : {}),
    ...("exponent" in mode ? { exponent: mode.exponent } : {}),
    ...("base" in mode ? { base: mode.base } : {}),
    ...("slices" in mode ? { slices: mode.slices } : {}),
  };
}

function modeOf(mode: NumericModeMessage | undefined): NumericMode {
  const { name = "", workers = 0, fractionBits = 0, exponent = 0, base = 0, slices = [] } = mode ?? {};
  switch (name) {
    case "int32":
      return { name, workers, fractionBits };
    case "block":
      return { name, workers, exponent };
    case "fp32":
    case "bf16":
      return { name, workers, base, slices };
    case "fp16":
      return { name, workers, fractionBits, slices };
    default:
      throw new JobRefusal("BAD_REQUEST", `there is no numeric mode "${name}"`);
  }
}
