import { SwitchRuntimeError } from "../tables/runtime-error.ts";

/** One copy: where it goes and what the program sees as `egress_rid`. */
export interface Replica {
  readonly port: number;
  readonly instance: number;
}

export interface MulticastGroup {
  readonly id: number;
  readonly replicas: readonly Replica[];
}

export interface CloneSession {
  readonly id: number;
  readonly replicas: readonly Replica[];
  /** Longest clone in bytes; 0 means whole. */
  readonly packetLength: number;
  /** Priority of the clones, as v1model's `priority`; 0 is the weakest. */
  readonly classOfService: number;
}

/** Ids of clone sessions are 15 bits wide in simple_switch; 0 is not used by P4Runtime but works. */
const largestSession = 0x7fff;
/** `standard_metadata.mcast_grp` has 16 bits; 0 means no multicast. */
const largestGroup = 0xffff;

/** Multicast groups and clone sessions: the packet replication engine's state. */
export class ReplicationEngine {
  private readonly groups = new Map<number, MulticastGroup>();
  private readonly sessions = new Map<number, CloneSession>();

  private static check(object: string, replicas: readonly Replica[]): void {
    const seen = new Set<string>();
    for (const { port, instance } of replicas) {
      if (!Number.isInteger(port) || port < 0) {
        throw new SwitchRuntimeError("INVALID_ARGUMENT", object, `${port} is no port`);
      }
      if (!Number.isInteger(instance) || instance < 0 || instance > 0xffff) {
        throw new SwitchRuntimeError("INVALID_ARGUMENT", object, `instance ${instance} does not fit 16 bits`);
      }
      const key = `${port}/${instance}`;
      if (seen.has(key)) {
        throw new SwitchRuntimeError(
          "INVALID_ARGUMENT",
          object,
          `port ${port}, instance ${instance} is given twice`,
        );
      }
      seen.add(key);
    }
  }

  insertGroup(id: number, replicas: readonly Replica[]): void {
    const name = `multicast group ${id}`;
    if (!Number.isInteger(id) || id < 1 || id > largestGroup) {
      throw new SwitchRuntimeError("INVALID_ARGUMENT", name, `an id is from 1 to ${largestGroup}`);
    }
    if (this.groups.has(id)) throw new SwitchRuntimeError("ALREADY_EXISTS", name, "exists");
    ReplicationEngine.check(name, replicas);
    this.groups.set(id, { id, replicas });
  }

  modifyGroup(id: number, replicas: readonly Replica[]): void {
    const name = `multicast group ${id}`;
    if (!this.groups.has(id)) throw new SwitchRuntimeError("NOT_FOUND", name, "does not exist");
    ReplicationEngine.check(name, replicas);
    this.groups.set(id, { id, replicas });
  }

  deleteGroup(id: number): void {
    if (!this.groups.delete(id))
      throw new SwitchRuntimeError("NOT_FOUND", `multicast group ${id}`, "does not exist");
  }

  group(id: number): MulticastGroup | undefined {
    return this.groups.get(id);
  }

  /** All groups, by id. */
  allGroups(): readonly MulticastGroup[] {
    return [...this.groups.values()].sort((a, b) => a.id - b.id);
  }

  insertSession(id: number, replicas: readonly Replica[], packetLength = 0, classOfService = 0): void {
    const name = `clone session ${id}`;
    if (!Number.isInteger(id) || id < 0 || id > largestSession) {
      throw new SwitchRuntimeError("INVALID_ARGUMENT", name, `an id is from 0 to ${largestSession}`);
    }
    if (this.sessions.has(id)) throw new SwitchRuntimeError("ALREADY_EXISTS", name, "exists");
    this.setSession(id, replicas, packetLength, classOfService);
  }

  modifySession(id: number, replicas: readonly Replica[], packetLength = 0, classOfService = 0): void {
    if (!this.sessions.has(id))
      throw new SwitchRuntimeError("NOT_FOUND", `clone session ${id}`, "does not exist");
    this.setSession(id, replicas, packetLength, classOfService);
  }

  private setSession(
    id: number,
    replicas: readonly Replica[],
    packetLength: number,
    classOfService: number,
  ): void {
    const name = `clone session ${id}`;
    ReplicationEngine.check(name, replicas);
    if (!Number.isInteger(packetLength) || packetLength < 0) {
      throw new SwitchRuntimeError("INVALID_ARGUMENT", name, `${packetLength} is no packet length`);
    }
    if (!Number.isInteger(classOfService) || classOfService < 0 || classOfService > 7) {
      throw new SwitchRuntimeError("INVALID_ARGUMENT", name, `${classOfService} is no class of service`);
    }
    this.sessions.set(id, { id, replicas, packetLength, classOfService });
  }

  deleteSession(id: number): void {
    if (!this.sessions.delete(id))
      throw new SwitchRuntimeError("NOT_FOUND", `clone session ${id}`, "does not exist");
  }

  session(id: number): CloneSession | undefined {
    return this.sessions.get(id);
  }

  allSessions(): readonly CloneSession[] {
    return [...this.sessions.values()].sort((a, b) => a.id - b.id);
  }

  clear(): void {
    this.groups.clear();
    this.sessions.clear();
  }
}
