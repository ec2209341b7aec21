import { COMPARE_ALL, type Comparison } from "./entity-key.ts";
import type { Entity, Update } from "./proto/generated/p4runtime.ts";

/** Servers whose ways are known. `standard` is one that does as the specification says, as far as anybody knows. */
export type ServerKind = "gradplane" | "bmv2" | "pi-tofino" | "stratum" | "standard";

/** How a server differs from the specification, or goes beyond it. */
export interface ServerProfile {
  readonly kind: ServerKind;
  readonly title: string;
  /** What it does not give back as it was written. */
  readonly comparison: Comparison;
  /** Can members and groups of a profile be read although its table holds one-shot sets? PI fails the whole read. */
  readonly readsOneShotProfiles: boolean;
  /** Does a read of "all" digests, direct counters and direct meters work? PI wants them one by one. */
  readonly readsAll: boolean;
  /** Does RECONCILE_AND_COMMIT keep the entries? */
  readonly reconciles: boolean;
  /** Updates in one request, at most. */
  readonly updatesPerRequest: number;
  /** Why the server cannot do this, before it is asked; undefined when it can, or nobody knows. */
  refuseRead(entity: Entity): string | undefined;
  refuseWrite(update: Update): string | undefined;
}

/** The signs by which a server is known. */
export interface ServerEvidence {
  readonly apiVersion: string;
  /** `space` of the p4.v1.Errors that it has sent. */
  readonly errorSpaces: ReadonlySet<string>;
  /** What it said when it had no program. */
  readonly emptyPipelineText: string | undefined;
  /** Architecture of the program, as P4Info has it: v1model, tna, t2na. */
  readonly architecture: string | undefined;
}

/** Who the server is. Without a sign, it is taken to keep to the specification. */
export function identifyServer(evidence: ServerEvidence): ServerKind {
  const { errorSpaces, emptyPipelineText, architecture } = evidence;
  if (errorSpaces.has("gradplane")) return "gradplane";
  // PI's frontend sends this space whatever is below it, so the program tells which switch it is.
  const isPi =
    errorSpaces.has("ALL-sswitch-p4org") ||
    /^No forwarding pipeline config set for this device/.test(emptyPipelineText ?? "");
  if (isPi) return isTofino(architecture) ? "pi-tofino" : "bmv2";
  if (/forwarding pipeline config has been pushed for/.test(emptyPipelineText ?? "")) return "stratum";
  return "standard";
}

function isTofino(architecture: string | undefined): boolean {
  return /^t2?na/i.test(architecture ?? "");
}

const nothing = (): undefined => undefined;

const STANDARD: ServerProfile = {
  kind: "standard",
  title: "a server that keeps to the specification",
  comparison: COMPARE_ALL,
  readsOneShotProfiles: true,
  readsAll: true,
  reconciles: false,
  updatesPerRequest: 256,
  refuseRead: nothing,
  refuseWrite: nothing,
};

/** Kinds of entities that PI knows neither to read nor to write. */
function lackingInPi(entity: Entity["entity"]): string | undefined {
  switch (entity?.case) {
    case "registerEntry":
      return "it has no registers in P4Runtime (p4lang/PI#376); use the side channel of the switch";
    case "valueSetEntry":
      return "it has no value sets";
    case "externEntry":
      return "it has no externs";
    default:
      return undefined;
  }
}

const PI: Omit<ServerProfile, "kind" | "title"> = {
  comparison: { watchPorts: false, multicastMetadata: false, backupReplicas: false },
  readsOneShotProfiles: false,
  readsAll: false,
  reconciles: false,
  updatesPerRequest: 256,
  refuseRead: ({ entity }) => {
    switch (entity?.case) {
      case "digestEntry":
        return entity.value.digestId === 0 ? "it reads digests by name only, not all of them" : undefined;
      case "directCounterEntry":
      case "directMeterEntry":
        return (entity.value.tableEntry?.tableId ?? 0) === 0
          ? "it reads direct counters and meters table by table, not of all tables"
          : undefined;
      default:
        return lackingInPi(entity);
    }
  },
  refuseWrite: ({ entity: message }) => {
    const entity = message?.entity;
    switch (entity?.case) {
      case "counterEntry":
      case "meterEntry":
        return entity.value.index === undefined ? "it writes one cell at a time, not all" : undefined;
      case "packetReplicationEngineEntry": {
        const { type } = entity.value;
        if (type?.case === "cloneSessionEntry" && type.value.classOfService !== 0)
          return "its clone sessions have no class of service";
        const id = type?.case === "cloneSessionEntry" ? type.value.sessionId : type?.value.multicastGroupId;
        return id !== undefined && id > 32_767
          ? "its multicast groups and clone sessions are 1 to 32767"
          : undefined;
      }
      default:
        return lackingInPi(entity);
    }
  },
};

const PROFILES: Readonly<Record<ServerKind, ServerProfile>> = {
  standard: STANDARD,
  gradplane: { ...STANDARD, kind: "gradplane", title: "the embedded switch", reconciles: true },
  bmv2: {
    ...PI,
    kind: "bmv2",
    title: "simple_switch_grpc (PI on BMv2)",
    refuseWrite: (update) => {
      const type = update.entity?.entity;
      const session = type?.case === "packetReplicationEngineEntry" ? type.value.type : undefined;
      if (session?.case === "cloneSessionEntry" && session.value.packetLengthBytes !== 0)
        return "its clones cannot be cut to a length (packet_length_bytes must be 0)";
      return PI.refuseWrite(update);
    },
  },
  "pi-tofino": { ...PI, kind: "pi-tofino", title: "PI on Tofino" },
  stratum: {
    ...STANDARD,
    kind: "stratum",
    title: "Stratum",
    refuseRead: ({ entity }) => (entity?.case === "valueSetEntry" ? "it has no value sets" : undefined),
    refuseWrite: ({ entity }) =>
      entity?.entity?.case === "valueSetEntry" ? "it has no value sets" : undefined,
  },
};

/** The profile of a server of this kind and version. Of an unknown one before 1.4 nothing is compared that PI, their model, loses. */
export function serverProfile(kind: ServerKind, apiVersion = "1.4.0"): ServerProfile {
  const isOld = /^1\.[0-3](\.|$)/.test(apiVersion);
  return kind === "standard" && isOld ? { ...STANDARD, comparison: PI.comparison } : PROFILES[kind];
}
