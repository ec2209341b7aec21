import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import { electionIdMessage, electionIdOf } from "../../p4runtime/election-id.ts";
import type { MasterArbitrationUpdate, Uint128 } from "../../p4runtime/proto/generated/p4runtime.ts";
import type { ArbitrationAction, ArbitrationEvent, Election, StreamId } from "./arbitration.ts";
import { StatusError } from "./status.ts";

/** Streams that PI takes for a device. */
const mostStreams = 16;

interface Client {
  readonly stream: StreamId;
  electionId: bigint;
}

/**
 * Who may write, as PI's server behind simple_switch_grpc has it (`pi_server.cpp`): roles are not looked at, the open stream with the highest
 * election id is the primary, an id that is not set is 0 and an id like any other, and who sends his id again gets no answer. Any device may
 * be named; only one is there.
 */
export class PiArbitration implements Election {
  readonly #deviceId: bigint;
  /** By device; the primary first. */
  readonly #clients = new Map<bigint, Client[]>();
  readonly #deviceOf = new Map<StreamId, bigint>();

  constructor(deviceId: bigint) {
    this.#deviceId = deviceId;
  }

  handle(event: ArbitrationEvent): ArbitrationAction[] {
    return event.kind === "closed" ? this.#closed(event.stream) : this.#arbitrate(event.stream, event.update);
  }

  /** Without any stream, requests without an election id are taken. @throws StatusError PERMISSION_DENIED */
  check(deviceId: bigint, _role: string, electionId: Uint128 | undefined): void {
    const primary = this.#clients.get(deviceId)?.[0];
    const id = electionId === undefined ? 0n : electionIdOf(electionId);
    const isPrimary = primary === undefined ? electionId === undefined : primary.electionId === id;
    if (!isPrimary) throw new StatusError(Code.PERMISSION_DENIED, "Not primary");
  }

  isPrimaryStream(stream: StreamId): boolean {
    return this.#clients.get(this.#deviceId)?.[0]?.stream === stream;
  }

  primaries(): StreamId[] {
    const primary = this.#clients.get(this.#deviceId)?.[0];
    return primary === undefined ? [] : [primary.stream];
  }

  #arbitrate(stream: StreamId, update: MasterArbitrationUpdate): ArbitrationAction[] {
    const { deviceId } = update;
    const electionId = update.electionId === undefined ? 0n : electionIdOf(update.electionId);
    const known = this.#deviceOf.get(stream);
    if (known !== undefined && known !== deviceId)
      return this.#terminate(stream, Code.FAILED_PRECONDITION, "Invalid device id");
    const clients = this.#clients.get(deviceId) ?? [];
    const own = clients.find((client) => client.stream === stream);
    if (own?.electionId === electionId) return [];
    if (own === undefined && clients.length >= mostStreams)
      return this.#terminate(stream, Code.RESOURCE_EXHAUSTED, "Too many connections");
    if (clients.some((client) => client.electionId === electionId))
      return this.#terminate(
        stream,
        Code.INVALID_ARGUMENT,
        own === undefined ? "Election id already exists" : "New election id already exists",
      );
    const before = clients[0];
    const client = own ?? { stream, electionId };
    client.electionId = electionId;
    if (own === undefined) clients.push(client);
    clients.sort((a, b) => (a.electionId > b.electionId ? -1 : 1));
    this.#clients.set(deviceId, clients);
    this.#deviceOf.set(stream, deviceId);
    const hasChanged = (before === client) !== (clients[0] === client);
    return (hasChanged ? clients : [client]).map((one) => notification(deviceId, clients, one));
  }

  #terminate(stream: StreamId, code: number, message: string): ArbitrationAction[] {
    return [{ kind: "terminate", stream, code, message }, ...this.#closed(stream)];
  }

  /** The next highest is promoted at once, with its own id. */
  #closed(stream: StreamId): ArbitrationAction[] {
    const deviceId = this.#deviceOf.get(stream);
    const clients = deviceId === undefined ? undefined : this.#clients.get(deviceId);
    if (deviceId === undefined || clients === undefined) return [];
    const at = clients.findIndex((client) => client.stream === stream);
    clients.splice(at, 1);
    this.#deviceOf.delete(stream);
    if (clients.length === 0) this.#clients.delete(deviceId);
    return at === 0 ? clients.map((client) => notification(deviceId, clients, client)) : [];
  }
}

function notification(deviceId: bigint, clients: readonly Client[], client: Client): ArbitrationAction {
  const primary = clients[0];
  const isPrimary = primary === client;
  const update: Init<MasterArbitrationUpdate> = {
    deviceId,
    electionId: electionIdMessage(primary?.electionId ?? 0n),
    status: isPrimary
      ? { code: Code.OK, message: "Is primary" }
      : { code: Code.ALREADY_EXISTS, message: "Is backup" },
  };
  return { kind: "notify", stream: client.stream, update };
}
