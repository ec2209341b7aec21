import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import type {
  CloneSessionEntry,
  MulticastGroupEntry,
  PacketReplicationEngineEntry,
  Replica as ReplicaMessage,
  Update_Type,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import { portOf } from "./port.ts";
import { invalidArgument, notFound, StatusError, unimplemented } from "./status.ts";
import type { Replica, TargetProgram } from "./target.ts";

/** Sizes of the ids in v1model: `mcast_grp` and `egress_rid` have 16 bits, a clone session 15 (as BMv2 has it). */
const MAX_GROUP_ID = 0xffff;
const MAX_SESSION_ID = 0x7fff;
const MAX_INSTANCE = 0xffff;

/** Multicast groups and clone sessions (P4Runtime specification 9.5). What clients wrote is what they read. */
export class ReplicationStore {
  readonly #program: TargetProgram;
  readonly #groups = new Map<number, MulticastGroupEntry>();
  readonly #sessions = new Map<number, CloneSessionEntry>();

  constructor(program: TargetProgram) {
    this.#program = program;
  }

  write(type: Update_Type, message: PacketReplicationEngineEntry): void {
    if (message.type === undefined) throw invalidArgument("a packet replication entry is empty");
    if (message.type.case === "multicastGroupEntry") this.#writeGroup(type, message.type.value);
    else this.#writeSession(type, message.type.value);
  }

  read(message: PacketReplicationEngineEntry): Init<PacketReplicationEngineEntry>[] {
    if (message.type === undefined) throw invalidArgument("a packet replication entry is empty");
    if (message.type.case === "multicastGroupEntry") {
      const id = message.type.value.multicastGroupId;
      return selected(this.#groups, id).map((value) => ({ type: { case: "multicastGroupEntry", value } }));
    }
    const id = message.type.value.sessionId;
    return selected(this.#sessions, id).map((value) => ({ type: { case: "cloneSessionEntry", value } }));
  }

  /** Everything that was written, as messages that write it again. */
  entries(): Init<PacketReplicationEngineEntry>[] {
    return [
      ...[...this.#groups.values()].map((value) => ({
        type: { case: "multicastGroupEntry" as const, value },
      })),
      ...[...this.#sessions.values()].map((value) => ({
        type: { case: "cloneSessionEntry" as const, value },
      })),
    ];
  }

  #writeGroup(type: Update_Type, message: MulticastGroupEntry): void {
    const id = message.multicastGroupId;
    checkId("multicast group", id, MAX_GROUP_ID);
    checkPresence(type, "multicast group", id, this.#groups.has(id));
    if (type === "DELETE") {
      this.#program.setMulticastGroup(id, undefined);
      this.#groups.delete(id);
      return;
    }
    this.#program.setMulticastGroup(id, replicasOf(`multicast group ${id}`, message.replicas));
    this.#groups.set(id, message);
  }

  #writeSession(type: Update_Type, message: CloneSessionEntry): void {
    const id = message.sessionId;
    checkId("clone session", id, MAX_SESSION_ID);
    checkPresence(type, "clone session", id, this.#sessions.has(id));
    if (type === "DELETE") {
      this.#program.setCloneSession(id, undefined);
      this.#sessions.delete(id);
      return;
    }
    if (message.packetLengthBytes < 0) throw invalidArgument(`clone session ${id}: a negative packet length`);
    if (message.classOfService > 7)
      throw invalidArgument(
        `clone session ${id}: class of service ${message.classOfService} is not from 0 to 7`,
      );
    this.#program.setCloneSession(id, {
      replicas: replicasOf(`clone session ${id}`, message.replicas),
      classOfService: message.classOfService,
      packetLengthBytes: message.packetLengthBytes,
    });
    this.#sessions.set(id, message);
  }
}

function checkId(noun: string, id: number, max: number): void {
  if (id === 0 || id > max) throw invalidArgument(`${noun} id ${id} is not from 1 to ${max}`);
}

function checkPresence(type: Update_Type, noun: string, id: number, isPresent: boolean): void {
  if (type === "INSERT" && isPresent)
    throw new StatusError(Code.ALREADY_EXISTS, `${noun} ${id} exists already`);
  if (type !== "INSERT" && !isPresent) throw notFound(`there is no ${noun} ${id}`);
}

function replicasOf(where: string, messages: readonly ReplicaMessage[]): Replica[] {
  const seen = new Set<string>();
  return messages.map((message) => {
    if (message.backupReplicas.length > 0) throw unimplemented(`${where}: backup replicas are not supported`);
    if (message.portKind === undefined) throw invalidArgument(`${where}: a replica has no port`);
    if (message.instance > MAX_INSTANCE)
      throw invalidArgument(`${where}: instance ${message.instance} is not from 0 to ${MAX_INSTANCE}`);
    const port = message.portKind.case === "port" ? portOf(message.portKind.value) : message.portKind.value;
    const key = `${port}/${message.instance}`;
    if (seen.has(key))
      throw invalidArgument(`${where}: port ${port} with instance ${message.instance} is there twice`);
    seen.add(key);
    return { port, instance: message.instance };
  });
}

function selected<T>(entries: ReadonlyMap<number, T>, id: number): T[] {
  if (id === 0) return [...entries.values()];
  const entry = entries.get(id);
  return entry === undefined ? [] : [entry];
}
