/**
 * The shape of every end-host protocol: a state machine that takes events and the time, and returns actions. It
 * has no socket and no clock of its own, so the same code runs over UDP sockets and in a simulated network.
 */
export interface HostMachine<Event, Action> {
  /** Handles one event. `now` is in milliseconds from any start, and never goes back. */
  handle(event: Event | FrameEvent | TickEvent, now: number): readonly (Action | SendAction)[];
  /** The time at which a tick has to come at the latest, if no other event does; Infinity when none is needed. */
  readonly wakeAt: number;
}

/** A whole Ethernet frame has arrived. The machine copies what it keeps. */
export interface FrameEvent {
  readonly type: "frame";
  readonly frame: Uint8Array;
}

/** Time has passed. */
export interface TickEvent {
  readonly type: "tick";
}

/** Where a part of a machine puts what has to be sent: the machine's list of actions. */
export interface FrameSink {
  push(action: SendAction): unknown;
}

/** A whole Ethernet frame has to be sent. The machine does not change it afterwards. */
export interface SendAction {
  readonly type: "send";
  readonly frame: Uint8Array;
}
