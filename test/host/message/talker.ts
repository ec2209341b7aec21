import type { NetworkAddress } from "../../../src/host/endpoint.ts";
import type { FrameEvent, HostMachine, SendAction, TickEvent } from "../../../src/host/machine.ts";
import type { CongestionControl } from "../../../src/host/message/congestion.ts";
import type { Marks } from "../../../src/host/message/conversation.ts";
import {
  type HubMessage,
  type HubOptions,
  MessageHub,
  type PeerFailure,
} from "../../../src/host/message/hub.ts";

export type TalkerEvent = {
  readonly type: "say";
  readonly to: number;
  readonly tag: number;
  readonly body: Uint8Array;
  readonly marks?: Marks;
};

export type TalkerAction =
  | { readonly type: "heard"; readonly message: HubMessage }
  | { readonly type: "lost"; readonly failure: PeerFailure };

export const addressOf = (host: number): NetworkAddress => ({
  mac: 0x020000000000 + host,
  ip: 0x0a000000 + host,
});

/** A host that does nothing but send and receive messages. */
export class Talker implements HostMachine<TalkerEvent, TalkerAction> {
  readonly hub: MessageHub;
  #isWatching = false;

  constructor(
    setting: { readonly self: number; readonly peers: readonly number[]; readonly incarnation?: number },
    control: (peer: number) => CongestionControl,
    options: Partial<HubOptions> = {},
  ) {
    const peers = new Map(setting.peers.map((peer) => [peer, addressOf(peer)]));
    const { self, incarnation = 1 } = setting;
    const quiet = { heartbeat: Number.POSITIVE_INFINITY, silence: 1000, ...options };
    this.hub = new MessageHub({ job: 3, self, address: addressOf(self), incarnation, peers }, control, quiet);
    this.#isWatching = options.heartbeat !== undefined;
  }

  get wakeAt(): number {
    return this.hub.wakeAt;
  }

  handle(event: TalkerEvent | FrameEvent | TickEvent, now: number): readonly (TalkerAction | SendAction)[] {
    const out: SendAction[] = [];
    const messages: HubMessage[] = [];
    const failures: PeerFailure[] = [];
    if (event.type === "say") {
      if (this.#isWatching) this.hub.watch(event.to, now);
      this.hub.send(event.to, event.tag, event.body, event.marks ?? { dscp: 0 });
    } else if (event.type === "frame") this.hub.receive(event.frame, now, messages);
    this.hub.poll(now, out, failures);
    return [
      ...out,
      ...messages.map((message) => ({ type: "heard", message }) as const),
      ...failures.map((failure) => ({ type: "lost", failure }) as const),
    ];
  }
}
