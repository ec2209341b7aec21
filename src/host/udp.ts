import { createSocket, type Socket } from "node:dgram";
import { deliveries, type LinkFaults } from "./faults.ts";
import type { FrameEvent, HostMachine, SendAction, TickEvent } from "./machine.ts";
import type { Random } from "./random.ts";

/** A UDP port on this or another machine. */
export interface UdpAddress {
  readonly address: string;
  readonly port: number;
}

export interface UdpHostOptions<Action> {
  /** Where frames go: a port of a switch. */
  readonly remote: UdpAddress;
  /** Own end; any free port of 127.0.0.1 when absent. */
  readonly local?: Partial<UdpAddress>;
  /** Takes all actions but `send`, in order. */
  readonly onAction: (action: Action) => void;
  /** Takes what the machine or `onAction` throws; the host goes on. */
  readonly onError: (error: unknown) => void;
  /** Makes the link bad, for drills: applied to frames sent and to frames received. */
  readonly faults?: LinkFaults & { readonly random: Random };
}

/**
 * A host on a cable made of UDP: each datagram is one whole Ethernet frame. It gives a host's state machine frames,
 * the time and timers, and carries out its actions. Nothing that arrives can stop it: what the machine refuses, the
 * machine counts.
 */
export class UdpHost<Event extends { readonly type: string }, Action extends { readonly type: string }> {
  readonly counters = { sent: 0, received: 0, sendErrors: 0 };
  readonly #machine: HostMachine<Event, Action>;
  readonly #socket: Socket;
  readonly #options: UdpHostOptions<Action>;
  readonly #delayed = new Set<NodeJS.Timeout>();
  #remote: UdpAddress;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #isClosed = false;

  private constructor(machine: HostMachine<Event, Action>, socket: Socket, options: UdpHostOptions<Action>) {
    this.#machine = machine;
    this.#socket = socket;
    this.#options = options;
    this.#remote = options.remote;
    socket.on("message", (frame) => this.#onLink(frame, (arrived) => this.#received(arrived)));
    // A port that nobody listens on shows itself here on some systems; the frame is lost, as on a cable.
    socket.on("error", () => {
      this.counters.sendErrors++;
    });
    this.#arm();
  }

  /** Opens the socket. Rejects when the local port can't be had. */
  static open<Event extends { readonly type: string }, Action extends { readonly type: string }>(
    machine: HostMachine<Event, Action>,
    options: UdpHostOptions<Action>,
  ): Promise<UdpHost<Event, Action>> {
    // A burst of rows should find room; the kernel cuts the size to what it allows.
    const socket = createSocket({ type: "udp4", recvBufferSize: 1 << 22 });
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        socket.close();
        reject(error);
      };
      socket.once("error", fail);
      socket.bind({ address: options.local?.address ?? "127.0.0.1", port: options.local?.port ?? 0 }, () => {
        socket.off("error", fail);
        resolve(new UdpHost(machine, socket, options));
      });
    });
  }

  /** The own end of the cable, to which the switch's port has to send. */
  get local(): UdpAddress {
    return this.#socket.address();
  }

  /** Plugs the cable into another port. */
  plug(remote: UdpAddress): void {
    this.#remote = remote;
  }

  /**
   * Passes an application's event to the machine.
   *
   * @throws what the machine throws for a wrong call.
   */
  dispatch(event: Event): void {
    if (!this.#isClosed) this.#perform(this.#machine.handle(event, performance.now()));
  }

  /** Closes the socket and stops the timers. Resolves when the port is free. */
  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#soon);
    for (const timeout of this.#delayed) clearTimeout(timeout);
    return new Promise((resolve) => {
      this.#socket.close(() => resolve());
    });
  }

  #received(frame: Uint8Array): void {
    this.counters.received++;
    this.#happened({ type: "frame", frame });
  }

  #happened(event: FrameEvent | TickEvent): void {
    if (this.#isClosed) return;
    try {
      this.#perform(this.#machine.handle(event, performance.now()));
    } catch (error) {
      this.#arm();
      this.#options.onError(error);
    }
  }

  #perform(actions: readonly (Action | SendAction)[]): void {
    this.#arm();
    for (const action of actions) {
      if (isSend(action)) this.#onLink(action.frame, (frame) => this.#transmit(frame));
      else this.#tell(action);
    }
  }

  /** An application that fails at one action still hears of the others. */
  #tell(action: Action): void {
    try {
      this.#options.onAction(action);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #transmit(frame: Uint8Array): void {
    if (this.#isClosed) return;
    this.counters.sent++;
    this.#socket.send(frame, this.#remote.port, this.#remote.address, (error) => {
      if (error !== null) this.counters.sendErrors++;
    });
  }

  /** Hands a frame over the link, at once on a good one. */
  #onLink(frame: Uint8Array, arrive: (frame: Uint8Array) => void): void {
    const { faults } = this.#options;
    if (faults === undefined) {
      arrive(frame);
      return;
    }
    for (const delay of deliveries(faults.random, faults)) {
      if (delay <= 0) {
        arrive(frame);
        continue;
      }
      const timeout = setTimeout(() => {
        this.#delayed.delete(timeout);
        arrive(frame);
      }, delay);
      this.#delayed.add(timeout);
    }
  }

  #arm(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#soon);
    const { wakeAt } = this.#machine;
    if (this.#isClosed || wakeAt === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(
      () => {
        // After the process was busy, frames that came meanwhile are taken first: an acknowledgement among them saves a resend.
        this.#soon = setImmediate(() => this.#happened({ type: "tick" }));
      },
      Math.max(1, wakeAt - performance.now()),
    );
  }
}

function isSend(action: { readonly type: string }): action is SendAction {
  return action.type === "send";
}
