import type { Any } from "../../p4info/generated/any.ts";
import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import { electionIdMessage, electionIdOf } from "../../p4runtime/election-id.ts";
import type { MasterArbitrationUpdate, Uint128 } from "../../p4runtime/proto/generated/p4runtime.ts";
import { notFound, StatusError } from "./status.ts";

/** Names a stream within the server. */
export type StreamId = number;

export type ArbitrationEvent =
  | { readonly kind: "arbitrate"; readonly stream: StreamId; readonly update: MasterArbitrationUpdate }
  | { readonly kind: "closed"; readonly stream: StreamId };

export type ArbitrationAction =
  | { readonly kind: "notify"; readonly stream: StreamId; readonly update: Init<MasterArbitrationUpdate> }
  /** End the stream with this status. The stream is forgotten already. */
  | {
      readonly kind: "terminate";
      readonly stream: StreamId;
      readonly code: number;
      readonly message: string;
    };

/** Rules by which it is settled who may write. */
export interface Election {
  handle(event: ArbitrationEvent): ArbitrationAction[];
  /** Check that a request for a device comes from the primary. @throws StatusError */
  check(deviceId: bigint, role: string, electionId: Uint128 | undefined): void;
  /** True when this stream is the primary of its role. */
  isPrimaryStream(stream: StreamId): boolean;
  /** The primaries of all roles; packets for the controller go to them. */
  primaries(): StreamId[];
}

export interface ArbitrationLimits {
  /** Open streams per role. */
  readonly streamsPerRole: number;
  /** Roles that have ever been named; each is remembered with its highest election id. */
  readonly roles: number;
}

const DEFAULT_LIMITS: ArbitrationLimits = { streamsPerRole: 64, roles: 256 };

/** One role of the device. The default role has the empty name. */
interface Role {
  readonly name: string;
  /** The highest election id ever seen; undefined when there never was one. It outlives the streams. */
  highest: bigint | undefined;
  /** As the last primary sent it. What it means is not ours to know. */
  config: Any | undefined;
  /** Open streams in the order of their first message, with their election ids. */
  readonly clients: Map<StreamId, bigint | undefined>;
}

/**
 * Who may write: the arbitration of P4Runtime specification 5 and 16.2, for one device.
 *
 * The primary of a role is the client whose election id equals the highest id the device has ever received for that role. When its
 * stream ends there is no primary until somebody sends an id that is at least as high; an id may be used again once its stream is
 * closed. An id that is not set never makes a primary; {0, 0} is an id like any other, the lowest.
 */
export class Arbitration implements Election {
  readonly #deviceId: bigint;
  readonly #limits: ArbitrationLimits;
  readonly #roles = new Map<string, Role>();
  readonly #roleOfStream = new Map<StreamId, Role>();

  constructor(deviceId: bigint, limits: Partial<ArbitrationLimits> = {}) {
    this.#deviceId = deviceId;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  handle(event: ArbitrationEvent): ArbitrationAction[] {
    switch (event.kind) {
      case "arbitrate":
        return this.#arbitrate(event.stream, event.update);
      case "closed":
        return this.#closed(event.stream);
    }
  }

  /** The checks of 12 and 14 that concern the sender, in their order. @throws StatusError NOT_FOUND or PERMISSION_DENIED */
  check(_deviceId: bigint, role: string, electionId: Uint128 | undefined): void {
    if (!this.knowsRole(role)) throw notFound(`no client has the role "${role}"`);
    if (!this.isPrimary(role, electionId))
      throw new StatusError(
        Code.PERMISSION_DENIED,
        electionId === undefined
          ? "the request has no election id, so it does not come from the primary"
          : "the election id is not that of the primary",
      );
  }

  /** True when a request with this role and election id comes from the primary. An absent id never does. */
  isPrimary(roleName: string, electionId: Uint128 | undefined): boolean {
    const role = this.#roles.get(roleName);
    if (role === undefined || electionId === undefined) return false;
    return electionIdOf(electionId) === role.highest && primaryOf(role) !== undefined;
  }

  /** True for the default role and for each role that a client has named in arbitration. */
  knowsRole(roleName: string): boolean {
    return roleName === "" || this.#roles.has(roleName);
  }

  /** True when this stream is the primary of its role. */
  isPrimaryStream(stream: StreamId): boolean {
    const role = this.#roleOfStream.get(stream);
    return role !== undefined && primaryOf(role) === stream;
  }

  /** The primaries of all roles; packets for the controller go to them. */
  primaries(): StreamId[] {
    return [...this.#roles.values()].flatMap((role) => primaryOf(role) ?? []);
  }

  #arbitrate(stream: StreamId, update: MasterArbitrationUpdate): ArbitrationAction[] {
    const current = this.#roleOfStream.get(stream);
    const roleName = update.role?.name ?? "";
    if (update.deviceId !== this.#deviceId) {
      return current === undefined
        ? this.#terminate(
            stream,
            Code.NOT_FOUND,
            `there is no device ${update.deviceId}; this is device ${this.#deviceId}`,
          )
        : this.#terminate(
            stream,
            Code.FAILED_PRECONDITION,
            "a stream cannot change its device; open a new one",
          );
    }
    if (current !== undefined && current.name !== roleName)
      return this.#terminate(
        stream,
        Code.FAILED_PRECONDITION,
        "a stream cannot change its role; open a new one",
      );

    const known = current ?? this.#roles.get(roleName);
    if (known === undefined && this.#roles.size >= this.#limits.roles)
      return this.#terminate(
        stream,
        Code.RESOURCE_EXHAUSTED,
        `no more than ${this.#limits.roles} roles are kept`,
      );
    const role = known ?? { name: roleName, highest: undefined, config: undefined, clients: new Map() };
    if (current === undefined && role.clients.size >= this.#limits.streamsPerRole)
      return this.#terminate(
        stream,
        Code.RESOURCE_EXHAUSTED,
        `no more than ${this.#limits.streamsPerRole} streams may be open for a role`,
      );

    const electionId = update.electionId === undefined ? undefined : electionIdOf(update.electionId);
    const isTaken = [...role.clients].some(
      ([other, id]) => other !== stream && id !== undefined && id === electionId,
    );
    if (isTaken)
      return this.#terminate(
        stream,
        Code.INVALID_ARGUMENT,
        `election id ${electionId} is used by another stream`,
      );

    return this.#accept(role, stream, electionId, update.role?.config);
  }

  #accept(
    role: Role,
    stream: StreamId,
    electionId: bigint | undefined,
    config: Any | undefined,
  ): ArbitrationAction[] {
    const wasPrimary = primaryOf(role) === stream;
    this.#roles.set(role.name, role);
    this.#roleOfStream.set(stream, role);
    role.clients.set(stream, electionId);
    if (electionId !== undefined && (role.highest === undefined || electionId >= role.highest)) {
      role.highest = electionId;
      role.config = config;
      // The new primary hears of it last, when nobody else can write any more (5.3).
      const others = [...role.clients.keys()].filter((other) => other !== stream);
      return [...others, stream].map((client) => this.#notify(role, client));
    }
    if (wasPrimary) return [...role.clients.keys()].map((client) => this.#notify(role, client));
    return [this.#notify(role, stream)];
  }

  #closed(stream: StreamId): ArbitrationAction[] {
    const role = this.#roleOfStream.get(stream);
    if (role === undefined) return [];
    const wasPrimary = primaryOf(role) === stream;
    this.#roleOfStream.delete(stream);
    role.clients.delete(stream);
    return wasPrimary ? [...role.clients.keys()].map((client) => this.#notify(role, client)) : [];
  }

  /** The stream is as good as closed: if it was the primary, the others hear of it. */
  #terminate(stream: StreamId, code: number, message: string): ArbitrationAction[] {
    return [{ kind: "terminate", stream, code, message }, ...this.#closed(stream)];
  }

  #notify(role: Role, stream: StreamId): ArbitrationAction {
    const primary = primaryOf(role);
    const status =
      primary === stream
        ? { code: Code.OK, message: "you are the primary" }
        : primary === undefined
          ? { code: Code.NOT_FOUND, message: "there is no primary" }
          : { code: Code.ALREADY_EXISTS, message: "another client is the primary" };
    return {
      kind: "notify",
      stream,
      update: {
        deviceId: this.#deviceId,
        role:
          role.name === "" && role.config === undefined
            ? undefined
            : { name: role.name, config: role.config },
        electionId: role.highest === undefined ? undefined : electionIdMessage(role.highest),
        status,
      },
    };
  }
}

function primaryOf(role: Role): StreamId | undefined {
  if (role.highest === undefined) return undefined;
  for (const [stream, electionId] of role.clients) if (electionId === role.highest) return stream;
  return undefined;
}
