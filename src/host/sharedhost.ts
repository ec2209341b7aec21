import { parseFrame } from "../wire/datagram.ts";
import type { FrameEvent, HostMachine, SendAction, TickEvent } from "./machine.ts";

/** An event for one of the machines of a host, or an action of it. */
export interface Of<T> {
  readonly type: "of";
  readonly machine: number;
  readonly what: T;
}

/**
 * Several state machines on one host with one address, such as a worker and a parameter server on the same computer. Each frame goes
 * to all of them; what one sends to the host's own address reaches the others without a network.
 */
export class SharedHost<Event, Action extends { readonly type: string }>
  implements HostMachine<Of<Event>, Of<Action>>
{
  readonly #machines: readonly HostMachine<Event, Action>[];
  readonly #ip: number;
  #local: Uint8Array[] = [];

  constructor(ip: number, machines: readonly HostMachine<Event, Action>[]) {
    this.#ip = ip;
    this.#machines = machines;
  }

  get wakeAt(): number {
    return this.#machines.reduce((at, m) => Math.min(at, m.wakeAt), Number.POSITIVE_INFINITY);
  }

  handle(event: Of<Event> | FrameEvent | TickEvent, now: number): readonly (Of<Action> | SendAction)[] {
    const out: (Of<Action> | SendAction)[] = [];
    for (const [i, machine] of this.#machines.entries()) {
      if (event.type === "of") {
        if (event.machine === i) this.#perform(i, machine.handle(event.what, now), out);
      } else if (event.type === "frame" || machine.wakeAt <= now)
        this.#perform(i, machine.handle(event, now), out);
    }
    for (let frame = this.#local.shift(); frame !== undefined; frame = this.#local.shift())
      for (const [i, machine] of this.#machines.entries())
        this.#perform(i, machine.handle({ type: "frame", frame }, now), out);
    return out;
  }

  #perform(
    machine: number,
    actions: readonly (Action | SendAction)[],
    out: (Of<Action> | SendAction)[],
  ): void {
    for (const action of actions) {
      if (!isSend(action)) out.push({ type: "of", machine, what: action });
      else if (this.#isLocal(action.frame)) this.#local.push(action.frame);
      else out.push(action);
    }
  }

  #isLocal(frame: Uint8Array): boolean {
    const datagram = parseFrame(frame);
    return !("refused" in datagram) && datagram.dstIp === this.#ip;
  }
}

function isSend(action: { readonly type: string }): action is SendAction {
  return action.type === "send";
}
